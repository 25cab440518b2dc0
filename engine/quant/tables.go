package quant

import (
	"maps"
	"math"
	"slices"
)

// Tables are the names of the tables that codes can stand for:
//
//	nf4   the quantiles of normal numbers of QLoRA (Dettmers and others 2023)
//	fp4   the floats of 4 bits of bitsandbytes
//	e2m1  those of MXFP4 and NVFP4 (OCP Microscaling Formats 1.0)
//	e4m3  floats of 8 bits without infinities (OCP 8-bit Floating Point 1.0)
//	iq4   the numbers of GGUF's IQ4_NL and IQ4_XS, and of others all that their grids have:
//	iq3xxs, iq3s, iq2, iq1
func Tables() []string { return slices.Sorted(maps.Keys(tables)) }

var tables = map[string][]float32{
	"nf4": {
		-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
		0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
	},
	"fp4": {
		0, 0.0052083334885537624, 0.6666666865348816, 1, 0.3333333432674408, 0.5, 0.1666666716337204, 0.25,
		0, -0.0052083334885537624, -0.6666666865348816, -1, -0.3333333432674408, -0.5, -0.1666666716337204, -0.25,
	},
	"e2m1":   signed(0, 0.5, 1, 1.5, 2, 3, 4, 6),
	"e4m3":   e4m3(),
	"iq4":    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113},
	"iq3xxs": signed(4, 12, 20, 28, 36, 44, 52, 62),
	"iq3s":   signed(1, 3, 5, 7, 9, 11, 13, 15),
	"iq2":    signed(8, 25, 43, 0, 0, 0, 0, 0),
	"iq1":    signed(0.125, 0.875, 1.125, 0, 0, 0, 0, 0),
}

// signed is a table whose codes have a sign in their highest bit.
func signed(magnitudes ...float32) []float32 {
	list := slices.Clone(magnitudes)
	for _, m := range magnitudes {
		list = append(list, 0-m) // not −0
	}
	return list
}

// e4m3 are the floats of a sign, 4 bits of exponent with the bias 7 and 3 of mantissa. The codes of NaN stand
// for NaN.
func e4m3() []float32 {
	list := make([]float32, 128)
	for code := range list {
		exponent, mantissa := code>>3, float64(code&7)
		if exponent == 0 {
			list[code] = float32(math.Ldexp(mantissa, -9))
		} else {
			list[code] = float32(math.Ldexp(8+mantissa, exponent-10))
		}
	}
	list[127] = float32(math.NaN())
	return signed(list...)
}

// Codes returns the table of that name, nil if there is none: what code i stands for, before it is scaled.
func Codes(table string) []float32 { return slices.Clone(tables[table]) }
