package llm

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// settings are those of a config.json.
type settings struct{ *pretrained.Settings }

// families say what a config.json of their model_type means, beyond what all have in common. Defaults are
// those of transformers' classes.
var families = map[string]func(s settings, c *Config){
	"llama": func(s settings, c *Config) {
		c.QKVBias = s.Bool("attention_bias", false)
		c.OutBias = c.QKVBias
		c.MLPBias = s.Bool("mlp_bias", false)
	},
	"mistral": func(s settings, c *Config) {
		c.KVHeads = s.Int("num_key_value_heads", 8)
		c.Window = s.Int("sliding_window", 0)
	},
	"qwen2": func(s settings, c *Config) {
		c.QKVBias = true
		qwenWindow(s, c)
	},
	"qwen3": func(s settings, c *Config) {
		c.QKNorm = true
		c.HeadDim = s.Int("head_dim", 128)
		c.QKVBias = s.Bool("attention_bias", false)
		c.OutBias = c.QKVBias
		qwenWindow(s, c)
	},
	"gemma2": func(s settings, c *Config) {
		gemma(s, c)
		c.ScoreCap, c.LogitCap = s.Number("attn_logit_softcapping", 0), s.Number("final_logit_softcapping", 0)
		c.Local = s.layers(c.Layers, func(i int) bool { return (i+1)%2 != 0 })
	},
	"gemma3_text": func(s settings, c *Config) {
		gemma(s, c)
		c.QKNorm = true
		c.LogitCap = s.Number("final_logit_softcapping", 0)
		c.ScoreCap = s.Number("attn_logit_softcapping", 0)
		pattern := s.Int("sliding_window_pattern", 6)
		if pattern < 1 {
			s.Fail("sliding_window_pattern", "got %d, want a positive number", pattern)
			return
		}
		c.Local = s.layers(c.Layers, func(i int) bool { return (i+1)%pattern != 0 })
		if s.Object("rope_parameters") == nil {
			c.Rope = s.rope(c, s.Object("rope_scaling"), s.Number("rope_theta", 1e6))
			c.LocalRope = nn.Rope{Base: s.Number("rope_local_base_freq", 10000)}
		}
	},
	"phi3": func(s settings, c *Config) {
		c.Joined = true
		c.Window = s.Int("sliding_window", 0)
	},
}

// qwenWindow reads the windows of Qwen's models, which only the upper layers have, if any.
func qwenWindow(s settings, c *Config) {
	if !s.Bool("use_sliding_window", false) {
		return
	}
	c.Window = s.Int("sliding_window", 4096)
	first := s.Int("max_window_layers", 28)
	c.Local = s.layers(c.Layers, func(i int) bool { return i >= first })
}

func gemma(s settings, c *Config) {
	s.Not("use_bidirectional_attention")
	c.HeadDim = s.Int("head_dim", 256)
	c.KVHeads = s.Int("num_key_value_heads", 4)
	c.Untied = !s.Bool("tie_word_embeddings", true)
	c.QKVBias = s.Bool("attention_bias", false)
	c.OutBias = c.QKVBias
	c.Sandwich, c.NormPlus = true, 1
	c.EmbedScale = math.Sqrt(float64(max(1, c.Width)))
	c.Act = s.activation("hidden_activation", "gelu_pytorch_tanh")
	c.Window = s.Int("sliding_window", 4096)
	if scalar := s.Number("query_pre_attn_scalar", 256); scalar > 0 {
		c.Scale = 1 / math.Sqrt(scalar)
	} else {
		s.Fail("query_pre_attn_scalar", "got %v, want a positive number", scalar)
	}
}

// layers reads which layers have a window: layer_types, or what other says where there is none.
func (s settings) layers(n int, other func(i int) bool) []bool {
	kinds := s.Texts("layer_types")
	if n < 1 || n > 1<<20 || s.Err() != nil {
		return nil // refused by the check of all lengths
	}
	if kinds != nil && len(kinds) != n {
		s.Fail("layer_types", "got %d layers, want %d", len(kinds), n)
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
			s.Fail("layer_types", "got %q, want full_attention or sliding_attention", kinds[i])
			return nil
		}
	}
	if !slices.Contains(local, false) {
		return nil // all of them, which Config says so
	}
	return local
}

