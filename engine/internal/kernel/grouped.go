package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A groupedText is a grouped_matmul or a grouped_weight that is being written down: y[m] = x[m]·w[index[m]],
// or w[g] = Σ x[m]ᵀ·y[m] over the rows m of group g.
//
// A first dispatch puts rows into the order of their groups. A threadgroup for each group counts the rows of
// the groups before it and finds its own, so groups need nothing of one another; it reads the index twice,
// 16 bytes a row. The second dispatch multiplies by tiles, as products do, of rows where they lie. A group's
// rows begin a tile of their own, so there are up to one for each group more than full ones; those that
// nothing is left for end at once. A group without rows reads no matrix. Equal work gives equal bits.
type groupedText struct {
	*text
	in           *backend.Inst
	o            backend.Output
	tile         tile
	left, right  source
	as, times    string // the type that is multiplied, and by which function of matrix.metal
	rows, groups int
	inner, width int           // of each matrix
	codes        []backend.Ref // the parts of weights in codes; nil: they are numbers
	quant        ir.Quant
}

// gathered is the axis of an operand along which its rows are those of a group, and findRow finds one of
// them.
const (
	gathered = -1
	findRow  = "const int found = a.order[begin + min(int(%s), take - 1)];"
)

// orderEach is how many rows that follow one another a thread looks at.
const orderEach = 4

func groupedMatMul(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	w := g.Type(in.Args[1]).Shape
	if len(in.Args) > 3 {
		q := ir.QuantOf(&in.Attr)
		w = q.Shape()
	}
	rows := g.Type(g.Insts[0].Args[2]).Shape[0]
	t := newGrouped(g, k, w[0], w[1], w[2], max(leastMatrix, (rows+w[0]-1)/w[0]))
	if ir.Size(t.o.Shape) == 0 {
		return
	}
	t.lie(&t.left, 0, 1, gathered, "found * a.x_0 + deep * a.x_1", "0", "take")
	if t.codes == nil {
		t.lie(&t.right, 1, 1, 2, "matrix * a.w_0 + deep * a.w_1 + i * a.w_2", "column", "a.columns")
	} else {
		t.lieInCodes()
	}
	tall := t.tile.rows()
	t.line("const int slot = int(group.x), matrix = a.slots[slot], start = a.starts[matrix];")
	t.line("const int begin = start + (slot - matrix - start / %d) * %[1]d, take = min(a.starts[matrix + 1] - begin, %[1]d);", tall)
	t.line("if (take <= 0) return; // uniform: take is that of the slot, and so of the threadgroup")
	t.multiply("a.inner")
	t.store("i1 < take", "a.order[begin + i1] * a.columns", "0")
	k.Dispatches = []Dispatch{t.find(k), t.dispatch([3]int{t.slots(), (t.width + t.tile.columns() - 1) / t.tile.columns(), 1})}
}

func groupedWeight(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	t := newGrouped(g, k, in.Shape[0], in.Shape[1], in.Shape[2], in.Shape[1])
	if ir.Size(t.o.Shape) == 0 {
		return
	}
	t.lie(&t.left, 0, gathered, 1, "found * a.x_0 + i * a.x_1", "row", "a.inner")
	t.lie(&t.right, 1, gathered, 1, "found * a.w_0 + i * a.w_1", "column", "a.columns")
	t.line("const int matrix = int(group.z), begin = a.starts[matrix], take = a.starts[matrix + 1] - begin;")
	t.line("const %[1]s row = %[1]s(group.x) * %[2]d;", t.index, t.tile.rows())
	t.multiply("take")
	t.store("i1 < a.inner", "(matrix * a.inner + i1) * a.columns", "row")
	k.Dispatches = []Dispatch{t.find(k), t.dispatch([3]int{(t.inner + t.tile.rows() - 1) / t.tile.rows(), (t.width + t.tile.columns() - 1) / t.tile.columns(), t.groups})}
}

