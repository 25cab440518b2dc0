package gemm

import (
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
)

// choose returns the micro-kernel for a result of m rows and n columns: the one that this machine should take the least
// time with, what it computes beyond the edges included. For bf16 on both sides that is the machine's own, if it has one:
// some ten times as fast as the others.
func choose(m, n int, a, b asm.Elem) *asm.MicroKernel {
	if k := asm.BF16Kernel(); k != nil && k.Takes(a, b) {
		return k
	}
	kernels, speeds := asm.MicroKernels(asm.Level()), speed[asm.Level()]()
	best, least := kernels[0], math.Inf(1)
	for i, k := range kernels {
		area := float64(roundUp(m, k.Rows)) * float64(k.PanelCols(n))
		if last := k.PanelCols((n-1)%k.Cols + 1); last < k.Cols {
			// A narrower panel keeps the units less busy.
			area += float64(roundUp(m, k.Rows)) * float64(k.Cols-last) / 3
		}
		if t := area / speeds[i]; t < least {
			best, least = k, t
		}
	}
	return best
}

// speed measures the micro-kernels of each set when the first product asks.
var speed = [...]func() []float64{
	asm.Portable: sync.OnceValue(func() []float64 { return measure(asm.Portable) }),
	asm.AVX2:     sync.OnceValue(func() []float64 { return measure(asm.AVX2) }),
	asm.AVX512:   sync.OnceValue(func() []float64 { return measure(asm.AVX512) }),
}

// measure times the micro-kernels on blocks as they occur in a large product. Processors differ in what they run short
// of: one that does two multiply-adds a cycle but reads its second-level cache slowly wants a tile nearer to a square.
// It takes some milliseconds, and can choose nothing wrong but speed, because all micro-kernels give the same bits.
func measure(set asm.Set) []float64 {
	kernels := asm.MicroKernels(set)
	rates := make([]float64, len(kernels))
	if len(kernels) == 1 {
		rates[0] = 1
		return rates
	}
	const rows, cols = 168, 192 // multiples of what most of the kernels take
	a, b := make([]float32, rows*depth), make([]float32, cols*depth)
	c := make([]float32, rows*cols)
	for range 4 {
		for i, k := range kernels {
			rates[i] = max(rates[i], rate(k, a, b, c, rows/k.Rows*k.Rows, cols/k.Cols*k.Cols))
		}
	}
	return rates
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
