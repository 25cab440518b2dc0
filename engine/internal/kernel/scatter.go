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
// An update is read once and its place read and written, 12 bytes of f32 for one addition; neighbouring
// threads have neighbouring elements of a slice. Updates of one place are combined in their order, in one of
// three ways, and rounded once:
//
//   - Many lines: a thread goes along each. That is as many steps as a line has updates, each of which waits
//     for memory: some 0.3 µs on an H200.
//   - Else the index is sorted first, and the first update of each place takes the others along, see
//     segments.go. An index that many lines share is sorted once.
//   - An Overwrite of few slices looks through all that come later; one of more does so once for each slice.

// MostCompared is how many updates each thread of an Overwrite looks through.
const MostCompared = 64

// mostMarked is how many updates a simdgroup for each of an Overwrite looks through: as many threads look at
// half of them, in 11 µs on an H200, where a sort takes 17 for 2,048.
const mostMarked = 1 << 13

// How updates are looked through.
const (
	shortUpdates = 128     // of a line, along which a thread goes
	enoughLines  = 1 << 13 // that keep a device busy with one thread for each
)

// A scattering is an op of the family. Its lines are the places of base that have the same coordinates but
// for the axis; the index has one place for all lines, or for each line of some axes.
type scattering struct {
	g            *backend.Group
	limits       Limits
	in           *backend.Inst
	o            backend.Output
	whole        ir.Layout // of the result
	axis, length int
	count        int       // of a line's updates
	shape        []int     // of the result with as many places along the axis as there are updates
	x            ir.Layout // the updates over that shape; along the axis it stays
	along        ir.Layout // of a line's updates, from its first on
	index        ir.Layout // over that shape; along the axis it stays
	indices      ir.Layout // of a line's index, from its first place on
}

// newScattering looks at an op whose index replaces an axis of base, or has an element for each update.
func newScattering(g *backend.Group, k *Kernel) *scattering {
	in, o := &g.Insts[0], g.Outputs[0]
	s := &scattering{g: g, limits: k.limits, in: in, o: o, axis: in.Attr.Axis, whole: ir.Contiguous(o.Shape)}
	s.length = o.Shape[s.axis]
	index, updates := inputLayout(g, in.Args[1]), inputLayout(g, in.Args[2])
	first, rank := 0, len(index.Shape) // the index's axes among the updates'
	if in.Op == ir.ScatterAlong || in.Op == ir.ScatterWith {
		s.index = still(index, s.axis)
		first, rank = s.axis, 1
		s.indices = ir.Layout{Shape: index.Shape[first : first+1], Stride: index.Stride[first : first+1]}
	} else {
		s.index = ir.Layout{Stride: make([]int, len(o.Shape)), Offset: index.Offset}
		s.indices = ir.Layout{Shape: index.Shape, Stride: index.Stride}
	}
	s.along = ir.Layout{Shape: s.indices.Shape, Stride: updates.Stride[s.axis : s.axis+rank]}
	s.count = ir.Size(s.indices.Shape)
	s.shape = slices.Clone(o.Shape)
	s.shape[s.axis] = s.count
	s.index.Shape = s.shape
	s.x = ir.Layout{Shape: s.shape, Offset: updates.Offset, Stride: slices.Concat(updates.Stride[:s.axis], []int{0}, updates.Stride[s.axis+rank:])}
	for axis, n := range s.shape {
		if n == 1 {
			s.index.Stride[axis] = 0
		}
	}
	return s
}

// places is the layout of the result over the shape of the updates; along the axis it stays.
func (s *scattering) places() ir.Layout {
	l := ir.Layout{Shape: s.shape, Stride: slices.Clone(s.whole.Stride)}
	l.Stride[s.axis] = 0
	return l
}

// scatter writes the op down.
func scatter(g *backend.Group, k *Kernel) {
	s := newScattering(g, k)
	s.begin(k)
	switch {
	case ir.Size(s.shape) == 0 || s.length == 0:
	case s.in.Op == ir.Overwrite && s.count <= MostCompared:
		s.compared(k, -1)
	case s.in.Op == ir.Overwrite && s.count <= mostMarked:
		s.compared(k, s.mark(k))
	case s.rows() > 1 && (s.count <= shortUpdates || s.rows() >= enoughLines):
		s.lines(k)
	default:
		s.sorted(k)
	}
}

// begin copies the base, unless the result is to lie there.
func (s *scattering) begin(k *Kernel) {
	k.Dispatches = copyInto(s.g, s.limits, s.o, s.in.Args[0], inputLayout(s.g, s.in.Args[0]), s.whole)
	if base, input := s.in.Args[0].Input(); input && len(k.Dispatches) > 0 {
		k.Dispatches[0].Same = &[2]int{s.g.Inputs[base].Buf, s.o.Buf}
		k.Dispatches[0].Spared = s.in.Attr.Flags&ir.InPlace != 0
	}
}

