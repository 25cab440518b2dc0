package plan_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Row ops and their gradients are one launch each way.
func TestRowOpsBothWays(t *testing.T) {
	const rows, width = 16, 12
	for _, c := range []struct {
		name              string
		forward           func(x, w, b tensor.Tensor) tensor.Tensor
		forward1, reverse string
	}{
		{"softmax", func(x, _, _ tensor.Tensor) tensor.Tensor { return x.Softmax(-1) }, "softmax", "softmax_grad"},
		{"layer norm", func(x, w, b tensor.Tensor) tensor.Tensor { return x.LayerNorm(w, b, 1e-5) }, "layer_norm", "layer_norm_grad"},
		{"RMS norm", func(x, w, _ tensor.Tensor) tensor.Tensor { return x.RMSNorm(w, 1e-5) }, "rms_norm", "rms_norm_grad"},
	} {
		x, w, b := tensor.Randn(rows, width).Param(), tensor.Randn(width).Param(), tensor.Randn(width).Param()
		dy := tensor.Randn(rows, width).Eval()
		y := c.forward(x, w, b)
		if got := strings.Join(launches(y), " "); got != c.forward1 {
			t.Errorf("%s: forward launched %q, want %q", c.name, got, c.forward1)
		}
		// The gradient that arrives at y is dy; what the loss itself computes is not needed for it.
		grads := tensor.Grad(y.Mul(dy).Sum(), x)
		if got := strings.Join(launches(grads...), " "); got != c.reverse {
			t.Errorf("%s: backward launched %q, want %q", c.name, got, c.reverse)
		}
	}
}

// The adapters of a model are stepped by one launch, whatever their number.
func TestAdamWLaunches(t *testing.T) {
	var params, grads, m, v []tensor.Tensor
	for i := range 20 {
		shape := []int{3 + i, 4}
		params, grads = append(params, tensor.Randn(shape...).Eval()), append(grads, tensor.Randn(shape...).Eval())
		m, v = append(m, tensor.Zeros(shape...).Eval()), append(v, tensor.Zeros(shape...).Eval())
	}
	p1, m1, v1 := tensor.AdamW(params, grads, m, v, tensor.AdamWStep{LR: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: 1})
	all := append(append(p1, m1...), v1...)
	if got := launches(all...); len(got) != 1 || got[0] != "adamw" {
		t.Errorf("launched %q, want one adamw", got)
	}
}

// A step of training a LoRA layer. What changes from step to step is data: the learning rate, the step
// number, the random counter, and the tensors. So only the first step builds a plan.
func TestSecondStepBuildsNoPlan(t *testing.T) {
	x, w := tensor.Randn(16, 12).Eval(), tensor.Randn(12, 10).Eval()
	params := []tensor.Tensor{tensor.Randn(12, 2).Param(), tensor.Zeros(2, 10).Param()}
	m := []tensor.Tensor{tensor.Zeros(12, 2).Eval(), tensor.Zeros(2, 10).Eval()}
	v := []tensor.Tensor{tensor.Zeros(12, 2).Eval(), tensor.Zeros(2, 10).Eval()}
	rng := tensor.NewRNG(3)
	step := func(n int) float64 {
		target := rng.Randn(16, 10)
		loss := tensor.LoRALinear(x, w, params[0], params[1], 2).Sub(target).Square().Mean()
		grads := tensor.Grad(loss, params...)
		o := tensor.AdamWStep{LR: 0.01 * float64(n), Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, WeightDecay: 0.1, Step: n + 1}
		p1, m1, v1 := tensor.AdamW(params, grads, m, v, o)
		tensor.Eval(append(append(append([]tensor.Tensor{loss}, p1...), m1...), v1...)...)
		for i := range params {
			params[i].Set(p1[i])
		}
		m, v = m1, v1
		return loss.Item()
	}
	first := step(0)
	_, _, before := plan.CacheStats()
	r := profile.Record(t.Context(), func(context.Context) {
		for n := 1; n < 4; n++ {
			step(n)
		}
	})
	if _, _, built := plan.CacheStats(); built != before || r.PlansBuilt != 0 || r.PlansReused < 3 {
		t.Errorf("later steps built %d plans and reused %d", built-before, r.PlansReused)
	}
	t.Logf("%s", r)
	for n := 4; n < 60; n++ {
		step(n)
	}
	if last := step(60); !(last < first) {
		t.Errorf("loss went from %v to %v", first, last)
	}
}
