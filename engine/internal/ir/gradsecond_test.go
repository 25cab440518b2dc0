package ir_test

import (
	"context"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// secondCases are functions made with gradients: what they are checked for are second derivatives.
func secondCases() []gradCase {
	var list []gradCase
	for value, name := range []string{"dx", "dweight", "dbias"} {
		of := func(op ir.Op, x []int) gradCase {
			width := x[len(x)-1:]
			return gradCase{op: op, name: fmt.Sprintf("%s of %v", name, x), shapes: shapes(x, width, x), f: func(l *lab, p []*ir.Node) *ir.Node {
				return l.pick(l.op(op, ir.Attr{Float: 0.1}, p...), value)
			}}
		}
		list = append(list, of(ir.LayerNormGrad, []int{3, 4}), of(ir.LayerNormGrad, []int{2, 1, 3}), of(ir.LayerNormGrad, []int{5}), of(ir.LayerNormGrad, []int{0, 2}))
		if value < 2 {
			list = append(list, of(ir.RMSNormGrad, []int{3, 4}), of(ir.RMSNormGrad, []int{2, 1, 3}), of(ir.RMSNormGrad, []int{5}))
		}
	}
	loss := func(name string, attr ir.Attr, targets ...int) gradCase {
		rows := []int{len(targets)}
		return gradCase{op: ir.CrossEntropyGrad, name: name, shapes: shapes([]int{len(targets), 5}, rows), f: func(l *lab, p []*ir.Node) *ir.Node {
			t := l.ints(rows, targets...)
			lse := l.pick(l.op(ir.CrossEntropy, attr, p[0], t), 1)
			return l.op(ir.CrossEntropyGrad, attr, p[0], t, lse, l.op(ir.Cast, ir.Attr{DType: lse.DType}, p[1]))
		}}
	}
	list = append(list,
		loss("plain", ir.Attr{Index: -1}, 0, 4, 2),
		loss("smoothing", ir.Attr{Index: -1, Float: 0.1}, 0, 4, 2),
		loss("ignored rows", ir.Attr{Index: 3}, 3, 1, 3),
		loss("no rows", ir.Attr{Index: -1}))
	for value, of := range []string{"of x", "of w"} {
		for name, attr := range map[string]ir.Attr{"smoothing": {Index: 3, Float: 0.1}, "capped": {Index: -1, Rates: []float64{1.5}}} {
			list = append(list, gradCase{op: ir.LinearCrossEntropyGrad, name: name + " " + of, shapes: shapes([]int{3, 2}, []int{2, 4}, []int{3}), f: func(l *lab, p []*ir.Node) *ir.Node {
				t := l.ints([]int{3}, 0, 3, 2)
				lse := l.pick(l.op(ir.LinearCrossEntropy, attr, p[0], p[1], t), 1)
				return l.pick(l.op(ir.LinearCrossEntropyGrad, attr, p[0], p[1], t, lse, l.op(ir.Cast, ir.Attr{DType: lse.DType}, p[2])), value)
			}})
		}
	}
	same := gradCase{op: ir.LayerNormGrad, name: "one operand twice", shapes: shapes([]int{3, 4}, []int{4}), f: func(l *lab, p []*ir.Node) *ir.Node {
		return l.pick(l.op(ir.LayerNormGrad, ir.Attr{Float: 0.1}, p[0], p[1], p[0]), 0)
	}}
	return append(append(list, same), penalties()...)
}

// penalties are sums of squares of gradients, as methods that smooth a loss add them to it.
func penalties() []gradCase {
	of := func(op ir.Op, attr ir.Attr, list ...[]int) gradCase {
		return gradCase{op: op, name: "gradient's square", shapes: list, f: func(l *lab, p []*ir.Node) *ir.Node {
			y := l.op(op, attr, p...)
			if y.Outs != nil {
				y = l.pick(y, 0)
			}
			grads, err := ir.Grad(context.Background(), l.sum(l.op(ir.Exp, ir.Attr{}, y)), p)
			if err != nil {
				l.t.Fatal(err)
			}
			squares := make([]*ir.Node, len(grads))
			for i, g := range grads {
				squares[i] = l.op(ir.Reshape, ir.Attr{Shape: []int{1}}, l.sum(l.op(ir.Mul, ir.Attr{}, g, g)))
			}
			return l.op(ir.Concat, ir.Attr{}, squares...)
		}}
	}
	return []gradCase{
		of(ir.Softmax, ir.Attr{}, []int{2, 3}),
		of(ir.LayerNorm, ir.Attr{Float: 0.1}, []int{2, 3}, []int{3}, []int{3}),
		of(ir.RMSNorm, ir.Attr{Float: 0.1}, []int{2, 3}, []int{3}),
		of(ir.Attention, ir.Attr{Float: 0.7, Flags: ir.Causal}, []int{1, 2, 2, 2}, []int{1, 1, 2, 2}, []int{1, 1, 2, 2}),
	}
}

// secondOfAttention are the second derivatives of attention, which there is with a mask and without.
func secondOfAttention() []gradCase {
	var list []gradCase
	for value, result := range []string{"dq", "dk", "dv"} {
		of := func(name string, flags ir.Flag, sight ir.Sight, mask func(l *lab) *ir.Node, q, k, v []int) {
			do := append(append([]int{}, q[:3]...), v[3])
			list = append(list, gradCase{op: ir.AttentionGrad, name: name + " " + result, shapes: shapes(q, k, v, do), f: func(l *lab, p []*ir.Node) *ir.Node {
				attr := sight.Attr(0.7)
				attr.Flags = flags
				var extra []*ir.Node
				if mask != nil {
					extra = append(extra, mask(l))
				}
				n := l.op(ir.Attention, attr, append(p[:3:3], extra...)...)
				return l.pick(l.op(ir.AttentionGrad, attr, append([]*ir.Node{p[0], p[1], p[2], l.pick(n, 0), l.pick(n, 1), p[3]}, extra...)...), value)
			}})
		}
		of("plain", 0, ir.Sight{}, nil, []int{1, 1, 2, 2}, []int{1, 1, 3, 2}, []int{1, 1, 3, 3})
		of("causal", ir.Causal, ir.Sight{}, nil, []int{2, 1, 3, 2}, []int{2, 1, 3, 2}, []int{2, 1, 3, 2})
		of("grouped queries, causal with a past", ir.Causal, ir.Sight{}, nil, []int{1, 4, 2, 2}, []int{1, 2, 3, 2}, []int{1, 2, 3, 2})
		of("a window, capped", ir.Causal, ir.Sight{Window: 2, Cap: 0.6}, nil, []int{1, 2, 3, 2}, []int{1, 1, 4, 2}, []int{1, 1, 4, 2})
		of("a window on both sides", 0, ir.Sight{Window: 2}, nil, []int{1, 1, 3, 2}, []int{1, 1, 4, 2}, []int{1, 1, 4, 2})
		of("bool mask", 0, ir.Sight{}, func(l *lab) *ir.Node { // query 0 may look nowhere
			return l.op(ir.Cast, ir.Attr{DType: dtype.Bool}, l.ints([]int{1, 1, 3, 3}, 0, 0, 0, 1, 1, 0, 1, 0, 1))
		}, []int{1, 1, 3, 2}, []int{1, 1, 3, 2}, []int{1, 1, 3, 2})
		of("added mask", ir.Causal, ir.Sight{}, func(l *lab) *ir.Node {
			m := l.floats([]int{1, 2, 2, 2}, 0, 1, -1, 0.5, 0, 0, 2, -2)
			m.Tracked = false
			return m
		}, []int{1, 2, 2, 2}, []int{1, 1, 2, 2}, []int{1, 1, 2, 2})
	}
	return list
}
