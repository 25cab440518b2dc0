package ir_test

import (
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func shapes(list ...[]int) [][]int { return list }

// simple is a case of an op of all parameters.
func simple(op ir.Op, name string, attr ir.Attr, shapes ...[]int) gradCase {
	return gradCase{op: op, name: name, shapes: shapes, f: func(l *lab, p []*ir.Node) *ir.Node { return l.op(op, attr, p...) }}
}

// within draws the parameters from an interval.
func (c gradCase) within(low, high float64) gradCase {
	c.low, c.high = low, high
	return c
}

func gradCases() []gradCase {
	var list []gradCase
	for _, part := range [][]gradCase{
		viewCases(), functionCases(), pairCases(), reduceCases(), productCases(), groupedCases(), rowCases(), attentionCases(), convCases(), indexCases(),
	} {
		list = append(list, part...)
	}
	return list
}

func viewCases() []gradCase {
	slice := func(name string, shape []int, ints ...int) gradCase {
		return simple(ir.Slice, name, ir.Attr{Ints: ints}, shape)
	}
	there := gradCase{op: ir.To, name: "squared elsewhere", shapes: shapes([]int{2, 3}), f: func(l *lab, p []*ir.Node) *ir.Node {
		other := newLabOn(l.t, map[string]string{"ref": "cpu", "cpu": "ref"}[l.dev.String()]).dev
		x := l.op(ir.To, ir.Attr{Dev: other}, p[0])
		return l.op(ir.To, ir.Attr{Dev: l.dev}, l.op(ir.Mul, ir.Attr{}, x, x))
	}}
	return []gradCase{
		there,
		simple(ir.Reshape, "split", ir.Attr{Shape: []int{2, 3}}, []int{6}),
		simple(ir.Reshape, "transposed", ir.Attr{Shape: []int{6}}, []int{3, 2}),
		simple(ir.Permute, "cycle", ir.Attr{Axes: []int{2, 0, 1}}, []int{2, 3, 4}),
		simple(ir.Expand, "rows", ir.Attr{Shape: []int{4, 3}}, []int{1, 3}),
		simple(ir.Expand, "in front", ir.Attr{Shape: []int{2, 4, 3}}, []int{4, 1}),
		simple(ir.Expand, "number", ir.Attr{Shape: []int{2, 2}}, []int{}),
		simple(ir.Expand, "to nothing", ir.Attr{Shape: []int{0, 3}}, []int{1, 3}),
		slice("middle", []int{5, 3}, 1, 4, 1, 0, 3, 1),
		slice("steps", []int{7, 5}, 0, 7, 3, 1, 5, 2),
		slice("backwards", []int{6}, 5, -1, -1),
		slice("backwards in steps", []int{8}, 6, 0, -3),
		slice("nothing", []int{4, 2}, 2, 2, 1, 0, 2, 1),
		simple(ir.Flip, "both", ir.Attr{Axes: []int{0, 1}}, []int{2, 3}),
		simple(ir.Pad, "all sides", ir.Attr{Ints: []int{1, 2, 0, 1}}, []int{2, 3}, []int{}),
		simple(ir.Pad, "nothing", ir.Attr{Ints: []int{1, 1}}, []int{0}, []int{}),
		{op: ir.Again, name: "after a part of itself", shapes: shapes([]int{2, 3}), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.op(ir.Again, ir.Attr{}, p[0], l.op(ir.Detach, ir.Attr{}, p[0]))
		}},
		{op: ir.Checkpoint, name: "nested, with a weight", shapes: shapes([]int{2, 3}, []int{2, 3}), f: func(l *lab, p []*ir.Node) *ir.Node {
			f := func(x *ir.Node) *ir.Node { return l.op(ir.Mul, ir.Attr{}, l.op(ir.Tanh, ir.Attr{}, x), p[1]) }
			inner := l.op(ir.Checkpoint, ir.Attr{}, f(p[0]), p[0])
			outer := l.op(ir.Add, ir.Attr{}, f(inner), p[0])
			return l.op(ir.Checkpoint, ir.Attr{}, outer, p[0])
		}},
		{op: ir.Checkpoint, name: "of something else", shapes: shapes([]int{3}), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.op(ir.Checkpoint, ir.Attr{}, l.op(ir.Sin, ir.Attr{}, p[0]), l.floats([]int{2}, 1, 2))
		}},
		simple(ir.Concat, "middle axis", ir.Attr{Axis: 1}, []int{2, 1, 3}, []int{2, 0, 3}, []int{2, 4, 3}),
	}
}

