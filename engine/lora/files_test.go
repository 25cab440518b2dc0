package lora_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// testdata/variants was written by tests/peers/lora_variants.py with transformers and PEFT, and by
// tests/peers/lora_mlx.py with mlx-lm.
const variantFiles = "testdata/variants"

func base(t *testing.T, variant string) *llm.Model {
	t.Helper()
	name, _, _ := strings.Cut(variant, "-")
	m, err := llm.Load(context.Background(), filepath.Join(variantFiles, name))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func variantNames(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(variantFiles, "*-*"))
	if err != nil || len(list) < 20 {
		t.Fatal(list, err)
	}
	for i, path := range list {
		list[i] = filepath.Base(path)
	}
	return list
}

func expected(t *testing.T) map[string]tensor.Tensor {
	t.Helper()
	all := map[string]tensor.Tensor{}
	for _, name := range []string{"expected.safetensors", "expected_mlx.safetensors"} {
		tensors, _, err := safetensors.Load(filepath.Join(variantFiles, name))
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range tensors {
			all[name] = v
		}
	}
	return all
}

// An adapter for a model of text within one of pictures or sound, whose names are longer, is one of the model
// of text.
func TestAdapterOfATextPart(t *testing.T) {
	want := expected(t)
	for _, outer := range []string{"model.language_model.", "language_model.model.", "model.text_model."} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(variantFiles, "own-rslora"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "adapter_model.safetensors")
		tensors, metadata, err := safetensors.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		longer := map[string]tensor.Tensor{}
		for name, v := range tensors {
			longer[strings.Replace(name, "base_model.model.model.", "base_model.model."+outer, 1)] = v
		}
		if err := safetensors.Save(path, longer, metadata); err != nil {
			t.Fatal(err)
		}
		m := base(t, "own")
		if _, err := lora.Load(dir, m); err != nil {
			t.Fatal(err)
		}
		wantClose(t, outer+" logits", m.Logits(want["ids"]), want["own-rslora.logits"], 1e-5)
	}
}

// Adapters of all kinds that PEFT and mlx-lm made compute here what they compute there, and have the same
// gradients; so do they after they were saved and read again, as PEFT's files and as mlx-lm's. Removed they
// leave the model as it was.
func TestFilesOfPeers(t *testing.T) {
	want := expected(t)
	for i, name := range variantNames(t) {
		if i%3 > 0 && !long.CI() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := base(t, name)
			plain := nn.Hash(nn.Params(m))
			ad, err := lora.Load(filepath.Join(variantFiles, name), m)
			if err != nil {
				t.Fatal(err)
			}
			logits := want[name+".logits"]
			wantClose(t, "logits", m.Logits(want["ids"]), logits, 1e-5)
			loss := m.Loss(want["ids"], want["targets"])
			wantClose(t, "loss", loss, want[name+".loss"], 1e-6)
			checkGradients(t, ad, loss, want, name)

			for format, save := range map[string]func(string) error{"PEFT": ad.Save, "mlx-lm": ad.SaveMLX} {
				path := filepath.Join(t.TempDir(), "saved")
				if err := save(path); err != nil {
					if format == "mlx-lm" && strings.Contains(err.Error(), "which") || ad.Config.Full {
						continue // it says what mlx-lm does not have
					}
					t.Fatal(err)
				}
				again := base(t, name)
				if _, err := lora.Load(path, again); err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				wantClose(t, "logits after "+format, again.Logits(want["ids"]), logits, 1e-5)
			}

			ad.Merge()
			wantClose(t, "merged logits", m.Logits(want["ids"]), logits, 2e-5)
			ad.Unmerge()
			if err := ad.Remove(m); err != nil {
				t.Fatal(err)
			}
			if nn.Hash(nn.Params(m)) != plain {
				t.Error("the model is not what it was")
			}
			path := filepath.Join(t.TempDir(), "removed")
			if err := ad.Save(path); err == nil {
				if _, err := lora.Load(path, m); err != nil {
					t.Fatal(err)
				}
				wantClose(t, "logits after it was removed", m.Logits(want["ids"]), logits, 1e-5)
			}
		})
	}
}

