package cpu

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// loraGroup is x·W + s·(x·A)·B for weights n × n: one launch with two phases.
func loraGroup(f dtype.Type, rows, n, rank int) *groupCase {
	c := newGroupCase(backend.MatMul, 2)
	x, w := c.input(f, []int{rows, n}), c.input(f, []int{n, n})
	down, up, scale := c.input(f, []int{n, rank}), c.input(f, []int{rank, n}), c.input(f, []int{})
	h := c.inst(ir.MatMul, f, []int{rows, rank}, x, down)
	h = c.inst(ir.Mul, f, []int{rows, rank}, h, scale)
	c.output(c.inst(ir.MatMul, f, []int{rows, n}, x, w, h, up), f, []int{rows, n})
	return c
}

// BenchmarkLoRA prints how fast the weights are read: with few rows that is what a layer costs.
func BenchmarkLoRA(b *testing.B) {
	dev := New(0)
	defer dev.Close()
	const n, rank = 1024, 8
	for _, f := range []dtype.Type{dtype.F32, dtype.BF16} {
		for _, rows := range []int{1, 8, 16, 128, 1024} {
			b.Run(fmt.Sprintf("%v/%d rows", f, rows), func(b *testing.B) {
				cmds := []submit.Cmd{loraGroup(f, rows, n, rank).command(b, dev)}
				b.SetBytes(int64(f.Size() * (n*n + 2*n*rank)))
				best := time.Duration(math.MaxInt64)
				for b.Loop() {
					start := time.Now()
					if err := submit.Run(context.Background(), dev, cmds, nil); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(start))
				}
				b.ReportMetric(2*float64(rows)*(n*n+2*n*rank)/best.Seconds()/1e9, "best-GFLOP/s")
				b.ReportMetric(float64(best.Nanoseconds()), "best-ns")
			})
		}
	}
}
