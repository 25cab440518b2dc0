package optim

import (
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A group has its own rate and rule, and the rest of the parameters the first one: each moves as it would
// with an optimizer of its own. State that is put back goes on the same way.
func TestGrouped(t *testing.T) {
	rule := Grouped{Rule: AdamW{WeightDecay: 0.1}, Groups: []Group{{Params: "b", Rate: 4}, {Params: "c", Rule: SGD{Momentum: 0.5}}}}
	start := [][]float64{{1, 2}, {3}, {4, 5}, {6}} // a to d
	ps := params(start...)
	o := rule.New(ps)
	descend(o, ps, 3, 0.01, 0)
	half := o.State()
	again := params(start...)
	for i := range again {
		again[i].Value().Set(ps[i].Value().Snapshot())
	}
	descend(o, ps, 2, 0.01, 0)

	next := rule.New(again)
	if err := next.SetState(half); err != nil {
		t.Fatal(err)
	}
	descend(next, again, 2, 0.01, 0)

	for i, alone := range []struct {
		rule Rule
		rate float64
	}{{AdamW{WeightDecay: 0.1}, 0.01}, {AdamW{WeightDecay: 0.1}, 0.04}, {SGD{Momentum: 0.5}, 0.01}, {AdamW{WeightDecay: 0.1}, 0.01}} {
		want := params(start...)
		descend(alone.rule.New(want), want, 5, alone.rate, 0)
		if d := tensor.MaxAbsDiff(ps[i].Value(), want[i].Value()); d > 1e-6 {
			t.Errorf("%s differs by %g from an optimizer of its own", ps[i].Name, d)
		}
		if d := tensor.MaxAbsDiff(again[i].Value(), ps[i].Value()); d != 0 {
			t.Errorf("%s differs by %g after its state was put back", ps[i].Name, d)
		}
	}
	if want := "AdamW β 0.9 0.999, ε 1e-08, weight decay 0.1; b: rate × 4; c: SGD momentum 0.5, weight decay 0"; rule.String() != want {
		t.Errorf("got %q, want %q", rule, want)
	}
}

// A step that is taken back leaves all groups as they were, and so does one that is not sound.
func TestGroupedUndo(t *testing.T) {
	rule := Grouped{Groups: []Group{{Params: "b", Rate: 4}}}
	ps, other := params([]float64{1, 2}, []float64{3}), params([]float64{1, 2}, []float64{3})
	o, want := rule.New(ps), rule.New(other)
	grads := func() []tensor.Tensor {
		return []tensor.Tensor{tensor.From([]float64{1, 1}), tensor.From([]float64{2})}
	}
	o.Update(grads(), 0.1, tensor.Tensor{}).CommitLater(tensor.Scalar(math.NaN())).Undo() // it was refused: see Pending
	if o.Update(grads(), 0.1, tensor.Tensor{}).CommitIf(tensor.Scalar(math.NaN())) {
		t.Error("a step without a finite guard was made")
	}
	if s := o.State(); s.Step != 0 || o.(*trained).method.(*grouped).groups[0].State().Step != 0 {
		t.Errorf("got %d steps, want 0", s.Step)
	}
	for range 2 {
		o.Update(grads(), 0.1, tensor.Tensor{}).Commit()
		want.Update(grads(), 0.1, tensor.Tensor{}).Commit()
	}
	for i := range ps {
		if d := tensor.MaxAbsDiff(ps[i].Value(), other[i].Value()); d != 0 {
			t.Errorf("%s differs by %g", ps[i].Name, d)
		}
	}
}

func TestGroupedRefuses(t *testing.T) {
	for _, c := range []struct {
		group Group
		want  string
	}{
		{Group{Params: "z"}, `group "z" chooses none of 1 parameters`},
		{Group{Params: "a", Rate: -1}, "got rate -1"},
		{Group{Params: "["}, "syntax error in pattern"},
	} {
		err := tensor.Try(func() { Grouped{Groups: []Group{c.group}}.New(params([]float64{1})) })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.group, err, c.want)
		}
	}
	o := Grouped{}.New(params([]float64{1}))
	for _, s := range []State{{}, {Tensors: map[string]tensor.Tensor{"m.a": tensor.Zeros(1), "v.a": tensor.Zeros(2)}}} {
		if err := o.SetState(s); err == nil {
			t.Errorf("%+v was put back", s)
		}
	}
}
