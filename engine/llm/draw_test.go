package llm

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// within runs f with a generator of its own.
func within(seed uint64, f func()) {
	tensor.Within(tensor.WithRNG(context.Background(), tensor.NewRNG(seed)), f)
}

// Draw draws what the definition allows, each as often as its weight says.
func TestDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const rows, vocab = 4000, 60
	scores := make([]float32, vocab)
	for i := range scores {
		scores[i] = float32(2 * rng.NormFloat64())
	}
	for _, o := range []Sampling{
		{Temperature: 1}, {Temperature: 0.5}, {Temperature: 1.5, TopK: 7}, {Temperature: 1, TopP: 0.8}, {Temperature: 2, TopK: 20, TopP: 0.5},
		{Temperature: 1, MinP: 0.1}, {Temperature: 2, TopK: 20, TopP: 0.8, MinP: 0.3}, {Temperature: 1, TopK: 1000}, {Temperature: 1, TopP: 1}, {Temperature: 1, TopP: 1e-9},
	} {
		allowed := allowedBy(o, scores)
		var drawn []int
		within(5, func() { drawn = o.Draw(tensor.From(scores, 1, vocab).Expand(rows, vocab)).Ints() })
		counts := map[int]int{}
		for _, id := range drawn {
			counts[id]++
		}
		total := 0.0
		weight := func(id int) float64 { return math.Exp(float64(scores[id]) / o.Temperature) }
		for _, id := range allowed {
			total += weight(id)
		}
		for id, n := range counts {
			if !slices.Contains(allowed, id) {
				t.Errorf("%+v: drew %d, which is none of the %d allowed", o, id, len(allowed))
			}
			p := weight(id) / total
			if off := math.Abs(float64(n)/rows - p); off > 5*math.Sqrt(p*(1-p)/rows)+1.0/rows {
				t.Errorf("%+v: drew %d %d times of %d, want a share of %.3f", o, id, n, rows, p)
			}
		}
		if len(counts) < min(len(allowed), 3) {
			t.Errorf("%+v: drew %d different tokens, want more of the %d allowed", o, len(counts), len(allowed))
		}
	}
}

// Special scores: those at which choose turns, too.
func TestDrawSpecialScores(t *testing.T) {
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
		{"not a number", []float32{nan, 2, nan}, Sampling{Temperature: 1, TopK: 2, TopP: 0.5}, 1},
		{"masked", []float32{-inf, -5, -inf}, Sampling{Temperature: 1, TopP: 0.9}, 1},
	} {
		within(1, func() {
			if got := tt.o.Draw(tensor.From(tt.scores)).Ints()[0]; got != tt.want {
				t.Errorf("%s, %+v: got %d, want %d", tt.name, tt.o, got, tt.want)
			}
		})
	}
	for _, o := range []Sampling{{}, {Temperature: 1}, {Temperature: 1, TopK: 2, TopP: 0.5}} {
		err := tensor.Try(func() { o.Draw(tensor.From([]float32{nan, nan, nan})).Ints() })
		if err == nil || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%+v: got %v, want an error that names NaN", o, err)
		}
	}
	if err := tensor.Try(func() { Sampling{Presence: 1}.Draw(tensor.From([]float32{1})) }); err == nil {
		t.Error("a penalty was taken")
	}
	err := tensor.Try(func() { Sampling{Temperature: -1}.Draw(tensor.From([]float32{1})) })
	if want := "draw: got temperature -1, want 0 or more"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A model whose weights are NaN writes no text.
func TestGenerateNaN(t *testing.T) {
	m := New(tiny())
	w := nn.Params(m)[0].Value()
	w.Set(w.Mul(math.NaN()))
	for _, o := range []Sampling{{Tokens: 5}, {Tokens: 5, Temperature: 1}} {
		if text, err := m.Generate(context.Background(), "hello", o); err == nil || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%+v: got %q and %v, want an error that names NaN", o, text, err)
		}
	}
}
