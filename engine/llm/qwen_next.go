package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// Qwen 3 Next, most of whose layers are gated delta nets.
var qwen3Next = family{
	Family: ggufhub.Family{Type: "qwen3_next", Partial: 0.25},
	class:  "Qwen3NextForCausalLM",
	names:  map[string]string{"mixer": "linear_attn"},
	ahead:  true,
	read: func(s settings, c *Config) {
		qwenDelta(s, c, 2)
		c.Recurrent.Joined = true
		qwenExperts(s, c).Normalise = s.Bool("norm_topk_prob", true)
		s.sparse(c)
	},
}

// Qwen 3.5.
var qwen35 = family{
	Family:    ggufhub.Family{Type: "qwen3_5_text", Partial: 0.25},
	class:     "Qwen3_5ForCausalLM",
	names:     map[string]string{"mixer": "linear_attn"},
	ropeKinds: map[string]string{"mrope": "default"}, // of texts
	ahead:     true,
	read:      func(s settings, c *Config) { qwenDelta(s, c, 4) },
}

// Qwen 3.5 with experts in all layers.
var qwen35Moe = family{
	Family:    ggufhub.Family{Type: "qwen3_5_moe_text", Partial: 0.25},
	class:     "Qwen3_5MoeForCausalLM",
	names:     map[string]string{"mixer": "linear_attn"},
	ropeKinds: map[string]string{"mrope": "default"}, // of texts
	ahead:     true,
	read: func(s settings, c *Config) {
		qwenDelta(s, c, 2)
		qwenExperts(s, c).Normalise = true
	},
}

// qwenDelta reads what these have in common.
func qwenDelta(s settings, c *Config, kvHeads int) {
	c.KVHeads, c.HeadDim = s.Int("num_key_value_heads", kvHeads), s.Int("head_dim", 256)
	c.QKNorm, c.GatedAttn, c.NormPlus = true, true, 1
	c.QKVBias = s.Bool("attention_bias", false)
	c.OutBias = c.QKVBias
	c.Recurrent = Recurrent{
		Kind: "delta", Kernel: s.Int("linear_conv_kernel_dim", 4), Keys: s.Int("linear_num_key_heads", 16), Values: s.Int("linear_num_value_heads", 32),
		KeyDim: s.Int("linear_key_head_dim", 128), ValueDim: s.Int("linear_value_head_dim", 128),
		Layers: s.layers(c.Layers, "linear_attention", s.every("full_attention_interval", 4)),
	}
}

// qwenExperts reads experts, and the one that all tokens go through.
func qwenExperts(s settings, c *Config) *Mixture {
	m := s.mixture(c, 0.001)
	m.Hidden, m.Shared, m.SharedGate = s.Int("moe_intermediate_size", 512), s.Int("shared_expert_intermediate_size", 512), true
	return m
}
