//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var doubleKernels = [...]*DoubleKernel{
	isa.Portable: doublePortable,
	isa.AVX2:     {Rows: 6, Cols: 8, run: double6x8AVX2},
	isa.AVX512:   {Rows: 14, Cols: 16, run: double14x16AVX512},
}
