package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A tile is the part of a product that a threadgroup computes: parts of both operands pass through its
// memory, the sums stay in registers. There is no best tile for a device, only one that is large enough
// that arithmetic is the limit, and small enough that there are many.
//
// A tile of 64×64 with 32 of the inner axis reads 8 KB of halves for 262,144 operations: 32 operations a
// byte. An M-series GPU needs some 35 of its memory (14 TFLOP/s and 400 GB/s, of an M3 Max) where no cache
// helps, and there a neighbour has read half of it before. Its 10 KB let three groups share the 32 KB of a
// core, so one computes while others load. What limits it is the arithmetic of the simdgroup matrices.
//
// NVIDIA's tile is 128×128×32: 64 operations a byte, for a GPU that has ten times the arithmetic and loads
// ahead: two stages of 16 KB, one of which fills while the other is multiplied. Of two halves a simdgroup
// has 64×64, for which it reads 8 blocks for 16 products: a fifth faster on an H200 than eight simdgroups of
// 64×32. What becomes halves on the way, and f32, would not leave room for that in registers.
//
// A warpgroup of compute capability 9.0 multiplies operands of 16 bits that both lie in threadgroup memory,
// and goes on meanwhile. Two of them have a tile of 128×256, so a step of 64 of the inner axis takes the
// matrix units 1,024 cycles for 48 KB: a third less memory for an operation than 128×128, which is what
// threadgroup memory can give while it takes in the next parts. Two parts are loaded ahead, one is
// multiplied, and one may be in the hands of the other warpgroup.
//
// Products of few columns or of few rows, as those of adapters, have thin tiles: memory limits them. NVIDIA's
// are 32 rows or 64 columns. Of leastTall rows and more they are 128 rows: each tile reads the right operand,
// an adapter's of F32, which then is a fifth of what a tile reads and no longer half, and products are cut
// along the inner axis to be enough of them. Up to five parts of 4 KB are loaded ahead.
type tile struct {
	by           means
	across, down int  // simdgroups along the columns, and along the rows
	high, wide   int  // each simdgroup's blocks of 16×16; or, by threads, each thread's elements
	stages       int  // how many parts of the inner axis are in threadgroup memory: all but one are loaded ahead
	woven        bool // how lines lie in threadgroup memory: woven (prelude/mma.h), or a few elements apart
	warpgroups   bool // four simdgroups multiply together where both operands have 16 bits
	sets         int  // of columns, each with a right operand of its own; 0 stands for one
	shares       int  // of each step of the inner axis, each with simdgroups of its own; 0 stands for one
}

// means is what multiplies.
type means uint8

const (
	// Each thread has high×wide sums. The threads of a simdgroup stand in four rows of eight; their rows are
	// four apart.
	byThreads   means = iota
	byMatrices        // simdgroup matrices of 8×8
	byFragments       // NVIDIA's matrix units
)

// blocks is the name of the blocks that multiply: see matrix.metal.
func (t *tile) blocks() string {
	if t.by == byFragments {
		return "fragment"
	}
	return "matrix"
}

func (t *tile) threads() int { return simdWidth * t.across * t.down * max(t.shares, 1) }

// tall is how many rows a simdgroup ends at a time, and broad how many columns it has.
func (t *tile) tall() int {
	if t.by == byThreads {
		return 4
	}
	return 16
}

func (t *tile) broad() int {
	if t.by == byThreads {
		return 8 * t.wide
	}
	return 16 * t.wide
}

func (t *tile) rows() int    { return t.tall() * t.high * t.down }
func (t *tile) columns() int { return t.broad() * t.across / max(t.sets, 1) }

// stride is how far lines of wide elements lie apart in threadgroup memory. Sixteen bytes more than they
// have let eight lines begin in eight different places of its banks.
func (t *tile) stride(size, wide int) int {
	if t.woven {
		return wide
	}
	return wide + max(16/size, 4)
}

// place is the expression of an element's place in a part of an operand with lines of wide elements.
func (t *tile) place(o side, wide int, line, beside string) string {
	switch {
	case o.paved:
		return fmt.Sprintf("paved<%d>(%s, %s)", wide, line, beside)
	case t.woven:
		return fmt.Sprintf("woven<%s, %d>(%s, %s)", o.cell, wide, line, beside)
	}
	return fmt.Sprintf("(%s) * %d + %s", line, t.stride(o.size, wide), beside)
}

