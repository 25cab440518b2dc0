package embed

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// A Config is the shape of an encoder. Only the lengths at its beginning are needed.
type Config struct {
	Family    string // model_type of a config.json; empty means "bert"
	Vocab     int    // tokens; 256 for bytes
	Layers    int
	Width     int // of a token's vector
	Heads     int
	Hidden    int // width inside of the feed-forward layers; 0 means 4·Width
	Positions int // rows of the table of positions; 0 means 512 and those that the family leaves out
	Types     int // rows of the table of kinds of text; 0 means 2 if the family has them

	Rope      nn.Rope // rotary positions, of the families that have them
	LocalRope nn.Rope // of the layers with a window; the zero value: Rope
	Window    int     // how near tokens see each other in the layers of Local: at most Window − 1 apart; 0: all
	Local     []bool  // which layers have the window; nil: all but each third, as in ModernBERT, if there is one

	AttnBias, MLPBias, NormBias bool // layers add biases (ModernBERT's may; the other families say it themselves)

	Act   string     // "gelu", "gelu_tanh", "relu" or "silu"; empty means gelu
	Eps   float64    // of the norms; 0 means 1e-12
	Pad   int        // the token of padding. Families that count positions from it begin at Pad + 1
	DType dtype.Type // of the matrices, F32, BF16 or F16; Invalid means F32. All else is computed in f32
	Seed  uint64
}

// A family says how an encoder's folder differs from BERT's.
type family struct {
	prefix   string // of the names, in the folder of a model with a head
	words    string // the name of the table of tokens
	norm     string // of the norm of what the tables give
	layer    string // of a block, with its number
	q, k, v  string
	qkv      string // in place of these three, side by side in one layer
	out      string
	seen     string // the norm of attention
	gate     string
	up, down string
	gateUp   string // in place of gate and up
	upFirst  bool   // as GTE has it: up comes first there, and without biases
	after    string // the norm of the feed-forward layer
	last     string // the norm after all blocks
	before   bool   // norms come before attention and feed-forward layer, not after the sum; the first block has none
	rotary   bool   // positions turn queries and keys, and have no table
	bare     bool   // layers without biases, unless Config says so; norms too, with before
	types    bool   // there is a table of kinds of text
	padded   bool   // positions begin after Pad
	buckets  int    // relative positions have so many kinds (MPNet); 0: there are none
	head     head   // of one number, for a text or two
	// read takes from config.json what no other family has.
	read func(s *pretrained.Settings, c *Config)
	// keys are names in config.json, where they differ.
	keys map[string]string
}

var bert = family{
	prefix: "bert.", words: "embeddings.word_embeddings", norm: "embeddings.LayerNorm", layer: "encoder.layer.%d.", q: "attention.self.query", k: "attention.self.key", v: "attention.self.value",
	out: "attention.output.dense", seen: "attention.output.LayerNorm", up: "intermediate.dense", down: "output.dense",
	after: "output.LayerNorm", types: true, head: head{dense: "pooler.dense", act: "tanh", out: "classifier", inside: true},
}

// ofRoberta is the head of RoBERTa and MPNet.
var ofRoberta = head{dense: "classifier.dense", act: "tanh", out: "classifier.out_proj"}

// A head is a layer with an activation, perhaps a norm, and a layer of a column for each label.
type head struct {
	dense, act, norm, out string
	inside                bool // dense has the family's prefix
}

