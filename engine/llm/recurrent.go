package llm

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
)

// A Recurrent says which layers of a model keep a state in place of keys and values, and how.
type Recurrent struct {
	// Kind is "conv": short convolutions between two gates (LFM 2); "delta": gated delta nets (Qwen 3 Next
	// and 3.5); empty: there are none.
	Kind   string
	Layers []bool // which layers keep one; nil: all
	Kernel int    // inputs of a token's convolution, its own among them
	Bias   bool   // convolutions and projections add one ("conv")

	Keys, Values     int  // heads of keys and of values ("delta")
	KeyDim, ValueDim int  // their widths
	Joined           bool // their projections are two matrices (Qwen 3 Next)
}

// maxKernel is the longest convolution: each of its inputs is a product of its own.
const maxKernel = 64

// recurrentKinds are the words of layer_types, by those of Kind.
var recurrentKinds = map[string]string{"conv": "conv", "delta": "linear_attention"}

// check says what no model can have.
func (r Recurrent) check(layers int) error {
	switch {
	case r.Kind == "":
		return nil
	case recurrentKinds[r.Kind] == "":
		return fmt.Errorf("got recurrent layers of the kind %q, want conv or delta", r.Kind)
	case r.Kind == "delta" && (min(r.Keys, r.Values, r.KeyDim, r.ValueDim) < 1 || max(r.Keys, r.Values, r.KeyDim, r.ValueDim) > 1<<16 || r.Values%r.Keys != 0):
		return fmt.Errorf("got %d heads of keys of width %d and %d of values of width %d, want positive numbers of at most 65536, and a multiple",
			r.Keys, r.KeyDim, r.Values, r.ValueDim)
	case r.Kernel < 1 || r.Kernel > maxKernel:
		return fmt.Errorf("got convolutions of %d inputs, want 1 to %d", r.Kernel, maxKernel)
	case r.Layers != nil && len(r.Layers) != layers:
		return fmt.Errorf("got %d layers with a state or attention, want %d", len(r.Layers), layers)
	}
	return nil
}

// said is r in the one form of several that say the same.
func (r Recurrent) said(layers int) Recurrent {
	if r.Kind == "" {
		return Recurrent{}
	}
	if r.Layers == nil {
		r.Layers = slices.Repeat([]bool{true}, layers)
	}
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
			kinds[i] = recurrentKinds[r.Kind]
		}
	}
	return map[string]any{
		"layer_types": kinds, "conv_L_cache": r.Kernel, "conv_bias": r.Bias, "block_auto_adjust_ff_dim": false,
		"linear_conv_kernel_dim": r.Kernel, "linear_num_key_heads": r.Keys, "linear_num_value_heads": r.Values,
		"linear_key_head_dim": r.KeyDim, "linear_value_head_dim": r.ValueDim,
	}
}

// recurs says whether a layer keeps a state.
func (c Config) recurs(layer int) bool {
	return c.Recurrent.Kind != "" && (c.Recurrent.Layers == nil || c.Recurrent.Layers[layer])
}

func (c Config) recurrent(w weights, path string, deviation, residual float64) nn.Recurrent {
	r := c.Recurrent
	if r.Kind == "delta" {
		return c.delta(w, path, deviation, residual)
	}
	return &nn.GatedConv{
		In:   w.linear(path+"in_proj", c.Width, 3*c.Width, r.Bias, deviation),
		Conv: w.conv(path+"conv", c.Width, r.Kernel, r.Bias, 1),
		Out:  w.linear(path+"out_proj", c.Width, c.Width, r.Bias, residual),
	}
}

func (c Config) delta(w weights, path string, deviation, residual float64) nn.Recurrent {
	r := c.Recurrent
	d := &nn.GatedDelta{Keys: r.Keys, Values: r.Values, KeyDim: r.KeyDim, Dim: r.ValueDim, Act: activations[c.Act]}
	keys, values := r.Keys*r.KeyDim, r.Values*r.ValueDim
	if r.Joined {
		d.QKVZ = w.linear(path+"in_proj_qkvz", c.Width, 2*keys+2*values, false, deviation)
		d.BA = w.linear(path+"in_proj_ba", c.Width, 2*r.Values, false, deviation)
	} else {
		d.QKV = w.linear(path+"in_proj_qkv", c.Width, 2*keys+values, false, deviation)
		d.Z = w.linear(path+"in_proj_z", c.Width, values, false, deviation)
		d.B = w.linear(path+"in_proj_b", c.Width, r.Values, false, deviation)
		d.A = w.linear(path+"in_proj_a", c.Width, r.Values, false, deviation)
	}
	d.Conv = w.conv(path+"conv1d", 2*keys+values, r.Kernel, false, 1/math.Sqrt(float64(r.Kernel)))
	d.Bias, d.ALog = w.vector(path+"dt_bias", r.Values), w.vector(path+"A_log", r.Values)
	d.Norm = w.plainNorm(path+"norm", r.ValueDim)
	d.Out = w.linear(path+"out_proj", values, c.Width, false, residual)
	return d
}
