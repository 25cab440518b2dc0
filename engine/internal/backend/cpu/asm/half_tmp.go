package asm

import "math"

type vecT struct{}

var vec vecT

func (vecT) BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F16ToF32 widens an IEEE 754 binary16.
func (vecT) F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // zero or subnormal: frac·2⁻²⁴ is exact
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 0x1f:
		if frac != 0 {
			frac |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}
