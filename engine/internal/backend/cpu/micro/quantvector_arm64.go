//go:build arm64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

type (
	quantDot32   func(groups, lines int, codes *byte, x *byte, row int, scales *float32, zeros *byte, zeroStep int, c *float32, ldc int)
	quantDot16   func(groups, lines int, codes *byte, x *byte, row int, scales *uint16, zeros *byte, zeroStep int, c *float32, ldc int)
	quantFloat32 func(groups, lines int, codes *byte, x *float32, scales *float32, zeros *byte, zeroStep int, c *float32)
	quantFloat16 func(groups, lines int, codes *byte, x *float32, scales *uint16, zeros *byte, zeroStep int, c *float32)
	dequantize32 func(groups, lines int, codes *byte, scales *float32, zeros *byte, zeroStep int, dst *float32, ldd int)
	dequantize16 func(groups, lines int, codes *byte, scales *uint16, zeros *byte, zeroStep int, dst *float32, ldd int)
)

// Kernels by bits (8, 4). Those of digits are also by rows (1, 2), with and without dot products of bytes.
var (
	quantDotF32 = [2][3]quantDot32{
		{quantDot8x1F32NEON, quantDot8x2F32NEON, quantMull8F32NEON}, {quantDot4x1F32NEON, quantDot4x2F32NEON, quantMull4F32NEON},
	}
	quantDotBF16 = [2][3]quantDot16{
		{quantDot8x1BF16NEON, quantDot8x2BF16NEON, quantMull8BF16NEON}, {quantDot4x1BF16NEON, quantDot4x2BF16NEON, quantMull4BF16NEON},
	}
	quantFloatF32  = [2]quantFloat32{quantFloat8F32NEON, quantFloat4F32NEON}
	quantFloatBF16 = [2]quantFloat16{quantFloat8BF16NEON, quantFloat4BF16NEON}
	dequantizeF32  = [2]dequantize32{dequantize8F32NEON, dequantize4F32NEON}
	dequantizeBF16 = [2]dequantize16{dequantize8BF16NEON, dequantize4BF16NEON}
)

// integerDot reports whether products are computed from digits: NEON always has products of bytes.
func integerDot() bool { return isa.Level() == isa.NEON }

func digitsVector(to *byte, x *float32, n int) bool {
	var ok int
	digitsNEON(to, x, n, &ok)
	return ok == 1
}

// which returns the index of the kernels for the weight's codes.
func (q *Quant) which() int {
	if q.Bits == 4 {
		return 1
	}
	return 0
}

// multiplyDigits multiplies one to four rows by whole blocks.
func (q *Quant) multiplyDigits(x *QuantInput, row, rows, block, blocks int, c *float32, ldc int) {
	for done := 0; rows > 0; {
		m, shape := 1, 0
		switch {
		case !isa.HasByteDot():
			shape = 2
		case rows >= 2:
			m, shape = 2, 1
		}
		for b := range blocks {
			q.dot(shape, x, row, block+b, offset(c, done*ldc+b*Lanes), ldc)
		}
		row, rows, done = row+m, rows-m, done+m
	}
}

func (q *Quant) dot(shape int, x *QuantInput, row, block int, c *float32, ldc int) {
	stride := q.Groups * q.record()
	d, codes := &x.digits[row*stride], (*byte)(q.codes(block, 0))
	zeros, step := q.zeros(block, 0)
	if q.Scale == F32 {
		quantDotF32[q.which()][shape](q.Groups, q.lines(), codes, d, stride, (*float32)(q.scales(block, 0)), zeros, step, c, 4*ldc)
		return
	}
	quantDotBF16[q.which()][shape](q.Groups, q.lines(), codes, d, stride, (*uint16)(q.scales(block, 0)), zeros, step, c, 4*ldc)
}

// multiplyVector multiplies a row by a block. It returns false if the machine has no vectors, or the weight
// has a table.
func (q *Quant) multiplyVector(x *float32, block int, c *float32) bool {
	if isa.Level() == isa.Portable || q.Form == ir.Table {
		return false
	}
	codes := (*byte)(q.codes(block, 0))
	zeros, step := q.zeros(block, 0)
	if q.Scale == F32 {
		quantFloatF32[q.which()](q.Groups, q.lines(), codes, x, (*float32)(q.scales(block, 0)), zeros, step, c)
	} else {
		quantFloatBF16[q.which()](q.Groups, q.lines(), codes, x, (*uint16)(q.scales(block, 0)), zeros, step, c)
	}
	return true
}

// dequantizeVector writes count inputs, from input first on, of each of some groups of a block. It returns
// false if the machine has no vectors, or the weight has a table or minimums.
func (q *Quant) dequantizeVector(block, group, groups, first, count int, dst *float32, ldd int) bool {
	if isa.Level() == isa.Portable || q.Form == ir.Table || q.Form == ir.Minimums {
		return false
	}
	lines, skip := count/q.perLine(), first/q.perLine()*4*Lanes
	codes := (*byte)(unsafe.Add(q.codes(block, group), skip))
	zeros, step := q.zeros(block, group)
	if q.Scale == F32 {
		dequantizeF32[q.which()](groups, lines, codes, (*float32)(q.scales(block, group)), zeros, step, dst, 4*ldd)
	} else {
		dequantizeBF16[q.which()](groups, lines, codes, (*uint16)(q.scales(block, group)), zeros, step, dst, 4*ldd)
	}
	return true
}

// multiplySumsVector leaves multiplySums to Go.
func (q *Quant) multiplySumsVector(*float32, int, *float32) bool { return false }
