package linalg

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// SVD factorises matrices a [… m n] = U·diag(s)·Vᵀ, with k = min(m, n): U [… m k], the singular values s […
// k] in falling order, and Vᵀ [… k n]. If only s is evaluated, only that is computed. The gradient of U and
// Vᵀ needs singular values that differ and are not 0: where two are equal there is none, and it is NaN, as
// for PyTorch. That of s alone is there always.
func SVD(a Tensor) (u, s, vt Tensor) { return svdAs("svd", a) }

// svdAs is the SVD for an operation, which errors name.
func svdAs(op string, a Tensor) (u, s, vt Tensor) {
	return svd(a, false, host.Code{Op: op, Grad: func(_, out, dout []Tensor) []Tensor {
		return []Tensor{svdGradient(out[0], out[1], out[2], dout[0], dout[1], dout[2])}
	}})
}

// FullSVD is [SVD] with all vectors: U [… m m], s [… k], Vᵀ [… n n]. It has no gradient: SVD has one.
func FullSVD(a Tensor) (u, s, vt Tensor) {
	return svd(a, true, host.Code{Op: "full_svd", Never: "vectors beyond the singular values are any that complete a basis; SVD has a gradient"})
}

// SingularValues returns the singular values [… k] of matrices a [… m n], k = min(m, n), in falling order.
func SingularValues(a Tensor) Tensor {
	_, s, _ := SVD(a)
	return s
}

func svd(a Tensor, full bool, h host.Code) (u, s, vt Tensor) {
	x, batch, m, n := matrix(h.Op, a)
	p, q := min(m, n), min(m, n)
	if full {
		p, q = m, n
	}
	h.Outs, h.Run = []ir.Type{{Shape: []int{m, p}}, {Shape: []int{min(m, n)}}, {Shape: []int{q, n}}}, svdOf(m, n, full).on
	h.Lent = lentSVD(m, n, full)
	result := h.Call(batch, x)
	return result(0), result(1), result(2)
}

// svdGradient is PyTorch's svd_backward, for real matrices.
func svdGradient(u, s, vt, du, ds, dvt Tensor) Tensor {
	m, k, n := u.Len(-2), u.Len(-1), vt.Len(-1)
	ut, v, dv := u.Transpose(), vt.Transpose(), dvt.Transpose()
	skew := func(x Tensor) Tensor { return x.Sub(x.Transpose()) }
	row, col := s.Unsqueeze(-2), s.Unsqueeze(-1)
	inner := diagonal(ds)
	if !none(du) || !none(dvt) {
		least := resolution(s) * resolution(s) * 1e-3            // no divisor is 0
		gaps := apart(row, col).Div(row.Add(col).Maximum(least)) // 1 / (s_j² − s_i²)
		inner = skew(ut.MatMul(du)).Mul(gaps).Mul(row).Add(skew(vt.MatMul(dv)).Mul(gaps).Mul(col)).Add(inner)
	}
	da := u.MatMul(inner)
	if m > k {
		over := du.Div(row)
		da = da.Add(over.Sub(u.MatMul(ut.MatMul(over))))
	}
	da = da.MatMul(vt)
	if n > k {
		over := dvt.Div(col)
		da = da.Add(u.MatMul(over.Sub(over.MatMul(v).MatMul(vt))))
	}
	return da
}

// apart is 1 / (x_j − x_i) of values in a row and in a column, NaN where two are equal, and 0 on the
// diagonal.
func apart(row, col Tensor) Tensor {
	d := row.Sub(col)
	same := d.Eq(0)
	off := tensor.Where(same, math.NaN(), tensor.Where(same, 1, d).Recip())
	return tensor.Where(eye(d, d.Len(-1)).Ne(0), 0, off)
}

// none says whether nothing has flowed back through a result: its gradient is then a constant 0 (package
// box).
func none(d Tensor) bool {
	n := access.Node(d, "linalg")
	for n.Op == ir.Expand && len(n.Src) == 1 {
		n = n.Src[0]
	}
	return n.Op == ir.Const && n.Attr.Value == ir.Scalar{}
}

// Eigh factorises symmetric matrices a [… n n] = V·diag(w)·Vᵀ by their lower triangles: the eigenvalues w […
// n] in rising order, and V [… n n] with their vectors as columns. If only w is evaluated, only that is
// computed. The gradient of V, where two eigenvalues are equal, is NaN as in [SVD]; it is symmetric.
func Eigh(a Tensor) (w, v Tensor) {
	x, batch, n := square("eigh", a)
	result := host.Code{Op: "eigh", Outs: []ir.Type{{Shape: []int{n}}, {Shape: []int{n, n}}}, Run: eighOf(n).on, Lent: lentEigh(n),
		Grad: func(_, out, dout []Tensor) []Tensor {
			w, v := out[0], out[1]
			inner := diagonal(dout[0])
			if !none(dout[1]) {
				inner = v.Transpose().MatMul(dout[1]).Mul(apart(w.Unsqueeze(-2), w.Unsqueeze(-1))).Add(inner)
			}
			da := v.MatMul(inner).MatMul(v.Transpose())
			return []Tensor{da.Add(da.Transpose()).Div(2)}
		}}.Call(batch, x)
	return result(0), result(1)
}

// EigVals returns the eigenvalues of matrices a [… n n] in no order, complex [… n]. Pairs of conjugates stand
// side by side, the positive imaginary part first. They have no gradient; those of symmetric matrices have
// one, see [Eigh].
func EigVals(a Tensor) Tensor {
	x, batch, n := square("eig_vals", a)
	result := host.Code{Op: "eig_vals", Outs: []ir.Type{{Shape: []int{n}}, {Shape: []int{n}}}, Run: eigOf(n).on,
		Never: "it would need the complex eigenvectors; Eigh of a symmetric matrix has a gradient"}.Call(batch, x)
	return tensor.Complex(result(0), result(1))
}
