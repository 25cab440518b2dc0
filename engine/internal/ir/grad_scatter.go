package ir

import "github.com/mcs-notebook/mcs/engine/dtype"

// gradScatterWith by what the scatter combines with.
func gradScatterWith(n *Node, dy []*Node) []*Node {
	s := scattered{n: n, base: n.Src[0], index: n.Src[1], updates: n.Src[2]}
	var dbase, dupdates *Node
	switch Combination(n.Attr.Index) {
	case Replace:
		dbase, dupdates = s.replaced(dy[0])
	case Multiply:
		dbase, dupdates = s.multiplied(dy[0])
	default:
		dbase, dupdates = s.chosen(dy[0])
	}
	return []*Node{dbase, nil, dupdates}
}

// scattered is a scatter along an axis.
type scattered struct{ n, base, index, updates *Node }

// taken is what x, which has base's shape, holds at the places of the updates.
func (s scattered) taken(x *Node) *Node {
	return build(GatherAlong, Attr{Axis: s.n.Attr.Axis}, x, s.index)
}

// added is x with y, which has the updates' shape, added at their places.
func (s scattered) added(x, y *Node) *Node {
	return build(ScatterAlong, Attr{Axis: s.n.Attr.Axis}, x, s.index, y)
}

// combined is the same scatter of other values.
func (s scattered) combined(x, y *Node) *Node { return build(ScatterWith, *s.n.Attr, x, s.index, y) }

// replaced numbers the updates and scatters the numbers, to know which update stayed at a place.
func (s scattered) replaced(dy *Node) (dbase, dupdates *Node) {
	count, err := NewIota(s.n.Dev, dtype.I64, []int{Size(s.updates.Shape)}, 0)
	if err != nil {
		panic(err) // no shape that a tensor has
	}
	numbers := reshape(count, s.updates.Shape)
	nobody := fixed(s.n.Dev, dtype.I64, -1)
	last := s.combined(expand(nobody, s.base.Shape), numbers)
	zero := like(s.n, 0)
	return choose(compare(Eq, last, nobody), dy, zero), choose(compare(Eq, s.taken(last), numbers), s.taken(dy), zero)
}

// chosen shares the gradient evenly between all that equal the result.
func (s scattered) chosen(dy *Node) (dbase, dupdates *Node) {
	best := as01(compare(Eq, s.base, s.n), s.n)
	bests := as01(compare(Eq, s.updates, s.taken(s.n)), s.n)
	share := div(dy, s.added(best, bests))
	return mul(share, best), mul(s.taken(share), bests)
}

// multiplied is the product of the other factors: the product over the factor, and where there is exactly one
// 0 the product of the rest at its place.
func (s scattered) multiplied(dy *Node) (dbase, dupdates *Node) {
	zero, one := like(s.n, 0), like(s.n, 1)
	isZero, areZero := compare(Eq, s.base, zero), compare(Eq, s.updates, zero)
	filled, filledUpdates := choose(isZero, one, s.base), choose(areZero, one, s.updates)
	rest := mul(s.combined(filled, filledUpdates), dy)
	zeros := s.added(as01(isZero, s.n), as01(areZero, s.n))
	alone := choose(compare(Eq, zeros, one), rest, zero)
	none := choose(compare(Eq, zeros, zero), rest, zero)
	return choose(isZero, alone, div(none, filled)), choose(areZero, s.taken(alone), div(s.taken(none), filledUpdates))
}
