package gemm

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
)

// choose returns the micro-kernel for a result of n columns: the narrowest that takes all of them at once, or the one
// that this machine runs fastest.
func choose(n int) *asm.MicroKernel {
	kernels := asm.MicroKernels(asm.Level())
	for _, k := range kernels {
		if n <= k.Cols {
			return k
		}
	}
	return fastest[asm.Level()]()
}

// fastest measures the micro-kernels of each set when the first large product asks.
var fastest = [...]func() *asm.MicroKernel{
	asm.Portable: sync.OnceValue(func() *asm.MicroKernel { return measure(asm.Portable) }),
	asm.AVX2:     sync.OnceValue(func() *asm.MicroKernel { return measure(asm.AVX2) }),
	asm.AVX512:   sync.OnceValue(func() *asm.MicroKernel { return measure(asm.AVX512) }),
}

// measure times the micro-kernels on blocks as they occur in a large product. Processors differ in what they run short
// of: one that does two multiply-adds a cycle but reads its second-level cache slowly wants a tile nearer to a square.
// It takes some milliseconds, and can choose nothing wrong but speed, because all micro-kernels give the same bits.
func measure(set asm.Set) *asm.MicroKernel {
	kernels := asm.MicroKernels(set)
	if len(kernels) == 1 {
		return kernels[0]
	}
	const rows, cols = 168, 192 // multiples of what most of the kernels take
	a, b := make([]float32, rows*depth), make([]float32, cols*depth)
	c := make([]float32, rows*cols)
	best, bestRate := kernels[len(kernels)-1], 0.0
	rates := make([]float64, len(kernels))
	for range 4 {
		for i, k := range kernels {
			rates[i] = max(rates[i], rate(k, a, b, c, rows/k.Rows*k.Rows, cols/k.Cols*k.Cols))
		}
	}
	// From the widest: it gains as long as the difference is within what a measurement says.
	for i := len(kernels) - 1; i >= 0; i-- {
		if rates[i] > 1.02*bestRate {
			best, bestRate = kernels[i], rates[i]
		}
	}
	return best
}

// rate returns how many multiply-adds a nanosecond a kernel does.
func rate(k *asm.MicroKernel, a, b, c []float32, rows, cols int) float64 {
	start := time.Now()
	for i := 0; i < rows; i += k.Rows {
		for j := 0; j < cols; j += k.Cols {
			k.Run(depth, unsafe.SliceData(a[i*depth:]), unsafe.SliceData(b[j*depth:]), 4*k.Cols, &c[i*cols+j], 4*cols, k.Rows, k.Cols, 1)
		}
	}
	return float64(rows*cols*depth) / math.Max(1, float64(time.Since(start)))
}
