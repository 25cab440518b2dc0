package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// gather makes the columns of a part: rows of all channels and taps, which are so many elements apart, in
// which the next image begins next elements later.
func (c *columned) gather(x gathering, p part, to, next, apart int) {
	spatial, last := len(x.windows), len(x.windows)-1
	per, places := 1, slices.Clone(x.places)
	places[0] = p.rows
	if places[last]%4 == 0 && apart%4 == 0 && next%4 == 0 {
		per = 4
	}
	taps := 1
	for _, w := range x.windows {
		taps *= w.Kernel
	}
	shape := slices.Concat([]int{p.images, x.layout.Shape[1]}, places)
	shape[2+last] /= per
	y := ir.Contiguous(slices.Concat(shape[:2], places))
	y.Shape = shape
	y.Stride[0], y.Stride[1] = next, taps*apart
	y.Stride[2+last] = per
	source := ir.Layout{Shape: shape, Stride: make([]int, 2+spatial), Offset: x.layout.Offset + p.image*x.layout.Stride[0]}
	copy(source.Stride, x.layout.Stride[:2])
	list := []named{{name: "y", layout: y, reach: taps * apart}, {name: "x", layout: source, reach: reachOf(x.layout)}}
	for axis := range x.windows {
		step := 1
		if axis == last {
			step = per
		}
		list = append(list, named{name: fmt.Sprintf("t%d", axis), layout: counting(shape, 2+axis, step)})
	}
	g := &backend.Group{Name: c.g.Name, Kind: backend.Single, Inputs: c.g.Inputs, Insts: c.g.Insts}
	e := newElements(g, c.limits, "columns", shape, list...)
	e.writes(backend.Output{Buf: to, DType: c.in.DType})
	e.reads("x", x.from)
	e.constant("apart", apart)
	for axis, w := range x.windows {
		e.constant(fmt.Sprintf("x_s%d", axis), x.layout.Stride[2+axis])
		e.constant(fmt.Sprintf("length%d", axis), x.layout.Shape[2+axis])
		e.constant(fmt.Sprintf("kernel%d", axis), w.Kernel)
		e.constant(fmt.Sprintf("stride%d", axis), w.Stride)
		e.constant(fmt.Sprintf("dilation%d", axis), w.Dilation)
		start := -w.Before
		if axis == 0 {
			start += p.row * w.Stride
		}
		e.constant(fmt.Sprintf("start%d", axis), start)
	}
	c.steps = append(c.steps, e.dispatch(func() { c.gatherTaps(e, x, per) })...)
}

// gatherTaps writes down what a thread does: for each tap it stores so many elements of a row side by side.
func (c *columned) gatherTaps(e *elementText, x gathering, per int) {
	last := len(x.windows) - 1
	e.line("%s to = %s;", e.index, e.here("y"))
	inside, from := "true", e.here("x")
	for axis := range x.windows {
		if k := x.windows[axis].Kernel; k <= writtenOut {
			e.line("UNROLL for (int k%[1]d = 0; k%[1]d < %[2]d; k%[1]d++) {", axis, k)
		} else {
			e.line("for (%[1]s k%[2]d = 0; k%[2]d < a.kernel%[2]d; k%[2]d++) {", e.index, axis)
		}
		e.line("const %[1]s s%[2]d = %[3]s * a.stride%[2]d + a.start%[2]d + k%[2]d * a.dilation%[2]d;", e.index, axis, e.here(fmt.Sprintf("t%d", axis)))
		if axis < last {
			e.line("const bool inside%[1]d = %[2]s && s%[1]d >= 0 && s%[1]d < a.length%[1]d;", axis, inside)
			inside = fmt.Sprintf("inside%d", axis)
			from += fmt.Sprintf(" + s%[1]d * a.x_s%[1]d", axis)
		}
	}
	e.line("float v[%d];", per)
	e.line("UNROLL for (int e = 0; e < %d; e++) {", per)
	e.line("const %[1]s s = s%[2]d + e * a.stride%[2]d;", e.index, last)
	e.line("v[e] = 0.0f;")
	e.line("if (%s && s >= 0 && s < a.length%d) v[e] = loaded(a.x[%s + s * a.x_s%[2]d]);", inside, last, from)
	e.line("}")
	if per == 4 {
		e.line("store4(a.y + to, v);")
	} else {
		e.line("a.y[to] = %s(v[0]);", memoryTypes[c.in.DType])
	}
	e.line("to += a.apart;")
	e.close(len(x.windows))
}

// fold adds up, for each element of a part of dx, what the taps have of it in the columns.
func (c *columned) fold(p part, columns int, places []int, channels int) {
	shape := append([]int{p.images}, c.o.Shape[1:]...)
	taps, n := 1, ir.Size(places)
	for _, w := range c.windows {
		taps *= w.Kernel
	}
	from := ir.Layout{Shape: shape, Stride: make([]int, len(shape))}
	from.Stride[0], from.Stride[1] = c.groups*channels*taps*n, taps*n
	list := []named{contiguous("y", shape), {name: "x", layout: from, reach: taps * n}}
	for axis := range c.windows {
		list = append(list, named{name: fmt.Sprintf("s%d", axis), layout: counting(shape, 2+axis, 1)})
	}
	g := &backend.Group{Name: c.g.Name, Kind: backend.Single, Insts: c.g.Insts, Inputs: []backend.Input{{DType: dtype.F32, Buf: columns, Layout: from}}}
	e := newElements(g, c.limits, "fold", shape, list...)
	e.writes(backend.Output{Buf: c.within(c.o.Buf, p.image*ir.Size(shape[1:]), c.o.DType), DType: c.o.DType})
	e.reads("x", backend.In(0))
	e.constant("apart", n)
	for axis, w := range c.windows {
		e.constant(fmt.Sprintf("places%d", axis), places[axis])
		e.constant(fmt.Sprintf("kernel%d", axis), w.Kernel)
		e.constant(fmt.Sprintf("stride%d", axis), w.Stride)
		e.constant(fmt.Sprintf("dilation%d", axis), w.Dilation)
		e.constant(fmt.Sprintf("before%d", axis), w.Before)
	}
	c.steps = append(c.steps, e.dispatch(func() {
		e.line("fold_sum<float> f = fold_sum<float>::start();")
		tap, place := "", ""
		for axis := range c.windows {
			e.line("for (%[1]s k%[2]d = 0; k%[2]d < a.kernel%[2]d; k%[2]d++) {", e.index, axis)
			e.line("const %[1]s at%[2]d = %[3]s + a.before%[2]d - k%[2]d * a.dilation%[2]d;", e.index, axis, e.here(fmt.Sprintf("s%d", axis)))
			e.line("const %[1]s t%[2]d = at%[2]d / a.stride%[2]d;", e.index, axis)
			e.line("if (at%[1]d < 0 || t%[1]d * a.stride%[1]d != at%[1]d || t%[1]d >= a.places%[1]d) continue;", axis)
			if axis == 0 {
				tap, place = "k0", "t0"
			} else {
				tap = fmt.Sprintf("(%s) * a.kernel%d + k%[2]d", tap, axis)
				place = fmt.Sprintf("(%s) * a.places%d + t%[2]d", place, axis)
			}
		}
		e.line("f.take(a.x[%s + (%s) * a.apart + %s]);", e.here("x"), tap, place)
		e.close(len(c.windows))
		e.store(c.o.DType, "f.value()")
	})...)
}
