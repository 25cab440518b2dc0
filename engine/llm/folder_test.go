package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// changed copies a fixture and changes settings; nil removes one.
func changed(t *testing.T, fixture string, changes map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, fixture))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, configFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]any{}
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	for k, v := range changes {
		if keys[k] = v; v == nil {
			delete(keys, k)
		}
	}
	if text, err = json.Marshal(keys); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Who waits for a model is told at once how much is read.
func TestLoadSays(t *testing.T) {
	for path, want := range map[string]string{fixtures + "/llama-2": fixtures + "/llama-2/model.safetensors", "testdata/gguf/llama-3.gguf": "testdata/gguf/llama-3.gguf"} {
		info, err := os.Stat(want)
		if err != nil {
			t.Fatal(err)
		}
		var list []progress.Event
		if _, err := Load(progress.With(t.Context(), func(e progress.Event) { list = append(list, e) }), path); err != nil {
			t.Fatal(err)
		}
		if first := list[0]; first.Task != "loading" || first.Note != units.Bytes(info.Size()) {
			t.Errorf("%s: got %+v, want a note of %d bytes", path, first, info.Size())
		}
	}
}

// What would compute something else is refused, by the name of the setting or of the tensor.
func TestLoadRefuses(t *testing.T) {
	for _, test := range []struct {
		fixture string
		changes map[string]any
		want    string
	}{
		{"llama-2", map[string]any{"model_type": "mamba"}, `config.json: model_type: got "mamba", which has layers with a state of another kind, and no family`},
		{"llama-2", map[string]any{"model_type": "llama4"}, `got "llama4", which has attention within chunks, and no family`},
		{"llama-2", map[string]any{"model_type": "bert"}, `got "bert", an encoder, which embed.Load reads`},
		{"llama-2", map[string]any{"model_type": "lama"}, `got "lama", which is not read: docs/models.md lists the families; near it: llama`},
		{"llama-2", map[string]any{"model_type": "glm6_next"}, `got "glm6_next", which is not read: docs/models.md lists the families; near it: glm, glm4, glm4_moe`},
		{"llama-2", map[string]any{"model_type": "deberta"}, `got "deberta", an encoder that is not read; embed.Load reads bert`},
		{"llama-2", map[string]any{"model_type": "pictures", "text_config": map[string]any{"model_type": "qwen3"}}, `got "pictures", around a model of text of the type "qwen3"`},
		{"llama-2", map[string]any{"model_type": "pictures", "text_config": map[string]any{"model_type": "nanochat"}}, `got "nanochat", which has norms without weights, and no family that is read has that: docs/models.md lists them, within "pictures"`},
		{"llama-2", map[string]any{"model_type": nil}, `model_type: got ""`},
		{"llama-2", map[string]any{"hidden_size": nil}, "hidden_size: is not there"},
		{"llama-2", map[string]any{"hidden_size": "16"}, `hidden_size: got "16", want an integer`},
		{"llama-2", map[string]any{"hidden_size": 16.5}, "hidden_size: got 16.5, want an integer"},
		{"llama-2", map[string]any{"hidden_size": -16}, "width -16"},
		{"llama-2", map[string]any{"hidden_size": 1e12}, "want at most"},
		{"llama-2", map[string]any{"hidden_size": 1 << 31, "vocab_size": 1 << 31}, "config.json: rand_normal: got shape [2147483648 2147483648]"},
		{"llama-2", map[string]any{"num_hidden_layers": 1e9}, "want those of 1000000000 layers"},
		{"llama-2", map[string]any{"num_hidden_layers": 3}, `no tensor "model.layers.2.input_layernorm.weight"`},
		{"llama-2", map[string]any{"num_hidden_layers": 1}, `has no place for tensors ["model.layers.1.`},
		{"llama-2", map[string]any{"hidden_size": 32}, `tensor "model.embed_tokens.weight": got F32[48 16], want shape [48 32]`},
		{"llama-2", map[string]any{"attention_bias": true}, `no tensor "model.layers.0.self_attn.q_proj.bias"`},
		{"llama-2", map[string]any{"hidden_act": "tanh"}, `hidden_act: got "tanh", want one of`},
		{"llama-2", map[string]any{"quantization_config": map[string]any{"quant_method": "hqq"}}, `quantization_config.quant_method: weights in codes of "hqq" are not read`},
		{"llama-2", map[string]any{"rope_parameters": map[string]any{"rope_type": "spiral"}}, `rope scaling "spiral"`},
		{"llama-2", map[string]any{"rope_parameters": map[string]any{"rope_type": "linear"}}, "factor 0, want a positive"},
		{"llama-2", map[string]any{"rope_parameters": 7}, "rope_parameters: got 7, want an object"},
		{"phi3-long", map[string]any{"num_attention_heads": 2}, "short and"},
		{"gemma3", map[string]any{"layer_types": []string{"full_attention"}}, "layer_types: got 1 layers, want 7"},
		{"gemma2", map[string]any{"use_bidirectional_attention": true}, "use_bidirectional_attention"},
		{"mamba2", map[string]any{"num_heads": 3}, "got 3 heads with a state of width 8, want a width of 32 together"},
		{"mamba2", map[string]any{"n_groups": 3}, "want positive numbers of at most 65536, and a multiple"},
		{"mamba2", map[string]any{"conv_kernel": 0}, "got convolutions of 0 inputs"},
		{"mamba2", map[string]any{"time_step_limit": []any{0.1}}, "time_step_limit: got 1 numbers, want 2"},
		{"mamba2", map[string]any{"time_step_limit": []any{2, 1}}, "got a step from 2 to 1"},
		{"mamba2", map[string]any{"time_step_limit": []any{0, "much"}}, `time_step_limit: got [0,"much"], want a list of numbers`},
		{"falcon_h1", map[string]any{"ssm_multipliers": []float64{1, 2}}, "ssm_multipliers: got 2 numbers, want 5"},
		{"nemotron_h", map[string]any{"layers_block_type": []string{"mamba2"}}, `layers_block_type: got "mamba2", want mlp, moe, linear_attention or full_attention`},
		{"nemotron_h", map[string]any{"layers_block_type": nil, "hybrid_override_pattern": "M-*-"}, "has no place for tensors"},
		{"nemotron_h", map[string]any{"layers_block_type": nil}, "num_hidden_layers: is not there"},
		{"internlm3", map[string]any{"bias": true, "mlp_bias": nil}, "qkv_bias: got false and bias true, want the same"},
		{"ernie4_5_moe", map[string]any{"moe_norm_min": 0.1}, "moe_norm_min: got 0.1"},
		{"granitemoeshared", map[string]any{"shared_intermediate_size": 0}, "shared_intermediate_size: got 0"},
		{"gemma2", map[string]any{"query_pre_attn_scalar": 0}, "query_pre_attn_scalar: got 0"},
	} {
		_, err := Load(context.Background(), changed(t, test.fixture, test.changes))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %v: got %v, want %q", test.fixture, test.changes, err, test.want)
		}
	}
}

