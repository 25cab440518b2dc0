package tensor

import "math"

// odd computes an odd function from its right half: f gets |x|, and the sign comes back afterwards. Unlike
// Abs it has the gradient of the right half at 0.
func (t Tensor) odd(op string, f func(x Tensor) Tensor) Tensor {
	x := wrap(floats(t.node(op)))
	negative := x.Lt(0)
	y := f(Where(negative, x.Neg(), x))
	return Where(negative, y.Neg(), y)
}

// Tan of radians.
func (t Tensor) Tan() Tensor { return t.Sin().Div(t.Cos()) }

// Asin is the angle in [−π/2, π/2] with this sine; NaN outside of [−1, 1].
func (t Tensor) Asin() Tensor { return t.Atan2(t.cosine("asin")) }

// Acos is the angle in [0, π] with this cosine; NaN outside of [−1, 1].
func (t Tensor) Acos() Tensor { return t.cosine("acos").Atan2(t) }

// cosine is √(1 − x²), as a product: 1 − x² loses digits near ±1.
func (t Tensor) cosine(op string) Tensor {
	x := wrap(floats(t.node(op)))
	return x.Neg().Add(1).Mul(x.Add(1)).Sqrt()
}

// Atan is the angle in (−π/2, π/2) with this tangent.
func (t Tensor) Atan() Tensor { return t.Atan2(1) }

// Sinh is (eˣ − e⁻ˣ)/2, exact for small x.
func (t Tensor) Sinh() Tensor {
	return t.odd("sinh", func(x Tensor) Tensor {
		e := x.Minimum(1).Expm1()
		near := e.Add(e.Div(e.Add(1))).Mul(0.5)
		half := x.Mul(0.5).Exp() // eˣ in two factors, because eˣ overflows before eˣ/2 does
		far := half.Mul(0.5).Mul(half).Sub(x.Neg().Exp().Mul(0.5))
		return Where(x.Lt(1), near, far)
	})
}

// Cosh is (eˣ + e⁻ˣ)/2.
func (t Tensor) Cosh() Tensor {
	x := wrap(floats(t.real("cosh"))).Abs()
	half := x.Mul(0.5).Exp()
	return half.Mul(0.5).Mul(half).Add(x.Neg().Exp().Mul(0.5))
}

// huge is where x² + 1 = x² in every floating-point type that kernels compute in.
const huge = 1e8

// Asinh is the inverse of Sinh, exact for small x.
func (t Tensor) Asinh() Tensor {
	return t.odd("asinh", func(x Tensor) Tensor {
		a := x.Minimum(huge)
		root := a.Square().Add(1).Sqrt()
		near := a.Mul(a.Div(root.Add(1)).Add(1)).Log1p() // a product keeps the sign of 0
		return Where(x.Lt(huge), near, x.Maximum(1).Log().Add(math.Ln2))
	})
}

// Acosh is the inverse of Cosh, 0 or more; NaN below 1.
func (t Tensor) Acosh() Tensor {
	x := wrap(floats(t.node("acosh")))
	d := x.Minimum(huge).Sub(1)
	near := d.Add(d.Sqrt().Mul(d.Add(2).Sqrt())).Log1p() // two roots: the product would be positive again below −1
	return Where(x.Ge(huge), x.Maximum(1).Log().Add(math.Ln2), near)
}

// Atanh is the inverse of Tanh; ±Inf for ±1, NaN outside of [−1, 1].
func (t Tensor) Atanh() Tensor {
	return t.odd("atanh", func(x Tensor) Tensor {
		return x.Mul(2).Div(x.Neg().Add(1)).Log1p().Mul(0.5)
	})
}
