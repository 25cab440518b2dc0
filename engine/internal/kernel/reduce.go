package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Reductions along some axes: sums, products, extremes, with elementwise work before and after.
//
// Tile: where the innermost axis is reduced, a simdgroup folds an output of up to 1,024 elements, and a
// threadgroup of 256 a longer one; neighbouring threads read neighbouring elements, four at once if they are
// aligned. Where the innermost axis is kept, a threadgroup has 32 columns side by side, 128 bytes of f32, and
// 8 threads below each, unless a column is so short that a thread folds it alone. Few large outputs are cut
// into parts of 16,384 elements or more, of columns 512, until 65,536 threads are busy, or 2,048 for each
// processor, and a second dispatch merges the parts in order. Those of rows are twice as many, so that a
// processor that is done early gets another one; where there are fewer than processors, a part may have 2,048
// elements: the logits of a token, 151,936, are 74. A device that has no more than a few outputs to fold, in
// one piece, or from parts, waits for one threadgroup: that has up to 1,024 threads then.
//
// Bytes and operations: an element is read once, for one operation, or some eight where a sum keeps its
// rounding errors (fold_sum). An M-series GPU does some 140 in the time of an element of f32, so memory is
// the limit. Threadgroup memory holds one fold for each simdgroup, or for each thread of the columns.

// How the threads of a reduction share the work.
const (
	simdWidth   = 32
	shortRow    = 1024    // elements that one simdgroup folds by itself
	shortColumn = 8       // elements that one thread folds by itself
	rowThreads  = 256     // of a threadgroup
	wantThreads = 1 << 16 // below which the elements of an output are split into parts
	leastPart   = 16384   // elements of a part, that pay for a second dispatch
	smallPart   = 2048    // the same where there are fewer parts than processors
	leastRows   = 512     // the same of a column: its parts are merged side by side
	mostParts   = 2048
	fewOutputs  = 32 // that leave most of a device idle
	leastShare  = 4  // elements of a thread, or vectors, for which a threadgroup gets more threads

	fullProcessor = 2048 // threads that keep the memory of a processor's device busy
)

// A reduction is a Reduce group that is being written down. Its space has the axes of the operand; the
// outputs and what stands after the reduction have stride 0 along the reduced ones.
type reduction struct {
	g        *backend.Group
	space    *space
	reduced  []bool // axes of the space
	folds    []int  // the reducing instructions
	before   []bool // instructions of the prologue
	after    []bool // of the epilogue
	outputs  int    // elements of an output
	total    int    // elements that each folds
	columns  bool   // threads stand side by side along a kept axis
	parts    int    // that the elements of an output are split into
	chunk    int    // elements of a part
	vectors  bool
	perGroup int // outputs of a threadgroup
	threads  int // that fold one output together
	joining  int // threads that merge the parts of an output
	simds    int // of a threadgroup whose simdgroups merge parts of an output each
	base     int // bytes of the workspace that are taken
}

// reduce adds the dispatches of a Reduce group, where base bytes of the workspace are taken. Where the
// innermost axis is reduced, a simdgroup or a threadgroup folds an output; where it is kept, a thread folds a
// column and threads below it other parts of that. Few large outputs are folded in parts, which a second
// dispatch merges.
func (k *Kernel) reduce(g *backend.Group, base int, limits Limits) {
	r := newReduction(g)
	r.base, k.Scratch = base, base
	if r.outputs == 0 {
		return
	}
	r.shape(limits)
	k.Dispatches = append(k.Dispatches, r.dispatch(false))
	if r.parts > 1 {
		k.Dispatches, k.Scratch = append(k.Dispatches, r.dispatch(true)), r.scratch(len(r.folds))
	}
}

