package llm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Recurrent says which layers of a model keep a state in place of keys and values, and how.
type Recurrent struct {
	// Kind is "conv": short convolutions between two gates (LFM 2); "delta": gated delta nets (Qwen 3 Next
	// and 3.5); "mamba": Mamba-2; empty: there are none.
	Kind   string
	Layers []bool // which layers keep one; nil: all
	Beside bool   // attention stands beside it (Falcon-H1)
	Kernel int    // inputs of a token's convolution, its own among them
	Act    string // after the convolution of "delta" and "mamba": see Config; empty: the Config's

	Bias, ConvBias, OutBias bool // the first projection, the convolution and the last projection add one ("conv", "mamba")

	Keys, Values     int  // heads of keys and of values ("delta"); groups and heads ("mamba")
	KeyDim, ValueDim int  // their widths; those of B and x ("mamba")
	Joined           bool // their projections are two matrices (Qwen 3 Next)

	NoNorm, NormFirst bool       // what heads give is not normalised, or before its gate (Falcon-H1)
	Limits            [2]float64 // of Δ: see nn.Mamba
	Factors           [5]float64 // see nn.Mamba
	In, Scale         float64    // factors of what the layer gets and gives (Falcon-H1); 0 means 1
}

// maxKernel is the longest convolution: each of its inputs is a product of its own.
const maxKernel = 64

// recurrentKinds are the words of layer_types, by those of Kind.
var recurrentKinds = map[string]string{"conv": "conv", "delta": "linear_attention", "mamba": "linear_attention"}

// check says what no model can have.
func (r Recurrent) check(layers int) error {
	switch {
	case r.Kind == "":
		return nil
	case recurrentKinds[r.Kind] == "":
		return fmt.Errorf("got recurrent layers of the kind %q, want conv, delta or mamba", r.Kind)
	case r.Kind != "conv" && (min(r.Keys, r.Values, r.KeyDim, r.ValueDim) < 1 || max(r.Keys, r.Values, r.KeyDim, r.ValueDim) > 1<<16 || r.Values%r.Keys != 0):
		return fmt.Errorf("got %d heads of keys of width %d and %d of values of width %d, want positive numbers of at most 65536, and a multiple",
			r.Keys, r.KeyDim, r.Values, r.ValueDim)
	case r.Kernel < 1 || r.Kernel > maxKernel:
		return fmt.Errorf("got convolutions of %d inputs, want 1 to %d", r.Kernel, maxKernel)
	case !(0 <= r.Limits[0] && !math.IsInf(r.Limits[0], 1)) || r.Limits[1] != 0 && !(r.Limits[0] <= r.Limits[1]):
		return fmt.Errorf("got a step from %v to %v, want finite numbers of at least 0 in order", r.Limits[0], r.Limits[1])
	case r.Beside && (r.Kind != "mamba" || r.Layers != nil):
		return fmt.Errorf("got attention beside layers of the kind %q, want it beside all of the kind mamba", r.Kind)
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
	for i, x := range r.Factors {
		r.Factors[i] = cmp.Or(x, 1)
	}
	r.In, r.Scale = cmp.Or(r.In, 1), cmp.Or(r.Scale, 1)
	return r
}

// keys are the settings of recurrent layers.
func (r Recurrent) keys(c Config) map[string]any {
	if r.Kind == "" {
		return nil
	}
	kinds, attention := make([]string, c.Layers), []int{}
	for i := range kinds {
		if kinds[i] = "full_attention"; c.recurs(i) {
			kinds[i] = recurrentKinds[r.Kind]
		} else {
			attention = append(attention, i)
		}
	}
	k := map[string]any{
		"layer_types": kinds, "conv_L_cache": r.Kernel, "conv_bias": r.Bias, "block_auto_adjust_ff_dim": false,
		"linear_conv_kernel_dim": r.Kernel, "linear_num_key_heads": r.Keys, "linear_num_value_heads": r.Values,
		"linear_key_head_dim": r.KeyDim, "linear_value_head_dim": r.ValueDim,
		"attn_layer_indices": attention,
	}
	maps.Copy(k, r.mambaKeys(c))
	return k
}

// recurs says whether a layer keeps a state.
func (c Config) recurs(layer int) bool {
	single := c.Single != nil && c.Single[layer]
	return !single && c.Recurrent.Kind != "" && (c.Recurrent.Layers == nil || c.Recurrent.Layers[layer])
}

func (c *maker) recurrent() nn.Recurrent {
	r := c.Recurrent
	switch r.Kind {
	case "delta":
		return c.delta()
	case "mamba":
		return c.mamba()
	}
	return &nn.GatedConv{
		In:   c.linear(c.Width, 3*c.Width, r.Bias),
		Conv: c.conv(c.Width, r.Kernel, r.ConvBias, 1),
		Out:  c.residual(c.Width, c.Width, r.OutBias),
	}
}

func (c *maker) delta() nn.Recurrent {
	r := c.Recurrent
	d := &nn.GatedDelta{Keys: r.Keys, Values: r.Values, KeyDim: r.KeyDim, Dim: r.ValueDim, Act: activations[cmp.Or(r.Act, c.Act)]}
	keys, values := r.Keys*r.KeyDim, r.Values*r.ValueDim
	if r.Joined {
		d.QKVZ = c.linear(c.Width, 2*keys+2*values, false)
		d.BA = c.linear(c.Width, 2*r.Values, false)
	} else {
		d.QKV = c.linear(c.Width, 2*keys+values, false)
		d.Z = c.linear(c.Width, values, false)
		d.B = c.linear(c.Width, r.Values, false)
		d.A = c.linear(c.Width, r.Values, false)
	}
	d.Conv = c.conv(2*keys+values, r.Kernel, false, 1/math.Sqrt(float64(r.Kernel)))
	d.Bias, d.ALog = tensor.Zeros(r.Values), tensor.Zeros(r.Values)
	d.Norm = &nn.RMSNorm{Weight: tensor.Ones(r.ValueDim), Eps: c.Eps}
	d.Out = c.residual(values, c.Width, false)
	return d
}