// inside are intervals well within the domain of a function of one operand, or apart from where it has no
// derivative. Others are checked from -2 to 2.
var inside = map[ir.Op][2]float64{
	ir.Log: {0.3, 3}, ir.Log1p: {0.3, 3}, ir.Sqrt: {0.3, 3}, ir.Rsqrt: {0.3, 3}, ir.Recip: {0.3, 3}, ir.Abs: {0.3, 3},
}

// functionCases are the functions of one operand that the table has a gradient for.
func functionCases() []gradCase {
	var list []gradCase
	for _, op := range functions(1) {
		for name, shape := range map[string][]int{"matrix": {2, 5}, "number": {}, "empty": {0, 2}} {
			list = append(list, simple(op, name, ir.Attr{}, shape).within(inside[op][0], inside[op][1]))
		}
	}
	twice := func(l *lab, p []*ir.Node) *ir.Node {
		return l.op(ir.Cast, ir.Attr{DType: p[0].DType}, l.op(ir.Cast, ir.Attr{DType: dtype.F64}, p[0]))
	}
	return append(list,
		simple(ir.Abs, "negative", ir.Attr{}, []int{4}).within(-3, -0.3),
		simple(ir.Gelu, "tanh", ir.Attr{Flags: ir.TanhApprox}, []int{9}),
		gradCase{op: ir.Cast, name: "twice", shapes: shapes([]int{3}), f: twice})
}

// functions are the elementwise ops of so many operands that have a gradient and keep their operands' type.
func functions(operands int) (list []ir.Op) {
	for _, r := range ir.Rows() {
		if r.Family == ir.FamilyElementwise && r.Sources == operands && r.Grad != nil && r.Op != ir.Cast {
			list = append(list, r.Op)
		}
	}
	return list
}

func pairCases() []gradCase {
	var list []gradCase
	for _, op := range []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Max, ir.Min} {
		list = append(list, simple(op, "matrices", ir.Attr{}, []int{2, 4}, []int{2, 4}),
			simple(op, "number left", ir.Attr{}, []int{}, []int{2, 4}), simple(op, "number right", ir.Attr{}, []int{3}, []int{}),
			simple(op, "numbers", ir.Attr{}, []int{}, []int{}), simple(op, "empty", ir.Attr{}, []int{0, 3}, []int{}))
	}
	for _, op := range functions(2) {
		list = append(list, simple(op, "positive", ir.Attr{}, []int{3, 3}, []int{3, 3}).within(0.4, 2.5),
			simple(op, "number right", ir.Attr{}, []int{5}, []int{}).within(0.4, 2.5),
			simple(op, "number left", ir.Attr{}, []int{}, []int{5}).within(0.4, 2.5))
	}
	square := func(l *lab, p []*ir.Node) *ir.Node {
		return l.op(ir.Pow, ir.Attr{}, p[0], ir.Number(p[0].Dev, p[0].DType, 2))
	}
	where := func(l *lab, p []*ir.Node) *ir.Node {
		cond := l.op(ir.Gt, ir.Attr{}, p[0], ir.Number(p[0].Dev, p[0].DType, 0))
		return l.op(ir.Where, ir.Attr{}, cond, p[0], p[1])
	}
	return append(list,
		simple(ir.Div, "negative", ir.Attr{}, []int{4}, []int{4}).within(-3, -0.5),
		gradCase{op: ir.Pow, name: "square of negative", shapes: shapes([]int{4}), low: -3, high: -1, f: square},
		gradCase{op: ir.Where, name: "both sides", shapes: shapes([]int{8}, []int{8}), f: where},
		gradCase{op: ir.Where, name: "number", shapes: shapes([]int{8}, []int{}), f: where})
}

