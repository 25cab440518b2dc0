package main

import "math"

// Errors in the comments are of the polynomial, in exact arithmetic with its rounded coefficients.

const (
	nearest = 8 // without raising the inexact flag
	down    = 9
	up      = 10
)

var (
	ln2High = float64(float32(math.Ln2))
	ln2Low  = math.Ln2 - ln2High
)

// powerOfTwo is p·2ⁿ for integral n, which may be so large or small that 2ⁿ itself does not exist.
func (k *kernel) powerOfTwo(p, n value) value {
	if k.set == avx512 {
		return k.apply(opScale, p, n)
	}
	whole := k.toInt(n)
	half := k.shiftSigned(whole, 1)
	one := k.bits(127)
	scale := func(e value) value { return k.shiftLeft(k.addInt(e, one), 23) }
	return k.mul(k.mul(p, scale(half)), scale(k.subInt(whole, half)))
}

// reduceExp returns n and eʳ−1 with x = n·ln 2 + r, |r| ≤ ln 2 / 2. The polynomial's error is 1e-10.
func (k *kernel) reduceExp(x value) (n, q value) {
	n = k.round(k.mul(x, k.c(math.Log2E)), nearest)
	r := k.fnma(n, k.c(ln2High), x)
	r = k.fnma(n, k.c(ln2Low), r)
	p := k.poly(r, 0.5, 1.6666667e-01, 4.1666456e-02, 8.333207e-03, 1.3935938e-03, 1.9945031e-04)
	return n, k.fma(k.mul(r, r), p, r)
}

// exp is 0 below −105 and infinite from 89 on; NaN passes.
func (k *kernel) exp(x value) value { return k.expAtMost89(k.min(k.c(89), x)) }

// expAtMost89 is exp for x that are at most 89, or NaN.
func (k *kernel) expAtMost89(x value) value {
	x = k.max(k.c(-105), x)
	if k.set == avx512 {
		p, n := k.expByPowers(x, true)
		return k.apply(opScale, p, n)
	}
	n, q := k.reduceExp(x)
	return k.powerOfTwo(k.add(q, k.c(1)), n)
}

// smallestExp is where eˣ reaches the smallest normal number.
const smallestExp = -87.3365

// expOfDifference is expAtMost89 for an x that is a rounded difference. Its rounding error is larger than the
// lower digits of ln 2, so it leaves them out. A result below the smallest normal number is 0, because
// processors take a hundred times as long for such results, and masked scores, which are −Inf, are many.
func (k *kernel) expOfDifference(x value) value {
	const notLess = 21
	if k.set == avx512 {
		p, n := k.expByPowers(x, false)
		return k.apply(opScaleWhere, k.compare(notLess, x, k.c(smallestExp)), p, n)
	}
	n, q := k.reduceExp(k.max(k.c(smallestExp), x))
	return k.where(k.compare(lt, x, k.c(smallestExp)), k.c(0), k.powerOfTwo(k.add(q, k.c(1)), n))
}

// expByPowers returns p and n so that eˣ is p times 2 to the next integer that is not above n. It writes x =
// n·ln 2 + r with n a multiple of 1/16 and |r| ≤ ln 2 / 32; p is one of sixteen powers times eʳ. The
// polynomial's error is 1.6e-9. Rounding to multiples of 1/16 is done by adding a number so large that they
// are its last digits; the lowest four of them name the power.
func (k *kernel) expByPowers(x value, precise bool) (p, n value) {
	large := k.c(3 << 18)
	digits := k.fma(x, k.c(math.Log2E), large)
	n = k.sub(digits, large)
	r := k.fnma(n, k.c(ln2High), x)
	if precise {
		r = k.fnma(n, k.c(ln2Low), r)
	}
	power := k.apply(opLookup, digits, k.apply(opPowers))
	q := k.mul(r, k.poly(r, 1, 5.0001621e-01, 1.6666074e-01))
	return k.fma(power, q, power), n
}

// quotient is a/b for normal b far from the largest and smallest numbers, as 1 + eˣ is. AVX-512's division
// takes as long as thirty other instructions: where there are not so many others beside it, this is faster.
func (k *kernel) quotient(a, b value) value {
	if k.set != avx512 {
		return k.div(a, b)
	}
	r := k.apply(opNearRecip, b)
	r = k.fma(r, k.fnma(b, r, k.c(1)), r)
	q := k.mul(a, r)
	return k.fma(r, k.fnma(q, b, a), q)
}

