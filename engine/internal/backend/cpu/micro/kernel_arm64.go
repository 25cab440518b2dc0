//go:build arm64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var kernels = [isa.NumSets][]*Kernel{
	isa.Portable: {portable},
	isa.NEON: {
		{Rows: 12, Cols: 8, lanes: 4, widths: []microFunc{matmul12x4NEON, matmul12x8NEON}},
		{Rows: 8, Cols: 12, lanes: 4, widths: []microFunc{matmul8x4NEON, matmul8x8NEON, matmul8x12NEON}},
	},
}

func peak(n int) int64 {
	if isa.Level() == isa.Portable {
		return peakPortable(n)
	}
	peakNEON(n)
	return int64(n) * 24 * 4 * 2
}
