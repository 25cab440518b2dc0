package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// Llama 2 and 3.
var llama = family{
	Family: ggufhub.Family{
		Type: "llama", Architecture: "llama", Interleaved: true,
		Tells: map[string]string{"attention_bias": "blk.0.attn_q.bias", "mlp_bias": "blk.0.ffn_up.bias"},
	},
	class: "LlamaForCausalLM",
	read: func(s settings, c *Config) {
		c.QKVBias = s.Bool("attention_bias", false)
		c.OutBias = c.QKVBias
		c.MLPBias = s.Bool("mlp_bias", false)
	},
	has: func(Config) bool { return true },
}

// Mistral, whose files are Llama's with a window.
var mistral = family{
	Family: ggufhub.Family{Type: "mistral", Architecture: "llama", Interleaved: true, Windowed: true},
	class:  "MistralForCausalLM",
	read: func(s settings, c *Config) {
		c.KVHeads = s.Int("num_key_value_heads", 8)
		c.Window = s.Int("sliding_window", 0)
	},
	has: func(c Config) bool { return c.Window > 0 },
}