// newGrouped declares what the tiles read and write, and chooses them for so many rows at a time.
func newGrouped(g *backend.Group, k *Kernel, groups, inner, width, high int) *groupedText {
	in, o := &g.Insts[0], g.Outputs[0]
	wide := ir.Size(o.Shape) > most32
	for _, v := range in.Args {
		wide = wide || reachOf(inputLayout(g, v)) > most32
	}
	t := &groupedText{text: newText(g, wide), in: in, o: o, rows: g.Type(in.Args[2]).Shape[0], groups: groups, inner: inner, width: width}
	if len(in.Args) > 3 {
		t.quant, t.codes = ir.QuantOf(&in.Attr), append([]backend.Ref{in.Args[1]}, in.Args[3:]...)
	}
	for i, name := range []string{"x", "w"} {
		if i == 1 && t.codes != nil {
			break
		}
		for axis, s := range t.input(name, in.Args[i]).Layout.Stride {
			t.constant(fmt.Sprintf("%s_%d", name, axis), s)
		}
	}
	t.pointer("", "y", o.DType, o.Buf, 0)
	t.constant("inner", inner)
	t.constant("columns", width)
	t.ordered("const ")
	t.chooseTile(high, k.limits)
	bytes := max(t.tile.stages*t.tile.stage(t.left.side, t.right.side), t.tile.ends(4))
	t.threadgroup("uint4", "space", (bytes+15)/16, 16)
	t.line("const %[1]s column = %[1]s(group.y) * %[2]d;", t.index, t.tile.columns())
	return t
}

// ordered declares the workspace: rows in the order of their groups, where each group begins there and the
// last one ends, and the group of each tile of rows.
func (t *groupedText) ordered(access string) {
	t.pointer(access, "order", dtype.I32, workspace, 0)
	t.pointer(access, "starts", dtype.I32, workspace, t.rows)
	t.pointer(access, "slots", dtype.I32, workspace, t.rows+t.groups+1)
}

// chooseTile chooses what multiplies, as products do: matrix units if they can multiply the operands exactly,
// or if one operand has 16 bits and the result has them, too.
func (t *groupedText) chooseTile(high int, l Limits) {
	a, b := t.g.Type(t.in.Args[0]).DType, t.g.Type(t.in.Args[1]).DType
	if t.codes != nil { // whose numbers are rounded to 16 bits for rows of those
		b = dtype.F32
		if a.Size() == 2 {
			b = a
		}
	}
	short := func(dt dtype.Type) bool { return dt.Size() == 2 }
	t.tile = tileOf(high, t.width, t.groups, t.in.DType, short(a) || short(b) || t.g.TF32, short(a) && a == b, l)
	cells := [2]string{"float", "float"}
	t.as, t.times = "float", "multiply"
	switch {
	case t.tile.by == byThreads:
	case a == b && short(a):
		t.as = memoryTypes[a]
		cells = [2]string{t.as, t.as}
	case t.tile.by == byFragments && short(a) && t.in.DType == a:
		t.as = memoryTypes[a]
		cells[0] = t.as
	case t.tile.by == byFragments && t.g.TF32:
		t.times = "multiply_tf32"
	case t.tile.by == byFragments:
		t.times = fmt.Sprintf("multiply_floats<%v, %v>", !short(a), !short(b))
	}
	sizes := map[string]int{"float": 4, "half": 2, "bfloat": 2}
	for i, o := range []*source{&t.left, &t.right} {
		o.cell, o.size = cells[i], sizes[cells[i]]
	}
	t.left.depth = 64 / max(t.left.size, t.right.size)
	t.right.depth = t.left.depth
	t.tile.pave(&t.left.side, &t.right.side)
	if t.tile.thin(high, t.width) {
		t.left.depth, t.right.depth = 2*t.left.depth, 2*t.right.depth
		t.tile.stages = max(2, min(mostStages, bytesAhead/t.tile.stage(t.left.side, t.right.side)))
	}
}

