package bench_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
)

// What other goroutines of the process do is noticed while the measured work pauses, and named like the work
// of other processes: the figure is not known then.
func TestOtherWorkOfTheProcess(t *testing.T) {
	for _, tt := range []struct {
		beside float64
		known  bool
	}{{0, true}, {0.1, true}, {1, false}} {
		m := benchtest.New(1)
		m.Self, m.Beside = bench.Machine{Cores: 4}, tt.beside
		r := measure(t, m, bench.Work{Run: m.Work(time.Millisecond, 0.001)}, bench.Options{})
		const named = "the machine was not quiet: other work of this process keeps 1.0 of 4 processors busy"
		if _, known := r.Known(); known != tt.known || strings.Contains(r.Text(0), named) == tt.known {
			t.Errorf("%v processors are busy with other work: got %v\n%s", tt.beside, known, r)
		}
	}
}

// Of a real process: a goroutine that works all the time is seen in the pauses, and one that collects garbage
// is none.
func TestOtherWorkOfThisProcess(t *testing.T) {
	if _, ok := machine.Spent(); !ok {
		t.Skip("the system does not tell the time that a process works")
	}
	var kept [][]byte
	sum := 0
	garbage := func(n int) error {
		for range n {
			kept = append(kept[:len(kept)%64], make([]byte, 1<<16))
		}
		return nil
	}
	additions := func(n int) error {
		for i := range 1000 * n {
			sum += i
		}
		return nil
	}
	beside := func(work func(n int) error) float64 {
		r, err := bench.Measure(t.Context(), work, bench.Options{Time: 300 * time.Millisecond, Precision: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		return r.Machine.Beside
	}
	if alone := beside(garbage); alone > 0.3 {
		t.Errorf("other work keeps %v processors busy beside work that makes garbage", alone)
	}
	var stop atomic.Bool
	defer stop.Store(true)
	go func() {
		for !stop.Load() {
		}
	}()
	if with := beside(additions); with < 0.05 { // on a busy machine the goroutine gets little
		t.Errorf("other work keeps %v processors busy, want nearly one", with)
	}
}
