package linalg

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Triangle says how [TriangularSolve] reads its matrix. The other triangle is not read.
type Triangle struct {
	Upper      bool // the upper triangle counts; the lower one if false
	Transposed bool // the equations are those of the transposed matrix
	Unit       bool // the diagonal is ones, whatever stands there
}

// TriangularSolve returns x of a·x = b for triangular matrices a [… n n] and right-hand sides b [… n k], or
// [n] for one vector. A 0 on the diagonal is an error. It is torch.linalg.solve_triangular.
func TriangularSolve(a, b Tensor, o Triangle) Tensor { return triangular("triangular_solve", a, b, o) }

// triangular is TriangularSolve for the operation op, which errors name.
func triangular(op string, a, b Tensor, o Triangle) Tensor {
	square(op, a)
	x, y, vector := systems(op, a, b, func(_, n int) int { return n })
	_, batch, n, cols := matrix(op, y)
	solve := host.Code{Op: op, Key: fmt.Sprint(o), Outs: []ir.Type{{Shape: []int{n, cols}}}, Run: trianglesOf(n, cols, o).on, Lent: lentTriangles(n, cols, o),
		Grad: func(in, out, dout []Tensor) []Tensor {
			back := o
			back.Transposed = !o.Transposed
			db := triangular(op, in[0], dout[0], back)
			da := db.MatMul(out[0].Transpose()).Neg()
			if o.Transposed {
				da = da.Transpose()
			}
			return []Tensor{o.of(da), db}
		}}
	return dropColumn(solve.Call(batch, x, y)(0), vector)
}

// of is the triangle of a matrix that counts.
func (o Triangle) of(x Tensor) Tensor {
	off := 0
	if o.Unit {
		off = 1
	}
	if o.Upper {
		return x.Triu(off)
	}
	return x.Tril(-off)
}

// Factors are a matrix a [… m n] as P·L·U: row i of L·U is row Perm[i] of a.
type Factors struct {
	Perm Tensor // i64 [… m]
	L    Tensor // [… m k], k = min(m, n): ones on the diagonal, nothing above it
	U    Tensor // [… k n]: nothing below the diagonal
}

// factors are Factors where and as they were computed.
type factors struct {
	perm Tensor
	both Tensor // [… m n]: L below the diagonal, U from it on
	sign Tensor // [… 1 1]: 1 or −1, the determinant of P
}

// LU factorises matrices a [… m n] with partial pivoting; a may be singular. A.TakeAlong, by Perm along the
// rows, is L·U. It is torch.linalg.lu, whose P is a matrix: [Factors.P].
func LU(a Tensor) Factors {
	x, _, m, n := matrix("lu", a)
	f := factorsOf("lu", x)
	l, u := triangles(f.both, min(m, n))
	return Factors{Perm: f.perm.To(x.Device()), L: like(x, l), U: like(x, u)}
}

// P returns the permutation as a matrix [… m m]: a = P·L·U.
func (f Factors) P() Tensor {
	m := f.Perm.Len(-1)
	return f.Perm.Unsqueeze(-2).Eq(tensor.Range(m).To(f.Perm.Device()).Unsqueeze(1)).Cast(f.L.DType())
}

func factorsOf(op string, a Tensor) factors {
	x, batch, m, n := matrix(op, a)
	code := host.Code{Op: op, Run: luOf(m, n).on, Lent: lentLU(m, n), Grad: luGradient,
		Outs: []ir.Type{{DType: dtype.I64, Shape: []int{m}}, {Shape: []int{m, n}}, {Shape: []int{1, 1}}}}
	result := code.Call(batch, code.Wide(batch, x))
	return factors{result(0), result(1), result(2)}
}

// triangles are L [… m k] and U [… k n] of both [… m n].
func triangles(both Tensor, k int) (l, u Tensor) {
	onDiagonal := tensor.Range(both.Len(-2)).Unsqueeze(1).Eq(tensor.Range(k)).To(both.Device())
	return tensor.Where(onDiagonal, 1, both.Slice(-1, 0, k).Tril(-1)), both.Slice(-2, 0, k).Triu(0)
}

// like is y in the dtype and on the device of x.
func like(x, y Tensor) Tensor { return y.Cast(x.DType()).To(x.Device()) }

// rows takes the rows of x [… m k] at places [… m].
func rows(x, places Tensor) Tensor {
	if places.Rank() == 1 { // without an index for each element
		return x.Take(places, -2)
	}
	return x.TakeAlong(places.Unsqueeze(-1).Expand(x.Shape()...), -2)
}

// luGradient is that of PyTorch's plu_backward (Murray 2016 for the square case): the columns of a wide
// matrix, or the rows of a tall one, that lie beyond the square are solutions of its triangles.
func luGradient(_, out, dout []Tensor) []Tensor {
	perm, both, dboth := out[0], out[1], dout[1]
	m, n := both.Len(-2), both.Len(-1)
	k := min(m, n)
	l, u := triangles(both, k)
	dl, du := dboth.Slice(-1, 0, k).Tril(-1), dboth.Slice(-2, 0, k).Triu(0)
	l1, u1, dl1, du1 := l.Slice(-2, 0, k), u.Slice(-1, 0, k), dl.Slice(-2, 0, k), du.Slice(-1, 0, k)
	lower, upper := Triangle{Unit: true, Transposed: true}, Triangle{Upper: true}
	var beyond Tensor // the gradient of the rest
	switch {
	case n > k:
		beyond = TriangularSolve(l1, du.Slice(-1, k, n), lower)
		dl1 = dl1.Sub(beyond.MatMul(u.Slice(-1, k, n).Transpose()))
	case m > k:
		beyond = TriangularSolve(u1, dl.Slice(-2, k, m).Transpose(), upper).Transpose()
		du1 = du1.Sub(l.Slice(-2, k, m).Transpose().MatMul(beyond))
	}
	inner := l1.Transpose().MatMul(dl1).Tril(-1).Add(du1.MatMul(u1.Transpose()).Triu(0))
	da := TriangularSolve(l1, TriangularSolve(u1, inner.Transpose(), upper).Transpose(), lower)
	switch {
	case n > k:
		da = tensor.Concat([]Tensor{da, beyond}, -1)
	case m > k:
		da = tensor.Concat([]Tensor{da, beyond}, -2)
	}
	return []Tensor{rows(da, perm.ArgSort(-1))}
}

