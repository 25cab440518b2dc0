package kernel

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// Two thin products may read one matrix, one as its left and the other as its right operand: so do the
// gradients of an adapter's h and B read that of the layer's result.
//
//	y[m r] = x[m n]·b[n r]    z[s n] = h[s m]·x[m n]
//
// Memory limits them, so each part of x comes to threadgroup memory once and is multiplied both ways. A
// threadgroup has a strip of columns and a range of rows. It goes along the strip, 128 rows at a time, in
// parts of 64 columns that are loaded ahead. The parts of a strip are as far apart as there are strips: what
// threadgroups side by side read at one time lies side by side, so that all channels of the memory have work.
// Of a part each of eight simdgroups multiplies 16 rows by b, which stays in threadgroup memory, and h by 8
// columns. So sums of y are complete, as far as the strip goes, after each 128 rows; those of z, of all parts
// of the strip, stay in registers until the rows are done.
// Strips are parts of y, and ranges parts of z: parts.go says how these are added up.
const (
	twinRows    = 128
	twinColumns = 64
	twinThreads = 256
	mostStrip   = 256 // with more, a processor has no registers for two threadgroups
	twinStages  = 4   // parts of x in threadgroup memory
	mostRange   = 1536
	oneRange    = 1 << 19 // elements that a large GPU loads while what adds ranges up waits for one more
)

// twins are such products: y and z.
type twins struct {
	*text
	y, z        *product
	x, b, h     *backend.Input
	r, s        int // columns of y and rows of z, rounded up to blocks of the matrix units
	rows, parts int // of a range, and of a strip
}

// pairUp finds twins among products that do not need one another, and returns what is left.
func pairUp(g *backend.Group, list []*product, limits Limits) (pairs []*twins, rest []*product) {
	rest = slices.Clone(list)
	for _, y := range list {
		for _, z := range list {
			if t := twinsOf(g, y, z, limits); t != nil && slices.Contains(rest, y) && slices.Contains(rest, z) {
				pairs = append(pairs, t)
				rest = slices.DeleteFunc(rest, func(p *product) bool { return p == y || p == z })
			}
		}
	}
	cut(pairs, limits)
	return pairs, rest
}

// twinsOf returns nil if y and z are none, do not lie as pieces of 16 bytes are copied, or are so small that
// they are not cut into parts but one dispatch.
func twinsOf(g *backend.Group, y, z *product, limits Limits) *twins {
	operand := func(p *product, n int) *backend.Input {
		i, input := p.inst.Args[n].Input()
		if !input || len(p.inst.Args) != 2 || len(p.inst.Shape) != 2 || p.norm != nil || p.gate || len(gatedBy(g, p.number)) > 0 || p.space.wide {
			return nil
		}
		return &g.Inputs[i]
	}
	t := &twins{y: y, z: z, x: operand(y, 0), b: operand(y, 1), h: operand(z, 0)}
	if !limits.Warpgroups || limits.Threads < twinThreads || t.x == nil || t.b == nil || t.h == nil || y.inst.Args[0] != z.inst.Args[1] {
		return nil
	}
	dt, x, h := y.inst.DType, t.x.Layout, t.h.Layout
	thin := func(n int) bool { return n%8 == 0 && n <= mostThin }
	switch {
	case dt != dtype.F16 && dt != dtype.BF16, z.inst.DType != dt, t.x.DType != dt, t.h.DType != dt, t.b.DType != dt && t.b.DType != dtype.F32:
	case !thin(y.inst.Shape[1]), !thin(z.inst.Shape[0]), x.Shape[0] < twinRows, x.Shape[1] < 2*twinColumns, x.Shape[1]%8 != 0:
	case max(x.Shape[0], x.Shape[1]) < 2*leastSplit:
	case x.Stride[1] != 1, x.Stride[0]%8 != 0, x.Offset%8 != 0, h.Stride[0] != 1, h.Stride[1]%8 != 0, h.Offset%8 != 0:
	default:
		t.r, t.s = (y.inst.Shape[1]+15)/16*16, (z.inst.Shape[0]+15)/16*16
		return t
	}
	return nil
}

