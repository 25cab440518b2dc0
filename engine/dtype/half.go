package dtype

import "math"

// F16ToFloat32 widens an IEEE 754 binary16; every value has an exact float32.
func F16ToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac · 2⁻²⁴
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// Float32ToF16 rounds to the nearest binary16, ties to even; what is too large becomes infinite, a NaN stays
// one.
func Float32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN: keep the payload's upper bits, and keep it a NaN
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 65536 and above
		return sign | 0x7c00
	case b < 0x38800000: // below 2⁻¹⁴: a subnormal. Adding 0.5 lets the addition do the rounding.
		r := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(r)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // half a unit, a little less when the last kept bit is even
	return sign | uint16(b>>13-(127-15)<<10)
}

// BF16ToFloat32 widens a bfloat16: it is the upper half of a float32.
func BF16ToFloat32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Float32ToBF16 rounds to the nearest bfloat16, ties to even; a NaN stays one.
func Float32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
