package optim

import (
	"context"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// params makes trainable parameters named a, b, ….
func params(values ...[]float64) []nn.Param {
	list := make([]nn.Param, len(values))
	for i, v := range values {
		t := tensor.From(v).Param()
		list[i] = nn.NewParam(string(rune('a'+i)), &t)
	}
	return list
}

func close(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(1, math.Abs(b)) }

// descend makes n steps down the loss Σ p²·(i+1)/2, whose gradient is (i+1)·p.
func descend(o Optimizer, ps []nn.Param, n int, rate, limit float64) {
	for range n {
		grads := make([]tensor.Tensor, len(ps))
		for i, p := range ps {
			grads[i] = p.Value().Detach().Mul(float64(i + 1))
		}
		var scale tensor.Tensor
		if limit > 0 {
			scale, _ = ClipScale(grads, limit)
		}
		o.Update(grads, rate, scale).Commit()
	}
}

// scalarAdamW is the formula of the paper for one number.
func scalarAdamW(p, factor float64, n int, rate, decay float64) float64 {
	var m, v float64
	for t := 1; t <= n; t++ {
		g := factor * p
		m, v = 0.9*m+0.1*g, 0.999*v+0.001*g*g
		p -= rate * decay * p
		p -= rate * (m / (1 - math.Pow(0.9, float64(t)))) / (math.Sqrt(v/(1-math.Pow(0.999, float64(t)))) + 1e-8)
	}
	return p
}

// Parameters of f64 are stepped in f64, with state of f64: a change that f32 does not see is kept.
func TestStepInFloat64(t *testing.T) {
	for _, o := range []struct {
		name string
		Rule
		want float64
	}{
		{"sgd", SGD{Momentum: 0.5}, 1 - 2e-12 - 0.5e-12},
		{"adamw", AdamW{}, 1 - 2e-12},
	} {
		p := tensor.FromAs(dtype.F64, []float64{1}).Param()
		ps := []nn.Param{nn.NewParam("p", &p)}
		opt := o.New(ps)
		descend(opt, ps, 2, 1e-12, 0)
		if got := p.Item(); p.DType() != dtype.F64 || math.Abs(got-o.want) > 1e-15 {
			t.Errorf("%s: got 1 - %g in %v, want 1 - %g", o.name, 1-got, p.DType(), 1-o.want)
		}
		if err := o.New(ps).SetState(opt.State()); err != nil {
			t.Errorf("%s: %v", o.name, err)
		}
	}
}

func TestAdamWFollowsItsFormula(t *testing.T) {
	for _, decay := range []float64{0, 0.1} {
		ps := params([]float64{1, -2}, []float64{0.5})
		descend(AdamW{WeightDecay: decay}.New(ps), ps, 7, 0.05, 0)
		got := append(ps[0].Value().Float64s(), ps[1].Value().Float64s()...)
		want := []float64{scalarAdamW(1, 1, 7, 0.05, decay), scalarAdamW(-2, 1, 7, 0.05, decay), scalarAdamW(0.5, 2, 7, 0.05, decay)}
		for i := range want {
			if !close(got[i], want[i]) {
				t.Errorf("decay %g: got %v, want %v", decay, got, want)
				break
			}
		}
	}
}

func TestSGDFollowsItsFormula(t *testing.T) {
	for _, rule := range []SGD{{}, {Momentum: 0.9}, {Momentum: 0.9, Nesterov: true}, {Momentum: 0.5, WeightDecay: 0.1}} {
		ps := params([]float64{1, -2})
		descend(rule.New(ps), ps, 5, 0.1, 0)
		for i, p := range []float64{1, -2} {
			b := 0.0
			for range 5 {
				d := p + rule.WeightDecay*p
				b = rule.Momentum*b + d
				if rule.Nesterov {
					d += rule.Momentum * b
				} else {
					d = b
				}
				p -= 0.1 * d
			}
			if got := ps[0].Value().Float64s()[i]; !close(got, p) {
				t.Errorf("%v: got %v, want %v", rule, got, p)
			}
		}
	}
}

func TestClipScale(t *testing.T) {
	tests := []struct{ limit, want float64 }{{1, 0.2}, {5, 1}, {100, 1}}
	grads := []tensor.Tensor{tensor.From([]float64{3, 0}), tensor.From([]float64{4})}
	for _, test := range tests {
		scale, norm := ClipScale(grads, test.limit)
		if got := scale.Item(); math.Abs(got-test.want) > 1e-6 || !close(norm.Item(), 5) {
			t.Errorf("limit %g: got scale %v of norm %v, want %v of 5", test.limit, got, norm.Item(), test.want)
		}
	}
}

// TestUpdateWaits: nothing changes before Commit, so that a step can be refused.
func TestUpdateWaits(t *testing.T) {
	for _, rule := range []Rule{AdamW{}, SGD{Momentum: 0.9}} {
		ps := params([]float64{1})
		o := rule.New(ps)
		tensor.Eval(o.Update([]tensor.Tensor{tensor.From([]float64{1})}, 0.1, tensor.Tensor{}).Tensors()...)
		if got := ps[0].Value().Item(); got != 1 || o.State().Step != 0 {
			t.Errorf("%v: the parameter is %v after step %d, want it untouched", rule, got, o.State().Step)
		}
	}
}

// TestStateGoesOnExactly: 3 + state + 4 steps are 7 steps, bit for bit.
func TestStateGoesOnExactly(t *testing.T) {
	for _, rule := range []Rule{AdamW{WeightDecay: 0.01}, SGD{Momentum: 0.9}, SGD{}} {
		start := []float64{1, -2, 3}
		straight := params(start)
		descend(rule.New(straight), straight, 7, 0.1, 1)

		first := params(start)
		o := rule.New(first)
		descend(o, first, 3, 0.1, 1)
		second := params(first[0].Value().Float64s())
		again := rule.New(second)
		if err := again.SetState(o.State()); err != nil {
			t.Fatal(err)
		}
		descend(again, second, 4, 0.1, 1)
		if nn.Hash(second) != nn.Hash(straight) {
			t.Errorf("%v: got %v, want %v", rule, second[0].Value().Float64s(), straight[0].Value().Float64s())
		}
		if got := again.State().Step; got != 7 {
			t.Errorf("%v: step %d, want 7", rule, got)
		}
	}
}

func TestStateThatDoesNotFit(t *testing.T) {
	ps := params([]float64{1, 2})
	tests := []struct {
		state State
		want  string
	}{
		{State{}, "has 0 tensors, want 2"},
		{State{Tensors: map[string]tensor.Tensor{"m.a": tensor.Zeros(2), "v.b": tensor.Zeros(2)}}, `no tensor "v.a"`},
		{State{Tensors: map[string]tensor.Tensor{"m.a": tensor.Zeros(2), "v.a": tensor.Zeros(3)}}, `"v.a" of the state is f32[3], want f32[2]`},
	}
	for _, test := range tests {
		if err := (AdamW{}).New(ps).SetState(test.state); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

// Old moments are memory for the next ones, unless somebody has seen them.
func TestMomentsAreGivenBack(t *testing.T) {
	const n, steps = 1 << 18, 12
	w := tensor.Ones(n).Param()
	ps := []nn.Param{nn.NewParam("w", &w)}
	grown := func() int64 {
		o := AdamW{}.New(ps)
		descend(o, ps, 2, 1e-3, 0)
		before := device.Default().Memory()
		descend(o, ps, steps, 1e-3, 0)
		after := device.Default().Memory()
		return (after.InUse + after.Kept - before.InUse - before.Kept) / (4 * n)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else gives memory back meanwhile
	// A step leaves its gradient and the old parameter behind.
	if got := grown(); got > 2*steps {
		t.Errorf("%d steps left %d tensors behind, want at most %d", steps, got, 2*steps)
	}
	o := AdamW{}.New(ps)
	descend(o, ps, 1, 1e-3, 0)
	s := o.State()
	want := s.Tensors["m.w"].Floats()
	later := s.Tensors["m.w"].Mul(1)
	descend(o, ps, 2, 1e-3, 0)
	if got := later.Floats(); !slices.Equal(got, want) {
		t.Error("the moments of a state changed with later steps")
	}
	if got := o.State().Tensors["m.w"].Floats(); slices.Equal(got, want) {
		t.Error("the moments are those of two steps before")
	}
}

// Parameters and moments are changed in the memory that they have, unless somebody else could see that: then
// what could be seen keeps its value.
func TestStepsInPlace(t *testing.T) {
	const n, steps = 1 << 18, 10
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // nothing else gives memory back meanwhile
	x := tensor.Full(0.5, n).Eval()
	for _, test := range []struct {
		name string
		see  func(w tensor.Tensor) tensor.Tensor // before the step
	}{
		{"nobody", nil},
		{"a snapshot", func(w tensor.Tensor) tensor.Tensor { return w.Snapshot() }},
		{"a tensor that waits", func(w tensor.Tensor) tensor.Tensor { return w.Add(0) }},
		{"a loss that waits", func(w tensor.Tensor) tensor.Tensor { return w.Mul(x).Mul(0).Add(w) }},
		{"a view", func(w tensor.Tensor) tensor.Tensor { return w.Reshape(2, n/2).Eval() }},
		{"a tensor that was set to it", func(w tensor.Tensor) tensor.Tensor { y := tensor.Zeros(n); y.Set(w); return y }},
	} {
		w := tensor.Ones(n).Param()
		o := AdamW{}.New([]nn.Param{nn.NewParam("w", &w)})
		step := func() {
			if !o.Update([]tensor.Tensor{x.Mul(1)}, 1e-3, tensor.Tensor{}).CommitIf(tensor.Scalar(1)) {
				t.Fatalf("%s: the step was refused", test.name)
			}
		}
		step() // the moments begin as views of one number
		step()
		before := device.Default().Memory().InUse
		for i := range steps {
			if test.see == nil {
				step()
				continue
			}
			want := w.Slice(0, 0, 1).Item()
			seen := test.see(w)
			step()
			if got := seen.Flatten().Slice(0, 0, 1).Item(); got != want {
				t.Errorf("%s: step %d changed it from %v to %v", test.name, i, want, got)
			}
		}
		grown := float64(device.Default().Memory().InUse-before) / (4 * n * steps)
		if test.see == nil && grown > 0.1 {
			t.Errorf("%s: a step leaves %.1f tensors behind", test.name, grown)
		}
	}
}

// A step that is not sound changes nothing, neither in place nor in new memory.
func TestCommitIf(t *testing.T) {
	for _, rule := range []Rule{AdamW{}, SGD{Momentum: 0.9}, SGD{}} {
		for _, guard := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			ps := params([]float64{1, -2}, []float64{0.5})
			o := rule.New(ps)
			descend(o, ps, 3, 0.1, 0)
			before, state := nn.Hash(ps), o.State()
			grads := []tensor.Tensor{tensor.From([]float64{guard, 1}), tensor.From([]float64{1})}
			if o.Update(grads, 0.1, tensor.Tensor{}).CommitIf(grads[0].Sum()) {
				t.Errorf("%v: a step with guard %v was made", rule, guard)
			}
			if nn.Hash(ps) != before || o.State().Step != state.Step {
				t.Errorf("%v: a step with guard %v changed something", rule, guard)
			}
			for name, want := range state.Tensors {
				if got := o.State().Tensors[name]; tensor.MaxAbsDiff(got, want) != 0 {
					t.Errorf("%v: a step with guard %v changed %s", rule, guard, name)
				}
			}
			again := params(ps[0].Value().Float64s(), ps[1].Value().Float64s())
			o2 := rule.New(again)
			if err := o2.SetState(o.State()); err != nil {
				t.Fatal(err)
			}
			descend(o, ps, 2, 0.1, 0)
			descend(o2, again, 2, 0.1, 0)
			if nn.Hash(ps) != nn.Hash(again) {
				t.Errorf("%v: after a refused step the next ones go elsewhere", rule)
			}
		}
	}
}

// However late a step is interrupted, it is made or not made.
func TestInterruptedStepIsWhole(t *testing.T) {
	const n = 1 << 20
	w, single := tensor.Ones(n).Param(), tensor.Ones(1).Param()
	o, alone := AdamW{}.New([]nn.Param{nn.NewParam("w", &w)}), AdamW{}.New([]nn.Param{nn.NewParam("w", &single)})
	g, one := tensor.Full(0.25, n).Eval(), tensor.Full(0.25, 1).Eval()
	var stopped, made int
	for try := range 60 {
		ctx, cancel := context.WithCancel(context.Background())
		switch {
		case try == 0:
			cancel()
		case try < 59:
			time.AfterFunc(time.Duration(try*try)*2*time.Microsecond, cancel)
		}
		err := tensor.Try(func() {
			tensor.Within(ctx, func() { o.Update([]tensor.Tensor{g}, 0.1, tensor.Tensor{}).CommitIf(tensor.Scalar(1)) })
		})
		cancel()
		switch {
		case err != nil:
			stopped++
		default:
			made++
			alone.Update([]tensor.Tensor{one}, 0.1, tensor.Tensor{}).Commit()
		}
		want := single.Item()
		if low, high := w.Min().Item(), w.Max().Item(); low != want || high != want {
			t.Fatalf("try %d, %d steps: parameters are %v to %v, want %v", try, made, low, high, want)
		}
		if got := o.State().Step; got != made {
			t.Fatalf("try %d: %d steps are counted, want %d", try, got, made)
		}
	}
	if stopped == 0 || made == 0 {
		t.Errorf("%d were stopped, %d made: the test says nothing", stopped, made)
	}
}
