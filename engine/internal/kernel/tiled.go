package kernel

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Products by tiles: y[m n] = epilogue(Σ a[m k]·b[k n] + Σ a'[m k']·b'[k' n] + …). tile.go says which tiles
// there are, and why.
//
// A group's way through a tile: for each pair of operands, parts of 64 bytes of the inner axis are copied
// to threadgroup memory, where one barrier (with two stages) or two stand between a part and the next; then
// the sums go to that memory, 16 rows of each simdgroup at a time, where threads take neighbouring elements
// through the epilogue and store them side by side.

// A side is a product's left or right operand while it is read into threadgroup memory: as lines along the
// inner axis of a left operand, and along the columns of a right one. A turned one has them the other way:
// lines lie as they lie in the operand's memory, where that has lines.
type side struct {
	n      int // of the product's operands
	cell   string
	size   int // bytes of a cell
	depth  int // cells of the inner axis that are in threadgroup memory at a time
	turned bool
	paved  bool // it lies as warpgroups read it
	reads  reads
	coded  *coded // of words of codes; else nil
}

// reads is how threads read an operand.
type reads uint8

const (
	singly   reads = iota
	byFours        // four elements at once
	byPieces       // 16 bytes, copied as they are
)

// sideOf finds out how operand n is read into cells, so many of the inner axis at a time.
func (p *product) sideOf(n int, cell string, depth int) side {
	o := side{n: n, cell: cell, size: p.sizeOf(cell), depth: depth}
	if q := weight(p.g, p.inst.Args[n]); q != nil {
		if p.words(n) {
			o.inCodes(&coded{text: p.text, t: &p.tile, q: ir.QuantOf(&q.Attr), name: p.operand(n), extra: p.extra(n), all: "a.n0", first: "0"})
		}
		return o
	}
	place, along, other := p.operandPlace(n), p.strideA[n/2], 1
	length, across := p.inner[n/2], p.space.lens[1]
	if n%2 == 1 {
		along, other = place.strides[0], 0
		length, across = p.space.lens[0], p.inner[n/2]
	}
	apart := place.strides[other]
	if n%2 == 1 {
		apart = p.strideB[n/2]
	}
	if o.turned = along != 1 && apart == 1; o.turned {
		along, apart, length = apart, along, across
	}
	aligned := func(by int) bool {
		return along == 1 && apart%by == 0 && place.offset%by == 0 && length%by == 0 && !slices.ContainsFunc(place.strides[2:], func(s int) bool { return s%by != 0 })
	}
	switch typ := p.memoryType(n); {
	case typ == cell && o.size <= 4 && aligned(16/o.size):
		o.reads = byPieces
	case o.size <= 4 && aligned(4):
		o.reads = byFours
	}
	return o
}

// sizeOf is the number of bytes of a cell.
func (p *product) sizeOf(cell string) int {
	switch cell {
	case "half", "bfloat":
		return 2
	case "float":
		return 4
	}
	return max(p.inst.DType.Size(), 1)
}

// memoryType is the type of operand n in memory, as the texts call it. That of a quantised weight is a
// float: a scale times a code has more bits than the type that it stands for.
func (p *product) memoryType(n int) string {
	v := p.inst.Args[n]
	if i, input := v.Input(); input {
		return memoryTypes[p.g.Inputs[i].DType]
	} else if r, ok := p.stored[v.Index]; ok {
		return memoryTypes[r.dtype]
	}
	return register(p.inst.DType)
}

// rests says of both operands of a pair whether they have more bits than TF32.
func (p *product) rests(pair int) (left, right bool) {
	more := func(typ string) bool { return typ != "half" && typ != "bfloat" }
	return more(p.memoryType(2 * pair)), more(p.memoryType(2*pair + 1))
}

// cellOf is the type in which both operands of a pair can stand in threadgroup memory as they are: f16 or
// bf16 if both are that, else the type that is computed with.
func (p *product) cellOf(pair int) string {
	a, b := p.memoryType(2*pair), p.memoryType(2*pair+1)
	if p.inst.DType.Float() && a == b && (a == "half" || a == "bfloat") {
		return a
	}
	return register(p.inst.DType)
}

