package kernel

import (
	"fmt"
	"slices"
)

// Products of few tiles and a long inner axis, as the gradients of weights, would leave processors idle. So
// several threadgroups share a tile: each takes a part of the inner axis and stores its sums in the
// workspace; the last one that arrives, or a second dispatch, adds the parts up, in order, and computes the
// epilogue. Which part takes what follows from the shape and the device alone, so equal work gives equal
// bits.
//
// A part costs 8 bytes an element, stored and loaded. So it is at least leastSplit long: its tiles then
// read 6 times as much. Where tiles fill the device it is for time that a product is cut: those of a thin
// one, which are loaded far ahead, take a step after the other, and a deep one would end long after those
// beside it. On an H200 leastDeep of the inner axis last as long as a second dispatch.
const (
	leastSplit = 192
	leastDeep  = 1024
	mostSplit  = 16

	partsAtOnce = 8   // that a thread loads before it adds them up
	mostJoined  = 512 // bytes of a tile's parts that a thread reads in less time than a launch takes
	mostSums    = 8   // blocks that a thread has registers for where two threadgroups share a processor
)

// partsFor chooses the number of parts of a product: as many as let each processor have two threadgroups,
// unless tiles fill the device: its own, and those of products beside it, so many in all.
func (p *product) partsFor(all int, limits Limits) int {
	tiles, deep := p.groups(), p.inner[p.longest()]
	switch {
	case !p.inst.DType.Float(), deep == 0, all == tiles && !p.thin() && p.fills(all, limits):
		return 1
	case p.fills(all, limits):
		return max(1, min(8*limits.Processors/max(tiles, 1), deep/leastDeep, mostSplit))
	}
	parts := max(1, min(2*limits.Processors/max(tiles, 1), deep/leastSplit, mostSplit))
	return max(1, ceilTo(deep, p.partOf(parts))/p.partOf(parts)) // none is empty
}

