package asm

import "unsafe"

var microPortable = &MicroKernel{4, 4, 4, []microFunc{matmulPortable}}

// matmulPortable is the 4×4 micro-kernel in Go.
func matmulPortable(k int, a, b *float32, ldb int, c *float32, ldc, rows, cols, add int) {
	var s [4][4]float32
	pa, pb := unsafe.Pointer(a), unsafe.Pointer(b)
	for p := range k {
		x := (*[4]float32)(unsafe.Add(pa, 16*p))
		y := (*[4]float32)(unsafe.Add(pb, ldb*p))
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		for i := range x {
			r := &s[i]
			r[0] += x[i] * y0
			r[1] += x[i] * y1
			r[2] += x[i] * y2
			r[3] += x[i] * y3
		}
	}
	for i := range rows {
		row := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(c), i*ldc)), cols)
		for j := range row {
			if add != 0 {
				row[j] += s[i][j]
			} else {
				row[j] = s[i][j]
			}
		}
	}
}

// peakPortable has eight independent chains, as many as plain Go keeps busy.
func peakPortable(n int) int64 {
	var s [8]float32
	x, y := float32(1), float32(0)
	for range n {
		s[0] += x * y
		s[1] += x * y
		s[2] += x * y
		s[3] += x * y
		s[4] += x * y
		s[5] += x * y
		s[6] += x * y
		s[7] += x * y
	}
	sink = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7]
	return int64(n) * 16
}

var sink float32 // keeps the loop from being optimised away
