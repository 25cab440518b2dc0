package llm

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// families say what a config.json of their model_type means, beyond what all have in common. Defaults are
// those of transformers' classes.
var families = map[string]func(s *settings, c *Config){
	"llama": func(s *settings, c *Config) {
		c.QKVBias = s.bool("attention_bias", false)
		c.OutBias = c.QKVBias
		c.MLPBias = s.bool("mlp_bias", false)
	},
	"mistral": func(s *settings, c *Config) {
		c.KVHeads = s.int("num_key_value_heads", 8)
		c.Window = s.int("sliding_window", 0)
	},
	"qwen2": func(s *settings, c *Config) {
		c.QKVBias = true
		qwenWindow(s, c)
	},
	"qwen3": func(s *settings, c *Config) {
		c.QKNorm = true
		c.HeadDim = s.int("head_dim", 128)
		c.QKVBias = s.bool("attention_bias", false)
		c.OutBias = c.QKVBias
		qwenWindow(s, c)
	},
	"gemma2": func(s *settings, c *Config) {
		gemma(s, c)
		c.ScoreCap, c.LogitCap = s.number("attn_logit_softcapping", 0), s.number("final_logit_softcapping", 0)
		c.Local = s.layers(c.Layers, func(i int) bool { return (i+1)%2 != 0 })
	},
	"gemma3_text": func(s *settings, c *Config) {
		gemma(s, c)
		c.QKNorm = true
		c.LogitCap = s.number("final_logit_softcapping", 0)
		c.ScoreCap = s.number("attn_logit_softcapping", 0)
		pattern := s.int("sliding_window_pattern", 6)
		if pattern < 1 {
			s.fail("sliding_window_pattern", "got %d, want a positive number", pattern)
			return
		}
		c.Local = s.layers(c.Layers, func(i int) bool { return (i+1)%pattern != 0 })
		if s.object("rope_parameters") == nil {
			c.Rope = s.rope(c, s.object("rope_scaling"), s.number("rope_theta", 1e6))
			c.LocalRope = nn.Rope{Base: s.number("rope_local_base_freq", 10000)}
		}
	},
	"phi3": func(s *settings, c *Config) {
		c.Joined = true
		c.Window = s.int("sliding_window", 0)
	},
}

// qwenWindow reads the windows of Qwen's models, which only the upper layers have, if any.
func qwenWindow(s *settings, c *Config) {
	if !s.bool("use_sliding_window", false) {
		return
	}
	c.Window = s.int("sliding_window", 4096)
	first := s.int("max_window_layers", 28)
	c.Local = s.layers(c.Layers, func(i int) bool { return i >= first })
}

func gemma(s *settings, c *Config) {
	s.not("use_bidirectional_attention")
	c.HeadDim = s.int("head_dim", 256)
	c.KVHeads = s.int("num_key_value_heads", 4)
	c.Untied = !s.bool("tie_word_embeddings", true)
	c.QKVBias = s.bool("attention_bias", false)
	c.OutBias = c.QKVBias
	c.Sandwich, c.NormPlus = true, 1
	c.EmbedScale = math.Sqrt(float64(max(1, c.Width)))
	c.Act = s.activation("hidden_activation", "gelu_pytorch_tanh")
	c.Window = s.int("sliding_window", 4096)
	if scalar := s.number("query_pre_attn_scalar", 256); scalar > 0 {
		c.Scale = 1 / math.Sqrt(scalar)
	} else {
		s.fail("query_pre_attn_scalar", "got %v, want a positive number", scalar)
	}
}

// layers reads which layers have a window: layer_types, or what other says where there is none.
func (s *settings) layers(n int, other func(i int) bool) []bool {
	kinds := s.texts("layer_types")
	if n < 1 || n > 1<<20 || *s.err != nil {
		return nil // refused by the check of all lengths
	}
	if kinds != nil && len(kinds) != n {
		s.fail("layer_types", "got %d layers, want %d", len(kinds), n)
		return nil
	}
	local := make([]bool, n)
	for i := range local {
		if kinds == nil {
			local[i] = other(i)
			continue
		}
		switch kinds[i] {
		case "sliding_attention":
			local[i] = true
		case "full_attention":
		default:
			s.fail("layer_types", "got %q, want full_attention or sliding_attention", kinds[i])
			return nil
		}
	}
	if !slices.Contains(local, false) {
		return nil // all of them, which Config says so
	}
	return local
}

// activation translates the name of an activation.
func (s *settings) activation(key, other string) string {
	names := map[string]string{"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "gelu": "gelu"}
	return names[s.oneOf(key, other, slices.Sorted(maps.Keys(names))...)]
}

// parseConfig reads the text of a config.json.
func parseConfig(file string, text []byte) (Config, error) {
	s, err := parseSettings(file, text)
	if err != nil {
		return Config{}, err
	}
	c := s.config()
	if *s.err == nil {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			s.fail("", "%v", err)
		}
	}
	return c, *s.err
}

