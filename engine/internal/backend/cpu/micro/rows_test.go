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
