//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var doubleKernels = [...]*DoubleKernel{
	isa.Portable: doublePortable,
	isa.AVX2:     {Rows: 6, Cols: 8, run: double6x8AVX2},
	isa.AVX512:   {Rows: 14, Cols: 16, run: double14x16AVX512},
}

// symmetric is Symmetric by vectors, if the machine has some.
func symmetric(n int, a *float64, lda int, of, x, y, sums *float64) bool {
	if isa.Level() == isa.Portable {
		return false
	}
	symmetricAVX2(n, a, lda, of, x, y, sums)
	return true
}
