package llm

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// eachMixture calls test for the small models with experts.
func eachMixture(t *testing.T, test func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor)) {
	t.Helper()
	count := 0
	eachFamilyOf(t, oneOfEach(func(c Config) bool { return c.Mixture.Experts > 0 }), func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor) {
		count++
		test(t, dir, m, expected)
	})
	if count == 0 {
		t.Error("there is no small model with experts")
	}
}

// Experts are chosen by scores, so that what is a little off may choose another one: the scores of models
// with experts are those of transformers within 1e-5. Texts in a batch choose as each does alone, and so do
// those in a folder whose experts are one tensor, as transformers holds them.
func TestMixtures(t *testing.T) {
	eachMixture(t, func(t *testing.T, dir string, m *Model, expected map[string]tensor.Tensor) {
		logits := m.Logits(expected["ids"]).Eval()
		if d := relative(logits, expected["logits"]); !(d <= 1e-5) {
			t.Errorf("logits differ by %.3g of the largest", d)
		}
		ids, want := integers(expected["ids"]), integers(expected["greedy"])
		prompts := [][]int{ids[:5], ids[20:29], ids[:5]}
		got, err := m.GenerateBatchTokens(context.Background(), prompts, Sampling{Tokens: len(want)})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := m.GenerateTokens(context.Background(), prompts[1], Sampling{Tokens: len(want)})
		if err != nil {
			t.Fatal(err)
		}
		first := slices.Concat(prompts[0], want) // also alone, see TestFamiliesGenerateAsTransformers
		for i, want := range [][]int{first, alone, first} {
			if !slices.Equal(got[i], want) {
				t.Errorf("in a batch text %d is %v, want %v", i, got[i], want)
			}
		}
		joined := joinedExperts(t, dir, m)
		if again := joined.Logits(expected["ids"]); tensor.MaxAbsDiff(again, logits) != 0 {
			t.Error("experts in one tensor compute something else")
		}
	})
}

// The loss of routers is that of transformers, a part of Loss where the Config asks for it, with and without
// blocks that are computed again; and training makes it smaller.
func TestMixtureBalance(t *testing.T) {
	eachMixture(t, func(t *testing.T, _ string, m *Model, expected map[string]tensor.Tensor) {
		if expected["balance"].IsNone() {
			return // of DeepSeek's routers transformers computes none
		}
		ids := expected["ids"]
		plain := m.Loss(ids, ids).Item()
		m.Config.Mixture.Balance = 0.5
		for _, again := range []bool{false, true} {
			m.Config.Checkpoint = again
			loss := m.Loss(ids, ids)
			if got, want := loss.Item()-plain, 0.5*expected["balance"].Item(); math.Abs(got-want) > 1e-5 {
				t.Errorf("again %v: the routers' loss is %g, want %g", again, got, want)
			}
			for _, b := range m.Blocks {
				if mix := b.Mixture; mix != nil && tensor.Grad(loss, mix.Router.Logits.(*nn.Linear).Weight)[0].Abs().Max().Item() == 0 {
					t.Error("a router has no gradient")
				}
			}
		}
		starts := tensor.Zeros(2, 20).Cast(dtype.I64)
		if got, want := m.PackedLoss(ids, ids, starts).Item(), m.Loss(ids, ids).Item(); math.Abs(got-want) > 1e-5 {
			t.Errorf("packed rows have the loss %g, want %g", got, want)
		}
	})
}

// Folders of GLM 4.5 have a layer more, which guesses tokens further ahead. It is not read.
func TestLayersAheadAreLeft(t *testing.T) {
	for name, fails := range map[string]bool{"glm4_moe": false, "dots1": true} {
		m := loaded(t, filepath.Join(fixtures, name))
		to := filepath.Join(t.TempDir(), "m")
		if err := Save(to, m); err != nil {
			t.Fatal(err)
		}
		tensors, _, err := safetensors.Load(filepath.Join(to, weightsFile))
		if err != nil {
			t.Fatal(err)
		}
		tensors["model.layers.2.eh_proj.weight"] = tensor.Ones(2, 2)
		if err := safetensors.Save(filepath.Join(to, weightsFile), tensors, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(context.Background(), to); (err != nil) != fails {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A GGUF file has the experts in codes; the router stays in f32. What is read of it is expanded.
func TestMixtureGGUFTypes(t *testing.T) {
	m := New(Config{Vocab: 48, Layers: 2, Width: 64, Heads: 4, Hidden: 96, QKNorm: true, Untied: true, Seed: 3,
		Mixture: Mixture{Experts: 6, TopK: 5, Hidden: 32, Normalise: true}})
	ids := tensor.From([]int{1, 2, 3, 4, 5, 6, 7, 8}, 1, 8)
	want := m.Logits(ids).Eval()
	for typ, limit := range map[string]float64{"f32": 1e-6, "bf16": 5e-2, "q8_0": 5e-2, "q4_0": 0.6} {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := SaveGGUF(path, m, GGUF{Type: typ}); err != nil {
			t.Fatal(err)
		}
		again, err := Load(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if d := relative(again.Logits(ids), want); !(d <= limit) || again.Config.Family != "qwen3_moe" {
			t.Errorf("%s: logits of a %s differ by %.3g of the largest, want at most %g", typ, again.Config.Family, d, limit)
		}
		for name, want := range map[string]string{"blk.1.ffn_gate_inp.weight": "f32", "blk.1.ffn_up_exps.weight": typ} {
			if info, err := opened(t, path).Info(name); err != nil || !strings.EqualFold(info.Type, want) {
				t.Errorf("%s: %s is in %s, %v, want %s", typ, name, info.Type, err, want)
			}
		}
	}
}

// joinedExperts is the model of a folder whose experts are one tensor each, under the names of the model.
func joinedExperts(t *testing.T, dir string, m *Model) *Model {
	t.Helper()
	to := filepath.Join(t.TempDir(), "joined")
	if err := Save(to, m); err != nil {
		t.Fatal(err)
	}
	tensors := map[string]tensor.Tensor{}
	for _, p := range nn.Params(m) {
		name, value := p.Name, p.InFile()
		if strings.Contains(name, ".experts.") {
			name = strings.TrimSuffix(name, ".weight")
			if f, _ := familyOf(m.Config.Family); f.straight {
				value = p.Value()
			}
		}
		tensors[name] = value
	}
	if err := safetensors.Save(filepath.Join(to, weightsFile), tensors, nil); err != nil {
		t.Fatal(err)
	}
	joined, err := Load(context.Background(), to)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// A token of a text that is generated reads the weights of its own experts, not those of all.
func TestMixtureReadsItsExperts(t *testing.T) {
	m := New(Config{Vocab: 32, Layers: 1, Width: 64, Heads: 2, Hidden: 32, Mixture: Mixture{Experts: 64, TopK: 2, Hidden: 96}})
	x := tensor.NewRNG(1).Randn(1, 1, 64).Eval()
	y := m.Blocks[0].Mixture.Forward(x)
	r := profile.Record(t.Context(), func(context.Context) { y.Eval() })
	expert := int64(4 * 3 * 64 * 96)
	if r.Bytes() < 2*expert || r.Bytes() > 4*expert {
		t.Errorf("got %d bytes, want about those of two experts, of %d each", r.Bytes(), expert)
	}
	if r.Launches > 9 {
		t.Errorf("got %d launches, want 9 at most", r.Launches)
	}
	t.Logf("%d launches, %d bytes", r.Launches, r.Bytes())
}