func newReduction(g *backend.Group) *reduction {
	r := &reduction{g: g, before: make([]bool, len(g.Insts)), after: make([]bool, len(g.Insts))}
	var full []int
	reduces := map[int]bool{}
	for i, in := range g.Insts {
		if isFold(in.Op) {
			r.folds = append(r.folds, i)
			full = g.Type(in.Args[0]).Shape
			for _, a := range in.Attr.Axes {
				reduces[a] = true
			}
		}
	}
	folds := func(i int) bool { return isFold(g.Insts[i].Op) }
	for _, f := range r.folds {
		mark(g, r.before, g.Insts[f].Args[0], folds)
	}
	for i := range g.Outputs {
		mark(g, r.after, g.Outputs[i].Value, folds)
	}
	r.space = spaceOf(full, layoutsOf(g), 0, func(a, b int) bool { return reduces[a] == reduces[b] })
	r.outputs, r.total = 1, 1
	for axis, n := range r.space.lens {
		reduced := len(r.space.axes) > 0 && reduces[r.space.axes[axis]]
		r.reduced = append(r.reduced, reduced)
		if reduced {
			r.total *= n
		} else {
			r.outputs *= n
		}
	}
	return r
}

// addRows adds to a group of sums that of the rows of a matrix of F32, which goes to the memory of an output.
func addRows(g *backend.Group, buf int, matrix ir.Layout, o backend.Output) {
	shape := []int{1, matrix.Shape[1]}
	g.Inputs = append(g.Inputs, backend.Input{DType: dtype.F32, Layout: matrix, Buf: buf})
	g.Insts = append(g.Insts, backend.Inst{Op: ir.Sum, DType: dtype.F32, Shape: shape,
		Args: []backend.Ref{backend.In(len(g.Inputs) - 1)}, Attr: ir.Attr{Axes: []int{0}}})
	g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Index: len(g.Insts) - 1}, Buf: o.Buf, DType: o.DType, Shape: shape})
}

// isFold says whether an op makes one element of those along its axes.
func isFold(op ir.Op) bool { return op.Family() == ir.FamilyReduce || isArg(op) }

// isArg says whether an op finds the place of an element.
func isArg(op ir.Op) bool { return op == ir.ArgMax || op == ir.ArgMin }

// arg writes down where the best element of each line is, as a reduction whose folds know places.
func arg(g *backend.Group, k *Kernel) {
	h := &backend.Group{Name: g.Name, Kind: backend.Reduce, Inputs: g.Inputs, Insts: slices.Clone(g.Insts), Outputs: g.Outputs}
	h.Insts[0].Attr.Axes = []int{h.Insts[0].Attr.Axis}
	k.reduce(h, 0, k.limits)
}

// mark notes the instructions that a value needs, up to those at which it stops.
func mark(g *backend.Group, list []bool, v backend.Ref, stop func(i int) bool) {
	if _, input := v.Input(); input || list[v.Index] || stop(v.Index) {
		return
	}
	list[v.Index] = true
	for _, a := range g.Insts[v.Index].Args {
		mark(g, list, a, stop)
	}
}

// shape chooses how threads share the work.
func (r *reduction) shape(limits Limits) {
	most := limits.group()
	r.simds = most / simdWidth
	r.columns = !r.reduced[0] && r.space.lens[0] > 1
	r.vectors = r.reduced[0] && r.space.vectors(4)
	r.parts, r.chunk = 1, r.total
	switch {
	case r.columns && r.total <= shortColumn:
		r.perGroup, r.threads = min(most, ceilPower(r.space.lens[0])), 1
	case r.columns:
		r.perGroup = min(simdWidth, ceilPower(r.space.lens[0]))
		r.threads = min(most/r.perGroup, ceilPower(r.total))
	case r.total <= shortRow:
		r.perGroup, r.threads = most/simdWidth, simdWidth
	default:
		r.perGroup, r.threads = 1, most
	}
	want, least, idle := max(wantThreads, 2*limits.Processors*fullProcessor), leastPart, limits.Processors/r.outputs
	if r.columns {
		want, least, idle = max(wantThreads, limits.Processors*fullProcessor), leastRows, 0
	}
	if busy := r.outputs * r.threads; busy < want && r.total >= 2*least {
		r.parts = min(mostParts, want/busy, max(r.total/least, min(idle, r.total/smallPart)))
		r.chunk = ((r.total+r.parts-1)/r.parts + 3) &^ 3
		r.parts = (r.total + r.chunk - 1) / r.chunk
	}
	r.joining = simdWidth
	if few := r.outputs <= fewOutputs; few && r.parts > 1 {
		r.joining = min(most, max(simdWidth, floorPower(r.parts/leastShare)))
	} else if few && r.threads == most && !r.columns {
		each := leastShare
		if r.vectors {
			each *= 4
		}
		r.threads = max(most, floorPower(min(mostThreads, limits.Threads, r.total/each)))
	}
}

