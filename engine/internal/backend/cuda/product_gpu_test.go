package cuda

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// ownProducts opens the GPU without libraries.
func ownProducts(t testing.TB) backend.Backend {
	t.Helper()
	if err := machine.Present(); err != nil {
		t.Skip(err)
	}
	t.Setenv("MCS_LIBRARIES", "off")
	b, err := open(machine, *number)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { b.(*gpu.Backend).Close() })
	return b
}

// A productBench is a group of products with the operations and the bytes that it needs at least.
type productBench struct {
	name  string
	group *backend.Group
	flops float64
	bytes float64 // 0 where arithmetic is the limit
}

// row is a matrix [rows columns] in buffer buf.
func row(buf int, dt dtype.Type, shape ...int) backend.Input {
	return backend.Input{Buf: buf, DType: dt, Layout: ir.Contiguous(shape)}
}

// squareBench is a product of n by n matrices.
func squareBench(n int, dt dtype.Type, tf32 bool) productBench {
	p := multiply{m: n, k: n, n: n, dtype: dt, allowTF32: tf32}
	return productBench{p.String(), p.group(), 2 * float64(n) * float64(n) * float64(n), 0}
}

// loraBench is x·w + s·(x·a)·b with m rows.
func loraBench(m, k, n, rank int, dt dtype.Type) productBench {
	g := &backend.Group{Name: "lora", Kind: backend.MatMul}
	g.Inputs = []backend.Input{row(0, dt, m, k), row(1, dt, k, n), row(2, dt, k, rank), row(3, dt, rank, n), {Buf: -1, Scalar: 0, DType: dtype.F32}}
	g.Insts = []backend.Inst{
		{Op: ir.MatMul, DType: dt, Shape: []int{m, rank}, Args: []backend.Ref{backend.In(0), backend.In(2)}},
		{Op: ir.Mul, DType: dt, Shape: []int{m, rank}, Args: []backend.Ref{{Index: 0}, backend.In(4)}},
		{Op: ir.MatMul, DType: dt, Shape: []int{m, n}, Args: []backend.Ref{backend.In(0), backend.In(1), {Index: 1}, backend.In(3)}},
	}
	g.Outputs = []backend.Output{{Value: backend.Ref{Index: 2}, Buf: 4, DType: dt, Shape: []int{m, n}}}
	p := productBench{fmt.Sprintf("lora %d×%d×%d rank %d %v", m, k, n, rank, dt), g, 2 * float64(m) * (float64(k)*float64(n) + float64(rank)*float64(k+n)), 0}
	if m <= 16 {
		p.bytes = float64((k*n + rank*(k+n)) * dt.Size())
	}
	return p
}

// fewBench is a product of m rows with a weight in bits: 16 are bf16, 8 and 4 are quantised in groups of 64.
func fewBench(m, k, n, bits int, transposed bool) productBench {
	dt := dtype.BF16
	p := productBench{name: fmt.Sprintf("%d×%d×%d in %d bits, transposed %v", m, k, n, bits, transposed), flops: 2 * float64(m) * float64(k) * float64(n)}
	g := &backend.Group{Name: p.name, Kind: backend.MatMul}
	if bits == 16 {
		w := row(1, dt, k, n)
		if transposed {
			w.Layout = ir.Contiguous([]int{n, k}).Permute([]int{1, 0})
		}
		g.Inputs = []backend.Input{row(0, dt, m, k), w}
		g.Insts = []backend.Inst{{Op: ir.MatMul, DType: dt, Shape: []int{m, n}, Args: []backend.Ref{backend.In(0), backend.In(1)}}}
		g.Outputs = []backend.Output{{Value: backend.Ref{Index: 0}, Buf: 2, DType: dt, Shape: []int{m, n}}}
		p.bytes = float64(k * n * 2)
	} else {
		q := ir.Quant{K: k, N: n, Bits: bits, Group: 64, DType: dt, Transposed: transposed}
		if transposed {
			q.K, q.N = n, k
		}
		g.Inputs = []backend.Input{row(0, dt, m, k), row(1, dtype.U8, q.Blocks(), q.Lines(), 64), row(2, dt, q.Blocks(), q.Groups(), 16), row(3, dtype.U8, q.Blocks(), q.Groups(), 16)}
		g.Insts = []backend.Inst{
			{Op: ir.Dequantize, Attr: q.Attr(), DType: dt, Shape: []int{k, n}, Args: []backend.Ref{backend.In(1), backend.In(2), backend.In(3)}},
			{Op: ir.MatMul, DType: dt, Shape: []int{m, n}, Args: []backend.Ref{backend.In(0), {Index: 0}}},
		}
		g.Outputs = []backend.Output{{Value: backend.Ref{Index: 1}, Buf: 4, DType: dt, Shape: []int{m, n}}}
		p.bytes = float64(k*n*bits/8 + k*n/64*3)
	}
	if m > 8 {
		p.bytes = 0
	}
	p.group = g
	return p
}

