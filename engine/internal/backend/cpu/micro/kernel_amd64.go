//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var kernels = [isa.NumSets][]*Kernel{
	isa.Portable: {portable},
	isa.AVX2: {
		{Rows: 12, Cols: 8, lanes: 8, widths: []microFunc{matmul12x8AVX2}},
		{Rows: 6, Cols: 16, lanes: 8, widths: []microFunc{matmul6x8AVX2, matmul6x16AVX2}},
		{Rows: 4, Cols: 24, lanes: 8, widths: []microFunc{matmul4x8AVX2, matmul4x16AVX2, matmul4x24AVX2}},
	},
	isa.AVX512: {
		{Rows: 24, Cols: 16, lanes: 16, widths: []microFunc{matmul24x16AVX512}},
		{Rows: 12, Cols: 32, lanes: 16, widths: []microFunc{matmul12x16AVX512, matmul12x32AVX512}},
		{Rows: 14, Cols: 32, lanes: 16, widths: []microFunc{matmul14x16AVX512, matmul14x32AVX512}},
		{Rows: 8, Cols: 48, lanes: 16, widths: []microFunc{matmul8x16AVX512, matmul8x32AVX512, matmul8x48AVX512}},
		{Rows: 6, Cols: 64, lanes: 16, widths: []microFunc{matmul6x16AVX512, matmul6x32AVX512, matmul6x48AVX512, matmul6x64AVX512}},
	},
}

func peak(n int) int64 {
	switch isa.Level() {
	case isa.AVX512:
		peakAVX512(n)
		return int64(n) * 12 * 16 * 2
	case isa.AVX2:
		peakAVX2(n)
		return int64(n) * 12 * 8 * 2
	}
	return peakPortable(n)
}
