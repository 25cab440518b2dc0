package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
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
	for _, path := range []string{filepath.Join(fixtures, name, "expected.safetensors"), filepath.Join("testdata/wrapped", name, "expected.safetensors"), filepath.Join(ggufs, name+".safetensors")} {
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
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-4) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		codes := false
		nn.Walk(m, func(_ string, member nn.Member) {
			if member.Slot != nil {
				_, is := (*member.Slot).(*quant.Linear)
				codes = codes || is
			}
		})
		if want := name == "q8_0" || name == "q4_0" || name == "q4_k" || strings.HasPrefix(name, "words"); codes != want {
			t.Errorf("the weights are codes: %v, want %v", codes, want)
		}
	})
}

// The tokens of a text are those that llama.cpp finds.
func TestGGUFTokens(t *testing.T) {
	for _, name := range []string{"words-bpe", "words-gemma4", "words-spm"} {
		checkTokens(t, filepath.Join(ggufs, name+".gguf"), name)
	}
}

func checkTokens(t *testing.T, path, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(ggufs, "words.json"))
	if err != nil {
		t.Fatal(err)
	}
	var words struct {
		Texts  []string
		Tokens map[string][][]int
	}
	if err := json.Unmarshal(text, &words); err != nil || len(words.Tokens[name]) < 5 {
		t.Fatal(words.Tokens[name], err)
	}
	m, err := Load(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range words.Texts {
		if got := m.Tokenizer.Encode(text, true); !slices.Equal(got, words.Tokens[name][i]) {
			t.Errorf("%s: %q: got %v, want %v", name, text, got, words.Tokens[name][i])
		}
	}
}

