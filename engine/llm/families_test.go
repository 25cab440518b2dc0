package llm

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// testdata/families was written by tests/peers/decoder_families.py with transformers.
const fixtures = "testdata/families"

func eachFamily(t *testing.T, test func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor)) {
	t.Helper()
	eachFamilyOf(t, anyFamily, test)
}

func anyFamily(Config) bool { return true }

// eachFamilyOf is eachFamily of those whose Config is wanted.
func eachFamilyOf(t *testing.T, wanted func(c Config) bool, test func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor)) {
	t.Helper()
	list, err := os.ReadDir(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range list {
		dir := filepath.Join(fixtures, entry.Name())
		text, err := os.ReadFile(filepath.Join(dir, configFile))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := parseConfig(dir, text); err == nil && !wanted(c) {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			m, err := Load(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			test(t, dir, m, expected)
		})
	}
}

// oneOfEach wants the first folder of each family of those that are wanted, as
// TestFamiliesAgreeWithTransformers reads all; with -long it wants all, and without CI=1 a third of the
// families.
func oneOfEach(wanted func(c Config) bool) func(c Config) bool {
	seen := map[string]bool{}
	return func(c Config) bool {
		if !wanted(c) {
			return false
		}
		again, first := seen[c.Family], len(seen)%3 == 0
		seen[c.Family] = true
		return long.Tests() || !again && (first || long.CI())
	}
}

// relative is the greatest difference over the greatest number.
func relative(got, want tensor.Tensor) float64 {
	tensor.Eval(got, want) // once
	return tensor.MaxAbsDiff(got, want) / want.Abs().Max().Item()
}

// The scores of every family are those of transformers; in bf16 they are as near to those in f32 as
// transformers' own.
func TestFamiliesAgreeWithTransformers(t *testing.T) {
	eachFamily(t, func(t *testing.T, _ string, m *Model, expected map[string]tensor.Tensor) {
		if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= 1e-4) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		if rounded, ok := expected["rounded"]; ok {
			nn.Convert(m, dtype.BF16)
			limit := 1.5 * relative(rounded, expected["logits"])
			if d := relative(m.Logits(expected["ids"]), expected["logits"]); !(d <= limit) || limit > 0.2 {
				t.Errorf("logits in bf16 differ by %.3g, want at most %.3g", d, limit)
			}
		}
	})
}

// The best tokens, one after the other through the cache, are those of transformers without one.
func TestFamiliesGenerateAsTransformers(t *testing.T) {
	eachFamilyOf(t, oneOfEach(anyFamily), func(t *testing.T, _ string, m *Model, expected map[string]tensor.Tensor) {
		if m.Config.Rope.Scaling.Kind == "dynamic" {
			t.Skip("rates change with each token, and a cache keeps keys that were turned by the older ones, as transformers' own does")
		}
		ids, want := integers(expected["ids"])[:5], integers(expected["greedy"])
		got, err := m.GenerateTokens(context.Background(), ids, Sampling{Tokens: len(want)})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[5:], want) {
			t.Errorf("got %v, want %v", got[5:], want)
		}
	})
}

func integers(t tensor.Tensor) []int {
	var list []int
	for _, x := range t.Float64s() {
		list = append(list, int(x))
	}
	return list
}

// A folder that Save writes has the same weights, in one file or many, and the same settings; files that mcs
// does not read travel along.
func TestSaveWritesWhatLoadRead(t *testing.T) {
	count := 0
	eachFamilyOf(t, oneOfEach(anyFamily), func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor) {
		m.files["vocab.json"] = []byte("{}")
		want, _, err := safetensors.Load(filepath.Join(dir, weightsFile))
		if err != nil {
			t.Fatal(err)
		}
		limits := []int{shardBytes}
		if count++; count%8 == 0 || long.Tests() { // how weights are spread does not depend on the family
			limits = append(limits, 1<<12)
		}
		for _, limit := range limits {
			to := filepath.Join(t.TempDir(), "copy")
			if err := save(to, m, limit); err != nil {
				t.Fatal(err)
			}
			again, err := Load(context.Background(), to)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := nn.Hash(nn.Params(m)), nn.Hash(nn.Params(again)); a != b {
				t.Errorf("files of %d bytes: the weights are %s, want %s", limit, b, a)
			}
			if content, err := os.ReadFile(filepath.Join(to, "vocab.json")); err != nil || !bytes.Equal(content, m.files["vocab.json"]) {
				t.Errorf("vocab.json: got %q, %v", content, err)
			}
			if limit != shardBytes {
				continue
			}
			got, _, err := safetensors.Load(filepath.Join(to, weightsFile))
			if err != nil {
				t.Fatal(err)
			}
			for name, w := range want {
				if name == "lm_head.weight" && !m.Config.Untied {
					continue
				}
				if g, ok := got[name]; !ok || !slices.Equal(g.Shape(), w.Shape()) || !bytes.Equal(g.Bytes(), w.Bytes()) {
					t.Errorf("%s is not what it was", name)
				}
			}
		}
	})
}

