package kernel

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// How the threads of a running sum share the work.
const (
	scanEach   = 4       // elements that follow one another and belong to one thread
	shortLine  = 1024    // elements that one thread adds up by itself, side by side with others
	scanBeside = 8       // lines that lie side by side, from which on a thread for each is worth it
	manyLines  = 1 << 13 // that keep a device busy with one thread for each
)

// A scan is a cum_sum that is being written down, over lines: the places that have the same coordinates but
// for the axis. A sum from the end walks through memory backwards.
//
// What is computed: y[j] = x[0] + … + x[j] of each line, or up to x[j−1]. Each element is read once and
// written once, 8 bytes of f32, with about two additions for it: the bandwidth of memory limits all three
// shapes.
//
//   - Lines that lie side by side: a thread goes along each, neighbours read neighbours, and nothing is
//     exchanged.
//   - Others: a row of threads goes along a line in tiles of 4 elements a thread, 1,024 for a threadgroup of
//     256: enough loads under way to hide their latency. A thread adds up its four, the lanes of a simdgroup
//     by shuffles (5 steps), and the simdgroups by one number each in threadgroup memory: about three
//     additions an element. Short lines share a threadgroup.
//   - Few long lines: a first launch adds up parts of each, and a threadgroup for each part then begins with
//     the sum of the parts before. The elements are read twice, 12 bytes in all, but by the whole device.
type scan struct {
	g             *backend.Group
	x, y          ir.Layout
	axis, length  int
	count, beside int // lines, and those that lie side by side
	limits        Limits
}

func cumSum(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	axis := in.Attr.Axis
	s := &scan{g: g, x: inputLayout(g, in.Args[0]), y: ir.Contiguous(o.Shape), axis: axis, length: o.Shape[axis], limits: k.limits}
	if ir.Size(o.Shape) == 0 {
		return
	}
	if in.Attr.Flags&ir.Reverse != 0 {
		s.x, s.y = backwards(s.x, axis), backwards(s.y, axis)
	}
	s.count, s.beside = ir.Size(o.Shape)/s.length, ir.Size(o.Shape[axis+1:])
	if s.length <= scanEach || s.beside >= scanBeside && (s.length <= shortLine || s.count >= manyLines) {
		k.Dispatches = s.columns()
		return
	}
	threads := min(s.limits.group(), max(simdWidth, ceilPower((s.length+scanEach-1)/scanEach)))
	if parts := min(mostParts, wantThreads/(s.count*threads), s.length/leastPart); parts > 1 {
		k.Dispatches, k.Scratch = s.inParts(threads, parts)
		return
	}
	k.Dispatches = []Dispatch{s.rows(threads, nil)}
}

// backwards is a layout that is walked through from the end of an axis.
func backwards(l ir.Layout, axis int) ir.Layout {
	r := still(l, axis)
	r.Offset += (l.Shape[axis] - 1) * l.Stride[axis]
	r.Shape[axis], r.Stride[axis] = l.Shape[axis], -l.Stride[axis]
	return r
}

// still is a layout that stays where it is along an axis.
func still(l ir.Layout, axis int) ir.Layout {
	r := ir.Layout{Shape: append([]int(nil), l.Shape...), Stride: append([]int(nil), l.Stride...), Offset: l.Offset}
	r.Shape[axis], r.Stride[axis] = 1, 0
	return r
}

// begin declares what all shapes have.
func (s *scan) begin() *elementText {
	in, o := &s.g.Insts[0], s.g.Outputs[0]
	reach := func(l ir.Layout) int { return s.length * max(l.Stride[s.axis], -l.Stride[s.axis]) }
	e := newElements(s.g, s.limits, "cum_sum", still(s.y, s.axis).Shape, named{name: "y", layout: still(s.y, s.axis), reach: reach(s.y)},
		named{name: "x", layout: still(s.x, s.axis), reach: reach(s.x)})
	e.writes(o)
	e.reads("x", in.Args[0])
	e.constant("length", s.length)
	e.constant("x_axis", s.x.Stride[s.axis])
	e.constant("y_axis", s.y.Stride[s.axis])
	exclusive := int64(0)
	if in.Attr.Flags&ir.Exclusive != 0 {
		exclusive = 1
	}
	e.member("uint", "exclusive", Field{Kind: Constant, Size: 4, Value: exclusive})
	return e
}

// read is element j of the line as a register of the sum.
func (s *scan) read(e *elementText, j string) string {
	return "convert<" + register(s.g.Outputs[0].DType) + ">::from(" + register(s.g.Type(s.g.Insts[0].Args[0]).DType) + "(loaded(a.x[" + e.here("x") + " + (" + j + ") * a.x_axis])))"
}

// write stores element j of the line.
func (s *scan) write(e *elementText, j, value string) {
	e.line("a.y[%s + (%s) * a.y_axis] = %s(%s);", e.here("y"), j, memoryTypes[s.g.Outputs[0].DType], value)
}

