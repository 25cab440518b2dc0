//go:build amd64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

type (
	quantDot32   func(groups, lines int, codes *byte, block int, x *byte, row int, scales *float32, scaleBlock int, zeros *byte, zeroStep, zeroBlock int, c *float32, ldc int)
	quantDot16   func(groups, lines int, codes *byte, block int, x *byte, row int, scales *uint16, scaleBlock int, zeros *byte, zeroStep, zeroBlock int, c *float32, ldc int)
	quantFloat32 func(groups, lines int, codes *byte, x *float32, scales *float32, zeros *byte, zeroStep int, c *float32)
	quantFloat16 func(groups, lines int, codes *byte, x *float32, scales *uint16, zeros *byte, zeroStep int, c *float32)
	dequantize32 func(groups, lines int, codes *byte, scales *float32, zeros *byte, zeroStep int, dst *float32, ldd int)
	dequantize16 func(groups, lines int, codes *byte, scales *uint16, zeros *byte, zeroStep int, dst *float32, ldd int)
)

// Indices of the shapes of quantDot, by rows and blocks.
const (
	dot1x1 = iota
	dot1x4
	dot2x1
	dot2x2
	dot4x1
)

// Kernels by bits (8, 4), those with a table behind those without, and by shape or set.
var (
	quantDotF32 = [2][5]quantDot32{
		{quantDot8x1x1F32, quantDot8x1x4F32, quantDot8x2x1F32, quantDot8x2x2F32, quantDot8x4x1F32},
		{quantDot4x1x1F32, quantDot4x1x4F32, quantDot4x2x1F32, quantDot4x2x2F32, quantDot4x4x1F32},
	}
	quantDotBF16 = [2][5]quantDot16{
		{quantDot8x1x1BF16, quantDot8x1x4BF16, quantDot8x2x1BF16, quantDot8x2x2BF16, quantDot8x4x1BF16},
		{quantDot4x1x1BF16, quantDot4x1x4BF16, quantDot4x2x1BF16, quantDot4x2x2BF16, quantDot4x4x1BF16},
	}
	quantFloatF32 = [4][3]quantFloat32{
		{isa.AVX2: quantFloat8F32AVX2, isa.AVX512: quantFloat8F32AVX512}, {isa.AVX2: quantFloat4F32AVX2, isa.AVX512: quantFloat4F32AVX512},
		{isa.AVX2: quantTable8F32AVX2, isa.AVX512: quantTable8F32AVX512}, {isa.AVX2: quantTable4F32AVX2, isa.AVX512: quantTable4F32AVX512},
	}
	quantFloatBF16 = [4][3]quantFloat16{
		{isa.AVX2: quantFloat8BF16AVX2, isa.AVX512: quantFloat8BF16AVX512}, {isa.AVX2: quantFloat4BF16AVX2, isa.AVX512: quantFloat4BF16AVX512},
		{isa.AVX2: quantTable8BF16AVX2, isa.AVX512: quantTable8BF16AVX512}, {isa.AVX2: quantTable4BF16AVX2, isa.AVX512: quantTable4BF16AVX512},
	}
	dequantizeF32 = [4][3]dequantize32{
		{isa.AVX2: dequantize8F32AVX2, isa.AVX512: dequantize8F32AVX512}, {isa.AVX2: dequantize4F32AVX2, isa.AVX512: dequantize4F32AVX512},
		{isa.AVX2: dequantizeTable8F32AVX2, isa.AVX512: dequantizeTable8F32AVX512},
		{isa.AVX2: dequantizeTable4F32AVX2, isa.AVX512: dequantizeTable4F32AVX512},
	}
	dequantizeBF16 = [4][3]dequantize16{
		{isa.AVX2: dequantize8BF16AVX2, isa.AVX512: dequantize8BF16AVX512}, {isa.AVX2: dequantize4BF16AVX2, isa.AVX512: dequantize4BF16AVX512},
		{isa.AVX2: dequantizeTable8BF16AVX2, isa.AVX512: dequantizeTable8BF16AVX512},
		{isa.AVX2: dequantizeTable4BF16AVX2, isa.AVX512: dequantizeTable4BF16AVX512},
	}
	quantSumsF32    = [3]func(int, *float32, *float32, *float32){isa.AVX2: quantSumsF32AVX2, isa.AVX512: quantSumsF32AVX512}
	quantSumsBF16   = [3]func(int, *float32, *uint16, *float32){isa.AVX2: quantSumsBF16AVX2, isa.AVX512: quantSumsBF16AVX512}
	addMinimumsF32  = [3]func(int, int, *float32, *float32, int){isa.AVX2: addMinimumsF32AVX2, isa.AVX512: addMinimumsF32AVX512}
	addMinimumsBF16 = [3]func(int, int, *uint16, *float32, int){isa.AVX2: addMinimumsBF16AVX2, isa.AVX512: addMinimumsBF16AVX512}
)