// lieInCodes says so of weights in codes, whose outputs stand side by side in blocks.
func (t *groupedText) lieInCodes() {
	o, from := &t.right, "long(matrix) * a.w_apart + "
	o.n, o.name, o.first, o.limit, o.zero = 1, "i", "column", "a.columns", "0.0f"
	t.constant("w_apart", t.quant.Blocks()*ir.QuantBlock)
	k, n := "deep", "i"
	if t.quant.Transposed {
		k, n = n, k
	}
	o.element = t.dequantised("w_", t.quant, t.codes, k, from+n)
	if t.inWords(t.codes) {
		extra := noExtra
		if len(t.codes) == 3 {
			extra = "a.w_extra"
		}
		o.inCodes(&coded{text: t.text, t: &t.tile, q: t.quant, name: "w", extra: extra, all: o.limit, first: fmt.Sprintf("matrix * %d", t.quant.Blocks())})
	}
}

// lie finds out how an operand's elements lie along the inner axis and the other one, and so how they are
// read.
func (t *groupedText) lie(o *source, arg, inner, other int, at, first, limit string) {
	l := inputLayout(t.g, t.in.Args[arg])
	step := func(axis int) int {
		if axis == gathered {
			return 0
		}
		return l.Stride[axis]
	}
	o.n, o.name, o.first, o.limit, o.zero = arg, "i", first, limit, "0.0f"
	o.from = fmt.Sprintf("a.%s + (%s)", []string{"x", "w"}[arg], at)
	o.element = "loaded(*(" + o.from + "))"
	switch gathered {
	case inner:
		o.find = fmt.Sprintf(findRow, "deep")
	case other:
		o.find = fmt.Sprintf(findRow, "i")
	}
	along, beside := inner, other
	if arg == 1 {
		along, beside = other, inner
	}
	if o.turned = step(along) != 1 && step(beside) == 1; o.turned {
		along = beside
	}
	per := 16 / o.size
	if memoryTypes[t.g.Type(t.in.Args[arg]).DType] != o.cell || step(along) != 1 || l.Offset%per != 0 {
		return
	}
	for axis, s := range l.Stride {
		if axis != along && s%per != 0 {
			return
		}
	}
	o.reads = byPieces
}

// multiply adds up the inner axis, as long as an expression says.
func (t *groupedText) multiply(to string) {
	t.tile.clear(t.text, "float")
	t.keepRows()
	whole := fmt.Sprintf("%s + %d <= %s && %s + %d <= %s", t.left.first, t.tile.rows(), t.left.limit, t.right.first, t.tile.columns(), t.right.limit)
	t.tile.steps(t.text, "0", to, t.left.side, t.right.side, whole, func(whole bool) {
		t.tile.fetch(t.text, &t.left, to, whole)
		t.tile.fetch(t.text, &t.right, to, whole)
	}, func() { t.tile.add(t.text, t.left.side, t.right.side, t.as, t.times, t.right.turned) })
}

// keepRows lets a thread remember the rows whose pieces it loads in each step.
func (t *groupedText) keepRows() {
	o := &t.left
	pieces, threads := t.tile.rows()*o.depth*o.size/16, t.tile.threads()
	if t.in.Op != ir.GroupedMatMul || o.reads != byPieces || pieces%threads != 0 {
		return
	}
	t.line("int kept[%d];", pieces/threads)
	t.tile.each(t.text, pieces, func() {
		t.line("kept[q] = a.order[begin + min(e / %d, take - 1)];", o.depth*o.size/16)
	})
	o.find = "const int found = kept[q];"
}

