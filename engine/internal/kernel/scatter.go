package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Scatters, without atomic operations on floats: equal work gives equal bits.
//
// Each thread has an element of the updates, or goes along a line of them, and there is no tile: an update is
// read once and its place read and written, 12 bytes of f32 for one addition. Neighbouring threads have
// neighbouring elements of a slice, so memory is the limit where slices are longer than a simdgroup is wide.
// The first dispatch of scatterSlices compares each place of the index with those behind it, until one names
// the same slice: n²/2 comparisons of 8 bytes, which the caches hold, for n places. From some 10,000 places
// on they take longer than the updates.

// mostCompared is how many updates each thread of an Overwrite looks through.
const mostCompared = 64

// scatterSlices adds updates to slices of base, or replaces them. Several updates of one slice are taken in
// their order, without atomic operations: a first dispatch chains the places of the index that name the same
// slice, and the first of each chain then goes along it.
func scatterSlices(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	index, updates := inputLayout(g, in.Args[1]), inputLayout(g, in.Args[2])
	axis := in.Attr.Axis
	whole := ir.Contiguous(o.Shape)
	k.Dispatches = copyInto(g, k.limits, o, in.Args[0], inputLayout(g, in.Args[0]), whole)
	if base, input := in.Args[0].Input(); input && len(k.Dispatches) > 0 {
		k.Dispatches[0].Same = &[2]int{g.Inputs[base].Buf, o.Buf}
		k.Dispatches[0].Spared = in.Attr.Flags&ir.InPlace != 0
	}
	count := ir.Size(index.Shape)
	if count == 0 || ir.Size(o.Shape) == 0 {
		return
	}
	few := in.Op == ir.Overwrite && count <= mostCompared
	if !few {
		k.Scratch = 8 * count
		k.Dispatches = append(k.Dispatches, chain(g, k, index, o.Shape[axis])...)
	}

	// Each thread stands at an element of the updates, whose shape is base's with the axis replaced by
	// index's.
	over := func(l ir.Layout) ir.Layout {
		return ir.Layout{Shape: updates.Shape, Offset: l.Offset, Stride: slices.Concat(make([]int, axis), l.Stride, make([]int, len(o.Shape)-axis-1))}
	}
	rank := len(index.Shape)
	lines := ir.Layout{Shape: updates.Shape, Stride: slices.Concat(whole.Stride[:axis], make([]int, rank), whole.Stride[axis+1:])}
	slice := ir.Layout{Shape: updates.Shape, Offset: updates.Offset, Stride: slices.Clone(updates.Stride)}
	for i := axis; i < axis+rank; i++ {
		slice.Stride[i] = 0
	}
	e := newElements(g, k.limits, in.Op.String(), updates.Shape, named{name: "y", layout: lines, reach: ir.Size(o.Shape)}, named{name: "x", layout: slice, reach: reachOf(updates)},
		named{name: "index", layout: over(index)}, named{name: "position", layout: over(ir.Contiguous(index.Shape))})
	e.writes(o)
	e.reads("x", in.Args[2])
	e.reads("index", in.Args[1])
	e.constant("y_axis", whole.Stride[axis])
	turn := e.positions("x", index.Shape, updates.Stride[axis:axis+rank])
	if few {
		e.constant("total", count)
		e.indexed(k, in.Op, axis, o.Shape[axis])
		other := e.positions("index", index.Shape, index.Stride)
		k.Dispatches = append(k.Dispatches, e.dispatch(func() {
			e.lookup(in.Args[1], "slice")
			e.line("const int here = int(%s);", e.here("position"))
			e.line("bool kept = !bad && atomic_load_explicit(a.stop, memory_order_relaxed) != 0;")
			e.line("for (int n = here + 1; n < int(a.total); n++) {")
			e.line("const long later = a.index[%s];", other("n"))
			e.line("kept = kept && (later < 0 ? later + a.length : later) != long(slice);")
			e.line("}")
			e.line("if (kept) a.y[%s + slice * a.y_axis] = %s(loaded(a.x[%s + %s]));", e.here("y"), memoryTypes[o.DType], e.here("x"), turn("here"))
		})...)
		return
	}
	e.chains(count)
	e.constant("length", o.Shape[axis])
	reg, goesOn := register(o.DType), "true"
	if in.Op == ir.Overwrite {
		goesOn = e.goesOn()
	}
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.line("const int here = int(%s);", e.here("position"))
		e.line("const %s chosen = %s(%s);", e.index, e.index, e.element("index", in.Args[1]))
		line := fmt.Sprintf("const %[1]s line = %[2]s + (chosen < 0 ? chosen + a.length : chosen) * a.y_axis;", e.index, e.here("y"))
		if in.Op == ir.Overwrite {
			e.line("if (a.next[here] == -1 && %s) {", goesOn)
			e.line("%s", line)
			e.line("a.y[line] = %s(loaded(a.x[%s + %s]));", memoryTypes[o.DType], e.here("x"), turn("here"))
			e.line("}")
			return
		}
		e.line("if (a.first[here] == 1) {")
		e.line("%s", line)
		e.line("%s v = %s(loaded(a.y[line]));", reg, reg)
		e.line("for (int n = here; n >= 0; n = a.next[n]) v = op_add(v, %s(loaded(a.x[%s + %s])));", reg, e.here("x"), turn("n"))
		e.line("a.y[line] = %s(v);", memoryTypes[o.DType])
		e.line("}")
	})...)
}

