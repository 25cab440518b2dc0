package llm

import (
	"cmp"
	"math"
	"strings"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A maker makes the layers of a model. Their weights begin as random numbers, biases of 0 and norms that
// change nothing, which are not computed: those of files take their place, or New has them computed.
type maker struct {
	Config
	rng *tensor.RNG
}

const deviation = 0.02 // of random weights

// expertParts are the layers of an expert in files, by those of a [nn.Experts] which consist of them.
var expertParts = map[string][]string{"gate_up_proj": {"gate_proj", "up_proj"}, "up_proj": {"up_proj"}, "down_proj": {"down_proj"}}

// build makes the model of a Config that was checked, layer by layer in the order of the forward pass.
func build(of Config) *Model {
	m := &Model{Config: of}
	c := &maker{of, tensor.NewRNG(of.Seed)}
	c.Family = cmp.Or(c.family(), "none") // which is not asked again for each layer: it tries all
	m.family, _ = familyOf(c.Family)
	m.names = c.names()
	m.Embed = c.embedding(c.Vocab, c.Width)
	if c.Learned {
		m.Positions = c.embedding(c.Context, c.Width)
	}
	if n := c.Inputs; n > 0 {
		m.Inputs = &Inputs{Layers: c.Layers, Width: n, Embed: c.embedding(c.Vocab, c.Layers*n),
			Proj: c.linear(c.Width, c.Layers*n, false), Norm: c.norm(n)}
	}
	for i := range c.Layers {
		m.Blocks = append(m.Blocks, c.block(i))
	}
	m.Norm = c.norm(c.Width)
	if c.Untied {
		m.Head = c.linear(c.Width, c.Vocab, c.HeadBias)
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

func (c *maker) block(layer int) *Block {
	b := &Block{
		Parallel: c.Parallel, Scale: c.ResidualScale,
		AttnIn: c.AttnIn, RecurrentIn: c.Recurrent.In, AttnScale: c.AttnScale, RecurrentScale: c.Recurrent.Scale, MLPScale: c.MLPScale,
	}
	recurs, feeds := c.recurs(layer), c.feeds(layer)
	if !c.PostNorm && (c.Single == nil || !feeds) {
		b.AttnNorm = c.norm(c.Width)
	}
	if recurs {
		b.Recurrent = c.recurrent()
	}
	if c.attends(layer) {
		b.Attn = c.attention(layer)
	}
	if c.Sandwich || c.PostNorm {
		b.AttnAfter = c.norm(c.Width)
	}
	if !c.PostNorm && (!c.Parallel || c.BothNorms) && feeds {
		b.MLPNorm = c.norm(c.Width)
	}
	hidden := c.Hidden
	if c.LentWide && c.lender(layer) != layer {
		hidden *= 2
	}
	if feeds && (!c.mixes(layer) || c.Mixture.Beside) {
		b.MLP = c.mlp(hidden)
	}
	if c.Mixture.Apart {
		b.Beside = c.norm(c.Width)
	}
	if c.mixes(layer) {
		b.Mixture = c.mixture()
	}
	if c.Sandwich || c.PostNorm {
		b.MLPAfter = c.norm(c.Width)
	}
	if n := c.Inputs; n > 0 {
		b.Input = &Input{Act: activations[c.Act], Gate: c.linear(c.Width, n, false),
			Proj: c.residual(n, c.Width, false), Norm: c.norm(c.Width)}
	}
	if c.LayerScale {
		b.Factor = tensor.Ones(1)
	}
	return b
}

func (c *maker) attention(layer int) *nn.Attention {
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
		c.latent(a)
		q = c.Heads * c.Latent.Value
	} else if c.JoinedQKV {
		a.QKV = c.linear(c.Width, q+2*kv, c.QKVBias)
	} else {
		queries := q
		if c.GatedAttn {
			queries = 2 * q
		}
		a.Q = c.linear(c.Width, queries, c.QKVBias)
		if !lent {
			a.K = c.linear(c.Width, kv, c.QKVBias)
		}
		if !lent && (c.local(layer) || !c.Global.SameKV) {
			a.V = c.linear(c.Width, kv, c.QKVBias)
		}
	}
	if c.VNorm && !lent {
		a.VNorm = nn.Func{Name: "RMSNorm", Apply: func(x tensor.Tensor) tensor.Tensor { return x.RMSNorm(tensor.Tensor{}, c.Eps) }}
	}
	a.O = c.residual(q, c.Width, c.OutBias)
	if c.Sinks {
		a.Sinks = tensor.Zeros(c.Heads)
	}
	switch {
	case c.HeadQKNorm:
		a.WideNorm = true
		of := func(heads int) nn.Layer {
			return &nn.LayerNorm{Weight: tensor.Ones(heads, c.HeadDim), Eps: c.Eps, Groups: heads}
		}
		a.QNorm, a.KNorm = of(c.Heads), of(c.KVHeads)
	case c.WideQKNorm:
		a.QNorm, a.KNorm = c.norm(q), c.norm(kv)
	case c.QKNorm:
		if a.QNorm = c.norm(width); !lent {
			a.KNorm = c.norm(width)
		}
	}
	return a
}

func (c *maker) mixture() *nn.Mixture {
	x := c.Mixture
	m := &nn.Mixture{
		Router:  &nn.Router{TopK: x.TopK, Sigmoid: x.Sigmoid, Normalise: x.Normalise, Scale: x.Scale, Groups: x.Groups, TopGroups: x.TopGroups, Near: x.Near},
		Experts: &nn.Experts{Act: activations[c.Act], Limit: x.Limit},
	}
	if x.Apart {
		m.Router.Logits = c.linear(c.Width, x.Experts, false)
		m.Router.In, m.Router.Each, m.Router.Eps = tensor.Ones(c.Width), tensor.Ones(x.Experts), c.Eps
		m.Narrow, m.Widen = c.norm(c.Width), c.norm(c.Width)
	} else {
		m.Router.Logits = c.linear(c.Width, x.Experts, x.Bias)
	}
	if x.Correction {
		shape := []int{x.Experts}
		if f, _ := familyOf(c.family()); f.statics {
			shape = []int{1, x.Experts}
		}
		m.Router.Correction = tensor.Zeros(shape...)
	}
	grouped := func(in, out int, deviation float64) *nn.Grouped {
		return &nn.Grouped{Weight: c.normal(deviation, x.Experts, in, out)}
	}
	width := cmp.Or(x.Latent, c.Width)
	if x.Latent > 0 {
		m.Narrow = c.linear(c.Width, width, c.MLPBias)
		m.Widen = c.residual(width, c.Width, c.MLPBias)
	}
	if c.Plain {
		m.Experts.Up = grouped(width, x.Hidden, deviation)
	} else {
		m.Experts.GateUp = grouped(width, 2*x.Hidden, deviation)
	}
	m.Experts.Down = grouped(x.Hidden, width, c.least())
	if x.Bias {
		m.Experts.GateUpBias = tensor.Zeros(x.Experts, 2*x.Hidden)
		m.Experts.DownBias = tensor.Zeros(x.Experts, c.Width)
	}
	if x.Shared > 0 {
		m.Shared = c.mlp(x.Shared)
	}
	if x.SharedGate {
		m.Gate = c.linear(c.Width, 1, false)
	}
	return m
}

func (c *maker) mlp(hidden int) *nn.MLP {
	m := &nn.MLP{}
	act := activations[c.Act].Apply
	switch {
	case c.Act == xielu:
		m.Act = &nn.XIELU{AlphaP: tensor.Full(0.2032, 1), AlphaN: tensor.Full(-1.0502, 1), Beta: tensor.Full(0.5), Eps: tensor.Full(-1e-6)}
	case c.GateScale != 0:
		m.Act = nn.Func{Name: c.Act, Apply: func(x tensor.Tensor) tensor.Tensor { return act(x.Mul(c.GateScale)) }}
	default:
		m.Act = activations[c.Act]
	}
	if c.JoinedMLP {
		m.GateUp = c.linear(c.Width, 2*hidden, c.MLPBias)
	} else {
		if !c.Plain {
			m.Gate = c.linear(c.Width, hidden, c.MLPBias)
		}
		m.Up = c.linear(c.Width, hidden, c.MLPBias)
	}
	m.Down = c.residual(hidden, c.Width, c.MLPBias)
	return m
}

func (c *maker) linear(in, out int, bias bool) nn.Layer { return c.matrix(in, out, bias, deviation) }

// residual is linear of a projection that writes into the residual stream.
func (c *maker) residual(in, out int, bias bool) nn.Layer { return c.matrix(in, out, bias, c.least()) }

func (c *maker) least() float64 { return deviation / math.Sqrt(float64(2*c.Layers)) }

func (c *maker) matrix(in, out int, bias bool, deviation float64) nn.Layer {
	l := &nn.Linear{Weight: c.normal(deviation, in, out)}
	if bias {
		l.Bias = tensor.Zeros(out)
	}
	return l
}

func (c *maker) embedding(rows, width int) nn.Layer {
	return &nn.Embedding{Weight: c.normal(deviation, rows, width)}
}

// conv has a kernel for each channel.
func (c *maker) conv(channels, kernel int, bias bool, deviation float64) *nn.Conv {
	l := &nn.Conv{Weight: c.normal(deviation, channels, 1, kernel), Settings: tensor.Conv{Groups: channels}}
	if bias {
		l.Bias = tensor.Zeros(channels)
	}
	return l
}

func (c *maker) normal(deviation float64, shape ...int) tensor.Tensor {
	return c.rng.Randn(shape...).Mul(deviation)
}

func (c *maker) norm(width int) nn.Layer {
	var weight, bias tensor.Tensor
	if !c.BareNorm {
		weight = tensor.Full(1-c.NormPlus, width)
	}
	if c.NormBias {
		bias = tensor.Zeros(width)
	}
	if c.LayerNorm {
		return &nn.LayerNorm{Weight: weight, Bias: bias, Eps: c.Eps, Plus: c.NormPlus}
	}
	return &nn.RMSNorm{Weight: weight, Eps: c.Eps, Plus: c.NormPlus}
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
