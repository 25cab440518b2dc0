package cpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// backends returns backends with so many threads each that share processors.
func backends(t *testing.T, processors int, threads ...int) (list []*Backend) {
	shared := &turns{size: processors}
	for _, n := range threads {
		b := New(n)
		b.turns = shared
		t.Cleanup(func() { b.Close() })
		list = append(list, b)
	}
	return list
}

// kernelOf returns a kernel whose launches may run side by side.
func kernelOf(work time.Duration, run func(l *launch)) *kernel {
	k, err := newKernel("test", work, func(*listing) (func(l *launch), error) { return run, nil })
	if err != nil {
		panic(err)
	}
	return k
}

// A meter counts who is working at the same time.
type meter struct{ now, most atomic.Int64 }

func (m *meter) work() {
	n := m.now.Add(1)
	for old := m.most.Load(); n > old && !m.most.CompareAndSwap(old, n); old = m.most.Load() {
	}
	for start := time.Now(); time.Since(start) < 20*time.Microsecond; {
	}
	m.now.Add(-1)
}

func TestSessionsShareTheProcessors(t *testing.T) {
	rounds := 10
	if long.Tests() {
		rounds = 30
	}
	for _, c := range []struct {
		processors int
		threads    []int
		work       time.Duration
	}{
		{2, []int{2}, time.Second}, {2, []int{1, 2}, time.Second}, {4, []int{4, 3, 2, 1}, time.Second}, {3, []int{2, 2}, time.Second},
		{4, []int{1, 1, 1, 1, 1, 1}, time.Second},
		{2, []int{2}, short / 2}, {4, []int{4, 3, 2, 1}, short / 2}, {2, []int{1, 1}, short / 2},
	} {
		t.Run(fmt.Sprintf("%d processors for %v, %v", c.processors, c.threads, c.work), func(t *testing.T) {
			var all meter
			list := backends(t, c.processors, c.threads...)
			var sessions sync.WaitGroup
			owns := make([]meter, len(list))
			for i, b := range list {
				own := &owns[i]
				kernel := kernelOf(c.work, func(l *launch) {
					l.pool.For(9, func(_, _ int) {
						own.work()
						all.work()
					})
				})
				for range 3 {
					sessions.Go(func() {
						for range rounds {
							if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: kernel}, {Kernel: kernel}}, nil); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			sessions.Wait()
			for i, b := range list {
				if n := owns[i].most.Load(); n > int64(b.pool.Threads()) {
					t.Errorf("%d workers of a backend with %d threads ran at once", n, b.pool.Threads())
				}
			}
			if n := all.most.Load(); n > int64(c.processors) {
				t.Errorf("%d workers ran at once, want at most %d", n, c.processors)
			}
			if q := list[0].turns.quick.Load(); q != idle {
				t.Errorf("in the end the turns are %d, want nobody's", q)
			}
		})
	}
}

// blocking is a kernel that runs until the channel is closed.
func blocking(began, end chan struct{}) backend.Kernel {
	return kernelOf(time.Second, func(*launch) { close(began); <-end })
}

func TestALongListLetsOthersIn(t *testing.T) {
	b := backends(t, 2, 2)[0]
	var long sync.WaitGroup
	began, small := make(chan struct{}), make(chan struct{})
	first := kernelOf(time.Second, func(*launch) { close(began) })
	var waiting atomic.Bool
	rest := kernelOf(0, func(*launch) { // goes on until the other list has run
		select {
		case <-small:
		case <-time.After(100 * time.Microsecond):
			waiting.Store(true)
		}
	})
	cmds := []submit.Cmd{{Kernel: first}}
	for range 1 << 14 {
		cmds = append(cmds, submit.Cmd{Kernel: rest})
	}
	long.Go(func() {
		if err := submit.Run(t.Context(), b, cmds, make([]time.Duration, len(cmds))); err != nil {
			t.Error(err)
		}
	})
	<-began
	if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: kernelOf(0, func(*launch) { close(small) })}}, nil); err != nil {
		t.Error(err)
	}
	long.Wait()
	if !waiting.Load() {
		t.Error("the short list ran before the long one was under way")
	}
}

func TestWaitingForATurnIsInterrupted(t *testing.T) {
	b := backends(t, 2, 2)[0]
	began, end := make(chan struct{}), make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: blocking(began, end)}}, nil); err != nil {
			t.Error(err)
		}
	})
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	never := kernelOf(time.Second, func(*launch) { t.Error("an interrupted list ran") })
	if err := submit.Run(ctx, b, []submit.Cmd{{Kernel: never}}, nil); !errors.Is(err, backend.ErrInterrupted) {
		t.Errorf("got %v, want %v", err, backend.ErrInterrupted)
	}
	close(end)
	first.Wait()
	ran := false
	if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: kernelOf(0, func(*launch) { ran = true })}}, nil); err != nil || !ran {
		t.Errorf("afterwards: ran %v, %v", ran, err)
	}
}

func TestAPanicEndsTheTurn(t *testing.T) {
	b := backends(t, 2, 2)[0]
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the kernel's panic did not arrive")
			}
		}()
		_ = submit.Run(t.Context(), b, []submit.Cmd{{Kernel: kernelOf(0, func(*launch) { panic("bad kernel") })}}, nil)
	}()
	if q := b.turns.quick.Load(); q != idle {
		t.Errorf("the turns are %d, want nobody's", q)
	}
}

// Two sessions with short lists get along side by side: each waits in its launch until the other has begun,
// too.
func TestShortListsRunSideBySide(t *testing.T) {
	b := backends(t, 2, 2)[0]
	hold, end := make(chan struct{}), make(chan struct{})
	var sessions sync.WaitGroup
	sessions.Go(func() { // makes the turns shared
		if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: blocking(hold, end)}}, nil); err != nil {
			t.Error(err)
		}
	})
	<-hold
	var inside sync.WaitGroup
	inside.Add(2)
	kernel := kernelOf(short/2, func(l *launch) {
		inside.Done()
		inside.Wait()
	})
	for range 2 {
		sessions.Go(func() {
			if err := submit.Run(t.Context(), b, []submit.Cmd{{Kernel: kernel}}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for b.turns.waiting.Load() < 2 {
		time.Sleep(100 * time.Microsecond)
	}
	close(end)
	sessions.Wait()
	if q := b.turns.quick.Load(); q != idle {
		t.Errorf("the turns are %d, want nobody's", q)
	}
}
