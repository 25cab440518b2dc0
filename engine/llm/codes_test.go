package llm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// eachCodes does something with each folder of testdata/codes, which tests/peers/decoder_codes.py wrote.
func eachCodes(t *testing.T, do func(t *testing.T, m *Model, expected map[string]tensor.Tensor)) {
	t.Helper()
	list, err := filepath.Glob("testdata/codes/*")
	if err != nil || len(list) < len(codesOf) {
		t.Fatal(list, err)
	}
	for _, dir := range list {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			do(t, loaded(t, dir), expected)
		})
	}
}

// codesOf are the codes of the matrix k_proj in folders.
var codesOf = map[string]string{
	"fp8":        "e4m3, groups of 64, scales f32",
	"nf4":        "nf4, groups of 64, scales f32",
	"nf4-double": "nf4, groups of 64, scales f32",
	"compressed": "int4, groups of 32, symmetric, scales f32",

	"compressed-zeros":       "int4, groups of 32, affine, scales f32",
	"compressed-channel":     "int8, groups of 128, affine, scales f32",
	"compressed-int8":        "int8, groups of 128, symmetric, scales f32",
	"compressed-fp8":         "e4m3, groups of 128, scales f32",
	"compressed-fp8-channel": "e4m3, groups of 128, scales f32",
	"fp8-tensor":             "e4m3, groups of 128, scales f32",
	"fp8-modelopt":           "e4m3, groups of 128, scales f32",
	"fp8-fbgemm":             "e4m3, groups of 128, scales f32",
	"nvfp4":                  "e2m1, groups of 16, scales f32",
	"nvfp4-modelopt":         "e2m1, groups of 16, scales f32",

	"gptq4":    "int4, groups of 64, affine, scales f32",
	"gptq4-v2": "int4, groups of 32, affine, scales f32",
	"gptq8":    "int8, groups of 128, affine, scales f32",
	"awq":      "int4, groups of 64, affine, scales f32",
	"mlx3":     "int4, groups of 64, minimum, scales f32",
	"mlx4":     "int4, groups of 32, minimum, scales f32",
	"mlx6":     "int8, groups of 128, minimum, scales f32",
	"mlx8":     "int8, groups of 64, minimum, scales bf16",
}

// Matrices in codes stay codes, and what they compute is what transformers computes with the numbers that
// they stand for. Without codes the folder can be saved.
func TestCodesOfFolders(t *testing.T) {
	eachCodes(t, func(t *testing.T, m *Model, expected map[string]tensor.Tensor) {
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		b := m.Blocks[0]
		if w, ok := b.Attn.K.(*quant.Linear); !ok || w.Weight.Config.String() != codesOf[filepath.Base(t.Name())] {
			t.Errorf("k_proj is %v", b.Attn.K)
		}
		if _, ok := b.MLP.Down.(*nn.Linear); !ok {
			t.Errorf("down_proj, which is not to be converted, is %v", b.MLP.Down)
		}
		if _, err := quant.Expand(m, dtype.F32); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "plain")
		if err := Save(dir, m); err != nil {
			t.Fatal(err)
		}
		if d := relative(loaded(t, dir).Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
			t.Errorf("logits of the folder that was expanded differ by %.3g of the largest", d)
		}
	})
}

