package lora

import (
	"math"
	"slices"
	"sync"
	"weak"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// mostSides is how many sides a layer keeps: batches with other adapters may run at the same time.
const mostSides = 4

// Sides are the factors of several parts side by side, [A₁ A₂ …] and [f₁·B₁; f₂·B₂; …]: so several adapters
// take the launches of one, on every device. They are made again when one of the parts has other numbers.
type sides struct {
	mu   sync.Mutex
	kept []side // the one that was used last comes first
}

// A side is one list of parts.
type side struct {
	of    []piece
	a     tensor.Tensor // [in ranks]
	b     tensor.Tensor // [ranks out]
	width []int         // how much of the ranks each part has
}

// A piece is what a side was made of.
type piece struct {
	part   *Part
	factor float64
	apart  bool                  // see apart
	a, b   weak.Pointer[ir.Node] // see access.Value
}

// forget releases the memory.
func (s *sides) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = nil
}

// made returns the side of a list of shares.
func (s *sides) made(list []share) side {
	if access.Tracing() { // what a compiled function makes is its own
		return newSide(list)
	}
	var of []piece
	for _, p := range list {
		of = append(of, piece{p.Part, p.factor, p.byRow != nil, access.Value(p.A), access.Value(p.B)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.kept, func(k side) bool { return slices.Equal(k.of, of) })
	var found side
	if i >= 0 {
		found = s.kept[i]
		s.kept = slices.Delete(s.kept, i, i+1)
	} else {
		found = newSide(list)
		found.of = of
		tensor.Eval(found.a, found.b)
		s.kept = slices.DeleteFunc(s.kept, func(k side) bool { // a part has other numbers by now
			return slices.ContainsFunc(k.of, func(p piece) bool { return p.a != access.Value(p.part.A) || p.b != access.Value(p.part.B) })
		})
	}
	s.kept = slices.Insert(s.kept[:min(len(s.kept), mostSides-1)], 0, found)
	return found
}

func newSide(list []share) side {
	var s side
	var as, bs []tensor.Tensor
	for _, p := range list {
		a, b := p.lowRank()
		if p.byRow != nil {
			a, b = apart(a, b)
		}
		as, bs, s.width = append(as, a), append(bs, b.Mul(p.factor)), append(s.width, a.Len(1))
	}
	s.a, s.b = tensor.Concat(as, 1), tensor.Concat(bs, 0)
	return s
}

// apart returns factors of the same product, of which b [rank out] is finite: other rows of a batch multiply
// it by 0. Where it was not, a [in rank] is NaN, so that the adapter's own rows are.
func apart(a, b tensor.Tensor) (tensor.Tensor, tensor.Tensor) {
	finite := b.IsFinite()
	return tensor.Where(finite.All(1), a, math.NaN()), tensor.Where(finite, b, 0)
}

// sideBySide lists what of a list can stand side by side, if that is worth it. In training it is not: the
// numbers change in each step.
func (l *Linear) sideBySide(list []share) []share {
	if l.training {
		return nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(s share) bool { return !s.Magnitude.IsNone() })
	if len(list) == 1 && list[0].byRow == nil {
		return nil
	}
	return list
}

// together is x·w with what a list of shares that stand side by side adds.
func (l *Linear) together(x, w tensor.Tensor, list []share) tensor.Tensor {
	side := l.beside.made(list)
	if list[0].byRow == nil {
		return tensor.LoRALinear(x, w, side.a, side.b, 1)
	}
	var columns []column
	for i, s := range list {
		columns = append(columns, column{s.adapter, side.width[i]})
	}
	h := asRows(product(x, side.a))
	low := product(chosenBy(list[0].byRow.mask(x, columns...), h), side.b)
	return product(x, w).Add(low.Reshape(append(x.Shape()[:x.Rank()-1], side.b.Len(1))...))
}
