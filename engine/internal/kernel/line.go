package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// lines opens a text in which a simdgroup works on each line along an axis: the space is the line's places,
// mine the one of this simdgroup. A simdgroup beyond the last works on the last and stores nothing.
func (e *elementText) lines(body func()) []Dispatch {
	n := e.space.size()
	if n == 0 {
		return nil
	}
	const perGroup = rowThreads / simdWidth
	for axis, n := range e.space.lens {
		e.constant(fmt.Sprintf("n%d", axis), n)
	}
	for _, l := range e.named {
		e.declareStrides(l.name, &e.space.places[l.place])
	}
	e.constant("count", n)
	e.line("const %[1]s mine = %[1]s(group.x) * %[2]d + %[1]s(at.y);", e.index, perGroup)
	e.line("const bool inside = mine < a.count;")
	e.line("%s left = min(mine, a.count - 1);", e.index)
	rank := len(e.space.lens)
	for axis := range rank - 1 {
		e.line("const %s i%d = left %% a.n%d;", e.index, axis, axis)
		e.line("left /= a.n%d;", axis)
	}
	e.line("const %s i%d = left;", e.index, rank-1)
	body()
	threads := [3]int{simdWidth, perGroup, 1}
	function, source := e.finish(e.kind, describe(e.g), parameters, threads)
	return []Dispatch{{Function: function, Text: source, Args: e.args, Groups: [3]int{(n + perGroup - 1) / perGroup, 1, 1}, Threads: threads}}
}

// still is a layout that stays where it is along an axis.
func still(l ir.Layout, axis int) ir.Layout {
	r := ir.Layout{Shape: append([]int(nil), l.Shape...), Stride: append([]int(nil), l.Stride...), Offset: l.Offset}
	r.Shape[axis], r.Stride[axis] = 1, 0
	return r
}

// arg finds the best element of each line.
func arg(g *backend.Group, k *Kernel, better string) {
	in, o := &g.Insts[0], g.Outputs[0]
	x := inputLayout(g, in.Args[0])
	axis := in.Attr.Axis
	n := x.Shape[axis]
	e := newElements(g, in.Op.String(), o.Shape, contiguous("y", o.Shape), named{name: "x", layout: still(x, axis), reach: n * max(x.Stride[axis], -x.Stride[axis])})
	e.writes(o)
	e.reads("x", in.Args[0])
	e.constant("length", n)
	e.constant("x_axis", x.Stride[axis])
	i, _ := in.Args[0].Input()
	reg := register(g.Inputs[i].DType)
	k.Dispatches = e.lines(func() {
		e.line("fold_arg<%s, %s> f = fold_arg<%s, %s>::start();", reg, better, reg, better)
		e.line("for (%[1]s j = %[1]s(at.x); j < a.length; j += %[2]d) f.take(%[3]s(loaded(a.x[%[4]s + j * a.x_axis])), long(j));", e.index, simdWidth, reg, e.here("x"))
		e.line("f = simd_folded(f);")
		e.line("if (inside && at.x == 0) a.y[%s] = f.value();", e.here("y"))
	})
}

// cumSum walks along each line, 32 elements at a time.
func cumSum(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x := inputLayout(g, in.Args[0])
	axis := in.Attr.Axis
	n := x.Shape[axis]
	y := ir.Contiguous(o.Shape)
	if n == 0 {
		return
	}
	e := newElements(g, "cum_sum", still(y, axis).Shape, named{name: "y", layout: still(y, axis), reach: n * y.Stride[axis]},
		named{name: "x", layout: still(x, axis), reach: n * max(x.Stride[axis], -x.Stride[axis])})
	e.writes(o)
	e.reads("x", in.Args[0])
	e.constant("length", n)
	e.constant("x_axis", x.Stride[axis])
	e.constant("y_axis", y.Stride[axis])
	i, _ := in.Args[0].Input()
	reg := register(o.DType)
	k.Dispatches = e.lines(func() {
		e.line("fold_sum<%s> before = fold_sum<%s>::start();", reg, reg)
		e.line("for (%[1]s from = 0; from < a.length; from += %[2]d) {", e.index, simdWidth)
		e.line("const %[1]s step = from + %[1]s(at.x);", e.index)
		place := "step"
		if in.Attr.Flags&ir.Reverse != 0 {
			place = "a.length - 1 - step"
		}
		e.line("const %s j = %s;", e.index, place)
		e.line("%s v = %s(0);", reg, reg)
		e.line("if (step < a.length) v = convert<%s>::from(%s(loaded(a.x[%s + j * a.x_axis])));", reg, register(g.Inputs[i].DType), e.here("x"))
		e.line("const %s run = simd_running(v, at.x);", reg)
		result := "run"
		if in.Attr.Flags&ir.Exclusive != 0 {
			e.line("const %s up = up_lane(run, 1);", reg)
			e.line("const %s earlier = at.x == 0 ? %s(0) : up;", reg, reg)
			result = "earlier"
		}
		e.line("if (inside && step < a.length) a.y[%s + j * a.y_axis] = %s(op_add(before.value(), %s));", e.here("y"), memoryTypes[o.DType], result)
		e.line("before.take(last_lane(run));")
		e.line("}")
	})
}

// topK gives each element its place in the row: as many as come before it. The work grows with the square of
// the row's length.
func topK(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	x := inputLayout(g, in.Args[0])
	last := len(x.Shape) - 1
	n, count := x.Shape[last], in.Attr.Index
	i, _ := in.Args[0].Input()
	dt := g.Inputs[i].DType
	place := ir.Layout{Shape: x.Shape, Stride: make([]int, last+1)} // in the row
	place.Stride[last] = 1
	to := ir.Contiguous(append(append([]int(nil), x.Shape[:last]...), count)) // the first place of the row's results
	to = ir.Layout{Shape: x.Shape, Stride: append(append([]int(nil), to.Stride[:last]...), 0)}
	row := still(x, last)
	row.Shape = x.Shape
	e := newElements(g, "top_k", x.Shape, named{name: "x", layout: row, reach: n * max(x.Stride[last], -x.Stride[last])}, named{name: "place", layout: place}, named{name: "to", layout: to})
	e.reads("x", in.Args[0])
	for _, o := range g.Outputs {
		e.pointer("", fmt.Sprintf("y%d", o.Value.Result), o.DType, o.Buf, 0)
	}
	e.constant("length", n)
	e.constant("wanted", count)
	e.constant("x_axis", x.Stride[last])
	better := "better_max"
	if in.Attr.Flags&ir.Reverse != 0 {
		better = "after_max"
	}
	reg := register(dt)
	k.Dispatches = e.dispatch(func() {
		e.line("const %s me = %s;", e.index, e.here("place"))
		e.line("const %s v = %s(loaded(a.x[%s + me * a.x_axis]));", reg, reg, e.here("x"))
		e.line("%s rank = 0;", e.index)
		e.line("for (%s j = 0; j < a.length; j++) {", e.index)
		e.line("const %s w = %s(loaded(a.x[%s + j * a.x_axis]));", reg, reg, e.here("x"))
		e.line("if (%s::is(w, v) || (!%s::is(v, w) && j < me)) rank++;", better, better)
		e.line("}")
		e.line("if (rank < a.wanted) {")
		for _, o := range g.Outputs {
			value := memoryTypes[o.DType] + "(v)"
			if o.Value.Result == 1 {
				value = "long(me)"
			}
			e.line("a.y%d[%s + rank] = %s;", o.Value.Result, e.here("to"), value)
		}
		e.line("}")
	})
}
