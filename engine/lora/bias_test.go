package lora_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// biased is a decoder whose q, k and v have biases, in a type or in codes.
func biased(t *testing.T, dt dtype.Type, bits int) *llm.Model {
	t.Helper()
	m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 32, Heads: 2, Hidden: 32, QKVBias: true, Seed: 1, DType: dt, Compute: dtype.F32})
	rng := tensor.NewRNG(2)
	for _, p := range nn.Params(m) {
		if strings.HasSuffix(p.Name, ".bias") {
			p.Value().Set(rng.Randn(p.Value().Len(0)).Mul(0.3).Cast(p.Value().DType()))
		}
	}
	if bits != 0 {
		if _, err := quant.Module(m, quant.Config{Bits: bits}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// An adapter with a bias of B begins with what the model computed. Merged, one by one and together, and
// removed, it computes what it does beside the weights; what is taken out leaves every bit as it was. Layers
// without a bias keep it apart.
func TestBiasOfBIsMerged(t *testing.T) {
	for _, c := range []struct {
		dt   dtype.Type
		bits int
		near float64
	}{{dtype.F32, 0, 1e-5}, {dtype.BF16, 0, 0.02}, {dtype.F32, 8, 1e-5}} {
		m := biased(t, c.dt, c.bits)
		before, hash := m.Logits(ids).Eval(), nn.Hash(nn.Params(m))
		scale := before.Abs().Max().Item()
		one := inject(t, m, lora.Config{Rank: 4, Name: "one", Targets: "q_proj v_proj", LoRABias: true, Seed: 1})
		two := inject(t, m, lora.Config{Rank: 2, Name: "two", Targets: "q_proj up_proj", LoRABias: true, RankStabilized: true, Seed: 2})
		one.Enable()
		if d := tensor.MaxAbsDiff(before, m.Logits(ids)); d > 1e-6*scale {
			t.Errorf("%v: at first the scores move by %g of %g", c, d, scale)
		}
		move(one)
		move(two)
		two.Weigh(2)
		both := m.Logits(ids).Eval()
		two.Disable()
		alone := m.Logits(ids).Eval()
		two.Enable()
		check := func(what string, want tensor.Tensor) {
			t.Helper()
			if d := tensor.MaxAbsDiff(want, m.Logits(ids)); d > c.near*scale {
				t.Errorf("%v, %s: the scores differ by %g of %g", c, what, d, scale)
			}
		}
		if d := tensor.MaxAbsDiff(both, alone); d < 0.03*scale {
			t.Errorf("%v: the second adapter moves the scores by %g of %g only", c, d, scale)
		}
		if r, err := one.MergeDequantized(); err != nil || r.Merged() != 4 {
			t.Fatal(r, err)
		}
		check("one merged", both)
		r, err := two.MergeDequantized()
		if err != nil || r.Merged() != 2 || !strings.Contains(r.String(), "kept apart, because the layer has no bias") {
			t.Fatal(r, err)
		}
		check("two merged", both)
		two.Disable()
		check("two merged and off", alone)
		two.Enable()
		one.Unmerge()
		check("one taken out", both)
		if _, err := one.MergeDequantized(); err != nil {
			t.Fatal(err)
		}
		two.Unmerge()
		check("two taken out", both)
		if err := two.Remove(m); err != nil {
			t.Fatal(err)
		}
		check("two removed", alone)
		one.Unmerge()
		if err := one.Remove(m); err != nil || nn.Hash(nn.Params(m)) != hash {
			t.Errorf("%v: the model is not what it was: %v", c, err)
		}
		last := inject(t, m, lora.Config{Rank: 4, Targets: "q_proj", LoRABias: true})
		move(last)
		want := m.Logits(ids).Eval()
		if _, err := last.MergeDequantized(); err != nil {
			t.Fatal(err)
		}
		if err := last.Remove(m); err != nil {
			t.Fatal(err)
		}
		check("merged and removed", want)
	}
}

// Gradients of A, B and the bias of B are what finite differences say, over plain weights and
// codes.
func TestBiasOfBGradients(t *testing.T) {
	for _, bits := range []int{0, 8} {
		m := biased(t, dtype.F32, bits)
		ad := inject(t, m, lora.Config{Rank: 4, Targets: "v_proj down_proj", LoRABias: true})
		move(ad)
		inputs, targets := tensor.From([][]int{{1, 20, 30, 40, 50}}), tensor.From([][]int{{20, 30, 40, 50, 60}})
		grads := tensor.Grad(m.Loss(inputs, targets), nn.Values(ad.Params())...)
		tensor.Eval(grads...)
		found := 0
		for i, p := range ad.Params() {
			checkGradient(t, p, grads[i], func() float64 { return m.Loss(inputs, targets).Item() })
			if strings.HasSuffix(p.Name, ".lora_B_bias") {
				found++
			}
		}
		if found != 4 {
			t.Errorf("%d biases are trained, want 4", found)
		}
	}
}

// In a batch each row has the bias of its own adapter, also beside one that is not finite.
func TestBiasOfBOfEachRow(t *testing.T) {
	m := biased(t, dtype.F32, 0)
	one := inject(t, m, lora.Config{Rank: 4, Name: "one", LoRABias: true, Seed: 1})
	two := inject(t, m, lora.Config{Rank: 2, Name: "two", Targets: "q_proj", LoRABias: true, Seed: 2})
	bad := inject(t, m, lora.Config{Rank: 2, Name: "bad", LoRABias: true, Seed: 3})
	move(one)
	move(two)
	for _, p := range bad.Params() {
		if strings.Contains(p.Name, "lora_B_bias") {
			p.Value().Set(tensor.Full(math.NaN(), p.Value().Len(0)))
		}
	}
	rows := []*lora.Adapter{one, nil, two, bad}
	batch := tensor.Concat([]tensor.Tensor{ids, ids, ids, ids}, 0).Slice(0, 0, 4)
	var got tensor.Tensor
	tensor.Within(lora.Rows(t.Context(), rows...), func() { got = m.Logits(batch).Eval() })
	for i, ad := range rows[:3] {
		ctx := lora.With(t.Context())
		if ad != nil {
			ctx = lora.With(t.Context(), ad)
		}
		tensor.Within(ctx, func() { wantClose(t, "row", got.Slice(0, i, i+1), m.Logits(batch.Slice(0, i, i+1)), 1e-5) })
	}
	if !math.IsNaN(got.At(3).Sum().Item()) {
		t.Error("a row whose adapter is not finite is finite")
	}
}

func TestBiasOfBIsRefused(t *testing.T) {
	for _, c := range []struct {
		config lora.Config
		want   string
	}{
		{lora.Config{LoRABias: true, DoRA: true}, "got LoRABias and DoRA, want one of them"},
		{lora.Config{LoRABias: true, Targets: "embed_tokens q_proj"}, "model.embed_tokens: got LoRABias for an embedding"},
	} {
		if _, err := lora.Inject(biased(t, dtype.F32, 0), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.config, err, c.want)
		}
	}
	m := biased(t, dtype.F32, 0)
	ad := inject(t, m, lora.Config{LoRABias: true, Targets: "q_proj", Bias: lora.AdaptedBiases})
	move(ad)
	want := m.Logits(ids).Eval()
	r, err := ad.Merge()
	if err != nil || r.Merged() != 0 || !strings.Contains(r.String(), "the layer's bias is trained whole, too") {
		t.Error(r, err)
	}
	wantClose(t, "logits", m.Logits(ids), want, 1e-5)
	if err := ad.SaveMLX(t.TempDir()); err == nil || !strings.Contains(err.Error(), "mlx-lm does not have") {
		t.Errorf("got %v", err)
	}
	if _, err := lora.Combine(m, lora.Combination{Adapters: []*lora.Adapter{ad}, Method: lora.SVD}); err == nil {
		t.Error("it was combined")
	}
}

// Files whose configuration and tensors do not agree are refused by the tensor's name, and those of
// target_parameters by what the model lacks.
func TestFilesOfBiasesAndParametersAreRefused(t *testing.T) {
	for _, c := range []struct{ variant, old, new, want string }{
		{"own-lora_bias", `"lora_bias": true`, `"lora_bias": false`, "model.layers.0.self_attn.q_proj has lora_B.bias, but the configuration does not say lora_bias"},
		{"own-parameters", `"q_proj.weight"`, `"k_proj.weight"`, "model.layers.0.self_attn.q_proj has lora_A [3 16] and lora_B [16 3], want [2 16] and [16 2]"},
		{"own-parameters_modules", `"embed_tokens.weight"`, `"norm.weight"`, `tensor "base_model.model.model.embed_tokens.lora_A.weight" belongs to no layer`},
		{"own-parameters_modules", `"r": 2`, `"r": 4`, "model.embed_tokens has lora_A [2 16] and lora_B [40 2], want [4 16] and [40 4]"},
		{"tied-parameters", `"ensure_weight_tying": false`, `"ensure_weight_tying": true`, "model.embed_tokens is one of target_parameters, which ensure_weight_tying does not tie"},
	} {
		from, to := filepath.Join(variantFiles, c.variant), t.TempDir()
		for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
			text, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "adapter_config.json" {
				if !bytes.Contains(text, []byte(c.old)) {
					t.Fatalf("%s has no %s", from, c.old)
				}
				text = bytes.ReplaceAll(text, []byte(c.old), []byte(c.new))
			}
			if err := os.WriteFile(filepath.Join(to, name), text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := lora.Load(to, base(t, c.variant)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: got %v, want %q", c.variant, c.new, err, c.want)
		}
	}
}