// Folders of older transformers have other words for kinds of layers, and numbers that JSON has not.
func TestOlderFoldersOfStates(t *testing.T) {
	for fixture, changes := range map[string]map[string]any{
		"granitemoehybrid": {"layer_types": []string{"mamba", "attention", "mamba"}, "position_embedding_type": "nope", "time_step_limit": "LIMITS"},
		"falcon_h1":        {"rope_parameters": nil, "rope_theta": 10000.0, "mamba_d_head": "auto", "time_step_limit": "LIMITS"},
		"mamba2":           {"time_step_limit": "LIMITS"},
		"nemotron_h":       {"layers_block_type": nil, "hybrid_override_pattern": "M-*-M", "num_hidden_layers": 5, "time_step_limit": "LIMITS"},
	} {
		dir := changed(t, fixture, changes)
		path := filepath.Join(dir, configFile)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.Replace(text, []byte(`"LIMITS"`), []byte(`[0.0, Infinity]`), 1)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		m, again := loaded(t, dir), filepath.Join(t.TempDir(), "m")
		if err := Save(again, m); err != nil {
			t.Fatal(err)
		}
		expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*Model{m, loaded(t, again)} {
			if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-5) {
				t.Errorf("%s: logits differ by %.3g of the largest", fixture, d)
			}
		}
	}
}

