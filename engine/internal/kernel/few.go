package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Products of few rows, y[m n] = Σ a[m k]·b[k n]: a step of decoding. See Limits.Few.
//
// Such a product reads each weight once, for 2·m operations: memory limits it, and a tile in threadgroup
// memory would be work for nothing. So a thread takes four columns and all rows, and goes along its part of
// the inner axis with loads of four elements, 16 of them at once, or of 16 bytes of codes. A strip of
// columns belongs to a threadgroup of 256 threads:
//
//   - Where b lies along its rows, 64 columns: a line of 16 threads side by side reads 128 bytes of f16 or
//     256 of f32, and 16 lines share the inner axis. A strip of one row and 4096 deep moves 512 KB of f16
//     for 512 K operations, one a byte: an M-series GPU could do some thirty.
//   - Where b lies down its columns, as the weight of x·Wᵀ, 32 columns: a simdgroup goes down four of them,
//     128 elements each at a time.
//   - A quantised weight is read by words of 4 or 8 codes, four words a thread: the 16 outputs of a block
//     lie side by side. Its lines are four threads long, one block, whose words follow one another in
//     memory. A strip of 16 columns and 4096 deep moves 64 KB of int8 for 128 K operations; putting codes
//     into floats, some five instructions each, comes close to being the limit at 4 bits.
//
// A device with more processors than strips gets narrower ones: shorter lines, or simdgroups that share
// columns. The parts of a sum meet by shuffles, then in threadgroup memory, in an order which the shape and
// the device alone decide.
//
// Products that feed one another, x·W + s·(x·A)·B, are one launch: each threadgroup computes the few columns
// of s·(x·A) for itself. With rank 16 and 64 columns, that reads a fourth more, of what the caches hold.

// A few is how a product of few rows is shared.
type few struct {
	rows    int  // of a threadgroup, a power of two
	blocks  bool // there are more rows: several threadgroups share a strip
	threads int  // of a threadgroup
	down    bool // simdgroups go down columns; else lines of threads go along rows
	line    int  // threads of a line
	share   int  // simdgroups that go down the same columns, each a part of them
	beside  bool // a thread's four columns lie side by side; else a line's length apart
	inside  bool // this is a phase: the threadgroup computes all columns, for itself
	normed  bool // squares of rows are added up beside the products
	sets    int  // sums of each element: those of a norm's result have one of their own beside others
}

// The limits of a product of few rows, and the threads of a line where there are enough columns.
const (
	mostFewRows = 8   // of a threadgroup
	mostInside  = 128 // columns of a product that every threadgroup computes for itself
	fewThreads  = 256
	mostLine    = 16
	leastLine   = 4
	mostDeep    = 16 // places of the inner axis that a thread takes at once, times rows
	shortInner  = 256
	mostAhead   = 32      // elements of the left operand that are under way at once
	leastTiled  = 1 << 26 // multiplications of two operands of 16 bits from which tiles are faster
	mostStacked = 4       // rows of F32 whose terms are too few for a library
)

// inThreadgroup is the buffer of a result that stays in threadgroup memory.
const inThreadgroup = -3

// Few says whether a product is one of few rows, with these types of its operands; that of codes is U8.
//
// Threads multiply once for each row and element of b. NVIDIA's GPUs take longer for that than to read b,
// from a few rows on, where their matrix units do not; but tiles have more launches: norms and gates before
// them, and of F32 terms (split_terms.go). So small products are those of few rows up to 8, and where a is
// F32 up to 16, in two blocks of rows. Those of codes are up to 8, and small ones up to 16, because tiles
// take longer to read them. Apple's GPUs have not been compared.
func (l Limits) Few(rows, inner, columns int, left, right dtype.Type) bool {
	work, wide := rows*inner*columns, left == dtype.F32
	switch {
	case rows == 1 || l.Family != NVIDIA:
		return rows <= mostFewRows
	case right == dtype.F32 && wide:
		return rows <= 2*mostFewRows
	case right == dtype.U8:
		return rows <= mostFewRows || rows <= 2*mostFewRows && (wide || work < 2*leastTiled)
	case !right.Float() || right.Size() != 2:
		return rows <= mostFewRows
	case wide && right == dtype.BF16:
		return rows <= mostStacked || rows <= 2*mostFewRows && work < 2*leastTiled
	}
	return rows <= mostFewRows && work < leastTiled
}

