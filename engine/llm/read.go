package llm

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// reader makes layers of the weights of a folder.
type reader struct {
	c Config
	*pretrained.Weights
}

func (r *reader) linear(path string, in, out int, bias bool, _ float64) nn.Layer {
	return r.Linear(path, in, out, bias)
}

func (r *reader) embedding(path string, _ float64) nn.Layer {
	return r.Embedding(path, r.c.Vocab, r.c.Width)
}

func (r *reader) norm(path string, width int) *nn.RMSNorm {
	return &nn.RMSNorm{Weight: r.Vector(path+".weight", width), Eps: r.c.Eps, Plus: r.c.NormPlus}
}

// readWeights builds the model of c with the weights of a folder.
func readWeights(ctx context.Context, dir string, c Config) (*Model, error) {
	w, err := pretrained.OpenWeights(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if w.Len() < 4*c.Layers { // so that a hostile number of layers costs nothing
		return nil, fmt.Errorf("%s: got %d tensors, want those of %d layers", dir, w.Len(), c.Layers)
	}
	if !w.Has("model.embed_tokens.weight") && w.Has("embed_tokens.weight") { // the model without its head
		w.Stored = func(name string) string { return strings.TrimPrefix(name, "model.") }
	}
	m := build(c, &reader{c, w})
	if err := w.Err(); err != nil {
		return nil, err
	}
	// A tied model may store its output matrix a second time, and old files the rates of rotary positions.
	err = w.Rest(c.Family, func(stored string) bool {
		return !c.Untied && stored == "lm_head.weight" || strings.HasSuffix(stored, "rotary_emb.inv_freq")
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
