package cpu

import (
	"context"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// bench launches a group over and over, and reports the best time of a launch, GB/s of its inputs and
// outputs, and the share of what copying memory of that size reaches at best in the same run.
func (b *builder) bench(t *testing.B) {
	be := New(0)
	defer be.Close()
	bytes := 0
	for _, n := range b.sizes {
		bytes += n
	}
	copied := copyRate(be, bytes/2)
	launch := b.launcher(t, be)
	best := time.Hour
	for t.Loop() {
		start := time.Now()
		launch()
		best = min(best, time.Since(start))
	}
	rate := float64(bytes) / best.Seconds()
	t.ReportMetric(float64(best.Nanoseconds())/1e3, "best-µs")
	t.ReportMetric(rate/1e9, "GB/s")
	t.ReportMetric(100*rate/copied, "%copy")
}

// launcher returns a function that runs the group once.
func (b *builder) launcher(t testing.TB, be backend.Backend) func() {
	k, err := be.Compile(&b.g)
	if err != nil {
		t.Fatal(err)
	}
	cmds := []submit.Cmd{{Kernel: k, Scalars: b.scalars}}
	for i, n := range b.sizes {
		buf, err := be.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		if b.data[i] != nil {
			if err := be.Upload(buf, 0, b.data[i]); err != nil {
				t.Fatal(err)
			}
		}
		cmds[0].Bufs = append(cmds[0].Bufs, backend.Slice{Buf: buf})
	}
	return func() {
		if err := submit.Run(context.Background(), be, cmds, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// copyRate is how many bytes a second, read and written, copying n bytes reaches with all threads.
func copyRate(be *Backend, n int) float64 {
	src, dst := alignedBytes(n), alignedBytes(n)
	best := 0.0
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
		once := time.Now()
		be.pool.Range(n, 1<<16, func(_, lo, hi int) { copy(dst[lo:hi], src[lo:hi]) })
		best = max(best, float64(2*n)/time.Since(once).Seconds())
	}
	return best
}

var benchShapes = map[string][]int{"64x1024": {64, 1024}, "1024x1024": {1024, 1024}, "4096x1024": {4096, 1024}}

func BenchmarkRows(t *testing.B) {
	for _, op := range []ir.Op{ir.Softmax, ir.LayerNorm, ir.RMSNorm, ir.SoftmaxGrad, ir.LayerNormGrad, ir.RMSNormGrad} {
		for name, shape := range benchShapes {
			t.Run(op.String()+"/"+name, func(t *testing.B) {
				b := newBuilder(backend.Row, 1)
				last := shape[1:]
				full, vector := ir.Type{DType: dtype.F32, Shape: shape}, ir.Type{DType: dtype.F32, Shape: last}
				in := backend.Inst{Op: op, DType: dtype.F32, Shape: shape, Args: []backend.Ref{b.in(dtype.F32, shape...)}}
				switch op {
				case ir.LayerNorm:
					in.Args = append(in.Args, b.in(dtype.F32, last...), b.in(dtype.F32, last...))
				case ir.RMSNorm:
					in.Args = append(in.Args, b.in(dtype.F32, last...))
				case ir.SoftmaxGrad:
					in.Args = append(in.Args, b.in(dtype.F32, shape...))
				case ir.LayerNormGrad, ir.RMSNormGrad:
					in.Args = append(in.Args, b.in(dtype.F32, last...), b.in(dtype.F32, shape...))
					in.Outs = []ir.Type{full, vector, vector}
					if op == ir.RMSNormGrad {
						in.Outs = in.Outs[:2]
					}
				}
				r := b.inst(in)
				if in.Outs != nil {
					b.outs(r)
				} else {
					b.out(r)
				}
				b.bench(t)
			})
		}
	}
}

// silu(x)·y + 0.5·z, the four instructions of one launch.
func BenchmarkMap(t *testing.B) {
	for name, shape := range benchShapes {
		t.Run("chain/"+name, func(t *testing.B) {
			b := newBuilder(backend.Map, 1)
			f := func(op ir.Op, args ...backend.Ref) backend.Ref {
				return b.inst(backend.Inst{Op: op, DType: dtype.F32, Shape: shape, Args: args})
			}
			x, y, z := b.in(dtype.F32, shape...), b.in(dtype.F32, shape...), b.in(dtype.F32, shape...)
			half := b.scalar(dtype.F32, ir.Scalar{F: 0.5})
			b.out(f(ir.Add, f(ir.Mul, f(ir.Silu, x), y), f(ir.Mul, z, half)))
			b.bench(t)
		})
		t.Run("transpose/"+name, func(t *testing.B) {
			b := newBuilder(backend.Map, 1)
			x := b.in(dtype.F32, shape...)
			b.g.Inputs[0].Layout = ir.Layout{Shape: []int{shape[1], shape[0]}, Stride: []int{1, shape[1]}}
			b.out(b.inst(backend.Inst{Op: ir.Neg, DType: dtype.F32, Shape: []int{shape[1], shape[0]}, Args: []backend.Ref{x}}))
			b.bench(t)
		})
	}
	t.Run("add/4", func(t *testing.B) {
		b := newBuilder(backend.Map, 1)
		x := b.in(dtype.F32, 4)
		b.out(b.inst(backend.Inst{Op: ir.Add, DType: dtype.F32, Shape: []int{4}, Args: []backend.Ref{x, x}}))
		t.ReportAllocs()
		b.bench(t)
	})
}

func BenchmarkReduce(t *testing.B) {
	for name, shape := range benchShapes {
		for axisName, axes := range map[string][]int{"rows": {1}, "columns": {0}, "all": {0, 1}} {
			t.Run("sum/"+axisName+"/"+name, func(t *testing.B) {
				b := newBuilder(backend.Reduce, 1)
				reduced := append([]int{}, shape...)
				for _, a := range axes {
					reduced[a] = 1
				}
				b.out(b.inst(backend.Inst{Op: ir.Sum, Attr: ir.Attr{Axes: axes}, DType: dtype.F32, Shape: reduced,
					Args: []backend.Ref{b.in(dtype.F32, shape...)}}))
				b.bench(t)
			})
		}
	}
}

func BenchmarkSingle(t *testing.B) {
	shape := []int{1024, 1024}
	for op, build := range map[ir.Op]func(b *builder) backend.Inst{
		ir.RandNormal: func(b *builder) backend.Inst {
			return backend.Inst{Args: []backend.Ref{b.scalar(dtype.I64, ir.Scalar{}), b.scalar(dtype.I64, ir.Scalar{})}}
		},
		ir.Rope: func(b *builder) backend.Inst {
			return backend.Inst{Attr: ir.Attr{Float: 1e4}, Args: []backend.Ref{b.in(dtype.F32, shape...),
				b.fill(dtype.I64, shape[:1], func(i int) float64 { return float64(i) })}}
		},
		ir.Gather: func(b *builder) backend.Inst {
			return backend.Inst{Args: []backend.Ref{b.in(dtype.F32, shape...), b.fill(dtype.I64, shape[:1], func(i int) float64 { return float64(1023 - i) })}}
		},
		ir.CumSum: func(b *builder) backend.Inst {
			return backend.Inst{Attr: ir.Attr{Axis: 1}, Args: []backend.Ref{b.in(dtype.F32, shape...)}}
		},
	} {
		t.Run(op.String(), func(t *testing.B) {
			b := newBuilder(backend.Single, 1)
			in := build(b)
			in.Op, in.DType, in.Shape = op, dtype.F32, shape
			b.out(b.inst(in))
			b.bench(t)
		})
	}
}