// columns lets a thread go along each line.
func (s *scan) columns() []Dispatch {
	e, reg := s.begin(), register(s.g.Outputs[0].DType)
	return e.dispatch(func() {
		e.line("fold_sum<%s> f = fold_sum<%s>::start();", reg, reg)
		e.line("for (%s j = 0; j < a.length; j++) {", e.index)
		e.line("const %s before = f.value();", reg)
		e.line("f.take(%s);", s.read(e, "j"))
		s.write(e, "j", "a.exclusive ? before : f.value()")
		e.line("}")
	})
}

// rows lets a row of threads go along each line or, with parts, each part of one. A row beyond the last line
// works on the last, and stores nothing.
func (s *scan) rows(threads int, parts *reduction) Dispatch {
	e, reg := s.begin(), register(s.g.Outputs[0].DType)
	perGroup, groups := min(max(1, s.limits.group()/threads), ceilPower(s.count)), 1
	e.declareSpace()
	e.constant("count", s.count)
	e.line("const %[1]s mine = %[1]s(group.x) * %[1]s(size.y) + %[1]s(at.y);", e.index)
	e.line("const bool inside = mine < a.count;")
	e.line("const %s line = min(mine, a.count - 1);", e.index)
	e.allCoordinates("line")
	e.line("threadgroup %s sums[32];", reg)
	e.line("fold_sum<%s> before = fold_sum<%s>::start();", reg, reg)
	from, to := "0", "a.length"
	if parts != nil {
		perGroup, groups = 1, parts.parts
		s.startOfPart(e, parts)
		from, to = "part * a.chunk", "min((part + 1) * a.chunk, a.length)"
	}
	e.line("const %s end = %s;", e.index, to)
	e.line("for (%[1]s tile = %[2]s; tile < end; tile += %[1]s(%[3]d * size.x)) {", e.index, from, scanEach)
	e.line("const %[1]s first = tile + %[1]s(%[2]d * at.x);", e.index, scanEach)
	e.line("%s v[%d];", reg, scanEach)
	e.line("for (int j = 0; j < %d; j++) {", scanEach)
	e.line("v[j] = %s(0);", reg)
	e.line("if (first + j < end) v[j] = %s;", s.read(e, "first + j"))
	e.line("if (j > 0) v[j] = op_add(v[j - 1], v[j]);")
	e.line("}")
	e.line("%s all;", reg)
	e.line("const %s earlier = op_add(before.value(), row_earlier(v[%d], sums, lane, simd, size.x / %d, all));", reg, scanEach-1, simdWidth)
	e.line("for (int j = 0; j < %d; j++) {", scanEach)
	e.line("const %[1]s here = a.exclusive ? j > 0 ? v[max(j - 1, 0)] : %[1]s(0) : v[j];", reg)
	e.line("if (inside && first + j < end) {")
	s.write(e, "first + j", "op_add(earlier, here)")
	e.close(2)
	e.line("before.take(all);")
	e.line("}")
	return e.finish("cum_sum", describe(e.g), inGroup+inSimds,
		[3]int{(s.count + perGroup - 1) / perGroup, groups, 1}, [3]int{threads, perGroup, 1})
}

// startOfPart adds up the parts before this one.
func (s *scan) startOfPart(e *elementText, parts *reduction) {
	typ := "fold_sum<" + register(s.g.Outputs[0].DType) + ">"
	e.member("device const "+typ+"*", "parts_at", Field{Kind: Scratch, Size: 8})
	e.constant("parts", parts.parts)
	e.constant("chunk", parts.chunk)
	e.line("threadgroup %s folds[32];", typ)
	e.line("const %[1]s part = %[1]s(group.y);", e.index)
	e.line("for (%[1]s p = %[1]s(at.x); p < part; p += %[1]s(size.x)) before.merge(%[2]s::get(a.parts_at + (line * a.parts + p)));", e.index, typ)
	e.line("before = group_folded(before, folds, lane, simd, size.x / %d);", simdWidth)
	e.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	e.line("if (at.x == 0) before.put(folds);")
	e.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	e.line("before = %s::get(folds);", typ)
}

// inParts adds up parts of each line first.
func (s *scan) inParts(threads, parts int) ([]Dispatch, int) {
	in, o := s.g.Insts[0], s.g.Outputs[0]
	sum := backend.Inst{Op: ir.Sum, DType: in.DType, Shape: still(s.y, s.axis).Shape, Args: in.Args, Attr: ir.Attr{Axes: []int{s.axis}}}
	h := &backend.Group{Name: s.g.Name, Kind: backend.Reduce, Inputs: append([]backend.Input(nil), s.g.Inputs...), Insts: []backend.Inst{sum}}
	h.Outputs = []backend.Output{{Buf: o.Buf, DType: o.DType, Shape: sum.Shape}}
	i, _ := in.Args[0].Input()
	h.Inputs[i].Layout = s.x
	r := newReduction(h)
	r.shape(s.limits)
	r.chunk = ((s.length+parts-1)/parts + 3) &^ 3
	r.parts = (s.length + r.chunk - 1) / r.chunk
	return []Dispatch{r.dispatch(false), s.rows(threads, r)}, r.scratch(1)
}
