package ir_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Where a function has a corner, a tie or a pole, the gradient is what the op's row says.
func TestGradientAtEdges(t *testing.T) {
	all := ir.Attr{Axes: []int{0}}
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name string
		op   ir.Op
		attr ir.Attr
		x    [][]float64
		want [][]float64
	}{
		{"|0|", ir.Abs, ir.Attr{}, [][]float64{{0, -2, 3}}, [][]float64{{0, -1, 1}}},
		{"ties are shared", ir.Max, ir.Attr{}, [][]float64{{1, 2, 5}, {1, 3, 4}}, [][]float64{{0.5, 0, 1}, {0.5, 1, 0}}},
		{"ties are shared", ir.Min, ir.Attr{}, [][]float64{{1, 2, 5}, {1, 3, 4}}, [][]float64{{0.5, 1, 0}, {0.5, 0, 1}}},
		{"ties are shared", ir.ReduceMax, all, [][]float64{{7, 1, 7, 7}}, [][]float64{{1. / 3, 0, 1. / 3, 1. / 3}}},
		{"all equal", ir.ReduceMin, all, [][]float64{{2, 2}}, [][]float64{{0.5, 0.5}}},
		{"no zero", ir.Prod, all, [][]float64{{2, 3, 4}}, [][]float64{{12, 8, 6}}},
		{"one zero", ir.Prod, all, [][]float64{{2, 0, 4}}, [][]float64{{0, 8, 0}}},
		{"two zeros", ir.Prod, all, [][]float64{{0, 0, 4}}, [][]float64{{0, 0, 0}}},
		{"exponent 0", ir.Pow, ir.Attr{}, [][]float64{{0, 3}, {0, 0}}, [][]float64{{0, 0}, {0, math.Log(3)}}},
		{"base 0", ir.Pow, ir.Attr{}, [][]float64{{0, 0}, {2, 1}}, [][]float64{{0, 1}, {0, 0}}},
		{"√0", ir.Sqrt, ir.Attr{}, [][]float64{{0, 4}}, [][]float64{{inf, 0.25}}},
		{"log 0", ir.Log, ir.Attr{}, [][]float64{{0}}, [][]float64{{inf}}},
		{"mean of nothing", ir.Mean, all, [][]float64{{}}, [][]float64{{}}},
		{"a large number", ir.Silu, ir.Attr{}, [][]float64{{800, -800}}, [][]float64{{1, 0}}},
		{"a large number", ir.Gelu, ir.Attr{}, [][]float64{{40, -40}}, [][]float64{{1, 0}}},
		{"NaN stays", ir.Mul, ir.Attr{}, [][]float64{{1}, {nan}}, [][]float64{{nan}, {1}}},
	} {
		t.Run(fmt.Sprintf("%v/%s", c.op, c.name), func(t *testing.T) {
			l := newLab(t)
			params := make([]*ir.Node, len(c.x))
			for i, x := range c.x {
				params[i] = l.floats([]int{len(x)}, x...)
			}
			grads, err := ir.Grad(t.Context(), l.sum(l.op(c.op, c.attr, params...)), params)
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range l.values(grads...) {
				for k, want := range c.want[i] {
					if math.Abs(got[k]-want) > 1e-12 && got[k] != want || math.IsNaN(got[k]) != math.IsNaN(want) {
						t.Errorf("parameter %d: got %v, want %v", i, got, c.want[i])
						break
					}
				}
			}
		})
	}
}

// Gradients are graphs, so they have gradients.
func TestSecondDerivatives(t *testing.T) {
	for _, op := range append(functions(1), ir.Softmax, ir.LogSoftmax) {
		checkGradient(newLab(t), gradCase{op: op, shapes: shapes([]int{2, 4}), low: max(0.4, inside[op][0]), high: min(2, cmp.Or(inside[op][1], 2)), f: func(l *lab, p []*ir.Node) *ir.Node {
			y := l.op(op, ir.Attr{}, p[0])
			// Squaring keeps the sum of a softmax from being constant.
			grads, err := ir.Grad(t.Context(), l.sum(l.op(ir.Mul, ir.Attr{}, y, y)), p)
			if err != nil {
				l.t.Fatal(err)
			}
			return grads[0]
		}})
	}
}

// What an evaluation left in place is enough for a gradient afterwards, if a parameter is involved.
func TestGradAfterEvaluation(t *testing.T) {
	l := newLab(t)
	x := l.floats([]int{2}, 3, 4)
	y := l.op(ir.Mul, ir.Attr{}, x, x)
	loss := l.sum(y)
	l.values(y, loss)
	grads, err := ir.Grad(t.Context(), loss, []*ir.Node{x})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.values(grads...)[0]; got[0] != 6 || got[1] != 8 {
		t.Errorf("got %v, want [6 8]", got)
	}
}

// Any tensor on the way may be asked for: the loss itself, one twice, one that is no parameter.
func TestGradOfAnything(t *testing.T) {
	l := newLab(t)
	w, x := l.floats([]int{2}, 3, 4), l.floats([]int{2}, 5, 6)
	x.Tracked = false
	y := l.op(ir.Mul, ir.Attr{}, w, x)
	loss := l.sum(l.op(ir.Mul, ir.Attr{}, y, y))
	grads, err := ir.Grad(t.Context(), loss, []*ir.Node{y, w, w, loss, x})
	if err != nil {
		t.Fatal(err)
	}
	got := l.values(grads...)
	for i, want := range [][]float64{{30, 48}, {150, 288}, {150, 288}, {1}, {90, 192}} {
		if !slices.Equal(got[i], want) {
			t.Errorf("parameter %d: got %v, want %v", i, got[i], want)
		}
	}
}
