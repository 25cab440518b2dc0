package lora_test

import (
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What a merge does depends on how the weights are stored and on how much the adapter changes: B is 0 at
// first, and normal numbers times strength then.
func TestMergeReport(t *testing.T) {
	for _, c := range []struct {
		name     string
		store    func(m *llm.Model) error
		strength float64
		report   []string // what String has in it
		merged   int
	}{
		{"f32", func(*llm.Model) error { return nil }, 0.01, []string{"merged 2 of 2 layers\n2 in f32: exactly"}, 2},
		{"bf16", func(m *llm.Model) error { nn.Convert(m, dtype.BF16); return nil }, 0.01,
			[]string{"merged 2 of 2 layers\n2 in bf16: rounded; off by at most ", " % of the change (model.layers."}, 2},
		{"int8, a small change", func(m *llm.Model) error { _, err := quant.Module(m, quant.Config{}); return err }, 0.001,
			[]string{"merged 0 of 2 layers\n2 in int8, groups of 64, symmetric, scales f32: kept apart, because rounding to codes would take more than 10 % of the change: MergeDequantized keeps it; off by at most "}, 0},
		{"int8, a large change", func(m *llm.Model) error { _, err := quant.Module(m, quant.Config{}); return err }, 1,
			[]string{"merged 2 of 2 layers\n2 in int8, groups of 64, symmetric, scales f32: rounded; off by at most "}, 2},
		{"int4", func(m *llm.Model) error { _, err := quant.Module(m, quant.Config{Bits: 4}); return err }, 0.02,
			[]string{"merged 0 of 2 layers\n2 in int4", "kept apart"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 64, Heads: 2, Hidden: 64, Seed: 1})
			if err := c.store(m); err != nil {
				t.Fatal(err)
			}
			hash := nn.Hash(nn.Params(m))
			ad := inject(t, m, lora.Config{Rank: 4, Targets: "up_proj"})
			rng := tensor.NewRNG(5)
			for _, p := range ad.Params() {
				if strings.HasSuffix(p.Name, "lora_B") {
					p.Value().Set(rng.Randn(p.Value().Shape()...).Mul(c.strength))
				}
			}
			x := tensor.From([][]int{{1, 2, 3, 4}})
			beside := m.Logits(x).Eval()
			r, err := ad.Merge()
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.report {
				if !strings.Contains(r.String(), want) {
					t.Errorf("got %q, want %q in it", r, want)
				}
			}
			if r.Merged() != c.merged {
				t.Errorf("%d layers are merged, want %d", r.Merged(), c.merged)
			}
			lost := 0.0
			for i, l := range r.Layers {
				lost = max(lost, l.Lost)
				if l.Change == 0 || l.Name != ad.Layers()[i] || (l.Lost == 0) != (c.name == "f32") {
					t.Errorf("got %+v", l)
				}
			}
			// The merged model is as far from the one beside its weights as the report says, in about.
			all := tensor.MaxAbsDiff(beside, without(m, ad, x))
			if d := tensor.MaxAbsDiff(beside, m.Logits(x)); d > 2*lost*all+1e-5 {
				t.Errorf("merged it differs by %g, %.2g of what the adapter changes, but the report says %.2g", d, d/all, lost)
			}
			if r, err := ad.MergeDequantized(); err != nil || r.Merged() != 2 {
				t.Errorf("dequantised: %v, %v", r, err)
			}
			ad.Unmerge()
			if err := ad.Remove(m); err != nil {
				t.Fatal(err)
			}
			if nn.Hash(nn.Params(m)) != hash {
				t.Error("unmerged it is not, bit for bit, what it was")
			}
		})
	}
}

// without is what the model computes without the adapter.
func without(m *llm.Model, ad *lora.Adapter, x tensor.Tensor) tensor.Tensor {
	ad.Disable()
	defer ad.Enable()
	return m.Logits(x).Eval()
}

// An adapter with a number that is not finite is merged nowhere.
func TestMergeRefusesNaN(t *testing.T) {
	m := model()
	hash := nn.Hash(nn.Params(m))
	ad := inject(t, m, lora.Config{Rank: 4, Targets: "q_proj"})
	disturb(ad)
	b := ad.Params()[3].Value() // of the second block
	b.Set(tensor.Full(math.NaN(), b.Shape()...))
	_, err := ad.Merge()
	if want := "lora: merge: model.layers.1.self_attn.q_proj: the adapter changes a number by NaN; nothing was merged"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := ad.Remove(m); err != nil {
		t.Fatal(err)
	}
	if nn.Hash(nn.Params(m)) != hash {
		t.Error("a layer was merged all the same")
	}
}
