//go:build amd64 && !mcs_portable

package asm

var microKernels = [...][]*MicroKernel{
	Portable: {microPortable},
	AVX2: {
		{12, 8, 8, []microFunc{matmul12x8AVX2}},
		{6, 16, 8, []microFunc{matmul6x8AVX2, matmul6x16AVX2}},
		{4, 24, 8, []microFunc{matmul4x8AVX2, matmul4x16AVX2, matmul4x24AVX2}},
	},
	AVX512: {
		{24, 16, 16, []microFunc{matmul24x16AVX512}},
		{12, 32, 16, []microFunc{matmul12x16AVX512, matmul12x32AVX512}},
		{14, 32, 16, []microFunc{matmul14x16AVX512, matmul14x32AVX512}},
		{8, 48, 16, []microFunc{matmul8x16AVX512, matmul8x32AVX512, matmul8x48AVX512}},
		{6, 64, 16, []microFunc{matmul6x16AVX512, matmul6x32AVX512, matmul6x48AVX512, matmul6x64AVX512}},
	},
}

func peak(n int) int64 {
	switch level {
	case AVX512:
		peakAVX512(n)
		return int64(n) * 12 * 16 * 2
	case AVX2:
		peakAVX2(n)
		return int64(n) * 12 * 8 * 2
	}
	return peakPortable(n)
}