// scratch is where the parts of fold i lie in the workspace; of one more than there are, its size.
func (r *reduction) scratch(i int) int {
	at := r.base
	for _, f := range r.folds[:i] {
		at += r.outputs * r.parts * foldSize(&r.g.Insts[f])
	}
	return at
}

// foldType is the block that folds for an instruction, and foldSize how many bytes one has.
func foldType(g *backend.Group, in *backend.Inst) string {
	name := ir.RowOf(in.Op).Name
	switch {
	case in.Op == ir.Mean:
		name = "sum"
	case isArg(in.Op):
		better := map[ir.Op]string{ir.ArgMax: "better_max", ir.ArgMin: "better_min"}[in.Op]
		return fmt.Sprintf("fold_arg<%s, %s>", register(g.Type(in.Args[0]).DType), better)
	}
	return fmt.Sprintf("fold_%s<%s>", name, register(in.DType))
}

func foldSize(in *backend.Inst) int {
	switch {
	case isArg(in.Op):
		return 16
	case in.DType.Float() && (in.Op == ir.Sum || in.Op == ir.Mean):
		return 8
	case in.DType.Float():
		return 4
	}
	return in.DType.Size()
}

// dispatch writes one of the two launches down: the one that reads the operand, or the one that merges parts.
func (r *reduction) dispatch(merging bool) Dispatch {
	w := newWalker(newText(r.g, r.space.wide || r.parts > 1 && r.outputs*r.parts > most32), r.space)
	ends := merging || r.parts == 1
	r.declare(w, merging, ends)
	kind, groups, threads := r.header(w, merging)
	for i, f := range r.folds {
		typ := foldType(r.g, &r.g.Insts[f])
		w.line("%s f%d = %s::start();", typ, i, typ)
	}
	if merging {
		w.line("for (%[1]s p = %[1]s(at.x); p < a.parts; p += %[2]d) {", w.index, r.joining)
		for i := range r.folds {
			w.line("f%[1]d.merge(%[2]s::get(a.p%[1]d + (out * a.parts + p)));", i, foldType(r.g, &r.g.Insts[r.folds[i]]))
		}
		w.line("}")
	} else {
		r.elements(w)
	}
	r.merge(w, merging)
	r.end(w, merging, ends)
	return w.finish(kind, describe(r.g), parameters+", uint3 size [[threads_per_threadgroup]]", groups, threads)
}

// most32 is the largest index that an int holds with room for one step of a grid.
const most32 = 1 << 30

const parameters = ", uint3 group [[threadgroup_position_in_grid]], uint3 at [[thread_position_in_threadgroup]]" +
	", uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]], uint simds [[simdgroups_per_threadgroup]]"

// declare declares the members that a dispatch needs: those of the epilogue only where it ends.
func (r *reduction) declare(w *walker, merging, ends bool) {
	g := r.g
	w.declareInputs(r.needed(!merging, ends))
	if ends {
		for i := range g.Outputs {
			w.declareOutput(i, &g.Outputs[i], &r.space.places[len(g.Inputs)+i])
		}
	}
	if r.parts > 1 {
		for i, f := range r.folds {
			w.member("device "+foldType(g, &g.Insts[f])+"*", fmt.Sprintf("p%d", i), Field{Kind: Scratch, Size: 8, At: r.scratch(i)})
		}
		w.constant("parts", r.parts)
		w.constant("chunk", r.chunk)
	}
	w.declareLengths()
	w.constant("outputs", r.outputs)
	w.constant("total", r.total)
}

// needed says which inputs the prologue and the epilogue read.
func (r *reduction) needed(before, after bool) need {
	n := make(need, len(r.g.Inputs))
	if before {
		n.marked(r.g, r.before)
		for _, f := range r.folds {
			n.reads(r.g.Insts[f].Args[0])
		}
	}
	if after {
		n.marked(r.g, r.after).outputs(r.g)
	}
	return n
}

