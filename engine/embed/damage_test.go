package embed

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// Every file of a folder is damaged in many ways, 500 in all and more: an error that names the folder's file,
// or a model that works. Memory stays near to what the files take.
func TestDamagedFolders(t *testing.T) {
	for _, fixture := range []string{"bert-both", "mpnet", "modernbert-local", "gemma3-groups", "static", "model2vec"} {
		dir := filepath.Join(t.TempDir(), "m")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, fixture))); err != nil {
			t.Fatal(err)
		}
		size, refused, tried := uint64(0), 0, 0
		var files []string
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if info, err := d.Info(); err == nil && !d.IsDir() && filepath.Base(path) != "expected.safetensors" {
				files, size = append(files, path), size+uint64(info.Size())
			}
			return err
		})
		for seed, path := range files {
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			mutate.Each(uint64(seed), 100, whole, func(i int, mutant []byte) {
				if err := os.WriteFile(path, mutant, 0o644); err != nil {
					t.Fatal(err)
				}
				var m *Model
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				m, err := Load(ctx, dir)
				runtime.ReadMemStats(&after)
				if got, limit := after.TotalAlloc-before.TotalAlloc, 2*size+uint64(runtime.NumCPU())<<19; got > limit {
					t.Errorf("%s, mutant %d: %d bytes allocated for %d", path, i, got, size)
				}
				tried++
				if err != nil {
					if refused++; !strings.Contains(err.Error(), dir) {
						t.Errorf("%s, mutant %d: %v does not name a file", path, i, err)
					}
					return
				}
				m.Encode(ctx, "the cat sat", "") // an error is fine
			})
			if err := os.WriteFile(path, whole, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d of %d damaged folders were refused", fixture, refused, tried)
		if refused < tried/4 || refused == tried {
			t.Errorf("%s: %d of %d damaged folders were refused", fixture, refused, tried)
		}
	}
}

// altered copies a fixture and replaces text in one of its files.
func altered(t *testing.T, fixture, file, old, new string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixtures, fixture))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s of %s has no %q", file, fixture, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What would compute something else is refused, by the name of the setting, the module or the tensor.
func TestLoadRefuses(t *testing.T) {
	for _, test := range []struct{ fixture, file, old, new, want string }{
		{"bert", "config.json", `"bert"`, `"albert"`, `model_type: got "albert", an encoder that is not read; embed.Load reads bert`},
		{"bert", "config.json", `"hidden_size": 16`, `"hidden_size": 32`, `tensor "embeddings.word_embeddings.weight": got F32[`},
		{"bert", "config.json", `"hidden_size": 16`, `"hidden_size": "16"`, `hidden_size: got "16", want an integer`},
		{"bert", "config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 1`, `has no place for tensors ["encoder.layer.1.`},
		{"bert", "config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 1000000000`, "want those of 1000000000 layers"},
		{"bert", "config.json", `"num_attention_heads": 4`, `"num_attention_heads": 3`, "width 16 and 3 heads"},
		{"bert", "config.json", `"hidden_size": 16`, `"hidden_size": 2147483648`, "config.json: rand_normal: got shape [2147483648 2147483648]"},
		{"bert", "config.json", `"gelu"`, `"selu"`, `hidden_act: got "selu", want one of`},
		{"bert", "config.json", `{`, `{"position_embedding_type": "relative_key",`, "position_embedding_type"},
		{"bert", "config.json", `"is_decoder": false`, `"is_decoder": true`, "is_decoder"},
		{"bert", "modules.json", `"1_Pooling"`, `"../1_Pooling"`, "want one inside of the folder"},
		{"bert", "modules.json", `normalize.Normalize`, `router.Router`, `router.Router" are not read`},
		{"bert", "modules.json", `transformer.Transformer`, `dense.Dense`, "in a wrong place"},
		{"bert", "1_Pooling/config.json", `"mean"`, `"weightedmean"`, `pooling_mode: got "weightedmean", want one of`},
		{"bert", "1_Pooling/config.json", `"include_prompt": true`, `"include_prompt": false`, "include_prompt"},
		{"bert", "config_sentence_transformers.json", `"cosine"`, `"euclidean"`, `similarity_fn_name: got "euclidean"`},
		{"bert", "config_sentence_transformers.json", `null`, `"answer"`, `default_prompt_name: got "answer"`},
		{"bert", "config_sentence_transformers.json", `{`, `{"prompts": 3,`, ""}, // the later one counts
		{"bert-both", "2_Dense/config.json", `"in_features": 32`, `"in_features": 31`, "in_features: got 31, want 32"},
		{"bert-both", "2_Dense/config.json", `activation.Tanh`, `activation.Mish`, "activation_function: got"},
		{"modernbert", "config.json", `"rope_type": "default"`, `"rope_type": "yarn"`, `rope_type: got "yarn", want one of default`},
		{"modernbert", "config.json", `"sliding_attention",`, ``, "layer_types: got 4 layers of 3 kinds"},
		{"nomic", "config.json", `{`, `{"prenorm": true,`, "prenorm"},
		{"nomic", "config.json", `{`, `{"num_experts": 8,`, "num_experts: got 8, want 0"},
		{"nomic", "config.json", `{`, `{"n_embd": 32, "n_layer": 2, "n_head": 4, "n_inner": 24,`, "head_dim: got 4, want 4 heads to be 32 wide"},
		{"qwen3", "config.json", `"num_hidden_layers": 2`, `"num_hidden_layers": 1`, "has no place for tensors"},
		{"gemma3", "config.json", `"head_dim": 8`, `"head_dim": 4`, "want shape [16 16]"},
		{"bert", "tokenizer.json", `"WordPiece"`, `"Guess"`, "tokenizer.json"},
	} {
		_, err := Load(ctx, altered(t, test.fixture, test.file, test.old, test.new))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", test.new, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s with %s: got %v, want %q", test.fixture, test.new, err, test.want)
		}
	}
	if _, err := Load(ctx, filepath.Join(fixtures, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("got %v", err)
	}
}

// Folders that were written by older versions: settings of pooling as switches, names with a prefix and the
// norms of 2018, no modules at all.
func TestLoadOlderFolders(t *testing.T) {
	m, err := Load(ctx, altered(t, "bert-cls", "1_Pooling/config.json", `"pooling_mode": "cls"`, `"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false`))
	if err != nil || len(m.Pooling) != 1 || m.Pooling[0] != First {
		t.Errorf("got %v, %v", m, err)
	}
	dir := altered(t, "bert", "config.json", "{", "{")
	if err := os.Remove(filepath.Join(dir, "modules.json")); err != nil {
		t.Fatal(err)
	}
	if m, err = Load(ctx, dir); err != nil || m.Normalize || m.Pooling[0] != Mean || m.MaxTokens != 20 {
		t.Errorf("got %v, %v", m, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sentence_bert_config.json"), []byte(`{"max_seq_length": 7, "do_lower_case": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err = Load(ctx, dir); err != nil || m.MaxTokens != 7 || !m.Lower {
		t.Errorf("got %v, %v", m, err)
	}
	ids, err := m.Tokens("THE CAT sat on the mat of the house", "who")
	if err != nil || !slices.Equal(ids.Shape(), []int{2, 7}) {
		t.Fatalf("got %v, %v", ids, err)
	}
	if short := ids.Slice(0, 1, 2).Floats(); !slices.Equal(short, []float32{2, short[1], 3, -1, -1, -1, -1}) {
		t.Errorf("got %v", short)
	}
	if row := ids.Floats()[:7]; row[6] != 3 { // [SEP] stays at the end of a text that is cut
		t.Errorf("got %v", row)
	}
}
