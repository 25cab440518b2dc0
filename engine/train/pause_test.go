package train

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// interrupt stops a run after some steps and returns how many it made.
func interrupt(t *testing.T, m Model, o Options, steps int64) int {
	t.Helper()
	h, err := Run(cancelAfter(steps), m, windows(), o)
	var stopped *Interrupted
	if !errors.As(err, &stopped) {
		t.Fatalf("got %v, want an interruption", err)
	}
	return h.Steps()
}

// TestAllInterruptedRunsGoOn: of several runs that were interrupted each one goes on where it stopped,
// whatever ran meanwhile: on other models, and on the same one with other options.
func TestAllInterruptedRunsGoOn(t *testing.T) {
	want := mustRun(t, newModel(), windows(), options(12))
	other := options(12)
	other.Seed = 8

	a, b := newModel(), newModel()
	made := []int{interrupt(t, a, options(12), 4), interrupt(t, b, options(12), 7)}
	for i, m := range []Model{a, b} {
		h := mustRun(t, m, windows(), options(12))
		if h.Steps() != 12 || !slices.Equal(h.Loss, want.Loss) {
			t.Errorf("run %d went on from step %d to %d with other losses than one that was not interrupted", i+1, made[i], h.Steps())
		}
	}

	m := newModel()
	first := interrupt(t, m, options(12), 3)
	second := interrupt(t, m, other, 5)
	for _, c := range []struct {
		o    Options
		made int
	}{{options(12), first}, {other, second}, {other, 0}} {
		calls := 0
		ctx := progress.With(hearingAll(), func(e progress.Event) {
			if calls++; calls == 1 && int(e.Done) != c.made+1 && e.Done != 12 {
				t.Errorf("seed %d: began with step %d, want %d", c.o.Seed, e.Done, c.made+1)
			}
		})
		if h, err := Run(ctx, m, windows(), c.o); err != nil || h.Steps() != 12 {
			t.Errorf("seed %d: %d steps, %v", c.o.Seed, h.Steps(), err)
		}
	}
}

// TestForget: a run that was forgotten begins anew.
func TestForget(t *testing.T) {
	m := newModel()
	interrupt(t, m, options(12), 5)
	Forget(m)
	h := mustRun(t, m, windows(), options(6))
	if h.Steps() != 6 || h.Last() >= 5.5 {
		t.Errorf("got %d steps and the loss %v, want 6 steps on the weights as they are", h.Steps(), h.Last())
	}
}

// TestPausedRunGoesWithItsModel: nothing but the model keeps a run that was interrupted.
func TestPausedRunGoesWithItsModel(t *testing.T) {
	p := func() weak.Pointer[llm.Model] {
		m := newModel()
		interrupt(t, m, options(12), 2)
		return weak.Make(m)
	}()
	for range 5 {
		runtime.GC()
	}
	if p.Value() != nil {
		t.Error("the model of an interrupted run is still there")
	}
}

// TestOverlappingRuns: of two runs at the same time one is stopped. The other one goes on, and so does
// everything later.
func TestOverlappingRuns(t *testing.T) {
	for _, compile := range []bool{false, true} {
		o := options(12)
		o.Compile = compile
		want := mustRun(t, newModel(), windows(), o)
		ctx, cancel := context.WithCancel(context.Background())
		both := make(chan bool)
		var meet sync.Once
		var runs sync.WaitGroup
		runs.Go(func() { // is stopped in the middle of the other one
			<-both
			cancel()
		})
		runs.Go(func() {
			var stopped *Interrupted
			if _, err := Run(ctx, newModel(), windows(), Options{Steps: 1 << 30, LR: o.LR, Compile: compile}); !errors.As(err, &stopped) {
				t.Errorf("compiled %v: the run that was stopped: %v", compile, err)
			}
		})
		runs.Go(func() {
			ctx := progress.With(context.Background(), func(progress.Event) { meet.Do(func() { close(both); <-ctx.Done() }) })
			h, err := Run(ctx, newModel(), windows(), o)
			if err != nil || !slices.Equal(h.Loss, want.Loss) {
				t.Errorf("compiled %v: the other run: %v, %d steps", compile, err, h.Steps())
			}
		})
		runs.Wait()
		if got := tensor.Ones(3).Sum().Item(); got != 3 {
			t.Errorf("afterwards: got %v", got)
		}
	}
}

// TestOwnGenerator: a run with a seed has a generator of its own.
func TestOwnGenerator(t *testing.T) {
	before := tensor.DefaultRNG().State()
	mustRun(t, newModel(), windows(), options(2))
	if tensor.DefaultRNG().State() != before {
		t.Error("a run with a seed has moved the generator that everybody shares")
	}
}