// rows is the number of lines that have an index of their own.
func (s *scattering) rows() int {
	n := 1
	for axis, stride := range s.index.Stride {
		if stride != 0 {
			n *= s.shape[axis]
		}
	}
	return n
}

// combined is the expression of what is there and an update: the update, if it replaces that.
func (s *scattering) combined(there, update string) string {
	format := "op_add(%s, %s)"
	if s.replaces() {
		return update
	} else if s.in.Op == ir.ScatterWith {
		format = map[ir.Combination]string{ir.Multiply: "op_mul(%s, %s)", ir.Least: "op_min(%s, %s)", ir.Greatest: "op_max(%s, %s)"}[ir.Combination(s.in.Attr.Index)]
	}
	return fmt.Sprintf(format, there, update)
}

// replaces says whether the last update of a place stays.
func (s *scattering) replaces() bool {
	return s.in.Op == ir.Overwrite || s.in.Op == ir.ScatterWith && ir.Combination(s.in.Attr.Index) == ir.Replace
}

// mark lets a simdgroup for each update of an Overwrite look whether a later one has the same place, and
// returns where in the workspace it says so: 1 for those that are kept.
func (s *scattering) mark(k *Kernel) (at int) {
	at, k.Scratch = k.Scratch, k.Scratch+4*s.count
	index := inputLayout(s.g, s.in.Args[1])
	e := newElements(s.g, s.limits, "overwrite_marks", []int{simdWidth * s.count})
	e.input("index", s.in.Args[1])
	e.member("device uint*", "marks", Field{Kind: Scratch, Size: 8, At: at})
	e.constant("total", s.count)
	e.constant("length", s.length)
	other := e.positions("index", index.Shape, index.Stride)
	place := func(n string) string {
		return fmt.Sprintf("(a.index[%[1]s] < 0 ? a.index[%[1]s] + a.length : a.index[%[1]s])", other(n))
	}
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.line("const int here = int(i0) / %d, lane = int(i0) %% %[1]d;", simdWidth)
		e.line("const long mine = %s;", place("here"))
		e.line("bool again = false;")
		e.line("for (int n = here + 1 + lane; n < int(a.total); n += %d) again = again || %s == mine;", simdWidth, place("n"))
		e.line("again = simd_any(again);")
		e.line("if (lane == 0) a.marks[here] = again ? 0u : 1u;")
	})...)
	return at
}

// compared lets each thread of an Overwrite look whether a later update has the same place as its own, or
// whether marks say so.
func (s *scattering) compared(k *Kernel, marks int) {
	index, updates := inputLayout(s.g, s.in.Args[1]), inputLayout(s.g, s.in.Args[2])
	rank := len(index.Shape)
	lines := ir.Layout{Shape: updates.Shape, Stride: slices.Concat(s.whole.Stride[:s.axis], make([]int, rank), s.whole.Stride[s.axis+1:])}
	e := newElements(s.g, s.limits, s.in.Op.String(), updates.Shape, named{name: "y", layout: lines, reach: ir.Size(s.o.Shape)}, named{name: "x", layout: updates},
		named{name: "index", layout: over(index, updates.Shape, s.axis)}, named{name: "position", layout: over(ir.Contiguous(index.Shape), updates.Shape, s.axis)})
	e.writes(s.o)
	e.reads("x", s.in.Args[2])
	e.reads("index", s.in.Args[1])
	e.constant("y_axis", s.whole.Stride[s.axis])
	e.constant("total", s.count)
	e.indexed(k, s.in.Op, s.axis, s.length)
	other := e.positions("index", index.Shape, index.Stride)
	if marks >= 0 {
		e.member("device const uint*", "marks", Field{Kind: Scratch, Size: 8, At: marks})
	}
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.line("const %s update = %s;", register(s.o.DType), e.element("x", s.in.Args[2]))
		e.line(going)
		e.lookup(s.in.Args[1], "slice")
		e.line("const int here = int(%s);", e.here("position"))
		if marks >= 0 {
			e.line("const bool kept = going && !bad && a.marks[here] != 0;")
		} else {
			e.latest(other("n"))
		}
		e.line("if (kept) a.y[%s + slice * a.y_axis] = %s(update);", e.here("y"), memoryTypes[s.o.DType])
	})...)
}

// going says whether no fault was reported when a thread began.
const going = "const bool going = atomic_load_explicit(a.stop, memory_order_relaxed) != 0;"

// latest finds out whether an update is kept: that of place here, which goes to slice. other is where the
// index n is.
func (e *elementText) latest(other string) {
	e.line("bool kept = going && !bad;")
	e.line("for (int n = here + 1; n < int(a.total); n++) {")
	e.line("const long later = a.index[%s];", other)
	e.line("kept = kept && (later < 0 ? later + a.length : later) != long(slice);")
	e.line("}")
}

// A storing is an Overwrite whose updates are what an elementText stores as y. They lie there in C order.
type storing struct {
	e     *elementText
	other func(n string) string
}

