package term

import (
	"os"
	"os/signal"
	"sync"
	"time"
)

// deliberate is the pause between two presses of Ctrl-C of which the second is meant: a key that is held
// sends one every 33 ms, and the first of those comes after 250 to 660 ms.
const deliberate = 700 * time.Millisecond

// presses counts those presses of Ctrl-C that are meant.
type presses struct {
	n    int
	last time.Time
}

// count takes note of a press, and says whether it is another one or only the key that is still held.
func (p *presses) count(now time.Time) bool {
	meant := p.n == 0 || now.Sub(p.last) >= deliberate
	if p.last = now; meant {
		p.n++
	}
	return meant
}

// interrupts hands each Ctrl-C to the part of the terminal that asked last. While cells are typed the
// terminal is raw and Ctrl-C is a key; otherwise it is a signal, which must not end the process.
type interrupts struct {
	signals chan os.Signal

	mu     sync.Mutex
	waiter func()
}

func watchInterrupts() *interrupts {
	in := &interrupts{signals: make(chan os.Signal, 1)}
	signal.Notify(in.signals, os.Interrupt)
	go func() {
		for range in.signals {
			in.mu.Lock()
			waiter := in.waiter
			in.mu.Unlock()
			if waiter != nil {
				waiter()
			}
		}
	}()
	return in
}

// each calls f for every Ctrl-C from now on, until stop is called.
func (in *interrupts) each(f func()) (stop func()) {
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
	return done, in.each(func() { once.Do(func() { close(done) }) })
}

// close lets Ctrl-C end the process again.
func (in *interrupts) close() {
	signal.Stop(in.signals)
	close(in.signals)
}
