package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// Qwen 2 and 2.5.
var qwen2 = family{
	Family:    ggufhub.Family{Type: "qwen2", Architecture: "qwen2", Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}}, Layers: true},
	class:     "Qwen2ForCausalLM",
	ropeKinds: ggufhub.Pairs{{"mrope", "default"}}, // of texts
	read: func(s settings, c *Config) {
		c.QKVBias = true
		qwenWindow(s, c)
	},
}

// Qwen 3.
var qwen3 = family{
	Family:    ggufhub.Family{Type: "qwen3", Architecture: "qwen3", Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}}, Layers: true},
	class:     "Qwen3ForCausalLM",
	ropeKinds: ggufhub.Pairs{{"mrope", "default"}}, // of texts
	read: func(s settings, c *Config) {
		c.QKNorm = true
		c.HeadDim = s.Int("head_dim", 128)
		c.QKVBias = s.Bool("attention_bias", false)
		c.OutBias = c.QKVBias
		qwenWindow(s, c)
	},
}

// qwenWindow reads the windows of Qwen's models, which only the upper layers have, if any.
func qwenWindow(s settings, c *Config) {
	if !s.Bool("use_sliding_window", false) {
		return
	}
	c.Window = s.Int("sliding_window", 4096)
	first := s.Int("max_window_layers", 28)
	c.Local = s.windows(c.Layers, func(i int) bool { return i >= first })
}
