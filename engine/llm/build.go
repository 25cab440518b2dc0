package llm

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// weights makes the layers of a model: with random weights, or those of a file. The path is that of the
// layer.
type weights interface {
	// linear has out×in weights; the deviation is that of random ones.
	linear(path string, in, out int, bias bool, deviation float64) nn.Layer
	embedding(path string, rows, width int, deviation float64) nn.Layer
	norm(path string, width int) nn.Layer
	// vector has numbers of a shape, which start at x where they are random.
	vector(name string, x float64, shape ...int) tensor.Tensor
	// conv has a kernel for each channel.
	conv(path string, channels, kernel int, bias bool, deviation float64) *nn.Conv
	// grouped has a layer for each expert, whose columns are those of parts, which have names of their own.
	grouped(path string, parts []string, groups, in, out int, deviation float64) *nn.Grouped
}

// expertParts are the layers of an expert in files, by those of a [nn.Experts] which consist of them.
var expertParts = map[string][]string{"gate_up_proj": {"gate_proj", "up_proj"}, "up_proj": {"up_proj"}, "down_proj": {"down_proj"}}

// build makes the model of a Config that was checked, layer by layer in the order of the forward pass. Each
// is called with each block when it is there, unless it is nil.
func build(c Config, w weights, each func(*Block)) *Model {
	const deviation = 0.02
	residual := deviation / math.Sqrt(float64(2*c.Layers))
	m := &Model{Config: c}
	c.Family = cmp.Or(c.family(), "none") // which is not asked again for each layer: it tries all
	m.family, _ = familyOf(c.Family)
	m.names = c.names()
	w = renamed{w, c, m.names}
	m.Embed = w.embedding(rename(m.names, "model.embed_tokens"), c.Vocab, c.Width, deviation)
	if c.Learned {
		m.Positions = w.embedding(rename(m.names, "model.embed_positions"), c.Context, c.Width, deviation)
	}
	if n := c.Inputs; n > 0 {
		m.Inputs = &Inputs{Layers: c.Layers, Width: n, Embed: w.embedding("model.embed_tokens_per_layer", c.Vocab, c.Layers*n, deviation),
			Proj: w.linear("model.per_layer_model_projection", c.Width, c.Layers*n, false, deviation), Norm: w.norm("model.per_layer_projection_norm", n)}
	}
	for i := range c.Layers {
		b := c.block(w, i, deviation, residual)
		if each != nil {
			each(b)
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Norm = w.norm("model.norm", c.Width)
	if c.Untied {
		m.Head = w.linear("lm_head", c.Width, c.Vocab, c.HeadBias, deviation)
	}
	return m
}

// straighten says of the layers of a family whose files have them as [in out] that they do.
func (m *Model) straighten() {
	if !m.family.conv1D {
		return
	}
	for _, b := range m.Blocks {
		nn.Walk(b, func(_ string, member nn.Member) {
			if l, ok := member.Module().(*nn.Linear); ok {
				l.Straight = true
			}
		})
	}
}

func (c Config) block(w weights, layer int, deviation, residual float64) *Block {
	path := rename(c.names(), fmt.Sprintf("model.layers.%d", layer)) + "."
	b := &Block{
		Parallel: c.Parallel, Scale: c.ResidualScale,
		AttnIn: c.AttnIn, RecurrentIn: c.Recurrent.In, AttnScale: c.AttnScale, RecurrentScale: c.Recurrent.Scale, MLPScale: c.MLPScale,
	}
	recurs, feeds := c.recurs(layer), c.feeds(layer)
	if !c.PostNorm && (c.Single == nil || !feeds) {
		b.AttnNorm = w.norm(path+"input_layernorm", c.Width)
	}
	if recurs {
		b.Recurrent = c.recurrent(w, rename(c.names(), path+"mixer")+".", deviation, residual)
	}
	if c.attends(layer) {
		b.Attn = c.attention(w, layer, rename(c.names(), path+"self_attn")+".", deviation, residual)
	}
	before := "post_attention_layernorm"
	if c.Sandwich || c.PostNorm {
		b.AttnAfter = w.norm(path+before, c.Width)
		before = "pre_feedforward_layernorm"
	}
	if !c.PostNorm && (!c.Parallel || c.BothNorms) && feeds {
		b.MLPNorm = w.norm(path+before, c.Width)
	}
	experts, hidden := rename(c.names(), path+"mlp")+".", c.Hidden
	if c.LentWide && c.lender(layer) != layer {
		hidden *= 2
	}
	if feeds && (!c.mixes(layer) || c.Mixture.Beside) {
		b.MLP = c.mlp(w, experts, hidden, deviation, residual)
		experts = rename(c.names(), path+expertsBeside) + "."
	}
	if c.Mixture.Apart {
		b.Beside, experts = w.norm(path+"post_feedforward_layernorm_1", c.Width), path
	}
	if c.mixes(layer) {
		b.Mixture = c.mixture(w, experts, deviation, residual)
	}
	if c.Sandwich || c.PostNorm {
		b.MLPAfter = w.norm(path+"post_feedforward_layernorm", c.Width)
	}
	if n := c.Inputs; n > 0 {
		b.Input = &Input{Act: activations[c.Act], Gate: w.linear(path+"per_layer_input_gate", c.Width, n, false, deviation),
			Proj: w.linear(path+"per_layer_projection", n, c.Width, false, residual), Norm: w.norm(path+"post_per_layer_input_norm", c.Width)}
	}
	if c.LayerScale {
		b.Factor = w.vector(path+"layer_scalar", 1, 1)
	}
	return b
}

func (c Config) attention(w weights, layer int, path string, deviation, residual float64) *nn.Attention {
	kvHeads, width := c.heads(layer)
	q, kv := c.Heads*width, kvHeads*width
	lent := c.lender(layer) != layer
	a := &nn.Attention{
		Heads: c.Heads, KVHeads: kvHeads, Rope: c.Rope, Scale: c.Scale, Clip: c.Clip, Cap: c.ScoreCap, Gated: c.GatedAttn, NoRope: c.Learned || c.NoRope != nil && c.NoRope[layer], Grouped: c.GroupedQKV,
		WideNorm: c.WideQKNorm, LateNorm: c.LateQKNorm,
	}
	if c.local(layer) {
		a.Window, a.Rope = c.Window, c.localRope()
	}
	if c.Latent.KV > 0 {
		c.latent(w, a, path, deviation)
		q = c.Heads * c.Latent.Value
	} else if c.JoinedQKV {
		a.QKV = w.linear(path+"qkv_proj", c.Width, q+2*kv, c.QKVBias, deviation)
	} else {
		queries := q
		if c.GatedAttn {
			queries = 2 * q
		}
		a.Q = w.linear(path+"q_proj", c.Width, queries, c.QKVBias, deviation)
		if !lent {
			a.K = w.linear(path+"k_proj", c.Width, kv, c.QKVBias, deviation)
		}
		if !lent && (c.local(layer) || !c.Global.SameKV) {
			a.V = w.linear(path+"v_proj", c.Width, kv, c.QKVBias, deviation)
		}
	}
	if c.VNorm && !lent {
		a.VNorm = nn.Func{Name: "RMSNorm", Apply: func(x tensor.Tensor) tensor.Tensor { return x.RMSNorm(tensor.Tensor{}, c.Eps) }}
	}
	a.O = w.linear(path+"o_proj", q, c.Width, c.OutBias, residual)
	if c.Sinks {
		a.Sinks = w.vector(path+"sinks", 0, c.Heads)
	}
	switch {
	case c.HeadQKNorm:
		a.WideNorm = true
		of := func(name string, heads int) nn.Layer {
			weight := w.vector(rename(c.names(), path+name)+".weight", 1, heads, c.HeadDim)
			return &nn.LayerNorm{Weight: weight, Eps: c.Eps, Groups: heads}
		}
		a.QNorm, a.KNorm = of("q_norm", c.Heads), of("k_norm", c.KVHeads)
	case c.WideQKNorm:
		a.QNorm, a.KNorm = w.norm(path+"q_norm", q), w.norm(path+"k_norm", kv)
	case c.QKNorm:
		if a.QNorm = w.norm(path+"q_norm", width); !lent {
			a.KNorm = w.norm(path+"k_norm", width)
		}
	}
	return a
}

func (c Config) mixture(w weights, path string, deviation, residual float64) *nn.Mixture {
	x := c.Mixture
	m := &nn.Mixture{
		Router:  &nn.Router{TopK: x.TopK, Sigmoid: x.Sigmoid, Normalise: x.Normalise, Scale: x.Scale, Groups: x.Groups, TopGroups: x.TopGroups, Near: x.Near},
		Experts: &nn.Experts{Act: activations[c.Act], Limit: x.Limit},
	}
	if x.Apart {
		m.Router.Logits = w.linear(path+"router.proj", c.Width, x.Experts, false, deviation)
		m.Router.In, m.Router.Each, m.Router.Eps = w.vector(path+"router.scale", 1, c.Width), w.vector(path+"router.per_expert_scale", 1, x.Experts), c.Eps
		m.Narrow, m.Widen = w.norm(path+"pre_feedforward_layernorm_2", c.Width), w.norm(path+"post_feedforward_layernorm_2", c.Width)
	} else {
		m.Router.Logits = w.linear(path+"gate", c.Width, x.Experts, x.Bias, deviation)
	}
	if x.Correction {
		shape := []int{x.Experts}
		if f, _ := familyOf(c.family()); f.statics {
			shape = []int{1, x.Experts}
		}
		m.Router.Correction = w.vector(path+"gate.e_score_correction_bias", 0, shape...)
	}
	grouped := func(name string, in, out int, deviation float64) *nn.Grouped {
		return w.grouped(path+"experts."+name, expertParts[name], x.Experts, in, out, deviation)
	}
	width := cmp.Or(x.Latent, c.Width)
	if x.Latent > 0 {
		m.Narrow = w.linear(path+"fc1_latent_proj", c.Width, width, c.MLPBias, deviation)
		m.Widen = w.linear(path+"fc2_latent_proj", width, c.Width, c.MLPBias, residual)
	}
	if c.Plain {
		m.Experts.Up = grouped("up_proj", width, x.Hidden, deviation)
	} else {
		m.Experts.GateUp = grouped("gate_up_proj", width, 2*x.Hidden, deviation)
	}
	m.Experts.Down = grouped("down_proj", x.Hidden, width, residual)
	if x.Bias {
		m.Experts.GateUpBias = w.vector(path+"experts.gate_up_proj_bias", 0, x.Experts, 2*x.Hidden)
		m.Experts.DownBias = w.vector(path+"experts.down_proj_bias", 0, x.Experts, c.Width)
	}
	if x.Shared > 0 {
		m.Shared = c.mlp(w, rename(c.names(), path+"shared_expert")+".", x.Shared, deviation, residual)
	}
	if x.SharedGate {
		m.Gate = w.linear(path+"shared_expert_gate", c.Width, 1, false, deviation)
	}
	return m
}

func (c Config) mlp(w weights, path string, hidden int, deviation, residual float64) *nn.MLP {
	m := &nn.MLP{}
	act := activations[c.Act].Apply
	switch {
	case c.Act == xielu:
		number := func(name string, x float64, shape ...int) tensor.Tensor {
			return w.vector(path+"act_fn."+name, x, shape...)
		}
		m.Act = &nn.XIELU{AlphaP: number("alpha_p", 0.2032, 1), AlphaN: number("alpha_n", -1.0502, 1), Beta: number("beta", 0.5), Eps: number("eps", -1e-6)}
	case c.GateScale != 0:
		m.Act = nn.Func{Name: c.Act, Apply: func(x tensor.Tensor) tensor.Tensor { return act(x.Mul(c.GateScale)) }}
	default:
		m.Act = activations[c.Act]
	}
	if c.JoinedMLP {
		m.GateUp = w.linear(path+"gate_up_proj", c.Width, 2*hidden, c.MLPBias, deviation)
	} else {
		if !c.Plain {
			m.Gate = w.linear(path+"gate_proj", c.Width, hidden, c.MLPBias, deviation)
		}
		m.Up = w.linear(path+"up_proj", c.Width, hidden, c.MLPBias, deviation)
	}
	m.Down = w.linear(path+"down_proj", hidden, c.Width, c.MLPBias, residual)
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

func (r *random) embedding(_ string, rows, width int, deviation float64) nn.Layer {
	return nn.NewEmbedding(r.rng, rows, width, deviation)
}

func (r *random) norm(_ string, width int) nn.Layer {
	weight, bias := tensor.Full(1-r.c.NormPlus, width).Param(), tensor.Tensor{}
	if r.c.NormBias {
		bias = tensor.Zeros(width).Param()
	}
	return r.c.norm(weight, bias)
}

func (r *random) vector(_ string, x float64, shape ...int) tensor.Tensor {
	return tensor.Full(x, shape...).Param()
}

func (r *random) conv(_ string, channels, kernel int, bias bool, deviation float64) *nn.Conv {
	c := &nn.Conv{Weight: r.rng.Randn(channels, 1, kernel).Mul(deviation).Param(), Settings: tensor.Conv{Groups: channels}}
	if bias {
		c.Bias = tensor.Zeros(channels).Param()
	}
	return c
}

func (r *random) grouped(_ string, _ []string, groups, in, out int, deviation float64) *nn.Grouped {
	return &nn.Grouped{Weight: r.rng.Randn(groups, in, out).Mul(deviation).Param()}
}

// norm is a norm of the model with these weights.
func (c Config) norm(weight, bias tensor.Tensor) nn.Layer {
	if c.LayerNorm {
		return &nn.LayerNorm{Weight: weight, Bias: bias, Eps: c.Eps, Plus: c.NormPlus}
	}
	return &nn.RMSNorm{Weight: weight, Eps: c.Eps, Plus: c.NormPlus}
}

// renamed makes layers by the names that a family has for them.
type renamed struct {
	weights
	c     Config
	names ggufhub.Pairs
}

func (r renamed) linear(path string, in, out int, bias bool, deviation float64) nn.Layer {
	return r.weights.linear(rename(r.names, path), in, out, bias, deviation)
}

func (r renamed) norm(path string, width int) nn.Layer {
	if r.c.BareNorm {
		return r.c.norm(tensor.Tensor{}, tensor.Tensor{})
	}
	return r.weights.norm(rename(r.names, path), width)
}

// rename gives the last part of a path the name that the family has for it, and the body of a model and the
// list of its layers their own.
func rename(names ggufhub.Pairs, path string) string {
	if rest, ok := strings.CutPrefix(path, "model.layers."); ok && names.Of("layers") != "" {
		path = "model." + names.Of("layers") + "." + rest
	}
	if rest, ok := strings.CutPrefix(path, "model."); ok && names.Of("model") != "" {
		path = names.Of("model") + "." + rest
	}
	dot := strings.LastIndexByte(path, '.') + 1
	return path[:dot] + cmp.Or(names.Of(path[dot:]), path[dot:])
}

// members are a part of a model.
type members []nn.Member

// Members lists them.
func (list members) Members() []nn.Member { return list }

// called is a part of a model whose members have the names of a family.
type called struct {
	nn.Module
	names ggufhub.Pairs
}

// Members lists those of the part.
func (c called) Members() []nn.Member {
	list := c.Module.Members()
	for i, member := range list {
		list[i].Name = rename(c.names, member.Name)
		switch member.Part.(type) {
		case *Block, *nn.Attention, *nn.MLP, *nn.Mixture:
			list[i].Part = called{member.Part, c.names}
		}
	}
	return list
}