// isFew says whether this is a product of few rows. One that has taken a norm is.
func (p *product) isFew(limits Limits) bool {
	main := p.longest()
	right := p.operandType(2*main + 1)
	if p.weights[2*main+1] != "" {
		right = dtype.U8
	}
	return p.norm != nil || limits.Few(p.space.lens[1], p.inner[main], p.space.lens[0], p.operandType(2*main), right) &&
		(p.space.lens[1] <= mostFewRows || len(p.space.lens) == 2 && !p.g.TF32)
}

// newFew chooses how the threads share a product. The pair with the longest inner axis decides.
func (p *product) newFew(limits Limits) *few {
	main := p.longest()
	n := p.space.lens[0]
	rows := p.space.lens[1]
	f := &few{rows: min(ceilPower(rows), mostFewRows), blocks: rows > mostFewRows, threads: max(simdWidth, min(fewThreads, limits.Threads)/simdWidth*simdWidth), line: mostLine, share: 1,
		normed: p.norm != nil, sets: 1}
	if f.normed && slices.Contains(p.normed, true) && slices.Contains(p.normed, false) {
		f.sets = 2
	}
	codes := p.codes(main)
	f.down = !codes && p.strideB[main] == 1
	f.beside = codes || p.fours(2*main+1, 0)
	if codes && p.inside == nil { // a block of 16 outputs: its lines follow one another
		f.line = leastLine
	}
	blocks := p.space.size() / max(n*rows, 1) * ((rows + f.rows - 1) / f.rows)
	narrower := func() bool { return f.strip() >= 2*n || (n+f.strip()-1)/f.strip()*blocks < limits.Processors }
	for f.down && narrower() && f.simds()%(2*f.share) == 0 {
		f.share *= 2
	}
	for !f.down && narrower() && f.line > leastLine {
		f.line /= 2
	}
	return f
}

// codes says whether the threads read the right operand of a pair by words of codes.
func (p *product) codes(pair int) bool { return p.words(2*pair + 1) }

// fours says whether four elements of operand n can be loaded at once: along the inner axis, or along axis
// 0, the columns.
func (p *product) fours(n, axis int) bool { return p.side(n, axis, 4) }

// side says whether so many elements of operand n lie side by side, from multiples of as many on.
func (p *product) side(n, axis, count int) bool {
	v := p.inst.Args[n]
	if i, input := v.Input(); input && isNumber(p.g.Inputs[i]) || weight(p.g, v) != nil || p.isInside(n) {
		return false
	}
	place, inner, length := p.operandPlace(n), p.along(n), p.inner[n/2]
	rest := place.strides
	if axis == 0 {
		rest = append([]int{inner}, rest[1:]...)
		inner, length = place.strides[0], p.space.lens[0]
	}
	return inner == 1 && length%count == 0 && place.offset%count == 0 && !slices.ContainsFunc(rest, func(s int) bool { return s%count != 0 })
}

// innerAxis is the axis of fours that is none of the space.
const innerAxis = -1

// isInside says whether operand n stays in threadgroup memory.
func (p *product) isInside(n int) bool { return p.inside[p.inst.Args[n]] > 0 }

// strip is how many columns a threadgroup computes at once.
func (f *few) strip() int {
	if f.down {
		return 4 * f.simds() / f.share
	}
	return 4 * f.line
}

// simds are the simdgroups.
func (f *few) simds() int { return f.threads / simdWidth }

// parts is how many threads share each inner axis, and meet how many sums of each element are left when the
// threads of a simdgroup have added up theirs.
func (f *few) parts() int {
	if f.down {
		return simdWidth * f.share
	}
	return f.threads / f.line
}

func (f *few) meet() int {
	if f.down {
		return f.share
	}
	return f.simds()
}