func (s *settings) config() Config {
	family := s.text("model_type", "")
	known, ok := families[family]
	if !ok {
		s.fail("model_type", "got %q, want one of %s", family, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
		return Config{}
	}
	if q := s.object("quantization_config"); q != nil {
		s.fail("quantization_config", "weights in codes of %q are not read", q.text("quant_method", "?"))
	}
	c := Config{
		Family: family, Vocab: s.need("vocab_size"), Layers: s.need("num_hidden_layers"), Width: s.need("hidden_size"),
		Heads: s.need("num_attention_heads"), KVHeads: s.int("num_key_value_heads", 0), HeadDim: s.int("head_dim", 0),
		Hidden: s.need("intermediate_size"), Context: s.int("max_position_embeddings", 0),
		Untied: !s.bool("tie_word_embeddings", false), Eps: s.number("rms_norm_eps", 1e-6),
	}
	if s.has("hidden_act") {
		c.Act = s.activation("hidden_act", "silu")
	}
	known(s, &c)
	c = c.withDefaults()
	s.ropes(&c)
	c.DType = s.dtype()
	return c
}

// dtype is the type in which the folder says that its matrices are.
func (s *settings) dtype() dtype.Type {
	name := s.text("dtype", s.text("torch_dtype", "float32"))
	types := map[string]dtype.Type{"float32": dtype.F32, "bfloat16": dtype.BF16, "float16": dtype.F16}
	if _, ok := types[name]; !ok {
		s.fail("dtype", "got %q, want float32, bfloat16 or float16", name)
	}
	return types[name]
}

// ropes reads rotary positions in today's form, rope_parameters, which may have an object for each kind of
// layer, or in the older one, rope_theta and rope_scaling.
func (s *settings) ropes(c *Config) {
	theta := s.number("rope_theta", 10000)
	all := s.object("rope_parameters")
	switch {
	case all == nil && c.LocalRope.Base != 0: // the family has read them
	case all == nil:
		c.Rope = s.rope(c, s.object("rope_scaling"), theta)
	case all.has("full_attention"):
		c.Rope = s.rope(c, all.object("full_attention"), theta)
		if all.has("sliding_attention") {
			c.LocalRope = s.rope(c, all.object("sliding_attention"), theta)
		}
	default:
		c.Rope = s.rope(c, all, theta)
	}
}

// rope reads an object of rotary positions; nil: there is none.
func (s *settings) rope(c *Config, o *settings, theta float64) nn.Rope {
	partial := s.number("partial_rotary_factor", 1)
	if o == nil {
		o = &settings{file: s.file, err: s.err}
	}
	r := nn.Rope{Base: o.number("rope_theta", theta)}
	partial = o.number("partial_rotary_factor", partial)
	if !(partial > 0 && partial <= 1) {
		s.fail("partial_rotary_factor", "got %v, want a share of 1", partial)
		return r
	}
	if partial < 1 {
		r.Rotary = int(float64(c.HeadDim) * partial)
	}
	kind := o.text("rope_type", o.text("type", "default"))
	if c.Family == "phi3" && (kind == "su" || kind == "yarn") {
		kind = "longrope"
	}
	if kind == "default" {
		return r
	}
	original := o.int("original_max_position_embeddings", c.Context)
	if s.has("original_max_position_embeddings") {
		original = s.int("original_max_position_embeddings", 0)
	}
	r.Scaling = nn.RopeScaling{
		Kind: kind, Factor: o.number("factor", 0), Context: c.Context, Original: original,
		LowFreq: o.number("low_freq_factor", 0), HighFreq: o.number("high_freq_factor", 0),
		BetaFast: o.number("beta_fast", 0), BetaSlow: o.number("beta_slow", 0), Untruncated: !o.bool("truncate", true),
		Short: o.numbers("short_factor"), Long: o.numbers("long_factor"), Attention: o.number("attention_factor", 0),
	}
	if kind == "yarn" {
		yarnDefaults(o, &r.Scaling)
	}
	return r
}

// yarnDefaults fills in what a configuration of yarn leaves to be worked out.
func yarnDefaults(o *settings, y *nn.RopeScaling) {
	if y.Factor == 0 && y.Original > 0 {
		y.Factor = float64(y.Context) / float64(y.Original)
	}
	m, all := o.number("mscale", 0), o.number("mscale_all_dim", 0)
	if y.Attention == 0 && m != 0 && all != 0 && y.Factor > 1 {
		y.Attention = (0.1*m*math.Log(y.Factor) + 1) / (0.1*all*math.Log(y.Factor) + 1)
	}
}
