package term

import (
	"os"
	"os/signal"
	"sync"

	"github.com/mcs-notebook/mcs/internal/presses"
)

// interrupts hands each Ctrl-C to the part of the terminal that asked last. While cells are typed the
// terminal is raw and Ctrl-C is a key; otherwise it is a signal, which must not end the process.
type interrupts struct {
	signals chan os.Signal

	mu     sync.Mutex
	waiter func(again bool)
}

func watchInterrupts() *interrupts {
	in := &interrupts{signals: make(chan os.Signal, 1)}
	signal.Notify(in.signals, os.Interrupt)
	go presses.Watch(in.signals, nil, func(_ os.Signal, again bool) {
		in.mu.Lock()
		waiter := in.waiter
		in.mu.Unlock()
		if waiter != nil {
			waiter(again)
		}
	})
	return in
}

// each calls f for every Ctrl-C from now on, until stop is called. Again says that it is not the repeat of a
// key that is held.
func (in *interrupts) each(f func(again bool)) (stop func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiter = f
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.waiter = nil
	}
}

// next gives a channel that is closed by the next Ctrl-C.
func (in *interrupts) next() (c <-chan struct{}, stop func()) {
	done := make(chan struct{})
	var once sync.Once
	return done, in.each(func(bool) { once.Do(func() { close(done) }) })
}

// close lets Ctrl-C end the process again.
func (in *interrupts) close() {
	signal.Stop(in.signals)
	close(in.signals)
}
