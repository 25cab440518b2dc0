package tensor

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// floatPair brings two operands to one floating-point dtype and one shape.
func floatPair(op string, t Tensor, y Operand) (a, b Tensor) {
	p, q := pair(op, t, y)
	for _, n := range []*ir.Node{p, q} {
		wrap(n).real(op)
	}
	a, b = wrap(floats(p)), wrap(floats(q))
	if shape := broadcast(op, p, q); len(shape) > 0 { // a number stays one elsewhere, where the op broadcasts it
		a, b = a.Expand(shape...), b.Expand(shape...)
	}
	return a, b
}

// widely computes in F32 what is narrower, so that several roundings do not add up.
func widely(x Tensor, f func(x Tensor) Tensor) Tensor {
	if dt := x.DType(); dt.Size() == 2 {
		return f(x.Cast(dtype.F32)).Cast(dt)
	}
	return f(x)
}

// logarithm is the logarithm to a base: exact for the powers of the base that Pow gives back.
func (t Tensor) logarithm(op string, base float64) Tensor {
	return widely(wrap(floats(t.node(op))), func(x Tensor) Tensor {
		y := x.Log().Div(math.Log(base))
		whole := y.Detach().Round()
		off := whole.Sub(y)
		exact := FullLike(x, base).Pow(whole).Eq(x).And(off.Abs().Lt(1e-3)) // further away, the power was rounded to x
		return y.Add(Where(exact, off, 0).Detach())
	})
}

// Log2 returns the logarithm to base 2, exact for powers of 2.
func (t Tensor) Log2() Tensor { return t.logarithm("log2", 2) }

// Log10 returns the logarithm to base 10.
func (t Tensor) Log10() Tensor { return t.logarithm("log10", 10) }

// Exp2 returns 2ˣ.
func (t Tensor) Exp2() Tensor {
	return widely(wrap(floats(t.node("exp2"))), func(x Tensor) Tensor { return FullLike(x, 2).Pow(x) })
}

// Trunc rounds towards 0.
func (t Tensor) Trunc() Tensor {
	if n := t.node("trunc"); n.DType == dtype.Bool {
		fail("trunc", "got %v, want numbers", n)
	}
	return Where(t.Lt(0), t.Ceil(), t.Floor())
}

// Cbrt returns the cube root, also of numbers below 0.
func (t Tensor) Cbrt() Tensor {
	return t.odd("cbrt", func(x Tensor) Tensor {
		return widely(x, func(x Tensor) Tensor {
			root := x.Pow(1. / 3)
			some := x.Ne(0).And(x.IsFinite())
			// One step of Newton's method, for the last digit; the gradient is that of the root itself.
			step := Where(some, root.Sub(x.Div(root.Square())).Div(3), 0)
			return root.Sub(step.Detach())
		})
	})
}

// IsFinite says where x is neither infinite nor NaN.
func (t Tensor) IsFinite() Tensor {
	x := wrap(floats(t.node("is_finite")))
	return x.Sub(x).Eq(0)
}

// IsInf says where x is +Inf or −Inf.
func (t Tensor) IsInf() Tensor {
	x := wrap(floats(t.node("is_inf")))
	return x.Abs().Eq(math.Inf(1))
}

// Hypot returns √(x² + y²) without overflow; it is infinite if either is, even beside a NaN.
func (t Tensor) Hypot(y Operand) Tensor {
	x, z := floatPair("hypot", t, y)
	dt := x.DType()
	if dt.Size() == 2 {
		x, z = x.Cast(dtype.F32), z.Cast(dtype.F32)
	}
	a, b := x.Abs(), z.Abs()
	long, short := a.Maximum(b), a.Minimum(b)
	ratio := short.Div(Where(long.Eq(0), 1, long))
	r := long.Mul(ratio.Square().Add(1).Sqrt())
	return Where(a.Eq(math.Inf(1)).Or(b.Eq(math.Inf(1))), math.Inf(1), r).Cast(dt)
}

// LogAddExp returns ln(eˣ + eʸ) without overflow.
func (t Tensor) LogAddExp(y Operand) Tensor {
	x, z := floatPair("log_add_exp", t, y)
	dt := x.DType()
	if dt.Size() == 2 {
		x, z = x.Cast(dtype.F32), z.Cast(dtype.F32)
	}
	apart := Where(x.Eq(z), 0, x.Sub(z)).Abs() // equal infinities are not apart
	return x.Maximum(z).Add(apart.Neg().Exp().Log1p()).Cast(dt)
}

// Lerp returns x + w·(y − x): x where w is 0, y where it is 1.
func (t Tensor) Lerp(y Tensor, w Operand) Tensor {
	p, q := pair("lerp", t, y)
	x, z := wrap(floats(p)), wrap(floats(q))
	return x.Add(z.Sub(x).Mul(w))
}

// Softplus is ln(1 + eˣ).
func (t Tensor) Softplus() Tensor {
	x := wrap(floats(t.node("softplus")))
	return x.LogAddExp(0)
}

// LogSigmoid is ln Sigmoid(x), without its rounding.
func (t Tensor) LogSigmoid() Tensor {
	return wrap(floats(t.node("log_sigmoid"))).Neg().Softplus().Neg()
}

// Elu is x, and alpha·(eˣ − 1) below 0.
func (t Tensor) Elu(alpha float64) Tensor {
	x := wrap(floats(t.node("elu")))
	return Where(x.Le(0), x.bounded(ir.Min, 0).Expm1().Mul(alpha), x)
}

// LeakyRelu is x, and slope·x below 0.
func (t Tensor) LeakyRelu(slope float64) Tensor {
	x := wrap(floats(t.node("leaky_relu")))
	return Where(x.Le(0), x.Mul(slope), x)
}