// longest is the pair with the longest inner axis.
func (p *product) longest() int {
	main := 0
	for n, k := range p.inner {
		if k > p.inner[main] {
			main = n
		}
	}
	return main
}

// pairOf returns the operands of a pair, and the type in which they are multiplied. Of the inner axis 64
// bytes are in threadgroup memory at a time, or 128 bytes of that type if the product is thin or paved.
func (p *product) pairOf(pair int) (left, right side, as string) {
	as = register(p.inst.DType)
	if p.tile.by != byThreads {
		as = p.cellOf(pair)
	}
	cells := [2]string{as, as}
	if p.rounds(pair) {
		as = memoryTypes[p.inst.DType]
		cells = [2]string{p.memoryType(2 * pair), p.memoryType(2*pair + 1)}
	}
	depth := 64 / max(p.sizeOf(cells[0]), p.sizeOf(cells[1]))
	if p.thin() {
		depth = 128 / p.sizeOf(as)
	}
	left, right = p.sideOf(2*pair, cells[0], depth), p.sideOf(2*pair+1, cells[1], depth)
	p.tile.pave(&left, &right)
	return left, right, as
}

// rounds says whether an operand of F32 is rounded to the product's type of 16 bits, which the other one has:
// an adapter's weight. It lies in threadgroup memory as it is, and is rounded on the way to the matrix units,
// which multiply what has 16 bits four times as fast as F32 in parts. Libraries get it rounded, too.
func (p *product) rounds(pair int) bool {
	if dt := p.inst.DType; p.tile.by != byFragments || dt != dtype.F16 && dt != dtype.BF16 {
		return false
	}
	full, half := 0, 0
	for n := 2 * pair; n < 2*pair+2; n++ {
		i, input := p.inst.Args[n].Input()
		switch {
		case p.memoryType(n) == memoryTypes[p.inst.DType]:
			half++
		case input && p.g.Inputs[i].DType == dtype.F32:
			full++
		}
	}
	return full == 1 && half == 1
}

// thin says whether memory limits the product, which matrix units compute.
func (p *product) thin() bool { return p.tile.thin(p.space.lens[1], p.space.lens[0]) }

// writeTiled writes the product down, after all is declared.
func (p *product) writeTiled(first int) {
	if p.short() {
		p.writeShort(first)
		return
	}
	p.begin()
	for pair := range p.inner {
		p.multiply(pair)
	}
	if p.tile.shares > 0 {
		p.endPart()
		return
	}
	p.end(first)
}

// strip is how many rows of tiles are gone through at a time, column by column, so that what groups side by
// side read fits into a cache.
const strip = 8

// begin takes the tile's threadgroup memory, finds the tile, and clears the sums.
func (p *product) begin() {
	t, typ := &p.tile, register(p.inst.DType)
	bytes := 0
	for pair := range p.inner {
		left, right, _ := p.pairOf(pair)
		bytes = max(bytes, t.stage(left, right))
	}
	if p.thin() {
		t.stages = max(2, min(mostStages, max(bytesAhead, p.room)/bytes))
	}
	bytes = max(t.stages*bytes, t.ends(p.sizeOf(typ)), t.allEnds())
	p.shared = (bytes + 15) / 16
	p.ownTile()
	t.clear(p.text, typ)
}

// ownTile writes down which tile the threadgroup computes.
func (p *product) ownTile() {
	t := &p.tile
	p.line("%[1]s left = %[1]s(group.x);", p.index)
	p.line("const int tile = int(left %% (a.across * a.down)), first = tile / (%d * int(a.across)) * %d;", strip, strip)
	p.line("left /= a.across * a.down;")
	p.line("const int high = min(int(a.down) - first, %d), among = tile %% (%d * int(a.across));", strip, strip)
	p.line("const %[1]s row = %[1]s(first + among %% high) * %[2]d, column = %[1]s(among / high) * %[3]d;", p.index, t.rows(), t.columns())
	if p.parts > 1 {
		p.line("const int part = int(left %% a.parts);")
		p.line("left /= a.parts;")
		p.line("const long batch = long(left);")
	}
	p.batch()
}