// reachOf is how many elements lie between the ends of a layout.
func reachOf(l ir.Layout) int {
	n := 1
	for i, d := range l.Shape {
		n += (d - 1) * max(l.Stride[i], -l.Stride[i])
	}
	return n
}

// chains declares the workspace's two lists: of each place of the index the next one that names the same
// slice (-1 if there is none, -2 if it names none), and whether it is the first that does.
func (e *elementText) chains(count int) {
	e.member("device int*", "next", Field{Kind: Scratch, Size: 8})
	e.member("device int*", "first", Field{Kind: Scratch, Size: 8, At: 4 * count})
}

// chain finds for each place of the index the next one that names the same slice.
func chain(g *backend.Group, k *Kernel, index ir.Layout, length int) []Dispatch {
	in := &g.Insts[0]
	flat := ir.Contiguous(index.Shape)
	e := newElements(g, k.limits, "chain", index.Shape, named{name: "index", layout: index}, named{name: "position", layout: flat})
	e.reads("index", in.Args[1])
	count := ir.Size(index.Shape)
	e.chains(count)
	e.constant("total", count)
	e.indexed(k, in.Op, in.Attr.Axis, length)
	turn := e.positions("index", index.Shape, index.Stride)
	return e.dispatch(func() {
		e.lookup(in.Args[1], "slice")
		e.line("const int here = int(%s);", e.here("position"))
		e.line("int next = bad ? -2 : -1, first = bad ? 0 : 1;")
		e.line("for (int n = 0; n < int(a.total) && !bad; n++) {")
		e.line("const long other = a.index[%s];", turn("n"))
		e.line("if (n == here || (other < 0 ? other + a.length : other) != long(slice)) continue;")
		e.line("if (n < here) first = 0;")
		e.line("if (n > here) {")
		e.line("next = n;")
		e.line("break;")
		e.line("}")
		e.line("}")
		e.line("a.next[here] = next;")
		e.line("a.first[here] = first;")
	})
}

// positions declares the lengths and strides of the index's axes in an input, and returns the expression that
// finds place n, in C order, there. Axes that go on are joined.
func (e *elementText) positions(name string, shape, stride []int) func(n string) string {
	s := spaceOf(shape, []ir.Layout{{Shape: shape, Stride: stride}}, 0, func(int, int) bool { return true })
	strides := s.places[0].strides
	for axis := range s.lens {
		e.constant(name+"_length"+digit(axis), s.lens[axis])
		e.constant(name+"_step"+digit(axis), strides[axis])
	}
	return func(n string) string {
		expr, left := "", e.index+"("+n+")"
		for axis := range s.lens {
			part := left
			if axis < len(s.lens)-1 {
				part = left + " % a." + name + "_length" + digit(axis)
			}
			if expr != "" {
				expr += " + "
			}
			expr += "(" + part + ") * a." + name + "_step" + digit(axis)
			left += " / a." + name + "_length" + digit(axis)
		}
		return "(" + expr + ")"
	}
}