// partOf is how long each of so many parts is.
func (p *product) partOf(parts int) int {
	return ceilTo((p.inner[p.longest()]+parts-1)/parts, 64)
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
func (p *product) inParts(k *Kernel, limits Limits) (part *piece, ends []*piece) {
	at, elements, parts, tiles := k.Scratch, p.space.size(), p.parts, p.groups()
	all := append([]*product{p}, p.sharing...)
	k.Scratch += (4*elements*parts*len(all) + 63) &^ 63
	part = p.partial(at, limits)
	write := func(t *tile) {
		ends = nil
		for i, o := range all {
			o.parts = parts
			ends = append(ends, o.joinParts(at+4*elements*parts*i, elements, t))
		}
	}
	if t := &p.tile; limits.Family == NVIDIA && 4*t.rows()*t.columns()*len(all)*parts <= mostJoined*t.threads() {
		if write(t); !slices.ContainsFunc(ends, func(c *piece) bool { return c.variant() != ends[0].variant() }) {
			part.join(ends, k, tiles, parts)
			return part, nil
		}
	}
	write(nil)
	return part, ends
}

// partial computes the sums of the parts.
func (p *product) partial(at int, limits Limits) *piece {
	t := &p.tile
	p.member("device float*", "partial", Field{Kind: Scratch, Size: 8, At: at})
	for i, o := range p.sharing {
		n, _ := o.inst.Args[1].Input()
		p.pointer("const ", fmt.Sprintf("b%d", i+1), p.g.Inputs[n].DType, p.g.Inputs[n].Buf, o.space.places[len(p.g.Inputs)+1].offset)
	}
	t.sets = len(p.sharing) + 1
	if t.wide *= t.sets; t.high > 1 && t.high*t.wide > mostSums && 2*(p.room+ownMemory) <= limits.Memory {
		t.high, t.down = t.high/2, t.down*2
	}
	if left, right, _ := p.pairOf(p.longest()); p.thin() && right.coded == nil {
		t.shares = left.depth / 16
		for t.shares > 1 && (t.threads() > mapThreads || t.threads()*limits.Memory > 2*mapThreads*(p.room+ownMemory) || t.allEnds() > max(p.room, bytesAhead)) {
			t.shares /= 2
		}
	}
	p.lengths()
	p.constant("parts", p.parts)
	p.constant("length", p.partOf(p.parts))
	p.constant("batches", p.space.size()/(p.space.lens[0]*p.space.lens[1]))
	p.writeTiled(0)
	return &piece{text: p.text, kind: "matmul_part", of: "uint4", space: p.shared, size: 16, groups: p.groups() * p.parts, threads: t.threads()}
}

// endPart stores the sums of a part whose steps have shares, all of them at once.
func (p *product) endPart() {
	t, per := &p.tile, 1
	if p.space.lens[0]%4 == 0 {
		per = 4
	}
	stride, wide := t.broad()*t.across+endPad, t.columns()/per
	p.line("threadgroup float* sums = (threadgroup float*)space;")
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.line("UNROLL for (int i = 0; i < %d; i++) {", t.high)
	p.line("UNROLL for (int j = 0; j < %d; j++) store_sum<%d>(sum[%[1]d * i + j], sums + (int(simd) / %[3]d * %[4]d + down + 16 * i) * %[2]d + right + 16 * j);", t.wide, stride, t.across*t.down, t.rows())
	p.line("}")
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	t.each(p.text, t.sets*t.rows()*wide, func() {
		p.line("const int set = e / %d, line = e / %d %% %d, beside = e %% %[2]d * %[4]d;", t.rows()*wide, wide, t.rows(), per)
		p.line("const %s i0 = column + beside, i1 = row + line;", p.index)
		p.line("float v[%d] = {};", per)
		p.line("UNROLL for (int share = 0; share < %d; share++) {", t.shares)
		p.line("UNROLL for (int d = 0; d < %d; d++) v[d] += sums[(share * %d + line) * %d + set * %d + beside + d];", per, t.rows(), stride, t.columns())
		p.line("}")
		to := "a.partial + ((((long(set) * a.parts + part) * a.batches + batch) * a.n1 + i1) * a.n0 + i0)"
		p.line("if (i0 < a.n0 && i1 < a.n1) "+map[int]string{1: "*(%s) = v[0];", 4: "store4(%s, v);"}[per], to)
	})
}

// joinParts adds the parts up, four elements a thread where the epilogue can: those of all elements, or those
// of the tile that a threadgroup has.
func (p *product) joinParts(at, elements int, t *tile) *piece {
	parts, first := p.parts, len(p.g.Inputs)+len(p.inst.Args)
	p.parts = 1
	p.walker = newWalker(newText(p.g, p.space.wide), p.space)
	p.member("device const float*", "partial", Field{Kind: Scratch, Size: 8, At: at})
	p.declare()
	p.constant("elements", elements)
	per := 1
	if p.endsBy(first, p.each) {
		per = p.each
	}
	if t != nil {
		p.joinTile(t, per, parts, first)
		return &piece{text: p.text}
	}
	p.constant("parts", parts)
	p.line("const %[1]s e = (%[1]s(group.x) * %[2]d + %[1]s(at.x)) * %[3]d;", p.index, mapThreads, per)
	p.line("if (e < a.elements) {")
	p.line("%s left = e / a.n0;", p.index)
	p.line("const %s i0 = e %% a.n0, i1 = left %% a.n1;", p.index)
	p.line("left /= a.n1;")
	p.batch()
	p.line("float v[%d] = {};", per)
	p.addParts("v", "int(a.parts)", per)
	p.endJoined("v", per, first)
	p.line("}")
	return &piece{text: p.text, kind: "matmul_sum", groups: (elements/per + mapThreads - 1) / mapThreads, threads: mapThreads}
}

// joinTile does so for a tile: each thread takes as many elements at once as it can load the parts of.
func (p *product) joinTile(t *tile, per, parts, first int) {
	wide, threads, which := t.columns()/per, t.threads(), "0"
	all := t.sets * t.rows() * wide
	if t.sets > 1 {
		which = fmt.Sprintf("place / %d", t.rows()*wide)
	}
	turns := min((all+threads-1)/threads, max(1, 2*partsAtOnce/parts))
	p.line("for (int first = int(at.x); first < %d; first += %d) {", all, turns*threads)
	place := func() {
		p.line("UNROLL for (int q = 0; q < %d; q++) {", turns)
		p.line("const int place = min(first + q * %d, %d);", threads, all-1)
		p.line("constant auto& a = joins[%s];", which)
		p.line("const %s i0 = column + place %% %d * %d, i1 = row + place / %[2]d %% %[4]d;", p.index, wide, per, t.rows())
	}
	p.line("float v[%d][%d] = {};", turns, per)
	place()
	p.line("const long e = (batch * a.n1 + min(i1, a.n1 - 1)) * a.n0 + min(i0, a.n0 - %d);", per)
	p.addParts("v[q]", fmt.Sprint(parts), per)
	p.close(1)
	place()
	p.line("if (first + q * %d < %d)", threads, all)
	p.endJoined("v[q]", per, first)
	p.close(2)
}

// addParts adds so many parts of the elements from e on to v.
func (p *product) addParts(v, parts string, per int) {
	p.line("for (int part = 0; part < %s; part += %d) {", parts, partsAtOnce)
	p.line("float w[%d][%d];", partsAtOnce, per)
	p.line("UNROLL for (int n = 0; n < %d; n++) {", partsAtOnce)
	load := map[int]string{1: "w[n][0] = a.partial[%s];", 4: "load4(a.partial + (%s), w[n]);"}[per]
	p.line("if (part + n < %s) "+load, parts, "long(part + n) * a.elements + e")
	p.line("}")
	p.line("UNROLL for (int n = 0; n < %d && part + n < %s; n++) {", partsAtOnce, parts)
	p.line("UNROLL for (int d = 0; d < %d; d++) %s[d] += w[n][d];", per, v)
	p.close(2)
}

// endJoined computes the epilogue of v.
func (p *product) endJoined(v string, per, first int) {
	if per == 4 {
		p.finishVector(v+"[k]", first, nil)
	} else {
		p.finishElement(v+"[0]", first)
	}
}

// join lets the last threadgroup that arrives at a tile end it, for all products that it is of: the bits of a
// sum do not depend on which one that is. Nothing orders what threadgroups of Apple's GPUs write and read.
func (c *piece) join(ends []*piece, k *Kernel, tiles, parts int) {
	c.member("device atomic_uint*", "arrived", Field{Kind: Table, Size: 8, At: len(k.Table)})
	k.Table = append(k.Table, make([]byte, 4*tiles)...)
	fmt.Fprintf(&c.members, "\tstruct join {\n%s\t} joins[%d];\n", ends[0].members.String(), len(ends))
	for _, o := range ends {
		c.args.nest(&o.args)
	}
	c.line("threadgroup uint* const last = (threadgroup uint*)space;")
	c.line("threadgroup_barrier(mem_flags::mem_device);")
	c.line("if (at.x == 0) last[0] = last_to_arrive(a.arrived + (batch * a.across * a.down + tile), %d);", parts)
	c.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	c.line("if (last[0] != 0) {")
	c.line("constant auto* const joins = a.joins;")
	c.body.WriteString(ends[0].body.String())
	c.line("}")
}
