package kernel

import "fmt"

// Products of 9 to 16 rows by NVIDIA's matrix units: y[m n] = Σ a[m k]·b[k n] of f16 or bf16.
//
// A threadgroup has a strip of 32 columns, and each of its simdgroups a part of the inner axis: 64 places of
// it at a time, for which a thread has 24 loads of 8 bytes under way. There are no tiles in threadgroup
// memory, because no element of b is read twice. A thread loads four neighbours of the inner axis, where the
// matrix units want two and two that are eight apart: the places of the inner axis may change among
// themselves, equally in both operands, and the columns of a strip, too. A strip that is 4096 deep moves 256
// KB for 4 M operations, 16 a byte: memory is the limit, and less so the left operand, which each strip reads
// again from the caches.
const (
	fragmentStrip   = 32
	fragmentSteps   = 4   // blocks of 16 places of the inner axis that are loaded at once
	fragmentThreads = 512 // as many as have room for their registers twice
	fragmentMeet    = 8   // simdgroups whose sums have room in threadgroup memory
)

// fitsFragments says whether pair main lies so that fragments can be loaded from memory, and the other pairs
// are short ones whose left operand is in threadgroup memory.
func (p *product) fitsFragments(main int) bool {
	if cell := p.cellOf(main); cell != "half" && cell != "bfloat" {
		return false
	}
	for n, k := range p.inner {
		if n != main && (!p.isInside(2*n) || k > mostInside) {
			return false
		}
	}
	return p.fours(2*main, innerAxis) && (p.fours(2*main+1, innerAxis) || p.fours(2*main+1, 0))
}

// addFragments multiplies the longest pair, and leaves the sums of each simdgroup in threadgroup memory.
func (p *product) addFragments() {
	f, main := p.few, p.longest()
	left, right, cell := p.operand(2*main), p.operand(2*main+1), p.cellOf(main)
	leftPlace, rightPlace := &p.space.places[len(p.g.Inputs)+2*main], &p.space.places[len(p.g.Inputs)+2*main+1]
	p.line("const int y = int(lane) / 4, x = int(lane) %% 4;")
	p.line("sum_fragment sum[2];")
	p.line("UNROLL for (int j = 0; j < 2; j++) clear(sum[j]);")
	p.line("for (%s start = 0; start < a.k%d; start += %d) {", p.index, main, 16*fragmentSteps*f.simds())
	p.line("const %s k = start + int(simd) * %d + 4 * x;", p.index, 16*fragmentSteps)
	p.line("uint2 l[%d], r[%d];", 2*fragmentSteps, 4*fragmentSteps)
	p.line("UNROLL for (int s = 0; s < %d; s++) {", fragmentSteps)
	p.line("const %s near = min(k + 16 * s, a.k%d - 4);", p.index, main)
	p.line("UNROLL for (int q = 0; q < 2; q++) {")
	p.line("const %[1]s i1 = min(%[1]s(y + 8 * q), a.n1 - 1), deep = near;", p.index)
	p.line("l[2 * s + q] = *(device const uint2*)(a.%s + (%s + deep * a.%s_k));", left, p.at(left, leftPlace), left)
	p.line("}")
	p.line("UNROLL for (int q = 0; q < 4; q++) {")
	if f.down {
		p.line("const %s i0 = min(column + 8 * q + y, a.n0 - 1), deep = near;", p.index)
	} else {
		p.line("const %s i0 = min(column + 4 * y, a.n0 - 4), deep = near + q;", p.index)
	}
	p.line("r[4 * s + q] = *(device const uint2*)(a.%s + (%s + deep * a.%s_k));", right, p.at(right, rightPlace), right)
	p.line("}")
	p.line("}")
	p.line("simdgroup_barrier(mem_flags::mem_none);") // all loads are under way before the first product
	p.line("UNROLL for (int s = 0; s < %d; s++) {", fragmentSteps)
	p.line("if (k + 16 * s >= a.k%d) {", main)
	p.line("UNROLL for (int q = 0; q < 2; q++) l[2 * s + q] = uint2(0);")
	p.line("UNROLL for (int q = 0; q < 4; q++) r[4 * s + q] = uint2(0);")
	p.line("}")
	p.line("left_fragment<%s> rows;", cell)
	p.line("right_fragment<%s> columns[2];", cell)
	p.line("rows_of(rows, l[2 * s], l[2 * s + 1]);")
	way := "columns_across"
	if f.down {
		way = "columns_down"
	}
	p.line("%s(columns, r[4 * s], r[4 * s + 1], r[4 * s + 2], r[4 * s + 3]);", way)
	p.line("UNROLL for (int j = 0; j < 2; j++) multiply(sum[j], rows, columns[j]);")
	p.line("}")
	p.line("}")
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.meetFragments()
}

// meetFragments leaves the sums of the simdgroups in threadgroup memory. Where there is room for those of
// half of them, the other half adds its own.
func (p *product) meetFragments() {
	f := p.few
	block, among := "(2 * j + e / 4)", "(2 * x + e % 2)"
	at := "4 * " + among + " + " + block
	if f.down {
		at = "8 * " + block + " + " + among
	}
	store := func(which, sum string) {
		p.line("if (%s) {", which)
		p.line("UNROLL for (int j = 0; j < 2; j++) {")
		p.line("UNROLL for (int e = 0; e < 8; e++) {")
		p.line("threadgroup float& to = space[(int(simd) %% %d * %d + row_of(sum[j], lane, e)) * %d + %s];", f.meet(), f.rows, f.strip(), at)
		p.line("to = %s;", sum)
		p.line("}")
		p.line("}")
		p.line("}")
	}
	store(fmt.Sprintf("int(simd) < %d", f.meet()), "element(sum[j], e)")
	if f.simds() > f.meet() {
		p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		store(fmt.Sprintf("int(simd) >= %d", f.meet()), "op_add(to, element(sum[j], e))")
	}
}

// addShort adds the short pairs to an element: the loads of up to 16 places are under way at once.
func (p *product) addShort() {
	for n := range p.inner {
		if n == p.longest() {
			continue
		}
		p.line("{")
		p.line("const %s near0 = min(i0, a.n0 - 1), near1 = min(i1, a.n1 - 1);", p.index)
		p.line("for (%s start = 0; start < a.k%d; start += 16) {", p.index, n)
		p.line("const %s i0 = near0, i1 = near1;", p.index)
		p.line("float v[16];")
		p.line("UNROLL for (int d = 0; d < 16; d++) {")
		p.line("const %s deep = min(start + d, a.k%d - 1);", p.index, n)
		p.line("v[d] = float(%s);", p.operandElement(2*n+1))
		p.line("}")
		p.line("UNROLL for (int d = 0; d < 16; d++) {")
		p.line("const %s deep = start + d;", p.index)
		p.line("if (deep < a.k%d) all = op_fma(float(%s), v[d], all);", n, p.operandElement(2*n))
		p.line("}")
		p.line("}")
		p.line("}")
	}
}
