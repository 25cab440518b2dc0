package lora

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An Embedding is an embedding with adapters: its A has a row for each token. Dropout does not concern it.
type Embedding struct {
	Linear // of rows that are 1 at the token; its Base is an *nn.Embedding
}

// Forward maps integers [B T] to [B T width]: rows of the weight, and of what the adapters that are on add to
// it.
func (e *Embedding) Forward(tokens tensor.Tensor) tensor.Tensor {
	w, _, beside := e.split(tokens, dtype.F32)
	rows := func(tokens, w tensor.Tensor) tensor.Tensor { return w.Take(tokens, 0) }
	y := rows(tokens, w)
	if len(beside) > 0 {
		y = y.Cast(dtype.Promote(y.DType(), dtype.F32))
	}
	for _, s := range beside {
		y = s.add(y, tokens, tokens, w, func(tokens, w tensor.Tensor) tensor.Tensor { return rows(tokens, w.Cast(y.DType())) })
	}
	return y
}

// Scores is the opposite of Forward: x [… width] times the transposed weight gives [… vocabulary]. Adapters
// with Config.OnlyInput do not count here.
func (e *Embedding) Scores(x tensor.Tensor) tensor.Tensor {
	dt := x.DType()
	w, _, beside := e.split(x, dt)
	beside = slices.DeleteFunc(beside, func(s share) bool { return s.apart })
	if len(beside) == 1 && e.fused(beside[0]) {
		first := beside[0]
		a, b := first.lowRank()
		if !first.Magnitude.IsNone() {
			x = x.Mul(first.gain(w).Cast(dt))
		}
		return tensor.LoRALinear(x, w.Transpose(), b.Transpose(), a.Transpose(), first.factor)
	}
	y := x.MatMul(w.Transpose().Cast(dt))
	for _, s := range beside {
		y = s.score(y, x, w)
	}
	return y
}

// score adds to y what the share adds to the scores of x.
func (s share) score(y, x, w tensor.Tensor) tensor.Tensor {
	dt := x.DType()
	a, b := s.lowRank()
	if !s.Magnitude.IsNone() {
		gain := s.gain(w)
		y = y.Add(s.masked(x.Mul(gain.Sub(1).Mul(s.weight()).Cast(dt)).MatMul(w.Transpose().Cast(dt))))
		x = x.Mul(gain.Cast(dt))
	}
	return y.Add(s.masked(x.MatMul(b.Transpose().Cast(dt)).Mul(s.factor).MatMul(a.Transpose().Cast(dt))))
}
