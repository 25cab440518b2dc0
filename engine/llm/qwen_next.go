package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// deltaMetadata are the metadata of gated delta nets.
var deltaMetadata = ggufhub.Pairs{
	{"ssm.conv_kernel", "linear_conv_kernel_dim"}, {"ssm.state_size", "linear_key_head_dim"}, {"ssm.group_count", "linear_num_key_heads"},
	{"ssm.time_step_rank", "linear_num_value_heads"},
}

// Qwen 3 Next, most of whose layers are gated delta nets.
var qwen3Next = family{
	Family: ggufhub.Family{Type: "qwen3_next", Partial: 0.25, Architecture: "qwen3next", PlusOne: true, State: "linear_attention", Interval: 4, Width: "linear_value_head_dim", Changes: ggufhub.Delta,
		Keys: deltaMetadata, Tells: ggufhub.Pairs{{"attention_bias", "blk.*.attn_q.bias"}}, Knows: map[string]any{"norm_topk_prob": true}},
	class: "Qwen3NextForCausalLM",
	names: ggufhub.Pairs{{"mixer", "linear_attn"}},
	ahead: true,
	read: func(s settings, c *Config) {
		qwenDelta(s, c, 2)
		c.Recurrent.Joined = true
		qwenExperts(s, c).Normalise = s.Bool("norm_topk_prob", true)
		s.sparse(c)
	},
}

// Qwen 3.5.
var qwen35 = family{
	Family: ggufhub.Family{Type: "qwen3_5_text", Partial: 0.25, Architecture: "qwen35", PlusOne: true, State: "linear_attention", Interval: 4, Width: "linear_value_head_dim", Changes: ggufhub.Tiled,
		Keys: deltaMetadata, Tells: ggufhub.Pairs{{"attention_bias", "blk.*.attn_q.bias"}}, Fixed: map[string]any{"rope.dimension_sections": []int32{11, 11, 10, 0}}},
	class:     "Qwen3_5ForCausalLM",
	names:     ggufhub.Pairs{{"mixer", "linear_attn"}},
	ropeKinds: ggufhub.Pairs{{"mrope", "default"}}, // of texts
	ahead:     true,
	read:      func(s settings, c *Config) { qwenDelta(s, c, 4) },
}

// Qwen 3.5 with experts in all layers.
var qwen35Moe = family{
	Family: ggufhub.Family{Type: "qwen3_5_moe_text", Partial: 0.25, Architecture: "qwen35moe", PlusOne: true, State: "linear_attention", Interval: 4, Width: "linear_value_head_dim", Changes: ggufhub.Tiled,
		Keys: deltaMetadata, Tells: ggufhub.Pairs{{"attention_bias", "blk.*.attn_q.bias"}}, Fixed: map[string]any{"rope.dimension_sections": []int32{11, 11, 10, 0}}},
	class:     "Qwen3_5MoeForCausalLM",
	names:     ggufhub.Pairs{{"mixer", "linear_attn"}},
	ropeKinds: ggufhub.Pairs{{"mrope", "default"}}, // of texts
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
