package llm

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/grammar"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// A vocabulary keeps the texts of a model's tokens for grammars.
type vocabulary struct {
	mu   sync.Mutex // guards what follows
	of   *tokenizer.Tokenizer
	stop []int
	made *grammar.Vocabulary
}

// vocabulary is that of the tokens that can be in the middle of a text.
func (m *Model) vocabulary() *grammar.Vocabulary {
	v := &m.spoken
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.made != nil && v.of == m.Tokenizer && slices.Equal(v.stop, m.Stop) {
		return v.made
	}
	v.of, v.stop = m.Tokenizer, slices.Clone(m.Stop)
	v.made = grammar.NewVocabulary(m.Config.Vocab, func(id int) []byte {
		switch {
		case slices.Contains(v.stop, id):
			return nil
		case v.of != nil:
			return v.of.Bytes(id)
		case m.Config.Vocab == 256:
			return []byte{byte(id)}
		}
		return nil
	})
	return v.made
}

// constrained is a sampler that holds a text to its grammar, if it has one.
func (m *Model) constrained(prompt []int, o Sampling) (*sampler, error) {
	s := o.sampler(prompt)
	if o.Grammar == nil {
		return s, nil
	}
	machine, err := o.Grammar.Over(m.vocabulary())
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	s.state, s.stop = machine.Start(), m.Stop
	return s, nil
}

// mask leaves the scores of tokens that the grammar allows.
func (s *sampler) mask(scores []float32) {
	if s.state == nil {
		return
	}
	ends := make([]float32, len(s.stop))
	for i, id := range s.stop {
		if ends[i] = float32(math.Inf(-1)); s.state.Accepts() && id < len(scores) {
			ends[i] = scores[id]
		}
	}
	allowed := s.state.Mask()
	for id := range scores {
		if id/64 >= len(allowed) || allowed[id/64]>>(id%64)&1 == 0 {
			scores[id] = float32(math.Inf(-1))
		}
	}
	for i, id := range s.stop {
		if id < len(scores) {
			scores[id] = ends[i]
		}
	}
}

// over says whether nothing can follow by the grammar, or a token came that it does not allow, for want of
// one that it does.
func (s *sampler) over() bool { return s.Grammar != nil && (s.state == nil || s.state.Ends()) }
