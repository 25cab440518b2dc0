package micro

import (
	"math"
	"sync/atomic"
	"unsafe"
)

var portable = &Kernel{Rows: 4, Cols: 4, lanes: 4, widths: []microFunc{matmulPortable}}

// matmulPortable is the 4×4 micro-kernel in Go. It takes two rows at a time, because their sums fit the
// registers.
func matmulPortable(k int, a, b *float32, ldb int, c *float32, ldc int, rows, cols, add int) {
	for i := 0; i < rows; i += 2 {
		s := twoRows(k, unsafe.Add(unsafe.Pointer(a), 4*i), unsafe.Pointer(b), ldb)
		for r := range min(2, rows-i) {
			row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), (i+r)*ldc)), cols)
			for j := range row {
				if add != 0 {
					row[j] += s[r][j]
				} else {
					row[j] = s[r][j]
				}
			}
		}
	}
}

// twoRows multiplies two rows of a panel by four columns. It uses scalars, because Go keeps no arrays in
// registers.
func twoRows(k int, a, b unsafe.Pointer, ldb int) [2][4]float32 {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	for p := range k {
		x, y := (*[2]float32)(unsafe.Add(a, 16*p)), (*[4]float32)(unsafe.Add(b, ldb*p))
		x0, x1 := x[0], x[1]
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		s00 += x0 * y0
		s01 += x0 * y1
		s02 += x0 * y2
		s03 += x0 * y3
		s10 += x1 * y0
		s11 += x1 * y1
		s12 += x1 * y2
		s13 += x1 * y3
	}
	return [2][4]float32{{s00, s01, s02, s03}, {s10, s11, s12, s13}}
}

// peakPortable has eight independent chains, enough to keep the units busy in plain Go.
func peakPortable(n int) int64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	x := math.Float32frombits(sink.Load())
	y := x
	for range n {
		s0 = s0*x + y
		s1 = s1*x + y
		s2 = s2*x + y
		s3 = s3*x + y
		s4 = s4*x + y
		s5 = s5*x + y
		s6 = s6*x + y
		s7 = s7*x + y
	}
	sink.Store(math.Float32bits((s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7) * 0))
	return int64(n) * 16
}

var sink atomic.Uint32 // an effect that keeps the compiler from removing the loop
