package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A reuse is a leaf in whose memory a block may lie: the maker of the operation says that nobody reads the
// leaf's value afterwards. A run believes it only as far as nobody else can see the leaf.
type reuse struct {
	leaf int // -1 if there is none
	// whole says that the launch, and what comes after it, is made as a whole or not at all: a step of an
	// optimizer. It changes nothing that another operation waits to read. Otherwise the launch may be
	// repeated, and operations that read the leaf and were never evaluated are lost with its value.
	whole bool
}

// reuses returns the leaf in whose memory the result v of launch i can lie: the base of an Overwrite in
// place, if nothing else in the plan reads it; or what an optimizer's step in place replaces, if nothing
// reads that later.
func (m *placement) reuses(o *ordering, v, i int) (reuse, bool) {
	x, arg := &o.values[v], 0
	switch {
	case x.kind == heavy && x.op == ir.Overwrite && x.attr.Flags&ir.InPlace != 0:
	case x.kind == result && ir.RowOf(o.values[x.args[0]].op).Steps > 0:
		tuple := &o.values[x.args[0]]
		if tuple.attr.Flags&ir.InPlace == 0 || m.moves(o, x.args[0]) > o.hints.AtOnce {
			return reuse{}, false
		}
		x, arg = tuple, ir.Replaced(tuple.op, tuple.attr.Flags, len(tuple.outs), x.index)
	default:
		return reuse{}, false
	}
	b, ch := o.base(x.args[arg])
	base := &o.values[b]
	if base.kind != leaf || len(ch) > 0 || o.wanted[b] || m.occurrences(o, x, b) > 1 {
		return reuse{}, false
	}
	if l := o.leaves[base.index]; l.Offset != 0 || !slices.Equal(l.Stride, ir.Contiguous(l.Shape).Stride) {
		return reuse{}, false
	}
	if x.op == ir.Overwrite {
		return reuse{leaf: base.index}, len(o.users[b]) == 1
	}
	return reuse{leaf: base.index, whole: true}, m.last[b] <= i
}

// moves is how many bytes the optimizer's step of a tuple reads and writes.
func (m *placement) moves(o *ordering, tuple int) (bytes int64) {
	if m.tuple == tuple {
		return m.moved
	}
	x := &o.values[tuple]
	for _, a := range x.args {
		bytes += int64(o.values[a].bytes())
	}
	for _, out := range x.outs {
		bytes += int64(out.Bytes())
	}
	m.tuple, m.moved = tuple, bytes
	return bytes
}

// occurrences is how often b is an argument of x.
func (m *placement) occurrences(o *ordering, x *value, b int) int {
	if m.of != x {
		m.of, m.count = x, map[int]int{}
		o.watch.step(len(x.args))
		for _, a := range x.args {
			m.count[a]++
		}
	}
	return m.count[b]
}

// replacingLast moves the launches that replace leaves, and what depends on them, to the end: what comes
// after them cannot be stopped any more.
func (o *ordering) replacingLast() *ordering {
	operands := o.operands()
	late := make([]bool, len(o.order))
	var first, last []int
	for i, k := range o.order { // operands come before their users
		late[i] = slices.ContainsFunc(k.heavy, func(h int) bool {
			return ir.RowOf(o.values[h].op).Steps > 0 && o.values[h].attr.Flags&ir.InPlace != 0
		}) || slices.ContainsFunc(operands[i], func(w int) bool { return late[w] })
		if late[i] {
			last = append(last, i)
		} else {
			first = append(first, i)
		}
	}
	if len(last) == 0 {
		return o
	}
	return o.permuted(append(first, last...))
}

// claimReplaced finds out which blocks lie in the memory of leaves in this run, and claims that memory.
func (p *plan) claimReplaced(s *state, in *inputs) {
	for i, t := range p.reused {
		if s.reuses[i] = false; t.leaf < 0 || in.discard || !in.replaceable(t) {
			continue
		}
		if s.claim == nil {
			s.claim = backend.NewClaim()
		}
		b := in.leaves[t.leaf].Buf.(*backend.Block)
		if s.reuses[i] = b.Claim(s.claim, 2, func() bool { return in.replaceable(t) }); s.reuses[i] {
			s.blocks[i] = b
		}
	}
}

// endClaims lets others hold the memory that claimReplaced has claimed.
func (p *plan) endClaims(s *state) {
	if s.claim == nil {
		return
	}
	for i, b := range s.blocks {
		if i < len(s.reuses) && s.reuses[i] {
			b.EndClaim()
		}
	}
	s.claim.End()
	s.claim = nil
}

// replaceable says whether only the maker of the operation that replaces a leaf can see the leaf. That takes
// three things: there is no other handle on its node; no view and no other run holds its memory; and no
// operation but the run's own was made from it, unless such operations count as lost. Only the collector
// could tell whether a program still holds the result of an operation, so a weight that a loss was computed
// from stays. A goroutine that makes an operation or a handle later gets the new value: see access.Move.
func (in *inputs) replaceable(t reuse) bool {
	n, d := in.nodes[t.leaf], in.leaves[t.leaf]
	return n != nil && (in.kept == nil || in.kept[t.leaf]) && n.Handles() <= 1 && (!t.whole || n.Readers() <= in.readers) && d.Buf.(*backend.Block).References() == 2 && !backend.InParts(d)
}

// markReplaced lets the nodes forget values whose memory has become a result's: reading one is an error from
// here on. What an optimizer steps is given its new value by the optimizer, and what a captured plan replaces
// by its caller.
func (p *plan) markReplaced(s *state, in *inputs) {
	for i, t := range p.reused {
		if s.reuses[i] && !t.whole && in.keep == nil {
			if d := in.nodes[t.leaf].Free(); d != nil {
				d.Buf.(*backend.Block).Release()
			}
		}
	}
}
