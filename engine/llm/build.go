package llm

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// weights makes the layers of a model: with random weights, or those of a file. The path is that of the
// layer.
type weights interface {
	// linear has out×in weights; the deviation is that of random ones.
	linear(path string, in, out int, bias bool, deviation float64) nn.Layer
	embedding(path string, deviation float64) nn.Layer
	norm(path string, width int) *nn.RMSNorm
}

// build makes the model of a Config that was checked, layer by layer in the order of the forward pass.
func build(c Config, w weights) *Model {
	const deviation = 0.02
	residual := deviation / math.Sqrt(float64(2*c.Layers))
	m := &Model{Config: c, Embed: w.embedding("model.embed_tokens", deviation)}
	for i := range c.Layers {
		path := fmt.Sprintf("model.layers.%d.", i)
		b := &Block{AttnNorm: w.norm(path+"input_layernorm", c.Width), Attn: c.attention(w, i, path+"self_attn.", deviation, residual)}
		before := "post_attention_layernorm"
		if c.Sandwich {
			b.AttnAfter = w.norm(path+before, c.Width)
			before = "pre_feedforward_layernorm"
		}
		b.MLPNorm = w.norm(path+before, c.Width)
		b.MLP = c.mlp(w, path+"mlp.", deviation, residual)
		if c.Sandwich {
			b.MLPAfter = w.norm(path+"post_feedforward_layernorm", c.Width)
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Norm = w.norm("model.norm", c.Width)
	if c.Untied {
		m.Head = w.linear("lm_head", c.Width, c.Vocab, false, deviation)
	}
	return m
}

func (c Config) attention(w weights, layer int, path string, deviation, residual float64) *nn.Attention {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	a := &nn.Attention{Heads: c.Heads, KVHeads: c.KVHeads, Rope: c.Rope, Scale: c.Scale, Cap: c.ScoreCap}
	if c.local(layer) {
		a.Window, a.Rope = c.Window, c.localRope()
	}
	if c.Joined {
		a.QKV = w.linear(path+"qkv_proj", c.Width, q+2*kv, c.QKVBias, deviation)
	} else {
		a.Q = w.linear(path+"q_proj", c.Width, q, c.QKVBias, deviation)
		a.K = w.linear(path+"k_proj", c.Width, kv, c.QKVBias, deviation)
		a.V = w.linear(path+"v_proj", c.Width, kv, c.QKVBias, deviation)
	}
	a.O = w.linear(path+"o_proj", q, c.Width, c.OutBias, residual)
	if c.QKNorm {
		a.QNorm, a.KNorm = w.norm(path+"q_norm", c.HeadDim), w.norm(path+"k_norm", c.HeadDim)
	}
	return a
}

func (c Config) mlp(w weights, path string, deviation, residual float64) *nn.MLP {
	m := &nn.MLP{Act: activations[c.Act]}
	if c.Joined {
		m.GateUp = w.linear(path+"gate_up_proj", c.Width, 2*c.Hidden, c.MLPBias, deviation)
	} else {
		m.Gate = w.linear(path+"gate_proj", c.Width, c.Hidden, c.MLPBias, deviation)
		m.Up = w.linear(path+"up_proj", c.Width, c.Hidden, c.MLPBias, deviation)
	}
	m.Down = w.linear(path+"down_proj", c.Hidden, c.Width, c.MLPBias, residual)
	return m
}

// random makes random weights, biases of 0 and norms that change nothing.
type random struct {
	rng *tensor.RNG
	c   Config
}

func (r *random) linear(_ string, in, out int, bias bool, deviation float64) nn.Layer {
	l := nn.NewLinearNormal(r.rng, in, out, deviation)
	if bias {
		l.Bias = tensor.Zeros(out).Param()
	}
	return l
}

func (r *random) embedding(_ string, deviation float64) nn.Layer {
	return nn.NewEmbedding(r.rng, r.c.Vocab, r.c.Width, deviation)
}

func (r *random) norm(_ string, width int) *nn.RMSNorm {
	n := nn.NewRMSNorm(width, r.c.Eps)
	if n.Plus = r.c.NormPlus; n.Plus != 0 {
		n.Weight = tensor.Full(1-n.Plus, width).Param()
	}
	return n
}