// multiply adds a pair to the sums.
func (p *product) multiply(pair int) {
	t := &p.tile
	left, right, as := p.pairOf(pair)
	from, to := "0", fmt.Sprintf("a.k%d", pair)
	if p.parts > 1 && pair == p.longest() {
		p.line("const %[1]s begin = %[1]s(part) * a.length, end = min(begin + a.length, %s);", p.index, to)
		from, to = "begin", "end"
	} else if p.parts > 1 {
		to = fmt.Sprintf("(part == 0 ? %s : %s(0))", to, p.index)
	}
	whole := fmt.Sprintf("row + %d <= a.n1 && column + %d <= a.n0", t.rows(), t.columns())
	fetch := func(whole bool) {
		p.fetch(left, 0, to, whole)
		for set := range max(t.sets, 1) {
			p.fetch(right, set, to, whole)
		}
	}
	t.steps(p.text, from, to, left, right, whole, fetch, func() { p.add(pair, left, right, as) })
}

// fetch loads the part of an operand from `next` of the inner axis on, up to the place `to`. A right operand
// of another set of columns lies as the first does.
func (p *product) fetch(o side, set int, to string, whole bool) {
	name := p.operand(o.n)
	if set > 0 {
		name = p.operand(2*set + 1)
	}
	f := source{side: o, name: "i1", first: "row", limit: "a.n1", from: fmt.Sprintf("a.%s + (%s)", name, p.operandIndex(o.n)),
		element: p.operandElement(o.n), typ: register(p.inst.DType), zero: "0", set: set}
	if o.n%2 == 1 {
		f.name, f.first, f.limit = "i0", "column", "a.n0"
	}
	p.tile.fetch(p.text, &f, to, whole)
}

// add multiplies what the tiles hold.
func (p *product) add(pair int, left, right side, as string) {
	times := "multiply"
	if p.tile.by == byFragments && as == "float" {
		times = "multiply_tf32"
		if l, r := p.rests(pair); !p.g.TF32 {
			times = fmt.Sprintf("multiply_floats<%v, %v>", l, r)
		}
	}
	p.tile.add(p.text, left, right, as, times, p.spread())
}

// spread says whether a thread's columns are eight apart, because the right operand has lines along the
// inner axis: then those of neighbouring threads stand in neighbouring lines. Else four of them lie side by
// side.
func (p *product) spread() bool {
	_, right, _ := p.pairOf(p.longest())
	return right.turned
}

// mostTurns is how many times four elements of an input of the epilogue a thread holds while it waits.
const mostTurns = 4

// end takes the sums to threadgroup memory, as many rows of each simdgroup at a time as make a block, and
// ends them there: neighbouring threads have neighbouring elements then, four each where all that the
// epilogue reads and stores lies so.
func (p *product) end(first int) {
	t, typ := &p.tile, register(p.inst.DType)
	per := 1
	if p.endsBy(first, p.each) {
		per = p.each
	}
	wide := t.columns() / per
	ahead := map[int]string{} // inputs of the epilogue, which threads load before they wait for the sums
	each := func(body func()) {
		count := t.down * t.tall() * wide
		if len(ahead) > 0 {
			p.line("UNROLL for (int q = 0; q < %d; q++) {", count/t.threads())
			p.line("const int e = me + q * %d;", t.threads())
		} else {
			p.line("for (int e = me; e < %d; e += %d) {", count, t.threads())
		}
		p.line("const int line = e / %d, beside = e %% %d * %d;", wide, wide, per)
		p.line("const %s i0 = column + beside, i1 = row + line / %d * %d + line %% %[2]d + i * %[2]d;", p.index, t.tall(), t.tall()*t.high)
		body()
		p.line("}")
	}
	t.putSums(p.text, typ, p.spread(), func() {
		turns := t.down * t.tall() * wide / t.threads()
		if per == 1 || p.parts > 1 || turns > mostTurns || turns*t.threads()*4 != t.down*t.tall()*t.columns() {
			return
		}
		if p.declareAhead(turns, ahead); len(ahead) > 0 {
			each(func() { p.loadEarly(ahead) })
		}
	})
	at := fmt.Sprintf("sums[line * %d + beside", t.columns()+endPad)
	each(func() {
		switch {
		case p.parts > 1:
			p.line("if (i0 < a.n0 && i1 < a.n1) {")
			p.line("const long to = ((long(part) * a.batches + batch) * a.n1 + i1) * a.n0 + i0;")
			if per == 4 {
				p.line("float v[4];")
				p.line("UNROLL for (int d = 0; d < 4; d++) v[d] = %s + d];", at)
				p.line("store4(a.partial + to, v);")
			} else {
				p.line("a.partial[to] = %s];", at)
			}
			p.line("}")
		case per == 4:
			p.finishVector(at+" + k]", first, ahead)
		default:
			p.finishElement(at+"]", first)
		}
	})
	p.close(1)
}

