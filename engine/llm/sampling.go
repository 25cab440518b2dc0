package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/grammar"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Sampling says how the next token is chosen, and where the text ends. The zero value takes the best token
// each time. Numbers that mean nothing are errors.
type Sampling struct {
	Tokens      int     // how many to make at most; 0 means 64
	Temperature float64 // divides the scores; 0 always takes the best
	TopK        int     // only the k best; 0: all
	TopP        float64 // only the best that together have this probability; 0: all
	MinP        float64 // only those with at least this share of the best one's probability; 0: all
	Seed        uint64  // of what is drawn: the same text each time; 0: other ones, from tensor's generator, which tensor.Seed restarts

	// Repetition divides positive scores of tokens that the text already has, prompt and all, and multiplies
	// negative ones; 0 or 1 changes nothing (Keskar and others 2019, as in transformers).
	Repetition float64
	Presence   float64         // subtracted from the score of a token that was generated before (as OpenAI's)
	Frequency  float64         // subtracted as often as it was generated
	Bias       map[int]float64 // added to the scores of these tokens

	// Stop ends the text before the first of these texts that is generated, also where it begins or ends
	// inside of a token.
	Stop []string

	Marks []string // special tokens that are part of the text; the others are left out of it

	// Grammar is what the text that follows has to be, as JSON by a schema; it ends where the grammar does.
	// One that is cut off after Tokens is the beginning of such a text. nil: any text. Not with a Draft.
	Grammar *grammar.Grammar

	// Cache is the type in which keys and values of attention are kept: F32, BF16, F16, or I8 with a scale
	// for each token and head; Invalid means that of the model's Compute, in which they are computed.
	Cache dtype.Type

	// Prefix has read the beginning of the prompts: see [Model.Prefix]. A prompt that does not begin so is an
	// error.
	Prefix *Prefix

	Draft *Draft // a smaller model that guesses, which makes generation faster; not for batches

	Rows int // of a batch, how many texts grow at once; 0 means 16
}

func (o Sampling) check() error {
	if wrong := o.wrong(); wrong != "" {
		return errors.New("generate: " + wrong)
	}
	return nil
}

// wrong says which setting means nothing, or "".
func (o Sampling) wrong() string {
	finite := func(x float64) bool { return x-x == 0 }
	switch {
	case o.Tokens < 0 || o.Tokens > 1<<31:
		return fmt.Sprintf("got %d tokens to make, want a positive number below 2³¹, or 0 for 64", o.Tokens)
	case o.Rows < 0:
		return fmt.Sprintf("got %d rows, want a positive number, or 0 for 16", o.Rows)
	case o.TopK < 0:
		return fmt.Sprintf("got top-k %d, want a positive number, or 0 for all", o.TopK)
	case !(o.Temperature >= 0):
		return fmt.Sprintf("got temperature %v, want 0 or more", o.Temperature)
	case !(o.TopP >= 0 && o.TopP <= 1):
		return fmt.Sprintf("got top-p %v, want a probability, or 0 for all", o.TopP)
	case !(o.MinP >= 0 && o.MinP <= 1):
		return fmt.Sprintf("got min-p %v, want a share of the best one's probability, or 0 for all", o.MinP)
	case !(o.Repetition >= 0) || math.IsInf(o.Repetition, 0):
		return fmt.Sprintf("got a repetition penalty of %v, want a positive number, or 0 for none", o.Repetition)
	case !finite(o.Presence) || !finite(o.Frequency):
		return fmt.Sprintf("got penalties of presence %v and frequency %v, want finite numbers", o.Presence, o.Frequency)
	case slices.ContainsFunc(slices.Collect(maps.Values(o.Bias)), func(x float64) bool { return !finite(x) }):
		return fmt.Sprintf("got a bias of %v, want finite numbers", o.Bias)
	case !slices.Contains([]dtype.Type{dtype.Invalid, dtype.F32, dtype.BF16, dtype.F16, dtype.I8}, o.Cache):
		return fmt.Sprintf("got a cache of %v, want f32, bf16, f16 or i8", o.Cache)
	case o.Grammar != nil && o.Draft != nil:
		return "got a grammar and a draft, want one of them: guesses know no grammar"
	case slices.Contains(o.Stop, ""):
		return `got the stop string "", want one that a text need not have`
	}
	return ""
}

