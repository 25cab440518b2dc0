package linalg

import "math"

// Norm returns the norm of an order over axes of x, none meaning all, as of one vector:
// (Σ|x|^order)^(1/order); for order 0 how many elements are not 0, for ±Inf the largest or the smallest
// absolute value. Order 2 over the axes −2 and −1 is Frobenius' norm of matrices. It is
// torch.linalg.vector_norm.
func Norm(x Tensor, order float64, axes ...int) Tensor {
	x = floats("norm", x)
	switch {
	case order == 2:
		return x.Norm(axes...)
	case order == 1:
		return x.Abs().Sum(axes...)
	case order == 0:
		return x.Ne(0).Cast(x.DType()).Sum(axes...)
	case math.IsInf(order, 1):
		return x.Abs().Max(axes...)
	case math.IsInf(order, -1):
		return x.Abs().Min(axes...)
	case math.IsNaN(order):
		fail("norm", "got the order NaN, want a number")
	}
	return x.Abs().Pow(order).Sum(axes...).Pow(1 / order)
}

// MatrixNorm returns the norm [… ] of matrices a [… m n]: order 2 is the largest singular value, −2 the least
// one; 1 and −1 are the largest and the least sum of absolute values of a column, ±Inf of a row. Frobenius'
// norm is Norm(a, 2, -2, -1), the nuclear one [NuclearNorm].
func MatrixNorm(a Tensor, order float64) Tensor {
	x, _, _, _ := matrix("matrix_norm", a)
	axis := -1
	switch order {
	case 2, -2:
		s := SingularValues(x)
		if order == 2 {
			return s.Max(-1)
		}
		return s.Min(-1)
	case 1, -1:
		axis = -2
	case math.Inf(1), math.Inf(-1):
	default:
		fail("matrix_norm", "got the order %v, want 1, -1, 2, -2, +Inf or -Inf", order)
	}
	sums := x.Abs().Sum(axis)
	if order > 0 {
		return sums.Max(-1)
	}
	return sums.Min(-1)
}

// NuclearNorm returns the sum [… ] of the singular values of matrices a [… m n].
func NuclearNorm(a Tensor) Tensor { return SingularValues(a).Sum(-1) }
