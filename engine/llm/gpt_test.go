package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Folders of GPT-2 and Pythia are as the hub has them: without the name of the body, with masks and rates
// beside the weights, and with older names of settings.
func TestOldFoldersOfGPT(t *testing.T) {
	for _, c := range []struct {
		name, body string
		more       []string
		old, newer string
	}{
		{"gpt2", "transformer.", []string{"h.0.attn.bias", "h.1.attn.masked_bias"}, "", ""},
		{"gpt_neox", "", []string{"gpt_neox.layers.0.attention.bias", "gpt_neox.layers.0.attention.masked_bias", "gpt_neox.layers.0.attention.rotary_emb.inv_freq"},
			`"rope_parameters": {
    "partial_rotary_factor": 0.5,
    "rope_theta": 10000.0,
    "rope_type": "default"
  }`, `"rotary_pct": 0.5, "rotary_emb_base": 10000`},
	} {
		from, dir := filepath.Join(fixtures, c.name), t.TempDir()
		tensors, _, err := safetensors.Load(filepath.Join(from, weightsFile))
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]tensor.Tensor{}
		for name, x := range tensors {
			stored[strings.TrimPrefix(name, c.body)] = x
		}
		for _, name := range c.more {
			stored[name] = tensor.Ones(1, 1, 4, 4)
		}
		if err := safetensors.Save(filepath.Join(dir, weightsFile), stored, nil); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(from, configFile))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), c.old, c.newer, 1)
		if c.old != "" && changed == string(text) {
			t.Fatalf("%s has no %s", from, c.old)
		}
		if err := os.WriteFile(filepath.Join(dir, configFile), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		expected, _, err := safetensors.Load(filepath.Join(from, "expected.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if d := relative(loaded(t, dir).Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
			t.Errorf("%s: logits differ by %.3g of the largest", c.name, d)
		}
	}
}

// Matrices of GPT-2 that were codes in memory become those that its folders have, as [in out].
func TestExpandedGPT2(t *testing.T) {
	m := loaded(t, filepath.Join(fixtures, "gpt2"))
	if _, err := quant.Module(m, quant.Config{Bits: 8, Group: 16}); err != nil {
		t.Fatal(err)
	}
	if _, err := quant.Expand(m, dtype.F32); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "m")
	if err := Save(to, m); err != nil {
		t.Fatal(err)
	}
	if _, why := m.Unadapted(); !strings.Contains(why, "mlx-lm calls otherwise") {
		t.Errorf("got %q, want that mlx-lm has other names", why)
	}
	ids := tensor.From([]int{1, 2, 3, 4}, 1, 4)
	if d := relative(loaded(t, to).Logits(ids), m.Logits(ids)); !(d <= 1e-6) {
		t.Errorf("logits differ by %.3g of the largest", d)
	}
	if err := SaveCodes(t.Context(), filepath.Join(t.TempDir(), "c"), m, Codes{Format: "mlx"}); err == nil || !strings.Contains(err.Error(), "want matrices") {
		t.Errorf("SaveCodes: got %v, want that it is refused", err)
	}
}
