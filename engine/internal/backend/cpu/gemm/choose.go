package gemm

import (
	"math"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// choose returns the micro-kernel that should be fastest on this machine for operands of these types. area
// returns how many results a kernel has to compute.
func choose(a, b micro.Elem, area func(*micro.Kernel) float64) *micro.Kernel {
	if a == micro.BF16 && b == micro.BF16 {
		if k := bf16Kernel(); k != nil {
			return k
		}
	}
	kernels, speeds := micro.Kernels(isa.Level()), speed[isa.Level()]()
	best, least := kernels[0], math.Inf(1)
	for i, k := range kernels {
		if t := area(k) / speeds[i]; t < least {
			best, least = k, t
		}
	}
	return best
}

// area returns how many results a kernel computes for m rows and n columns, with those beyond the edges.
func area(k *micro.Kernel, m, n int) float64 {
	cols := float64(n / k.Cols * k.Cols)
	if rest := n % k.Cols; rest > 0 {
		last := k.PanelCols(rest)
		cols += float64(last) + float64(k.Cols-last)/3 // a narrower panel uses the units less
	}
	return float64(roundUp(m, k.Rows)) * cols
}

// bf16Kernel returns the micro-kernel for products of two bf16 operands, or nil where they are widened. Those
// of the processor's own instructions round otherwise, so no stopwatch chooses: the last one is taken, which
// does the most at once.
var bf16Kernel = sync.OnceValue(func() *micro.Kernel {
	kernels := micro.BF16Kernels()
	if len(kernels) == 0 {
		return nil
	}
	return kernels[len(kernels)-1]
})

// speed measures the micro-kernels of each set when the first product asks.
var speed = func() (all [isa.NumSets]func() []float64) {
	for set := range isa.NumSets {
		all[set] = sync.OnceValue(func() []float64 { return measure(set) })
	}
	return all
}()

// measure times the micro-kernels on blocks like those of a large product. Processors have different
// limits: one with two multiply-adds in a cycle but a slow second-level cache needs a tile nearer to a
// square. Measuring takes some milliseconds. A wrong choice costs time but changes no result, because all
// micro-kernels give the same bits.
func measure(set isa.Set) []float64 {
	kernels := micro.Kernels(set)
	rates := make([]float64, len(kernels))
	if len(kernels) == 1 {
		rates[0] = 1
		return rates
	}
	return compare(kernels)
}

// compare returns the rates of kernels, measured in turns.
func compare(kernels []*micro.Kernel) []float64 {
	rates := make([]float64, len(kernels))
	const rows, cols = 168, 192 // multiples of the sizes of most kernels
	a, b := make([]float32, rows*depth), make([]float32, cols*depth)
	c := make([]float32, rows*cols)
	for range 4 {
		for i, k := range kernels {
			rates[i] = max(rates[i], rate(k, a, b, c, rows, cols))
		}
	}
	return rates
}

// rate returns the multiply-adds that a kernel does in a nanosecond.
func rate(k *micro.Kernel, a, b, c []float32, rows, cols int) float64 {
	rows, cols = rows/k.Rows*k.Rows, cols/k.Cols*k.Cols
	words := k.Words(depth)
	start := machine.Now()
	for i := 0; i < rows; i += k.Rows {
		k.Multiply(words, unsafe.SliceData(a[i*words:]), 4*words, unsafe.SliceData(b), &c[i*cols], 4*cols, k.Rows, cols, 1)
	}
	return float64(rows*cols*depth) / math.Max(1, float64(machine.Now()-start))
}

// maxTask is the largest number of lines of a task on this machine. It changes no result.
var maxTask = sync.OnceValue(func() int { return linesFor(machine.Caches()) })

// linesFor returns how many lines of depth steps are half of a core's second-level cache, because other data
// passes through it, too. Measured with 2 MiB, tasks of 128 to 1,024 lines take the same time, and those of
// 64 and 32 a tenth more.
func linesFor(caches []machine.Cache) int {
	own := int64(1 << 20)
	if len(caches) >= 2 {
		own = caches[1].Size / int64(caches[1].Sharing)
	}
	return int(min(max(own/2/(4*depth), 64), 256))
}

// copiesFor returns the most elements of a shared operand of which each thread packs a copy: the copies of
// the threads with one last cache take at most a quarter of it, and each 4 MiB, above which threads that
// share a cache lose what others gain.
func copiesFor(caches []machine.Cache, threads int) int {
	last := machine.Cache{Size: 8 << 20, Sharing: threads}
	if len(caches) > 0 {
		last = caches[len(caches)-1]
	}
	return min(1<<20, int(last.Size)/4/4/min(threads, last.Sharing))
}