func productBenches() []productBench {
	var list []productBench
	for _, n := range []int{1024, 4096, 8192} {
		for _, dt := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32} {
			list = append(list, squareBench(n, dt, false))
		}
		list = append(list, squareBench(n, dtype.F32, true))
	}
	for _, n := range []int{1024, 4096} {
		for _, dt := range []dtype.Type{dtype.BF16, dtype.F32} {
			list = append(list, loraBench(16, n, n, 16, dt), loraBench(9, n, n, 16, dt))
		}
	}
	list = append(list, loraBench(4096, 4096, 4096, 16, dtype.BF16), loraBench(4096, 896, 4864, 16, dtype.BF16), loraBench(1, 4096, 14336, 16, dtype.BF16))
	for _, bits := range []int{16, 8, 4} {
		for _, transposed := range []bool{false, true} {
			list = append(list, fewBench(1, 4096, 14336, bits, transposed), fewBench(8, 4096, 14336, bits, transposed))
		}
		list = append(list, fewBench(1024, 4096, 14336, bits, false))
	}
	return list
}

// BenchmarkOwnProductsOnGPU times what the shaders' own text reaches, by the device's clock: TFLOP/s, or
// GB/s of weights where memory is the limit. These have copies of their operands, so that each run reads
// memory and not the cache of the run before it.
func BenchmarkOwnProductsOnGPU(b *testing.B) {
	on := ownProducts(b)
	for _, p := range productBenches() {
		b.Run(p.name, func(b *testing.B) {
			k, err := on.Compile(p.group)
			if err != nil {
				b.Fatal(err)
			}
			defer k.Close()
			var bufs []backend.Slice
			cmds := make([]submit.Cmd, runs)
			for i := range cmds {
				if i == 0 || p.bytes > 0 {
					bufs = operands(b, on, p.group)
				}
				cmds[i] = submit.Cmd{Kernel: k, Bufs: bufs, Scalars: []ir.Scalar{{F: 2}}}
			}
			best := fastest(b, on, cmds)
			if p.bytes > 0 {
				b.ReportMetric(p.bytes/best.Seconds()/1e9, "GB/s")
			} else {
				b.ReportMetric(p.flops/best.Seconds()/1e12, "TFLOP/s")
			}
			b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
			b.ReportMetric(float64(k.Launches()), "launches")
		})
	}
}

// operands allocates what a group reads and writes. The numbers are random: of zeros a GPU computes faster,
// because they take less power.
func operands(b *testing.B, on backend.Backend, g *backend.Group) []backend.Slice {
	list := make([]backend.Slice, len(g.Inputs)+len(g.Outputs))
	alloc := func(buf int, dt dtype.Type, count int) {
		data := make([]byte, 0, count*dt.Size())
		r := rand.New(rand.NewPCG(1, uint64(buf)))
		for len(data) < cap(data) && len(data) < 1<<20 {
			data = ir.Append(dt, data, ir.Scalar{F: r.NormFloat64(), I: int64(r.IntN(256))})
		}
		for len(data) < cap(data) {
			data = append(data, data[:min(len(data), cap(data)-len(data))]...)
		}
		m, err := on.Alloc(len(data))
		if err == nil {
			err = on.Upload(m, 0, data)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { on.Free(m) })
		list[buf].Buf = m
	}
	for _, in := range g.Inputs {
		if in.Buf >= 0 {
			alloc(in.Buf, in.DType, ir.Size(in.Layout.Shape))
		}
	}
	for _, o := range g.Outputs {
		alloc(o.Buf, o.DType, ir.Size(o.Shape))
	}
	return slices.DeleteFunc(list, func(s backend.Slice) bool { return s.Buf == nil })
}

// TestProductRegistersOnGPU logs what each product's kernels take of a processor. Registers that do not
// suffice are kept in memory, which no product of tiles may do.
func TestProductRegistersOnGPU(t *testing.T) {
	if err := machine.Present(); err != nil {
		t.Skip(err)
	}
	device, err := machine.Open(*number)
	if err != nil {
		t.Skip(err)
	}
	defer device.Close()
	for _, p := range productBenches() {
		k, err := kernel.Render(p.group, gpu.LimitsOf(device.Info()))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range k.Dispatches {
			text, err := gpu.Translate(d.Function, d.Text, gpu.CUDA)
			if err != nil {
				t.Fatal(err)
			}
			l, err := device.Compile(context.Background(), gpu.Source{Name: d.Function, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			pipeline, err := l.Pipeline(d.Function)
			if err != nil {
				t.Fatal(err)
			}
			limits := pipeline.Limits()
			t.Logf("%s: %v groups of %d threads, %d registers, %d bytes spilled, %d of threadgroup memory", p.name, d.Groups, d.Threads[0], limits.Registers, limits.Spilled, limits.ThreadgroupMemory)
			if limits.Spilled > 0 {
				t.Errorf("%s: %d bytes of a thread do not fit into registers", p.name, limits.Spilled)
			}
			pipeline.Close()
			l.Close()
		}
	}
}
