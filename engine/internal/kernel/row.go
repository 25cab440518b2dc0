package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Rows: softmax, norms, cross entropy and their gradients, rowops.go, with elementwise prologues and
// epilogues.
//
// Tile: a row belongs to a simdgroup up to 512 elements, and else to as many threads as leave each 16, or 32
// from 16,384 elements on: so a row stays in registers between its passes, and is read once. A row of 4,096
// has 256 threads with four loads of four elements, all under way before the first is used. Of a cross
// entropy, whose threads meet once, each has 32: on an H200 16,384 rows of 4,096 take 77 µs and not 87, with
// their gradient 152 and not 164. A threadgroup of short rows has eight of them. Rows that are longer than
// 1,024 threads hold, 32,768 elements, are read again in each pass, but for what kept.go keeps of them.
// Threads meet by shuffles and, beyond a simdgroup, four times a pass in threadgroup memory, 8 bytes a
// simdgroup.
//
// Bytes and operations: softmax of f32 reads and writes 8 bytes an element for some 30 operations, 20 of them
// the exponential; a norm needs 5 to 10. An M-series GPU does some 35 operations in the time of a byte, so
// memory is the limit, for f16 and bf16 as well. Gradients of weights are sums over all rows, see columns.go.

// A row kernel keeps a row in registers: so many elements a thread, at most.
const mostHeld = 32

// A rowText is a Row group that is being written down. Axis 0 of its space is the row.
type rowText struct {
	*walker
	group    *backend.Group
	op       *backend.Inst
	full     []int         // arguments that change from row to row, as long as it
	shared   []int         // those that are one row for all
	gradient *backend.Inst // of a cross entropy: that of its rows, in the same group; or nil
	number   int           // of the instruction whose result the last pass stores: the gradient, or the op
	before   []bool
	after    []bool
	rows     int
	vectors  bool
	threads  int  // of a row
	perGroup int  // rows of a threadgroup
	held     int  // elements, or vectors of four, that a thread holds; 0 if it reads them again
	early    need // inputs of the epilogue of which it holds as many
	passes   int
	met      int    // folds of the row whose threads have met
	computed []bool // instructions of the current pass
	weights  bool   // sums over all rows are wanted, too
	walkers  int    // rows that are worked on side by side, if each thread adds its columns up; else 0
	shape    []int

	kept []int // inputs that go through threadgroup memory, see kept.go
	stay int   // turns of theirs that stay there
	ring int   // places for the others: a power of two
}

// renderRow writes a Row group down: a simdgroup or a threadgroup works on a row, or on one row after the
// other. What a norm's gradient adds up over all rows is a second step.
func renderRow(g *backend.Group, limits Limits) (*Kernel, error) {
	r := newRow(g)
	write := rowOps[r.op.Op]
	if write == nil {
		return nil, &Unsupported{g.Name, r.op.Op.String()}
	}
	if r.rows == 0 || r.space.lens[0] == 0 {
		return r.weightGradients(&Kernel{}, limits), nil
	}
	r.share(limits)
	r.declare()
	r.begin()
	write(r)
	r.endColumns()
	at := r.rows
	if r.walkers > 0 {
		at = r.walkers
	}
	groups, threads := along((at+r.perGroup-1)/r.perGroup), [3]int{r.threads, r.perGroup, 1}
	k := &Kernel{Dispatches: []Dispatch{r.finish("row", describe(g), parameters, groups, threads)}}
	if r.classes() {
		k.Fault = r.badTarget()
	}
	return r.weightGradients(k, limits), nil
}

// badTarget explains a target that is no class.
func (r *rowText) badTarget() func(uint32, int64, bool) error {
	op, classes, first := r.op.Op, r.space.lens[0], uint32(r.op.Attr.Axis)
	return func(row uint32, target int64, known bool) error {
		row += first
		if !known {
			return fmt.Errorf("%v: the target of row %d is out of range for %d classes", op, row, classes)
		}
		return fmt.Errorf("%v: target %d of row %d is out of range for %d classes", op, target, row, classes)
	}
}