func digit(n int) string { return string(rune('0' + n)) }

// scatterElements combines each element of the updates with that at its index along an axis: a thread goes
// along each line, in order.
func scatterElements(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	index, updates := inputLayout(g, in.Args[1]), inputLayout(g, in.Args[2])
	axis := in.Attr.Axis
	whole := ir.Contiguous(o.Shape)
	size := ir.Size(o.Shape)
	if size == 0 {
		return
	}
	// Narrow floats are added up in f32 in the workspace, and rounded once.
	result, wide := o, o.DType == dtype.F16 || o.DType == dtype.BF16
	if wide {
		result.DType, result.Buf = dtype.F32, workspace
		k.Scratch = 4 * size
	}
	k.Dispatches = copyInto(g, k.limits, result, in.Args[0], inputLayout(g, in.Args[0]), whole)
	n := index.Shape[axis]
	if n > 0 {
		e := newElements(g, k.limits, in.Op.String(), still(index, axis).Shape, named{name: "y", layout: still(whole, axis), reach: size}, named{name: "x", layout: still(updates, axis), reach: reachOf(updates)},
			named{name: "index", layout: still(index, axis), reach: reachOf(index)}, named{name: "position", layout: still(ir.Contiguous(index.Shape), axis)})
		e.writes(result)
		e.reads("x", in.Args[2])
		e.reads("index", in.Args[1])
		e.constant("count", n)
		e.constant("y_axis", whole.Stride[axis])
		e.constant("x_axis", updates.Stride[axis])
		e.constant("index_axis", index.Stride[axis])
		e.constant("position_axis", ir.Contiguous(index.Shape).Stride[axis])
		e.indexed(k, in.Op, axis, o.Shape[axis])
		reg := register(o.DType)
		combine := map[ir.Combination]string{ir.Multiply: "op_mul(%s, %s)", ir.Least: "op_min(%s, %s)", ir.Greatest: "op_max(%s, %s)"}[ir.Combination(in.Attr.Index)]
		if in.Op == ir.ScatterAlong {
			combine = "op_add(%s, %s)"
		}
		k.Dispatches = append(k.Dispatches, e.dispatch(func() {
			e.line("for (%s n = 0; n < a.count; n++) {", e.index)
			e.line("const long chosen = a.index[%s + n * a.index_axis];", e.here("index"))
			e.line("if (chosen < -a.length || chosen >= a.length) {")
			e.line("report(a.fault, a.stop, uint(%s + n * a.position_axis), chosen);", e.here("position"))
			e.line("continue;")
			e.line("}")
			e.line("const %[1]s to = %[2]s + %[1]s(chosen < 0 ? chosen + a.length : chosen) * a.y_axis;", e.index, e.here("y"))
			e.line("const %s u = %s(loaded(a.x[%s + n * a.x_axis]));", reg, reg, e.here("x"))
			value := "u"
			if combine != "" {
				e.line("const %s v = %s(loaded(a.y[to]));", reg, reg)
				value = fmt.Sprintf(combine, "v", "u")
			}
			e.line("a.y[to] = %s(%s);", memoryTypes[result.DType], value)
			e.line("}")
		})...)
	}
	if wide {
		back := backend.In(len(g.Inputs))
		h := &backend.Group{Name: g.Name, Kind: g.Kind, Insts: g.Insts, Inputs: append(slices.Clone(g.Inputs), backend.Input{DType: dtype.F32, Layout: whole, Buf: workspace})}
		k.Dispatches = append(k.Dispatches, copyInto(h, k.limits, o, back, whole, whole)...)
	}
}