// families are the encoders by model_type.
var families = sync.OnceValue(func() map[string]family {
	return map[string]family{
		"bert":        bert,
		"roberta":     roberta(),
		"xlm-roberta": roberta(),
		"camembert":   roberta(),
		"mpnet": {
			prefix: "mpnet.", words: bert.words, norm: bert.norm, layer: "encoder.layer.%d.", q: "attention.attn.q", k: "attention.attn.k", v: "attention.attn.v",
			out: "attention.attn.o", seen: "attention.LayerNorm", up: "intermediate.dense", down: "output.dense",
			after: "output.LayerNorm", padded: true, buckets: 32, head: ofRoberta,
		},
		"distilbert": {
			prefix: "distilbert.", words: bert.words, norm: bert.norm, layer: "transformer.layer.%d.", q: "attention.q_lin", k: "attention.k_lin", v: "attention.v_lin",
			out: "attention.out_lin", seen: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", after: "output_layer_norm",
			head: head{dense: "pre_classifier", act: "relu", out: "classifier"},
			keys: map[string]string{"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
				"intermediate_size": "hidden_dim", "hidden_act": "activation"},
		},
		"modernbert": {
			prefix: "model.", words: "embeddings.tok_embeddings", norm: "embeddings.norm", layer: "layers.%d.", qkv: "attn.Wqkv", out: "attn.Wo",
			seen: "attn_norm", gateUp: "mlp.Wi", down: "mlp.Wo", after: "mlp_norm", last: "final_norm", before: true, rotary: true, bare: true,
			head: head{dense: "head.dense", norm: "head.norm", out: "classifier"},
			keys: map[string]string{"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"},
			read: modernBERT,
		},
		"nomic_bert": {
			prefix: "nomic_bert.", words: bert.words, norm: "emb_ln", layer: "encoder.layers.%d.", qkv: "attn.Wqkv", out: "attn.out_proj", seen: "norm1",
			gate: "mlp.fc12", up: "mlp.fc11", down: "mlp.fc2", after: "norm2", types: true, rotary: true, bare: true, head: bert.head,
			read: nomicBERT,
		},
		"gte": gte("gte.", turning(160000, 1e-12)),
		"new": gte("new.", newGTE),
		"jina_embeddings_v3": {
			prefix: "roberta.", words: bert.words, norm: "emb_ln", layer: "encoder.layers.%d.", qkv: "mixer.Wqkv", out: "mixer.out_proj", seen: "norm1",
			up: "mlp.fc1", down: "mlp.fc2", after: "norm2", types: true, rotary: true, head: ofRoberta, read: turning(20000, 1e-5),
		},
	}
})

// gte are the names of GTE, in the folders of transformers and in those of the hub.
func gte(prefix string, read func(s *pretrained.Settings, c *Config)) family {
	return family{
		prefix: prefix, words: bert.words, norm: bert.norm, layer: "encoder.layer.%d.", qkv: "attention.qkv_proj", out: "attention.o_proj", seen: "attn_ln",
		gateUp: "mlp.up_gate_proj", upFirst: true, down: "mlp.down_proj", after: "mlp_ln", types: true, rotary: true, head: bert.head, read: read,
	}
}

// newGTE reads what Alibaba-NLP's own folders say (its new-impl, 2024), and refuses what no model of theirs
// has. With a scaling by f the rates are those of θ·f, divided by f^(2/d) (Su 2023, kexue.fm/archives/9706).
func newGTE(s *pretrained.Settings, c *Config) {
	turning(10000, 1e-12)(s, c)
	s.OneOf("layer_norm_type", "layer_norm", "layer_norm")
	s.OneOf("position_embedding_type", "rope", "rope")
	s.Not("logn_attention_scale")
	if !s.Bool("pack_qkv", true) {
		s.Fail("pack_qkv", "got false, want true")
	}
	if o := s.Object("rope_scaling"); o != nil && c.Heads > 0 {
		o.OneOf("type", "", "ntk")
		if b := o.Number("mixed_b", 0); b != 0 {
			o.Fail("mixed_b", "got %v, want null", b)
		}
		if f := o.Number("factor", 1); f > 1 {
			c.Rope.Base *= f
			c.Rope.Scaling = nn.RopeScaling{Kind: "linear", Factor: math.Pow(f, 2*float64(c.Heads)/float64(c.Width))}
		}
	}
}

// turning reads what BERTs with rotary positions have otherwise: θ, the norms' ε, and perhaps no kinds of
// text.
func turning(theta, eps float64) func(s *pretrained.Settings, c *Config) {
	return func(s *pretrained.Settings, c *Config) {
		c.Rope.Base = rope(s.Object("rope_parameters"), s.Number("rope_theta", s.Number("rotary_emb_base", theta)))
		c.Eps = s.Number("layer_norm_eps", eps)
		c.Types = cmp.Or(s.Int("type_vocab_size", 1), -1)
	}
}

// ofGPT2 are the names of settings in the first folders of Nomic BERT.
var ofGPT2 = map[string]string{
	"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head", "intermediate_size": "n_inner",
	"hidden_act": "activation_function", "layer_norm_eps": "layer_norm_epsilon", "max_position_embeddings": "n_positions",
}

