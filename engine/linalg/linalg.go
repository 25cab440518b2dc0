// Package linalg is linear algebra on tensors: factorisations, equations, and what follows from them.
//
// A matrix is the last two axes of a tensor; the axes before are a batch, and those of two operands
// broadcast. Everything is lazy, takes part in what tensor.Compile replays, and has gradients of any order
// where they are defined. Results have the dtype of the matrices; integers count as f32.
//
// Only [Cholesky], [QR], [LU], [SVD], [Eigh], [EigVals], [TriangularSolve] and [Expm] are code of their own;
// the other functions are made of these and of tensor's operations. They compute on the processor, in float64
// whatever the dtype, and round once at the end, as NumPy does: of another device (a GPU) the matrices are
// copied to the processor and the results back, which profiles show as copies. But of f32 on an NVIDIA GPU
// all but EigVals and Expm are computed there, in float32, by cuSOLVER and cuBLAS where these are installed:
// small matrices of a batch at once, others one after the other, up to 512. Results of one factorisation that
// are evaluated together (tensor.Eval) share it. A stop waits for the matrix that is being factorised, not
// for the batch.
//
// A wrong shape is a panic of a *tensor.Error when the function is called. What only the values tell is an
// error of the evaluation, which names the matrix of a batch: a singular matrix, one that is not positive
// definite, NaN where an iteration would not end.
//
// The algorithms are LAPACK's, arranged so that most work is products of matrices, which the engine's own
// kernels compute on the threads of the device; gonum has what is left.
//
// Reading order: linalg.go, solve.go, factor.go, spectral.go, least.go, norm.go, function.go; lapack.go is
// the code on the processor, which package host runs, lent.go what a device's library computes instead,
// blas.go, reflect.go and reduce.go what it is made of,
// divide.go and secular.go eigenvalues of symmetric matrices and singular values, hessenberg.go other
// eigenvalues.
package linalg

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Tensor is tensor.Tensor.
type Tensor = tensor.Tensor

// fail panics with a *tensor.Error.
func fail(op, format string, args ...any) {
	panic(&tensor.Error{Op: op, Msg: fmt.Sprintf(format, args...)})
}

// describe is a tensor in a message: f32[3 4].
func describe(t Tensor) string { return access.Node(t, "linalg").Type().String() }

// floats is t in a dtype of floats.
func floats(op string, t Tensor) Tensor {
	if t.IsNone() {
		fail(op, "got no tensor (a zero Tensor)")
	}
	switch n := access.Node(t, op); {
	case n.DType.Complex():
		fail(op, "%s", ir.NotReal(n))
	case !n.DType.Float():
		return t.Cast(dtype.F32)
	}
	return t
}

// matrix returns a as floats, with its lengths.
func matrix(op string, a Tensor) (x Tensor, batch []int, m, n int) {
	x = floats(op, a)
	shape := x.Shape()
	k := len(shape) - 2
	if k < 0 {
		fail(op, "got %s, want a matrix: two axes at least", describe(a))
	}
	return x, shape[:k:k], shape[k], shape[k+1]
}

// square is matrix for those with as many rows as columns.
func square(op string, a Tensor) (x Tensor, batch []int, n int) {
	x, batch, m, n := matrix(op, a)
	if m != n {
		fail(op, "got %s, want square matrices", describe(a))
	}
	return x, batch, n
}

// systems brings square matrices and right-hand sides to one dtype and one batch. A vector b counts as a
// column; vector says that the result is to lose it again.
func systems(op string, a, b Tensor, rows func(m, n int) int) (x, y Tensor, vector bool) {
	x, batch, m, n := matrix(op, a)
	y = floats(op, b)
	if vector = y.Rank() == 1; vector {
		y = y.Unsqueeze(1)
	}
	y, other, have, cols := matrix(op, y)
	if want := rows(m, n); have != want {
		fail(op, "got %s and %s, want right-hand sides with %d rows", describe(a), describe(b), want)
	}
	dt := dtype.Promote(x.DType(), y.DType())
	shape, ok := ir.Broadcast(batch, other)
	if !ok {
		fail(op, "got %s and %s, want batches that broadcast", describe(a), describe(b))
	}
	return x.Cast(dt).Expand(join(shape, m, n)...), y.Cast(dt).Expand(join(shape, have, cols)...), vector
}

// join is a shape with more axes at its end.
func join(shape []int, more ...int) []int { return append(slices.Clone(shape), more...) }

// eye is the identity of x's matrices, which are square, or of their first n rows and columns.
func eye(x Tensor, n int) Tensor { return tensor.Eye(n).Cast(x.DType()).To(x.Device()) }

// dropColumn drops the column that stood for a vector.
func dropColumn(y Tensor, vector bool) Tensor {
	if vector {
		return y.Squeeze(-1)
	}
	return y
}

// diagonal makes matrices [… n n] with v [… n] on their diagonals.
func diagonal(v Tensor) Tensor { return v.Unsqueeze(-1).Mul(eye(v, v.Len(-1))) }
