package lora

import "github.com/mcs-notebook/mcs/engine/tensor"

// DoRA (Liu et al. 2024) splits the adapted weight W + scale·A·B into lengths and directions of its columns
// and trains the lengths apart: the layer computes x·(W + scale·A·B)·diag(Magnitude/lengths). Gradients pass
// the lengths of the moment by, as the paper proposes in section 4.3 and PEFT does.

// gain is Magnitude over the lengths that the columns of the adapted weight have now, [out]; w is the weight
// without adapters.
func (p *Part) gain(w tensor.Tensor) tensor.Tensor { return p.Magnitude.Div(p.lengths(w)) }

// lengths are those of the columns of w + scale·A·B, [out], without a gradient. The sum is not made, which
// would take the memory of the weight: with w, a and b a column of each,
// |w + s·A·b|² = |w|² + 2s·(wᵀA)·b + s²·bᵀ(AᵀA)b.
func (p *Part) lengths(w tensor.Tensor) tensor.Tensor {
	const least = 1e-24 // of a square, so that a column of zeros stays one
	a, b := p.lowRank()
	a, b, w = a.Detach(), b.Detach(), w.Detach().Cast(a.DType())
	turned := a.Transpose()
	cross := turned.MatMul(w).Mul(b).Sum(0)
	low := turned.MatMul(a).MatMul(b).Mul(b).Sum(0)
	squares := w.Square().Sum(0).Add(cross.Mul(2 * p.Scale)).Add(low.Mul(p.Scale * p.Scale))
	return squares.Maximum(least).Sqrt().Detach()
}

// lowRank returns A and B with, if the part began with a piece of the weight, what takes that piece away:
// scale·a·b is what the part adds to the weight.
func (p *Part) lowRank() (a, b tensor.Tensor) {
	if p.startA.IsNone() {
		return p.A, p.B
	}
	return tensor.Concat([]tensor.Tensor{p.A, p.startA}, 1), tensor.Concat([]tensor.Tensor{p.B, p.startB.Neg()}, 0)
}