// pave lets warpgroups multiply the operands of a pair, if both lie in 16 bits: so many of the inner axis at
// a time make a line of 128 bytes.
func (t *tile) pave(left, right *side) {
	if t.warpgroups && left.size == 2 && left.cell == right.cell {
		left.paved, right.paved = true, true
		left.depth, right.depth = pavedDepth, pavedDepth
	}
}

// endPad is how many numbers more than it has a line of sums takes in threadgroup memory.
const endPad = 8

// stage is the threadgroup memory that a part of a pair's operands takes.
func (t *tile) stage(left, right side) int {
	return left.size*max(t.rows()*t.stride(left.size, left.depth), left.depth*t.stride(left.size, t.rows())) +
		max(t.sets, 1)*right.size*max(t.columns()*t.stride(right.size, right.depth), right.depth*t.stride(right.size, t.columns()))
}

// set is how many cells a set of a right operand's columns takes.
func (t *tile) set(right side) int {
	if right.turned {
		return t.stride(right.size, right.depth) * t.columns()
	}
	return t.stride(right.size, t.columns()) * right.depth
}

// ends is the threadgroup memory that sums of so many bytes take.
func (t *tile) ends(sum int) int { return t.down * t.tall() * (t.columns() + endPad) * sum }

// allEnds is the memory that all sums take whose steps have shares.
func (t *tile) allEnds() int { return 4 * t.shares * t.rows() * (t.broad()*t.across + endPad) }

// What warpgroups multiply lies in threadgroup memory pavedDepth deep, in pavedStages parts, of which one
// more than of other tiles is in use: an earlier product may not have ended.
const (
	pavedDepth  = 64
	pavedStages = 4
)

// Products have at least leastMatrix rows and columns to be worth a tile of matrices, but on NVIDIA's GPUs,
// where those of fewer rows are large; and up to mostThin of one of them to be thin.
const (
	leastMatrix = mostFewRows + 1
	mostThin    = 32
	leastTall   = 2048
)

// Thin products wait for memory: parts of theirs that fill bytesAhead bytes are in threadgroup memory, or the
// room that few threadgroups have, but no more than mostStages of them.
const (
	bytesAhead = 24 << 10
	mostStages = 6
	ownMemory  = 2 << 10 // of a threadgroup, for the device and what a text declares itself
)

// thin says whether memory limits a product of matrix units.
func (t *tile) thin(rows, columns int) bool {
	return t.by == byFragments && min(rows, columns) <= mostThin
}

// tileOf chooses the tile of a product of rows×columns of a type, in batches. exact says that NVIDIA's
// matrix units can multiply its longest pair: they take at most 11 bits of a number, so one operand has no
// more of them, or may be rounded. short says that both its operands have 16 bits.
func tileOf(rows, columns, batches int, dt dtype.Type, exact, short bool, l Limits) tile {
	t := tile{by: byMatrices, across: 2, down: 2, high: 2, wide: 2, stages: 1}
	if l.Family == NVIDIA {
		t.by, t.stages, t.woven = byFragments, 2, true
	}
	if !dt.Float() || columns < leastMatrix || rows < leastMatrix && l.Family != NVIDIA || l.Family == NVIDIA && !exact {
		t.by, t.down, t.high, t.wide = byThreads, 4, 4, 4
	}
	switch {
	case columns <= mostThin && t.by == byThreads:
		t.across, t.down = 1, 8
	case rows <= mostThin && t.by == byThreads:
		t.across, t.down = 4, 2
	case t.thin(rows, columns) && columns <= mostThin:
		t.across, t.high, t.wide = 1, 1, (columns+15)/16
		if rows >= leastTall {
			t.high = 4
		}
	case t.thin(rows, columns):
		t.down, t.high = 1, (rows+15)/16
	case columns <= mostThin:
		t.across, t.down = 1, 4
	case rows <= mostThin:
		t.across, t.down = 4, 1
	case l.Family == NVIDIA && dt.Float():
		for _, big := range t.larger(short, l.Warpgroups) {
			if big.threads() <= l.Threads && big.count(rows, columns, batches) >= l.Processors {
				t = big
				break
			}
		}
	}
	for t.threads() > l.Threads && t.down*t.across > 1 {
		if t.down > 1 {
			t.down /= 2
		} else {
			t.across /= 2
		}
	}
	return t
}

// larger are NVIDIA's tiles for products that have as many as fill the device, the largest first.
func (t tile) larger(short, warpgroups bool) (list []tile) {
	if t.by == byFragments && short && warpgroups {
		for _, wide := range []int{16, 8} {
			list = append(list, tile{by: t.by, across: 1, down: 8, high: 1, wide: wide, stages: pavedStages, woven: true, warpgroups: true})
		}
	}
	switch {
	case t.by == byThreads:
		t.high, t.wide = 8, 8
	case short:
		t.high, t.wide = 4, 4
	default:
		t.across, t.high = 4, 4
	}
	return append(list, t)
}

