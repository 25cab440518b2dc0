package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/mutate"
)

// testdata/gguf was written by tests/peers/decoder_gguf.py with llama.cpp's own converter and quantiser.
const ggufs = "testdata/gguf"

func eachGGUF(t *testing.T, test func(t *testing.T, name string, m *Model)) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(ggufs, "*.gguf"))
	if err != nil || len(list) < 15 {
		t.Fatal(list, err)
	}
	for _, path := range list {
		name := strings.TrimSuffix(filepath.Base(path), ".gguf")
		t.Run(name, func(t *testing.T) {
			m, err := Load(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			test(t, name, m)
		})
	}
}

// expectedOf are the logits of transformers for the model of a GGUF file; nil: there are none.
func expectedOf(t *testing.T, name string) map[string]tensor.Tensor {
	t.Helper()
	for _, path := range []string{filepath.Join(fixtures, name, "expected.safetensors"), filepath.Join(ggufs, name+".safetensors")} {
		if expected, _, err := safetensors.Load(path); err == nil {
			return expected
		}
	}
	return nil
}

// A model that llama.cpp's converter wrote computes what transformers computes for the folder, or, where the
// file is quantised, for the numbers that the file holds.
func TestGGUFAgreesWithTransformers(t *testing.T) {
	eachGGUF(t, func(t *testing.T, name string, m *Model) {
		expected := expectedOf(t, name)
		if expected == nil {
			t.Skip("a model of which only the tokenizer is compared")
		}
		limit := 1e-4
		if name == "q4_k" {
			limit = 2e-2 // expanded to bf16
		}
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= limit) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		_, codes := m.Blocks[0].Attn.O.(*quant.Linear)
		if want := name == "q8_0" || name == "q4_0" || strings.HasPrefix(name, "words"); codes != want {
			t.Errorf("the weights are codes: %v, want %v", codes, want)
		}
	})
}