// declareAhead declares room for the vectors of the epilogue's inputs, for so many turns q of a thread.
func (p *product) declareAhead(turns int, ahead map[int]string) {
	for i, need := range p.needed() {
		if need && p.vectors(i) {
			ahead[i] = fmt.Sprintf("ahead%d[q]", i)
			p.line("%s ahead%d[%d][%d];", register(p.g.Inputs[i].DType), i, turns, p.each)
		}
	}
}

// loadEarly loads those of turn q.
func (p *product) loadEarly(ahead map[int]string) {
	for _, i := range slices.Sorted(maps.Keys(ahead)) {
		p.line("if (i0 < a.n0 && i1 < a.n1) load%d(a.%s + (%s), %s);", p.each, p.inputName(i), p.at(p.inputName(i), &p.space.places[i]), ahead[i])
	}
}

// vectors says whether an input of the epilogue has elements of a row side by side.
func (p *product) vectors(i int) bool {
	return !isNumber(p.g.Inputs[i]) && p.space.places[i].strides[0] == 1
}

// endsBy says whether so many elements of a row can be ended at once.
func (p *product) endsBy(first, count int) bool {
	if p.space.lens[0]%count != 0 || p.inst.DType.Size() > 4 {
		return false
	}
	if p.parts > 1 {
		return true
	}
	aligned := func(l *place) bool {
		return l.strides[0] == 0 || l.strides[0] == 1 && l.offset%count == 0 && !slices.ContainsFunc(l.strides[1:], func(s int) bool { return s%count != 0 })
	}
	for i, need := range p.needed() {
		if need && !isNumber(p.g.Inputs[i]) && !aligned(&p.space.places[i]) {
			return false
		}
	}
	for i, r := range p.results {
		if l := &p.space.places[first+i]; r.buf == inThreadgroup || l.strides[0] != 1 || !aligned(l) {
			return false
		}
	}
	return true
}

// finishVector computes the epilogue of p.each elements from i0 on; sum is that of element k of them. What
// was loaded ahead has a name already.
func (p *product) finishVector(sum string, first int, ahead map[int]string) {
	needed := p.needed()
	for i := range ahead {
		needed[i] = false
	}
	p.line("if (i0 < a.n0 && i1 < a.n1) {")
	p.loadAll(needed, true)
	for i, name := range ahead {
		p.names[i], p.vector[i] = name, true
	}
	for i, r := range p.results {
		p.line("%s y%d[%d];", register(p.g.Type(r.value).DType), i, p.each)
	}
	p.line("UNROLL for (uint k = 0; k < %d; k++) {", p.each)
	p.line("const %s %s = %s;", register(p.inst.DType), p.valueName(p.number), sum)
	p.computeAll(p.after)
	for i, r := range p.results {
		p.line("y%d[k] = %s;", i, p.value(r.value))
	}
	p.line("}")
	for i := range p.results {
		p.storeVector("", i, &p.space.places[first+i])
	}
	p.line("}")
}
