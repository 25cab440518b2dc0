package llm

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// With a draft that is always right, or mostly wrong, greedy text is what it is without.
func TestSpeculationIsGreedy(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	c := tiny()
	c.Seed, c.Layers = 99, 1
	stranger := New(c)
	for name, m := range decoders() {
		for _, small := range []*Model{m, stranger} {
			for _, tokens := range []int{0, 1, 7} {
				m.Stop = nil
				prompt := randomTokens(rng, 1+rng.IntN(80))
				o := Sampling{Tokens: 50, Repetition: 1.1, Frequency: 0.1}
				for range 2 { // the second time to the end of the text
					o.Draft = nil
					want, err := m.GenerateTokens(t.Context(), prompt, o)
					if err != nil {
						t.Fatal(err)
					}
					o.Draft = &Draft{Model: small, Tokens: tokens}
					got, err := m.GenerateTokens(t.Context(), prompt, o)
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("%s, %d guesses: got %v, %v, want %v", name, tokens, got[len(prompt):], err, want[len(prompt):])
					}
					accepted, of := o.Draft.Accepted()
					if m.Stop == nil && (of < 20 || small == m && accepted < of*9/10 || small != m && accepted > of*9/10) {
						t.Errorf("%s, own model %v: %v", name, small == m, o.Draft)
					}
					if m.Stop == nil {
						m.Stop = want[len(prompt)+30:][:1]
					}
				}
			}
		}
	}
}

// The families of transformers say the same with a draft.
func TestSpeculationOfFamilies(t *testing.T) {
	for _, name := range []string{"llama-3", "gemma2", "gemma3", "qwen2-window", "mistral", "phi3-long", "llama-dynamic"} {
		m, small := loaded(t, filepath.Join(fixtures, name)), loaded(t, filepath.Join(fixtures, "qwen3"))
		prompt := []int{1, 2, 3, 4}
		want, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 20})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 20, Draft: &Draft{Model: small}}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, want)
		}
	}
}

// What is accepted or drawn instead has the probabilities of the large model, whatever the draft's are.
func TestAcceptedTokensAreDraws(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const vocab, draws = 8, 20000
	for n := range 20 {
		list := func() (list []candidate) {
			for id := range vocab {
				if rng.IntN(4) > 0 || id == n%vocab {
					list = append(list, candidate{id: id, weight: math.Exp(2 * rng.NormFloat64())})
				}
			}
			return list
		}
		p, q := list(), list()
		g := &speculation{choose: &sampler{rng: rng}, shares: make([]float64, vocab)}
		var counts, want [vocab]float64
		for _, c := range p {
			want[c.id] = c.weight / total(p)
		}
		for range draws {
			id, _ := g.accept(p, q, draw(q, rng.Float64()))
			counts[id]++
		}
		for id, share := range want {
			if d := math.Abs(counts[id]/draws - share); d > 5*math.Sqrt(share*(1-share)/draws)+1e-9 {
				t.Errorf("%d: token %d came with the frequency %.4f, want %.4f", n, id, counts[id]/draws, share)
			}
		}
	}
}

// Texts that are drawn with a draft come as often as the model's scores say.
func TestSpeculationIsSampling(t *testing.T) {
	c := Config{Vocab: 3, Layers: 1, Width: 8, Heads: 2, Hidden: 8, Seed: 1}
	m := New(c)
	c.Seed = 2
	small := New(c)
	for _, of := range []*Model{m, small} { // far from uniform
		w := of.Embed.Members()[0].Weight
		w.Set(w.Mul(15))
	}
	o := Sampling{Tokens: 3, Temperature: 1.2, Draft: &Draft{Model: small, Tokens: 2}}
	prompt := []int{2, 0}
	want := map[[3]int]float64{}
	var texts func(text []int, share float64)
	texts = func(text []int, share float64) {
		if len(text) == 5 {
			want[[3]int(text[2:])] = share
			return
		}
		next := m.Logits(tensor.From(text, 1, len(text))).Slice(1, -1, len(text)).Div(o.Temperature).Softmax(-1).Floats()
		for id, p := range next {
			texts(append(slices.Clip(text), id), share*float64(p))
		}
	}
	texts(prompt, 1)
	draws := 500
	if long.CI() {
		draws = 1500
	}
	counts := map[[3]int]float64{}
	for seed := range draws {
		o.Seed = uint64(seed)
		ids, err := m.GenerateTokens(t.Context(), prompt, o)
		if err != nil {
			t.Fatal(err)
		}
		counts[[3]int(ids[2:])]++
	}
	for text, share := range want {
		if d := math.Abs(counts[text]/float64(draws) - share); d > 4.5*math.Sqrt(share*(1-share)/float64(draws))+1/float64(draws) {
			t.Errorf("%v came with the frequency %.4f, want %.4f", text, counts[text]/float64(draws), share)
		}
	}
	if accepted, of := o.Draft.Accepted(); accepted < of/10 || accepted > of*95/100 {
		t.Errorf("%v: the test needs both", o.Draft)
	}
}

func TestDraftRefuses(t *testing.T) {
	m := New(tiny())
	c := tiny()
	c.Vocab = 300
	for want, d := range map[string]*Draft{
		"a draft without a model":             {},
		"a vocabulary of 300, want the model": {Model: New(c)},
		"got -1 guesses":                      {Model: m, Tokens: -1},
	} {
		if _, err := m.GenerateTokens(t.Context(), []int{1}, Sampling{Draft: d}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := m.GenerateBatchTokens(t.Context(), [][]int{{1}}, Sampling{Draft: &Draft{Model: m}}); err == nil {
		t.Error("a batch took a draft")
	}
}