// stores declares what the Overwrite needs beside y.
func (s *scattering) stores(e *elementText, k *Kernel) *storing {
	index := inputLayout(s.g, s.in.Args[1])
	e.pointer("", "stored", s.o.DType, s.o.Buf, 0)
	e.input("index", s.in.Args[1])
	e.constant("inner", s.whole.Stride[s.axis])
	e.constant("total", s.count)
	e.indexed(k, s.in.Op, s.axis, s.length)
	return &storing{e, e.positions("index", index.Shape, index.Stride)}
}

// load reads the indices of elements of y, `each` from place(h) on: nothing waits for them yet.
func (t *storing) load(each int, from string) {
	t.e.line(going)
	t.e.line("long choices[%d];", each)
	t.e.line("UNROLL for (int h = 0; h < %d; h++) choices[h] = loaded(a.index[%s]);", each, t.other("("+from+") / a.inner % a.total"))
}

// find finds out where in the result they go, to, and whether they are kept.
func (t *storing) find(each int, from string) {
	e := t.e
	e.line("%s to[%d];", e.index, each)
	e.line("bool keeps[%d];", each)
	e.line("UNROLL for (int h = 0; h < %d; h++) {", each)
	e.line("const %s from = %s;", e.index, from)
	e.line("const int here = int(from / a.inner %% a.total);")
	e.line("const long chosen = choices[h];")
	e.check("here", "slice")
	e.latest(t.other("n"))
	e.line("keeps[h] = kept;")
	e.line("to[h] = (from / a.inner / a.total * %s(a.length) + slice) * a.inner + from %% a.inner;", e.index)
	e.line("}")
}

// lines lets a thread go along each line. Narrow floats are combined in f32 in the workspace, and rounded
// once.
func (s *scattering) lines(k *Kernel) {
	index, updates := inputLayout(s.g, s.in.Args[1]), inputLayout(s.g, s.in.Args[2])
	result, wide := s.o, s.o.DType == dtype.F16 || s.o.DType == dtype.BF16
	if wide {
		result.DType, result.Buf = dtype.F32, workspace
		k.Scratch = 4 * ir.Size(s.o.Shape)
		k.Dispatches = copyInto(s.g, s.limits, result, s.in.Args[0], inputLayout(s.g, s.in.Args[0]), s.whole)
	}
	positions := ir.Contiguous(index.Shape)
	e := newElements(s.g, s.limits, s.in.Op.String(), still(index, s.axis).Shape, named{name: "y", layout: still(s.whole, s.axis), reach: ir.Size(s.o.Shape)},
		named{name: "x", layout: still(updates, s.axis), reach: reachOf(updates)}, named{name: "index", layout: still(index, s.axis), reach: reachOf(index)},
		named{name: "position", layout: still(positions, s.axis)})
	e.writes(result)
	e.reads("x", s.in.Args[2])
	e.reads("index", s.in.Args[1])
	e.constant("count", s.count)
	e.constant("y_axis", s.whole.Stride[s.axis])
	e.constant("x_axis", updates.Stride[s.axis])
	e.constant("index_axis", index.Stride[s.axis])
	e.constant("position_axis", positions.Stride[s.axis])
	e.indexed(k, s.in.Op, s.axis, s.length)
	reg := register(s.o.DType)
	k.Dispatches = append(k.Dispatches, e.dispatch(func() {
		e.line("for (%s n = 0; n < a.count; n++) {", e.index)
		e.line("const long chosen = a.index[%s + n * a.index_axis];", e.here("index"))
		e.line("if (chosen < -a.length || chosen >= a.length) {")
		e.line("report(a.fault, a.stop, uint(%s + n * a.position_axis), chosen);", e.here("position"))
		e.line("continue;")
		e.line("}")
		e.line("const %[1]s to = %[2]s + %[1]s(chosen < 0 ? chosen + a.length : chosen) * a.y_axis;", e.index, e.here("y"))
		e.line("const %s u = %s(loaded(a.x[%s + n * a.x_axis]));", reg, reg, e.here("x"))
		if !s.replaces() {
			e.line("const %s v = %s(loaded(a.y[to]));", reg, reg)
		}
		e.line("a.y[to] = %s(%s);", memoryTypes[result.DType], s.combined("v", "u"))
		e.line("}")
	})...)
	if wide {
		back := backend.In(len(s.g.Inputs))
		h := &backend.Group{Name: s.g.Name, Kind: s.g.Kind, Insts: s.g.Insts, Inputs: append(slices.Clone(s.g.Inputs), backend.Input{DType: dtype.F32, Layout: s.whole, Buf: workspace})}
		k.Dispatches = append(k.Dispatches, copyInto(h, s.limits, s.o, back, s.whole, s.whole)...)
	}
}

// reachOf is how many elements lie between the ends of a layout.
func reachOf(l ir.Layout) int {
	n := 1
	for i, d := range l.Shape {
		n += (d - 1) * max(l.Stride[i], -l.Stride[i])
	}
	return n
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