// expm1 is 2·(h·(q+1) − ½) with h = 2ⁿ⁻¹, so that h exists even where 2ⁿ would be infinite.
func (k *kernel) expm1(x value) value {
	n, q := k.reduceExp(k.max(k.c(-30), k.min(k.c(88.9), x)))
	h := k.shiftLeft(k.addInt(k.toInt(n), k.bits(126)), 23)
	y := k.fma(h, q, k.sub(h, k.c(0.5)))
	return k.or(k.add(y, y), k.signOf(x)) // −0 stays
}

// log is the logarithm of u, plus low where low is far below an ulp of u's distance to 1 (0 for none).
// With u = 2ᵉ·(1+f), √½ ≤ 1+f < √2, log(1+f) = f − f²/2 + f³·Q(f); the relative error is 8e-10.
func (k *kernel) log(u value, low *value) value {
	tiny := k.compare(lt, u, k.c(0x1p-126))
	y := k.where(tiny, k.mul(u, k.c(0x1p23)), u)
	bias := k.bits(0x3f3504f3) // √½
	bits := k.subInt(y, bias)
	e := k.toFloat(k.shiftSigned(bits, 23))
	e = k.sub(e, k.where(tiny, k.c(23), k.c(0)))
	m := k.addInt(k.and(bits, k.bits(0x7fffff)), bias)
	f := k.sub(m, k.c(1))
	q := k.poly(f, 3.333331e-01, -2.4999999e-01, 2.000222e-01, -1.6668479e-01, 1.4218035e-01, -1.23981014e-01,
		1.1892753e-01, -1.1716151e-01, 6.780197e-02)
	s := k.mul(f, f)
	r := k.mul(e, k.c(ln2Low))
	if low != nil {
		r = k.add(r, *low)
	}
	r = k.fma(s, k.mul(f, q), r)
	r = k.fnma(k.c(0.5), s, r)
	r = k.fma(e, k.c(ln2High), k.add(f, r))
	r = k.where(k.compare(eq, u, k.c(math.Inf(1))), u, r)
	const notGreaterOrEqual = 9
	r = k.where(k.compare(notGreaterOrEqual, u, k.c(0)), k.bits(0x7fc00000), r)
	return k.where(k.compare(eq, u, k.c(0)), k.c(math.Inf(-1)), r)
}

// log1p takes what 1+x lost to rounding into account.
func (k *kernel) log1p(x value) value {
	one := k.c(1)
	u := k.add(one, x)
	lost := k.where(k.compare(gt, x, one), k.sub(one, k.sub(u, x)), k.sub(x, k.sub(u, one)))
	lost = k.div(lost, u)
	r := k.log(u, &lost)
	r = k.where(k.compare(eq, u, k.c(math.Inf(1))), u, r)
	return k.or(r, k.signOf(x))
}

// sigmoid is 1/(1+e⁻ˣ), or eˣ/(1+eˣ) for negative x, where it must not lose digits.
func (k *kernel) sigmoid(x value) value {
	e := k.expAtMost89(k.or(x, k.bits(0x80000000)))
	one := k.c(1)
	return k.quotient(k.where(k.compare(lt, x, k.c(0)), e, one), k.add(one, e))
}

func (k *kernel) tanh(x value) value {
	a := k.min(k.c(10), k.abs(x)) // 1 beyond
	t := k.expm1(k.add(a, a))
	return k.or(k.div(t, k.add(t, k.c(2))), k.signOf(x))
}

// erf is x + x·P(x²) up to 0.92 (error 9e-10), and 1 − exp(−t + P(t)) from there on (error 2e-9).
func (k *kernel) erf(x value) value {
	t := k.abs(x)
	p := k.poly(k.mul(x, x), 1.2837917e-01, -3.761263e-01, 1.1283626e-01, -2.6855731e-02, 5.192405e-03, -8.0497697e-04, 7.99665e-05)
	near := k.fma(p, x, x)
	c := k.min(k.c(4), t)
	q := k.poly(c, -1.9566654e-04, -1.2767567e-01, -6.371822e-01, -1.0393166e-01, 2.2226948e-02, -3.0432243e-03, 1.9593808e-04)
	n, e := k.reduceExp(k.sub(q, c))
	far := k.sub(k.c(1), k.powerOfTwo(k.add(e, k.c(1)), n))
	return k.where(k.compare(gt, t, k.c(0.92)), k.or(far, k.signOf(x)), near)
}

