package llm

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A candidate is a token that may be drawn.
type candidate struct {
	id     int
	score  float32
	weight float64 // e^((score − best)/temperature)
}

// better orders candidates: the greater score first, of equal ones the lower token. NaN comes last.
func better(a, b candidate) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return a.id - b.id
}

// choose draws a token from scores. It looks at every score a fixed number of times: sorting a large
// vocabulary would cost as much as a small model.
func (o Sampling) choose(scores []float32, rng *rand.Rand) int {
	if o.Temperature <= 0 {
		return largest(scores)
	}
	return draw(o.weigh(scores), rng)
}

// weigh lists the tokens that may follow, each with its weight. At a temperature of 0 that is the best one.
func (o Sampling) weigh(scores []float32) []candidate {
	best := largest(scores)
	if o.Temperature <= 0 {
		return []candidate{{id: best, score: scores[best], weight: 1}}
	}
	list := o.candidates(scores, best)
	for i := range list {
		c := &list[i]
		c.weight = math.Exp(float64(c.score-scores[best]) / o.Temperature)
	}
	if o.TopP > 0 && o.TopP < 1 {
		list = nucleus(list, o.TopP)
	}
	if o.MinP > 0 { // the best one has a weight of 1
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.weight < o.MinP })
	}
	return list
}

// draw takes one of the candidates, each as often as its weight says.
func draw(list []candidate, rng *rand.Rand) int {
	u := rng.Float64() * total(list)
	for _, c := range list {
		if u -= c.weight; u < 0 {
			return c.id
		}
	}
	return list[len(list)-1].id
}

func total(list []candidate) (sum float64) {
	for _, c := range list {
		sum += c.weight
	}
	return sum
}

// largest returns the first place of the greatest score.
func largest(scores []float32) int {
	best := 0
	for i, s := range scores {
		if s > scores[best] || scores[best] != scores[best] && s == s {
			best = i
		}
	}
	return best
}

// negligible is how far below the best a score may be, in units of the temperature, before the token can be
// left out: a million tokens further below have less than 2⁻⁵³ of the probability together.
const negligible = 51

// candidates lists the tokens that Temperature and TopK leave.
func (o Sampling) candidates(scores []float32, best int) []candidate {
	least := float64(scores[best]) - negligible*o.Temperature
	var list []candidate
	for i, s := range scores {
		if float64(s) < least || s != s {
			continue
		}
		list = append(list, candidate{id: i, score: s})
		if o.TopK > 0 && len(list) >= 4*o.TopK+256 {
			slices.SortFunc(list, better)
			list = list[:o.TopK]
			least = max(least, float64(list[o.TopK-1].score))
		}
	}
	if len(list) == 0 { // all scores are NaN, or the best one is infinite
		return []candidate{{id: best}}
	}
	if o.TopK > 0 {
		slices.SortFunc(list, better)
		list = list[:min(o.TopK, len(list))]
	}
	return list
}

// nucleus keeps the best candidates, as many as have the share p of the total weight together. It does not
// sort the worst ones, without which the others have that share as well.
func nucleus(list []candidate, p float64) []candidate {
	all := total(list)
	least := (1 - p) * all / float64(2*len(list))
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.weight < least })
	slices.SortFunc(list, better)
	sum := 0.0
	for i, c := range list {
		if sum += c.weight; sum >= p*all {
			return list[:i+1]
		}
	}
	return list
}
