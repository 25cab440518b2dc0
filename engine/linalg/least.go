package linalg

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// resolution is the distance from 1 to the next number of a dtype.
func resolution(t Tensor) float64 {
	switch t.DType() {
	case dtype.F64:
		return 0x1p-52
	case dtype.F32:
		return 0x1p-23
	case dtype.F16:
		return 0x1p-10
	}
	return 0x1p-7
}

// threshold is the singular value [… 1] up to which one counts as 0: rcond times the largest. An rcond below
// 0 stands for max(m, n) times the dtype's resolution, as in NumPy's matrix_rank and PyTorch.
func threshold(a, s Tensor, rcond float64) Tensor {
	if rcond < 0 {
		rcond = float64(max(a.Len(-2), a.Len(-1))) * resolution(s)
	}
	if s.Len(-1) == 0 {
		return s
	}
	return s.Slice(-1, 0, 1).Mul(rcond)
}

// Default lets [Pinv], [Lstsq] and [MatrixRank] decide which singular values count as 0: those up to max(m,
// n) · (the dtype's resolution) times the largest.
const Default = -1.0

// Pinv returns the pseudoinverse [… n m] of matrices a [… m n], of any rank. Singular values up to rcond
// times the largest count as 0; see [Default]. The gradient takes the rank as given.
func Pinv(a Tensor, rcond float64) Tensor {
	x, batch, m, _ := matrix("pinv", a)
	return lstsq("pinv", x, eye(x, m).Expand(join(batch, m, m)...), rcond)
}

// Lstsq returns the x of least norm among those for which |a·x − b| is least, for matrices a [… m n] of any
// rank and right-hand sides b [… m k], or [m] for one vector: x [… n k], or [… n]. rcond is as in [Pinv]. It
// is numpy.linalg.lstsq's first result; [SingularValues], [MatrixRank] and a.MatMul(x).Sub(b) give the
// others.
func Lstsq(a, b Tensor, rcond float64) Tensor {
	x, y, vector := systems("lstsq", a, b, func(m, _ int) int { return m })
	return dropColumn(lstsq("lstsq", x, y, rcond), vector)
}

// lstsq is a⁺·b for operands of one batch.
func lstsq(op string, a, b Tensor, rcond float64) Tensor {
	return tensor.Custom(func(x ...Tensor) []Tensor {
		u, s, vt := svdAs(op, x[0])
		return []Tensor{vt.Transpose().MatMul(inverted(x[0], s, rcond).MatMul(u.Transpose().MatMul(x[1])))}
	}, func(in, out, dout []Tensor) []Tensor { // Golub and Pereyra 1973
		a, b, x, dx := in[0], in[1], out[0], dout[0]
		u, s, vt := svdAs(op, a)
		v, ut, over := vt.Transpose(), u.Transpose(), inverted(a, s, rcond)
		db := u.MatMul(over.MatMul(vt.MatMul(dx))) // a⁺ᵀ·dx
		rest := b.Sub(a.MatMul(x))                 // of the equations
		pinvT := func(y Tensor) Tensor { return u.MatMul(over.MatMul(vt.MatMul(y))) }
		pinv := func(y Tensor) Tensor { return v.MatMul(over.MatMul(ut.MatMul(y))) }
		outside := dx.Sub(a.Transpose().MatMul(db)) // of dx: what no row of a reaches
		da := db.MatMul(x.Transpose()).Neg().
			Add(rest.MatMul(pinv(db).Transpose())).
			Add(pinvT(x).MatMul(outside.Transpose()))
		return []Tensor{da, db}
	})(a, b)[0]
}

// inverted is diag(1/s), 0 where s counts as 0.
func inverted(a, s Tensor, rcond float64) Tensor {
	small := s.Le(threshold(a, s, rcond))
	return diagonal(tensor.Where(small, 0, tensor.Where(small, 1, s).Recip()))
}

// MatrixRank returns the rank (i64 [… ]) of matrices a [… m n]: how many singular values are above rcond
// times the largest; see [Default].
func MatrixRank(a Tensor, rcond float64) Tensor {
	x, _, _, _ := matrix("matrix_rank", a)
	s := SingularValues(x)
	return s.Gt(threshold(x, s, rcond)).Sum(-1)
}

// Cond returns the condition [… ] of matrices a [… m n] in the norm of an order, which is that of
// [MatrixNorm]: 2 is the largest singular value over the least; others, of square matrices, are |a|·|a⁻¹|.
func Cond(a Tensor, order float64) Tensor {
	if order != 2 && order != -2 {
		square("cond", a)
		return MatrixNorm(a, order).Mul(MatrixNorm(Inv(a), order))
	}
	s := SingularValues(a)
	first, last := s.Select(-1, 0), s.Select(-1, s.Len(-1)-1)
	if order < 0 {
		first, last = last, first
	}
	return first.Div(last)
}