// What a folder says of a family's models a folder of New's says, too.
func TestKeysOfFamilies(t *testing.T) {
	list, err := filepath.Glob(filepath.Join(fixtures, "*", configFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseConfig(path, text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.keys(); err != nil {
			t.Errorf("%s: %v: allKeys in keys.go lacks its setting", path, err)
		}
	}
}

// A model that New makes of a Config that a folder says becomes a folder that says the same, though the
// Config does not name its family.
func TestSaveOfNewOfEachFamily(t *testing.T) {
	eachFamilyOf(t, oneOfEach(anyFamily), func(t *testing.T, _ string, old *Model, expected map[string]tensor.Tensor) {
		c := old.Config
		c.Family, c.Seed = "", 7
		m := New(c)
		to := filepath.Join(t.TempDir(), "m")
		if err := Save(to, m); err != nil {
			t.Fatal(err)
		}
		again, err := Load(context.Background(), to)
		if err != nil {
			t.Fatal(err)
		}
		if d := relative(again.Logits(expected["ids"]), m.Logits(expected["ids"])); !(d <= 5e-6) { // experts may lie in another order in memory
			t.Errorf("the model that was read, of the family %s, differs by %g", again.Config.Family, d)
		}
	})
}

// A model that New made becomes a folder of the family that its Config says, and is the same when read.
func TestSaveOfNew(t *testing.T) {
	small := Config{Vocab: 16, Layers: 3, Width: 16, Heads: 4, KVHeads: 2, Hidden: 24}
	for name, change := range map[string]func(c *Config){
		"llama":   func(*Config) {},
		"mistral": func(c *Config) { c.Window = 5 },
		"qwen2":   func(c *Config) { c.QKVBias, c.Untied, c.DType = true, true, dtype.BF16 },
		"qwen3":   func(c *Config) { c.QKNorm, c.HeadDim = true, 8 },
		"gemma2":  func(c *Config) { gemmaShape(c); c.ScoreCap, c.LogitCap = 50, 30 },
		"gemma3_text": func(c *Config) {
			gemmaShape(c)
			c.QKNorm, c.LocalRope.Base, c.Local = true, 5000, []bool{true, false, true}
		},
		"phi3": func(c *Config) { c.JoinedQKV, c.JoinedMLP = true, true },
		"llama, scaled": func(c *Config) {
			c.Rope = nn.Rope{Base: 5e5, Scaling: nn.RopeScaling{Kind: "llama3", Factor: 8, LowFreq: 1, HighFreq: 4, Original: 64}}
			c.Context = 512
			c.Rope.Scaling.Context = 512
		},
	} {
		c := small
		change(&c)
		m := New(c)
		to := filepath.Join(t.TempDir(), "m")
		if err := Save(to, m); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Load(context.Background(), to)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ids := tensor.From([]int{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)
		if d := tensor.MaxAbsDiff(m.Logits(ids), again.Logits(ids)); d > 1e-6 {
			t.Errorf("%s: the model that was read differs by %g", name, d)
		}
	}
	c := small
	c.JoinedQKV, c.JoinedMLP, c.QKNorm = true, true, true
	if err := Save(filepath.Join(t.TempDir(), "m"), New(c)); err == nil {
		t.Error("a model of no family was saved")
	}
}

func gemmaShape(c *Config) {
	c.Sandwich, c.NormPlus, c.EmbedScale, c.Act, c.Window = true, 1, math.Sqrt(float64(c.Width)), "gelu_tanh", 5
	c.Scale = 0.5
	c.Eps = 1e-6
}
