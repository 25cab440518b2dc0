package llm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every choice is one that the definition, which sorts everything, allows.
func TestChooseProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		scores := make([]float32, 1+rng.IntN(2000))
		for i := range scores {
			scores[i] = float32(math.Round(rng.NormFloat64() * 8)) // many ties
		}
		o := Sampling{Temperature: 0.1 + 2*rng.Float64(), TopK: rng.IntN(50), TopP: 1.2 * rng.Float64(), MinP: max(0, rng.Float64()-0.6)}
		allowed := allowedBy(o, scores)
		if id := o.choose(scores, rng); !slices.Contains(allowed, id) {
			t.Fatalf("%+v of %d scores: drew %d, score %g, which is none of the %d allowed", o, len(scores), id, scores[id], len(allowed))
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
		if got := tt.o.choose(tt.scores, rand.New(rand.NewPCG(1, 1))); got != tt.want {
			t.Errorf("%s, %+v: got %d, want %d", tt.name, tt.o, got, tt.want)
		}
	}
}
