package micro

import (
	"slices"
	"testing"
)

// CopyRows writes n elements of each row, zeros up to the width, and nothing else.
func TestCopyRows(t *testing.T) {
	src := make([]float32, 400)
	for i := range src {
		src[i] = float32(i + 1)
	}
	for n := 1; n <= 64; n++ {
		for _, width := range []int{n, min(64, n+3)} {
			got, want := make([]float32, 300), make([]float32, 300)
			for i := range got {
				got[i], want[i] = -1, -1
			}
			CopyRows(&got[3], 70, &src[5], 101, 3, n, width)
			for row := range 3 {
				to := want[3+70*row:][:width]
				clear(to)
				copy(to, src[5+101*row:][:n])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d of %d elements: got %v", n, width, got)
			}
		}
	}
}

// SplitRows takes the elements of each row in turns, and writes nothing else.
func TestSplitRows(t *testing.T) {
	src := make([]float32, 400)
	for i := range src {
		src[i] = float32(i + 1)
	}
	for n := 1; n <= 70; n++ {
		got, want := make([]float32, 300), make([]float32, 300)
		SplitRows(&got[3], &got[50], 95, &src[5], 101, 3, n)
		for row := range 3 {
			for i, x := range src[5+101*row:][:n] {
				want[3+i%2*47+i/2+95*row] = x
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d elements: got %v", n, got)
		}
	}
}
