package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Products with short inner axes, as h·B of an adapter, are all result: memory limits them, and of a tile's
// way through threadgroup memory the instructions cost more than the memory's time. So a simdgroup keeps the
// right operand of its columns in registers, goes down its rows, whose left operand it reads where it lies,
// and stores sums from the registers where the matrix units leave them. There a thread has pairs of
// neighbouring columns; if these change places, it has 16 bytes of a row, beside those of the next thread:
//
//	element 2t+c of half h of block j is column 8t + 4j + 2h + c of 16 bits, 16j + 4t + 2h + c of F32

// short says whether this is such a product: of a left operand of 16 bits and right ones that are rounded to
// that, adapters' weights.
func (p *product) short() bool {
	if t := &p.tile; t.by != byFragments || t.warpgroups || t.wide != 2 || p.thin() || p.parts > 1 || len(p.weights) > 0 {
		return false
	}
	for n, inner := range p.inner {
		if inner > mostThin || !p.rounds(n) || p.memoryType(2*n) != memoryTypes[p.inst.DType] || !p.side(2*n, innerAxis, 2) {
			return false
		}
	}
	return p.endsBy(len(p.g.Inputs)+len(p.inst.Args), 4)
}

// writeShort writes it down.
func (p *product) writeShort(first int) {
	t, as := &p.tile, memoryTypes[p.inst.DType]
	apart := 16 // columns from a thread's first block to its second
	if p.halves(first) && p.endsBy(first, 8) {
		p.each, apart = 8, 4
	}
	p.ownTile()
	p.line("const int down = int(simd) / %d * %d, right = int(simd) %% %[1]d * %[3]d;", t.across, t.tall()*t.high, t.broad())
	steps := 0
	for _, inner := range p.inner {
		steps += (inner + 15) / 16
	}
	p.line("right_fragment<%s> r[%d];", as, 2*steps)
	p.eachStep(func(n, step, deep int) {
		p.line("UNROLL for (int e = 0; e < 8; e++) {")
		p.line("const %s i0 = min(column + right + int(lane) / 8 * %d + e / 4 * %d + e %% 4 / 2 * 2 + int(lane) / 4 %% 2, a.n0 - 1);", p.index, p.each, apart)
		p.line("float v[2];")
		p.line("UNROLL for (int c = 0; c < 2; c++) {")
		p.line("const int deep = %d + int(lane) %% 4 * 2 + e %% 2 * 8 + c;", deep)
		p.line("v[c] = %s ? %s : 0.0f;", p.reaches(n, deep), p.operandElement(2*n+1))
		p.line("}")
		p.line("r[%d + e / 4].part[e %% 4] = rounded_pair<%s>(v[0], v[1]);", 2*step, as)
		p.line("}")
	})
	p.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	p.line("left_fragment<%s> l[%d];", as, steps)
	p.eachStep(func(n, step, deep int) {
		p.line("UNROLL for (int e = 0; e < 4; e++) {")
		p.line("const %s i1 = min(row + down + 16 * i + int(lane) / 4 + e %% 2 * 8, a.n1 - 1);", p.index)
		p.line("const int deep = %d + int(lane) %% 4 * 2 + e / 2 * 8;", deep)
		p.line("float v[2] = {};")
		p.line("if (%s) load2(a.%s + (%s), v);", p.reaches(n, deep), p.operand(2*n), p.operandIndex(2*n))
		p.line("l[%d].part[e] = rounded_pair<%s>(v[0], v[1]);", step, as)
		p.line("}")
	})
	turns, ahead := 16/p.each, map[int]string{}
	place := func() {
		p.line("const %s i0 = column + right + int(lane) %% 4 * %d + q %% %d * %d, i1 = row + down + 16 * i + int(lane) / 4 + q / %[3]d * 8;", p.index, p.each, turns/2, apart)
	}
	if p.declareAhead(turns, ahead); len(ahead) > 0 {
		p.line("UNROLL for (int q = 0; q < %d; q++) {", turns)
		place()
		p.loadEarly(ahead)
		p.line("}")
	}
	p.line("sum_fragment sum[2];")
	p.line("UNROLL for (int j = 0; j < 2; j++) {")
	p.line("clear(sum[j]);")
	p.line("UNROLL for (int s = 0; s < %d; s++) multiply(sum[j], l[s], r[2 * s + j]);", steps)
	p.line("}")
	p.line("UNROLL for (int q = 0; q < %d; q++) {", turns)
	place()
	k := fmt.Sprintf("(q %% %d * %d + int(k))", turns/2, p.each)
	p.finishVector(fmt.Sprintf("element(sum[%s / 4], %[1]s / 2 %% 2 * 4 + q / %d * 2 + %[1]s %% 2)", k, turns/2), first, ahead)
	p.close(2)
}

// eachStep calls f for each 16 places of a pair's inner axis, from deep on.
func (p *product) eachStep(f func(pair, step, deep int)) {
	step := 0
	for n, inner := range p.inner {
		for deep := 0; deep < inner; deep += 16 {
			f(n, step, deep)
			step++
		}
	}
}

// reaches is the condition under which a pair's inner axis goes on at deep, one of 16 places that begin at
// from.
func (p *product) reaches(pair, from int) string {
	if from+16 <= p.inner[pair] {
		return "true"
	}
	return fmt.Sprintf("deep < a.k%d", pair)
}

// halves says whether all that the epilogue reads and stores by vectors has 16 bits.
func (p *product) halves(first int) bool {
	half := func(dt dtype.Type) bool { return dt == dtype.F16 || dt == dtype.BF16 }
	for i, need := range p.needed() {
		if need && p.vectors(i) && !half(p.g.Inputs[i].DType) {
			return false
		}
	}
	for _, r := range p.results {
		if !half(r.dtype) {
			return false
		}
	}
	return true
}
