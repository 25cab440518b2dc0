package llm

import (
	"cmp"
	"math"
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

// choose draws a token from scores: the one at u, from 0 to 1, where those that may follow stand in order.
// It looks at every score a fixed number of times: sorting a large vocabulary would cost as much as a small
// model. So they stand as they are numbered, of a large vocabulary the best ones first, as in a shortlist;
// where TopK or TopP leaves few, all are in order.
func (o Sampling) choose(scores []float32, u float64) int {
	best := largest(scores)
	if o.Temperature <= 0 {
		return best
	}
	list := o.weigh(scores)
	if len(scores) >= leastVocab && o.TopK == 0 && !o.nucleus() {
		short := Sampling{Temperature: o.Temperature, TopK: shortLength}.candidates(scores, best)
		last := short[len(short)-1]
		o.setWeights(short, scores[best])
		list = append(slices.DeleteFunc(short, func(c candidate) bool { return c.weight < o.MinP }),
			slices.DeleteFunc(list, func(c candidate) bool { return better(c, last) <= 0 })...)
	}
	return draw(list, u)
}

// nucleus says whether TopP leaves candidates out.
func (o Sampling) nucleus() bool { return o.TopP > 0 && o.TopP < 1 }

// among is choose from the best of so many tokens, in order; logAll is the logarithm of the sum of
// e^(score/temperature) over all. It is not ok where another token may be the one.
func (o Sampling) among(list []candidate, tokens int, logAll, u float64) (id int, ok bool) {
	if o.Temperature <= 0 {
		return list[0].id, list[0].score > float32(math.Inf(-1))
	}
	whole := len(list) == tokens || o.TopK > 0 && o.TopK <= len(list) // nothing else can be drawn
	if o.TopK > 0 {
		list = list[:min(o.TopK, len(list))]
	}
	o.setWeights(list, list[0].score)
	sum := total(list)
	all := sum
	if !whole {
		all = math.Exp(logAll - float64(list[0].score)/o.Temperature)
	}
	switch {
	case !(all > 0) || math.IsInf(all, 0) || !whole && o.TopK > 0:
		return 0, false
	case o.nucleus():
		if !whole && sum < o.TopP*all {
			return 0, false
		}
		list, whole = leading(list, o.TopP*all), true
	}
	if n := slices.IndexFunc(list, func(c candidate) bool { return c.weight < o.MinP }); n > 0 {
		list, whole = list[:n], true
	}
	if whole {
		all = total(list)
	}
	if !whole && (o.MinP > 0 || u*all >= sum) {
		return 0, false
	}
	return draw(list, u*all/total(list)), true
}

// setWeights gives candidates their weights.
func (o Sampling) setWeights(list []candidate, best float32) {
	for i := range list {
		c := &list[i]
		c.weight = math.Exp(float64(c.score-best) / o.Temperature)
	}
}

// weigh lists the tokens that may follow, each with its weight. At a temperature of 0 that is the best one.
func (o Sampling) weigh(scores []float32) []candidate {
	best := largest(scores)
	if o.Temperature <= 0 {
		return []candidate{{id: best, score: scores[best], weight: 1}}
	}
	list := o.candidates(scores, best)
	o.setWeights(list, scores[best])
	if o.nucleus() {
		all := total(list)
		least := (1 - o.TopP) * all / float64(2*len(list)) // without those below, the others have that share as well
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.weight < least })
		slices.SortFunc(list, better)
		list = leading(list, o.TopP*all)
	}
	if o.MinP > 0 { // the best one has a weight of 1
		list = slices.DeleteFunc(list, func(c candidate) bool { return c.weight < o.MinP })
	}
	return list
}

// draw takes the candidate at u, from 0 to 1, of their weights.
func draw(list []candidate, u float64) int {
	u *= total(list)
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

// leading keeps the first candidates, as many as have such a weight together.
func leading(list []candidate, weight float64) []candidate {
	sum := 0.0
	for i, c := range list {
		if sum += c.weight; sum >= weight {
			return list[:i+1]
		}
	}
	return list
}
