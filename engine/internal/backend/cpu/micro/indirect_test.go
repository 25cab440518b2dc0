package micro

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Rows that lie anywhere, in stretches of any length, give what sums one by one give, and nothing beyond rows
// and columns is written.
func TestIndirect(t *testing.T) {
	m, r := IndirectKernel(), rand.New(rand.NewPCG(1, 2))
	random := func(n int) []float32 {
		s := make([]float32, n)
		for i := range s {
			s[i] = r.Float32() - 0.5
		}
		return s
	}
	a, b := random(2000), random(4000)
	for range 400 {
		rows, cols, ldb := 1+r.IntN(m.Rows), 1+r.IntN(m.Cols), m.Cols+r.IntN(9)
		lines := make([]int, m.Rows)
		for i := range lines {
			lines[i] = r.IntN(1000)
		}
		var stretches []Stretch
		for range 1 + r.IntN(4) {
			at := r.IntN(900)
			stretches = append(stretches, Stretch{at, at + 1 + r.IntN(40), r.IntN(1000)})
		}
		ldc, add := m.Cols+3, r.IntN(2)
		c := random(m.Rows * ldc)
		want := append([]float32(nil), c...)
		for i := range rows {
			for j := range cols {
				sum := float32(0)
				for _, s := range stretches {
					for p := range s.End - s.A {
						sum = float32(math.FMA(float64(a[lines[i]+s.A+p]), float64(b[s.B+p*ldb+j]), float64(sum)))
					}
				}
				if add == 1 {
					sum += want[i*ldc+j]
				}
				want[i*ldc+j] = sum
			}
		}
		m.Run(stretches, &a[0], lines, &b[0], ldb, &c[0], ldc, rows, cols, add)
		for i, got := range c {
			if math.Abs(float64(got-want[i])) > 1e-5 {
				t.Fatalf("%d rows, %d columns, stretches %v: element %d is %v, want %v", rows, cols, stretches, i, got, want[i])
			}
		}
	}
}

// Transpose writes each element of lines and steps, and nothing else.
func TestTranspose(t *testing.T) {
	src := make([]float32, 40*50)
	for i := range src {
		src[i] = float32(i + 1)
	}
	for _, lines := range []int{1, 3, 7, 8, 9, 16, 33} {
		for _, steps := range []int{1, 4, 8, 11, 40} {
			for _, apart := range []int{lines, lines + 5} {
				got, want := make([]float32, 50*50), make([]float32, 50*50)
				for i := range lines {
					for p := range steps {
						want[3+p*apart+i] = src[i*50+p]
					}
				}
				Transpose(&got[3], apart, &src[0], 50, lines, steps)
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("%d lines of %d steps, %d apart: element %d is %v, want %v", lines, steps, apart, i, got[i], want[i])
					}
				}
			}
		}
	}
}
