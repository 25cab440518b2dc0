package embed

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
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
			to := filepath.Join(t.TempDir(), "m")
			if err := SaveReranker(to, r); err != nil {
				t.Fatal(err)
			}
			again, err := LoadReranker(ctx, to)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := again.Scores(ctx, question, list...); err != nil || !slices.Equal(now, got) {
				t.Errorf("after it was saved: got %v, want %v, %v", now, got, err)
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
	if layers := a.Layers(); !slices.Contains(layers, "bert.encoder.layer.1.attention.self.query") {
		t.Errorf("got %q", layers)
	}
	pairs, err := r.Tokens([]string{question, question, "who"}, []string{"the cat", "a red house in the day", "dog"})
	if err != nil {
		t.Fatal(err)
	}
	answers := tensor.From([]float32{1, 0, 0.5})
	var values []tensor.Tensor
	for _, p := range a.Params() {
		values = append(values, p.Value())
	}
	x, err := r.Scores(ctx, question, "the cat", "a red house in the day")
	if err != nil {
		t.Fatal(err)
	}
	third, err := r.Scores(ctx, "who", "dog")
	if err != nil {
		t.Fatal(err)
	}
	want := -(math.Log(x[0]) + math.Log(1-x[1]) + 0.5*math.Log(third[0]) + 0.5*math.Log(1-third[0])) / 3
	loss := r.Loss(pairs, answers)
	if got := loss.Item(); math.Abs(got-want) > 1e-5 {
		t.Errorf("got the loss %g, want %g", got, want)
	}
	grads := tensor.Grad(loss, values...)
	tensor.Eval(grads...)
	for i, g := range grads {
		if strings.HasSuffix(a.Params()[i].Name, "lora_B") && g.Abs().Max().Item() == 0 {
			t.Errorf("no gradient reaches %s", a.Params()[i].Name)
		}
	}
	if err := SaveReranker(filepath.Join(t.TempDir(), "m"), r); err == nil || !strings.Contains(err.Error(), "lora_") {
		t.Errorf("with an adapter: got %v", err)
	}
	_, err = train.Run(ctx, r, data.Pairs(pairs, answers, 3), train.Options{Steps: 30, LR: optim.Constant(0.05), Params: a.Params()})
	if err != nil {
		t.Fatal(err)
	}
	if now := r.Loss(pairs, answers).Item(); !(now < want-0.1) {
		t.Errorf("after training the loss is %g, before it was %g", now, want)
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
}
