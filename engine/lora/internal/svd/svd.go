// Package svd finds the largest singular values of matrices, and the vectors that belong to them.
//
// Reading order: svd.go (what callers use), jacobi.go (all of a small matrix), subspace.go (a few of a large
// one).
package svd

import "github.com/mcs-notebook/mcs/engine/tensor"

// Factors are the largest singular values of a matrix W [m n], in falling order, and their vectors: W is near
// U·diag(S)·V.
type Factors struct {
	U []float64 // [m k]
	S []float64 // [k]
	V []float64 // [k n]
	K int
}

// small is the shorter side up to which Top takes a matrix apart as a whole.
const small = 256

// Top returns the k largest singular values of w [m n], fewer if a side is shorter. Small matrices are taken
// apart completely. Of others it iterates until the values stand still, which finds vectors of values that
// are near to each other only roughly.
func Top(w tensor.Tensor, k int) Factors {
	m, n := w.Len(0), w.Len(1)
	k = min(k, m, n)
	if min(m, n) <= small {
		return whole(w.Float64s(), m, n).top(k, m, n)
	}
	return subspace(w, k, 0)
}

// Iterate returns about the k largest singular values of w [m n] after a number of iterations, each of which
// multiplies by w and its transpose (Halko, Martinsson and Tropp 2011, algorithm 4.4).
func Iterate(w tensor.Tensor, k, iterations int) Factors {
	return subspace(w, min(k, w.Len(0), w.Len(1)), max(1, iterations))
}

// top keeps the k largest.
func (f Factors) top(k, m, n int) Factors {
	t := Factors{U: make([]float64, m*k), S: f.S[:k], V: f.V[:k*n], K: k}
	for i := range m {
		copy(t.U[i*k:(i+1)*k], f.U[i*f.K:i*f.K+k])
	}
	return t
}
