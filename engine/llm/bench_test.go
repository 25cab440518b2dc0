package llm

import (
	"context"
	"flag"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

var long = flag.Bool("long", false, "also measure a model of half a billion parameters, which needs 4 GiB and a minute")

// BenchmarkDecode reports tokens a second and the bandwidth at which the weights are read.
func BenchmarkDecode(b *testing.B) {
	for _, bm := range []struct {
		name   string
		c      Config
		tokens int
		long   bool
	}{
		{"small", Config{Vocab: 8192, Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408}, 64, false},
		{"0.5B", Config{Vocab: 151936, Layers: 24, Width: 896, Heads: 14, KVHeads: 2, Hidden: 4864}, 16, true},
	} {
		b.Run(bm.name, func(b *testing.B) {
			if bm.long && !*long {
				b.Skip("only with -long")
			}
			m := New(bm.c)
			nn.Freeze(m)
			weights := 0
			for _, p := range nn.Params(m) {
				weights += p.Value().Size() * p.Value().DType().Size()
			}
			benchDecode(b, m, bm.tokens, weights)
		})
	}
}

func benchDecode(b *testing.B, m *Model, tokens, weights int) {
	tensor.Eval(nn.Values(nn.Params(m))...)
	generate := func(n int) {
		if _, err := m.GenerateTokens(context.Background(), make([]int, 32), Sampling{Tokens: n}); err != nil {
			b.Fatal(err)
		}
	}
	generate(2)
	for b.Loop() {
		generate(tokens)
	}
	rate := float64(tokens*b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "tok/s")
	b.ReportMetric(rate*float64(weights)/1e9, "GB/s")
}
