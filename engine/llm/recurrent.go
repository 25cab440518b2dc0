package llm

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
)

// A Recurrent says which layers of a model keep a state in place of keys and values, and how.
type Recurrent struct {
	Kind      string // "conv": short convolutions between two gates (LFM 2); empty: there are none
	Attention []bool // which layers have attention all the same; nil: none
	Kernel    int    // inputs of a token's convolution, its own among them
	Bias      bool   // convolutions and projections add one
}

// maxKernel is the longest convolution: each of its inputs is a product of its own.
const maxKernel = 64

// check says what no model can have.
func (r Recurrent) check(layers int) error {
	switch {
	case r.Kind == "":
		return nil
	case r.Kind != "conv":
		return fmt.Errorf("got recurrent layers of the kind %q, want conv", r.Kind)
	case r.Kernel < 1 || r.Kernel > maxKernel:
		return fmt.Errorf("got convolutions of %d inputs, want 1 to %d", r.Kernel, maxKernel)
	case r.Attention != nil && len(r.Attention) != layers:
		return fmt.Errorf("got %d layers with a state or attention, want %d", len(r.Attention), layers)
	}
	return nil
}

// said is r in the one form of several that say the same.
func (r Recurrent) said(layers int) Recurrent {
	if r.Kind == "" {
		return Recurrent{}
	}
	attention := make([]bool, layers)
	copy(attention, r.Attention)
	r.Attention = attention
	return r
}

// keys are the settings of recurrent layers.
func (r Recurrent) keys(c Config) map[string]any {
	if r.Kind == "" {
		return nil
	}
	kinds := make([]string, c.Layers)
	for i := range kinds {
		if kinds[i] = "full_attention"; c.recurs(i) {
			kinds[i] = r.Kind
		}
	}
	return map[string]any{"layer_types": kinds, "conv_L_cache": r.Kernel, "conv_bias": r.Bias, "block_auto_adjust_ff_dim": false}
}

// recurs says whether a layer keeps a state.
func (c Config) recurs(layer int) bool {
	return c.Recurrent.Kind != "" && (c.Recurrent.Attention == nil || !c.Recurrent.Attention[layer])
}

func (c Config) recurrent(w weights, path string, deviation, residual float64) nn.Recurrent {
	r := c.Recurrent
	return &nn.GatedConv{
		In:   w.linear(path+"in_proj", c.Width, 3*c.Width, r.Bias, deviation),
		Conv: w.conv(path+"conv", c.Width, r.Kernel, r.Bias, 1),
		Out:  w.linear(path+"out_proj", c.Width, c.Width, r.Bias, residual),
	}
}

// attends reads which layers have attention: those of layer_types that are no recurrent one of a kind, or
// where there are no layer_types what other says.
func (s settings) attends(n int, kind string, other func(layer int) bool) []bool {
	kinds := s.Texts("layer_types")
	if n < 1 || n > 1<<20 || s.Err() != nil {
		return nil // refused by the check of all lengths
	}
	if kinds != nil && len(kinds) != n {
		s.Fail("layer_types", "got %d layers, want %d", len(kinds), n)
		return nil
	}
	list := make([]bool, n)
	for i := range list {
		switch {
		case kinds == nil:
			list[i] = other(i)
		case kinds[i] == "full_attention":
			list[i] = true
		case kinds[i] != kind:
			s.Fail("layer_types", "got %q, want full_attention or %s", kinds[i], kind)
			return nil
		}
	}
	if !slices.Contains(list, true) {
		return nil // none of them, which Config says so
	}
	return list
}
