package embed

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

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
	Types     int // rows of the table of kinds of text, of which only the first is used; 0 means 2 if the family has them

	Act   string     // "gelu", "gelu_tanh", "relu" or "silu"; empty means gelu
	Eps   float64    // of the norms; 0 means 1e-12
	Pad   int        // the token of padding. Families that count positions from it begin at Pad + 1
	DType dtype.Type // of the matrices, F32, BF16 or F16; Invalid means F32. All else is computed in f32
	Seed  uint64
}

// A family says how an encoder's folder differs from BERT's.
type family struct {
	prefix   string // of the names, in the folder of a model with a head
	layer    string // the name of a block, with its number
	q, k, v  string
	out      string
	seen     string // the norm after attention
	up, down string
	after    string // the norm after the feed-forward layer
	types    bool   // there is a table of kinds of text
	padded   bool   // positions begin after Pad
	buckets  int    // relative positions have so many kinds (MPNet); 0: there are none
	// keys are names in config.json, where they differ.
	keys map[string]string
}

var bert = family{
	prefix: "bert.", layer: "encoder.layer.%d.", q: "attention.self.query", k: "attention.self.key", v: "attention.self.value",
	out: "attention.output.dense", seen: "attention.output.LayerNorm", up: "intermediate.dense", down: "output.dense",
	after: "output.LayerNorm", types: true,
}

// families are the encoders by model_type.
var families = map[string]family{
	"bert":        bert,
	"roberta":     roberta(),
	"xlm-roberta": roberta(),
	"mpnet": {
		prefix: "mpnet.", layer: "encoder.layer.%d.", q: "attention.attn.q", k: "attention.attn.k", v: "attention.attn.v",
		out: "attention.attn.o", seen: "attention.LayerNorm", up: "intermediate.dense", down: "output.dense",
		after: "output.LayerNorm", padded: true, buckets: 32,
	},
	"distilbert": {
		prefix: "distilbert.", layer: "transformer.layer.%d.", q: "attention.q_lin", k: "attention.k_lin", v: "attention.v_lin",
		out: "attention.out_lin", seen: "sa_layer_norm", up: "ffn.lin1", down: "ffn.lin2", after: "output_layer_norm",
		keys: map[string]string{"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
			"intermediate_size": "hidden_dim", "hidden_act": "activation"},
	},
}

func roberta() family {
	f := bert
	f.prefix, f.padded = "roberta.", true
	return f
}

// first is the position of the first token.
func (c Config) first() int {
	if families[c.Family].padded {
		return c.Pad + 1
	}
	return 0
}

func (c Config) withDefaults() Config {
	c.Family = cmp.Or(c.Family, "bert")
	c.Hidden = cmp.Or(c.Hidden, 4*c.Width)
	if c.Positions == 0 {
		c.Positions = 512 + c.first()
	}
	if c.Types == 0 && families[c.Family].types {
		c.Types = 2
	}
	c.Act = cmp.Or(c.Act, "gelu")
	c.Eps = cmp.Or(c.Eps, 1e-12)
	return c
}

// activations are the functions of the feed-forward layers by their names in Config.
var activations = map[string]nn.Func{"gelu": nn.GELU(), "gelu_tanh": nn.GELUTanh(), "relu": nn.ReLU(), "silu": nn.SiLU()}

// check says what no encoder can have. The defaults are filled in.
func (c Config) check() error {
	const most = 1 << 31 // of any length: products of two lengths stay far below 2⁶³
	_, known := families[c.Family]
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
		return fmt.Errorf("got family %q, want one of %s", c.Family, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	case c.Width%c.Heads != 0:
		return fmt.Errorf("got width %d and %d heads, want a multiple", c.Width, c.Heads)
	case families[c.Family].types != (c.Types > 0) || c.Types < 0 || c.Types > most:
		return fmt.Errorf("got %d kinds of text for %s", c.Types, c.Family)
	case c.Pad < 0 || c.Pad >= most || c.Positions <= c.first() || c.Positions > most:
		return fmt.Errorf("got %d positions, of which the first is %d", c.Positions, c.first())
	case !act:
		return fmt.Errorf("got activation %q, want gelu, gelu_tanh, relu or silu", c.Act)
	case !(c.Eps >= 0) || math.IsInf(c.Eps, 0):
		return fmt.Errorf("got eps %v, want a finite number of at least 0", c.Eps)
	case c.DType != dtype.Invalid && c.DType != dtype.F32 && c.DType != dtype.BF16 && c.DType != dtype.F16:
		return fmt.Errorf("got dtype %v, want f32, bf16 or f16", c.DType)
	}
	return nil
}

// parseConfig reads the config.json of an encoder.
func parseConfig(s *pretrained.Settings) (Config, error) {
	name := s.Text("model_type", "")
	f, ok := families[name]
	if !ok {
		s.Fail("model_type", "got %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
		return Config{}, s.Err()
	}
	s.NoCodes()
	key := func(name string) string {
		if other, ok := f.keys[name]; ok {
			return other
		}
		return name
	}
	s.OneOf("position_embedding_type", "absolute", "absolute")
	s.Not("is_decoder")
	s.Not("add_cross_attention")
	names := map[string]string{"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
	c := Config{
		Family: name, Vocab: s.Need("vocab_size"), Layers: s.Need(key("num_hidden_layers")), Width: s.Need(key("hidden_size")),
		Heads: s.Need(key("num_attention_heads")), Hidden: s.Need(key("intermediate_size")), Positions: s.Int("max_position_embeddings", 512),
		Eps: s.Number("layer_norm_eps", 1e-12), Act: names[s.OneOf(key("hidden_act"), "gelu", slices.Sorted(maps.Keys(names))...)], DType: s.DType(),
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
	if s.Err() == nil {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			s.Fail("", "%v", err)
		}
	}
	return c, s.Err()
}
