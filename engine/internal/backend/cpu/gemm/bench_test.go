package gemm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// random returns n numbers that start at a multiple of 64 bytes, as the engine allocates them.
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

// A benchCase is a product in one of the ways that its operands lie: nn as written, nt with the right one
// transposed, tn with the left one, as gradients have them.
type benchCase struct {
	elem    micro.Elem
	m, n, k int
	lie     string
	threads int
}

func (c benchCase) String() string {
	return fmt.Sprintf("%s/%dx%dx%d/%s/threads=%d", [...]string{"f32", "bf16", "f16"}[c.elem], c.m, c.n, c.k, c.lie, c.threads)
}

// prepare returns a function that computes the product, and its right operand's bytes.
func (c benchCase) prepare(workers *pool.Pool) (work func(), right []byte) {
	t := Term{K: c.k, A: Operand{Elem: c.elem, Line: c.k, Step: 1}, B: Operand{Elem: c.elem, Line: 1, Step: c.n}}
	switch c.lie {
	case "tn":
		t.A.Line, t.A.Step = 1, c.m
	case "nt":
		t.B.Line, t.B.Step = c.k, 1
	}
	p := New(c.m, c.n, 1, []Term{t}, workers.Threads())
	var operands [2][]float32
	for i, n := range []int{c.m * c.k, c.n * c.k} {
		operands[i] = random(n)
		if c.elem != micro.F32 { // both halves of each word are bf16 and f16 numbers of moderate size, too
			bits := unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(operands[i]))), n)
			for j := range bits {
				bits[j] = uint16(j*31)&0x80ff | 0x3c00
			}
		}
	}
	z := make([]float32, c.m*c.n)
	args := call(p, operands[0], operands[1], z)
	right = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(operands[1]))), c.n*c.k*c.elem.Size())
	return func() { p.Run(workers, args) }, right
}

// inTurns runs work and what bounds it in turns of a few milliseconds, because processors lower their clock
// under load. It reports the work's best rate and its share of the bound's; both are in units a call. The
// median of the shares is there for machines that others use, too.
func inTurns(b *testing.B, unit string, amount float64, work func(), boundAmount float64, bound func()) {
	repeat := func(f func()) func() float64 {
		f()
		for times := 1; ; times *= 2 {
			turn := func() float64 {
				start := time.Now()
				for range times {
					f()
				}
				return time.Since(start).Seconds() / float64(times)
			}
			if turn()*float64(times) > 1e-3 {
				return turn
			}
		}
	}
	timeWork, timeBound := repeat(work), repeat(bound)
	best, least := math.Inf(1), math.Inf(1)
	var shares []float64
	for b.Loop() {
		t, u := timeWork(), timeBound()
		best, least = min(best, t), min(least, u)
		shares = append(shares, amount/t/(boundAmount/u))
	}
	slices.Sort(shares)
	of := "peak"
	if unit == "B" {
		of = "search"
	}
	b.ReportMetric(amount/best/1e9, "G"+unit+"/s")
	b.ReportMetric(100*amount/best/(boundAmount/least), "%"+of)
	b.ReportMetric(100*shares[len(shares)/2], "median%"+of)
	b.ReportMetric(0, "ns/op")
}

// multiplyAdds returns a function of nothing but multiply-adds of a type on all workers, and its
// operations.
func multiplyAdds(workers *pool.Pool, elem micro.Elem) (flops float64, f func()) {
	const n = 100_000
	peak := micro.PeakFlops
	if elem == micro.BF16 {
		peak = func(n int) int64 { return micro.PeakBF16(bf16Kernel(), n) }
	}
	return float64(workers.Threads()) * float64(peak(1)*n), func() {
		workers.For(workers.Threads(), func(int, int) { peak(n) })
	}
}

// BenchmarkProduct multiplies matrices of many shapes.
func BenchmarkProduct(b *testing.B) {
	for _, elem := range []micro.Elem{micro.F32, micro.BF16} {
		for _, s := range [][3]int{
			{256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096},
			{4, 4, 4}, {100, 100, 100}, {127, 131, 137}, {300, 300, 300}, {500, 500, 500}, {700, 700, 700}, {1000, 1000, 1000},
			{16, 1024, 1024}, {32, 1024, 1024}, {64, 1024, 1024}, {128, 1024, 1024}, {128, 512, 512}, {1024, 8, 1024}, {1024, 16, 1024},
			{4096, 64, 1024}, {64, 4096, 1024}, {64, 64, 8192}, {2048, 192, 192}, {2048, 512, 192}, {192, 512, 2048}, {512, 8, 2048},
		} {
			for _, lie := range []string{"nn", "nt", "tn"} {
				for threads := 1; threads <= 2; threads++ {
					c := benchCase{elem, s[0], s[1], s[2], lie, threads}
					b.Run(c.String(), func(b *testing.B) {
						workers := pool.New(threads)
						defer workers.Close()
						work, _ := c.prepare(workers)
						flops, fma := multiplyAdds(workers, elem)
						inTurns(b, "FLOP", 2*float64(c.m)*float64(c.n)*float64(c.k), work, flops, fma)
					})
				}
			}
		}
	}
}

