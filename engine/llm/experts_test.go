package llm

import (
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Experts in codes stay codes, in as many bytes, and compute what transformers does with the numbers that the
// codes stand for: of folders (tests/peers/decoder_codes.py and decoder_mxfp4.py made them), and of GGUF
// files beside the same ones expanded. An adapter of the experts has the gradients that it has beside the
// numbers.
func TestExpertsInCodes(t *testing.T) {
	for _, test := range []struct {
		model, gguf string
		bits        float64 // of a weight, with its scales
		want        string  // of what is joined of two parts
	}{
		{"experts/awq", "", 4 + 32./64 + 8./64, "int4, groups of 64, affine, scales f32"},
		{"experts/gptq4", "", 4 + 32./64 + 8./64, "int4, groups of 64, affine, scales f32"},
		{"experts/fp8", "", 8 + 32./64, "e4m3, groups of 64, scales f32"},
		{"experts/compressed", "", 4 + 32./32, "int4, groups of 32, symmetric, scales f32"},
		{"experts/mlx4", "", 4 + 64./64, "int4, groups of 64, minimum, scales f32"},
		{"mxfp4", "", 4 + 16./32, "e2m1, groups of 32, scales bf16"},
		{"experts/fp8", "q8_0", 8 + 32./32, "int8, groups of 32, symmetric, scales f32"},
		{"experts/fp8", "q4_0", 4 + 32./32, "int4, groups of 32, symmetric, scales f32"},
		{"mxfp4", "q4_0", 4 + 32./32, "int4, groups of 32, symmetric, scales f32"}, // whose columns alternate
	} {
		t.Run(test.model+test.gguf, func(t *testing.T) {
			path := filepath.Join("testdata", test.model)
			m := loaded(t, path)
			tokens := tensor.From([][]int{{1, 2, 3, 4, 5, 6, 7, 8}})
			if test.gguf != "" {
				path = filepath.Join(t.TempDir(), "model.gguf")
				if err := SaveGGUF(path, m, GGUF{Type: test.gguf}); err != nil {
					t.Fatal(err)
				}
				m = loaded(t, path)
			} else {
				expected, _, err := safetensors.Load(filepath.Join(path, "expected.safetensors"))
				if err != nil {
					t.Fatal(err)
				}
				tokens = expected["ids"]
				if d := relative(m.Logits(tokens), expected["logits"]); !(d <= 1e-5) {
					t.Errorf("logits differ by %.3g of the largest", d)
				}
			}
			nn.Freeze(m)
			for _, e := range []*nn.Grouped{m.Blocks[0].Mixture.Experts.GateUp, m.Blocks[0].Mixture.Experts.Down} {
				g, ok := e.Instead().(*quant.Grouped)
				if !ok || g.Weight.Config.String() != test.want {
					t.Fatalf("experts are %v", e)
				}
				if most := int(test.bits / 8 * float64(g.Parameters())); g.Weight.Bytes() > most+1024 { // and a table
					t.Errorf("%v takes %d bytes, want %d", g, g.Weight.Bytes(), most)
				}
			}
			plain := loaded(t, path)
			if _, err := quant.Expand(plain, dtype.F32); err != nil {
				t.Fatal(err)
			}
			if d := relative(m.Logits(tokens), plain.Logits(tokens)); !(d <= 1e-5) {
				t.Errorf("logits differ by %.3g of the largest from those of the numbers", d)
			}
			grads := func(m *Model) []tensor.Tensor {
				a, err := lora.Inject(m, lora.Config{Rank: 2, Seed: 1, Init: lora.Random, Targets: "gate_up_proj down_proj"})
				if err != nil {
					t.Fatal(err)
				}
				list := tensor.Grad(m.Loss(tokens.Slice(1, 0, 7), tokens.Slice(1, 1, 8)), nn.Values(a.Params())...)
				tensor.Eval(list...)
				return list
			}
			wants := grads(plain)
			for i, g := range grads(m) {
				if d := relative(g, wants[i]); !(d <= 1e-4) {
					t.Errorf("gradient %d differs by %.3g of the largest", i, d)
				}
			}
		})
	}
}