// width is how many numbers of a row meet: the sums of its strip, and of its squares.
func (f *few) width() int {
	n := f.sets * f.strip()
	if f.normed {
		n++
	}
	return n
}

// space is how many numbers meet in threadgroup memory.
func (f *few) space() int { return f.meet() * f.rows * f.width() }

// writeFew writes the product down, after all is declared. Its threadgroup memory is declared by the caller:
// space, and the arrays of results that stay inside.
func (p *product) writeFew(first int) {
	f := p.few
	p.line("const int me = int(at.x);")
	if f.inside {
		p.ownRows()
		p.line("for (%[1]s column = 0; column < a.n0; column += %[2]d) {", p.index, f.strip())
	} else {
		p.ownStrip()
	}
	p.addAll()
	p.together()
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.meet()
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.endFew(first, f.threads)
	if f.inside {
		p.line("}")
	}
}

// ownRows finds the first row of the threadgroup. Those that share a strip lie side by side, so that caches
// serve all but the first one.
func (p *product) ownRows() {
	if p.few.blocks {
		p.line("const %[1]s row = %[1]s(group.x) %% a.down * %[2]d;", p.index, p.few.rows)
	}
}

// row is the expression of the threadgroup's row r, and own that of its own row at i1.
func (f *few) row(r string) string {
	if f.blocks {
		return "row + " + r
	}
	return r
}

func (f *few) own() string {
	if f.blocks {
		return "(i1 - row)"
	}
	return "i1"
}

// ownStrip finds the strip of the threadgroup.
func (p *product) ownStrip() {
	p.ownRows()
	p.line("%[1]s left = %[1]s(group.x);", p.index)
	if p.few.blocks {
		p.line("left /= a.down;")
	}
	p.line("const %s column = left %% a.across * %d;", p.index, p.few.strip())
	p.line("left /= a.across;")
	p.batch()
}

// addAll adds up the thread's part of all pairs.
func (p *product) addAll() {
	f, typ := p.few, register(p.inst.DType)
	if f.down {
		p.line("const int x = int(simd) / %d, y = int(simd) %% %[1]d * %d + int(lane);", f.share, simdWidth)
	} else {
		p.line("const int x = me %% %d, y = me / %d;", f.line, f.line)
	}
	p.line("%s sum[%d];", typ, 4*f.rows*f.sets)
	p.line("UNROLL for (int e = 0; e < %d; e++) sum[e] = %s(0);", 4*f.rows*f.sets, typ)
	if f.normed {
		p.line("float squares[%d];", f.rows)
		p.line("UNROLL for (int r = 0; r < %d; r++) squares[r] = 0.0f;", f.rows)
	}
	for n := range p.inner {
		p.addFew(n)
	}
}

// column is the expression of the thread's column j, within the tensor.
func (f *few) column(j string) string {
	if f.down || f.beside {
		return fmt.Sprintf("min(column + 4 * x + %s, a.n0 - 1)", j)
	}
	return fmt.Sprintf("min(column + x + %d * %s, a.n0 - 1)", f.line, j)
}

