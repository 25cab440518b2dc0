package lora_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkRows computes layers of a 0.5 B model for a batch of 8 texts, a token each and 32 each: without
// adapters, with one of rank 8, and with 2, 4 and 8 of them in turn.
func BenchmarkRows(b *testing.B) {
	var m nn.Sequential
	for range 4 {
		m = append(m, nn.NewLinear(896, 4864), nn.NewLinear(4864, 896))
	}
	var list []*lora.Adapter
	for i := range 8 {
		ad, err := lora.Inject(m, lora.Config{Name: fmt.Sprint("n", i), Rank: 8})
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, ad)
	}
	for _, tokens := range []int{1, 32} {
		x := tensor.Randn(8, tokens, 896).Eval()
		for _, of := range []int{0, 1, 2, 4, 8} {
			rows := make([]*lora.Adapter, 8)
			for i := range rows {
				if of > 0 {
					rows[i] = list[i%of]
				}
			}
			ctx := lora.Rows(context.Background(), rows...)
			b.Run(fmt.Sprintf("tokens=%d/adapters=%d", tokens, of), func(b *testing.B) {
				tensor.Within(ctx, func() {
					m.Forward(x).Eval()
					for b.Loop() {
						m.Forward(x).Eval().Free()
					}
				})
			})
		}
	}
}
