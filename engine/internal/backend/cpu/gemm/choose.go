package gemm

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
)

// choose returns the micro-kernel for a result of m rows and n columns: one that is not much wider than the result.
func choose(m, n int) *asm.MicroKernel {
	kernels := asm.MicroKernels(asm.Level())
	for _, k := range kernels {
		if n <= k.Cols {
			return k
		}
	}
	return kernels[len(kernels)-1]
}