// cut chooses the ranges and strips of all twins: those with which the device is through first. A threadgroup
// takes as long as its part of x does, as 128 rows more for b and its sums of z, and as 96 columns for its
// sums of y. Each processor has two at once, of which one alone waits for its own steps.
func cut(list []*twins, limits Limits) {
	best, rows, columns := math.MaxInt, 0, 0
	try := func(r, c int) (groups, work int) {
		for _, t := range list {
			t.rows, t.parts = r, min(c, mostStrip*16/t.s, ceilPower(t.x.Layout.Shape[1]))/twinColumns
			groups += t.strips() * t.ranges()
			work += t.strips()*(t.x.Layout.Shape[0]+t.ranges()*128)*(t.strip()+96) + t.ranges()*oneRange
		}
		return groups, work
	}
	for r := mostRange; r >= twinRows; r -= twinRows {
		for c := mostStrip; c >= 2*twinColumns; c /= 2 {
			groups, work := try(r, c)
			if all := 2 * max(1, limits.Processors); groups%all > 0 {
				work += (all - groups%all) * (r + 128) * (c + 96)
			}
			if work <= best { // of as many ranges, equal ones
				best, rows, columns = work, r, c
			}
		}
	}
	try(rows, columns)
}

// strip is the number of columns of one.
func (t *twins) strip() int  { return t.parts * twinColumns }
func (t *twins) strips() int { return (t.x.Layout.Shape[1] + t.strip() - 1) / t.strip() }
func (t *twins) ranges() int { return (t.x.Layout.Shape[0] + t.rows - 1) / t.rows }

// stage is how many elements one takes: a part of x and, at the first of a strip, the columns of h that its
// rows are multiplied by.
func (t *twins) stage() int { return twinRows * (twinColumns + t.s) }

// pieces writes them down: what multiplies, and what adds parts up.
func (t *twins) pieces(k *Kernel) (part *piece, ends []*piece) {
	t.text = newText(t.y.g, false)
	t.input("x", t.y.inst.Args[0])
	t.input("b", t.y.inst.Args[1])
	t.input("h", t.z.inst.Args[0])
	t.y.parts, t.z.parts = t.strips(), t.ranges()
	for i, p := range []*product{t.y, t.z} {
		at, elements := k.Scratch, p.space.size()
		k.Scratch += (4*elements*p.parts + 63) &^ 63
		t.member("device float*", []string{"y", "z"}[i], Field{Kind: Scratch, Size: 8, At: at})
		ends = append(ends, p.joinParts(at, elements, nil))
	}
	t.constant("m", t.x.Layout.Shape[0])
	t.constant("n", t.x.Layout.Shape[1])
	t.constant("r", t.y.inst.Shape[1])
	t.constant("s", t.z.inst.Shape[0])
	t.constant("x_m", t.x.Layout.Stride[0])
	t.constant("b_n", t.b.Layout.Stride[0])
	t.constant("b_r", t.b.Layout.Stride[1])
	t.constant("h_m", t.h.Layout.Stride[1])
	t.constant("rows", t.rows)
	t.constant("strips", t.strips())
	t.write()
	return &piece{text: t.text, kind: "matmul_twins", of: "uint4", space: (t.r*t.strip() + twinStages*t.stage()) / 8, size: 16,
		groups: t.strips() * t.ranges(), threads: twinThreads}, ends
}

// write writes down what a threadgroup does.
func (t *twins) write() {
	typ, sums := memoryTypes[t.x.DType], t.parts/2*t.s/16
	t.line("const int me = int(at.x), side = int(simd), strip = int(group.x) %% a.strips, range = int(group.x) / a.strips;")
	t.line("const int column = strip * %d, apart = a.strips * %[1]d, row = range * a.rows, rounds = (min(a.rows, a.m - row) + %[2]d) / %[3]d;", twinColumns, twinRows-1, twinRows)
	t.line("threadgroup %s* const right = (threadgroup %[1]s*)space;", typ)
	t.line("threadgroup %s* const stages = right + %d;", typ, t.r*t.strip())
	t.line("queued_copies copies;")
	t.line("for (int next = 0; next < %d; next++) {", twinStages-1)
	t.fetch("0")
	t.line("}")
	t.line("UNROLL for (int q = 0; q < %d; q++) {", t.r*t.strip()/twinThreads)
	t.line("const int e = me + q * %d, line = e / %d, beside = e %% %[2]d, n = column + beside / %[3]d * apart + beside %% %[3]d;", twinThreads, t.strip(), twinColumns)
	t.line("right[woven<%s, %d>(line, beside)] = %[1]s(line < a.r && n < a.n ? float(loaded(a.b[n * a.b_n + line * a.b_r])) : 0.0f);", typ, t.strip())
	t.line("}")
	t.line("sum_fragment z[%d];", sums)
	t.line("UNROLL for (int i = 0; i < %d; i++) clear(z[i]);", sums)
	t.line("for (int round = 0; round < rounds; round++) {")
	t.line("sum_fragment y[%d];", t.r/16)
	t.line("UNROLL for (int j = 0; j < %d; j++) clear(y[j]);", t.r/16)
	t.line("left_fragment<%s> h[%d];", typ, t.s/2)
	t.line("UNROLL for (int part = 0; part < %d; part++) {", t.parts)
	t.line("copies.finish<%d>();", twinStages-2)
	t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	t.line("const int next = part + %d;", twinStages-1)
	t.fetch("round")
	t.multiply(typ)
	t.line("}")
	t.line("UNROLL for (int e = 0; e < %d; e += 2) {", t.r/2)
	t.line("const int i0 = e / 8 * 16 + column_of(y[0], lane, e %% 8), i1 = row + round * %d + side * 16 + row_of(y[0], lane, e %% 8);", twinRows)
	t.store("y", "a.r", "a.m", "strip")
	t.close(2)
	t.line("UNROLL for (int e = 0; e < %d; e += 2) {", 8*sums)
	t.line("const int part = e / %d * 2 + e / 4 %% 2;", t.s/2)
	t.line("const int i0 = column + part * apart + side * 8 + column_of(z[0], lane, e %% 4), i1 = e / 8 %% %d * 16 + row_of(z[0], lane, e %% 4);", t.s/16)
	t.store("z", "a.n", "a.s", "range")
	t.line("}")
}

