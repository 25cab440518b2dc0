package tensor_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The guard names the operation that made the first NaN or infinity, within whatever kernel, and what it
// read.
func TestGuard(t *testing.T) {
	var g tensor.Guard
	g.Set(true)
	line := ""
	ctx := profile.WithPlaces(tensor.WithGuard(context.Background(), &g), func(string) string { return line })
	x := tensor.From([]float32{4, -1, 9}).Eval()
	compiled := tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{args[0].Sqrt().Add(1)} })
	for _, c := range []struct {
		name string
		run  func()
		want string
	}{
		{"all is well", func() { x.Exp().Sum().Eval() }, ""},
		{"one of several operations of a kernel", func() {
			line = "In[1]:2"
			y := x.Mul(2).Sqrt()
			line = "In[1]:3"
			y.Add(1).Sum().Eval()
		}, "sqrt: got NaN in 1 of 3 elements of f32[3], the first at [1], want finite numbers; it comes from In[1]:2 sqrt; it reads f32[3] from -2 to 18"},
		{"an infinity", func() { tensor.Ones(2, 2).Eval().Div(tensor.From([]float32{1, 0}).Named("b").Eval()).Eval() },
			"div: got infinity in 2 of 4 elements of f32[2 2], the first at [0 1], want finite numbers; it comes from In[1]:3 div; it reads f32[2 2] from 1 to 1, f32[2 2] from 0 to 1"},
		{"an intermediate that is not kept", func() { tensor.Scalar(1).Div(tensor.Scalar(1).Add(x.Mul(100).Exp())).Eval() }, ""},
		{"half precision", func() { x.Cast(dtype.F16).Eval().Mul(30000).Eval() }, "mul: got infinity in 2 of 3 elements of f16[3], the first at [0]"},
		{"a number", func() { x.Sum().Sub(13).Log().Eval() }, "log: got NaN in 1 of 1 elements of f32[]"},
		{"a compiled function", func() { compiled(x) }, "map_sqrt_add: got NaN in 1 of 3 elements of f32[3], the first at [1], want finite numbers; it comes from In[1]:3 sqrt, add; it reads f32[3] from -1 to 9"},
	} {
		err := tensor.Try(func() { tensor.Within(ctx, c.run) })
		switch {
		case err == nil && c.want != "" || err != nil && c.want == "":
			t.Errorf("%s: got error %v, want %q", c.name, err, c.want)
		case err != nil && !strings.HasPrefix(err.Error(), c.want):
			t.Errorf("%s: got %q, want %q", c.name, err, c.want)
		}
	}
	g.Set(false)
	tensor.Within(ctx, func() { x.Sqrt().Eval() })
}

// A step in place is made or not made: the guard speaks of it when all of it is there.
func TestGuardOfAStepInPlace(t *testing.T) {
	var g tensor.Guard
	g.Set(true)
	p, grad := tensor.From([]float32{1, 2}).Eval(), tensor.From([]float32{1, 1}).Eval()
	m, v := tensor.Zeros(2).Eval(), tensor.From([]float32{-1, 1}).Eval()
	err := tensor.EvalContext(tensor.WithGuard(context.Background(), &g), func() tensor.Tensor {
		news, _, _ := tensor.AdamW([]tensor.Tensor{p}, []tensor.Tensor{grad}, []tensor.Tensor{m}, []tensor.Tensor{v},
			tensor.AdamWStep{LR: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-8, Step: 1})
		return news[0]
	}())
	if err == nil || !strings.Contains(err.Error(), "adamw: got NaN in 1 of 2 elements of f32[2], the first at [0]") {
		t.Errorf("got %v, want the step named", err)
	}
}
