package lora

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// New vectors for some tokens (PEFT's trainable_token_indices) are a part whose A is 1 at those tokens, and
// stands still, and whose B is what the vectors differ by.

// tokenPart makes the part of an embedding.
func tokenPart(l *Linear, tokens []int) *Part {
	w := l.bare(dtype.F32)
	a := make([]float32, w.Len(0)*len(tokens))
	for i, token := range tokens {
		a[token*len(tokens)+i] = 1
	}
	dt := dtype.Promote(w.DType(), dtype.F32)
	return &Part{
		A:      tensor.From(a, w.Len(0), len(tokens)).Cast(dt).To(w.Device()),
		B:      tensor.Zeros(len(tokens), w.Len(1)).Cast(dt).To(w.Device()).Param(),
		Rank:   len(tokens),
		Scale:  1,
		tokens: tokens,
		rows:   w.Take(tensor.From(tokens).To(w.Device()), 0).Cast(dt).Eval(),
	}
}

// tokenSlot is the embedding that Config.Tokens are about.
func (c Config) tokenSlot(m nn.Module) (slot, error) {
	slots := slices.DeleteFunc(linears(m), func(s slot) bool { return !s.embeds() })
	if len(slots) != 1 {
		return slot{}, fmt.Errorf("got Tokens, but the model has %d embeddings that can be adapted, want 1", len(slots))
	}
	_, layer := adapt(slots[0].Layer())
	count := adapted(layer).In()
	for i, t := range c.Tokens {
		if t < 0 || t >= count || slices.Contains(c.Tokens[:i], t) {
			return slot{}, fmt.Errorf("got token %d, want each once and from 0 to %d", t, count-1)
		}
	}
	return slots[0], nil
}

// readTokens reads PEFT's trainable_token_indices: a list, or an object with a list for one embedding.
func readTokens(text json.RawMessage) (tokens []int, err error) {
	if len(text) == 0 || json.Unmarshal(text, &tokens) == nil {
		return tokens, nil
	}
	var of map[string][]int
	if err := json.Unmarshal(text, &of); err != nil || len(of) != 1 {
		return nil, fmt.Errorf("got trainable_token_indices %.60s, want those of one embedding", text)
	}
	for _, list := range of {
		tokens = list
	}
	return tokens, nil
}
