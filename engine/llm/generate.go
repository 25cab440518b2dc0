package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Sampling says how the next token is chosen. Negative numbers and NaN are errors.
type Sampling struct {
	Tokens      int     // how many to make; 0 means 64
	Temperature float64 // divides the scores; 0 always takes the best
	TopK        int     // only the k best; 0: all
	TopP        float64 // only the best that together have this probability; 0: all
	Seed        uint64
}

func (o Sampling) check() error {
	if wrong := o.wrong(); wrong != "" {
		return errors.New("generate: " + wrong)
	}
	return nil
}

// wrong says which number means nothing, or "".
func (o Sampling) wrong() string {
	switch {
	case o.Tokens < 0:
		return fmt.Sprintf("got %d tokens to make, want a positive number, or 0 for 64", o.Tokens)
	case o.TopK < 0:
		return fmt.Sprintf("got top-k %d, want a positive number, or 0 for all", o.TopK)
	case !(o.Temperature >= 0):
		return fmt.Sprintf("got temperature %v, want 0 or more", o.Temperature)
	case !(o.TopP >= 0 && o.TopP <= 1):
		return fmt.Sprintf("got top-p %v, want a probability, or 0 for all", o.TopP)
	}
	return ""
}

// Generate goes on from a prompt, and returns it with what follows. Text becomes tokens by the model's
// Tokenizer, or byte by byte where the vocabulary is the 256 bytes. When ctx is done it returns the text so
// far, with the cause.
func (m *Model) Generate(ctx context.Context, prompt string, o Sampling) (string, error) {
	switch {
	case m.Tokenizer != nil:
		ids := m.Tokenizer.Encode(prompt, true)
		if len(ids) == 0 {
			return "", fmt.Errorf("generate: got an empty prompt, want at least one token")
		}
		all, err := m.GenerateTokens(ctx, ids, o)
		if len(all) < len(ids) { // nothing was generated
			return prompt, err
		}
		return prompt + strings.TrimPrefix(m.Tokenizer.Decode(all, false), m.Tokenizer.Decode(ids, false)), err
	case m.Config.Vocab != 256:
		return "", fmt.Errorf("generate: got a vocabulary of %d and no tokenizer, want 256 (bytes); use GenerateTokens", m.Config.Vocab)
	}
	ids := make([]int, len(prompt))
	for i := range ids {
		ids[i] = int(prompt[i])
	}
	ids, err := m.GenerateTokens(ctx, ids, o)
	text := make([]byte, len(ids))
	for i, id := range ids {
		text[i] = byte(id)
	}
	return string(text), err
}

// GenerateTokens goes on from at least one token, until it has made o.Tokens or one of the model's Stop,
// which it leaves out. It returns the prompt and what follows. When ctx is done it returns the tokens so far,
// with the cause. An empty prompt, tokens that the model does not have and numbers of a Sampling that mean
// nothing are errors.
func (m *Model) GenerateTokens(ctx context.Context, prompt []int, o Sampling) ([]int, error) {
	if len(prompt) == 0 {
		return nil, fmt.Errorf("generate: got an empty prompt, want at least one token")
	}
	for _, id := range prompt {
		if id < 0 || id >= m.Config.Vocab {
			return nil, fmt.Errorf("generate: got token %d, want one in 0…%d", id, m.Config.Vocab-1)
		}
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	count := o.Tokens
	if count == 0 {
		count = 64
	}
	ids := slices.Clone(prompt)
	err := tensor.Try(func() {
		tensor.Within(device.On(ctx, nn.Device(m)), func() { m.extend(ctx, &ids, count, o) })
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return ids, err
}

// extend appends count tokens to ids, fewer if ctx is done.
func (m *Model) extend(ctx context.Context, ids *[]int, count int, o Sampling) {
	// Rounded up, so that prompts of similar length share a plan.
	capacity := (len(*ids) + count + 63) / 64 * 64
	caches := make([]nn.Cache, len(m.Blocks))
	for i := range caches {
		caches[i].Grow(capacity, 1, m.Config.KVHeads, m.Config.HeadDim)
	}
	defer func() {
		for i := range caches {
			tensor.Free(caches[i].Keys, caches[i].Values)
		}
	}()
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	fresh := *ids // what the caches do not hold yet
	for i := 0; i < count && ctx.Err() == nil; i++ {
		scores := m.next(fresh, len(*ids)-len(fresh), caches)
		evaluate(scores, caches)
		id := o.choose(scores.Floats(), rng)
		scores.Free()
		if slices.Contains(m.Stop, id) {
			progress.Report(ctx, progress.Event{Task: "generate", Done: int64(i), Total: int64(count), Unit: "tok", Final: true})
			return
		}
		*ids = append(*ids, id)
		fresh = (*ids)[len(*ids)-1:]
		progress.Report(ctx, progress.Event{Task: "generate", Done: int64(i + 1), Total: int64(count), Unit: "tok", Final: i+1 == count})
	}
}

// evaluate computes the scores and the caches together, so that one plan serves both.
func evaluate(scores tensor.Tensor, caches []nn.Cache) {
	list := make([]tensor.Tensor, 0, 1+2*len(caches))
	list = append(list, scores)
	for i := range caches {
		c := &caches[i]
		list = append(list, c.Keys, c.Values)
	}
	tensor.Eval(list...)
}

// next runs tokens that stand from position at on, and returns the scores [Vocab] after the last of them.
func (m *Model) next(ids []int, at int, caches []nn.Cache) tensor.Tensor {
	x := m.vectors(tensor.From(ids, 1, len(ids)))
	places := make([]int, len(ids))
	for i := range places {
		places[i] = at + i
	}
	positions := tensor.From(places) // one for all blocks: what they compute from it, the mask, is computed once
	for i, b := range m.Blocks {
		caches[i].Tokens = at + len(ids)
		x = b.Continue(x, positions, &caches[i])
	}
	return m.output(x.Slice(1, -1, x.Len(1))).Flatten()
}
