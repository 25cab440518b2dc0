package ir

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func param(name string, dt dtype.Type, shape ...int) *Node {
	n := leaf(dt, shape...)
	n.Name, n.Tracked = name, true
	return n
}

func total(x *Node) *Node {
	var all []int
	for i := range x.Shape {
		all = append(all, i)
	}
	return reshape(build(Sum, Attr{Axes: all}, x), []int{})
}

// Why a gradient is refused.
func TestGradErrors(t *testing.T) {
	w, u := param("w", dtype.F32, 2, 3), param("u", dtype.F32, 3)
	x := f32(2, 3)
	argmax := build(ArgMax, Attr{Axis: 1}, w)
	index := reshape(argmax, []int{2})
	q := param("q", dtype.F32, 1, 1, 4, 8)
	lse := pick(build(Attention, Attr{Float: 1}, q, f32(1, 1, 4, 8), f32(1, 1, 4, 8)), 1)
	first, err := Grad(t.Context(), total(lse), []*Node{q})
	if err != nil {
		t.Fatal(err)
	}
	mask := param("mask", dtype.F32, 1, 1, 4, 4)
	o := pick(build(Attention, Attr{Float: 1}, f32(1, 1, 4, 8), f32(1, 1, 4, 8), f32(1, 1, 4, 8), mask), 0)
	x.Retain() // as a person's handle does
	done := total(build(Exp, Attr{}, x))
	done.SetValue(&Data{Buf: noBuffer{}, Layout: new(Contiguous(nil))})
	again := mul(done, done)
	again.SetValue(&Data{Buf: noBuffer{}, Layout: new(Contiguous(nil))})
	for _, c := range []struct {
		name   string
		loss   *Node
		params []*Node
		want   string
	}{
		{"not one element", mul(w, x), []*Node{w}, "grad: got loss f32[2 3], want one element of a floating-point dtype (Sum or Mean gives one)"},
		{"unreached", total(mul(w, x)), []*Node{w, u}, "grad: the loss does not depend on u f32[3]"},
		{"detached", total(build(Detach, Attr{}, w)), []*Node{w},
			"grad: the loss does not depend on w f32[2 3] but through detach, which has no gradient: it is there to stop gradients"},
		{"through an index", total(build(Gather, Attr{}, x, index)), []*Node{w},
			"grad: the loss does not depend on w f32[2 3] but through arg_max, which has no gradient: its result is an index"},
		{"piecewise constant", total(build(Floor, Attr{}, w)), []*Node{w},
			"grad: floor f32[2 3] has no gradient: piecewise constant: its derivative is 0 almost everywhere"},
		{"a logsumexp twice", total(first[0]), []*Node{q}, "grad: attention_grad (f32[1 1 4 8], f32[1 1 4 8], f32[1 1 4 9]) has no gradient: it is one of a logsumexp, which has a first derivative only"},
		{"a mask", total(o), []*Node{mask}, "grad: attention has no gradient for operand 4, mask f32[1 1 4 4]"},
		{"integer parameter", total(w), []*Node{index}, "grad: got parameter i64[2], want a floating-point dtype"},
		{"forgotten", done, []*Node{x},
			"grad: the loss depends on f32[2 3] through f32[], which was evaluated, and only what is computed from a Param remembers how"},
		{"forgotten in part", build(Add, Attr{}, done, total(x)), []*Node{x},
			"grad: the loss depends on f32[2 3] through f32[], which was evaluated, and only what is computed from a Param remembers how"},
		{"forgotten before", build(Add, Attr{}, again, total(x)), []*Node{x},
			"grad: the loss depends on f32[2 3] through f32[], which was evaluated, and only what is computed from a Param remembers how"},
	} {
		_, err := Grad(t.Context(), c.loss, c.params)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// A Bool on the way is no obstacle where another way leads to the parameter.
func TestGradThroughCondition(t *testing.T) {
	w := param("w", dtype.F32, 3)
	relu := choose(compare(Gt, w, number32(0)), w, number32(0))
	if _, err := Grad(t.Context(), total(relu), []*Node{w}); err != nil {
		t.Error(err)
	}
}

// ops counts what a graph computes, by op, without views and numbers.
func ops(outs ...*Node) map[Op]int {
	m := map[Op]int{}
	for _, n := range Walk(context.Background(), outs).Nodes {
		if f := RowOf(n.Op).Family; f != FamilyLeaf && f != FamilyView {
			m[n.Op]++
		}
	}
	return m
}

// Training an adapter costs nothing for the frozen weight, and what three projections read gets its gradient
// from one product.
func TestGradOfLoRA(t *testing.T) {
	x := param("x", dtype.F32, 5, 8)
	a, b := param("a", dtype.F32, 8, 2), param("b", dtype.F32, 2, 6)
	w := f32(8, 6)
	y := build(LoRALinear, Attr{Float: 2}, x, w, a, b)

	grads, err := Grad(t.Context(), total(y), []*Node{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if m := ops(grads...); m[MatMul] != 4 {
		t.Errorf("da and db: got %d products, want 4: dy·bᵀ, xᵀ·dh, x·a, hᵀ·dy", m[MatMul])
	}
	for _, n := range Walk(t.Context(), grads).Nodes {
		if n == w {
			t.Error("the gradient of the adapter reads the frozen weight")
		}
	}

	k := build(LoRALinear, Attr{Float: 2}, x, f32(8, 6), param("a2", dtype.F32, 8, 2), param("b2", dtype.F32, 2, 6))
	grads, err = Grad(t.Context(), total(add(y, k)), []*Node{x})
	if err != nil {
		t.Fatal(err)
	}
	if dx := grads[0]; dx.Op != MatMul || len(dx.Src) != 8 {
		t.Errorf("dx: got %v of %d operands, want one matmul of 8", dx.Op, len(dx.Src))
	}
}

// The gradients of the fused rows are one op each.
func TestGradOfRows(t *testing.T) {
	x, w := param("x", dtype.F32, 4, 8), param("w", dtype.F32, 8)
	for _, c := range []struct {
		y      *Node
		params []*Node
		want   Op
	}{
		{build(Softmax, Attr{}, x), []*Node{x}, SoftmaxGrad},
		{build(LogSoftmax, Attr{}, x), []*Node{x}, LogSoftmaxGrad},
		{build(RMSNorm, Attr{Float: 1e-6}, x, w), []*Node{x, w}, RMSNormGrad},
		{build(LayerNorm, Attr{Float: 1e-6}, x, w, f32(8)), []*Node{x, w}, LayerNormGrad},
		{pick(build(CrossEntropy, Attr{Index: -1}, x, i64(4)), 0), []*Node{x}, CrossEntropyGrad},
		{build(Rope, Attr{Float: 1e4}, x, i64(4)), []*Node{x}, Rope},
	} {
		grads, err := Grad(t.Context(), total(c.y), c.params)
		if err != nil {
			t.Fatal(err)
		}
		if m := ops(grads...); m[c.want] != 1 {
			t.Errorf("got %v, want one %v", m, c.want)
		}
	}
}
