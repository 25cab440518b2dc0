package pool

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestForCallsEachChunkOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := New(threads)
		for _, chunks := range []int{0, 1, 2, 7, 64, 1000} {
			for range 20 {
				count := make([]atomic.Int32, chunks)
				p.For(chunks, func(worker, chunk int) {
					if worker < 0 || worker >= threads {
						t.Errorf("%d threads: got worker %d", threads, worker)
					}
					count[chunk].Add(1)
				})
				for c := range count {
					if n := count[c].Load(); n != 1 {
						t.Fatalf("%d threads, %d chunks: chunk %d ran %d times, want once", threads, chunks, c, n)
					}
				}
			}
		}
		p.Close()
	}
}

// A loop sees everything that the loop before it wrote, also when workers had time to park in between.
func TestLoopsAreBarriers(t *testing.T) {
	p := New(4)
	defer p.Close()
	x := make([]int, 512)
	for round := range 300 {
		p.For(len(x), func(_, c int) { x[c]++ })
		p.For(len(x), func(_, c int) {
			if got := x[len(x)-1-c]; got != round+1 {
				t.Errorf("round %d: got %d", round, got)
			}
		})
		if round%100 == 0 {
			time.Sleep(3 * time.Millisecond)
		}
	}
}

func TestRangeCoversAll(t *testing.T) {
	p := New(3)
	defer p.Close()
	for _, c := range []struct{ n, grain int }{{0, 1}, {1, 1}, {1, 100}, {5, 0}, {1000, 1}, {1000, 999}, {1 << 16, 64}} {
		seen := make([]atomic.Int32, c.n)
		p.Range(c.n, c.grain, func(_, lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
			}
		})
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Fatalf("n %d, grain %d: index %d covered %d times", c.n, c.grain, i, seen[i].Load())
			}
		}
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	p := New(4)
	defer p.Close()
	cause := errors.New("bad chunk")
	for range 50 {
		func() {
			defer func() {
				f, ok := recover().(*Fault)
				if !ok || !errors.Is(f, cause) {
					t.Fatalf("got %v, want a *Fault that wraps %v", f, cause)
				}
			}()
			p.For(100, func(_, c int) {
				if c == 57 {
					panic(cause)
				}
			})
		}()
	}
	var n atomic.Int32
	p.For(10, func(_, _ int) { n.Add(1) })
	if n.Load() != 10 {
		t.Errorf("after a panic: %d of 10 chunks ran", n.Load())
	}
}

func TestWatchedChannelEndsLoops(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p := New(threads)
		done := make(chan struct{})
		p.Watch(done)
		var n, after atomic.Int32 // chunks, and those that began with the channel closed: a thread may have asked before
		var closed atomic.Bool
		p.For(1_000_000, func(_, _ int) {
			if closed.Load() {
				after.Add(1)
			}
			if n.Add(1) == 100 {
				close(done)
				closed.Store(true)
			}
		})
		if got := n.Load(); got < 100 || got == 1_000_000 || after.Load() > int32(threads) {
			t.Errorf("%d threads: %d chunks ran of a loop whose channel was closed at 100, %d of them began after that", threads, got, after.Load())
		}
		p.Watch(nil)
		p.For(8, func(_, _ int) { n.Add(1) })
		if p.Stopped() {
			t.Error("stopped without a channel")
		}
		p.Close()
	}
}

func TestMoreChunksThanALoopCanCount(t *testing.T) {
	p := New(2)
	defer p.Close()
	var sums [2]struct {
		n, sum int64
		_      [48]byte
	}
	const n = maxChunks + 100
	p.For(n, func(worker, chunk int) {
		sums[worker].n++
		sums[worker].sum += int64(chunk)
	})
	if got := sums[0].n + sums[1].n; got != n {
		t.Errorf("%d of %d chunks ran", got, n)
	}
	if got := sums[0].sum + sums[1].sum; got != int64(n)*(n-1)/2 {
		t.Errorf("the numbers of the chunks add up to %d, want %d", got, int64(n)*(n-1)/2)
	}
}

func TestLoopInALoopIsRefused(t *testing.T) {
	p := New(2)
	defer p.Close()
	defer func() {
		if f, ok := recover().(*Fault); !ok || f.Value != "pool: a loop was started while another one runs" {
			t.Errorf("got %v", f)
		}
	}()
	p.For(2, func(_, _ int) { p.For(2, func(_, _ int) {}) })
	t.Error("it ran")
}

// eventually waits until what a worker does sooner or later is done.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("10 s later, not yet: %s", what)
		}
	}
}

func TestWorkersSleepUntilItPaysToWakeThem(t *testing.T) {
	p := New(4)
	asleep := func() bool { return p.bell.sleepers.Load() == 3 }
	p.For(8, func(_, _ int) {})
	eventually(t, "all workers sleep", asleep)

	var woken atomic.Int32
	for range 100 {
		eventually(t, "all workers sleep again", asleep)
		time.Sleep(mostPatience)
		p.Expect(worthWaking / 2)
		p.For(8, func(worker, _ int) { woken.Add(int32(worker)) })
		if woken.Load() > 0 {
			t.Fatal("a short loop woke a worker")
		}
	}

	// Until all have come, nobody goes on: so three were woken, two by the caller and one by them.
	var came atomic.Int32
	p.Expect(time.Second)
	p.For(4, func(_, _ int) {
		came.Add(1)
		eventually(t, "four workers work", func() bool { return came.Load() == 4 })
	})

	eventually(t, "all workers sleep once more", asleep)
	time.Sleep(mostPatience)
	for p.Expect(worthWaking / 2); p.brief; p.Expect(worthWaking / 2) { // one after the other without a pause
	}
	came.Store(0)
	p.For(4, func(_, _ int) {
		came.Add(1)
		eventually(t, "four workers work", func() bool { return came.Load() == 4 })
	})

	p.Close()
	eventually(t, "the workers have ended", func() bool { return p.bell.sleepers.Load() == 0 })
}

// Loops that come at all distances from each other meet workers on their way to sleep, and back.
func TestLoopsOfAllDistances(t *testing.T) {
	p := New(3)
	defer p.Close()
	var sum atomic.Int64
	want := int64(0)
	for i := range 600 {
		n := 1 + i%37
		p.Range(n, 1, func(_, lo, hi int) { sum.Add(int64(hi - lo)) })
		if want += int64(n); sum.Load() != want {
			t.Fatalf("loop %d: got %d, want %d", i, sum.Load(), want)
		}
		for until := now() + time.Duration(i%499)*time.Microsecond; now() < until; {
		}
	}
}

func BenchmarkFor(b *testing.B) {
	p := New(0)
	defer p.Close()
	body := func(_, _ int) {}
	for b.Loop() {
		p.For(p.Threads(), body)
	}
}
