package lora_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// testdata/peft was written by tests/peers/decoder_lora.py with transformers and PEFT.
const peft = "testdata/peft"

func load(t *testing.T, name string) map[string]tensor.Tensor {
	t.Helper()
	tensors, _, err := safetensors.Load(filepath.Join(peft, name))
	if err != nil {
		t.Fatal(err)
	}
	return tensors
}

// peftModel is the model of the fixture with its adapter.
func peftModel(t *testing.T) (*llm.Model, *lora.Adapter) {
	t.Helper()
	m := peftBase(t)
	ad, err := lora.Load(peft, m)
	if err != nil {
		t.Fatal(err)
	}
	return m, ad
}

// peftBase is the model without the adapter.
func peftBase(t *testing.T) *llm.Model {
	t.Helper()
	m := llm.New(llm.Config{Vocab: 64, Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48})
	base := load(t, "base.safetensors")
	for _, p := range nn.Params(m) {
		w, ok := base[p.Name]
		if !ok {
			t.Fatalf("the base has no %s", p.Name)
		}
		if strings.HasSuffix(p.Name, "_proj.weight") {
			w = w.Transpose()
		}
		p.Value().Set(w)
	}
	return m
}

func wantClose(t *testing.T, what string, got, want tensor.Tensor, relative float64) {
	t.Helper()
	scale := want.Abs().Max().Item()
	if d := tensor.MaxAbsDiff(got, want); !(d <= relative*scale) {
		t.Errorf("%s: differs by %.3g of %.3g, want at most %g of it", what, d, scale, relative)
	}
}

// The model, its adapter and the gradients agree with transformers and PEFT in float32.
func TestAgreesWithPEFT(t *testing.T) {
	m, ad := peftModel(t)
	want := load(t, "expected.safetensors")
	wantClose(t, "logits", m.Logits(want["ids"]), want["logits"], 1e-5)
	loss := m.Loss(want["ids"], want["targets"])
	wantClose(t, "loss", loss, want["loss"], 1e-6)
	grads := tensor.Grad(loss, nn.Values(ad.Params())...)
	tensor.Eval(grads...) // at once, and not each with the whole way back
	for i, g := range grads {
		name := ad.Params()[i].Name
		wantClose(t, "gradient of "+name, g, want[fmt.Sprintf("grad.base_model.model.%s.weight", name)].Transpose(), 2e-5)
	}
}

// Three steps of training agree with PyTorch: losses, gradient norms, and the adapter, also when it is
// merged.
func TestTrainsLikePEFT(t *testing.T) {
	m, ad := peftModel(t)
	want := load(t, "expected.safetensors")
	params := nn.Values(ad.Params())
	var first, second []tensor.Tensor
	for _, p := range params {
		first, second = append(first, tensor.ZerosLike(p)), append(second, tensor.ZerosLike(p))
	}
	for step := 1; step <= 3; step++ {
		loss := m.Loss(want["ids"], want["targets"])
		grads := tensor.Grad(loss, params...)
		norm := tensor.SumSquares(grads).Sqrt()
		wantClose(t, fmt.Sprintf("loss of step %d", step), loss, want["losses"].At(step-1), 1e-5)
		wantClose(t, fmt.Sprintf("gradient norm of step %d", step), norm, want["norms"].At(step-1), 1e-4)
		clip := norm.Add(1e-6).Recip().Mul(0.5).Minimum(1)
		p, a, b := tensor.AdamW(params, grads, first, second, tensor.AdamWStep{
			LR: 0.01, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, Step: step, Scale: clip,
		})
		tensor.Eval(append(append(append([]tensor.Tensor{}, p...), a...), b...)...)
		for i := range params {
			params[i].Set(p[i])
		}
		first, second = a, b
	}
	for _, p := range ad.Params() {
		wantClose(t, "trained "+p.Name, p.Value(), want[fmt.Sprintf("trained.base_model.model.%s.weight", p.Name)].Transpose(), 1e-3)
	}
	ad.Merge()
	merged := m.Logits(want["ids"])
	wantClose(t, "merged logits", merged, want["merged"], 1e-3)
	if math.IsNaN(merged.Sum().Item()) {
		t.Error("merged logits have a NaN")
	}
}