func newRow(g *backend.Group) *rowText {
	r := &rowText{group: g, before: make([]bool, len(g.Insts)), after: make([]bool, len(g.Insts)), early: make(need, len(g.Inputs))}
	for i := range g.Insts {
		switch in := &g.Insts[i]; {
		case in.Op.Family() != ir.FamilyRow:
			continue
		case r.op == nil:
			r.op = in
		default:
			r.gradient = in
		}
		r.number = i
	}
	for i, kind := range ir.RowOf(r.op.Op).Operands {
		switch kind {
		case 'x':
			r.full = append(r.full, i)
		case 'w':
			r.shared = append(r.shared, i)
		}
	}
	r.shape = g.Type(r.op.Args[0]).Shape
	stop := func(i int) bool { return i == r.number }
	for _, a := range r.op.Args {
		mark(g, r.before, a, stop)
	}
	layouts := make([]ir.Layout, 0, len(g.Inputs)+len(g.Outputs))
	for i, in := range g.Inputs {
		l := in.Layout
		if r.perRow(i) {
			l = columnOf(l)
		}
		layouts = append(layouts, l.Expand(r.shape))
	}
	for i, o := range g.Outputs {
		switch {
		case r.op.Op == ir.CrossEntropy && !r.inRow(i):
			layouts = append(layouts, columnOf(g.Outputs[i].Layout()))
		case o.Value.Result > 0: // written by the second step
			layouts = append(layouts, ir.Layout{})
		default:
			mark(g, r.after, o.Value, stop)
			layouts = append(layouts, g.Outputs[i].Layout())
		}
	}
	last := len(r.shape) - 1
	s := spaceOf(r.shape, layouts, 1, func(a, b int) bool { return a != last && b != last })
	r.rows = s.size() / max(1, s.lens[0])
	r.weights = r.op.Op != ir.CrossEntropy && slices.ContainsFunc(g.Outputs, func(o backend.Output) bool { return o.Value.Result > 0 })
	r.walker = newWalker(newText(g, s.wide), s)
	return r
}

// inRow says whether output i has an element for each of a row, which the last pass stores.
func (r *rowText) inRow(i int) bool {
	v := r.group.Outputs[i].Value
	return v.Result == 0 && (r.op.Op != ir.CrossEntropy || r.gradient != nil && v.Index == r.number)
}

// perRow says whether input i has one number for each row, of a cross entropy.
func (r *rowText) perRow(i int) bool {
	args := r.op.Args[1:]
	if r.gradient != nil {
		args = slices.Concat(args, r.gradient.Args[1:])
	}
	return slices.ContainsFunc(args, func(a backend.Ref) bool {
		n, input := a.Input()
		return input && n == i && r.classes() && len(r.group.Inputs[i].Layout.Shape) == 1
	})
}

// classes says whether the op has a target for each row.
func (r *rowText) classes() bool { return r.op.Op == ir.CrossEntropy || r.op.Op == ir.CrossEntropyGrad }

// columnOf is the layout of one number for each row as that of a column.
func columnOf(l ir.Layout) ir.Layout {
	return ir.Layout{Shape: []int{l.Shape[0], 1}, Stride: []int{l.Stride[0], 0}, Offset: l.Offset}
}

// share chooses how many threads work on a row, and how many elements each holds.
func (r *rowText) share(limits Limits) {
	n := r.space.lens[0]
	r.vectors = r.space.vectors(4)
	r.threads, r.perGroup = simdWidth, limits.group()/simdWidth
	hold := mostHeld / 2
	if r.op.Op == ir.CrossEntropy {
		hold = mostHeld
	}
	for 2*r.threads <= min(mostThreads, limits.Threads) && n > r.threads*hold {
		r.threads, r.perGroup = 2*r.threads, max(1, r.perGroup/2)
	}
	if r.threads > simdWidth {
		r.perGroup = 1
	}
	each := r.threads
	if r.vectors {
		each *= 4
	}
	r.held = ceilPower((n + each - 1) / each)
	if r.held*each/r.threads > mostHeld {
		r.held = 0
		r.reserve(limits)
	}
	if r.weights {
		r.walk(limits)
	}
}

func (r *rowText) declare() {
	g := r.g
	r.declareInputs(nil)
	for i, o := range g.Outputs {
		if !r.weights || o.Value.Result == 0 {
			r.declareOutput(i, &o, r.output(i))
		}
	}
	r.declareColumns()
	r.declareLengths()
	if r.kept != nil {
		r.constant("stay", r.stay)
	}
	r.constant("rows", r.rows)
	r.float("number", r.op.Attr.Float)
	if r.classes() {
		r.member("long", "ignored", Field{Kind: Constant, Size: 8, Value: int64(r.op.Attr.Index)})
		r.faulty()
	}
}

