package cpu

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// BenchmarkAttention runs 14 query heads of 64 over 2 key heads, causal, as in a model of half a billion parameters.
func BenchmarkAttention(b *testing.B) {
	dev := New(0)
	defer dev.Close()
	for _, tokens := range []int{1, 128, 512, 2048} {
		c := attentionCase{b: 1, hq: 14, hk: 2, tq: tokens, tk: max(tokens, 512), d: 64, dv: 64, causal: true}
		if tokens > 1 {
			c.tk = tokens
		}
		pairs := float64(c.tk) // that a query looks at
		if tokens > 1 {
			pairs = float64(tokens+1) / 2
		}
		for _, backward := range []bool{false, true} {
			b.Run(fmt.Sprintf("tokens=%d/backward=%v", tokens, backward), func(b *testing.B) {
				g, products := c.forward(dtype.F32, 1), 2.0
				if backward {
					g, products = c.backward(b, dev, dtype.F32), 5
				}
				cmd := g.command(b, dev)
				for b.Loop() {
					if err := dev.Submit(context.Background(), []backend.Cmd{cmd}, nil); err != nil {
						b.Fatal(err)
					}
				}
				flops := products * 2 * 64 * 14 * float64(tokens) * pairs * float64(b.N)
				b.ReportMetric(flops/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