// modernBERT reads windows, the rotary positions of both kinds of layer, and which biases there are.
func modernBERT(s *pretrained.Settings, c *Config) {
	c.Eps = s.Number("norm_eps", 1e-5)
	c.AttnBias, c.MLPBias, c.NormBias = s.Bool("attention_bias", false), s.Bool("mlp_bias", false), s.Bool("norm_bias", false)
	c.Window = s.Int("local_attention", 128)/2 + 1
	all := s.Object("rope_parameters")
	for kind, of := range map[string]struct {
		rope  *nn.Rope
		key   string
		theta float64
	}{"full_attention": {&c.Rope, "global_rope_theta", 160000}, "sliding_attention": {&c.LocalRope, "local_rope_theta", 10000}} {
		of.rope.Base = s.Number(of.key, of.theta)
		if all != nil && all.Has(kind) {
			of.rope.Base = rope(all.Object(kind), of.rope.Base)
		}
	}
	every, kinds := s.Int("global_attn_every_n_layers", 3), s.Texts("layer_types")
	if c.Layers < 1 || c.Layers > 1<<16 || every < 1 || kinds != nil && len(kinds) != c.Layers {
		s.Fail("layer_types", "got %d layers of %d kinds, a window in all but each %d, want a kind for each", c.Layers, len(kinds), every)
		return
	}
	c.Local = make([]bool, c.Layers)
	for i := range c.Local {
		if c.Local[i] = i%every != 0; kinds != nil {
			c.Local[i] = kinds[i] == "sliding_attention"
		}
	}
}

// nomicBERT reads rotary positions, and refuses what other models of the first code had.
func nomicBERT(s *pretrained.Settings, c *Config) {
	c.Rope.Base = rope(s.Object("rope_parameters"), s.Number("rotary_emb_base", 1000))
	for _, key := range []string{"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved", "use_rms_norm", "parallel_block"} {
		s.Not(key)
	}
	for key, want := range map[string]float64{"rotary_emb_fraction": 1, "rotary_scaling_factor": 0, "num_experts": 0} {
		if got := s.Number(key, want); got != want {
			s.Fail(key, "got %v, want %v", got, want)
		}
	}
	if d := s.Int("head_dim", 0); d != 0 && d*c.Heads != c.Width {
		s.Fail("head_dim", "got %d, want %d heads to be %d wide", d, c.Heads, c.Width)
	}
}

// rope reads θ of rotary positions that are not scaled.
func rope(o *pretrained.Settings, other float64) float64 {
	if o == nil {
		return other
	}
	o.OneOf("rope_type", "default", "default")
	return o.Number("rope_theta", other)
}

func roberta() family {
	f := bert
	f.prefix, f.padded, f.head = "roberta.", true, ofRoberta
	return f
}

// first is the position of the first token.
func (c Config) first() int {
	if families()[c.Family].padded {
		return c.Pad + 1
	}
	return 0
}

func (c Config) withDefaults() Config {
	c.Family = cmp.Or(c.Family, "bert")
	c.Hidden = cmp.Or(c.Hidden, 4*c.Width)
	c.Positions = cmp.Or(c.Positions, 512+c.first())
	if c.Types == 0 && families()[c.Family].types {
		c.Types = 2
	}
	c.Act = cmp.Or(c.Act, "gelu")
	c.Eps = cmp.Or(c.Eps, 1e-12)
	if c.Window > 0 && c.Local == nil && c.Layers > 0 && c.Layers < 1<<16 {
		c.Local = make([]bool, c.Layers)
		for i := range c.Local {
			c.Local[i] = i%3 != 0
		}
	}
	return c
}

// activations are the functions of the feed-forward layers by their names in Config.
var activations = map[string]nn.Func{"gelu": nn.GELU(), "gelu_tanh": nn.GELUTanh(), "relu": nn.ReLU(), "silu": nn.SiLU()}

