package llm

import (
	"cmp"
	"maps"
	"math"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Global says how the attention of layers without a window differs from that of the others (Gemma 4).
type Global struct {
	HeadDim int  // width of a head; 0: Config.HeadDim
	KVHeads int  // heads of keys; 0: Config.KVHeads
	SameKV  bool // values are what keys are made of
}

// heads are the heads of keys of a layer, and the width of all its heads.
func (c Config) heads(layer int) (kv, width int) {
	if c.local(layer) {
		return c.KVHeads, c.HeadDim
	}
	return cmp.Or(c.Global.KVHeads, c.KVHeads), cmp.Or(c.Global.HeadDim, c.HeadDim)
}

// lender is the layer whose keys and values a layer looks at: itself, but for the last LentKV layers, which
// look at those of the last layer before them that has a window, or has none, as they do; −1: there is none.
func (c Config) lender(layer int) int {
	first := c.Layers - c.LentKV
	for i := min(layer, first-1); layer >= first && i >= 0; i-- {
		if c.local(i) == c.local(layer) {
			return i
		}
	}
	if layer >= first {
		return -1
	}
	return layer
}

// needy says whether a layer without keys has no other one to look at.
func (c Config) needy() bool {
	for i := c.Layers - c.LentKV; i < c.Layers; i++ {
		if c.lender(i) < 0 {
			return true
		}
	}
	return false
}

// lends says whether another layer looks at a layer's keys and values.
func (c Config) lends(layer int) bool {
	for i := c.Layers - c.LentKV; i < c.Layers; i++ {
		if i != layer && c.lender(i) == layer {
			return true
		}
	}
	return false
}

// An Inputs makes a vector for each token and layer, of the token and of the vector that the first layer
// gets (Gemma 4).
type Inputs struct {
	Embed, Proj nn.Layer // tokens and vectors to Layers·Width numbers
	Norm        nn.Layer // of those of each layer
	Layers      int
	Width       int // of a vector
}

// Forward maps tokens [B T] and their vectors x [B T width] to [B T Layers Width].
func (n *Inputs) Forward(ids, x tensor.Tensor) tensor.Tensor {
	each := func(y tensor.Tensor) tensor.Tensor { return y.Reshape(x.Len(0), x.Len(1), n.Layers, n.Width) }
	seen := n.Norm.Forward(each(n.Proj.Forward(x).Div(math.Sqrt(float64(x.Len(2))))))
	return seen.Add(each(n.Embed.Forward(ids).Cast(x.DType())).Mul(math.Sqrt(float64(n.Width)))).Div(math.Sqrt2)
}

// An Input adds to a layer's result what the layer's own vector of each token says.
type Input struct {
	Gate, Proj nn.Layer // from the model's width to the vector's, and back
	Norm       nn.Layer
	Act        nn.Func
	own        tensor.Tensor // [B T Width] in one pass
}

// Forward adds it to x [B T width].
func (n *Input) Forward(x tensor.Tensor) tensor.Tensor {
	gate := n.Act.Forward(n.Gate.Forward(x))
	return x.Add(n.Norm.Forward(n.Proj.Forward(gate.Mul(n.own))))
}

// A pass is tokens on their way through the blocks, with what layers give to later ones.
type pass struct {
	m      *Model
	inputs tensor.Tensor // [B T Layers Width]; none
	lent   map[bool]*nn.Shared
}

// pass begins one of tokens that have become vectors x.
func (m *Model) pass(ids, x tensor.Tensor) *pass {
	p := &pass{m: m, lent: map[bool]*nn.Shared{true: {}, false: {}}}
	if m.Inputs != nil {
		p.inputs = m.Inputs.Forward(ids, x)
	}
	return p
}

// block is a block as it is in this pass.
func (p *pass) block(i int) *Block {
	b, c := *p.m.Blocks[i], p.m.Config
	if c.LentKV > 0 {
		attn := *b.Attn
		attn.Shared = p.lent[c.local(i)]
		b.Attn = &attn
	}
	if b.Input != nil {
		input := *b.Input
		input.own = p.inputs.Select(2, i)
		b.Input = &input
	}
	return &b
}

// gemma4File says what files of both kinds of Gemma 4 are like.
func gemma4File(kind string) ggufhub.Family {
	return ggufhub.Family{Type: kind, Theta: 1e6, Architecture: "gemma4", Layers: true, Gemma: true, Global: true, Fused: true, Keys: ggufhub.Pairs{
		{"attention.shared_kv_layers", "num_kv_shared_layers"}, {"embedding_length_per_layer_input", "hidden_size_per_layer_input"},
		{"expert_count", "num_experts"}, {"expert_used_count", "top_k_experts"},
	}}
}

// Gemma 4, its model of text.
var gemma4 = family{
	Family: gemma4File("gemma4_text"),
	class:  "Gemma4ForCausalLM",
	joined: true,
	kinds:  true,
	read: func(s settings, c *Config) {
		gemma4Unified.read(s, c)
		c.Inputs = s.Int("hidden_size_per_layer_input", 256)
		if n := s.Int("vocab_size_per_layer_input", 262144); c.Inputs > 0 && n != c.Vocab {
			s.Fail("vocab_size_per_layer_input", "got %d, want vocab_size, %d", n, c.Vocab)
		}
		if s.Bool("enable_moe_block", false) {
			c.Mixture = Mixture{Experts: s.Need("num_experts"), TopK: s.Need("top_k_experts"), Hidden: s.Need("moe_intermediate_size"), Normalise: true, Beside: true, Apart: true}
		}
	},
}

// Gemma 4 that encodes pictures and sound by itself, its model of text.
var gemma4Unified = family{
	Family: gemma4File("gemma4_unified_text"),
	class:  "Gemma4UnifiedForCausalLM",
	kinds:  true,
	read: func(s settings, c *Config) {
		gemma(s, c)
		c.NormPlus, c.Scale, c.KVHeads, c.Act = 0, 1, s.Int("num_key_value_heads", 4), s.activation("hidden_activation", "gelu_pytorch_tanh")
		c.Sandwich, c.QKNorm, c.VNorm, c.LayerScale = true, true, true, true
		c.LogitCap = s.Number("final_logit_softcapping", 0)
		c.Window = s.Int("sliding_window", map[bool]int{true: 512, false: 1024}[s.family.Type == "gemma4_text"])
		c.Local = s.windows(c.Layers, func(i int) bool { return (i+1)%6 != 0 && i < c.Layers-1 })
		if text := s.Text("use_bidirectional_attention", "vision"); text != "vision" { // pictures
			s.Fail("use_bidirectional_attention", "got %q, want vision or null", text)
		}
		c.LentKV, c.LentWide = s.Int("num_kv_shared_layers", 0), s.Bool("use_double_wide_mlp", false)
		s.global(c)
		if s.Object("rope_parameters") == nil {
			c.LocalRope = nn.Rope{Base: 10000}
			c.Rope = nn.Rope{Base: s.family.Theta, Rotary: c.Global.HeadDim / 8 * 2, Scaling: nn.RopeScaling{Kind: "proportional", Factor: 1}}
		}
	},
}

// global reads what layers without a window have otherwise: from two settings, or from those of each layer,
// as transformers writes them since 5.20.
func (s settings) global(c *Config) {
	g := &c.Global
	g.HeadDim, g.SameKV = s.Int("global_head_dim", 512), s.Bool("attention_k_eq_v", false)
	if g.SameKV {
		g.KVHeads = s.Int("num_global_key_value_heads", 0)
	}
	each := s.Object("per_layer_config")
	if each == nil || c.Layers < 1 || c.Layers > 1<<20 {
		return
	}
	kinds := map[bool]Global{true: {HeadDim: c.HeadDim, SameKV: g.SameKV}}
	for i := range c.Layers {
		o, local := each.Object(strconv.Itoa(i)), c.Local == nil || c.Local[i]
		if o == nil {
			o = s.None()
		}
		own := Global{o.Int("head_dim", c.HeadDim), o.Int("num_key_value_heads", 0), g.SameKV}
		if others, ok := kinds[local]; ok && own != others {
			s.Fail("per_layer_config", "got other heads in layer %d than in others of its kind", i)
		}
		kinds[local] = own
	}
	*g = kinds[false]
}

// gemma4Keys are the settings of what only Gemma 4 has.
func (c Config) gemma4Keys(k map[string]any) {
	maps.Copy(k, map[string]any{
		"global_head_dim": cmp.Or(c.Global.HeadDim, c.HeadDim), "num_global_key_value_heads": nil, "attention_k_eq_v": c.Global.SameKV,
		"hidden_size_per_layer_input": c.Inputs, "vocab_size_per_layer_input": c.Vocab, "num_kv_shared_layers": c.LentKV, "use_double_wide_mlp": c.LentWide,
		"enable_moe_block": c.Mixture.Experts > 0, "top_k_experts": c.Mixture.TopK,
	})
	if c.Global.SameKV {
		k["num_global_key_value_heads"] = cmp.Or(c.Global.KVHeads, c.KVHeads)
	}
}

// kindsOfRopes is rope_parameters with an object for each kind of layer.
func (c Config) kindsOfRopes() map[string]any {
	global, local := ropeKeys(c.Rope.Scaling), ropeKeys(c.localRope().Scaling)
	global["rope_theta"], local["rope_theta"] = c.Rope.Base, c.localRope().Base
	if c.Rope.Rotary > 0 {
		global["partial_rotary_factor"] = float64(c.Rope.Rotary) / float64(cmp.Or(c.Global.HeadDim, c.HeadDim))
	}
	return map[string]any{"full_attention": global, "sliding_attention": local}
}
