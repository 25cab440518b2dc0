package llm

import (
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// gpt-oss, whose heads have sinks, and whose experts have biases and a form of their own.
var gptOSS = family{
	Family: ggufhub.Family{Type: "gpt_oss", Theta: 150000, Architecture: "gpt-oss", Tells: biasTells, Layers: true, Every: 2, Untruncated: true, Changes: ggufhub.Sinks,
		Keys: ggufhub.Pairs{{"expert_feed_forward_length", "intermediate_size"}}},
	class:    "GptOssForCausalLM",
	names:    ggufhub.Pairs{{"gate", "router"}},
	joined:   true,
	straight: true,
	read: func(s settings, c *Config) {
		m := s.mixture(c, 0.001)
		m.Normalise, m.Bias, m.Limit = true, true, s.Number("swiglu_limit", 7)
		if slope := s.Number("swiglu_alpha", 1.702); slope != 1.702 {
			s.Fail("swiglu_alpha", "got %v, want 1.702", slope)
		}
		if !(m.Limit > 0) {
			s.Fail("swiglu_limit", "got %v, want a positive number", m.Limit)
		}
		s.biases(c, true)
		c.Sinks, c.MLPBias = true, false
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 64), s.Number("rms_norm_eps", 1e-5)
		c.Window = s.window(128)
		c.Local = s.windows(c.Layers, func(i int) bool { return i%2 == 0 })
		if !s.Has("rope_parameters") && !s.Has("rope_scaling") && !s.Has("rope_theta") {
			c.Rope = nn.Rope{Base: 150000, Scaling: nn.RopeScaling{
				Kind: "yarn", Factor: 32, BetaFast: 32, BetaSlow: 1, Untruncated: true, Original: 4096, Context: c.Context,
			}}
			c.LocalRope = c.Rope
		}
	},
}