func reduceCases() []gradCase {
	var list []gradCase
	for _, op := range []ir.Op{ir.Sum, ir.Mean, ir.Prod, ir.ReduceMax, ir.ReduceMin} {
		list = append(list, simple(op, "rows", ir.Attr{Axes: []int{1}}, []int{3, 4}),
			simple(op, "columns", ir.Attr{Axes: []int{0}}, []int{3, 4}),
			simple(op, "outer and inner", ir.Attr{Axes: []int{0, 2}}, []int{2, 3, 2}),
			simple(op, "no axis", ir.Attr{}, []int{3}), simple(op, "number", ir.Attr{}, []int{}),
			simple(op, "of nothing", ir.Attr{Axes: []int{1}}, []int{0, 3}))
	}
	withZeros := func(zeros ...float64) gradCase {
		return gradCase{op: ir.Prod, name: "with zeros", shapes: shapes([]int{4}), f: func(l *lab, p []*ir.Node) *ir.Node {
			mask := l.op(ir.Cast, ir.Attr{DType: p[0].DType}, l.floats([]int{4}, zeros...))
			return l.op(ir.Prod, ir.Attr{Axes: []int{0}}, l.op(ir.Mul, ir.Attr{}, p[0], mask))
		}}
	}
	return append(list,
		withZeros(1, 0, 1, 1), withZeros(0, 1, 0, 1),
		simple(ir.Sum, "no elements", ir.Attr{Axes: []int{0}}, []int{0, 3}),
		simple(ir.SumSquares, "three tensors", ir.Attr{}, []int{2, 3}, []int{}, []int{0, 4}),
		simple(ir.CumSum, "forward", ir.Attr{Axis: 0}, []int{4, 2}),
		simple(ir.CumSum, "reverse, exclusive", ir.Attr{Axis: 1, Flags: ir.Reverse | ir.Exclusive}, []int{2, 4}),
		simple(ir.CumSum, "empty", ir.Attr{Axis: 0}, []int{0, 2}))
}

func groupedCases() (list []gradCase) {
	for _, c := range []struct {
		name  string
		index []int
	}{
		{"several rows of a group, and a group without", []int{2, 0, 2, 3, -1}}, {"one row", []int{1}}, {"no rows", nil},
	} {
		m := len(c.index)
		list = append(list,
			gradCase{op: ir.GroupedMatMul, name: c.name, shapes: shapes([]int{m, 3}, []int{4, 3, 2}), f: func(l *lab, p []*ir.Node) *ir.Node {
				return l.op(ir.GroupedMatMul, ir.Attr{}, p[0], p[1], l.ints([]int{m}, c.index...))
			}},
			gradCase{op: ir.GroupedWeight, name: c.name, shapes: shapes([]int{m, 3}, []int{m, 2}), f: func(l *lab, p []*ir.Node) *ir.Node {
				return l.op(ir.GroupedWeight, ir.Attr{Index: 4, DType: p[0].DType}, p[0], p[1], l.ints([]int{m}, c.index...))
			}})
	}
	return list
}

func linearLossCases() (list []gradCase) {
	for value, of := range []string{"loss", "logsumexp"} {
		for _, c := range []struct {
			name    string
			attr    ir.Attr
			targets []int
		}{
			{"plain", ir.Attr{Index: -1}, []int{0, 4, 2}},
			{"smoothing, ignored rows", ir.Attr{Index: 3, Float: 0.1}, []int{3, 1, 3}},
			{"capped", ir.Attr{Index: -1, Rates: []float64{1.5}}, []int{1, 2}},
			{"no rows", ir.Attr{Index: -1}, nil},
		} {
			list = append(list, gradCase{op: ir.LinearCrossEntropy, name: c.name + ", " + of, shapes: shapes([]int{len(c.targets), 3}, []int{3, 5}),
				f: func(l *lab, p []*ir.Node) *ir.Node {
					return l.pick(l.op(ir.LinearCrossEntropy, c.attr, p[0], p[1], l.ints([]int{len(c.targets)}, c.targets...)), value)
				}})
		}
	}
	return list
}

