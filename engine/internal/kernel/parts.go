package kernel

import (
	"fmt"
	"slices"
)

// Products of few tiles and a long inner axis, as the gradients of weights, would leave processors idle. So
// several threadgroups share a tile: each takes a part of the inner axis and stores its sums in the
// workspace; a second dispatch adds the parts up, in order, and computes the epilogue. Which part takes
// what follows from the shape and the device alone, so equal work gives equal bits.
//
// A part costs 8 bytes an element, stored and loaded. So it is at least leastSplit long: its tiles then
// read 8 times as much. Where tiles fill the device it is for time that a product is cut: those of a thin
// one, which are loaded far ahead, take a step after the other, and a deep one would end long after those
// beside it. On an H200 leastDeep of the inner axis last as long as a second dispatch.
const (
	leastSplit = 256
	leastDeep  = 1024
	mostSplit  = 16

	partsAtOnce = 8 // that a thread loads before it adds them up
)

// partsFor chooses the number of parts of a product: as many as let each processor have two threadgroups, or
// four if all are thin, which have more loads under way then; unless tiles fill the device: its own, and
// those of products beside it, so many in all.
func (p *product) partsFor(all int, limits Limits) int {
	tiles, deep := p.groups(), p.inner[p.longest()]
	switch {
	case !p.inst.DType.Float(), all == tiles && !p.thin() && p.fills(all, limits):
		return 1
	case p.fills(all, limits):
		return max(1, min(8*limits.Processors/max(tiles, 1), deep/leastDeep, mostSplit))
	}
	parts := 2 * limits.Processors / max(tiles, 1)
	if p.thin() {
		parts = max(parts, 4*limits.Processors/max(all, 1))
	}
	return max(1, min(parts, deep/leastSplit, mostSplit))
}

// fills says whether so many tiles keep the device busy: thin ones need some for most processors only.
func (p *product) fills(tiles int, limits Limits) bool {
	if p.thin() {
		return tiles >= limits.Processors*3/4
	}
	return tiles >= limits.Processors
}

// mostShared is how many blocks of 16 columns a left operand is multiplied by at once.
const mostShared = 4

// shareLeft lets thin products that have a left operand in common, as those of the adapters of q, k and v,
// read it once: the first of them computes the parts of all.
func shareLeft(list []*product) (first []*product) {
	for _, p := range list {
		i := slices.IndexFunc(first, func(o *product) bool {
			return (len(o.sharing)+2)*o.tile.wide <= mostShared && o.sharesLeft(p)
		})
		if i < 0 {
			first = append(first, p)
		} else {
			first[i].sharing = append(first[i].sharing, p)
		}
	}
	return first
}

// sharesLeft says whether two thin products have the same left operand, and right ones that lie alike.
func (p *product) sharesLeft(q *product) bool {
	if p.few != nil || q.few != nil || p.tile != q.tile || !p.thin() || p.space.lens[0] > mostThin || len(p.space.lens) > 2 ||
		len(p.inst.Args) > 2 || len(q.inst.Args) > 2 || p.inst.Args[0] != q.inst.Args[0] || !slices.Equal(p.space.lens, q.space.lens) {
		return false
	}
	_, input := q.inst.Args[1].Input()
	left, right, as := p.pairOf(0)
	other, beside, same := q.pairOf(0)
	n := len(p.g.Inputs) + 1
	return input && right.reads != singly && right.coded == nil && left == other && right == beside && as == same &&
		p.strideB[0] == q.strideB[0] && slices.Equal(p.space.places[n].strides, q.space.places[n].strides)
}

// inParts writes down the pieces of a product in parts, and of those that share its left operand.
func (p *product) inParts(k *Kernel) (part *piece, ends []*piece) {
	at, elements, parts := k.Scratch, p.space.size(), p.parts
	all := append([]*product{p}, p.sharing...)
	k.Scratch += (4*elements*parts*len(all) + 63) &^ 63
	part = p.partial(at)
	for i, o := range all {
		o.parts = parts
		ends = append(ends, o.joinParts(at+4*elements*parts*i, elements))
	}
	return part, ends
}

// partial computes the sums of the parts.
func (p *product) partial(at int) *piece {
	t := &p.tile
	p.member("device float*", "partial", Field{Kind: Scratch, Size: 8, At: at})
	for i, o := range p.sharing {
		n, _ := o.inst.Args[1].Input()
		p.pointer("const ", fmt.Sprintf("b%d", i+1), p.g.Inputs[n].DType, p.g.Inputs[n].Buf, o.space.places[len(p.g.Inputs)+1].offset)
	}
	if t.sets = len(p.sharing) + 1; t.sets > 1 && t.high > 1 { // more simdgroups, for they have more to do
		t.high, t.down = t.high/2, t.down*2
	}
	t.wide *= t.sets
	p.lengths()
	length := (p.inner[p.longest()] + p.parts - 1) / p.parts
	p.constant("parts", p.parts)
	p.constant("length", (length+63)/64*64)
	p.constant("batches", p.space.size()/(p.space.lens[0]*p.space.lens[1]))
	p.writeTiled(0)
	return &piece{text: p.text, kind: "matmul_part", of: "uint4", space: p.shared, size: 16, groups: p.groups() * p.parts, threads: t.threads()}
}

// joinParts adds the parts up, four elements a thread where the epilogue can.
func (p *product) joinParts(at, elements int) *piece {
	parts, first := p.parts, len(p.g.Inputs)+len(p.inst.Args)
	p.parts = 1
	p.walker = newWalker(newText(p.g, p.space.wide), p.space)
	p.member("device const float*", "partial", Field{Kind: Scratch, Size: 8, At: at})
	p.declare()
	p.constant("parts", parts)
	p.constant("elements", elements)
	per := 1
	if p.endsBy(first, p.each) {
		per = p.each
	}
	p.line("const %[1]s e = (%[1]s(group.x) * %[2]d + %[1]s(at.x)) * %[3]d;", p.index, mapThreads, per)
	p.line("if (e < a.elements) {")
	p.line("%s left = e / a.n0;", p.index)
	p.line("const %s i0 = e %% a.n0, i1 = left %% a.n1;", p.index)
	p.line("left /= a.n1;")
	p.batch()
	load := map[int]string{1: "w[n][0] = a.partial[%s];", 4: "load4(a.partial + (%s), w[n]);"}[per]
	p.line("float v[%d] = {};", per)
	p.line("for (int part = 0; part < int(a.parts); part += %d) {", partsAtOnce)
	p.line("float w[%d][%d];", partsAtOnce, per)
	p.line("UNROLL for (int n = 0; n < %d; n++) {", partsAtOnce)
	p.line("if (part + n < int(a.parts)) "+load, "long(part + n) * a.elements + e")
	p.line("}")
	p.line("UNROLL for (int n = 0; n < %d && part + n < int(a.parts); n++) {", partsAtOnce)
	p.line("UNROLL for (int d = 0; d < %d; d++) v[d] += w[n][d];", per)
	p.close(2)
	if per == 4 {
		p.finishVector("v[k]", first, nil)
	} else {
		p.finishElement("v[0]", first)
	}
	p.line("}")
	return &piece{text: p.text, kind: "matmul_sum", groups: (elements/per + mapThreads - 1) / mapThreads, threads: mapThreads}
}