// addFew adds pair n to the thread's sums: w holds the elements of depth places of the inner axis and the
// four columns. Those of codes are still to be scaled, so a thread multiplies by a scale once for depth of
// them.
func (p *product) addFew(n int) {
	f, typ, depth := p.few, register(p.inst.DType), p.depth(n)
	to := fmt.Sprintf("sum[%d + 4 * r + j]", 4*f.rows*p.set(n))
	codes := p.codes(n) && f.beside
	scaled := codes && ir.QuantOf(&weight(p.g, p.inst.Args[2*n+1]).Attr).Transposed
	first := "start == 0"
	if codes {
		first = fmt.Sprintf("k < %d", depth*f.parts())
		p.line("for (%s k = y * %d; k < a.k%d; k += %d) {", p.index, depth, n, depth*f.parts())
	} else { // all threads go as far as the first
		p.line("for (%s start = 0; start < a.k%d; start += %d) {", p.index, n, depth*f.parts())
		if p.chunk(n) == 0 {
			p.line("const %s k = start + y * %d;", p.index, depth)
		}
	}
	p.line("%s w[%d];", typ, 4*depth)
	p.right(n, depth)
	if n == 0 && p.waits { // for what a kernel before computes, while the weights are under way
		p.line("if (%s) wait_for_previous();", first)
	}
	p.leftRows(n, depth, codes, scaled)
	if codes && !scaled {
		minimums := ir.QuantOf(&weight(p.g, p.inst.Args[2*n+1]).Attr).Form == ir.Minimums
		if minimums {
			p.line("float lefts_sum = 0.0f;")
			p.line("UNROLL for (int d = 0; d < %d; d++) lefts_sum += l[d];", depth)
		}
		p.line("UNROLL for (int j = 0; j < 4; j++) {")
		p.line("float all = 0.0f;")
		p.line("UNROLL for (int d = 0; d < %d; d++) all = op_fma(l[d], w[4 * d + j], all);", depth)
		p.line("%[1]s = op_fma(scale[j], all, %[1]s);", to)
		if minimums {
			p.line("%[1]s = op_fma(minimum[j], lefts_sum, %[1]s);", to)
		}
		p.line("}")
	} else {
		p.line("UNROLL for (int d = 0; d < %d; d++) {", depth)
		p.line("UNROLL for (int j = 0; j < 4; j++) %[1]s = op_fma(l[d], w[4 * d + j], %[1]s);", to)
		p.line("}")
	}
	p.line("}")
	p.line("}")
	p.line("}")
	if n == 0 && p.waits {
		p.line("wait_for_previous();")
	}
}

// early says whether a product of few rows loads its first weights before all that the kernels before it
// compute: no kernel writes them, and it needs nothing else before.
func (p *product) early() bool {
	v := p.inst.Args[1]
	stays := func(v backend.Ref) bool { i, input := v.Input(); return input && p.g.Inputs[i].Weight }
	if q := weight(p.g, v); q != nil {
		return p.norm == nil && !slices.ContainsFunc(q.Args, func(a backend.Ref) bool { return !stays(a) })
	}
	return stays(v)
}

// leftRows begins a loop over r, in which l holds the elements of row r: those of several rows are under way
// at once, beside w, unless the thread has to unpack codes in the meantime.
func (p *product) leftRows(n, depth int, codes, scaled bool) {
	typ, batch := register(p.inst.DType), max(1, min(p.few.rows, floorPower(mostAhead/depth)))
	if codes && !scaled {
		batch = 1
	}
	p.line("UNROLL for (int first = 0; first < %d; first += %d) {", p.few.rows, batch)
	p.line("%s lefts[%d];", typ, batch*depth)
	p.left(n, depth, batch)
	if !codes { // a compiler would otherwise load the next when it has used the last, to save registers
		p.line("simdgroup_barrier(mem_flags::mem_none);")
		p.line("if (start + %d > a.k%d) {", depth*p.few.parts(), n)
		p.line("UNROLL for (int e = 0; e < %d; e++) w[e] = %s < a.k%d ? w[e] : %s(0);", 4*depth, p.deep(n, "e / 4"), n, typ)
	}
	p.line("UNROLL for (int e = 0; e < %d; e++) lefts[e] = %s < a.k%d ? lefts[e] : %s(0);", batch*depth, p.deep(n, fmt.Sprintf("e %% %d", depth)), n, typ)
	if !codes {
		p.line("}")
	}
	p.scaled(n, depth, batch)
	p.line("UNROLL for (int i = 0; i < %d; i++) {", batch)
	p.line("const int r = first + i;")
	p.line("thread const %s* l = lefts + %d * i;", typ, depth)
}