// begin writes down which row the thread works on. One beyond the last row works on the last and stores
// nothing: so all threads meet at the barriers.
func (r *rowText) begin() {
	if r.threads > simdWidth {
		r.line("threadgroup float space[%d];", mostFolds*r.exchanged())
	}
	first := fmt.Sprintf("%s(group.x) * %d", r.index, r.perGroup)
	if r.walkers > 0 {
		for _, n := range r.sums() {
			r.line("float sum%d[%d] = {};", n, r.held*r.width())
		}
		r.line("for (%s first = %s; first < a.rows; first += a.walkers) {", r.index, first)
		first = "first"
	}
	r.line("const %[1]s mine = %[2]s + %[1]s(at.y);", r.index, first)
	r.line("const bool inside = mine < a.rows;")
	r.line("const %s row = min(mine, a.rows - 1);", r.index)
	r.coordinates("row", "left", r.space.axesFrom(1))
	if r.kept != nil {
		r.line("queued_copies copies;")
		r.copyFirst()
	}
	if r.held > 0 {
		for _, i := range r.full {
			r.line("float v%d[%d];", i, r.held*r.width())
		}
	}
}

func (r *rowText) width() int {
	if r.vectors {
		return r.each
	}
	return 1
}

// pass goes through the thread's elements of the row. In body, e0, e1, … are the op's arguments at the
// element; in the last pass the epilogue's inputs are loaded, too.
func (r *rowText) pass(last bool, body func()) {
	r.passOfVectors(last, func(each func(func())) { each(body) })
}

// passOfVectors is pass for work on a thread's vectors, one after the other: each goes through the elements
// of one.
//
// Where a thread holds its elements, loads stand in front of what depends on where the row ends, and the
// first pass loads all of them before it computes: so all loads of a thread are under way at once. One beyond
// the row loads the row's last.
func (r *rowText) passOfVectors(last bool, work func(each func(body func()))) {
	first := r.passes == 0
	r.passes++
	if first && r.held > 0 && !last {
		r.openHeld(false)
		r.loads(true, false)
		r.perElement(func() { r.arguments(true, false) })
		r.line("}")
		r.loadEarly()
		first = false
	}
	switch {
	case r.held > 0:
		r.openHeld(true)
	case r.kept != nil:
		r.openKept(last)
	default:
		r.line("for (%[1]s i0 = %[1]s(at.x) * %[2]d; i0 < a.n0; i0 += %[3]d) {", r.index, r.width(), r.threads*r.width())
	}
	r.loads(first || r.held == 0, last)
	if r.held > 0 {
		r.line("if (here) {")
	}
	if last && r.vectors {
		for i, o := range r.g.Outputs {
			if r.inRow(i) {
				r.line("%s y%d[%d];", register(o.DType), i, r.each)
			}
		}
	}
	work(func(body func()) {
		r.perElement(func() {
			r.arguments(first, last)
			body()
		})
	})
	if last {
		r.storeVectors()
	}
	if r.held > 0 {
		r.line("}")
	}
	r.line("}")
}

// mostEarly is how many numbers a thread may hold that loads some early: they are in registers, of which each
// of 1,024 threads has 64.
const mostEarly = 48

// loadEarly loads what the epilogue reads of each row: no compiler moves a load in front of a barrier, or of
// a store, and each of the last pass would be waited for alone. On an H200 four threadgroups of 256 threads
// share a processor if none has more registers than 1,024 could.
func (r *rowText) loadEarly() {
	var list []int
	for i, needed := range r.needs(false, true) {
		p := &r.space.places[i]
		if needed && p.strides[0] == 1 && slices.ContainsFunc(p.strides[1:], func(s int) bool { return s != 0 }) {
			list = append(list, i)
		}
	}
	if len(list) == 0 || !r.vectors || r.walkers > 0 || (len(r.full)+len(list))*4*r.held > mostEarly {
		return
	}
	r.lean = true
	for _, i := range list {
		r.early[i] = true
		r.line("%s %s[%d][4];", register(r.g.Inputs[i].DType), r.inputName(i), r.held)
	}
	r.openHeld(false)
	for _, i := range list {
		r.line("load4(a.%[1]s + (%[2]s), %[1]s[e]);", r.inputName(i), r.at(r.inputName(i), &r.space.places[i]))
	}
	r.line("}")
}

// openHeld opens a loop over the elements, or vectors, that the thread holds; here says whether the row has
// that one.
func (r *rowText) openHeld(here bool) {
	r.line("UNROLL for (int e = 0; e < %d; e++) {", r.held)
	r.line("const %[1]s place = (%[1]s(e) * %[2]d + %[1]s(at.x)) * %[3]d, i0 = min(place, a.n0 - %[3]d);", r.index, r.threads, r.width())
	if here {
		r.line("const bool here = place < a.n0;")
	}
}

