package linalg

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Cholesky returns L [… n n], lower triangular, of symmetric positive definite matrices a = L·Lᵀ. It reads
// a's lower triangle. A matrix that is not positive definite is an error, which says the first leading minor
// that is not above 0. The gradient is symmetric, as PyTorch's is.
func Cholesky(a Tensor) Tensor {
	x, batch, n := square("cholesky", a)
	return host.Code{Op: "cholesky", Outs: []ir.Type{{Shape: []int{n, n}}}, Run: choleskyOf(n).on, Lent: lentCholesky(n),
		Grad: func(_, out, dout []Tensor) []Tensor { // Murray 2016
			l := out[0]
			inner := halved(l.Transpose().MatMul(dout[0].Tril(0)))
			inner = inner.Add(inner.Transpose()).Div(2)
			back := Triangle{Transposed: true}
			return []Tensor{TriangularSolve(l, TriangularSolve(l, inner, back).Transpose(), back)}
		}}.Call(batch, x)(0)
}

// halved is the lower triangle of matrices, with half of the diagonal.
func halved(x Tensor) Tensor { return x.Tril(0).Add(x.Tril(-1)).Div(2) }

// CholeskySolve returns x of a·x = b for matrices a = L·Lᵀ that [Cholesky] has factorised: l [… n n], b [… n
// k] or [n].
func CholeskySolve(l, b Tensor) Tensor {
	return TriangularSolve(l, TriangularSolve(l, b, Triangle{}), Triangle{Transposed: true})
}

// QR factorises matrices a [… m n] = Q·R, with k = min(m, n): Q [… m k] has orthonormal columns, and R [… k
// n] nothing below its diagonal. Signs are LAPACK's, as in NumPy. The gradient needs the first k columns of a
// to be independent.
func QR(a Tensor) (q, r Tensor) {
	_, _, m, n := matrix("qr", a)
	return qr(a, min(m, n), host.Code{Op: "qr", Grad: func(in, out, dout []Tensor) []Tensor {
		return []Tensor{qrGradient(in[0], out[0], out[1], dout[0], dout[1])}
	}})
}

// FullQR is [QR] with all columns of Q [… m m], and R [… m n]. It has a gradient only where that is QR's.
func FullQR(a Tensor) (q, r Tensor) {
	_, _, m, n := matrix("full_qr", a)
	if m <= n {
		return QR(a)
	}
	return qr(a, m, host.Code{Op: "full_qr", Never: fmt.Sprintf("the %d columns of Q beyond R's are any that complete a basis; QR has a gradient", m-n)})
}

func qr(a Tensor, cols int, h host.Code) (q, r Tensor) {
	x, batch, m, n := matrix(h.Op, a)
	h.Outs, h.Run = []ir.Type{{Shape: []int{m, cols}}, {Shape: []int{cols, n}}}, qrOf(m, n, cols).on
	h.Lent = lentQR(m, n, cols)
	result := h.Call(batch, x)
	return result(0), result(1)
}

// qrGradient is that of PyTorch's linalg_qr_backward: the columns of a wide matrix beyond the square are Qᵀ
// times themselves.
func qrGradient(a, q, r, dq, dr Tensor) Tensor {
	m, k, n := q.Len(-2), q.Len(-1), r.Len(-1)
	if k < n {
		rest, drest := a.Slice(-1, m, n), dr.Slice(-1, m, n)
		dq = dq.Add(rest.MatMul(drest.Transpose()))
		first := qrGradient(a.Slice(-1, 0, m), q, r.Slice(-1, 0, m), dq, dr.Slice(-1, 0, m))
		return tensor.Concat([]Tensor{first, q.MatMul(drest)}, -1)
	}
	w := r.MatMul(dr.Triu(0).Transpose()).Sub(dq.Transpose().MatMul(q))
	w = w.Tril(0).Add(w.Tril(-1).Transpose()) // symmetric, by its lower triangle
	inner := dq.Add(q.MatMul(w))
	return TriangularSolve(r, inner.Transpose(), Triangle{Upper: true}).Transpose()
}
