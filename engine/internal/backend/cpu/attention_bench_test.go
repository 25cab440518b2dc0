package cpu

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/testing/submit"
)

// BenchmarkAttention runs 14 query heads of 64 over 2 key heads, causal, as in a model of half a billion
// parameters, and reports the best rate and its share of what multiply-adds on registers reach.
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
				best, peak := time.Hour, 0.0
				for b.Loop() {
					peak = max(peak, multiplyAddRate(dev))
					start := time.Now()
					if err := submit.Run(context.Background(), dev, []submit.Cmd{cmd}, nil); err != nil {
						b.Fatal(err)
					}
					best = min(best, time.Since(start))
				}
				flops := products * 2 * 64 * 14 * float64(tokens) * pairs
				b.ReportMetric(float64(best.Nanoseconds())/1e3, "best-µs")
				b.ReportMetric(flops/best.Seconds()/1e9, "GFLOP/s")
				b.ReportMetric(100*flops/best.Seconds()/peak, "%peak")
			})
		}
	}
}

// multiplyAddRate is the rate of multiply-adds on registers on all threads, in operations a second.
func multiplyAddRate(dev *Backend) float64 {
	const n = 20_000
	threads := dev.pool.Threads()
	start := time.Now()
	dev.pool.For(threads, func(int, int) { micro.PeakFlops(n) })
	return float64(threads) * float64(micro.PeakFlops(1)*n) / time.Since(start).Seconds()
}
