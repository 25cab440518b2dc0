package llm

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/python"
)

// TestLlamaCppReads lets llama.cpp, where its Python package is installed, compute with files that SaveGGUF
// wrote. Its products of f32 round to f16 or bf16 on some processors.
func TestLlamaCppReads(t *testing.T) {
	python := python.With(t, "llama_cpp", "safetensors")
	dir := t.TempDir()
	args := []string{"../../tests/peers/decoder_gguf.py", "check"}
	add := func(name string, m *Model, ids tensor.Tensor, o GGUF) {
		path := filepath.Join(dir, name+".gguf")
		if err := SaveGGUF(path, m, o); err != nil {
			t.Fatal(err)
		}
		if err := safetensors.Save(filepath.Join(dir, name+".safetensors"), map[string]tensor.Tensor{"ids": ids, "logits": m.Logits(ids)}, nil); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	eachFamily(t, func(t *testing.T, folder string, m *Model, expected map[string]tensor.Tensor) {
		name := filepath.Base(folder)
		if _, err := os.Stat(filepath.Join(ggufs, name+".gguf")); err != nil || slices.Contains(strange, name) || noGGUF[name] != "" || name == "qwen3-bias" || m.Config.Window > 0 && m.Config.Window < 20 && m.Config.NormPlus == 0 && !slices.Contains(windowed, name) {
			return // windows and biases that llama.cpp does not have
		}
		add(name, m, expected["ids"], GGUF{})
	})
	eachGGUF(t, func(t *testing.T, name string, m *Model) {
		if name == "q8_0" || name == "q4_0" {
			add(name, m, expectedOf(t, name)["ids"], GGUF{})
		}
	})
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// TestTransformersReadsWhatGGUFBecame lets transformers, where it is installed, read the folders that GGUF
// files become: the tokens are llama.cpp's, and the text comes back.
func TestTransformersReadsWhatGGUFBecame(t *testing.T) {
	python := python.With(t, "transformers")
	const check = `import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
words, name, folder = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
t = AutoTokenizer.from_pretrained(folder)
for text, want in zip(words["texts"], words["tokens"][name]):
    got = t(text)["input_ids"]
    assert got == want and t.decode(got, skip_special_tokens=True) == text, (text, got, want)
AutoModelForCausalLM.from_pretrained(folder)`
	for _, name := range []string{"words-bpe", "words-gemma4", "words-spm"} {
		m := loaded(t, filepath.Join(ggufs, name+".gguf"))
		if _, err := quant.Expand(m, dtype.F32); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(t.TempDir(), name)
		if err := Save(folder, m); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(python, "-c", check, filepath.Join(ggufs, "words.json"), name, folder).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// mixtures are models of 9 layers, by the names that testdata/gguf/mixtures.json has for them: tied with rows
// that are no whole blocks of 256, untied, of 8 experts, and with q, k and v in one matrix.
func mixtures() map[string]*Model {
	small := Config{Vocab: 64, Width: 256, Layers: 9, Heads: 4, KVHeads: 1, Hidden: 256, Context: 64, Seed: 1}
	list := map[string]*Model{}
	for name, change := range map[string]func(c *Config){
		"tied":   func(c *Config) { c.Hidden = 96 },
		"untied": func(c *Config) { c.Untied = true },
		"experts": func(c *Config) {
			c.Family, c.Untied, c.Hidden = "mixtral", true, 32
			c.Mixture = Mixture{Experts: 8, TopK: 2, Hidden: 32, Normalise: true}
		},
		"joined": func(c *Config) { c.Family, c.Untied, c.JoinedQKV, c.JoinedMLP = "phi3", true, true, true },
	} {
		c := small
		change(&c)
		list[name] = New(c)
	}
	return list
}

// TestMixturesOfTypes: matrices have the types that llama.cpp's quantiser gives them, and where its Python
// package is installed the very bytes.
func TestMixturesOfTypes(t *testing.T) {
	text, err := os.ReadFile("testdata/gguf/mixtures.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string // by model and type, of each tensor
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	dir, types := t.TempDir(), []string{"q4_k_m"}
	if long.CI() {
		types = []string{"f32", "q4_k_m", "q6_k"}
	}
	for name, m := range mixtures() {
		for _, typ := range types {
			path := filepath.Join(dir, name+"."+typ)
			if err := SaveGGUF(path, m, GGUF{Type: typ}); err != nil {
				t.Fatal(err)
			}
			if typ == "f32" {
				continue
			}
			got := map[string]string{}
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, info := range f.Tensors() {
				got[info.Name] = info.Type
			}
			f.Close()
			if !maps.Equal(got, want[name+"."+typ]) {
				t.Errorf("%s in %s: got %v\nwant %v", name, typ, got, want[name+"."+typ])
			}
		}
	}
	long.InCI(t, "compares with files of llama.cpp")
	python := python.With(t, "llama_cpp", "gguf")
	out, err := exec.Command(python, "../../tests/peers/decoder_gguf.py", "mixtures", dir).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
