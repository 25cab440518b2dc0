package llm

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// A token of a model of 24 layers that are so narrow that what surrounds their kernels is most of the time.
func BenchmarkToken(b *testing.B) {
	m := New(Config{Vocab: 1000, Layers: 24, Width: 64, Heads: 2, KVHeads: 1, Hidden: 128, DType: dtype.BF16})
	nn.Freeze(m)
	const tokens = 256
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.GenerateTokens(b.Context(), make([]int, 8), Sampling{Tokens: tokens}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
}