func productCases() []gradCase {
	return append(linearLossCases(), []gradCase{
		simple(ir.MatMul, "matrices", ir.Attr{}, []int{2, 3}, []int{3, 4}),
		simple(ir.MatMul, "batched", ir.Attr{}, []int{2, 2, 2, 3}, []int{2, 2, 3, 2}),
		simple(ir.MatMul, "pairs", ir.Attr{}, []int{2, 3}, []int{3, 4}, []int{2, 1}, []int{1, 4}),
		simple(ir.MatMul, "inner dimension 0", ir.Attr{}, []int{2, 0}, []int{0, 3}),
		simple(ir.LoRALinear, "rank 2", ir.Attr{Float: 1.5}, []int{3, 4}, []int{4, 5}, []int{4, 2}, []int{2, 5}),
		simple(ir.LoRALinear, "no rows", ir.Attr{Float: 2}, []int{0, 4}, []int{4, 5}, []int{4, 2}, []int{2, 5}),
		{op: ir.MatMul, name: "square of a matrix", shapes: shapes([]int{3, 3}), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.op(ir.MatMul, ir.Attr{}, p[0], p[0])
		}},
		{op: ir.MatMul, name: "three projections of one input", shapes: shapes([]int{3, 2}, []int{2, 2}, []int{2, 2}, []int{2, 2}),
			f: func(l *lab, p []*ir.Node) *ir.Node {
				flat := l.op(ir.Reshape, ir.Attr{Shape: []int{3, 2}}, p[0])
				q, k := l.op(ir.MatMul, ir.Attr{}, flat, p[1]), l.op(ir.MatMul, ir.Attr{}, flat, p[2])
				return l.op(ir.Add, ir.Attr{}, l.op(ir.Mul, ir.Attr{}, q, k), l.op(ir.MatMul, ir.Attr{}, flat, p[3]))
			}},
	}...)
}

func rowCases() []gradCase {
	ce := func(name string, attr ir.Attr, value int, targets ...int) gradCase {
		return gradCase{op: ir.CrossEntropy, name: name, shapes: shapes([]int{len(targets), 5}), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.pick(l.op(ir.CrossEntropy, attr, p[0], l.ints([]int{len(targets)}, targets...)), value)
		}}
	}
	both := func(l *lab, p []*ir.Node) *ir.Node {
		n := l.op(ir.CrossEntropy, ir.Attr{Index: -1}, p[0], l.ints([]int{2}, 1, 0))
		return l.op(ir.Mul, ir.Attr{}, l.pick(n, 0), l.pick(n, 1))
	}
	list := []gradCase{
		ce("plain", ir.Attr{Index: -1}, 0, 0, 4, 2),
		ce("smoothing", ir.Attr{Index: -1, Float: 0.1}, 0, 0, 4, 2),
		ce("ignored rows", ir.Attr{Index: 3}, 0, 3, 1, 3),
		ce("logsumexp", ir.Attr{Index: 3}, 1, 3, 1),
		ce("no rows", ir.Attr{Index: -1}, 0),
		{op: ir.CrossEntropy, name: "both values", shapes: shapes([]int{2, 3}), f: both},
	}
	for _, r := range ir.Rows() {
		if r.Family != ir.FamilyRow || strings.Contains(r.Operands, "n") {
			continue
		}
		for name, x := range map[string][]int{"rows": {3, 5}, "three axes": {2, 2, 3}, "vector": {4}, "no rows": {0, 4}, "one column": {2, 1}} {
			list = append(list, gradCase{op: r.Op, name: name, shapes: operands(r, x), f: func(l *lab, p []*ir.Node) *ir.Node {
				y := l.op(r.Op, ir.Attr{Float: 0.1}, p...)
				if y.Outs != nil {
					y = l.pick(y, 0)
				}
				return y
			}})
		}
	}
	list = append(list, secondCases()...)
	return append(list,
		simple(ir.LayerNorm, "least eps", ir.Attr{Float: 1e-5}, []int{3, 4}, []int{4}, []int{4}),
		simple(ir.RMSNorm, "least eps", ir.Attr{Float: 1e-5}, []int{3, 4}, []int{4}))
}

