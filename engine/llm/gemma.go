package llm

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// Gemma.
var gemma1 = family{
	Family: ggufhub.Family{Type: "gemma", Architecture: "gemma", PlusOne: true, Tells: biasTells},
	class:  "GemmaForCausalLM",
	read: func(s settings, c *Config) {
		gemma(s, c)
		s.Not("use_bidirectional_attention")
		c.KVHeads = s.Int("num_key_value_heads", 16)
		if c.Act = s.activation("hidden_act", "gelu_pytorch_tanh"); c.Act == "gelu" { // which the first releases say
			c.Act = "gelu_tanh"
		}
	},
}

// VaultGemma is Gemma 2 with norms on one side.
var vaultGemma = family{
	Family: ggufhub.Family{Type: "vaultgemma"},
	class:  "VaultGemmaForCausalLM",
	names:  ggufhub.Pairs{{"post_attention_layernorm", "pre_feedforward_layernorm"}},
	read: func(s settings, c *Config) {
		gemma2.read(s, c)
		c.Sandwich = false
	},
}

// Gemma 2.
var gemma2 = family{
	Family: ggufhub.Family{
		Type: "gemma2", Architecture: "gemma2", PlusOne: true, Layers: true, Every: 2, Always: true, Gemma: true, Largest: 46,
	},
	class: "Gemma2ForCausalLM",
	read: func(s settings, c *Config) {
		gemma(s, c)
		gemmaWindow(s, c)
		s.Not("use_bidirectional_attention")
		c.Sandwich = true
		c.ScoreCap, c.LogitCap = s.Number("attn_logit_softcapping", 0), s.Number("final_logit_softcapping", 0)
		c.Local = s.windows(c.Layers, func(i int) bool { return (i+1)%2 != 0 })
	},
}

// Gemma 3, its model of text.
var gemma3 = family{
	Family: ggufhub.Family{
		Type: "gemma3_text", Architecture: "gemma3", PlusOne: true, Layers: true, Every: 6, Gemma: true, Largest: 62,
		Theta: 1e6, LocalTheta: 10000,
	},
	class: "Gemma3ForCausalLM",
	read: func(s settings, c *Config) {
		gemma(s, c)
		gemmaWindow(s, c)
		c.Sandwich, c.QKNorm = true, true
		c.LogitCap = s.Number("final_logit_softcapping", 0)
		c.ScoreCap = s.Number("attn_logit_softcapping", 0)
		c.Local = s.windows(c.Layers, s.every("sliding_window_pattern", 6))
		if c.Bidirectional = s.Bool("use_bidirectional_attention", false); c.Bidirectional {
			c.Window = c.Window/2 + 1 // on each side, itself included
		}
		if s.Object("rope_parameters") == nil {
			c.Rope = s.rope(c, s.Object("rope_scaling"), s.Number("rope_theta", 1e6))
			c.LocalRope = nn.Rope{Base: s.Number("rope_local_base_freq", 10000)}
		}
	},
}

// gemma reads what all have in common.
func gemma(s settings, c *Config) {
	c.HeadDim = s.Int("head_dim", 256)
	c.Untied = !s.Bool("tie_word_embeddings", true)
	c.QKVBias = s.Bool("attention_bias", false)
	c.OutBias = c.QKVBias
	c.NormPlus = 1
	c.EmbedScale = math.Sqrt(float64(max(1, c.Width)))
}

// gemmaWindow reads what Gemma 2 and 3 have in common.
func gemmaWindow(s settings, c *Config) {
	c.KVHeads = s.Int("num_key_value_heads", 4)
	c.Act = s.activation("hidden_activation", "gelu_pytorch_tanh")
	c.Window = s.Int("sliding_window", 4096)
	if scalar := s.Number("query_pre_attn_scalar", 256); scalar > 0 {
		c.Scale = 1 / math.Sqrt(scalar)
	} else {
		s.Fail("query_pre_attn_scalar", "got %v, want a positive number", scalar)
	}
}
