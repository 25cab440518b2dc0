package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// Cohere's Command R.
var cohere = family{
	Family:      ggufhub.Family{Type: "cohere", Theta: 5e5},
	class:       "CohereForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		parallel(s, c)
		s.Not("use_qk_norm")
	},
}

// Cohere 2, Command R7B and A, whose layers without a window turn nothing.
var cohere2 = family{
	Family:      ggufhub.Family{Type: "cohere2"},
	class:       "Cohere2ForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		parallel(s, c)
		c.Window = s.window(4096)
		c.Local = s.layers(c.Layers, s.every("sliding_window_pattern", 4))
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
	Family:  ggufhub.Family{Type: "stablelm"},
	class:   "StableLmForCausalLM",
	partial: 0.25,
	read: func(s settings, c *Config) {
		s.Not("qk_layernorm")
		s.layerNorm(c, "layer_norm_eps", true)
		c.QKVBias, c.Parallel = s.Bool("use_qkv_bias", false), s.Bool("use_parallel_residual", false)
	},
}

// StarCoder 2.
var starCoder2 = family{
	Family: ggufhub.Family{Type: "starcoder2"},
	class:  "Starcoder2ForCausalLM",
	names:  map[string]string{"up_proj": "c_fc", "down_proj": "c_proj"},
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
	Family:  ggufhub.Family{Type: "nemotron"},
	class:   "NemotronForCausalLM",
	partial: 0.5,
	read: func(s settings, c *Config) {
		s.biases(c, false)
		s.layerNorm(c, "norm_eps", true)
		c.NormPlus, c.Plain, c.Act = 1, true, s.activation("hidden_act", "relu2")
	},
}

// Jais 2.
var jais2 = family{
	Family: ggufhub.Family{Type: "jais2"},
	class:  "Jais2ForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, true)
		s.layerNorm(c, "layer_norm_eps", true)
		c.Plain, c.Act = true, s.activation("hidden_act", "relu2")
	},
}