// header writes down which output the thread works for, and returns the kind's name and the grid. A thread
// beyond the last output works for the last one and stores nothing: so all threads meet at the barriers.
func (r *reduction) header(w *walker, merging bool) (kind string, groups, threads [3]int) {
	if r.columns && !merging {
		blocks := (r.space.lens[0] + r.perGroup - 1) / r.perGroup
		w.constant("blocks", blocks)
		w.line("const %[1]s column = %[1]s(group.x) %% a.blocks * %[1]s(size.x) + %[1]s(at.x);", w.index)
		w.line("const bool inside = column < a.n0;")
		w.line("const %s i0 = min(column, a.n0 - 1);", w.index)
		w.line("const %[1]s out = %[1]s(group.x) / a.blocks * a.n0 + i0;", w.index)
		r.coordinates(w, fmt.Sprintf("%s(group.x) / a.blocks", w.index), false, 1)
		return "reduce_columns", [3]int{blocks * (r.outputs / r.space.lens[0]), r.parts, 1}, [3]int{r.perGroup, r.threads, 1}
	}
	perGroup, wide, parts := r.perGroup, r.threads, r.parts
	kind = "reduce_rows"
	if merging {
		perGroup, wide, parts, kind = r.simds*simdWidth/r.joining, r.joining, 1, "reduce_parts"
	}
	w.line("const %[1]s row = %[1]s(group.x) * %[1]s(size.y) + %[1]s(at.y);", w.index)
	w.line("const bool inside = row < a.outputs;")
	w.line("const %s out = min(row, a.outputs - 1);", w.index)
	r.coordinates(w, "out", false, 0)
	return kind, [3]int{(r.outputs + perGroup - 1) / perGroup, parts, 1}, [3]int{wide, perGroup, 1}
}

// coordinates takes a flat index apart into those of the reduced or of the kept axes, from some axis on.
func (r *reduction) coordinates(w *walker, flat string, reduced bool, from int) {
	var axes []int
	for axis := from; axis < len(r.reduced); axis++ {
		if r.reduced[axis] == reduced {
			axes = append(axes, axis)
		}
	}
	left := "outer"
	if reduced {
		left = "inner"
	}
	w.coordinates(flat, left, axes)
}

// along is the thread's coordinate among those that fold one output together.
func (r *reduction) along(merging bool) string {
	if r.columns && !merging {
		return "at.y"
	}
	return "at.x"
}

// elements folds the thread's share of the elements of its output, one after the other or by vectors of four.
// Of columns and long rows four of them are loaded before the first is folded, so that more loads are under
// way.
func (r *reduction) elements(w *walker) {
	width := 1
	if r.vectors {
		width = 4
	}
	step, from, to := fmt.Sprintf("%d * %s(size.x)", width, w.index), "0", "a.total"
	if r.columns {
		step = w.index + "(size.y)"
	}
	if r.parts > 1 {
		w.line("const %[1]s from = %[1]s(group.y) * a.chunk;", w.index)
		w.line("const %s to = min(from + a.chunk, a.total);", w.index)
		from, to = "from", "to"
	}
	begin := fmt.Sprintf("%s + %d * %s(%s)", from, width, w.index, r.along(false))
	if r.columns || r.total > shortRow {
		w.line("for (%s first = %s; first < %s; first += 4 * %s) {", w.index, begin, to, step)
		r.fourAhead(w, step, to, width)
		w.line("}")
		return
	}
	w.line("for (%s e = %s; e < %s; e += %s) {", w.index, begin, to, step)
	r.loads(w)
	r.takeAll(w)
	w.line("}")
}

// loads loads the operands at the element e.
func (r *reduction) loads(w *walker) {
	r.coordinates(w, "e", true, 0)
	w.loadAll(r.needed(true, false), r.vectors)
}

