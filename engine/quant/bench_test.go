package quant_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkQuantize reports the weights that are encoded in a second.
func BenchmarkQuantize(b *testing.B) {
	w := tensor.Randn(896, 4864).Eval()
	for _, c := range []quant.Config{{Bits: 8}, {Bits: 4, Scheme: quant.Affine}} {
		b.Run(c.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := quant.Quantize(w, c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(w.Size()*b.N)/b.Elapsed().Seconds()/1e6, "Mweights/s")
		})
	}
}
