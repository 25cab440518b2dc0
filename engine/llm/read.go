package llm

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// reader makes layers of the weights of a folder.
type reader struct {
	c Config
	*pretrained.Weights
}

func (r *reader) linear(path string, in, out int, bias bool, _ float64) nn.Layer {
	w := r.codes(path+".weight", in, out)
	if w == nil {
		return r.Linear(path, in, out, bias)
	}
	l := &quant.Linear{Weight: w}
	if bias {
		l.Bias = r.Vector(path+".bias", out)
	}
	return l
}

func (r *reader) embedding(path string, _ float64) nn.Layer {
	if w := r.codes(path+".weight", r.c.Width, r.c.Vocab); w != nil {
		return &quant.Embedding{Weight: w}
	}
	return r.Embedding(path, r.c.Vocab, r.c.Width)
}

// codes reads a matrix that is stored in codes, nil if it is stored in numbers or there is a problem.
func (r *reader) codes(name string, in, out int) *quant.Weight {
	s, stored := r.Find(name, out, in)
	file, ok := s.(interface {
		Codes(name string) (*quant.Weight, error)
	})
	if !ok {
		return nil
	}
	w, err := file.Codes(stored)
	if err != nil {
		r.Fail(err)
	}
	if w != nil {
		r.Report()
	}
	return w
}

func (r *reader) norm(path string, width int) nn.Layer {
	weight, bias := r.Vector(path+".weight", width), tensor.Tensor{}
	if r.c.NormBias {
		bias = r.Vector(path+".bias", width)
	}
	return r.c.norm(weight, bias)
}

// readWeights builds the model of c with the weights of a source.
func readWeights(c Config, s *source, body bool) (*Model, error) {
	w := s.weights
	if w.Len() < 4*c.Layers { // so that a hostile number of layers costs nothing
		return nil, fmt.Errorf("%s: got %d tensors, want those of %d layers", s.path, w.Len(), c.Layers)
	}
	if w.Stored == nil && !w.Has("model.embed_tokens.weight") && w.Has("embed_tokens.weight") { // the model without its head
		w.Stored = func(name string) string { return strings.TrimPrefix(name, "model.") }
	}
	m := build(c, &reader{c, w})
	if err := w.Err(); err != nil {
		return nil, err
	}
	nn.SetNames(m) // those of codes
	// A tied model may store its output matrix a second time, and old files the rates of rotary positions.
	err := w.Rest(c.Family, func(stored string) bool {
		if s.left(stored) {
			m.unread++
			return true
		}
		return !c.Untied && stored == "lm_head.weight" || body && (stored == "lm_head.bias" || stored == "score.weight") || strings.HasSuffix(stored, "rotary_emb.inv_freq")
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
