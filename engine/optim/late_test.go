package optim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A device may find after the step was asked for that the gradients mean nothing: an index is out of range.
// Then the step was not made, in no parameter, in no moment and in no count, and the next one can be.
func TestALateErrorMakesNoStep(t *testing.T) {
	devicetest.Register("late")
	choice := &device.Choice{}
	tensor.Within(device.WithChoice(t.Context(), choice), func() {
		if err := device.Use("late"); err != nil {
			t.Fatal(err)
		}
		for _, rule := range []Rule{AdamW{}, SGD{Momentum: 0.9}} {
			for _, compiled := range []bool{false, true} {
				for _, held := range []bool{false, true} { // a snapshot keeps the step from changing memory in place
					for name, commit := range map[string]func(u *Update, loss tensor.Tensor){
						"Commit":             func(u *Update, _ tensor.Tensor) { u.Commit() },
						"CommitIf":           func(u *Update, loss tensor.Tensor) { u.CommitIf(loss) },
						"Tensors and Commit": func(u *Update, _ tensor.Tensor) { u.Tensors(); u.Commit() },
					} {
						lateStep(t, fmt.Sprintf("%v, %s, compiled %v, held %v", rule, name, compiled, held), rule, compiled, held, commit)
					}
				}
			}
		}
	})
}

// What was built on a parameter before a step keeps the parameter's value of then, whatever becomes of the
// step.
func TestALateStepKeepsWhatWasBuiltBefore(t *testing.T) {
	devicetest.Register("late")
	tensor.Within(device.WithChoice(t.Context(), &device.Choice{}), func() {
		if err := device.Use("late"); err != nil {
			t.Fatal(err)
		}
		for name, end := range map[string]func(*Pending){"Done": (*Pending).Done, "Undo": (*Pending).Undo} {
			w := tensor.From([]float64{3, -1, 2}).Param()
			o := AdamW{}.New([]nn.Param{nn.NewParam("w", &w)})
			loss := w.Square().Sum()
			before := w.Sum()
			end(o.Update(tensor.Grad(loss, w), 0.1, tensor.Tensor{}).CommitLater(loss))
			if got := before.Item(); got != 4 {
				t.Errorf("%s: the sum of the weights before the step: got %v, want 4", name, got)
			}
			if moved, want := w.Sum().Item() != 4, name == "Done"; moved != want {
				t.Errorf("%s: the weights changed: %v, want %v", name, moved, want)
			}
		}
	})
}

func lateStep(t *testing.T, name string, rule Rule, compiled, held bool, commit func(*Update, tensor.Tensor)) {
	w, v := tensor.From([]float64{3, -1, 2}).Param(), tensor.From([]float64{1, 1}).Param()
	o := rule.New([]nn.Param{nn.NewParam("w", &w), nn.NewParam("v", &v)})
	step := func(args ...tensor.Tensor) []tensor.Tensor {
		loss := w.Take(args[0], 0).Square().Sum().Add(v.Square().Sum())
		commit(o.Update(tensor.Grad(loss, w, v), 0.1, tensor.Tensor{}), loss)
		return []tensor.Tensor{loss}
	}
	if compiled {
		step = tensor.Compile(step)
	}
	do := func(at ...int) error { return tensor.Try(func() { step(tensor.From(at))[0].Item() }) }
	state := func() (all []float64, steps int) {
		s := o.State()
		for _, key := range []string{"m.w", "v.w", "m.v", "v.v"} {
			if x, ok := s.Tensors[key]; ok {
				all = append(all, x.Float64s()...)
			}
		}
		return slices.Concat(all, w.Float64s(), v.Float64s()), s.Step
	}
	for range 3 {
		if err := do(0, 2); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var snapshot tensor.Tensor
	if held {
		snapshot = w.Snapshot()
	}
	before, steps := state()
	if err := do(1, 3); err == nil {
		t.Errorf("%s: an index beyond the end: no error", name)
	}
	if after, n := state(); !slices.Equal(after, before) || n != steps {
		t.Errorf("%s: %d steps, state %v after an error, want %d and %v", name, n, after, steps, before)
	}
	if held {
		snapshot.Free()
	}
	if err := do(1, 2); err != nil {
		t.Errorf("%s: the next step: %v", name, err)
	}
	if after, n := state(); slices.Equal(after, before) || n != steps+1 {
		t.Errorf("%s: the next step made %d, want %d", name, n, steps+1)
	}
}