// BenchmarkFewRows multiplies a few rows by the weights of decoders with 0.5 and 1.5 billion parameters, and
// reports how fast the weights are read, and beside it how fast a search of Go's goes through as many bytes:
// no ceiling, but code that we did not write and that reads once.
func BenchmarkFewRows(b *testing.B) {
	workers := pool.New(2)
	defer workers.Close()
	for _, elem := range []micro.Elem{micro.F32, micro.BF16} {
		for _, s := range [][2]int{{896, 128}, {896, 896}, {1024, 1024}, {2048, 2048}, {896, 4864}, {4864, 896}, {1536, 8960}, {8960, 1536}, {896, 151936}} {
			for _, rows := range []int{1, 2, 4, 8, 16} {
				for _, lie := range []string{"nn", "nt"} {
					c := benchCase{elem, rows, s[1], s[0], lie, 2}
					b.Run(c.String(), func(b *testing.B) {
						work, right := c.prepare(workers)
						other := bytes.Repeat([]byte{1}, len(right)) // memory of its own, so that each side finds its own data in the caches
						search := func(_, lo, hi int) { bytes.IndexByte(other[lo:hi], 0) }
						inTurns(b, "B", float64(len(right)), work, float64(len(right)), func() { workers.Range(len(right), 1<<14, search) })
					})
				}
			}
		}
	}
}

// BenchmarkKernels compares the micro-kernels of all sets on one product.
func BenchmarkKernels(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	for _, set := range isa.Sets() {
		for i, k := range micro.Kernels(set) {
			b.Run(fmt.Sprintf("%v/%dx%d", set, k.Rows, k.Cols), func(b *testing.B) {
				defer isa.Limit(set)()
				old := speed[set]
				defer func() { speed[set] = old }()
				only := make([]float64, len(micro.Kernels(set)))
				only[i] = 1
				speed[set] = func() []float64 { return only }
				work, _ := benchCase{micro.F32, 1024, 1024, 1024, "nn", 1}.prepare(workers)
				flops, fma := multiplyAdds(workers, micro.F32)
				inTurns(b, "FLOP", 2<<30, work, flops, fma)
			})
		}
	}
}

// BenchmarkFromCache times micro-kernels on packed operands in the first-level and the second-level cache.
// A product cannot be faster, because its operands come from further away.
func BenchmarkFromCache(b *testing.B) {
	kernels := map[micro.Elem]*micro.Kernel{micro.F32: Kernel(1 << 10)}
	if k := bf16Kernel(); k != nil {
		kernels[micro.BF16] = k
	}
	workers := pool.New(1)
	defer workers.Close()
	for elem, k := range kernels {
		for _, s := range []struct {
			level             string
			rows, cols, steps int
		}{{"L1", k.Rows, k.Cols, 128}, {"L2", 8 * k.Rows, 256 / k.Cols * k.Cols, 512}, {"L2", 8 * k.Rows, 256 / k.Cols * k.Cols, 1024}} {
			b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", [...]string{"f32", "bf16"}[elem], s.rows, s.cols, s.steps, s.level), func(b *testing.B) {
				words := k.Words(s.steps)
				left, right := random(s.rows*words), random(s.cols*words)
				for _, x := range [][]float32{left, right} { // as bf16 they are small numbers, too
					for i := range x {
						x[i] = math.Float32frombits(0x3c003c00)
					}
				}
				ldc := s.cols + 16
				c := make([]float32, s.rows*ldc)
				flops, peak := multiplyAdds(workers, elem)
				inTurns(b, "FLOP", 2*float64(s.rows*s.cols*s.steps), func() {
					for i, n := 0, 0; i < s.rows; i += n {
						n = k.RowsAtOnce(s.rows - i)
						k.Multiply(words, &left[i*words], 4*words, &right[0], &c[i*ldc], 4*ldc, n, s.cols, 0)
					}
				}, flops, peak)
			})
		}
	}
}

// The choice of a micro-kernel is fast enough for the first product of a session.
func BenchmarkChoose(b *testing.B) {
	for b.Loop() {
		measure(isa.Level())
	}
	for i, rate := range measure(isa.Level()) {
		k := micro.Kernels(isa.Level())[i]
		b.Logf("%v: %d×%d %.1f", isa.Level(), k.Rows, k.Cols, rate)
	}
}
