package lora_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// DoRA's lengths come from products with A, which join those of the layer. So a layer of many rows takes
// three launches more than one with LoRA, and nothing of the weight's size is made beside it.
func TestDoRALaunches(t *testing.T) {
	const in, out = 192, 160
	l := lora.Wrap(&nn.Linear{Weight: tensor.NewRNG(1).Randn(in, out).Eval()}, lora.Config{DoRA: true})
	for _, c := range []struct{ rows, launches int }{{1, 4}, {64, 5}} {
		x := tensor.NewRNG(2).Randn(c.rows, in).Eval()
		l.Forward(x).Eval()
		r := profile.Record(t.Context(), func(context.Context) { l.Forward(x).Eval() })
		if r.Launches > c.launches {
			t.Errorf("%d rows: got %d launches, want %d", c.rows, r.Launches, c.launches)
		}
	}
}

// DoRA computes in bf16 what it computes in f32, within the rounding of bf16, over weights in bf16, too.
func TestDoRAInBF16(t *testing.T) {
	for _, store := range []dtype.Type{dtype.F32, dtype.BF16} {
		if store == dtype.F32 && !long.CI() {
			continue
		}
		m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 64, Heads: 4, Hidden: 96, Seed: 1, DType: store})
		ad := inject(t, m, lora.Config{Rank: 4, DoRA: true, Init: lora.PiSSA, Targets: "all-linear embed_tokens"})
		move(ad)
		want := m.Logits(ids).Eval()
		m.Config.Compute = dtype.BF16
		wantClose(t, "logits over "+store.String(), m.Logits(ids).Cast(dtype.F32), want, 0.03)
		grads := tensor.Grad(m.Loss(ids, ids), nn.Values(ad.Params())...)
		for i, p := range ad.Params() {
			if g := grads[i]; g.DType() != dtype.F32 || g.Norm().Item() == 0 {
				t.Errorf("%s has a gradient in %v of length %g", p.Name, g.DType(), g.Norm().Item())
			}
		}
	}
}
