package vec

import (
	"math"
	"unsafe"
)

// ColumnsApart is how far apart, in elements, rows lie of the matrices whose columns the functions below go
// down.
const ColumnsApart = 48

// Functions on 16 columns of n rows that lie ColumnsApart elements apart. most, shift, total and s have 16
// elements, one a column. They are for attention, whose scores lie so that a query is a column: they can then
// be multiplied as they are.
var (
	// MaxColumns sets most to the greatest of itself and the numbers of the column; NaN is passed over.
	MaxColumns = maxColumnsGo
	// ExpColumns sets x = exp(x−shift) and adds the column's sum to total. x−shift is at most 89.
	ExpColumns = expColumnsGo
	// ScaleColumns sets x = x·s.
	ScaleColumns = scaleColumnsGo
)

// rowOf is row i of a matrix, 16 elements of it.
func rowOf(x unsafe.Pointer, i int) []float32 { return floats(unsafe.Add(x, 4*ColumnsApart*i), 16) }

func maxColumnsGo(most, x unsafe.Pointer, n int) {
	m := floats(most, 16)
	for i := range n {
		for j, v := range rowOf(x, i) {
			if v > m[j] {
				m[j] = v
			}
		}
	}
}

func expColumnsGo(total, shift, x unsafe.Pointer, n int) {
	t, m := floats(total, 16), floats(shift, 16)
	var sums [16]float64
	for i := range n {
		row := rowOf(x, i)
		for j, v := range row {
			e := math.Exp(float64(v - m[j]))
			row[j] = float32(e)
			sums[j] += e
		}
	}
	for j, s := range sums {
		t[j] += float32(s)
	}
}

func scaleColumnsGo(s, x unsafe.Pointer, n int) {
	factors := floats(s, 16)
	for i := range n {
		row := rowOf(x, i)
		for j := range row {
			row[j] *= factors[j]
		}
	}
}