// operands are the shapes that a row op takes beside rows of that shape.
func operands(r ir.Row, x []int) (list [][]int) {
	for _, kind := range r.Operands {
		if kind == 'w' {
			list = append(list, x[len(x)-1:])
		} else {
			list = append(list, x)
		}
	}
	return list
}

func attentionCases() []gradCase {
	rope := func(name string, attr ir.Attr, shape []int, at []int, positions ...int) gradCase {
		attr.Float = 100
		return gradCase{op: ir.Rope, name: name, shapes: shapes(shape), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.op(ir.Rope, attr, p[0], l.ints(at, positions...))
		}}
	}
	attend := func(name string, flags ir.Flag, sight ir.Sight, mask func(l *lab) *ir.Node, q, k, v []int) gradCase {
		return gradCase{op: ir.Attention, name: name, shapes: shapes(q, k, v), f: func(l *lab, p []*ir.Node) *ir.Node {
			src := p
			if mask != nil {
				src = append(p[:3:3], mask(l))
			}
			attr := sight.Attr(0.7)
			attr.Flags = flags
			return l.pick(l.op(ir.Attention, attr, src...), 0)
		}}
	}
	sums := func(name string, q, k, v []int) gradCase { // o·sigmoid(logsumexp), where both flow
		return gradCase{op: ir.Attention, name: name, shapes: shapes(q, k, v), f: func(l *lab, p []*ir.Node) *ir.Node {
			n := l.op(ir.Attention, ir.Attr{Float: 0.7, Flags: ir.Causal}, p...)
			o := l.pick(n, 0)
			share := l.op(ir.Cast, ir.Attr{DType: o.DType}, l.op(ir.Sigmoid, ir.Attr{}, l.pick(n, 1)))
			share = l.op(ir.Reshape, ir.Attr{Shape: []int{q[0], q[1], q[2], 1}}, share)
			return l.op(ir.Mul, ir.Attr{}, o, l.op(ir.Expand, ir.Attr{Shape: o.Shape}, share))
		}}
	}
	boolean := func(l *lab) *ir.Node { // query 0 may look nowhere
		m := l.ints([]int{1, 1, 3, 3}, 0, 0, 0, 1, 1, 0, 1, 0, 1)
		return l.op(ir.Cast, ir.Attr{DType: dtype.Bool}, m)
	}
	added := func(l *lab) *ir.Node {
		m := l.floats([]int{1, 2, 2, 2}, 0, 1, -1, 0.5, 0, 0, 2, -2)
		m.Tracked = false
		return m
	}
	return append(secondOfAttention(), []gradCase{
		rope("halves", ir.Attr{}, []int{2, 3, 4}, []int{3}, 0, 1, 5),
		rope("interleaved", ir.Attr{Flags: ir.Interleaved}, []int{3, 4}, []int{3}, 2, 1, 0),
		rope("positions of each row", ir.Attr{}, []int{2, 2, 2, 4}, []int{2, 1, 2}, 0, 1, 7, 8),
		attend("plain", 0, ir.Sight{}, nil, []int{1, 1, 3, 2}, []int{1, 1, 4, 2}, []int{1, 1, 4, 3}),
		attend("causal", ir.Causal, ir.Sight{}, nil, []int{2, 1, 3, 2}, []int{2, 1, 3, 2}, []int{2, 1, 3, 2}),
		attend("causal with a past", ir.Causal, ir.Sight{}, nil, []int{1, 1, 2, 2}, []int{1, 1, 4, 2}, []int{1, 1, 4, 2}),
		attend("grouped queries", 0, ir.Sight{}, nil, []int{1, 4, 2, 2}, []int{1, 2, 3, 2}, []int{1, 2, 3, 2}),
		attend("bool mask", 0, ir.Sight{}, boolean, []int{1, 1, 3, 2}, []int{1, 1, 3, 2}, []int{1, 1, 3, 2}),
		attend("added mask", ir.Causal, ir.Sight{}, added, []int{1, 2, 2, 2}, []int{1, 1, 2, 2}, []int{1, 1, 2, 2}),
		attend("a window", ir.Causal, ir.Sight{Window: 2}, nil, []int{1, 2, 4, 2}, []int{1, 1, 5, 2}, []int{1, 1, 5, 2}),
		attend("a window on both sides", 0, ir.Sight{Window: 2}, nil, []int{1, 2, 4, 2}, []int{1, 1, 5, 2}, []int{1, 1, 5, 2}),
		attend("capped scores", ir.Causal, ir.Sight{Window: 3, Cap: 0.6}, added, []int{1, 2, 2, 2}, []int{1, 1, 2, 2}, []int{1, 1, 2, 2}),
		sums("logsumexp", []int{2, 4, 3, 2}, []int{2, 2, 4, 2}, []int{2, 2, 4, 3}),
		sums("logsumexp of no key", []int{1, 1, 3, 2}, []int{1, 1, 2, 2}, []int{1, 1, 2, 2}),
		attend("no queries", 0, ir.Sight{}, nil, []int{1, 1, 0, 2}, []int{1, 1, 3, 2}, []int{1, 1, 3, 2}),
	}...)
}

