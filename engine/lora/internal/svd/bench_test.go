package svd

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// PiSSA needs the top of every matrix of a model: those of Qwen 2.5 0.5B here.
func BenchmarkTop(b *testing.B) {
	for _, size := range [][2]int{{896, 128}, {896, 896}, {896, 4864}} {
		w := tensor.NewRNG(1).Randn(size[0], size[1]).Mul(tensor.Arange(0, float64(size[1]), 1).Mul(-0.01).Exp().Add(0.3)).Eval()
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				Top(w, 8)
			}
		})
		b.Run(fmt.Sprint(size, " 16 times"), func(b *testing.B) {
			for b.Loop() {
				Iterate(w, 8, 16)
			}
		})
	}
}
