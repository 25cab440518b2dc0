package tensor

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Bitcast reads the bits of the elements as another dtype of the same size (NumPy's view).
func (t Tensor) Bitcast(dt dtype.Type) Tensor {
	return wrap(apply(ir.Bitcast, ir.Attr{DType: dt}, t.node("bitcast")))
}

// Shl moves the bits of integers up by y places: x·2ʸ, without the bits that leave the dtype. Where y is
// below 0, or as large as the dtype has bits, the result is 0, as NumPy's.
func (t Tensor) Shl(y Operand) Tensor { return combine(ir.Shl, t, y) }

// Shr moves the bits of integers down by y places: x/2ʸ rounded down. Where y is below 0, or as large as the
// dtype has bits, only the sign is left, 0 or −1, as NumPy's.
func (t Tensor) Shr(y Operand) Tensor { return combine(ir.Shr, t, y) }

// bits are those of x as a float of 32 bits, or of 64 for F64: integers of that size.
func (t Tensor) bits() Tensor {
	if t.DType() == dtype.F64 {
		return t.Bitcast(dtype.I64)
	}
	return t.Cast(dtype.F32).Bitcast(dtype.I32)
}

// Signbit says where x is below 0, or −0, or a NaN with that sign.
func (t Tensor) Signbit() Tensor {
	if t.DType().Int() || t.DType() == dtype.Bool {
		return t.Lt(0)
	}
	return t.bits().Lt(0)
}

// Copysign returns |x| with the sign of y, of which −0 and NaN have one, too.
func (t Tensor) Copysign(y Operand) Tensor {
	x, s := floatPair("copysign", t, y)
	size := x.Abs()
	return Where(s.Signbit(), size.Neg(), size)
}

// NextAfter returns the number of x's dtype that follows x on the way to y; y where both are equal.
func (t Tensor) NextAfter(y Operand) Tensor {
	x, to := floatPair("next_after", t, y)
	dt := x.DType()
	wide := dtype.F32
	if dt == dtype.F64 {
		wide = dtype.F64
	}
	// The bits of a float without its sign count up through all magnitudes; narrow ones are every so many of
	// F32's.
	step, least := 1, map[dtype.Type]float64{dtype.F16: 0x1p-24, dtype.BF16: 0x1p-133, dtype.F32: 0x1p-149, dtype.F64: 0x1p-1074}[dt]
	switch dt {
	case dtype.F16:
		step = 1 << 13
	case dtype.BF16:
		step = 1 << 16
	}
	grow := x.Lt(to).Eq(x.Gt(0))
	bits := x.bits()
	next := Where(grow, bits.Add(step), bits.Sub(step)).Bitcast(wide)
	if dt == dtype.F16 { // below 2⁻¹⁴ its numbers have equal distances, those of F32 have not
		small := x.Abs().Lt(0x1p-14).Or(x.Abs().Eq(0x1p-14).And(grow.Not()))
		apart := Where(x.Lt(to), least, -least)
		next = Where(small, x.Cast(wide).Add(apart), next)
	}
	next = Where(x.Eq(0), FullLike(next, least).Copysign(to.Cast(wide)), next)
	// Adding keeps NaN.
	next = Where(x.Eq(to), to.Cast(wide), Where(x.IsNaN().Or(to.IsNaN()), x.Add(to).Cast(wide), next))
	return next.Cast(dt)
}
