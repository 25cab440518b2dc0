package cpu

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// BenchmarkConv measures convolutions of ResNet and of a network for MNIST on one thread, forward and both
// gradients: images, channels, height and width, results, kernel, stride, padding. tests/peers/run asks
// PyTorch for the same.
func BenchmarkConv(b *testing.B) {
	for _, s := range [][7]int{
		{32, 1, 28, 32, 3, 1, 1}, {32, 16, 14, 32, 3, 1, 1}, {8, 64, 56, 64, 3, 1, 1}, {8, 64, 56, 256, 1, 1, 0}, {8, 128, 28, 128, 3, 1, 1}, {8, 128, 56, 128, 3, 2, 1},
		{8, 512, 7, 512, 3, 1, 1}, {8, 3, 112, 64, 7, 2, 3}, {8, 256, 14, 256, 3, 1, 1}, {8, 1024, 14, 256, 1, 1, 0},
	} {
		w := ir.Window{Kernel: s[4], Stride: s[5], Before: s[6], After: s[6], Dilation: 1}
		t := w.Count(s[2])
		x, k, y := []int{s[0], s[1], s[2], s[2]}, []int{s[3], s[1], s[4], s[4]}, []int{s[0], s[3], t, t}
		attr := ir.Attr{Ints: ir.Ints([]ir.Window{w, w}), Index: 1}
		flops := 2 * float64(ir.Size(y)) * float64(ir.Size(k[1:]))
		for _, op := range []ir.Op{ir.Conv, ir.ConvTranspose, ir.ConvWeight} {
			b.Run(fmt.Sprintf("%v/%v", op, s), func(b *testing.B) {
				builder := newBuilder(backend.Single, 1)
				in := backend.Inst{Op: op, Attr: attr, DType: dtype.F32}
				switch op {
				case ir.Conv:
					in.Shape, in.Args = y, []backend.Ref{builder.in(dtype.F32, x...), builder.in(dtype.F32, k...)}
				case ir.ConvTranspose:
					in.Attr.Shape = x[2:]
					in.Shape, in.Args = x, []backend.Ref{builder.in(dtype.F32, y...), builder.in(dtype.F32, k...)}
				default:
					in.Shape, in.Args = k, []backend.Ref{builder.in(dtype.F32, x...), builder.in(dtype.F32, y...)}
				}
				builder.out(builder.inst(in))
				dev := New(1)
				defer dev.Close()
				launch := builder.launcher(b, dev)
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					launch()
					best = min(best, time.Since(start))
				}
				b.ReportMetric(flops/best.Seconds()/1e9, "best-GFLOP/s")
				b.ReportMetric(float64(best.Nanoseconds()), "best-ns")
			})
		}
	}
}
