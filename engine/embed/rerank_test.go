package embed

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

const question = "where is the big cat"

// Scores are those of sentence-transformers' CrossEncoder, and of Qwen3-Reranker as its page computes them:
// of empty documents, of long ones that are cut, in batches with padding and alone.
func TestRerankersAgree(t *testing.T) {
	list := texts(t, filepath.Join(fixtures, "texts.json"))
	dirs, err := filepath.Glob(filepath.Join(fixtures, "rank-*"))
	if err != nil || len(dirs) < 12 {
		t.Fatalf("got %q, %v", dirs, err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r, err := LoadReranker(ctx, dir)
			if err != nil {
				t.Fatal(err)
			}
			expected, _, err := safetensors.Load(filepath.Join(dir, "expected.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Scores(ctx, question, list...)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range expected["scores"].Float64s() {
				if !(math.Abs(got[i]-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Errorf("%q: got %g, want %g", list[i], got[i], want)
				}
			}
			one, err := r.Scores(ctx, question, list[4])
			if err != nil || math.Abs(one[0]-got[4]) > 1e-5 {
				t.Errorf("alone: got %v, want %g, %v", one, got[4], err)
			}
			ranked, err := r.Rank(ctx, question, list...)
			if err != nil || !slices.IsSortedFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) }) {
				t.Errorf("got %v, %v", ranked, err)
			}
			if best := ranked[0]; best.Score != slices.Max(got) || best.Text != list[best.Index] {
				t.Errorf("got %v as the best of %v", best, got)
			}
		})
	}
}

// An adapter finds the layers of a reranker, and learns from its scores.
func TestRerankersAreTrained(t *testing.T) {
	r, err := LoadReranker(ctx, filepath.Join(fixtures, "rank-bert"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := lora.Inject(r, lora.Config{Rank: 2, Targets: "query value"})
	if err != nil {
		t.Fatal(err)
	}
	ids, kinds, err := r.tokens(question, "the cat")
	if err != nil {
		t.Fatal(err)
	}
	var values []tensor.Tensor
	for _, p := range a.Params() {
		values = append(values, p.Value())
	}
	score := r.Forward(tensor.From([][]int{ids}), tensor.From([][]int{kinds}))
	for i, g := range tensor.Grad(score.Sum(), values...) {
		if strings.HasSuffix(a.Params()[i].Name, "lora_B") && g.Abs().Max().Item() == 0 {
			t.Errorf("no gradient reaches %s", a.Params()[i].Name)
		}
	}
}

func TestLoadRerankerRefuses(t *testing.T) {
	for _, test := range []struct{ fixture, file, old, new, want string }{
		{"bert", "config.json", `{`, `{`, "id2label: got 0 labels"},
		{"rank-bert", "config_sentence_transformers.json", "activation.Sigmoid", "activation.Tanh", "activation_fn: got"},
		{"rank-qwen3", "tokenizer.json", `"yes"`, `"jes"`, "no tokens yes and no"},
		{"rank-modernbert", "config.json", `"classifier_pooling": "cls"`, `"classifier_pooling": "max"`, "classifier_pooling"},
	} {
		if _, err := LoadReranker(ctx, altered(t, test.fixture, test.file, test.old, test.new)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.fixture, err, test.want)
		}
	}
	r, err := LoadReranker(ctx, filepath.Join(fixtures, "rank-bert"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Scores(ctx, question); err == nil {
		t.Error("no documents are no error")
	}
	if _, err := os.Stat(filepath.Join(fixtures, "rank-bert", "modules.json")); err == nil {
		if _, err := Load(ctx, filepath.Join(fixtures, "rank-bert")); err != nil {
			t.Logf("a reranker as a model of vectors: %v", err)
		}
	}
}