func TestLoadStops(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := Load(ctx, filepath.Join(fixtures, "llama-2")); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause", err)
	}
}

// An index names files of its own folder only, and tensors that they have.
func TestIndexIsChecked(t *testing.T) {
	dir := changed(t, "llama-2", nil)
	for index, want := range map[string]string{
		`{"weight_map": {"a": "../model.safetensors"}}`: "want a name without a folder",
		`{"weight_map": {"a": "/etc/passwd"}}`:          "want a name without a folder",
		`{"weight_map": {"a": "model.safetensors"}}`:    `has no tensor "a"`,
		`{"weight_map": {"a": "other.safetensors"}}`:    "other.safetensors",
		`{"weight_map": ["a"]}`:                         "index.json",
		`{"weight_map": {}}`:                            "want those of 2 layers",
	} {
		if err := os.WriteFile(filepath.Join(dir, weightsFile+".index.json"), []byte(index), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(context.Background(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", index, err, want)
		}
	}
}

// A model with an adapter is no folder of its family.
func TestSaveRefusesAdapters(t *testing.T) {
	m, err := Load(context.Background(), filepath.Join(fixtures, "qwen2"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := lora.Inject(m, lora.Config{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "m")
	if err := Save(to, m); err == nil || !strings.Contains(err.Error(), "lora_A") {
		t.Errorf("got %v, want the adapter's weight", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a folder was written all the same")
	}
	if _, err := a.Merge(); err != nil {
		t.Fatal(err)
	}
	if err := Save(to, m); err == nil || !strings.Contains(err.Error(), "lora.Remove(model) takes adapters out, and what is merged stays") {
		t.Errorf("merged: got %v, want what to do", err)
	}
	lora.Remove(m)
	if err := Save(to, m); err != nil {
		t.Errorf("merged and taken out: %v", err)
	}
}

// Damaged settings are errors that name the file, and never panics.
func TestDamagedSettings(t *testing.T) {
	list, err := filepath.Glob(filepath.Join(fixtures, "*", configFile))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	damage := []string{"null", "-1", "1e308", "0", "[]", "{}", `"x"`, "true", "9223372036854775807", "[[[[", `"full_attention"`}
	for n := range 500 {
		path := list[n%len(list)]
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch n % 3 {
		case 0:
			text = text[:rng.IntN(len(text))]
		case 1:
			text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
		case 2: // another value
			lines := bytes.Split(text, []byte("\n"))
			at := 1 + rng.IntN(len(lines)-2)
			if key, _, ok := bytes.Cut(lines[at], []byte(": ")); ok {
				lines[at] = append(append(bytes.Clone(key), ": "+damage[rng.IntN(len(damage))]...), ',')
			}
			text = bytes.Join(lines, []byte("\n"))
		}
		if _, err := parseConfig(path, text); err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name %s", err, path)
		}
	}
}

// A folder's tokenizer turns the prompt into tokens, and its configuration says after which token the text
// ends.
func TestGenerateText(t *testing.T) {
	const vocab = `{"model": {"type": "WordLevel", "unk_token": "w0", "vocab": {%s}}, "pre_tokenizer": {"type": "WhitespaceSplit"}}`
	var words []string
	for i := range 48 {
		words = append(words, fmt.Sprintf(`"w%d": %d`, i, i))
	}
	dir := changed(t, "llama-2", nil)
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("tokenizer.json", fmt.Sprintf(vocab, strings.Join(words, ", ")))
	m, err := Load(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := m.GenerateTokens(context.Background(), []int{3, 5}, Sampling{Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	want := m.Tokenizer.Decode(ids, false)
	if got, err := m.Generate(context.Background(), "w3 w5", Sampling{Tokens: 6}); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	write("generation_config.json", fmt.Sprintf(`{"eos_token_id": [47, %d]}`, ids[5]))
	if m, err = Load(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	got, err := m.GenerateTokens(context.Background(), []int{3, 5}, Sampling{Tokens: 6})
	if end := slices.Index(ids[2:], ids[5]) + 2; err != nil || !slices.Equal(got, ids[:end]) {
		t.Errorf("with a last token: got %v, %v, want %v", got, err, ids[:end])
	}
	write("tokenizer.json", `{"model": {"type": "Spell"}}`)
	if _, err := Load(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "tokenizer.json") {
		t.Errorf("got %v, want the file's name", err)
	}
}

// A model whose adapter was merged and taken out is a folder again, with the tuned weights.
func TestSaveOfTuned(t *testing.T) {
	m, err := Load(context.Background(), filepath.Join(fixtures, "qwen2"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := lora.Inject(m, lora.Config{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range a.Params() {
		p.Value().Set(tensor.NewRNG(1).Randn(p.Value().Shape()...))
	}
	ids := tensor.From([]int{1, 2, 3, 4, 5, 6}, 1, 6)
	want := m.Logits(ids).Eval()
	a.Merge()
	if err := a.Remove(m); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "tuned")
	if err := Save(to, m); err != nil {
		t.Fatal(err)
	}
	again, err := Load(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	if d := relative(again.Logits(ids), want); !(d <= 1e-4) {
		t.Errorf("the tuned model that was read differs by %.3g of the largest score", d)
	}
}

// A model whose tokens see those after them has vectors, of which each depends on all tokens that are seen,
// and no next token. Its folder is read again as it was.
func TestBidirectional(t *testing.T) {
	c := Config{Family: "gemma3_text", Vocab: 256, Layers: 2, Width: 16, Heads: 2, KVHeads: 1, HeadDim: 8, Hidden: 24, Seed: 1, Context: 64, Bidirectional: true}
	gemmaShape(&c)
	c.QKNorm, c.LocalRope.Base, c.Local = true, 5000, []bool{true, false}
	m := New(c)
	a, b := tensor.From([][]int{{1, 2, 3, 4}}), tensor.From([][]int{{1, 2, 3, 5}})
	seen := tensor.From([][]bool{{true, true, true, false}})
	first := func(m *Model, ids, seen tensor.Tensor) tensor.Tensor { return m.Vectors(ids, seen).Slice(1, 0, 3) }
	if d := tensor.MaxAbsDiff(first(m, a, tensor.Tensor{}), first(m, b, tensor.Tensor{})); d == 0 {
		t.Error("a token changes no vector of those before it")
	}
	if d := tensor.MaxAbsDiff(first(m, a, seen), first(m, b, seen)); d != 0 {
		t.Errorf("padding changes vectors by %g", d)
	}
	const want = "tokens see those after them"
	if err := tensor.Try(func() { m.Loss(a, b) }); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("loss: got %v", err)
	}
	if _, err := m.Generate(context.Background(), "a", Sampling{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("generate: got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "m")
	if err := Save(dir, m); err != nil {
		t.Fatal(err)
	}
	again, err := LoadBody(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := tensor.MaxAbsDiff(first(m, a, seen), first(again, a, seen)); d > 1e-5 || again.Config.Window != 5 {
		t.Errorf("vectors of the folder differ by %g, its window is %d", d, again.Config.Window)
	}
}