func indexCases() []gradCase {
	with := func(op ir.Op, name string, axis int, at []int, index []int, list ...[]int) gradCase {
		return gradCase{op: op, name: name, shapes: list, f: func(l *lab, p []*ir.Node) *ir.Node {
			src := append([]*ir.Node{p[0], l.ints(at, index...)}, p[1:]...)
			return l.op(op, ir.Attr{Axis: axis}, src...)
		}}
	}
	topK := func(flags ir.Flag) gradCase {
		return gradCase{op: ir.TopK, name: "rows", shapes: shapes([]int{2, 5}), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.pick(l.op(ir.TopK, ir.Attr{Index: 2, Flags: flags}, p[0]), 0)
		}}
	}
	// Two rows of updates: place (0, 0) gets two of them, (0, 1) and (1, 1) one each.
	scatter := func(name string, how ir.Combination, zeros ...float64) gradCase {
		return gradCase{op: ir.ScatterWith, name: name, shapes: shapes([]int{2, 3}, []int{2, 2}), f: func(l *lab, p []*ir.Node) *ir.Node {
			base := p[0]
			if zeros != nil {
				mask := l.op(ir.Cast, ir.Attr{DType: base.DType}, l.floats([]int{2, 3}, zeros...))
				base = l.op(ir.Mul, ir.Attr{}, base, mask)
			}
			index := l.ints([]int{2, 2}, 0, 0, 1, -2)
			return l.op(ir.ScatterWith, ir.Attr{Axis: 1, Index: int(how)}, base, index, p[1])
		}}
	}
	return []gradCase{
		scatter("replace", ir.Replace), scatter("least", ir.Least), scatter("greatest", ir.Greatest), scatter("multiply", ir.Multiply),
		scatter("multiply a zero", ir.Multiply, 0, 1, 0, 1, 0, 1),
		with(ir.Gather, "embedding, one row twice", 0, []int{2, 2}, []int{1, 3, 1, 0}, []int{4, 3}),
		with(ir.Gather, "inner axis", 1, []int{3}, []int{2, 0, 2}, []int{2, 3}),
		with(ir.Gather, "one index", 0, []int{}, []int{1}, []int{3, 2}),
		with(ir.Gather, "no index", 0, []int{0}, nil, []int{3, 2}),
		with(ir.GatherAlong, "last axis", 1, []int{2, 2}, []int{2, 0, 1, 1}, []int{2, 3}),
		with(ir.ScatterAdd, "one slice twice", 0, []int{3}, []int{1, 1, 0}, []int{4, 2}, []int{3, 2}),
		with(ir.ScatterAlong, "first axis", 0, []int{1, 3}, []int{1, 0, 1}, []int{2, 3}, []int{1, 3}),
		topK(0), topK(ir.Reverse),
	}
}

