package llm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Every choice is one that the definition, which sorts everything, allows.
func TestChooseProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	n := 200
	if long.CI() {
		n = 1000
	}
	for range n {
		scores := make([]float32, 1+rng.IntN(2*leastVocab))
		for i := range scores {
			scores[i] = float32(math.Round(rng.NormFloat64()*8)) - 40 // many ties
		}
		o := Sampling{Temperature: 0.1 + 2*rng.Float64(), TopK: max(0, rng.IntN(100)-50), TopP: 2 * rng.Float64(), MinP: max(0, rng.Float64()-0.6)}
		allowed, u := allowedBy(o, scores), rng.Float64()
		id := o.choose(scores, u)
		if o.TopK == 0 && !o.nucleus() {
			first := 0
			if len(scores) >= leastVocab {
				first = min(shortLength, len(allowed))
			}
			slices.Sort(allowed[first:])
		}
		at := slices.Index(allowed, id)
		if at < 0 {
			t.Fatalf("%+v of %d scores: drew %d, score %g, which is none of the %d allowed", o, len(scores), id, scores[id], len(allowed))
		}
		best := scores[largest(scores)]
		share := func(ids []int) (sum float64) {
			for _, id := range ids {
				sum += math.Exp(float64(scores[id]-best) / o.Temperature)
			}
			return sum
		}
		if before, with, all := share(allowed[:at]), share(allowed[:at+1]), share(allowed); u*all < before-1e-9*all || u*all > with+1e-9*all {
			t.Fatalf("%+v of %d scores: drew %d at %g, which is from %g to %g", o, len(scores), id, u, before/all, with/all)
		}
	}
}

// allowedBy is Sampling's definition.
func allowedBy(o Sampling, scores []float32) []int {
	ids := make([]int, len(scores))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return better(candidate{a, scores[a], 0}, candidate{b, scores[b], 0}) })
	if o.TopK > 0 {
		ids = ids[:min(o.TopK, len(ids))]
	}
	weight := func(id int) float64 { return math.Exp(float64(scores[id]-scores[ids[0]]) / o.Temperature) }
	total, sum := 0.0, 0.0
	for _, id := range ids {
		total += weight(id)
	}
	for i, id := range ids {
		if sum += weight(id); o.TopP > 0 && sum > o.TopP*total*(1+1e-12) {
			ids = ids[:i+1]
			break
		}
	}
	return slices.DeleteFunc(ids, func(id int) bool { return weight(id) < o.MinP })
}

func TestChooseSpecialScores(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name   string
		scores []float32
		o      Sampling
		want   int
	}{
		{"the first of equal ones", []float32{1, 3, 3}, Sampling{}, 1},
		{"the first of equal ones", []float32{1, 3, 3}, Sampling{Temperature: 1, TopK: 1}, 1},
		{"the first of equal ones", []float32{1, 3, 3}, Sampling{Temperature: 1, TopP: 0.1}, 1},
		{"not a number", []float32{nan, 2, nan}, Sampling{}, 1},
		{"not a number", []float32{nan, 2, nan}, Sampling{Temperature: 1}, 1},
		{"nothing is a number", []float32{nan, nan}, Sampling{}, 0},
		{"nothing is a number", []float32{nan, nan}, Sampling{Temperature: 1}, 0},
		{"masked", []float32{-inf, -5, -inf}, Sampling{}, 1},
		{"masked", []float32{-inf, -5, -inf}, Sampling{Temperature: 1, TopP: 0.9}, 1},
	} {
		if got := tt.o.choose(tt.scores, 0.5); got != tt.want {
			t.Errorf("%s, %+v: got %d, want %d", tt.name, tt.o, got, tt.want)
		}
	}
}

// What is drawn from a shortlist, or from all scores where it is too short, is what is drawn from all: a
// frequency that changes no score asks for these.
func TestShortlist(t *testing.T) {
	c := tiny()
	c.Vocab = leastVocab + 8
	m := New(c)
	prompts := [][]int{{1, 2, 3}, {4, 5}, {6}}
	for i, o := range []Sampling{
		{Temperature: 1}, {Temperature: 0.02}, {Temperature: 0.02, TopP: 0.9}, {Temperature: 1, TopP: 0.5}, {Temperature: 0.5, TopK: 20}, {Temperature: 0.5, TopK: 500},
		{Temperature: 0.05, MinP: 0.1}, {Temperature: 1, MinP: 0.9}, {Temperature: 0.1, TopK: 100, TopP: 0.8, MinP: 0.01},
	} {
		if i%2 > 0 && !long.CI() {
			continue
		}
		o.Tokens, o.Seed = 20, 7
		all := o
		all.Frequency = 1e-30
		if !m.shortens(o.sampler(nil)) || m.shortens(all.sampler(nil)) {
			t.Fatalf("%v is drawn from all scores, or %v is not", o, all)
		}
		want, err := m.GenerateBatchTokens(t.Context(), prompts, all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.GenerateBatchTokens(t.Context(), prompts, o)
		if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("%v: got %v, %v, want %v", o, got, err, want)
		}
		if one, err := m.GenerateTokens(t.Context(), prompts[0], o); err != nil || !slices.Equal(one, want[0]) {
			t.Errorf("%v, alone: got %v, %v, want %v", o, one, err, want[0])
		}
	}
}
