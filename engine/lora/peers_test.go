package lora_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/python"
)

// peersRead are adapters that PEFT and mlx-lm read in TestPeersRead: base, configuration, and whether mlx-lm
// has such adapters, too.
var peersRead = []struct {
	name   string
	config lora.Config
	mlx    bool
}{
	{"own-lora", lora.Config{}, true},
	{"own-last_block", lora.Config{LastBlocks: 1, Targets: "q_proj down_proj"}, true},
	{"own-one_block", lora.Config{Blocks: []int{0}, Targets: "q_proj"}, true},
	{"own-patterns", lora.Config{Patterns: []lora.Pattern{{Layers: "q_proj", Rank: 5}, {Layers: "model.layers.0.mlp.*", Rank: 1, Alpha: 3}}}, true},
	{"own-rslora", lora.Config{RankStabilized: true, Exclude: "up_proj", Dropout: 0.1}, true},
	{"own-dora", lora.Config{DoRA: true}, true},
	{"own-dora_patterns", lora.Config{DoRA: true, Patterns: []lora.Pattern{{Layers: "q_proj", Rank: 5, Alpha: 3}}}, true},
	{"own-pissa", lora.Config{Init: lora.PiSSA}, true},
	{"own-pissa_rs", lora.Config{Init: "pissa_niter_8", RankStabilized: true, Patterns: []lora.Pattern{{Layers: "v_proj", Rank: 2, Alpha: 9}}}, true},
	{"own-olora_dora", lora.Config{Init: lora.OLoRA, DoRA: true}, true},
	{"own-bias", lora.Config{Bias: lora.AllBiases, Targets: "q_proj"}, false},
	{"own-bias_adapted", lora.Config{Bias: lora.AdaptedBiases, Targets: "q_proj down_proj"}, false},
	{"own-modules", lora.Config{Train: "norm layers.1.input_layernorm lm_head k_proj", Targets: "q_proj"}, false},
	{"own-embedding", lora.Config{Targets: "embed_tokens lm_head q_proj"}, true},
	{"own-embedding_dora", lora.Config{Targets: "embed_tokens q_proj", DoRA: true}, false},
	{"own-lora_bias", lora.Config{LoRABias: true}, false},
	{"own-lora_bias_random", lora.Config{LoRABias: true, Init: lora.Random, Targets: "q_proj up_proj", RankStabilized: true}, false},
	{"own-tokens", lora.Config{Targets: "q_proj", Tokens: []int{3, 1}}, false},
	{"mixed-all", lora.Config{}, false},
	{"mixed-experts", lora.Config{Targets: "experts.gate_up_proj experts.down_proj q_proj", RankStabilized: true,
		Patterns: []lora.Pattern{{Layers: "layers.1.mlp.experts.down_proj", Rank: 2, Alpha: 5}}}, false},
	{"mixed-gate", lora.Config{Targets: "gate layers.0.mlp.experts.gate_up_proj", Init: lora.Random}, false},
	{"lfm2-all", lora.Config{}, true},
	{"lfm2-conv", lora.Config{Targets: "in_proj w2", RankStabilized: true}, true},
	// PEFT takes layers of a shared expert that are called like those of the experts for these.
	{"qwen3_next-all", lora.Config{Exclude: "gate_proj up_proj down_proj"}, false},
	{"qwen3_next-delta", lora.Config{Targets: "in_proj_qkvz in_proj_ba out_proj q_proj"}, true},
	{"mamba2-proj", lora.Config{Targets: "in_proj", RankStabilized: true, LoRABias: true}, false},
	{"mamba2-all", lora.Config{LoRABias: true}, false},
	// mlx-lm has other weights, which are multiplied by the factors.
	{"falcon_h1-all", lora.Config{LoRABias: true}, false},
	{"falcon_h1-modules", lora.Config{Targets: "in_proj k_proj down_proj", Train: "pre_ff_layernorm"}, false},
	{"granitemoehybrid-all", lora.Config{}, false},
	{"granitemoehybrid-experts", lora.Config{Targets: "experts.gate_up_proj experts.down_proj router out_proj output_linear", RankStabilized: true}, false},
	{"oss-all", lora.Config{}, false},
	{"oss-experts", lora.Config{Targets: "experts.gate_up_proj experts.down_proj router", RankStabilized: true}, false},
	{"latent-all", lora.Config{Exclude: "gate_proj up_proj down_proj"}, false},
	{"tied-embedding", lora.Config{Targets: "embed_tokens q_proj"}, true},
	{"tied-apart", lora.Config{Targets: "embed_tokens q_proj", OnlyInput: true}, false},
	{"tied-modules", lora.Config{Targets: "q_proj", Train: "embed_tokens"}, false},
	{"tied-tokens", lora.Config{Targets: "q_proj", Tokens: []int{3, 1}}, false},
}

// PEFT and mlx-lm read what mcs writes, and compute the same with it. PYTHON is the path of a Python that has
// them.
func TestPeersRead(t *testing.T) {
	if os.Getenv("PYTHON") == "" {
		t.Skip("PYTHON names no Python with peft and mlx-lm")
	}
	python := python.With(t, "peft", "mlx_lm")
	peft, mlx := t.TempDir(), t.TempDir()
	ids := expected(t)["ids"]
	logits := map[string]tensor.Tensor{"ids": ids}
	for _, c := range peersRead {
		m := base(t, c.name)
		config := c.config
		if config.Rank == 0 {
			config.Rank = 4
		}
		ad := inject(t, m, config)
		move(ad)
		logits[c.name+".logits"] = m.Logits(ids).Eval()
		if err := ad.Save(filepath.Join(peft, c.name)); err != nil {
			t.Fatal(err)
		}
		if err := ad.SaveMLX(filepath.Join(mlx, c.name)); (err == nil) != c.mlx {
			t.Errorf("%s for mlx-lm: got %v, want it saved: %v", c.name, err, c.mlx)
		}
	}
	for script, folder := range map[string]string{"lora_variants.py": peft, "lora_mlx.py": mlx} {
		if err := safetensors.Save(filepath.Join(folder, "expected.safetensors"), logits, nil); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(python, "../../tests/peers/"+script, "load", folder).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		t.Logf("%s", out)
	}
}
