package ticks

import (
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

// A world is a machine whose counter goes three times in a nanosecond.
type world struct {
	real  time.Duration // what the machine's clock says, but for what it is corrected by
	slew  float64       // how much faster the machine's clock goes than the counter says
	count float64
	read  time.Duration // what each reading takes
	stops int           // after so many readings the process is stopped for a second; 0: never
}

func (w *world) pass(d time.Duration) {
	w.real += d + time.Duration(w.slew*float64(d))
	w.count += 3 * float64(d)
}

func (w *world) reading() {
	if w.pass(w.read); w.stops > 0 {
		if w.stops--; w.stops == 0 {
			w.pass(time.Second)
		}
	}
}

func (w *world) clock() *clock {
	return &clock{
		usable: func() bool { return true },
		count:  func() int64 { w.reading(); return int64(w.count) },
		real:   func() time.Duration { w.reading(); return w.real },
	}
}

// What happens to a machine while its clock is read every 3 µs, and whether the counter is used afterwards.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		name    string
		happens func(w *world, turn int)
		sound   bool
	}{
		{"nothing", func(*world, int) {}, true},
		{"the machine's clock is corrected by 500 millionths", func(w *world, turn int) {
			if w.slew = 0; turn > 20_000 {
				w.slew = 500e-6
			}
		}, true},
		{"nothing is timed for a while", func(w *world, turn int) {
			if turn%10_000 == 0 {
				w.pass(time.Hour)
			}
		}, true},
		{"the process is stopped between two readings", func(w *world, turn int) {
			if turn%1000 == 0 {
				w.stops = turn / 1000 % 12
			}
		}, true},
		{"the machine sleeps, the counter goes on", func(w *world, turn int) {
			if turn == 30_000 {
				w.count += 3e9
			}
		}, false},
		{"the machine sleeps, the counter begins anew", func(w *world, turn int) {
			if turn == 30_000 {
				w.count = 17
			}
		}, false},
		{"the machine moves to one with another counter", func(w *world, turn int) {
			if turn > 30_000 {
				w.count += 300
			}
		}, false},
		{"a processor's counter is 20 µs behind", func(w *world, turn int) {
			if turn == 30_000 {
				w.count -= 60_000
			}
		}, false},
		{"and 20 µs ahead", func(w *world, turn int) {
			if turn == 30_000 {
				w.count += 60_000
			}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{read: 20 * time.Nanosecond}
			k := w.clock()
			var last time.Duration
			used := 0
			for turn := range 100_000 {
				w.pass(3 * time.Microsecond)
				c.happens(w, turn)
				from := w.real
				at := k.now(k.count())
				if k.piece.Load() != nil {
					used++
				}
				if ahead, behind := at-w.real, from-at; turn < 30_000 || c.sound {
					if max(ahead, behind) > slack+longest/2000 || at < last {
						t.Fatalf("turn %d: got %v after %v, want a time from %v to %v", turn, at, last, from, w.real)
					}
				} else if turn > 40_000 && (at < from || at > w.real) {
					t.Fatalf("turn %d: got %v, want the machine's clock again, %v", turn, at, from)
				}
				last = at
			}
			if k.sound() != c.sound {
				t.Errorf("sound is %v, want %v", k.sound(), c.sound)
			}
			if used < 25_000 {
				t.Errorf("the counter was used in %d turns of 100,000", used)
			}
		})
	}
}

// Without a counter to trust the time is the machine's.
func TestUnusable(t *testing.T) {
	w := &world{read: time.Nanosecond}
	k := w.clock()
	k.usable = func() bool { return false }
	for range 3 {
		w.pass(time.Second)
		if from, at := w.real, k.now(0); at < from || at > w.real || !k.sound() {
			t.Errorf("got %v, want %v", at, from)
		}
	}
}

// On this machine all goroutines read the time of machine.Now, forwards.
func TestNow(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			last := Now()
			for end := machine.Now() + 50*time.Millisecond; machine.Now() < end; {
				before := machine.Now()
				at := Now()
				after := machine.Now()
				if at < before-2*time.Microsecond || at > after+2*time.Microsecond {
					t.Errorf("got %v between %v and %v", at, before, after)
					return
				}
				if at < last {
					t.Errorf("got %v after %v", at, last)
					return
				}
				last = at
			}
		})
	}
	all.Wait()
	if !Sound() {
		t.Error("the counter did not agree with the machine's clock")
	}
}

func BenchmarkNow(b *testing.B) {
	b.Run("ticks", func(b *testing.B) {
		for b.Loop() {
			Now()
		}
	})
	b.Run("machine", func(b *testing.B) {
		for b.Loop() {
			machine.Now()
		}
	})
}
