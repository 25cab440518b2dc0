package lora_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

// Five steps of LoRA+ over DoRA have the losses that PEFT's create_loraplus_optimizer leads to.
func TestPlusAgreesWithPEFT(t *testing.T) {
	want := expected(t)
	m := base(t, "own-dora")
	ad, err := lora.Load(filepath.Join(variantFiles, "own-dora"), m)
	if err != nil {
		t.Fatal(err)
	}
	params := ad.Params()
	o := ad.Plus(nil, 8).New(params)
	for step := range 5 {
		loss := m.Loss(want["ids"], want["targets"])
		grads := tensor.Grad(loss, nn.Values(params)...)
		wantClose(t, "loss", loss, want["plus.losses"].At(step), 1e-4)
		o.Update(grads, 2e-3, tensor.Tensor{}).Commit()
	}
	if got, want := ad.Plus(nil, 8).String(), "AdamW β 0.9 0.999, ε 1e-08, weight decay 0; lora_B lora_magnitude_vector: rate × 8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Training with LoRA+ is the same step by step and replayed, whatever else is trained.
func TestPlusInTraining(t *testing.T) {
	run := func(compile bool) string {
		m := model()
		ad := inject(t, m, lora.Config{Name: "french", Rank: 4, Train: "norm", DoRA: true})
		o := train.Options{Steps: 6, LR: optim.Constant(1e-2), Seed: 7, Compile: compile, Params: ad.Params(), Optimizer: ad.Plus(optim.AdamW{WeightDecay: 0.1}, 16)}
		before := nn.Hash(ad.Params())
		if _, err := train.Run(t.Context(), m, data.Windows(strings.Repeat("to be or not to be ", 40), 16, 2), o); err != nil {
			t.Fatal(err)
		}
		if after := nn.Hash(ad.Params()); after != before {
			return after
		}
		t.Fatal("nothing was trained")
		return ""
	}
	if run(false) != run(true) {
		t.Error("a replayed training has other weights")
	}
}