// loads loads the inputs that a pass needs.
func (r *rowText) loads(operands, last bool) {
	needed := r.needs(operands, last)
	plain := slices.Clone(needed)
	for i, early := range r.early {
		plain[i] = plain[i] && !early
	}
	for _, i := range r.kept {
		plain[i] = false
	}
	r.loadAll(plain, r.vectors)
	for i, early := range r.early {
		if early {
			r.names[i], r.vector[i] = r.inputName(i)+"[e]", true
		}
	}
	if r.kept != nil {
		r.loadKept(needed, last)
	}
}

// perElement writes down what is done for each element of a vector.
func (r *rowText) perElement(body func()) {
	r.computed = make([]bool, len(r.g.Insts))
	if r.vectors {
		r.line("UNROLL for (int k = 0; k < %d; k++) {", r.each)
	} else {
		r.line("{")
	}
	body()
	r.line("}")
}

// needs says which inputs a pass loads: those of the op's operands where it reads them, its weights in every
// pass that uses them, and the epilogue's in the last.
func (r *rowText) needs(operands, last bool) need {
	n := make(need, len(r.g.Inputs))
	for _, i := range r.shared {
		n.reads(r.op.Args[i])
	}
	if operands {
		n.marked(r.g, r.before)
		for _, i := range r.full {
			n.reads(r.op.Args[i])
		}
	}
	if last {
		n.marked(r.g, r.after).outputs(r.g)
	}
	return n
}

// output is how output i is walked through.
func (r *rowText) output(i int) *place { return &r.space.places[len(r.g.Inputs)+i] }

// slot is the place of the element among those that the thread holds.
func (r *rowText) slot() string {
	if r.vectors {
		return "4 * e + k"
	}
	return "e"
}

// arguments names the op's arguments e0, e1, … at an element: computed in the first pass, and kept where the
// thread holds its elements.
func (r *rowText) arguments(first, last bool) {
	if r.held == 0 || first {
		r.instructions(r.before)
	}
	for _, n := range r.shared {
		if !first || last || r.held == 0 {
			r.line("const float e%d = %s;", n, r.value(r.op.Args[n]))
		}
	}
	for _, n := range r.full {
		switch {
		case r.held > 0 && !first:
			r.line("const float e%d = v%d[%s];", n, n, r.slot())
		case r.held > 0 && !last:
			r.line("v%d[%s] = %s;", n, r.slot(), r.value(r.op.Args[n]))
		default:
			r.line("const float e%d = %s;", n, r.value(r.op.Args[n]))
		}
	}
}

// instructions writes down those of a list that the pass has not computed.
func (r *rowText) instructions(list []bool) {
	for i, need := range list {
		if need && !r.computed[i] {
			r.computed[i] = true
			r.compute(i)
		}
	}
}

// result computes the epilogue from the op's result, an expression.
func (r *rowText) result(format string, args ...any) {
	r.line("const float %s = %s;", r.valueName(r.number), fmt.Sprintf(format, args...))
	r.instructions(r.after)
	for i, o := range r.g.Outputs {
		switch {
		case !r.inRow(i):
		case r.vectors:
			r.line("%s[k] = %s;", outputName(i), r.value(o.Value))
		default:
			r.store("if (inside) ", i, r.output(i), o.DType, o.Value)
		}
	}
}

// storeVectors stores the vectors that result has filled.
func (r *rowText) storeVectors() {
	if !r.vectors {
		return
	}
	for i := range r.g.Outputs {
		if r.inRow(i) {
			r.storeVector("if (inside) ", i, r.output(i))
		}
	}
}

// fold declares a fold of the row. A sum of few elements of each thread needs no care.
func (r *rowText) fold(name, kind string) {
	if kind == "sum" && r.held > 0 {
		kind = "short"
	}
	r.line("fold_%s<float> %s = fold_%s<float>::start();", kind, name, kind)
}

// folded gives all threads of the row the value of a fold. Each fold has threadgroup memory of its own, so
// that its simdgroups meet at one barrier: another row's fold comes there after another fold's barrier.
func (r *rowText) folded(value, fold string) {
	if r.threads == simdWidth {
		r.line("const float %s = simd_value(%s);", value, fold)
		return
	}
	r.line("const float %s = group_value(%s, space + %d, lane, simd, simds);", value, fold, r.met*r.exchanged())
	r.met++
}

// A row op has at most so many folds, and each exchanges so many floats of threadgroup memory.
const mostFolds = 4

func (r *rowText) exchanged() int { return 2 * r.threads / simdWidth }