// checkGradients compares gradients with those of the fixture, which has some.
func checkGradients(t *testing.T, ad *lora.Adapter, loss tensor.Tensor, want map[string]tensor.Tensor, variant string) {
	t.Helper()
	of := map[string]tensor.Tensor{}
	for name, g := range want {
		if name, ok := strings.CutPrefix(name, variant+".grad.base_model.model."); ok {
			name = strings.NewReplacer("experts.base_layer.", "experts.gate_up_proj.", "experts.lora_", "experts.down_proj.lora_", "lora_B.default.bias", "lora_B_bias", ".default", "", "lora_embedding", "lora", ".modules_to_save", "", ".base_layer", "").Replace(name)
			if strings.Contains(name, "lora_") {
				name = strings.TrimSuffix(name, ".weight")
			}
			of[name] = g
		}
	}
	if len(of) == 0 {
		return
	}
	checked := 0
	grads := tensor.Grad(loss, nn.Values(ad.Params())...)
	tensor.Eval(grads...) // at once, and not each with the whole way back
	for i, g := range grads {
		name := ad.Params()[i].Name
		w, ok := of[name]
		if !ok {
			continue
		}
		if g.Rank() == 3 { // of experts: rows of A by expert, columns of B by rank
			groups := g.Len(0)
			if strings.HasSuffix(name, "lora_A") {
				w = w.Reshape(groups, g.Len(2), g.Len(1)).Transpose()
			} else {
				w = w.Reshape(g.Len(2), g.Len(1), groups).Permute(2, 1, 0)
			}
		}
		if g.Rank() == 2 && !strings.HasSuffix(name, "embed_tokens.weight") {
			w = w.Transpose()
		}
		if head, ok := of[strings.NewReplacer("model.embed_tokens.lora_A", "lm_head.lora_B", "model.embed_tokens.lora_B", "lm_head.lora_A").Replace(name)]; ok && strings.HasPrefix(variant, "tied") && strings.Contains(name, "embed_tokens.lora") {
			w = w.Add(head) // PEFT has the tied layer twice, over the same numbers
		}
		wantClose(t, "gradient of "+name, g, w, 5e-5)
		checked++
	}
	if checked < len(of)/2 {
		t.Errorf("checked %d of %d gradients", checked, len(of))
	}
}

// Keys of PEFT's configuration that would change what the adapter computes are refused by name; those that
// are not in use, or do not matter, are not.
func TestKeysOfPEFT(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"lora_bias", "true", "model.layers.0.self_attn.q_proj has no lora_B.bias [16], which lora_bias needs"},
		{"lora_bias", "false", ""},
		{"target_parameters", `["mlp.experts.gate_up_proj"]`, ""},
		{"target_parameters", `"q_proj.weight"`, "configuration: json: cannot unmarshal string"},
		{"layer_replication", "[[0, 2], [1, 2]]", "got layer_replication [[0,2],[1,2]]"},
		{"alora_invocation_tokens", "[1, 2]", "got alora_invocation_tokens [1,2]"},
		{"use_qalora", "true", "got use_qalora true"},
		{"kasa_config", `{"a": 1}`, "got kasa_config"},
		{"of_a_later_version", "3", "got of_a_later_version 3"},
		{"of_a_later_version", "null", ""},
		{"init_lora_weights", `"loftq"`, "got init_lora_weights loftq"},
		{"init_lora_weights", `"corda"`, "got init_lora_weights corda"},
		{"init_lora_weights", `"eva"`, ""},
		{"init_lora_weights", "false", ""},
		{"eva_config", `{"rho": 2.0}`, ""},
		{"peft_version", `"0.99"`, ""},
		{"fan_in_fan_out", "true", ""}, // PEFT heeds it of layers alone whose matrices files have as [in out]
		{"rank_pattern", `{"q_proj(": 2}`, "rank_pattern: error parsing regexp"},
		{"rank_pattern", `{"k_proj": "x"}`, "configuration: k_proj: json: cannot unmarshal string"},
		{"alpha_pattern", `{"q_proj": -1}`, "got rank 2 and alpha -1 of model.layers.0.self_attn.q_proj"},
		{"bias", `"some"`, `got Bias "some"`},
		{"trainable_token_indices", "[50]", "got token 50, want each once and from 0 to 39"},
		{"trainable_token_indices", "[1]", "model.embed_tokens has no token_adapter.trainable_tokens_delta [1 16]"},
		{"use_dora", "true", "has no magnitude vector [16], which DoRA needs"},
	} {
		dir := t.TempDir()
		text, err := os.ReadFile(filepath.Join(variantFiles, "own-gaussian", "adapter_config.json"))
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		all[c.key] = json.RawMessage(c.value)
		if text, err = json.Marshal(all); err != nil {
			t.Fatal(err)
		}
		weights, err := os.ReadFile(filepath.Join(variantFiles, "own-gaussian", "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{"adapter_config.json": text, "adapter_model.safetensors": weights} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err = lora.Load(dir, base(t, "own"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir)) {
			t.Errorf("%s %s: got %v, want %q", c.key, c.value, err, c.want)
		}
	}
}

// What a tied model cannot have is refused, and so is a pickle.
func TestLoadRefusesOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "adapter_model.bin"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := lora.Load(dir, base(t, "own")); err == nil || !strings.Contains(err.Error(), "is a Python pickle") {
		t.Errorf("a pickle: got %v", err)
	}
	for variant, want := range map[string]string{
		"own-embedding": "lm_head.lora_A.weight is not that of the embedding, which is the output matrix of this model",
		"own-modules":   `tensor "base_model.model.lm_head.weight" belongs to no layer of the model`,
	} {
		m := base(t, "tied")
		before := nn.Hash(nn.Params(m))
		if _, err := lora.Load(filepath.Join(variantFiles, variant), m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", variant, err, want)
		}
		if nn.Hash(nn.Params(m)) != before {
			t.Errorf("%s: the model is another", variant)
		}
	}
}
