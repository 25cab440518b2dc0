package llm

import (
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/testing/idle"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// A token of a model of 24 layers that are so narrow that what surrounds their kernels is most of the time;
// and what the host does for one on a GPU, which is one that does nothing.
func BenchmarkToken(b *testing.B) {
	gpu := idle.Register()
	for _, bm := range []struct {
		name, device string
		takes        time.Duration // of the device
	}{{"cpu", "cpu", 0}, {"idle", "idle", 0}, {"idle 0.5 ms", "idle", 500 * time.Microsecond}} {
		b.Run(bm.name, func(b *testing.B) {
			gpu.Takes = bm.takes
			m := New(Config{Vocab: 1000, Layers: 24, Width: 64, Heads: 2, KVHeads: 1, Hidden: 128, DType: dtype.BF16})
			nn.Freeze(m)
			d, err := device.Lookup(bm.device)
			if err != nil {
				b.Fatal(err)
			}
			m.To(d)
			const tokens = 4096
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.GenerateTokens(b.Context(), make([]int, 8), Sampling{Tokens: tokens}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
		})
	}
}