// left loads the left operand of pair n for the rows from first on. As on the right, loads beyond the inner
// axis load its last places.
func (p *product) left(n, depth, batch int) {
	p.line("UNROLL for (int i = 0; i < %d; i++) {", batch)
	p.line("const %s i1 = min(%s(%s), a.n1 - 1);", p.index, p.index, p.few.row("first + i"))
	if left := p.operand(2 * n); p.fours(2*n, innerAxis) {
		p.line("UNROLL for (int q = 0; q < %d; q += 4) {", depth)
		p.line("%s v[4];", register(p.inst.DType))
		p.line("load4(a.%s + (%s + min(%s, a.k%d - 4)), v);", left, p.at(left, p.operandPlace(2*n)), p.deep(n, "q"), n)
		p.line("UNROLL for (int d = 0; d < 4; d++) lefts[%d * i + q + d] = v[d];", depth)
		p.line("}")
	} else {
		p.line("UNROLL for (int d = 0; d < %d; d++) {", depth)
		p.line("const %s deep = min(%s, a.k%d - 1);", p.index, p.deep(n, "d"), n)
		p.line("lefts[%d * i + d] = %s(%s);", depth, register(p.inst.DType), p.operandElement(2*n))
		p.line("}")
	}
	p.line("}")
	p.normWeights(n, depth)
}

// chunk is how many places of the inner axis a thread loads side by side where a simdgroup goes down columns
// by loads that follow one another in memory, of 16 bytes if there is enough for all threads; 0 elsewhere:
// then all its places lie side by side.
func (p *product) chunk(n int) int {
	switch {
	case !p.few.down || p.inner[n] < shortInner || !p.fours(2*n, innerAxis) || !p.fours(2*n+1, innerAxis):
		return 0
	case p.operandType(2*n+1).Size() == 2 && p.side(2*n+1, innerAxis, 8) && p.inner[n] >= 8*p.few.parts():
		return 8
	}
	return 4
}

// deep is the expression of the thread's place d of the inner axis.
func (p *product) deep(n int, d string) string {
	if c := p.chunk(n); c > 0 {
		return fmt.Sprintf("start + ((%s) / %d * %d + y) * %[2]d + (%[1]s) %% %[2]d", d, c, p.few.parts())
	}
	return "k + " + d
}

// set says which sums pair n is added to.
func (p *product) set(n int) int {
	if p.few.sets > 1 && !p.normed[n] {
		return 1
	}
	return 0
}

// depth is how many places of the inner axis a thread takes at once: as many as its registers hold, so that
// their loads are under way side by side, but few of a short one, as an adapter's rank.
func (p *product) depth(n int) int {
	if p.codes(n) && p.few.beside {
		if q := ir.QuantOf(&weight(p.g, p.inst.Args[2*n+1]).Attr); !q.Transposed {
			return q.PerLine()
		}
		return 4
	}
	if p.inner[n] < shortInner {
		return 4
	}
	most := max(4, mostDeep/p.few.rows)
	if p.few.normed && !p.few.down { // beside its weights: with more, an H200's processor has room for one threadgroup
		most = max(4, most/2)
	}
	if c := p.chunk(n); c > 0 { // the same in each round
		most = max(c, most)
		round := p.few.parts() * most
		rounds := (p.inner[n] + round - 1) / round
		each := rounds * p.few.parts() * c
		return (p.inner[n] + each - 1) / each * c
	}
	return most
}

// right loads w, from the right operand of pair n. Loads beyond the inner axis load its last place, because a
// load that stands under a condition waits for the one before.
func (p *product) right(n, depth int) {
	name, place, typ := p.operand(2*n+1), p.operandPlace(2*n+1), register(p.inst.DType)
	switch {
	case p.codes(n) && p.few.beside:
		p.codeLine(2*n+1, fmt.Sprintf("a.k%d", n))
		return
	case p.few.beside && p.fours(2*n+1, 0):
		p.line("UNROLL for (int d = 0; d < %d; d++) {", depth)
		p.line("const %s deep = min(k + d, a.k%d - 1), i0 = min(column + 4 * x, a.n0 - 4);", p.index, n)
		p.line("%s v[4];", typ)
		p.line("load4(a.%s + (%s + deep * a.%s_k), v);", name, p.at(name, place), name)
		p.line("UNROLL for (int j = 0; j < 4; j++) w[4 * d + j] = v[j];")
		p.line("}")
		return
	case p.few.down && p.fours(2*n+1, innerAxis):
		p.line("UNROLL for (int j = 0; j < 4; j++) {")
		p.line("const %s i0 = %s;", p.index, p.few.column("j"))
		each := max(4, p.chunk(n))
		p.line("UNROLL for (int q = 0; q < %d; q += %d) {", depth, each)
		p.line("%s v[%d];", typ, each)
		p.line("load%d(a.%s + (%s + min(%s, a.k%d - %[1]d)), v);", each, name, p.at(name, place), p.deep(n, "q"), n)
		p.line("UNROLL for (int d = 0; d < %d; d++) w[4 * (q + d) + j] = v[d];", each)
		p.line("}")
		p.line("}")
		return
	}
	p.line("UNROLL for (int e = 0; e < %d; e++) {", 4*depth)
	p.line("const %s deep = k + e / 4, i0 = %s;", p.index, p.few.column("(e % 4)"))
	p.line("w[e] = deep < a.k%d ? %s(%s) : %s(0);", n, typ, p.operandElement(2*n+1), typ)
	p.line("}")
}

