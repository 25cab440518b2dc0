package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// GLM 4 of 2024.
var glm = family{
	Family:      ggufhub.Family{Type: "glm", Partial: 0.5, Architecture: "chatglm", Tells: biasTells},
	class:       "GlmForCausalLM",
	interleaved: true,
	read:        glmRead,
}

// GLM 4 of 2025, GLM-4-0414 and GLM-Z1.
var glm4 = family{
	Family:      ggufhub.Family{Type: "glm4", Partial: 0.5, Architecture: "glm4", Tells: biasTells},
	class:       "Glm4ForCausalLM",
	interleaved: true,
	names: ggufhub.Pairs{
		{"post_attention_layernorm", "post_self_attn_layernorm"}, {"pre_feedforward_layernorm", "post_attention_layernorm"},
		{"post_feedforward_layernorm", "post_mlp_layernorm"},
	},
	read: func(s settings, c *Config) {
		glmRead(s, c)
		c.Sandwich = true
	},
}

func glmRead(s settings, c *Config) {
	c.QKVBias, c.JoinedMLP = s.Bool("attention_bias", true), true
	c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 2), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1.5625e-7)
}