// Damaged files are errors that name the file, and never panics; memory follows the bytes that are there.
func TestDamagedGGUF(t *testing.T) {
	loaded := 0
	for i, name := range []string{"llama-3", "phi3-long", "gemma3", "words-bpe", "words-spm", "q4_0", "gemma4", "falcon-norms"} {
		whole, err := os.ReadFile(filepath.Join(ggufs, name+".gguf"))
		if err != nil {
			t.Fatal(err)
		}
		const header = 2 << 10
		path := filepath.Join(t.TempDir(), "damaged.gguf")
		mutate.Each(uint64(i), 500, whole[:header], func(n int, mutant []byte) {
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
	if loaded > 2000 {
		t.Errorf("%d of 3000 damaged files were loaded", loaded)
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
		{"llama-2", map[string]any{"general.architecture": "mamba"}, `changed.gguf: general.architecture: got "mamba", want one of apertus, arcee, chatglm`},
		{"llama-2", map[string]any{"general.architecture": uint32(1)}, "general.architecture: got uint32, want a string"},
		{"llama-2", map[string]any{"llama.block_count": "2"}, "llama.block_count: got string, want a number"},
		{"llama-2", map[string]any{"llama.block_count": uint32(3)}, `no tensor "model.layers.2.input_layernorm.weight"`},
		{"llama-2", map[string]any{"llama.attention.head_count": []uint32{4, 2}}, "want a number, the same for all layers"},
		{"llama-2", map[string]any{"llama.attention.head_count": uint32(0)}, "num_attention_heads: got 0, want a positive integer"},
		{"llama-2", map[string]any{"llama.attention.value_length": uint32(64)}, "value_length: got 64, want that of keys"},
		{"llama-2", map[string]any{"llama.rope.scaling.type": "spiral"}, `llama.rope.scaling.type: got "spiral", want linear, yarn`},
		{"llama-2", map[string]any{"split.count": uint16(3)}, "split.count: the file is one of 3"},
		{"gemma3", map[string]any{"gemma3.attention.sliding_window_pattern": []bool{true}}, "got 1 layers, want 7"},
		{"apertus", map[string]any{"xielu.beta": nil}, `no tensor "model.layers.0.mlp.act_fn.beta"`},
		{"apertus", map[string]any{"xielu.beta": uint32(1)}, "xielu.beta: got uint32, want a list"},
		{"apertus", map[string]any{"xielu.beta": []float32{1}}, `no tensor "model.layers.1.mlp.act_fn.beta"`},
		{"apertus", map[string]any{"xielu.eps": []float32{1, 1, 1}}, "model.layers.2.mlp.act_fn.eps"},
		{"words-bpe", map[string]any{"tokenizer.ggml.pre": "klingon"}, `tokenizer.ggml.pre: got "klingon", want one of chatglm-bpe`},
		{"words-bpe", map[string]any{"tokenizer.ggml.model": "rwkv"}, `tokenizer.ggml.model: got "rwkv", want gpt2, llama or gemma4`},
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

// noGGUF are the families' small models of which llama.cpp would compute something else, and the setting that
// the error names.
var noGGUF = map[string]string{
	"llama-dynamic": "Rope", "qwen2-yarn": "Rope", // dynamic scaling has no place in a file, nor have yarn's fractions of pairs
	"ministral3-strong": "Rope", "phi-wide": "Act", "starcoder2-plain": "Act", // nor have a factor of yarn's, and other activations than the family's
	"mixtral-gelu": "Act", "qwen2_moe-all": "Act",
	"qwen2_moe-dense": "mlp.up_proj.weight", "qwen3_moe-dense": "mlp.up_proj.weight", // its layers have experts, all of them,
	"olmoe-normed": "Normalise", "qwen2_moe-window": "Normalise", // and it knows whether their weights add up to 1
	"qwen3_moe-window": "Normalise", "qwen3_moe-yarn": "Normalise",
	"smollm3-bias": "NoRope", "smollm3-window": "NoRope", // llama.cpp knows which layers turn nothing
	"cohere-bias": "lm_head.weight", "cohere2-bias": "lm_head.weight", "phi-norms": "k_layernorm.bias", // tensors that it does not have
	// Of the newer families it knows one activation, no biases of these layers, and one order, limit and kind
	// of layers.
	"deepseek_v2-bias": "QKVBias", "deepseek_v3-bias": "QKVBias", "falcon_h1-bias": "QKVBias",
	"granitemoehybrid-dense": "Recurrent", "lfm2-bias": "Recurrent", "nemotron_h-groups": "MLPBias", "nemotron_h-narrow": "MLPBias",
	"falcon_h1-first": "Recurrent", "falcon_h1-norm": "EmbedScale", "deepseek_v3-halves": "Rope", "gpt_oss-limit": "Mixture",
	"gpt_oss-plain": "Window", "gpt_oss-types": "Local", "ernie4_5_moe-wide": "Mixture", "qwen3_next-dense": "Hidden", "granitemoehybrid-states": "Recurrent", "mamba2-groups": "Recurrent", "mamba2-one": "Act",
	"qwen3_next-types": "Hidden", "deepseek_v2-dense": "Act", "ernie4_5_moe-gelu": "Act", "granitemoe-gelu": "Act",
	"granitemoehybrid-long": "Act", "granitemoeshared-gelu": "Act", "hunyuan_v1_moe-all": "Act", "nemotron_h-mlp": "Act",
	"apertus-silu": "Act", "lfm2_moe-plain": "Mixture", "lfm2_moe-sum": "Mixture", "minimax_m2-many": "Act", "qwen3_5_text-deep": "Act", "qwen3_next-gelu": "Act", "nemotron_h-gelu": "Recurrent",
	"exaone-tied": "Act", "glm4_moe_lite-kinds": "Hidden", "mellum-dense": "mlp.up_proj.weight",
	"gpt2-relu": "Act", "gpt2-untied": "Act", "gpt_bigcode-two": "Act", "phimoe-wild": "Act", "gpt_bigcode-heads": "KVHeads", "gpt_neox-plain": "QKVBias",
	"falcon-bias": "post_attention_layernorm.bias", "ministral": "Local", "youtu-plain": "Rope", "youtu-yarn": "QKVBias", "minicpm3-plain": "q_proj", "minicpm3-scaled": "QKVBias", "phimoe-scaled": "Rope",
	"phimoe": "Mixture", "phimoe-narrow": "Mixture", "phimoe-six": "Mixture", "phimoe-window": "Mixture", // how near two experts may be
	"gemma4-bias": "Rope", "gemma4-lent": "Rope",
	"bamba-groups": "Recurrent.Bias true would be read as false", "bamba-long": "Recurrent.Limits",
	"granite_swa-rates": "LocalRope.Base 10000 would be read as 500000", "granitemoe_swa-bias": "LocalRope.Base", // all layers of a file turn by one rate
	"gemma2-plain": "Scale", "gemma3-scaled": "Scale", // files do not say by what scores are divided: it follows from the width of a head
}

// strange are small models that llama.cpp's converter writes and llama.cpp 0.3.36 does not load, as it takes
// some sizes and layers of the models that it knows for granted, and Bamba and Phi 3.5 MoE, of which it
// computes another model. windowed are those whose short window it heeds.
var (
	strange  = strings.Fields("bamba cohere-norms dots1 ernie4_5_moe nemotron-bias olmo2-grouped phimoe-bias qwen3_5_moe_text qwen3_5_text qwen3_next seed_oss-bias stablelm-parallel")
	windowed = strings.Fields("exaone_moe gemma4 gemma4-experts gemma4-same granite_swa granitemoe_swa granitemoe_swa-alone mellum")
)

func folderOnly(m *Model) bool {
	f, _ := familyOf(m.Config.Family)
	return f.Architecture == ""
}

// A folder becomes a file and a folder again, and computes the same each time.
func TestFolderToGGUFAndBack(t *testing.T) {
	wanted := oneOfEach(anyFamily)
	eachFamily(t, func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor) {
		first := wanted(m.Config)
		if _, refused := noGGUF[filepath.Base(dir)]; !first && !refused {
			return // llama.cpp's own writing of others is compared below
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		err := SaveGGUF(path, m, GGUF{})
		if folderOnly(m) {
			if err == nil || !strings.Contains(err.Error(), "which GGUF files may be") {
				t.Errorf("got %v, want an error that lists the families of GGUF files", err)
			}
			return
		}
		if setting, refused := noGGUF[filepath.Base(dir)]; refused {
			if err == nil || !strings.Contains(err.Error(), setting) {
				t.Errorf("got %v, want an error that names %s", err, setting)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file was written all the same")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := m.Logits(expected["ids"]).Eval()
		for range 2 {
			if m, err = Load(context.Background(), path); err != nil {
				t.Fatal(err)
			}
			limit := 1e-6
			if m.Config.Family == falconH1.Type { // whose files have the products of weights with factors
				limit = 1e-5
			}
			if d := relative(m.Logits(expected["ids"]), want); !(d <= limit) {
				t.Errorf("%s: logits differ by %.3g of the largest", filepath.Base(path), d)
			}
			path = filepath.Join(t.TempDir(), "folder")
			if err := Save(path, m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What llama.cpp's converter writes of a folder SaveGGUF writes, too: each tensor byte for byte, and what the
// metadata say of the model and its tokenizer. Of models of pictures it writes the model of text.
func TestSaveGGUFWritesWhatLlamaCppWrites(t *testing.T) {
	eachGGUF(t, func(t *testing.T, name string, m *Model) {
		if folder := filepath.Join(fixtures, name); name != "qwen2-yarn" {
			if _, err := os.Stat(folder); err == nil { // straight from the folder
				if m, err = Load(context.Background(), folder); err != nil {
					t.Fatal(err)
				}
			}
		}
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := SaveGGUF(path, m, GGUF{}); err != nil {
			t.Fatal(err)
		}
		want, got := opened(t, filepath.Join(ggufs, name+".gguf")), opened(t, path)
		if a, _ := want.Value("general.architecture"); slices.ContainsFunc(otherFiles(), func(f ggufhub.Family) bool { return f.Architecture == a }) {
			again, expected := loaded(t, path), expectedOf(t, name)
			if d := relative(again.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-4) || got.Has(fmt.Sprintf("%v.block_count", a)) {
				t.Errorf("logits differ by %.3g of the largest, or the file is of the same architecture", d)
			}
			return
		}
		if a, b := len(want.Tensors()), len(got.Tensors()); a != b {
			t.Errorf("got %d tensors, want %d", b, a)
		}
		for _, info := range want.Tensors() {
			if name == "q4_k" && strings.Contains(info.Type, "_K") {
				continue // f16, since no type holds all codes
			}
			a, err := want.Bytes(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := got.Bytes(info.Name)
			if (info.Name == "rope_freqs.weight" || strings.HasSuffix(info.Name, ".ssm_a")) && err == nil { // computed in f32 by the one, in f64 by the other
				x, y := floats(a), floats(b)
				if d := tensor.MaxAbsDiff(x, y); !(d <= 1e-5) {
					t.Errorf("%s: got %v, want %v", info.Name, y, x)
				}
				continue
			}
			if err != nil || !bytes.Equal(a, b) {
				t.Errorf("tensor %s differs, %v", info.Name, err)
			}
		}
		if strings.HasPrefix(name, "words") {
			checkTokens(t, path, name)
		}
		for _, key := range want.Keys() {
			if key == "tokenizer.ggml.scores" || m.Tokenizer == nil && key == "tokenizer.ggml.add_bos_token" {
				continue // of a tokenizer.json only their order is known
			}
			if kind, _, _ := strings.Cut(key, "."); kind == "general" && key != "general.architecture" && key != "general.file_type" || name == "q4_k" {
				continue // names and dates of the model
			}
			a, err := want.Value(key)
			if err != nil {
				t.Fatal(err)
			}
			if a == uint32(0) && !got.Has(key) || key == "falcon.context_length" || key == "falcon.tensor_data_layout" {
				continue // none, or the same whatever the folder says, which nobody reads
			}
			if strings.HasSuffix(key, ".context_length") && a == uint32(1<<20) || strings.HasPrefix(key, "nemotron_h_moe.rope.dimension") {
				continue // said where nothing turns
			}
			if b, err := got.Value(key); err != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("%s: got %.200v, want %.200v, %v", key, b, a, err)
			}
		}
	})
}

func floats(b []byte) tensor.Tensor { return tensor.FromBytes(dtype.F32, b, len(b)/4) }

func opened(t *testing.T, path string) *gguf.File {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Matrices become what is asked for; codes stay codes, and become numbers where somebody asks for these.
func TestSaveGGUFTypes(t *testing.T) {
	m := New(Config{Vocab: 48, Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, Seed: 3})
	ids := tensor.From([]int{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)
	want := m.Logits(ids).Eval()
	for typ, limit := range map[string]float64{"f32": 1e-6, "f16": 3e-3, "bf16": 3e-2, "q8_0": 5e-2, "q4_0": 0.6} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := SaveGGUF(path, m, GGUF{Type: typ}); err != nil {
			t.Fatal(err)
		}
		again, err := Load(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		logits := again.Logits(ids).Eval()
		if d := relative(logits, want); !(d <= limit) || d == 0 && limit > 1e-6 {
			t.Errorf("%s: logits differ by %.3g of the largest, want at most %g", typ, d, limit)
		}
		info, err := opened(t, path).Info("blk.1.attn_q.weight")
		if err != nil || !strings.EqualFold(info.Type, typ) {
			t.Errorf("%s: got a matrix in %s, %v", typ, info.Type, err)
		}
		if typ != "q8_0" && typ != "q4_0" {
			continue
		}
		folder := filepath.Join(t.TempDir(), "folder")
		if err := Save(folder, again); err == nil || !strings.Contains(err.Error(), "quant.Expand") {
			t.Errorf("%s: a folder of codes: got %v, want an error that names quant.Expand", typ, err)
		}
		if n, err := quant.Expand(again, dtype.F32); n != 2*7+1 || err != nil {
			t.Errorf("%s: %d layers expanded, %v", typ, n, err)
		}
		if err := Save(folder, again); err != nil {
			t.Fatal(err)
		}
		if again, err = Load(context.Background(), folder); err != nil {
			t.Fatal(err)
		}
		if d := relative(again.Logits(ids), logits); !(d <= 1e-5) {
			t.Errorf("%s: expanded, logits differ by %.3g of the largest", typ, d)
		}
	}
	if err := SaveGGUF(filepath.Join(t.TempDir(), "m.gguf"), m, GGUF{Type: "q4_k"}); err == nil || !strings.Contains(err.Error(), `got type "q4_k" for the matrices`) {
		t.Errorf("got %v", err)
	}
}
