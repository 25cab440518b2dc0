package vec

import (
	"math"
	"unsafe"
)

// ColumnsApart is the distance of two rows, in elements, of a matrix for the functions of columns below.
const ColumnsApart = 48

// The functions below work on 16 columns of n rows, which lie ColumnsApart elements apart. most, shift,
// total and s have 16 elements, one for each column. They serve attention: there a column holds the scores
// of one query, so that a product can read the scores where they are.
var (
	// MaxColumns sets most to the maximum of itself and the numbers of the column. It ignores NaN.
	MaxColumns = maxColumnsGo
	// ExpColumns sets x = exp(x−shift) and adds the sum of the column to total. x−shift is at most 89.
	ExpColumns = expColumnsGo
	// ScaleColumns sets x = x·s.
	ScaleColumns = scaleColumnsGo
)

// rowOf returns row i of a matrix, 16 elements.
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
