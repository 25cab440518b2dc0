package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/testing/late"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// onLate calls f with a device as default that works through what it was asked for later.
func onLate(t *testing.T, f func(dev *late.Backend)) {
	t.Helper()
	devicetest.Register("late")
	tensor.Within(device.WithChoice(t.Context(), &device.Choice{}), func() {
		if err := device.Use("late"); err != nil {
			t.Fatal(err)
		}
		f(backend.Inside(device.Default()).Backend().(*late.Backend))
	})
}

// made are batches that lie on the default device, whose transfer is not waited for.
func made(t *testing.T, n int) *fixed {
	t.Helper()
	once := &fixed{}
	for i := range n {
		b, err := windows().Batch(i)
		if err != nil {
			t.Fatal(err)
		}
		tensor.Eval(b.Inputs, b.Targets)
		once.list = append(once.list, b)
	}
	return once
}

// TestNoWaitBetweenSteps: the host asks for a step while the device has not begun the one before, of which it
// reads the numbers afterwards.
func TestNoWaitBetweenSteps(t *testing.T) {
	for _, compile := range []bool{false, true} {
		onLate(t, func(dev *late.Backend) {
			m := newModel()
			o := Options{Steps: 100, LR: optim.Constant(1e-3), Clip: 1, Compile: compile}
			run, err := start(m, made(t, 4), o.withDefaults(), nn.Trainable(m))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 6 { // the plan is there, and memory for it
				if err := run.step(t.Context()); err != nil {
					t.Fatal(err)
				}
				if run.steps() != i+1 || run.history.Steps() != i {
					t.Errorf("compiled %v: asked for %d steps and read %d, want %d and %d", compile, run.steps(), run.history.Steps(), i+1, i)
				}
			}
			if err := run.settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			dev.Pause()
			released := time.AfterFunc(20*time.Second, dev.Resume)
			if err := run.step(t.Context()); err != nil {
				t.Error(err)
			}
			if !released.Stop() {
				t.Errorf("compiled %v: the step waited for the device", compile)
			}
			dev.Resume()
			if err := run.settle(t.Context()); err != nil || run.history.Steps() != 7 {
				t.Errorf("compiled %v: %d steps, %v", compile, run.history.Steps(), err)
			}
		})
	}
}

// TestRefusedStepIsFoundLater: when the host learns that a step was refused, or that its data meant nothing,
// the device has been asked for the next one. Neither is made: parameters, the optimizer's memory, the random
// numbers and the place in the data are those before the first of them, and the run goes on from there.
func TestRefusedStepIsFoundLater(t *testing.T) {
	const bad, steps = 3, 8 // the step that is refused, counted from 0
	for _, c := range []struct {
		name  string
		spoil func(b data.Batch, m *scaled) (data.Batch, func())
		want  string
	}{
		{"not finite", func(b data.Batch, m *scaled) (data.Batch, func()) {
			m.factor.Set(tensor.Scalar(math.NaN()).Eval())
			return b, func() { m.factor.Set(tensor.Scalar(1).Eval()) }
		}, "step 4: the loss is NaN"},
		{"a token that is none", func(b data.Batch, _ *scaled) (data.Batch, func()) {
			return data.Batch{Inputs: b.Inputs.Add(1000).Eval(), Targets: b.Targets}, func() {}
		}, "is out of range"},
	} {
		for _, o := range []Options{
			{}, {Compile: true}, {Accumulate: 2}, {Optimizer: optim.SGD{Momentum: 0.9}}, {Compile: true, Optimizer: optim.SGD{Momentum: 0.9}},
		} {
			if o.Optimizer != nil && !o.Compile && !long.CI() {
				continue
			}
			o.Steps, o.LR, o.Clip, o.Seed = steps, optim.Constant(1e-2), 1, 5
			name := fmt.Sprintf("%s, compiled %v, %d parts, %v", c.name, o.Compile, o.Accumulate, o.Optimizer)
			onLate(t, func(*late.Backend) {
				parts := max(1, o.Accumulate)
				train := func(m *scaled, source data.Source, steps int) *History {
					o := o
					o.Steps = steps
					h, err := Run(t.Context(), m, source, o)
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					return h
				}
				whole, short := newScaled(), newScaled()
				want := train(whole, made(t, 20), steps)
				train(short, made(t, 20), bad)

				m, source := newScaled(), made(t, 20)
				mend := func() {}
				spoilt := &changing{source, func(n int, b data.Batch) data.Batch {
					if n == bad*parts {
						b, mend = c.spoil(b, m)
					}
					return b
				}}
				h, err := Run(t.Context(), m, spoilt, o)
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("%s: got %v, want it to say %q", name, err, c.want)
				}
				if got := h.Steps(); got != bad || !slices.Equal(h.Loss, want.Loss[:bad]) {
					t.Errorf("%s: %d steps with losses %v, want %v", name, got, h.Loss, want.Loss[:bad])
				}
				if nn.Hash(nn.Params(m.Model)) != nn.Hash(nn.Params(short.Model)) {
					t.Errorf("%s: the parameters are not those before the refused step", name)
				}
				var paused *Paused
				if !errors.As(err, &paused) {
					return
				}
				mend()
				spoilt.change = func(_ int, b data.Batch) data.Batch { return b }
				if h := train(m, spoilt, steps); !slices.Equal(h.Loss, want.Loss) || nn.Hash(nn.Params(m.Model)) != nn.Hash(nn.Params(whole.Model)) {
					t.Errorf("%s: went on with losses %v, want %v", name, h.Loss, want.Loss)
				}
			})
		}
	}
}

// TestStoppedWithAStepUnderWay: a run that is stopped while the device works keeps the step.
func TestStoppedWithAStepUnderWay(t *testing.T) {
	onLate(t, func(*late.Backend) {
		whole := newScaled()
		want := mustRun(t, whole, made(t, 20), options(9))
		m := newScaled()
		ctx, cancel := context.WithCancel(t.Context())
		h, err := Run(ctx, m, &changing{made(t, 20), func(n int, b data.Batch) data.Batch {
			if n == 9 {
				cancel()
			}
			return b
		}}, options(9))
		var stopped *Interrupted
		if !errors.As(err, &stopped) || h.Steps() == 0 || h.Steps() == 9 || !slices.Equal(h.Loss, want.Loss[:h.Steps()]) {
			t.Fatalf("got %v and losses %v, want some of %v", err, h.Loss, want.Loss)
		}
		if h := mustRun(t, m, made(t, 20), options(9)); !slices.Equal(h.Loss, want.Loss) || nn.Hash(nn.Params(m.Model)) != nn.Hash(nn.Params(whole.Model)) {
			t.Errorf("went on with losses %v, want %v", h.Loss, want.Loss)
		}
	})
}

// scaled is a model whose loss is multiplied by a number, and which draws random numbers.
type scaled struct {
	Model
	factor tensor.Tensor
}

func newScaled() *scaled { return &scaled{noisy{newModel()}, tensor.Scalar(1).Eval()} }

func (s *scaled) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return s.Model.Loss(inputs, targets).Mul(s.factor)
}

// changing changes the batches of a source.
type changing struct {
	data.Source
	change func(n int, b data.Batch) data.Batch
}

func (c *changing) Batch(n int) (data.Batch, error) {
	b, err := c.Source.Batch(n)
	return c.change(n, b), err
}