// count is the number of tiles of a product.
func (t *tile) count(rows, columns, batches int) int {
	return (rows + t.rows() - 1) / t.rows() * ((columns + t.columns() - 1) / t.columns()) * batches
}

// clear declares and clears the sums of a thread, which later lines call sum, and its place among them.
func (t *tile) clear(x *text, typ string) {
	x.line("const int me = int(at.x), down = int(simd) / %d %% %d * %d, right = int(simd) %% %[1]d * %[4]d;", t.across, t.down, t.tall()*t.high, t.broad())
	if t.by == byThreads {
		x.line("const int x = int(lane) %% 8, y = int(lane) / 8;")
		x.line("%s sum[%d];", typ, t.high*t.wide)
		x.line("UNROLL for (int e = 0; e < %d; e++) sum[e] = %s(0);", t.high*t.wide, typ)
		return
	}
	x.line("sum_%s sum[%d];", t.blocks(), t.high*t.wide)
	x.line("UNROLL for (int e = 0; e < %d; e++) clear(sum[e]);", t.high*t.wide)
}

// steps writes down a loop along the inner axis, between two expressions: fetch loads a part from `next` on
// into left_tile and right_tile, add multiplies what they hold. With several stages the loop goes as many
// steps ahead: the first ones only load. whole is the condition under which a tile has no edges: parts of its
// that go as far as they can then have none, and are fetched without looking for them.
func (t *tile) steps(x *text, from, to string, left, right side, whole string, fetch func(whole bool), add func()) {
	depth, ahead := left.depth, t.stages-1
	if left.paved {
		ahead--
	}
	across, down := t.stride(left.size, depth)*t.rows(), t.set(right)*max(t.sets, 1)
	if left.turned {
		across = t.stride(left.size, t.rows()) * depth
	}
	across, down = across*left.size, down*right.size
	tiles := func(qualifier, step string) {
		for _, o := range []struct {
			side
			name string
			at   int
		}{{left, "left_tile", 0}, {right, "right_tile", across}} {
			at := fmt.Sprint(o.at / o.size)
			if step != "" {
				at += fmt.Sprintf(" + %s %% %d * %d", step, t.stages, (across+down)/o.size)
			}
			x.line("threadgroup %s%s* %s = (threadgroup %[1]s%[2]s*)space + (%[4]s);", qualifier, o.cell, o.name, at)
		}
	}
	x.line("{")
	if right.coded != nil {
		right.coded.begin(right, from, to)
	}
	if left.paved {
		x.line("queued_products products;")
	}
	if ahead > 0 {
		x.line("queued_copies copies;")
		x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		x.line("for (%s k = %s - %d; k < %s; k += %d) {", x.index, from, ahead*depth, to, depth)
		x.line("const int step = int((k - %s) / %d);", from, depth)
		x.line("copies.finish<%d>();", ahead-1)
		if left.paved {
			x.line("products.see();")
		}
		x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		x.line("if (k + %d < %s) {", ahead*depth, to)
		x.line("const %s next = k + %d;", x.index, ahead*depth)
		tiles("", fmt.Sprintf("(step + %d)", ahead))
		if left.paved && left.reads == byPieces && right.reads == byPieces {
			x.line("if (%s && next + %d <= %s) {", whole, depth, to)
			fetch(true)
			x.line("} else {")
			fetch(false)
			x.line("}")
		} else {
			fetch(false)
		}
		x.line("}")
		x.line("copies.commit();") // of nothing, too, so that each step has a batch
		x.line("if (k >= %s) {", from)
		tiles("const ", "step")
		add()
		x.line("}")
	} else {
		x.line("plain_copies copies;")
		tiles("", "")
		x.line("for (%s next = %s; next < %s; next += %d) {", x.index, from, to, depth)
		x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		fetch(false)
		x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		add()
	}
	x.line("}")
	if left.paved {
		x.line("products.finish<0>();")
	}
	x.line("}")
}

// each writes down a loop of the group's threads over e, in steps that a compiler can unroll where all
// threads have as many.
func (t *tile) each(x *text, count int, body func()) {
	if threads := t.threads(); count%threads == 0 {
		x.line("UNROLL for (int q = 0; q < %d; q++) {", count/threads)
		x.line("const int e = me + q * %d;", threads)
	} else {
		x.line("for (int e = me; e < %d; e += %d) {", count, threads)
	}
	body()
	x.line("}")
}