// multiply multiplies a part. The sums of z have two parts' columns side by side.
func (t *twins) multiply(typ string) {
	t.line("threadgroup const %s* tile = stages + %s;", typ, t.place("round", "part"))
	t.line("if (part == 0) {")
	t.line("UNROLL for (int i = 0; i < %d; i++) load_left<%d, true>(h[i], tile + %d, i / 8 * 16, i %% 8 * 16);", t.s/2, t.s, twinRows*twinColumns)
	t.line("}")
	t.line("UNROLL for (int d = 0; d < %d; d += 16) {", twinColumns)
	t.line("left_fragment<%s> x;", typ)
	t.line("load_left<%d, false>(x, tile, side * 16, d);", twinColumns)
	t.line("UNROLL for (int j = 0; j < %d; j++) {", t.r/16)
	t.line("right_fragment<%s> b;", typ)
	t.line("load_right<%d, true>(b, right, part * %d + d, j * 16);", t.strip(), twinColumns)
	t.line("multiply(y[j], x, b);")
	t.close(2)
	t.line("UNROLL for (int d = 0; d < %d; d += 32) {", twinRows)
	t.line("right_fragment<%s> x;", typ)
	t.line("load_narrow<%d>(x, tile, d, side * 8);", twinColumns)
	t.line("UNROLL for (int i = 0; i < %d; i++) multiply_narrow(z[part / 2 * %[1]d + i], part %% 2, h[i * 8 + d / 16], h[i * 8 + d / 16 + 1], x);", t.s/16)
	t.line("}")
}

// store stores elements e and e+1 of a thread's sums, at i0 and i1 of a part of so many columns and rows.
func (t *twins) store(name, columns, rows, part string) {
	t.line("if (i0 < %[2]s && i1 < %[3]s) *(device float2*)(a.%[1]s + ((%[4]s * %[3]s + i1) * %[2]s + i0)) = float2(element(%[1]s[e / 8], e %% 8), element(%[1]s[e / 8], e %% 8 + 1));", name, columns, rows, part)
}

// place is where a part lies, counted from a round's first on. It does not depend on the round if that has
// all stages.
func (t *twins) place(round, part string) string {
	if t.parts%twinStages == 0 {
		round = "0"
	}
	return fmt.Sprintf("(%s * %d + %s) %% %d * %d", round, t.parts, part, twinStages, t.stage())
}

// fetch loads part `next`, counted from a round's first on.
func (t *twins) fetch(round string) {
	typ := memoryTypes[t.x.DType]
	t.line("if (%s + next / %d < rounds) {", round, t.parts)
	t.line("threadgroup %s* to = stages + %s;", typ, t.place(round, "next"))
	t.line("const int top = row + (%s + next / %d) * %d, from = column + next %% %[2]d * apart;", round, t.parts, twinRows)
	copies := func(name string, wide int, from, end string) {
		t.line("UNROLL for (int q = 0; q < %d; q++) {", twinRows*wide/8/twinThreads)
		t.line("const int line = me / %d + q * %d, beside = me %% %[1]d * 8;", wide/8, twinThreads/(wide/8))
		t.line("copies.take(to + woven<%s, %d>(line, beside), a.%s + ((top + line) * a.%[3]s_m + %[4]s beside), top + line < a.m ? min(%[5]s - beside, 8) : 0);", typ, wide, name, from, end)
		t.line("}")
	}
	copies("x", twinColumns, "from +", "a.n - from")
	t.line("if (next %% %d == 0) {", t.parts)
	t.line("to += %d;", twinRows*twinColumns)
	copies("h", t.s, "", "a.s")
	t.close(2)
	t.line("copies.commit();")
}