// The tokens of a text are those that llama.cpp finds.
func TestGGUFTokens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(ggufs, "words.json"))
	if err != nil {
		t.Fatal(err)
	}
	var words struct {
		Texts  []string
		Tokens map[string][][]int
	}
	if err := json.Unmarshal(text, &words); err != nil || len(words.Tokens) != 2 {
		t.Fatal(len(words.Tokens), err)
	}
	for name, tokens := range words.Tokens {
		m, err := Load(context.Background(), filepath.Join(ggufs, name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range words.Texts {
			if got := m.Tokenizer.Encode(text, true); !slices.Equal(got, tokens[i]) {
				t.Errorf("%s: %q: got %v, want %v", name, text, got, tokens[i])
			}
		}
	}
}

// Damaged files are errors that name the file, and never panics; memory follows the bytes that are there.
func TestDamagedGGUF(t *testing.T) {
	loaded := 0
	for i, name := range []string{"llama-3", "phi3-long", "gemma3", "words-bpe", "words-spm", "q4_0"} {
		whole, err := os.ReadFile(filepath.Join(ggufs, name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		const header = 2 << 10
		path := filepath.Join(t.TempDir(), "damaged.gguf")
		mutate.Each(uint64(i), 100, whole[:header], func(n int, mutant []byte) {
			if n%4 == 0 { // the tensors stay where they are
				mutant = append(mutant, make([]byte, header)...)[:header]
			}
			if err := os.WriteFile(path, slices.Concat(mutant, whole[header:]), 0o644); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Load(context.Background(), path)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > uint64(2*len(whole))+8<<20 {
				t.Errorf("%s %d: %d bytes allocated for a file of %d", name, n, got, len(whole))
			}
			if err == nil {
				loaded++
			} else if !strings.Contains(err.Error(), "damaged.gguf") {
				t.Errorf("%s %d: %v does not name the file", name, n, err)
			}
		})
	}
	if loaded > 400 {
		t.Errorf("%d of 600 damaged files were loaded", loaded)
	}
}

// rewritten writes a fixture with other metadata; nil removes one.
func rewritten(t *testing.T, name string, changes map[string]any) string {
	t.Helper()
	f, err := gguf.Open(filepath.Join(ggufs, name+".gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	metadata, err := f.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range changes {
		if metadata[k] = v; v == nil {
			delete(metadata, k)
		}
	}
	var entries []gguf.Entry
	for _, info := range f.Tensors() {
		x, err := f.Tensor(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, gguf.Entry{Name: info.Name, Tensor: x})
	}
	path := filepath.Join(t.TempDir(), "changed.gguf")
	if err := gguf.WriteFile(path, metadata, entries); err != nil {
		t.Fatal(err)
	}
	return path
}

// What would compute something else is refused, by the name of the key or of the tensor.
func TestGGUFRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		changes map[string]any
		want    string
	}{
		{"llama-2", map[string]any{"general.architecture": "mamba"}, `changed.gguf: general.architecture: got "mamba", want one of gemma, gemma2`},
		{"llama-2", map[string]any{"general.architecture": uint32(1)}, "general.architecture: got uint32, want a string"},
		{"llama-2", map[string]any{"llama.block_count": "2"}, "llama.block_count: got string, want a number"},
		{"llama-2", map[string]any{"llama.block_count": uint32(3)}, `no tensor "model.layers.2.input_layernorm.weight"`},
		{"llama-2", map[string]any{"llama.attention.head_count": []uint32{4, 2}}, "want a number, the same for all layers"},
		{"llama-2", map[string]any{"llama.attention.head_count": uint32(0)}, "num_attention_heads: got 0, want a positive integer"},
		{"llama-2", map[string]any{"llama.attention.value_length": uint32(64)}, "value_length: got 64, want that of keys"},
		{"llama-2", map[string]any{"llama.rope.scaling.type": "spiral"}, `llama.rope.scaling.type: got "spiral", want linear, yarn`},
		{"llama-2", map[string]any{"split.count": uint16(3)}, "split.count: the file is one of 3"},
		{"gemma3", map[string]any{"gemma3.attention.sliding_window_pattern": []bool{true}}, "got 1 layers, want 7"},
		{"words-bpe", map[string]any{"tokenizer.ggml.pre": "klingon"}, `tokenizer.ggml.pre: got "klingon", want one of chatglm-bpe`},
		{"words-bpe", map[string]any{"tokenizer.ggml.model": "rwkv"}, `tokenizer.ggml.model: got "rwkv", want gpt2 or llama`},
		{"words-bpe", map[string]any{"tokenizer.ggml.merges": nil}, "tokenizer.ggml.merges: is not there"},
		{"words-bpe", map[string]any{"tokenizer.ggml.merges": []string{"x"}}, "model.merges: number 0"},
		{"words-bpe", map[string]any{"tokenizer.ggml.tokens": []string{"a", "a"}, "tokenizer.ggml.token_type": nil}, `tokens 0 and 1 are both "a"`},
		{"words-bpe", map[string]any{"tokenizer.ggml.token_type": []int32{1}}, "tokenizer.ggml.token_type: got 1, want one for each"},
		{"words-bpe", map[string]any{"tokenizer.ggml.eos_token_id": uint32(1 << 30)}, "tokenizer.ggml.eos_token_id: got 1.073741824e+09, want one of"},
		{"words-spm", map[string]any{"tokenizer.ggml.scores": nil}, "tokenizer.ggml.scores: is not there"},
	} {
		_, err := Load(context.Background(), rewritten(t, test.name, test.changes))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %v: got %v, want %q", test.name, test.changes, err, test.want)
		}
	}
}

// A folder without a config.json may hold one GGUF file.
func TestLoadOfFolderWithGGUF(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(context.Background(), dir); err == nil || !strings.Contains(err.Error(), configFile) {
		t.Errorf("an empty folder: got %v, want the missing file", err)
	}
	text, err := os.ReadFile(filepath.Join(ggufs, "llama-2.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "2 GGUF files"} {
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+i))+".gguf"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(context.Background(), dir)
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) && want != "" {
			t.Errorf("%d files: got %v, want %q", i+1, err, want)
		}
	}
	if _, err := Load(context.Background(), filepath.Join(dir, "none.gguf")); err == nil || !strings.Contains(err.Error(), "none.gguf") {
		t.Errorf("no file: got %v", err)
	}
}