// gelu is x·½·erfc(−x/√2), with erfc(t) = e⁻ᵗ²·u·P(1−u), u = 1/(1+0.4t), for t ≥ 0 (error 9e-9). The part of
// x² that rounding loses is put back, because the exponential would enlarge it.
func (k *kernel) gelu(x value) value {
	t := k.min(k.c(16), k.mul(k.abs(x), k.c(math.Sqrt2/2)))
	one, half := k.c(1), k.c(0.5)
	u := k.div(one, k.fma(t, k.c(0.4), one))
	w := k.mul(k.mul(t, k.c(0.4)), u) // 1 − u
	p := k.poly(w, 1, -1.820949e+00, 1.6081449e+00, -4.6734113e-01, -2.648389e-01, 1.15497425e-01, 1.13469005e-01,
		-1.9395713e-02, -6.846508e-02, 2.958457e-02)
	y := k.min(k.c(20), k.abs(x)) // e⁻ʸ²ᐟ² is 0 from 15 on
	square := k.mul(y, y)
	lost := k.mul(half, k.fnma(y, y, square)) // (y² rounded − y²)/2
	e := k.expAtMost89(k.mul(square, k.c(-0.5)))
	e = k.fma(e, lost, e)
	tail := k.mul(k.mul(u, p), e)
	return k.mul(k.mul(x, half), k.where(k.compare(lt, x, k.c(0)), tail, k.sub(k.c(2), tail)))
}

// geluTanh is x·½·(1+tanh(√(2/π)·(x+0.044715x³))), which is x·sigmoid of twice the argument.
func (k *kernel) geluTanh(x value) value {
	scale := 2 * math.Sqrt(2/math.Pi)
	z := k.mul(x, k.fma(k.mul(x, x), k.c(scale*0.044715), k.c(scale)))
	return k.mul(x, k.sigmoid(z))
}

// sinCos is sin(x + quarter·π/2) for |x| up to some 10⁵: x = n·π/2 + r with π/2 in three parts (Cody and
// Waite).
func (k *kernel) sinCos(x value, quarter uint32) value {
	high := float64(float32(math.Pi / 2))
	middle := float64(float32(math.Pi/2 - high))
	const low = -1.7151245100059193e-15 // π/2 − high − middle
	n := k.round(k.mul(x, k.c(2/math.Pi)), nearest)
	r := k.fnma(n, k.c(high), x)
	r = k.fnma(n, k.c(middle), r)
	r = k.fnma(n, k.c(low), r)
	q := k.toInt(n)
	if quarter != 0 {
		q = k.addInt(q, k.bits(quarter))
	}
	return k.sinCosReduced(r, q)
}

// sin keeps the sign of 0, which the reduction loses.
func (k *kernel) sin(x value) value {
	return k.where(k.compare(eq, x, k.c(0)), x, k.sinCos(x, 0))
}

// sinCosReduced is sin(r + q·π/2) for |r| ≤ π/4 and integers q: a polynomial for sin r (error 2e-10) or
// cos r (error 6e-12).
func (k *kernel) sinCosReduced(r, q value) value {
	s := k.mul(r, r)
	sin := k.fma(k.mul(r, s), k.poly(s, -1.6666667e-01, 8.333379e-03, -1.9852983e-04, 2.8308016e-06), r)
	cos := k.fnma(k.c(0.5), s, k.c(1))
	cos = k.fma(k.mul(s, s), k.poly(s, 4.1666668e-02, -1.388898e-03, 2.4821911e-05, -2.8859313e-07), cos)
	odd := k.shiftLeft(q, 31)
	isOdd := k.equalInt(k.shiftSigned(odd, 31), k.bits(0xffffffff))
	sign := k.shiftLeft(k.and(q, k.bits(2)), 30)
	return k.xor(k.where(isOdd, cos, sin), sign)
}

func (k *kernel) sign(x value) value {
	zero := k.c(0)
	negative := k.where(k.compare(lt, x, zero), k.c(-1), x)
	return k.where(k.compare(gt, x, zero), k.c(1), negative)
}

// maximum is NaN if a or b is; the instruction takes care of b, and NEON's of both.
func (k *kernel) maximum(a, b value) value { return k.orNaN(a, b, k.max) }
func (k *kernel) minimum(a, b value) value { return k.orNaN(a, b, k.min) }

func (k *kernel) orNaN(a, b value, f func(a, b value) value) value {
	if k.set == neon {
		return f(a, b)
	}
	return k.where(k.isNaN(a), a, f(a, b))
}

// toBF16 gives the upper 16 bits, rounded to nearest even, in 32-bit lanes.
func (k *kernel) toBF16(x value) value {
	odd := k.and(k.shiftRight(x, 16), k.bits(1))
	rounded := k.shiftRight(k.addInt(k.addInt(x, k.bits(0x7fff)), odd), 16)
	quiet := k.or(k.shiftRight(x, 16), k.bits(0x40))
	return k.where(k.isNaN(x), quiet, rounded)
}