// solve is a⁻¹·b of what was factorised, or a⁻ᵀ·b.
func (f factors) solve(op string, b Tensor, transposed bool) Tensor {
	x := like(f.both, b)
	if !transposed {
		x = triangular(op, f.both, rows(x, f.perm), Triangle{Unit: true})
		return like(b, triangular(op, f.both, x, Triangle{Upper: true}))
	}
	x = triangular(op, f.both, x, Triangle{Upper: true, Transposed: true})
	x = triangular(op, f.both, x, Triangle{Unit: true, Transposed: true})
	return like(b, rows(x, f.perm.ArgSort(-1)))
}

// Solve returns x of a·x = b for matrices a [… n n] and right-hand sides b [… n k], or [n] for one vector,
// which gives vectors [… n]. A singular matrix is an error. It is numpy.linalg.solve.
func Solve(a, b Tensor) Tensor { return solve("solve", a, b) }

func solve(op string, a, b Tensor) Tensor {
	square(op, a)
	x, y, vector := systems(op, a, b, func(_, n int) int { return n })
	return dropColumn(tensor.Custom(func(x ...Tensor) []Tensor {
		return []Tensor{factorsOf(op, x[0]).solve(op, x[1], false)}
	}, func(in, out, dout []Tensor) []Tensor {
		db := factorsOf(op, in[0]).solve(op, dout[0], true) // the planner factorises once
		return []Tensor{db.MatMul(out[0].Transpose()).Neg(), db}
	})(x, y)[0], vector)
}

// Inv returns the inverse of matrices a [… n n]. A singular one is an error. [Solve] takes less time and is
// more exact where the inverse is only a factor.
func Inv(a Tensor) Tensor {
	x, batch, n := square("inv", a)
	return solve("inv", x, eye(x, n).Expand(join(batch, n, n)...))
}

// Det returns the determinants [… ] of matrices a [… n n]; that of a singular one is 0, and its gradient is
// right to half of the digits of f64, or of f32 where a GPU's library computes.
func Det(a Tensor) Tensor {
	x, _, _ := square("det", a)
	return tensor.Custom(func(x ...Tensor) []Tensor {
		f := factorsOf("det", x[0])
		d := f.both.Diagonal(0).Prod(-1).Mul(f.sign.Squeeze(-2, -1))
		return []Tensor{like(x[0], tensor.Where(d.Eq(0), 0, d))} // which has no sign
	}, func(in, _, dout []Tensor) []Tensor {
		a := regular("det", in[0])
		return []Tensor{like(in[0], inverseTransposed("det", a).Mul(Det(a).Mul(like(a, dout[0])).Unsqueeze(-1).Unsqueeze(-1)))}
	})(x)[0]
}

// regular is a, but where LU finds it singular moved by the root of the resolution r. A determinant's
// derivatives, which are smooth, move as little; they are computed by division by about √r, which makes a
// rounding of r one of √r. The direction is random, as an axis may lead to singular matrices, and always the
// same.
func regular(op string, a Tensor) Tensor {
	f := factorsOf(op, a)
	x, n := like(f.both, a), a.Len(-1)
	way := like(x, tensor.NewRNG(1).Randn(n, n)).Mul(math.Sqrt(resolution(x)))
	size := x.Abs().SumKeep(-2, -1).Div(float64(n * n)) // where the largest of nothing is an error
	singular := f.both.Diagonal(0).Eq(0).Any(-1).Unsqueeze(-1).Unsqueeze(-1)
	return x.Add(way.Mul(tensor.Where(singular, tensor.Where(size.Eq(0), 1, size), 0).Detach()))
}

// Slogdet returns the sign (−1, 0 or 1) and the logarithm of the absolute value of the determinants [… ] of
// matrices a [… n n], which for large n no float may hold; of a singular one 0 and −Inf.
func Slogdet(a Tensor) (sign, logAbs Tensor) {
	x, _, _ := square("slogdet", a)
	both := tensor.Custom(func(x ...Tensor) []Tensor {
		f := factorsOf("slogdet", x[0])
		d := f.both.Diagonal(0)
		return []Tensor{like(x[0], d.Sign().Prod(-1).Mul(f.sign.Squeeze(-2, -1))), like(x[0], d.Abs().Log().Sum(-1))}
	}, func(in, _, dout []Tensor) []Tensor {
		return []Tensor{inverseTransposed("slogdet", in[0]).Mul(dout[1].Unsqueeze(-1).Unsqueeze(-1))}
	})(x)
	return both[0], both[1]
}

// inverseTransposed is a⁻ᵀ.
func inverseTransposed(op string, a Tensor) Tensor {
	_, batch, n, _ := matrix(op, a)
	return factorsOf(op, a).solve(op, eye(a, n).Expand(join(batch, n, n)...), true)
}
