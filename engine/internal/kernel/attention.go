package kernel

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Attention, softmax(s·q·kᵀ + mask)·v, and its gradient, without scores in memory (Dao: FlashAttention-2,
// 2023). Every result is a sum of rows with weights, which come from products:
//
//	o  = softmax(scores)·v                rows are queries, columns keys
//	dq = ds·k, ds = p·(do·vᵀ − do·o)·s    rows are queries, columns keys
//	dk = dsᵀ·q, dv = pᵀ·do                rows are keys, columns queries
//
// So there is one text for all, a [weighing]. A simdgroup has a strip of 16 rows; a threadgroup has up to
// four, and goes along the columns in tiles of 32 or 64: the tile's rows of k go to threadgroup memory, the
// scores stay in registers and become weights there, and then the tile's rows of v go to the same memory.
// With a softmax, the sums so far fade when a greater score is found (Milakov, Gimelshein: Online normalizer
// calculation for softmax, 2018).
//
// Query heads that share keys are one list of rows, so that one query of each of eight heads is half of a
// strip. A tile of columns that no row may see, by the causal rule or a window, is not visited. dk and dv are
// one dispatch, and dq another one before it, which leaves do·o of each query in the workspace. No sum
// depends on the order of threads.
//
// Bytes and operations: with f16 or bf16 and a width of 128, 64 rows and a tile of 32 columns take 17 KB and
// 9 KB of threadgroup memory. A tile moves 2·32·128 elements, 16 KB, there, for 4·64·32·128 operations: 64 a
// byte, so the matrix units are the limit of an M-series GPU. With f32 it is 32 a byte, in two parts of 64
// elements a row. Rows longer than that part are fetched again for each tile. Results are cut into slabs of
// at most 128 numbers a row: 16 rows of them are 64 registers a thread, beside 16 to 32 for the scores. A
// slab computes the scores for itself, so a width of 256 costs half as much again.
//
// Weights are f32, as everything that is computed. To be the operand of a product of f16 or bf16 they are
// rounded to that, as in other libraries: what is lost is a rounding of each weight, below one of a result. A
// second product with the rest of each weight would keep it, and cost half as much again.
//
// On NVIDIA's GPUs the rows of tiles are woven instead of padded, and where a tile holds whole rows there are
// two: the machine fills one while the other is multiplied, and threads meet once for a tile, not twice.
// Blocks of f32 are three products of TF32, with which a result keeps 22 bits. NVRTC gives a thread 130 to
// 250 registers, and lays none in memory.
//
// Few rows, as in decoding, read each key for a few operations: memory is the limit. They have one simdgroup
// a threadgroup, and where these are too few to fill the device, the keys are split into parts, each for a
// threadgroup of its own. A second dispatch joins the parts by their logsumexps. Those to keys in pages have
// a text of their own, see attention_few.go: on NVIDIA's GPUs the last of its threadgroups joins the parts.

const (
	stripRows   = 16  // of a simdgroup
	mostSimds   = 4   // of a threadgroup
	mostSlab    = 128 // numbers of a row of a result that a threadgroup computes
	tileRoom    = 32768
	fewCores    = 32  // of a device whose number is not known
	wantSimds   = 8   // of each core, where keys are split
	leastKeys   = 128 // of a part
	mostKeyPart = simdWidth
)

// An attentionText writes attention and its gradient.
type attentionText struct {
	*text
	in *backend.Inst
	ir.Sight
	page          int // slots of a page; 0 where keys lie one behind the other
	b, hq, hk     int
	tq, tk, d, dv int
	mask          dtype.Type // Invalid if there is none
	cell          dtype.Type // of tiles
	blocks        attentionBlocks
	wide          int // elements of a row that a tile has
	vectors       map[string]bool
	simds         int // of a threadgroup
	columns       int // of a tile
	kept          int // operands of which the group's rows are in threadgroup memory
	queued        bool
}

// An attentionBlocks is a set of blocks of matrix.metal: the last part of their names, the copies, where the
// elements of a tile lie, which of its two rows a thread's element e belongs to, and in which bits the lanes
// of a row differ.
type attentionBlocks struct {
	set, copies, lines, under, lanes string
}

var attentionSets = map[Family]attentionBlocks{
	Apple:  {"matrix", "plain_copies", "padded_lines", "e / 4", "1, 8"},
	NVIDIA: {"fragment", "queued_copies", "woven_lines", "e / 2 % 2", "1, 2"},
}

// A weighing is one result: rows of an operand, added up with weights.
type weighing struct {
	result string // its name
	number int    // among the op's results
	keys   bool   // the rows of the result are keys; else queries
	slopes bool   // the weights are ds; else p
	times  string // the operand
	length string // of its rows: width or depth
}

func newAttention(g *backend.Group, limits Limits) *attentionText {
	in := &g.Insts[0]
	q, k, v := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape, inputLayout(g, in.Args[2]).Shape
	a := &attentionText{in: in, b: q[0], hq: q[1], tq: q[2], d: q[3], hk: k[1], tk: k[2], dv: v[3], kept: 1}
	operands := []int{0, 1, 2}
	if in.Op == ir.AttentionGrad {
		a.kept, operands = 2, []int{0, 1, 2, 5}
	}
	return a.begin(g, limits, operands)
}

// begin begins the text. Its tiles have the type of the operands that are multiplied, if they have one.
func (a *attentionText) begin(g *backend.Group, limits Limits, operands []int) *attentionText {
	a.Sight = ir.SightOf(&a.in.Attr)
	far := false // an index needs more than 32 bits
	for _, i := range g.Inputs {
		far = far || !isNumber(i) && reachOf(i.Layout) > most32
	}
	for _, o := range g.Outputs {
		far = far || reachOf(o.Layout()) > most32
	}
	a.text, a.vectors, a.blocks = newText(g, far), map[string]bool{}, attentionSets[limits.Family]
	a.cell = g.Type(a.in.Args[0]).DType
	for _, n := range operands {
		if g.Type(a.in.Args[n]).DType != a.cell {
			a.cell = dtype.F32
		}
	}
	a.wide = a.tileWidth()
	return a
}

// tileWidth chooses how many elements of a row a tile has: a power of two, that which leaves the fewest
// empty, of at most 256 bytes, or 128 where the rows of two operands are kept.
func (a *attentionText) tileWidth() int {
	most := 256 / a.cell.Size() / a.kept
	best, waste := 0, 0
	for w := 32; w <= most; w *= 2 {
		if used := ceilTo(a.d, w) + ceilTo(a.dv, w); best == 0 || used <= waste {
			best, waste = w, used
		}
	}
	return best
}

// ceilTo is the least multiple of step that is n or more.
func ceilTo(n, step int) int { return (n + step - 1) / step * step }

// stride is how many elements of threadgroup memory a row of a tile takes.
func (a *attentionText) stride() int {
	if a.blocks.lines == "woven_lines" {
		return a.wide
	}
	return a.wide + 16/a.cell.Size()
}

// slab is how many numbers of a result's row a threadgroup computes, and slabs how many share the row.
func (a *attentionText) slab(length int) (numbers, slabs int) {
	slabs = max(1, (length+mostSlab-1)/mostSlab)
	return max(a.wide, ceilTo((length+slabs-1)/slabs, a.wide)), slabs
}

// share chooses the threads for so many rows, and the columns of a tile. Where the machine copies by itself
// and a tile holds whole rows, there are two tiles, of which one is filled while the other is multiplied.
func (a *attentionText) share(rows int, limits Limits) {
	a.simds = max(1, min(mostSimds, limits.Threads/simdWidth, (rows+stripRows-1)/stripRows))
	a.queued = limits.Family == NVIDIA && max(a.d, a.dv) <= a.wide
	room := tileRoom/(a.stride()*a.cell.Size()) - a.kept*a.rows() // rows that fit
	if a.queued {
		room /= 2
	}
	a.columns = 32
	enough := a.kept == 1 // registers: a gradient has two strips, and a product of floats takes more itself
	if limits.Family == NVIDIA {
		enough = a.cell != dtype.F32
	}
	if room >= 64 && enough {
		a.columns = 64
	}
}

// rows is how many a threadgroup has.
func (a *attentionText) rows() int { return a.simds * stripRows }

// reads declares an operand with a stride for each of its four axes; one of length 1 is repeated.
func (a *attentionText) reads(name string, v backend.Ref) { a.readsAs(name, v, "bhtd") }

// readsAs is reads for axes of other names.
func (a *attentionText) readsAs(name string, v backend.Ref, axes string) {
	in := a.input(name, v)
	each := 16 / in.DType.Size()
	vectors := in.DType == a.cell && in.Layout.Offset%each == 0
	for axis, s := range in.Layout.Stride {
		if in.Layout.Shape[axis] == 1 {
			s = 0
		}
		if axis < len(axes)-1 {
			vectors = vectors && s%each == 0
		} else {
			vectors = vectors && s == 1 && in.Layout.Shape[axis]%each == 0
		}
		a.constant(name+"_"+axes[axis:axis+1], s)
	}
	a.vectors[name] = vectors
}

// writes declares a result, with a stride for each axis of its rows.
func (t *text) writes(name string, o backend.Output) {
	t.pointer("", name, o.DType, o.Buf, o.Offset)
	t.strides(name, o.Layout().Stride)
}

// strides declares how far batches, heads and rows are apart.
func (t *text) strides(name string, list []int) {
	for axis, s := range list[:3] {
		t.constant(name+"_"+"bht"[axis:axis+1], s)
	}
}

// row is the index at which a row of an operand begins.
func row(name, b, h, t string) string {
	return fmt.Sprintf("%s * a.%s_b + %s * a.%s_h + %s * a.%s_t", b, name, h, name, t, name)
}

// lengths declares the lengths.
func (a *attentionText) lengths() {
	for _, c := range []struct {
		name string
		n    int
	}{{"hq", a.hq}, {"hk", a.hk}, {"tq", a.tq}, {"tk", a.tk}, {"width", a.d}, {"depth", a.dv}, {"shared", a.hq / a.hk}} {
		a.constant(c.name, c.n)
	}
	unit := 1.0
	if a.binary() {
		unit = math.Log2E
	}
	a.float("scale", a.in.Attr.Float)
	if a.Window > 0 {
		a.constant("window", a.Window)
	}
	switch {
	case a.Cap == 0:
		a.float("steep", a.in.Attr.Float*unit)
	case a.cell == dtype.F32:
		a.float("steep", a.in.Attr.Float/a.Cap)
	default: // tanh(x) by 2^(2·log₂e·x)
		a.float("steep", 2*math.Log2E*a.in.Attr.Float/a.Cap)
	}
	if a.Cap != 0 {
		a.float("cap", a.Cap*unit)
	}
}

// masked declares the mask, if there is one.
func (a *attentionText) masked(rest []backend.Ref) {
	if len(rest) > 0 {
		a.mask = a.g.Type(rest[0]).DType
		a.reads("mask", rest[0])
	}
}

// grouped says whether several query heads share the keys of one.
func (a *attentionText) grouped() bool { return a.hq > a.hk }

func (a *attentionText) causal() bool { return a.in.Attr.Flags&ir.Causal != 0 }

// tiles declares threadgroup memory: of the kept operands the group's rows, and a tile of columns, or two.
func (a *attentionText) tiles() {
	typ, rows, columns := memoryTypes[a.cell], a.kept*a.rows(), a.columns
	if a.queued {
		columns *= 2
	}
	bytes := func(rows int) int { return rows * a.stride() * a.cell.Size() / 16 }
	a.line("threadgroup uint4 rows_space[%d];", bytes(rows))
	a.line("threadgroup uint4 columns_space[%d];", bytes(columns))
	a.line("threadgroup %s* columns_tile = (threadgroup %s*)columns_space;", typ, typ)
	for n := range a.kept {
		a.line("threadgroup %s* rows_tile%d = (threadgroup %s*)rows_space + %d;", typ, n, typ, n*a.rows()*a.stride())
	}
	a.line("const int me = int(at.x), strip_at = int(simd) * %d;", stripRows)
	a.line("%s copies;", a.blocks.copies)
	if a.queued {
		a.line("int turn = 0;")
	}
}

// A fetch is a tile of columns: an operand's, from an element of its rows on.
type fetch struct {
	name, d, length string
}

// fetch moves a tile of an operand to threadgroup memory, from some row on.
func (a *attentionText) fetch(to, first string, f fetch, high int, keyRows bool) {
	name := f.name
	if a.page > 0 && name != "q" {
		a.fetchSlots(to, first, f, high)
		return
	}
	base, count, per, jump, grouped := row(name, "b", "kh", "0"), "a.tk", "a.tk", "a."+name+"_h", false
	if name == "q" || name == "g" || name == "o" {
		if base, count, per = row(name, "b", "h", "0"), "a.tq", "a.tq"; !keyRows {
			base, count, grouped = row(name, "b", "kh * a.shared", "0"), "a.rows", a.grouped()
		}
	}
	with := fmt.Sprintf("<%s<%s, %d>, %d, %d, %d, %v>", a.blocks.lines, memoryTypes[a.cell], a.stride(), a.wide, high, a.simds*simdWidth, grouped)
	from := fmt.Sprintf("%s, a.%s + (%s), %s(%s), %s, %s, %s, a.%s_t", to, name, base, a.index, first, count, per, jump, name)
	if a.vectors[name] {
		a.line("fetch_pieces%s(copies, %s, %s(%s), a.%s, me);", with, from, a.index, f.d, f.length)
	} else {
		a.line("fetch_elements%s(%s, a.%s_d, %s(%s), a.%s, me);", with, from, name, a.index, f.d, f.length)
	}
}

// fetchRows fetches the group's rows of an operand.
func (a *attentionText) fetchRows(kept int, f fetch, keyRows bool) {
	a.fetch(fmt.Sprintf("rows_tile%d", kept), "first", f, a.rows(), keyRows)
}

// here is the tile of columns that is multiplied, and there the one that is filled meanwhile.
func (a *attentionText) here() string  { return a.tileAt("turn") }
func (a *attentionText) there() string { return a.tileAt("(1 - turn)") }

func (a *attentionText) tileAt(turn string) string {
	if !a.queued {
		return "columns_tile"
	}
	return fmt.Sprintf("columns_tile + %s * %d", turn, a.columns*a.stride())
}

// meet waits until what was fetched is there for all threads. With queued copies, it then begins to fetch the
// next tile: nobody reads that memory any more.
func (a *attentionText) meet(list []fetch, n int, keyRows bool) {
	a.line("copies.commit();")
	a.line("copies.finish<0>();")
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	switch {
	case !a.queued:
	case n+1 < len(list):
		a.fetch(a.there(), "from", list[n+1], a.columns, keyRows)
	default:
		a.line("if (from + %d < end) {", a.columns)
		a.fetch(a.there(), fmt.Sprintf("from + %d", a.columns), list[0], a.columns, keyRows)
		a.line("}")
	}
}

// done gives the tile that was multiplied free.
func (a *attentionText) done() {
	if a.queued {
		a.line("turn = 1 - turn;")
	}
}

// start fetches what queued copies have to fetch before the first tile: the rows, once, and the first
// columns.
func (a *attentionText) start(begin string, rows, list []fetch, keyRows bool) {
	if !a.queued {
		return
	}
	a.line("if (fresh) {")
	for n, f := range rows {
		a.fetchRows(n, f, keyRows)
	}
	a.line("}")
	a.line("if (%s < end) {", begin)
	a.fetch(a.here(), begin, list[0], a.columns, keyRows)
	a.line("}")
}

// product computes a strip: the group's rows of one operand times the tile's rows of another. Rows that a
// tile holds are fetched once.
func (a *attentionText) product(sum string, n int, rows, list []fetch, keyRows bool) {
	a.line("sum_%s %s[%d];", a.blocks.set, sum, a.columns/16)
	a.line("clear_strip(%s);", sum)
	if !a.queued {
		f := list[n]
		a.line("for (%s d = 0; d < a.%s; d += %d) {", a.index, f.length, a.wide)
		a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		a.line("if (fresh || a.%s > %d) {", f.length, a.wide)
		a.fetchRows(n, fetch{rows[n].name, "d", f.length}, keyRows)
		a.line("}")
		a.fetch("columns_tile", "from", fetch{f.name, "d", f.length}, a.columns, keyRows)
	}
	a.meet(list, n, keyRows)
	a.line("scored<%s, %d, %d>(%s, rows_tile%d, strip_at, %s, 0);", a.operands(), a.stride(), a.wide, sum, n, a.here())
	a.done()
	if !a.queued {
		a.line("}")
	}
}

// exp is the function of weights. A GPU's own exponential is within 2⁻¹⁸, which is enough for operands of f16
// and bf16; op_exp takes some 20 operations, a quarter of the time of both products at a width of 64.
func (a *attentionText) exp() string {
	switch {
	case a.cell == dtype.F32:
		return "op_exp"
	case a.binary():
		return "fast::exp2"
	}
	return "fast::exp"
}

// binary says whether scores are powers of two: a GPU computes those, and other exponentials by them.
func (a *attentionText) binary() bool {
	return a.in.Op != ir.AttentionGrad && a.cell != dtype.F32 && a.mask == dtype.Invalid
}

// operands are the types of left and right operands.
func (a *attentionText) operands() string {
	return fmt.Sprintf("left_%[1]s<%[2]s>, right_%[1]s<%[2]s>", a.blocks.set, memoryTypes[a.cell])
}

// slabParts are the fetches of a slab of an operand.
func (a *attentionText) slabParts(name, length string, numbers int) []fetch {
	var list []fetch
	for part := 0; part < numbers; part += a.wide {
		list = append(list, fetch{name, fmt.Sprintf("slab + %d", part), length})
	}
	return list
}

// weigh adds the weights in s times the tile's rows of an operand to sum, a part of the slab at a time: the
// parts are fetches n and on of the list.
func (a *attentionText) weigh(n int, list []fetch, keyRows bool) {
	for part, f := range list[n:] {
		if !a.queued {
			a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
			a.fetch("columns_tile", "from", f, a.columns, keyRows)
		}
		a.meet(list, n+part, keyRows)
		a.line("weighted<%s, %d, %d>(sum, %d, s, %s);", a.operands(), a.stride(), a.wide, part*a.wide/16, a.here())
		a.done()
	}
	a.line("fresh = false;")
}

// place writes down which rows the threadgroup has, and which two of them the thread.
func (a *attentionText) place(keyRows bool) {
	count := "a.rows"
	if keyRows {
		count = "a.tk"
	}
	a.line("%[1]s left = %[1]s(group.x);", a.index)
	tile := "left % a.tiles"
	if (a.causal() || a.page > 0) && !keyRows { // the rows with the most columns first
		tile = "(a.tiles - 1 - left % a.tiles)"
	}
	a.line("const %s first = %s * %d;", a.index, tile, a.rows())
	a.line("left /= a.tiles;")
	a.line("const %s kh = left %% a.hk, b = left / a.hk;", a.index)
	a.line("const sum_%[1]s places = {};", a.blocks.set)
	a.line("%s h_of[2], at_of[2];", a.index)
	a.line("bool inside[2];")
	a.line("UNROLL for (int u = 0; u < 2; u++) {")
	a.line("const %s n = first + int(simd) * %d + row_of(places, lane, 0) + 8 * u, there = min(n, %s - 1);", a.index, stripRows, count)
	a.line("inside[u] = n < %s;", count)
	switch {
	case keyRows:
		a.line("h_of[u] = kh;")
		a.line("at_of[u] = there;")
	case a.grouped():
		a.line("h_of[u] = kh * a.shared + there / a.tq;")
		a.line("at_of[u] = there %% a.tq;")
	default:
		a.line("h_of[u] = kh;")
		a.line("at_of[u] = there;")
	}
	a.line("}")
	a.line("bool fresh = true;")
}

// rowOf is the index at which the thread's row u of a result begins.
func rowOf(name string) string { return row(name, "b", "h_of[u]", "at_of[u]") }

// store stores the thread's numbers of the sum, in rows of a result that begin at at.
func (a *attentionText) store(numbers int, length, to, at, format string) {
	a.line("%s at_row[2];", a.index)
	a.line("UNROLL for (int u = 0; u < 2; u++) at_row[u] = %s;", at)
	a.elements(numbers)
	a.line("const %s d = slab + 16 * n + column_of(places, lane, e);", a.index)
	a.line("if (inside[u] && d < a.%s) a.%s[at_row[u] + d] = %s;", length, to, fmt.Sprintf(format, "element(sum[n], e)"))
	a.close(2)
}

// dispatch makes the dispatch; its groups are those of rows, slabs, and parts or results.
func (a *attentionText) dispatch(kind string, groups [3]int) Dispatch {
	threads := along(a.simds * simdWidth)
	return a.finish(kind, describe(a.g), parameters, groups, threads)
}
