package train

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/mcs-notebook/mcs/engine/data"
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

// A stopping is data, or the loss of a model, whose code is stopped at a call by unwinding it, as a session
// stops a cell.
type stopping struct {
	Model
	*data.Batches
	stop func()
	at   int
	data bool // the data is stopped, else the loss
}

func (s *stopping) call() {
	if s.at--; s.at == 0 {
		s.stop()
		panic("the cell is stopped")
	}
}

func (s *stopping) Batch(n int) (data.Batch, error) {
	if s.data {
		s.call()
	}
	return s.Batches.Batch(n)
}

func (s *stopping) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if !s.data {
		s.call()
	}
	return s.Model.Loss(inputs, targets)
}

// TestUnwoundRunsGoOn: a run keeps its steps when the caller's code within it is unwound by an interruption,
// and makes the same steps afterwards. A panic without an interruption is the caller's.
func TestUnwoundRunsGoOn(t *testing.T) {
	want := mustRun(t, newModel(), windows(), options(12))
	for _, c := range []struct {
		name  string
		data  bool
		at    int
		steps bool // some were made before
	}{
		{"the data of the first step", true, 1, false},
		{"the data of a later step", true, 5, true},
		{"the loss of the first step", false, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(hearingAll())
			s := &stopping{Model: newModel(), Batches: windows(), stop: cancel, at: c.at, data: c.data}
			h, err := Run(ctx, s, s, options(12))
			var stopped *Interrupted
			if !errors.As(err, &stopped) || (h.Steps() > 0) != c.steps {
				t.Fatalf("got %v after %d steps, want an interruption", err, h.Steps())
			}
			if h := mustRun(t, s, s, options(12)); !slices.Equal(h.Loss, want.Loss) {
				t.Errorf("losses\n%v, want\n%v", h.Loss, want.Loss)
			}
		})
	}
	defer func() {
		if v := recover(); v != "the cell is stopped" {
			t.Errorf("got a panic with %v, want that of the data", v)
		}
	}()
	s := &stopping{Model: newModel(), Batches: windows(), stop: func() {}, at: 3, data: true}
	Run(t.Context(), s, s, options(12))
}