// check says what no encoder can have. The defaults are filled in.
func (c Config) check() error {
	const most = 1 << 31 // of any length: products of two lengths stay far below 2⁶³
	_, known := families()[c.Family]
	_, act := activations[c.Act]
	for _, n := range []struct {
		name string
		got  int
	}{{"vocab", c.Vocab}, {"layers", c.Layers}, {"width", c.Width}, {"heads", c.Heads}, {"hidden", c.Hidden}} {
		if n.got < 1 || n.got > most {
			return fmt.Errorf("got %s %d, want 1 to %d", n.name, n.got, most)
		}
	}
	switch {
	case !known:
		return fmt.Errorf("got family %q, want one of %s", c.Family, strings.Join(slices.Sorted(maps.Keys(families())), ", "))
	case c.Width%c.Heads != 0:
		return fmt.Errorf("got width %d and %d heads, want a multiple", c.Width, c.Heads)
	case families()[c.Family].types != (c.Types != 0) || c.Types < -1 || c.Types > most:
		return fmt.Errorf("got %d kinds of text for %s", c.Types, c.Family)
	case c.Pad < 0 || c.Pad >= most || c.Positions <= c.first() || c.Positions > most:
		return fmt.Errorf("got %d positions, of which the first is %d", c.Positions, c.first())
	case c.Window < 0 || c.Window > most || c.Window > 0 && len(c.Local) != c.Layers:
		return fmt.Errorf("got a window of %d and %d kinds of layers, want one for each of %d", c.Window, len(c.Local), c.Layers)
	case !families()[c.Family].rotary && (c.Window > 0 || c.Rope.Base != 0):
		return fmt.Errorf("got rotary positions or a window for %s, want a family that has them", c.Family)
	case !act:
		return fmt.Errorf("got activation %q, want gelu, gelu_tanh, relu or silu", c.Act)
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 0):
		return fmt.Errorf("got eps %v, want a finite number of at least 0", c.Eps)
	case c.DType != dtype.Invalid && c.DType != dtype.F32 && c.DType != dtype.BF16 && c.DType != dtype.F16:
		return fmt.Errorf("got dtype %v, want f32, bf16 or f16", c.DType)
	}
	if !families()[c.Family].rotary {
		return nil
	}
	return cmp.Or(c.Rope.Check(c.Width/c.Heads), c.LocalRope.Check(c.Width/c.Heads))
}

// attention has no layers yet: how those of a block see.
func (c Config) attention(layer int) *nn.Attention {
	a := &nn.Attention{Heads: c.Heads, KVHeads: c.Heads, Rope: c.Rope, NoRope: !families()[c.Family].rotary}
	if c.Window > 0 && c.Local[layer] {
		a.Window = c.Window
		if c.LocalRope.Base != 0 {
			a.Rope = c.LocalRope
		}
	}
	return a
}

// parseConfig reads the config.json of an encoder.
func parseConfig(s *pretrained.Settings) (Config, error) {
	name := s.Text("model_type", "")
	if ofJina(s) {
		name = "jina_embeddings_v3"
	}
	f, ok := families()[name]
	if !ok {
		s.Fail("model_type", "got %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(families())), ", "))
		return Config{}, s.Err()
	}
	s.NoCodes()
	key := func(name string) string {
		if other, ok := f.keys[name]; ok {
			return other
		}
		if other, ok := ofGPT2[name]; ok && f.rotary && s.Has("n_embd") {
			return other
		}
		return name
	}
	if name != "new" && !ofJina(s) {
		s.OneOf("position_embedding_type", "absolute", "absolute")
	}
	s.Not("is_decoder")
	s.Not("add_cross_attention")
	names := map[string]string{"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
	act := "gelu"
	if f.gate != "" {
		names["swiglu"], act = "silu", "silu"
	}
	c := Config{
		Family: name, Vocab: s.Need("vocab_size"), Layers: s.Need(key("num_hidden_layers")), Width: s.Need(key("hidden_size")),
		Heads: s.Need(key("num_attention_heads")), Hidden: s.Need(key("intermediate_size")), Positions: s.Int(key("max_position_embeddings"), 512),
		Eps: s.Number(key("layer_norm_eps"), 1e-12), Act: names[s.OneOf(key("hidden_act"), act, slices.Sorted(maps.Keys(names))...)], DType: s.DType(),
	}
	if f.types {
		c.Types = s.Int("type_vocab_size", 2)
	}
	if f.padded {
		c.Pad = 1
	}
	if f.padded && f.buckets == 0 { // MPNet's is 1 whatever its settings say
		c.Pad = s.Int("pad_token_id", 1)
	}
	if f.buckets > 0 {
		if n := s.Int("relative_attention_num_buckets", f.buckets); n != f.buckets {
			s.Fail("relative_attention_num_buckets", "got %d, want %d", n, f.buckets)
		}
	}
	if f.read != nil && s.Err() == nil {
		f.read(s, &c)
	}
	if s.Err() == nil {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			s.Fail("", "%v", err)
		}
	}
	return c, s.Err()
}