// fourAhead loads and folds the element or vector at first and the three that follow it, a step from each
// other. Loads beyond the end load the last one.
func (r *reduction) fourAhead(w *walker, step, to string, width int) {
	needed := r.needed(true, false)
	for i, need := range needed {
		if need && !isNumber(r.g.Inputs[i]) {
			w.line("%s ahead%d[%d];", register(r.g.Inputs[i].DType), i, 4*width)
		}
	}
	w.line("UNROLL for (int a4 = 0; a4 < 4; a4++) {")
	w.line("const %[1]s e = min(first + a4 * (%[2]s), %[3]s - %[4]d);", w.index, step, to, width)
	r.loads(w)
	for i, need := range needed {
		switch {
		case !need || isNumber(r.g.Inputs[i]):
		case w.vector[i]:
			w.line("UNROLL for (int k = 0; k < 4; k++) ahead%d[4 * a4 + k] = %s[k];", i, w.inputName(i))
		case width == 4:
			w.line("UNROLL for (int k = 0; k < 4; k++) ahead%d[4 * a4 + k] = %s;", i, w.inputName(i))
		default:
			w.line("ahead%d[a4] = %s;", i, w.inputName(i))
		}
	}
	w.line("}")
	w.line("UNROLL for (int a4 = 0; a4 < 4; a4++) {")
	w.line("const %s e = first + a4 * (%s);", w.index, step)
	w.line("if (e < %s) {", to)
	for i, need := range needed {
		w.names[i], w.vector[i] = fmt.Sprintf("ahead%d[%d * a4]", i, width), false
		switch {
		case need && isNumber(r.g.Inputs[i]):
			w.load(i, false)
		case width == 4:
			w.names[i] = fmt.Sprintf("ahead%d[4 * a4 + k]", i)
		}
	}
	r.takeAll(w)
	w.close(2)
}

// takeAll folds the element at e, or the four from there on.
func (r *reduction) takeAll(w *walker) {
	if !r.vectors {
		r.take(w, "long(e)")
		return
	}
	w.line("UNROLL for (uint k = 0; k < 4; k++) {")
	r.take(w, fmt.Sprintf("long(e + %s(k))", w.index))
	w.line("}")
}

// take folds an element; place is where it is along the reduced axes.
func (r *reduction) take(w *walker, place string) {
	w.computeAll(r.before)
	for i, f := range r.folds {
		in := &r.g.Insts[f]
		if isArg(in.Op) {
			w.line("f%d.take(%s, %s);", i, w.value(in.Args[0]), place)
			continue
		}
		w.line("f%d.take(convert<%s>::from(%s));", i, register(in.DType), w.value(in.Args[0]))
	}
}

// merge brings the folds of an output's threads together.
func (r *reduction) merge(w *walker, merging bool) {
	for i, f := range r.folds {
		typ := foldType(r.g, &r.g.Insts[f])
		switch {
		case merging && r.joining == simdWidth || !merging && !r.columns && r.threads == simdWidth:
			w.line("f%d = simd_folded(f%d);", i, i)
		case merging || !r.columns:
			room := rowThreads
			if !merging && r.threads > room {
				room = mostThreads
			}
			w.line("threadgroup %s s%d[%d];", typ, i, room/simdWidth)
			w.line("f%d = group_folded(f%d, s%d, lane, simd, simds);", i, i, i)
		case r.threads > 1:
			w.line("threadgroup %s s%d[%d];", typ, i, rowThreads)
			w.line("f%d = column_folded(f%d, s%d, at.x, at.y, size.x, size.y);", i, i, i)
		}
	}
}

// end stores the result, or the part.
func (r *reduction) end(w *walker, merging, ends bool) {
	w.line("if (inside && %s == 0) {", r.along(merging))
	if !ends {
		for i := range r.folds {
			w.line("f%[1]d.put(a.p%[1]d + (out * a.parts + %[2]s(group.y)));", i, w.index)
		}
		w.line("}")
		return
	}
	for i, f := range r.folds {
		in := &r.g.Insts[f]
		value := fmt.Sprintf("f%d.value()", i)
		if in.Op == ir.Mean {
			value += " / float(a.total)"
		}
		w.line("const %s %s = %s;", register(in.DType), w.valueName(f), value)
	}
	w.loadAll(r.needed(false, true), false)
	w.computeAll(r.after)
	for i, o := range r.g.Outputs {
		w.store("", i, &r.space.places[len(r.g.Inputs)+i], o.DType, o.Value)
	}
	w.line("}")
}
