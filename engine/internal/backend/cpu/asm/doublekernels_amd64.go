//go:build amd64 && !mcs_portable

package asm

var doubleKernels = [...]*DoubleKernel{
	Portable: doublePortable,
	AVX2:     {Rows: 6, Cols: 8, run: double6x8AVX2},
	AVX512:   {Rows: 14, Cols: 16, run: double14x16AVX512},
}
