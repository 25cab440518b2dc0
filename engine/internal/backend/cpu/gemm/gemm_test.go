package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// BenchmarkMatMul prints the share of the peak that the same threads reach in the same run with multiply-adds alone.
func BenchmarkMatMul(b *testing.B) {
	for _, threads := range []int{1, 2} {
		workers := pool.New(threads)
		for _, n := range []int{256, 512, 1024, 2048} {
			b.Run(fmt.Sprintf("%d/threads=%d", n, threads), func(b *testing.B) {
				benchmark(b, workers, n, n, n)
			})
		}
		workers.Close()
	}
}

// BenchmarkShapes runs products as training a small model has them: tokens × width × width.
func BenchmarkShapes(b *testing.B) {
	workers := pool.New(2)
	defer workers.Close()
	for _, s := range [][3]int{{4, 4, 4}, {64, 64, 64}, {16, 1024, 1024}, {64, 1024, 1024}, {40, 512, 192}, {2048, 192, 192}, {2048, 512, 192}, {2048, 8, 512}, {192, 512, 2048}, {512, 8, 2048}} {
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(b *testing.B) { benchmark(b, workers, s[0], s[1], s[2]) })
	}
}

// BenchmarkKernels compares the micro-kernels of all sets on one product.
func BenchmarkKernels(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	for set := asm.Portable; set <= asm.Level(); set++ {
		for _, k := range asm.MicroKernels(set) {
			b.Run(fmt.Sprintf("%v/%dx%d", set, k.Rows, k.Cols), func(b *testing.B) {
				defer asm.Limit(set)()
				old := fastest[set]
				defer func() { fastest[set] = old }()
				fastest[set] = func() *asm.MicroKernel { return k }
				benchmark(b, workers, 1024, 1024, 1024)
			})
		}
	}
}

// BenchmarkFewRows prints how fast the right operand is read.
func BenchmarkFewRows(b *testing.B) {
	for _, threads := range []int{1, 2} {
		workers := pool.New(threads)
		for _, m := range []int{1, 2, 4, 8} {
			for _, layout := range []string{"rows", "columns"} {
				b.Run(fmt.Sprintf("%dx1024x1024/%s/threads=%d", m, layout, threads), func(b *testing.B) {
					const n, k = 1024, 1024
					right := Operand{Line: 1, Step: n}
					if layout == "columns" {
						right = Operand{Line: k, Step: 1}
					}
					x, y, z := random(m*k), random(k*n), make([]float32, m*n)
					p := New(m, n, 1, []Term{{K: k, A: Operand{Line: k, Step: 1}, B: right}}, threads)
					c := call(p, x, y, z)
					b.SetBytes(4 * n * k)
					for b.Loop() {
						p.Run(workers, c)
					}
				})
			}
		}
		workers.Close()
	}
}

func benchmark(b *testing.B, workers *pool.Pool, m, n, k int) {
	x, y, z := random(m*k), random(k*n), make([]float32, m*n)
	p := New(m, n, 1, []Term{{K: k, A: Operand{Line: k, Step: 1}, B: Operand{Line: 1, Step: n}}}, workers.Threads())
	c := call(p, x, y, z)
	peak := peakOf(workers)
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := time.Now()
		p.Run(workers, c)
		best = min(best, time.Since(start))
	}
	peak = max(peak, peakOf(workers))
	flops := 2 * float64(m) * float64(n) * float64(k)
	rate := flops * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(flops/best.Seconds()/1e9, "best-GFLOP/s")
	b.ReportMetric(100*flops/best.Seconds()/peak, "%peak")
	b.ReportMetric(peak/1e9, "peak-GFLOP/s")
}

// peakOf measures floating-point operations a second, the best of a few tries.
func peakOf(workers *pool.Pool) float64 {
	best := 0.0
	for range 20 {
		var flops atomic.Int64
		start := time.Now()
		workers.For(workers.Threads(), func(_, _ int) { flops.Add(asm.PeakFlops(100_000)) })
		best = max(best, float64(flops.Load())/time.Since(start).Seconds())
	}
	return best
}

func random(n int) []float32 {
	x := make([]float32, n+16)
	skip := -int(uintptr(unsafe.Pointer(&x[0]))/4) & 15
	x = x[skip : skip+n]
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func call(p *Product, x, y, z []float32) *Call {
	return &Call{
		A: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(x))}, B: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(y))},
		C: unsafe.SliceData(z), LDC: p.N, BatchC: p.M * p.N, Scratch: random(p.ScratchLen()),
	}
}

// The choice of a micro-kernel is quick enough for the first product of a session.
func BenchmarkChoose(b *testing.B) {
	for b.Loop() {
		measure(asm.Level())
	}
	k := measure(asm.Level())
	b.Logf("%v: %d×%d", asm.Level(), k.Rows, k.Cols)
}