// together adds up what the threads of a simdgroup have of each element.
func (p *product) together() {
	f, least := p.few, 1
	if !f.down {
		least = f.line
	}
	add := func(count int, name string) {
		p.line("UNROLL for (int e = 0; e < %d; e++) {", count)
		p.line("UNROLL for (ushort mask = 16; mask >= %d; mask /= 2) %[2]s[e] = op_add(%[2]s[e], from_lane(%[2]s[e], mask));", least, name)
		p.line("}")
	}
	add(4*f.rows*f.sets, "sum")
	if f.normed {
		add(f.rows, "squares")
	}
}

// meet leaves the sums of the simdgroups in threadgroup memory.
func (p *product) meet() {
	f := p.few
	at, keeps := "4 * x + e % 4", "lane == 0"
	if !f.down {
		keeps = fmt.Sprintf("int(lane) < %d", f.line)
	}
	if !f.down && !f.beside {
		at = fmt.Sprintf("x + %d * (e %% 4)", f.line)
	}
	part := "int(simd)"
	if f.down {
		part = fmt.Sprintf("int(simd) %% %d", f.share)
	}
	p.line("if (%s) {", keeps)
	p.line("UNROLL for (int e = 0; e < %d; e++) space[(%s * %d + e / 4 %% %[3]d) * %[4]d + e / %[5]d * %[6]d + %[7]s] = sum[e];",
		4*f.rows*f.sets, part, f.rows, f.width(), 4*f.rows, f.strip(), at)
	if f.normed {
		p.line("UNROLL for (int r = 0; r < %d; r++) space[(%s * %[1]d + r) * %[3]d + %[4]d] = squares[r];", f.rows, part, f.width(), f.sets*f.strip())
	}
	p.line("}")
}

// endFew adds up what the simdgroups have of each element of the strip, and ends them, by so many threads.
func (p *product) endFew(first, threads int) {
	f := p.few
	p.line("for (int e = me; e < %d; e += %d) {", f.rows*f.strip(), threads)
	if f.normed || f.sets > 1 {
		p.line("const int first_of = e / %d * %d, of = first_of + e %% %[1]d;", f.strip(), f.width())
	} else {
		p.line("const int of = e;")
	}
	met := func(name, at string) {
		p.line("%s %s = space[%s];", register(p.inst.DType), name, at)
		p.line("UNROLL for (int part = 1; part < %d; part++) %[2]s = op_add(%[2]s, space[part * %[3]d + %[4]s]);", f.meet(), name, f.rows*f.width(), at)
	}
	met("all", "of")
	if f.normed {
		met("power", fmt.Sprintf("first_of + %d", f.sets*f.strip()))
		p.line("all *= op_rsqrt(power / float(a.k%d) + a.eps);", slices.Index(p.normed, true))
	}
	if f.sets > 1 {
		met("rest", fmt.Sprintf("of + %d", f.strip()))
		p.line("all = op_add(all, rest);")
	}
	p.line("const %s i0 = column + e %% %d, i1 = %s;", p.index, f.strip(), f.row(fmt.Sprintf("e / %d", f.strip())))
	p.finishElement("all", first)
	p.line("}")
}