// integerDot reports whether there are dot products of bytes in vectors of 512 bits.
func integerDot() bool { return isa.HasByteDot() }

func digitsVector(to *byte, x *float32, n int) bool {
	var ok int
	digitsAVX512(to, x, n, &ok)
	return ok == 1
}

// which returns the index of the kernels for the weight's codes.
func (q *Quant) which() int {
	at := 0
	if q.Bits == 4 {
		at = 1
	}
	if q.Form == ir.Table {
		at += 2
	}
	return at
}

// multiplyDigits multiplies one to four rows by whole blocks.
func (q *Quant) multiplyDigits(x *QuantInput, row, rows, block, blocks int, c *float32, ldc int) {
	for done := 0; rows > 0; {
		m, shape, many, n := 1, dot1x1, dot1x4, 4
		switch {
		case rows >= 4:
			m, shape, many, n = 4, dot4x1, dot4x1, 1
		case rows >= 2:
			m, shape, many, n = 2, dot2x1, dot2x2, 2
		}
		for b := 0; b < blocks; {
			step, s := 1, shape
			if blocks-b >= n {
				step, s = n, many
			}
			q.dot(s, x, row, block+b, offset(c, done*ldc+b*Lanes), ldc)
			b += step
		}
		row, rows, done = row+m, rows-m, done+m
	}
}

func (q *Quant) dot(shape int, x *QuantInput, row, block int, c *float32, ldc int) {
	stride := q.Groups * q.record()
	d, codes := &x.digits[row*stride], (*byte)(q.codes(block, 0))
	zeros, step := q.zeros(block, 0)
	if q.Scale == F32 {
		quantDotF32[q.which()][shape](q.Groups, q.lines(), codes, q.blockBytes(), d, stride, (*float32)(q.scales(block, 0)), 4*Lanes*q.Groups, zeros, step, step*q.Groups, c, 4*ldc)
		return
	}
	quantDotBF16[q.which()][shape](q.Groups, q.lines(), codes, q.blockBytes(), d, stride, (*uint16)(q.scales(block, 0)), 2*Lanes*q.Groups, zeros, step, step*q.Groups, c, 4*ldc)
}

// multiplyVector multiplies a row by a block. It returns false if the machine has no vectors.
func (q *Quant) multiplyVector(x *float32, block int, c *float32) bool {
	if isa.Level() == isa.Portable {
		return false
	}
	codes := (*byte)(q.codes(block, 0))
	zeros, step := q.zeros(block, 0)
	if q.Scale == F32 {
		quantFloatF32[q.which()][isa.Level()](q.Groups, q.lines(), codes, x, (*float32)(q.scales(block, 0)), zeros, step, c)
	} else {
		quantFloatBF16[q.which()][isa.Level()](q.Groups, q.lines(), codes, x, (*uint16)(q.scales(block, 0)), zeros, step, c)
	}
	return true
}

// dequantizeVector writes count inputs, from input first on, of each of some groups of a block. It returns
// false if the machine has no vectors.
func (q *Quant) dequantizeVector(block, group, groups, first, count int, dst *float32, ldd int) bool {
	if isa.Level() == isa.Portable {
		return false
	}
	lines, skip := count/q.perLine(), first/q.perLine()*4*Lanes
	codes := (*byte)(unsafe.Add(q.codes(block, group), skip))
	zeros, step := q.zeros(block, group)
	if q.Scale == F32 {
		dequantizeF32[q.which()][isa.Level()](groups, lines, codes, (*float32)(q.scales(block, group)), zeros, step, dst, 4*ldd)
	} else {
		dequantizeBF16[q.which()][isa.Level()](groups, lines, codes, (*uint16)(q.scales(block, group)), zeros, step, dst, 4*ldd)
	}
	switch {
	case q.Form != ir.Minimums:
	case q.Scale == F32:
		addMinimumsF32[isa.Level()](groups, count, (*float32)(q.minimums(block, group)), dst, 4*ldd)
	default:
		addMinimumsBF16[isa.Level()](groups, count, (*uint16)(q.minimums(block, group)), dst, 4*ldd)
	}
	return true
}

// multiplySumsVector is multiplySums. It returns false if the machine has no vectors.
func (q *Quant) multiplySumsVector(sums *float32, block int, c *float32) bool {
	if isa.Level() == isa.Portable {
		return false
	}
	if q.Scale == F32 {
		quantSumsF32[isa.Level()](q.Groups, sums, (*float32)(q.minimums(block, 0)), c)
	} else {
		quantSumsBF16[isa.Level()](q.Groups, sums, (*uint16)(q.minimums(block, 0)), c)
	}
	return true
}