// pieces writes down a loop of the group's threads over pieces of so many elements, lines of them: a piece
// begins at the place `beside` of a line. Where each thread has one place in its lines, which are equally far
// apart, a compiler finds that the addresses are, too.
func (t *tile) pieces(x *text, lines, along, per int, body func()) {
	line, beside := "e / %[1]d", "e %% %[1]d * %[2]d"
	if threads := t.threads(); lines*along/per%threads == 0 && threads%(along/per) == 0 {
		line, beside = "me / %[1]d + q * %[3]d", "me %% %[1]d * %[2]d"
	}
	t.each(x, lines*along/per, func() {
		x.line("const int line = "+line+", beside = "+beside+";", along/per, per, t.threads()*per/along)
		body()
	})
}

// A source is an operand, and where its elements are: at the place `deep` of the inner axis and at name of
// the other one, which begins at a tile's first and ends at limit.
type source struct {
	side
	name, first, limit string
	find               string // a line that what follows needs, or ""
	from, element      string // the address of an element, and its expression
	typ, zero          string // of a register, and its 0
	set                int    // of columns
}

// fetch loads the part of an operand from `next` of the inner axis on, up to the place `to`, into threadgroup
// memory; 0 stands beyond its edges, unless all of it is there. Neighbouring threads load what lies side by
// side in a line.
func (t *tile) fetch(x *text, o *source, to string, whole bool) {
	if o.coded != nil {
		o.coded.fetch(o.side, to)
		return
	}
	cells, across := "left_tile", t.rows()
	if o.n%2 == 1 {
		cells, across = "right_tile", t.columns()
		if o.set > 0 {
			cells = fmt.Sprintf("(right_tile + %d)", o.set*t.set(o.side))
		}
	}
	deep := (o.n%2 == 0) != o.turned // lines go along the inner axis
	lines, along, inner, outer := o.depth, across, "line", "beside"
	if deep {
		lines, along, inner, outer = across, o.depth, outer, inner
	}
	place := t.place(o.side, along, "line", "beside")
	per := map[reads]int{singly: 1, byFours: 4, byPieces: 16 / o.size}[o.reads]
	t.pieces(x, lines, along, per, func() {
		x.line("const %s deep = next + %s, %s = %s + %s;", x.index, inner, o.name, o.first, outer)
		if o.find != "" {
			x.line("%s", o.find)
		}
		guard, other, left := "deep < "+to, o.name+" < "+o.limit, o.limit+" - "+o.name
		inside := guard + " && " + other
		if deep {
			guard, left = other, to+" - deep"
		}
		switch {
		case o.reads == singly:
			x.line("%s v = %[1]s(%s);", o.cell, o.zero)
			x.line("if (%s) v = %s(%s);", inside, o.cell, o.element)
			x.line("%s[%s] = v;", cells, place)
		case o.reads == byFours:
			x.line("%s v[4] = {};", o.typ)
			x.line("if (%s) load4(%s, v);", inside, o.from)
			x.line("threadgroup %s* cells = %s + %s;", o.cell, cells, place)
			x.line("UNROLL for (int d = 0; d < 4; d++) cells[d] = %s(v[d]);", o.cell)
		case whole:
			x.line("copies.take(%s + %s, %s, %d);", cells, place, o.from, per)
		default:
			x.line("copies.take(%s + %s, %s, %s ? int(min(%s, %s(%d))) : 0);", cells, place, o.from, guard, left, x.index, per)
		}
	})
}