// An adapter beside codes of any form has the gradients that it has beside the numbers, and learns.
func TestAdaptersBesideCodesOfFolders(t *testing.T) {
	eachCodes(t, func(t *testing.T, m *Model, expected map[string]tensor.Tensor) {
		plain := loaded(t, filepath.Join("testdata/codes", filepath.Base(t.Name())))
		if _, err := quant.Expand(plain, dtype.F32); err != nil {
			t.Fatal(err)
		}
		ids := expected["ids"]
		loss := func(m *Model) tensor.Tensor { return m.Loss(ids.Slice(1, 0, 11), ids.Slice(1, 1, 12)) }
		adapt := func(m *Model) []nn.Param {
			ad, err := lora.Inject(m, lora.Config{Rank: 4, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			return ad.Params()
		}
		params, others := adapt(m), adapt(plain)
		first, rule, other := loss(m).Item(), optim.AdamW{}.New(params), optim.AdamW{}.New(others)
		for range 5 {
			grads, wants := tensor.Grad(loss(m), nn.Values(params)...), tensor.Grad(loss(plain), nn.Values(others)...)
			tensor.Eval(slices.Concat(grads, wants)...)
			for i, want := range wants {
				if d, most := tensor.MaxAbsDiff(grads[i], want), want.Abs().Max().Item(); !(d <= 1e-3*most+1e-6) {
					t.Fatalf("the gradient of %s differs by %g of %g", params[i].Name, d, most)
				}
			}
			for _, update := range []*optim.Update{rule.Update(grads, 1e-2, tensor.Scalar(1)), other.Update(wants, 1e-2, tensor.Scalar(1))} {
				tensor.Eval(update.Tensors()...)
				update.Commit()
			}
		}
		if last := loss(m).Item(); !(last < 0.9*first) {
			t.Errorf("the loss went from %g to %g, want a tenth less", first, last)
		}
	})
}

// Settings that would mean other numbers are refused by their keys.
func TestCodesRefused(t *testing.T) {
	for _, test := range []struct{ folder, old, new, want string }{
		{"mlx4", `"mode": "affine"`, `"mode": "mxfp4"`, `config.json: quantization.mode: got "mxfp4", want one of affine`},
		{"mlx4", `"bits": 4,`, `"bits": 7,`, `quantization.bits: got 7, want one of 2, 3, 4, 5, 6, 8`},
		{"mlx4", `"group_size": 32`, `"group_size": 16`, `quantization.group_size: got 16, want one of 32, 64, 128`},
		{"mlx4", `"group_size": 32`, `"group_size": 64`, `.weight": got shape`},
		{"mlx4", `"mode": "affine"`, `"quant_method": "other"`, `quantization.quant_method: weights in codes of "other" are not read, want those of `},
		{"gptq4", `"bits": 4,`, `"bits": 3,`, `quantization_config.bits: got 3, want one of 2, 4, 8`},
		{"gptq4", `"group_size": 64`, `"group_size": 32`, `.scales": got shape [2 128], want [4 128]`},
		{"gptq4", `"group_size": 64`, `"group_size": 8`, `quantization_config.group_size: got 8, want a multiple of 16`},
		{"gptq4", `"checkpoint_format": "gptq"`, `"checkpoint_format": "marlin"`, `quantization_config.checkpoint_format: got "marlin", want one of gptq, gptq_v2`},
		{"awq", `"version": "gemm"`, `"version": "gemv"`, `quantization_config.version: got "gemv", want one of gemm`},
		{"fp8", `"activation_scheme": "dynamic"`, `"fmt": "e5m2"`, `quantization_config.fmt: got "e5m2", want one of e4m3`},
		{"fp8", `"weight_block_size"`, `"other"`, `.weight_scale_inv": got shape [2 2], want [128 1]`},
		{"nvfp4-modelopt", `"NVFP4"`, `"W4A8_AWQ"`, `quantization_config.quant_algo: got "W4A8_AWQ", want one of FP8, NVFP4`},
		{"compressed", `"strategy": "group"`, `"strategy": "channel"`, `.weight_scale": got shape [128 4], want [128 1]`},
		{"compressed-zeros", `"num_bits": 4`, `"num_bits": 3`, `quantization_config.config_groups.group_0.weights.num_bits: got 3, want one of 4, 8`},
		{"fp8", `"weight_block_size": [`, `"weight_block_size": [64, `, `quantization_config.weight_block_size: got [64 64 64]`},
		{"nf4", `"bnb_4bit_quant_type": "nf4"`, `"bnb_4bit_quant_type": "fp4"`, `quantization_config.bnb_4bit_quant_type: got "fp4", want one of nf4`},
		{"compressed-fp8", `"symmetric": true`, `"symmetric": false`, `quantization_config.config_groups.group_0.weights.symmetric: got false`},
		{"compressed", `"symmetric": true`, `"symmetric": false`, `no tensor "model.layers.0.mlp.gate_proj.weight_zero_point"`},
		{"compressed", `"output_activations": null`, `"output_activations": {}`, `quantization_config.config_groups.group_0.output_activations: activations`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata/codes", test.folder))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, configFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), test.old) {
			t.Fatalf("%s: %s is not in the file", test.folder, test.old)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), test.old, test.new, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %s: got %v, want %q", test.folder, test.new, err, test.want)
		}
	}
}

// Tensors that do not fit each other are errors that name one.
func TestCodesDamaged(t *testing.T) {
	for _, test := range []struct {
		folder, part string
		make         func(old tensor.Tensor) tensor.Tensor // nil: the part is not there
		want         string
	}{
		{"gptq4", "g_idx", func(old tensor.Tensor) tensor.Tensor { return tensor.Zeros(128).Cast(dtype.I32) }, `quantization_config.desc_act: tensor "model.layers.0.self_attn.q_proj.g_idx": input 64 is of group 0, want 1`},
		{"gptq4", "g_idx", func(old tensor.Tensor) tensor.Tensor { return tensor.Zeros(64).Cast(dtype.I32) }, `q_proj.g_idx": got shape [64], want [128]`},
		{"gptq4", "qzeros", nil, `no tensor "model.layers.0.self_attn.q_proj.qzeros"`},
		{"gptq4", "qzeros", func(old tensor.Tensor) tensor.Tensor { return old.Cast(dtype.F32) }, `q_proj.qzeros": got F32[2 16], want 2 dimensions of I32 or U32`},
		{"gptq4", "scales", nil, `no tensor "model.layers.0.self_attn.q_proj.scales"`},
		{"gptq4", "qweight", func(old tensor.Tensor) tensor.Tensor { return old.Slice(1, 0, 12) }, `q_proj.qweight": got 12 outputs, want a multiple of 8`},
		{"gptq4", "qweight", func(old tensor.Tensor) tensor.Tensor { return old.Slice(0, 0, 8) }, `q_proj.scales": got shape [2 128], want [1 128]`},
		{"compressed-zeros", "weight_zero_point", func(old tensor.Tensor) tensor.Tensor { return old.Slice(0, 0, 4) }, `q_proj.weight_zero_point": got shape [4 2], want [8 2]`},
		{"compressed-zeros", "weight_shape", func(old tensor.Tensor) tensor.Tensor { return old.Mul(0) }, `q_proj.weight_shape": got [0 0], want a shape`},
		{"compressed-int8", "weight_scale", func(old tensor.Tensor) tensor.Tensor { return tensor.Ones(3) }, `q_proj.weight_scale": got shape [3], want [64]`},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata/codes", test.folder))); err != nil {
			t.Fatal(err)
		}
		tensors, meta, err := safetensors.Load(filepath.Join(dir, weightsFile))
		if err != nil {
			t.Fatal(err)
		}
		name := "model.layers.0.self_attn.q_proj." + test.part
		if old := tensors[name]; test.make == nil {
			delete(tensors, name)
		} else {
			tensors[name] = test.make(old).Eval()
		}
		if err := safetensors.Save(filepath.Join(dir, weightsFile), tensors, meta); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %s: got %v, want %q", test.part, test.folder, err, test.want)
		}
	}
}