// activation translates the name of an activation.
func (s settings) activation(key, other string) string {
	names := map[string]string{"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "gelu": "gelu"}
	return names[s.OneOf(key, other, slices.Sorted(maps.Keys(names))...)]
}

// parseConfig reads the text of a config.json.
func parseConfig(file string, text []byte) (Config, error) {
	all, err := pretrained.ParseSettings(file, text)
	if err != nil {
		return Config{}, err
	}
	s := settings{all}
	c := s.config()
	if s.Err() == nil {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			s.Fail("", "%v", err)
		}
	}
	return c, s.Err()
}

func (s settings) config() Config {
	family := s.Text("model_type", "")
	known, ok := families[family]
	if !ok {
		s.Fail("model_type", "got %q, want one of %s", family, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
		return Config{}
	}
	if q := s.Object("quantization_config"); q != nil {
		s.Fail("quantization_config", "weights in codes of %q are not read", q.Text("quant_method", "?"))
	}
	c := Config{
		Family: family, Vocab: s.Need("vocab_size"), Layers: s.Need("num_hidden_layers"), Width: s.Need("hidden_size"),
		Heads: s.Need("num_attention_heads"), KVHeads: s.Int("num_key_value_heads", 0), HeadDim: s.Int("head_dim", 0),
		Hidden: s.Need("intermediate_size"), Context: s.Int("max_position_embeddings", 0),
		Untied: !s.Bool("tie_word_embeddings", false), Eps: s.Number("rms_norm_eps", 1e-6),
	}
	if s.Has("hidden_act") {
		c.Act = s.activation("hidden_act", "silu")
	}
	known(s, &c)
	c = c.withDefaults()
	s.ropes(&c)
	c.DType = s.DType()
	return c
}

// ropes reads rotary positions in today's form, rope_parameters, which may have an object for each kind of
// layer, or in the older one, rope_theta and rope_scaling.
func (s settings) ropes(c *Config) {
	theta := s.Number("rope_theta", 10000)
	all := s.Object("rope_parameters")
	switch {
	case all == nil && c.LocalRope.Base != 0: // the family has read them
	case all == nil:
		c.Rope = s.rope(c, s.Object("rope_scaling"), theta)
	case all.Has("full_attention"):
		c.Rope = s.rope(c, all.Object("full_attention"), theta)
		if all.Has("sliding_attention") {
			c.LocalRope = s.rope(c, all.Object("sliding_attention"), theta)
		}
	default:
		c.Rope = s.rope(c, all, theta)
	}
}

// rope reads an object of rotary positions; nil: there is none.
func (s settings) rope(c *Config, o *pretrained.Settings, theta float64) nn.Rope {
	partial := s.Number("partial_rotary_factor", 1)
	if o == nil {
		o = s.None()
	}
	r := nn.Rope{Base: o.Number("rope_theta", theta)}
	partial = o.Number("partial_rotary_factor", partial)
	if !(partial > 0 && partial <= 1) {
		s.Fail("partial_rotary_factor", "got %v, want a share of 1", partial)
		return r
	}
	if partial < 1 {
		r.Rotary = int(float64(c.HeadDim) * partial)
	}
	kind := o.Text("rope_type", o.Text("type", "default"))
	if c.Family == "phi3" && (kind == "su" || kind == "yarn") {
		kind = "longrope"
	}
	if kind == "default" {
		return r
	}
	original := o.Int("original_max_position_embeddings", c.Context)
	if s.Has("original_max_position_embeddings") {
		original = s.Int("original_max_position_embeddings", 0)
	}
	r.Scaling = nn.RopeScaling{
		Kind: kind, Factor: o.Number("factor", 0), Context: c.Context, Original: original,
		LowFreq: o.Number("low_freq_factor", 0), HighFreq: o.Number("high_freq_factor", 0),
		BetaFast: o.Number("beta_fast", 0), BetaSlow: o.Number("beta_slow", 0), Untruncated: !o.Bool("truncate", true),
		Short: o.Numbers("short_factor"), Long: o.Numbers("long_factor"), Attention: o.Number("attention_factor", 0),
	}
	if kind == "yarn" {
		yarnDefaults(o, &r.Scaling)
	}
	return r
}

// yarnDefaults fills in what a configuration of yarn leaves to be worked out.
func yarnDefaults(o *pretrained.Settings, y *nn.RopeScaling) {
	if y.Factor == 0 && y.Original > 0 {
		y.Factor = float64(y.Context) / float64(y.Original)
	}
	m, all := o.Number("mscale", 0), o.Number("mscale_all_dim", 0)
	if y.Attention == 0 && m != 0 && all != 0 && y.Factor > 1 {
		y.Attention = (0.1*m*math.Log(y.Factor) + 1) / (0.1*all*math.Log(y.Factor) + 1)
	}
}
