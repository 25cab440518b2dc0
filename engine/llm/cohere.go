package llm

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
)

// unscaled says in files that rotary positions have no scaling.
var unscaled = map[string]any{"rope.scaling.type": "none"}

// Cohere's Command R.
var cohere = family{
	Family:      ggufhub.Family{Type: "cohere", Architecture: "command-r", Fixed: unscaled, Tells: slices.Concat(biasTells, ggufhub.Pairs{{"use_qk_norm", "blk.0.attn_q_norm.weight"}}), Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "layer_norm_eps"}, {"logit_scale", "logit_scale"}}, Theta: 5e5},
	class:       "CohereForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		parallel(s, c)
		c.QKNorm = s.Bool("use_qk_norm", false)
		c.HeadQKNorm = c.QKNorm
	},
}

// Cohere 2, Command R7B and A, whose layers without a window turn nothing.
var cohere2 = family{
	Family:      ggufhub.Family{Type: "cohere2", Architecture: "cohere2", Fixed: unscaled, Layers: true, Every: 4, Tells: biasTells, Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "layer_norm_eps"}, {"logit_scale", "logit_scale"}}},
	class:       "Cohere2ForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		parallel(s, c)
		c.Window = s.window(4096)
		c.Local = s.windows(c.Layers, s.every("sliding_window_pattern", 4))
		c.NoRope = c.global()
	},
}

// parallel reads what both have in common.
func parallel(s settings, c *Config) {
	s.biases(c, false)
	s.layerNorm(c, "layer_norm_eps", false)
	c.Parallel, c.MLPBias = true, false
	c.HeadScale = s.factor("logit_scale", 0.0625)
	c.Untied = !s.Bool("tie_word_embeddings", true)
}

// StableLM.
var stableLM = family{
	Family: ggufhub.Family{Type: "stablelm", Partial: 0.25, Architecture: "stablelm", Tells: ggufhub.Pairs{{"use_qkv_bias", "blk.0.attn_q.bias"}, {"qk_layernorm", "blk.0.attn_q_norm.weight"}},
		Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "layer_norm_eps"}, {"use_parallel_residual", "use_parallel_residual"}}},
	class: "StableLmForCausalLM",
	names: ggufhub.Pairs{{"q_norm", "q_layernorm"}, {"k_norm", "k_layernorm"}},
	rows:  [2]string{"_layernorm.weight", "_layernorm.norms.%d.weight"},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "layer_norm_eps", true)
		c.QKNorm = s.Bool("qk_layernorm", false)
		c.HeadQKNorm = c.QKNorm
		c.QKVBias, c.Parallel = s.Bool("use_qkv_bias", false), s.Bool("use_parallel_residual", false)
	},
}

// StarCoder 2.
var starCoder2 = family{
	Family: ggufhub.Family{Type: "starcoder2", Architecture: "starcoder2", Tells: ggufhub.Pairs{{"use_bias", "blk.0.attn_q.bias"}},
		Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "norm_epsilon"}}},
	class: "Starcoder2ForCausalLM",
	names: ggufhub.Pairs{{"up_proj", "c_fc"}, {"down_proj", "c_proj"}},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "norm_epsilon", true)
		c.QKVBias = s.Bool("use_bias", true)
		c.OutBias, c.MLPBias = c.QKVBias, c.QKVBias
		c.KVHeads, c.Untied = s.Int("num_key_value_heads", 2), !s.Bool("tie_word_embeddings", true)
		c.Plain, c.Act, c.Window = true, s.activation("hidden_act", "gelu_pytorch_tanh"), s.window(0)
	},
}

// Nemotron 3 and 4, Minitron.
var nemotron = family{
	Family: ggufhub.Family{Type: "nemotron", Partial: 0.5, Architecture: "nemotron", PlusOne: true, Fixed: unscaled, Tells: biasTells,
		Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "norm_eps"}, {"attention.layer_norm_rms_epsilon", "norm_eps"}}},
	class: "NemotronForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		s.layerNorm(c, "norm_eps", true)
		c.NormPlus, c.Plain, c.Act = 1, true, s.activation("hidden_act", "relu2")
	},
}

// Jais 2.
var jais2 = family{
	Family: ggufhub.Family{Type: "jais2", Architecture: "jais2", Tells: biasTells, Keys: ggufhub.Pairs{{"attention.layer_norm_epsilon", "layer_norm_eps"}}},
	class:  "Jais2ForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, true)
		s.layerNorm(c, "layer_norm_eps", true)
		c.Plain, c.Act = true, s.activation("hidden_act", "relu2")
	},
}
