package llm

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Numbers that mean nothing are errors, before anything is computed.
func TestSamplingIsChecked(t *testing.T) {
	m := New(Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2})
	for _, c := range []struct {
		o    Sampling
		want string
	}{
		{Sampling{Tokens: -1}, "got -1 tokens"},
		{Sampling{TopK: -2}, "top-k -2"},
		{Sampling{Temperature: -0.5}, "temperature -0.5"},
		{Sampling{Temperature: math.NaN()}, "temperature NaN"},
		{Sampling{TopP: 1.5}, "top-p 1.5"},
		{Sampling{TopP: math.NaN()}, "top-p NaN"},
		{Sampling{MinP: -0.1}, "min-p -0.1"},
		{Sampling{Repetition: -1}, "repetition penalty of -1"},
		{Sampling{Repetition: math.Inf(1)}, "repetition penalty of +Inf"},
		{Sampling{Presence: math.NaN()}, "presence NaN"},
		{Sampling{Frequency: math.Inf(-1)}, "frequency -Inf"},
		{Sampling{Stop: []string{".", ""}}, `stop string ""`},
		{Sampling{Tokens: 1 << 50}, "got 1125899906842624 tokens"},
		{Sampling{Cache: dtype.I32}, "a cache of i32"},
	} {
		if _, err := m.GenerateTokens(t.Context(), []int{1}, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want an error about %q", c.o, err, c.want)
		}
	}
}

// Generation stops in the middle of a token, and returns what there is with the cause.
func TestGenerationStops(t *testing.T) {
	m := New(Config{Vocab: 256, Layers: 2, Width: 32, Heads: 2})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	ids, err := m.GenerateTokens(ctx, []int{1, 2}, Sampling{Tokens: 1 << 16})
	if !errors.Is(err, stop) || len(ids) < 2 || len(ids) > 1<<15 {
		t.Errorf("got %d tokens, %v", len(ids), err)
	}
	if ids, err := m.GenerateTokens(t.Context(), ids, Sampling{Tokens: 2}); err != nil || len(ids) < 4 {
		t.Errorf("afterwards: got %d tokens, %v", len(ids), err)
	}
}

// testdata/sampling.json was written by tests/peers/sampling.py with transformers.
func samplingFixture(t *testing.T) (f struct {
	Draws []struct {
		Settings struct {
			Temperature, TopP, MinP, Repetition, Presence, Frequency float64
			TopK                                                     int
		}
		Scores        []float32
		Prompt, Made  []int
		Probabilities []float64
	}
	Penalised map[string][]int
}) {
	t.Helper()
	text, err := os.ReadFile("testdata/sampling.json")
	if err == nil {
		text = []byte(strings.NewReplacer("top_k", "topK", "top_p", "topP", "min_p", "minP").Replace(string(text)))
		err = json.Unmarshal(text, &f)
	}
	if err != nil || len(f.Draws) == 0 {
		t.Fatal(len(f.Draws), err)
	}
	return f
}

// Each token has the probability that transformers' processors leave it.
func TestProbabilitiesAreTransformers(t *testing.T) {
	for i, c := range samplingFixture(t).Draws {
		f := c.Settings
		o := Sampling{Temperature: f.Temperature, TopK: f.TopK, TopP: f.TopP, MinP: f.MinP, Repetition: f.Repetition, Presence: f.Presence, Frequency: f.Frequency}
		s := o.sampler(c.Prompt)
		for _, id := range c.Made {
			s.note(id)
		}
		s.penalise(c.Scores)
		got := make([]float64, len(c.Scores))
		list := s.weigh(c.Scores)
		for _, x := range list {
			got[x.id] = x.weight / total(list)
		}
		for id, want := range c.Probabilities {
			if d := got[id] - want; !(math.Abs(d) < 1e-5) {
				t.Errorf("draw %d, %+v: token %d has the probability %.6f, want %.6f", i, f, id, got[id], want)
			}
		}
	}
}

// Greedy generation with a penalty of repetition makes the tokens that transformers makes.
func TestPenalisedAsTransformers(t *testing.T) {
	for name, want := range samplingFixture(t).Penalised {
		m, err := Load(t.Context(), filepath.Join(fixtures, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.GenerateTokens(t.Context(), want[:5], Sampling{Tokens: len(want) - 5, Repetition: 1.3})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

// TestBias: a bias moves the choice, also of a draft's shorter vocabulary, and has to be a number.
func TestBias(t *testing.T) {
	o := Sampling{Bias: map[int]float64{1: -5, 7: 9}}
	if got := o.sampler(nil).next([]float32{1, 3, 2}); got != 2 || o.best() {
		t.Errorf("got token %d, want 2", got)
	}
	o.Bias[0] = math.Inf(1)
	if err := o.check(); err == nil || !strings.Contains(err.Error(), "bias") {
		t.Errorf("got %v", err)
	}
}

func TestSamplingSays(t *testing.T) {
	for want, o := range map[string]Sampling{
		"sampling: at most 64 tokens · the best each time":                          {},
		"sampling: at most 5 tokens · temperature 0.7 · top-k 20 · repetition 1.2":  {Tokens: 5, Temperature: 0.7, TopK: 20, Repetition: 1.2},
		"sampling: at most 64 tokens · the best each time · a bias of 1 tokens":     {Bias: map[int]float64{3: 1}},
		`sampling: at most 64 tokens · the best each time · to ["."] · cache in i8`: {Stop: []string{"."}, Cache: dtype.I8},
	} {
		if got := o.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSeedless: without a Seed each call draws anew, by the generator that tensor.Seed restarts.
func TestSeedless(t *testing.T) {
	m := New(Config{Vocab: 256, Layers: 1, Width: 32, Heads: 2, Hidden: 64})
	o := Sampling{Tokens: 12, Temperature: 2}
	guessed := o
	guessed.Draft = &Draft{Model: m}
	for name, generate := range map[string]func(ctx context.Context) (string, error){
		"Generate":      func(ctx context.Context) (string, error) { return m.Generate(ctx, "a", o) },
		"with a draft":  func(ctx context.Context) (string, error) { return m.Generate(ctx, "a", guessed) },
		"GenerateBatch": func(ctx context.Context) (string, error) { return oneOf(m.GenerateBatch(ctx, []string{"a", "a"}, o)) },
	} {
		rng := tensor.NewRNG(0)
		ctx := tensor.WithRNG(t.Context(), rng)
		var texts []string
		for _, seed := range []uint64{5, 0, 5} { // 0: as the generator stands
			if seed != 0 {
				rng.SetState(tensor.RNGState{Seed: seed})
			}
			text, err := generate(ctx)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		if texts[0] == texts[1] || texts[0] != texts[2] {
			t.Errorf("%s: got %q, want two texts, and the first again", name, texts)
		}
		o := rng.State()
		if _, err := m.Generate(ctx, "a", Sampling{Tokens: 2, Temperature: 1, Seed: 3}); err != nil || rng.State() != o {
			t.Errorf("%s: a text with a seed moves the generator: %v", name, err)
		}
	}
}

func oneOf(texts []string, err error) (string, error) { return strings.Join(texts, "|"), err }