// store stores the sums of row i1, from first on, to where an expression says, if another one holds.
func (t *groupedText) store(is, to, first string) {
	wide, tall := t.tile.columns(), t.tile.tall()
	t.tile.putSums(t.text, "float", t.right.turned, func() {})
	t.line("for (int e = me; e < %d; e += %d) {", t.tile.down*tall*wide, t.tile.threads())
	t.line("const int line = e / %d, beside = e %% %[1]d;", wide)
	t.line("const %s i0 = column + beside, i1 = %s + line / %d * %d + line %% %[3]d + i * %[3]d;", t.index, first, tall, tall*t.tile.high)
	t.line("if (i0 < a.columns && %s) a.y[%s + i0] = %s(sums[line * %d + beside]);", is, to, memoryTypes[t.o.DType], wide+endPad)
	t.close(2)
}

func (t *groupedText) dispatch(groups [3]int) Dispatch {
	return t.finish(t.in.Op.String(), describe(t.g), inGroup+inSimds, groups, along(t.tile.threads()))
}

// inSimds are the parameters of a text whose threads know their simdgroup.
const inSimds = ", uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]"

// find puts rows into the order of their groups, and reports an index that is out of range.
func (t *groupedText) find(k *Kernel) Dispatch {
	x := &groupedText{text: newText(t.g, t.index == "long"), rows: t.rows, groups: t.groups}
	x.constant("index_0", x.input("index", t.in.Args[2]).Layout.Stride[0])
	x.constant("rows", t.rows)
	x.ordered("")
	x.indexed(k, t.in.Op, 0, t.groups)
	simds, tall := k.limits.group()/simdWidth, t.tile.rows()
	x.line("threadgroup uint sums[32];")
	x.line("const int mine = int(group.x), rows = int(a.rows);")
	x.line("uint before = 0, all;")
	x.line("for (int m = int(at.x); m < rows; m += int(size.x)) {")
	x.line("const long chosen = a.index[m * a.index_0];")
	x.line("const bool bad = chosen < -a.length || chosen >= a.length;")
	x.line("if (bad && mine == 0) report(a.fault, a.stop, uint(m), chosen);")
	x.line("before += uint(!bad && (chosen < 0 ? chosen + a.length : chosen) < mine);")
	x.line("}")
	x.line("row_earlier(before, sums, lane, simd, %d, all);", simds)
	x.line("const int start = int(all);")
	x.line("int end = start;")
	x.line("for (int next = 0; next < rows; next += int(size.x) * %d) {", orderEach)
	x.line("const int from = next + int(at.x) * %d;", orderEach)
	x.line("bool hit[%d];", orderEach)
	x.line("uint hits = 0;")
	x.line("UNROLL for (int d = 0; d < %d; d++) {", orderEach)
	x.line("const long chosen = from + d < rows ? a.index[(from + d) * a.index_0] : a.length;")
	x.line("hit[d] = (chosen < 0 ? chosen + a.length : chosen) == mine;")
	x.line("hits += uint(hit[d]);")
	x.line("}")
	x.line("int to = end + int(row_earlier(hits, sums, lane, simd, %d, all));", simds)
	x.line("UNROLL for (int d = 0; d < %d; d++) {", orderEach)
	x.line("if (hit[d]) a.order[to++] = from + d;")
	x.line("}")
	x.line("end += int(all);")
	x.line("}")
	x.line("if (at.x == 0) a.starts[mine] = start;")
	x.line("if (mine + 1 == int(a.length)) {")
	x.line("if (at.x == 0) a.starts[mine + 1] = end;")
	x.line("end = rows;") // where an index is out of range, tiles are left: they have no rows
	x.line("}")
	x.line("for (int slot = start / %d + mine + int(at.x); slot <= end / %[1]d + mine; slot += int(size.x)) a.slots[slot] = mine;", tall)
	k.Scratch = 4 * (t.rows + t.groups + 1 + t.slots())
	return x.finish("grouped_order", describe(t.g), inGroup+inSimds, along(t.groups), along(simds*simdWidth))
}

// slots is how many tiles of rows there may be.
func (t *groupedText) slots() int { return t.rows/t.tile.rows() + t.groups }