func convCases() []gradCase {
	var list []gradCase
	for _, c := range []struct {
		name    string
		groups  int
		x, w, y []int
		windows []ir.Window
	}{
		{"a line", 1, []int{2, 2, 5}, []int{3, 2, 2}, []int{2, 3, 4}, []ir.Window{{Kernel: 2, Stride: 1, Dilation: 1}}},
		{"strides and zeros", 1, []int{1, 2, 5, 4}, []int{2, 2, 3, 2}, []int{1, 2, 3, 3},
			[]ir.Window{{Kernel: 3, Stride: 2, Before: 1, After: 1, Dilation: 1}, {Kernel: 2, Stride: 2, Before: 1, After: 1, Dilation: 1}}},
		{"groups and dilation", 2, []int{2, 4, 4, 3}, []int{2, 2, 2, 2}, []int{2, 2, 2, 3},
			[]ir.Window{{Kernel: 2, Stride: 1, Dilation: 2}, {Kernel: 2, Stride: 1, After: 1, Dilation: 1}}},
		{"stride beyond the kernel", 1, []int{1, 1, 7}, []int{1, 1, 1}, []int{1, 1, 3}, []ir.Window{{Kernel: 1, Stride: 3, Dilation: 1}}},
		{"three axes, each channel alone", 2, []int{1, 2, 2, 3, 2}, []int{2, 1, 1, 2, 2}, []int{1, 2, 2, 2, 1},
			[]ir.Window{{Kernel: 1, Stride: 1, Dilation: 1}, {Kernel: 2, Stride: 1, Dilation: 1}, {Kernel: 2, Stride: 1, Dilation: 1}}},
		{"no images", 1, []int{0, 2, 5}, []int{3, 2, 2}, []int{0, 3, 4}, []ir.Window{{Kernel: 2, Stride: 1, Dilation: 1}}},
	} {
		attr := ir.Attr{Ints: ir.Ints(c.windows), Index: c.groups}
		list = append(list, simple(ir.Conv, c.name, attr, c.x, c.w), simple(ir.ConvWeight, c.name, attr, c.x, c.y))
		attr.Shape = c.x[2:]
		list = append(list, simple(ir.ConvTranspose, c.name, attr, c.y, c.w))
	}
	pool := func(name string, shape []int, windows ...ir.Window) gradCase {
		return gradCase{op: ir.MaxPool, name: name, shapes: shapes(shape), f: func(l *lab, p []*ir.Node) *ir.Node {
			return l.pick(l.op(ir.MaxPool, ir.Attr{Ints: ir.Ints(windows)}, p[0]), 0)
		}}
	}
	return append(list,
		pool("halves", []int{1, 2, 4}, ir.Window{Kernel: 2, Stride: 2, Dilation: 1}),
		pool("squares and a rest", []int{2, 2, 5, 7}, ir.Window{Kernel: 2, Stride: 2, Dilation: 1}, ir.Window{Kernel: 3, Stride: 3, Dilation: 1}),
		pool("a window beyond the end", []int{1, 2, 5, 4}, ir.Window{Kernel: 2, Stride: 2, After: 1, Dilation: 1}, ir.Window{Kernel: 2, Stride: 2, Dilation: 1}),
		pool("gaps", []int{1, 2, 7}, ir.Window{Kernel: 2, Stride: 3, Dilation: 1}),
		pool("windows that overlap", []int{1, 2, 4, 3}, ir.Window{Kernel: 3, Stride: 1, Before: 1, After: 1, Dilation: 1}, ir.Window{Kernel: 2, Stride: 1, Dilation: 1}))
}
