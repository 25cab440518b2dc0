package lora

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// top returns the k largest singular values [k] of w [m n], in falling order, and the vectors that belong to
// them, [m k] and [k n]; fewer if a side is shorter.
func top(w tensor.Tensor, k int) (u, s, v tensor.Tensor) {
	u, s, v = linalg.SVD(w)
	k = min(k, s.Len(0))
	return u.Slice(1, 0, k), s.Slice(0, 0, k), v.Slice(0, 0, k)
}

// iterated is about top, after a number of iterations, each of which multiplies by w and its transpose
// (Halko, Martinsson and Tropp 2011, algorithm 4.4).
func iterated(w tensor.Tensor, k, iterations int) (u, s, v tensor.Tensor) {
	width := min(2*k+16, w.Len(0), w.Len(1)) // more vectors than are wanted: those behind them decide how near it comes
	up := tensor.NewRNG(1).Randn(w.Len(1), width).Cast(w.DType()).To(w.Device())
	left, _ := linalg.QR(w.MatMul(up))
	for range iterations - 1 {
		right, _ := linalg.QR(w.Transpose().MatMul(left))
		left, _ = linalg.QR(w.MatMul(right))
		left.Eval()
	}
	u, s, v = top(left.Transpose().MatMul(w), k)
	return left.MatMul(u), s, v
}

// exact is a matrix without a gradient, in f32 at least, as linear algebra takes it.
func exact(w tensor.Tensor) tensor.Tensor {
	return w.Detach().Cast(dtype.Promote(w.DType(), dtype.F32))
}