// add multiplies what the tiles hold by blocks of a type, with a function of matrix.metal; or by threads,
// whose columns are spread.
func (t *tile) add(x *text, left, right side, as, times string, spread bool) {
	if t.by == byThreads {
		t.addByThreads(x, left, right, spread)
		return
	}
	depth := left.depth
	leftWide, rightWide := depth, t.columns()
	if left.turned {
		leftWide = t.rows()
	}
	if right.turned {
		rightWide = depth
	}
	if left.paved {
		x.line("products.begin();")
		x.line("UNROLL for (int d = 0; d < %d; d += 16) multiply_group<%d, %d, %v, %d, %v>(products, sum, left_tile, down / 64 * 64, right_tile, d);", depth, t.wide, leftWide, left.turned, rightWide, right.turned)
		x.line("products.commit();")
		x.line("products.finish<1>();")
		return
	}
	if t.shares > 1 {
		x.line("UNROLL for (int d = int(simd) / %d * 16; d < %d; d += %d) {", t.across*t.down, depth, 16*t.shares)
	} else {
		x.line("UNROLL for (int d = 0; d < %d; d += 16) {", depth)
	}
	load := func(o side) string {
		if o.cell != as {
			return "round"
		}
		return "load"
	}
	x.line("left_%s<%s> l[%d];", t.blocks(), as, t.high)
	x.line("right_%s<%s> r[%d];", t.blocks(), as, t.wide)
	x.line("UNROLL for (int i = 0; i < %d; i++) %s_left<%d, %v>(l[i], left_tile, down + 16 * i, d);", t.high, load(left), t.stride(left.size, leftWide), left.turned)
	cells, j := "right_tile", "j"
	if t.sets > 1 {
		cells, j = fmt.Sprintf("right_tile + j / %d * %d", t.wide/t.sets, t.set(right)), fmt.Sprintf("(j %% %d)", t.wide/t.sets)
	}
	x.line("UNROLL for (int j = 0; j < %d; j++) %s_right<%d, %v>(r[j], %s, d, right + 16 * %s);", t.wide, load(right), t.stride(right.size, rightWide), right.turned, cells, j)
	x.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	x.line("UNROLL for (int j = 0; j < %[1]d; j++) %[2]s(sum[%[1]d * i + j], l[i], r[j]);", t.wide, times)
	x.close(2)
}

// columnsOf is the expression of column j of a thread, among those of its simdgroup.
func columnsOf(j string, spread bool) string {
	if spread {
		return fmt.Sprintf("x + 8 * %s", j)
	}
	return fmt.Sprintf("4 * x + %s / 4 * 32 + %[1]s %% 4", j)
}

// addByThreads lets each thread multiply its rows by its columns, four of the inner axis at a time:
// 4·high·wide multiplications for 4·(high+wide) numbers, most of them read four at once.
func (t *tile) addByThreads(x *text, left, right side, spread bool) {
	typ, depth := left.cell, left.depth
	fours := typ == "float"
	l := func(deep string) string {
		if left.turned {
			return t.place(left, t.rows(), deep, "down + y + 4 * i")
		}
		return t.place(left, depth, "down + y + 4 * i", deep)
	}
	r := func(column string) string {
		if right.turned {
			return t.place(right, depth, column, "d + s")
		}
		return t.place(right, t.columns(), "d + s", column)
	}
	x.line("for (int d = 0; d < %d; d += 4) {", depth)
	x.line("%s l[%d];", typ, 4*t.high)
	x.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	if fours && !left.turned {
		x.line("read4(left_tile + %s, l + 4 * i);", l("d"))
	} else {
		x.line("UNROLL for (int s = 0; s < 4; s++) l[4 * i + s] = left_tile[%s];", l("d + s"))
	}
	x.line("}")
	x.line("UNROLL for (int s = 0; s < 4; s++) {")
	x.line("%s r[%d];", typ, t.wide)
	if fours && !right.turned && !spread {
		x.line("UNROLL for (int j = 0; j < %d; j += 4) read4(right_tile + %s, r + j);", t.wide, r("right + 4 * x + 8 * j"))
	} else {
		x.line("UNROLL for (int j = 0; j < %d; j++) r[j] = right_tile[%s];", t.wide, r("right + "+columnsOf("j", spread)))
	}
	x.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	x.line("UNROLL for (int j = 0; j < %[1]d; j++) sum[%[1]d * i + j] = op_fma(l[4 * i + s], r[j], sum[%[1]d * i + j]);", t.wide)
	x.close(3)
}

// putSums writes down a loop over the rows of blocks of a simdgroup, i, that ends where its caller ends it:
// it puts the sums of one into threadgroup memory, as lines of columns()+endPad, after what begin writes.
func (t *tile) putSums(x *text, typ string, spread bool, begin func()) {
	stride := t.columns() + endPad
	x.line("threadgroup %s* sums = (threadgroup %[1]s*)space;", typ)
	x.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	begin()
	x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	if t.by == byThreads {
		x.line("UNROLL for (int j = 0; j < %d; j++) sums[(int(simd) / %d * 4 + y) * %d + right + %s] = sum[%d * i + j];", t.wide, t.across, stride, columnsOf("j", spread), t.wide)
	} else {
		x.line("UNROLL for (int j = 0; j < %d; j++) store_sum<%d>(sum[%[1]d * i + j], sums + (int(simd) / %[3]d * 16 * %[2]d + right + 16 * j));", t.wide, stride, t.across)
	}
	x.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
}