// String says what is not as in the zero value, which takes the best token each time.
func (o Sampling) String() string {
	list := []string{fmt.Sprintf("at most %d tokens", o.count())}
	if o.Temperature == 0 {
		list = append(list, "the best each time")
	}
	for _, x := range []struct {
		name  string
		value float64
	}{
		{"temperature", o.Temperature}, {"top-k", float64(o.TopK)}, {"top-p", o.TopP}, {"min-p", o.MinP}, {"seed", float64(o.Seed)},
		{"repetition", o.Repetition}, {"presence", o.Presence}, {"frequency", o.Frequency}, {"rows", float64(o.Rows)},
	} {
		if x.value != 0 {
			list = append(list, fmt.Sprintf("%s %v", x.name, x.value))
		}
	}
	if n := len(o.Bias); n > 0 {
		list = append(list, fmt.Sprintf("a bias of %d tokens", n))
	}
	if len(o.Stop) > 0 {
		list = append(list, fmt.Sprintf("to %q", o.Stop))
	}
	if o.Grammar != nil {
		list = append(list, o.Grammar.String())
	}
	if o.Cache != dtype.Invalid {
		list = append(list, fmt.Sprintf("cache in %v", o.Cache))
	}
	if o.Prefix != nil {
		list = append(list, o.Prefix.String())
	}
	if o.Draft != nil {
		list = append(list, o.Draft.String())
	}
	return "sampling: " + strings.Join(list, " · ")
}

// best says whether each token is the one with the greatest score.
func (o Sampling) best() bool {
	return o.Temperature <= 0 && !o.penalises() && o.Grammar == nil
}

// penalises says whether scores are changed, by the text or by a bias.
func (o Sampling) penalises() bool {
	return o.Repetition != 0 && o.Repetition != 1 || o.Presence != 0 || o.Frequency != 0 || len(o.Bias) > 0
}

// count is how many tokens to make.
func (o Sampling) count() int {
	return cmp.Or(o.Tokens, 64)
}

// rows is how many texts of a batch grow at once.
func (o Sampling) rows() int {
	return cmp.Or(o.Rows, 16)
}

// kept is the type in which keys and values are kept.
func (m *Model) kept(o Sampling) dtype.Type {
	return cmp.Or(o.Cache, m.Config.Compute, dtype.F32)
}

// seeded is o with a seed, which tensor's generator gives if nobody did.
func (o Sampling) seeded(ctx context.Context) Sampling {
	if o.Seed == 0 && o.Temperature > 0 {
		tensor.Within(ctx, func() { o.Seed = tensor.DefaultRNG().Uint64() })
	}
	return o
}

// A sampler chooses the tokens of one text.
type sampler struct {
	Sampling
	rng   *rand.Rand
	seen  map[int]bool   // tokens of the text so far; nil where Repetition changes nothing
	made  map[int]int    // how often each token was generated; nil without Presence and Frequency
	state *grammar.State // where the text is in its grammar; nil without one
	stop  []int          // what ends a text that its grammar lets end
}

func (o Sampling) sampler(prompt []int) *sampler {
	s := &sampler{Sampling: o, rng: rand.New(rand.NewPCG(o.Seed, 0))}
	if o.Repetition != 0 && o.Repetition != 1 {
		s.seen = map[int]bool{}
		for _, id := range prompt {
			s.seen[id] = true
		}
	}
	if o.Presence != 0 || o.Frequency != 0 {
		s.made = map[int]int{}
	}
	return s
}

// next chooses the token that follows, and takes it into account. It changes the scores.
func (s *sampler) next(scores []float32) int {
	s.penalise(scores)
	s.mask(scores)
	id := s.choose(scores, s.u())
	s.note(id)
	return id
}

// u is the next random number, from 0 to 1, of those that draw tokens.
func (s *sampler) u() float64 {
	if s.Temperature <= 0 {
		return 0
	}
	return s.rng.Float64()
}

// note takes a token of the text into account.
func (s *sampler) note(id int) {
	if s.seen != nil {
		s.seen[id] = true
	}
	if s.made != nil {
		s.made[id]++
	}
	if s.state != nil && !slices.Contains(s.stop, id) {
		s.state = s.state.Next(id)
	}
}

// penalise changes the scores of tokens that were there before, and of those that have a bias.
func (s *sampler) penalise(scores []float32) {
	for id := range s.seen {
		if id >= len(scores) { // of a draft, whose vocabulary may be shorter
			continue
		}
		if scores[id] < 0 {
			scores[id] *= float32(s.Repetition)
		} else {
			scores[id] /= float32(s.Repetition)
		}
	}
	for id, n := range s.made {
		if id < len(scores) {
			scores[id] -= float32(s.Presence + s.Frequency*float64(n))
		}
	}
	for id, x := range s.Bias {
		if id >= 0 && id < len(scores) {
			scores[id] += float32(x)
		}
	}
}
