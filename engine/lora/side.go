package lora

import (
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/owned"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A side is the factors of several parts side by side, [A₁ A₂ …] and [f₁·B₁; f₂·B₂; …]: so several adapters
// take the launches of one, on every device. It is made again when one of the parts has other numbers.
type side struct {
	mu    sync.Mutex
	of    []piece
	a     tensor.Tensor // [in ranks]
	b     tensor.Tensor // [ranks out]
	width []int         // how much of the ranks each part has
}

// A piece is what a side was made of.
type piece struct {
	part   *Part
	factor float64
	a, b   any // see owned.Value
}

// forget releases the memory.
func (s *side) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of, s.a, s.b, s.width = nil, tensor.Tensor{}, tensor.Tensor{}, nil
}

// factors returns those of a list of shares, and how many of the ranks each has.
func (s *side) factors(list []share) (a, b tensor.Tensor, width []int) {
	var of []piece
	for _, p := range list {
		of = append(of, piece{p.Part, p.factor, owned.Value(p.A), owned.Value(p.B)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Equal(s.of, of) {
		return s.a, s.b, s.width
	}
	var as, bs []tensor.Tensor
	for _, p := range list {
		a, b := p.lowRank()
		as, bs, width = append(as, a), append(bs, b.Mul(p.factor)), append(width, a.Len(1))
	}
	a, b = tensor.Concat(as, 1), tensor.Concat(bs, 0)
	if !owned.Tracing() { // what a compiled function makes is its own
		tensor.Eval(a, b)
		s.of, s.a, s.b, s.width = of, a, b, width
	}
	return a, b, width
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
	a, b, width := l.beside.factors(list)
	if list[0].byRow == nil {
		return tensor.LoRALinear(x, w, a, b, 1)
	}
	var columns []column
	for i, s := range list {
		columns = append(columns, column{s.adapter, width[i]})
	}
	dt := x.DType()
	h := asRows(x.MatMul(a.Cast(dt)))
	low := h.Mul(list[0].byRow.mask(x, columns...)).MatMul(b.Cast(dt))
	return x.MatMul(w.Cast(dt)).Add(low.Reshape(append(x.Shape()[:x.Rank()-1], b.Len(1))...))
}
