package train

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// written are batches in their order: ids [batches rows tokens], of which each but the last is an input.
type written struct{ ids tensor.Tensor }

func (w written) Batch(n int) (data.Batch, error) {
	ids := w.ids.At(n)
	last := ids.Len(1) - 1
	return data.Batch{Inputs: ids.Slice(1, 0, last), Targets: ids.Slice(1, 1, last+1)}, nil
}

func (w written) Fingerprint() string { return "written" }

// 50 steps, 6 without -long, of LoRA, rsLoRA and DoRA on a small Llama, a small Qwen 2 and a small Qwen 3
// with experts, whose routers add the loss that balances them, from the same adapter, over the same batches
// in the same order, have the losses of PEFT and PyTorch at every step, and the gradients' norms.
// tests/peers/lora_curves.py wrote testdata/curves. Without CI=1 two of these models do.
func TestCurvesAgreeWithPEFT(t *testing.T) {
	for _, family := range []string{"llama", "qwen2", "qwen3_moe", "gpt_oss", "deepseek_v3"} {
		if family != "llama" && family != "qwen3_moe" && !long.CI() {
			continue
		}
		dir := filepath.Join("testdata", "curves", family)
		made, _, err := safetensors.Load(filepath.Join(dir, "curves.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range []string{"lora", "rslora", "dora"} {
			if made["loss."+variant].IsNone() {
				continue // PEFT has no DoRA of experts
			}
			t.Run(family+"/"+variant, func(t *testing.T) {
				m, err := llm.Load(context.Background(), dir)
				if err != nil {
					t.Fatal(err)
				}
				a, err := lora.Load(filepath.Join(dir, variant), m)
				if err != nil {
					t.Fatal(err)
				}
				want, norms := made["loss."+variant].Float64s(), made["norm."+variant].Float64s()
				if !long.Tests() {
					want = want[:6]
				}
				h, err := Run(context.Background(), m, written{made["ids"]}, Options{
					Steps: len(want), LR: optim.Constant(5e-3), Clip: 1, Optimizer: optim.AdamW{WeightDecay: 0.01}, Params: a.Params(),
				})
				if err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				for i := range want {
					d := math.Abs(h.Loss[i]-want[i]) / want[i]
					if worst = max(worst, d); d > 1e-4 {
						t.Errorf("step %d: the loss is %g, PEFT's %g: %.2g of it away", i+1, h.Loss[i], want[i], d)
					}
					if d := math.Abs(h.GradNorm[i]-norms[i]) / norms[i]; d > 1e-3 {
						t.Errorf("step %d: the norm of the gradients is %g, PEFT's %g", i+1, h.GradNorm[i], norms[i])
					}
				}
				t.Logf("loss %.4f → %.4f, at most %.2g from PEFT's", want[0], want[len(want)-1], worst)
				if long.Tests() && want[len(want)-1] > 0.9*want[0] {
					t.Error("nothing was learnt")
				}
			})
		}
	}
}
