package llm

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// OLMo, whose norms have no weights.
var olmo1 = family{
	Family: ggufhub.Family{Type: "olmo", Architecture: "olmo", Interleaved: true, Tells: biasTells, Keys: slices.Concat(epsKey, ggufhub.Pairs{{"attention.clamp_kqv", "clip_qkv"}})},
	class:  "OlmoForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		s.layerNorm(c, "layer_norm_eps", false) // which only files say
		c.MLPBias, c.BareNorm, c.Clip = false, true, s.Number("clip_qkv", 0)
	},
}

// Olmo 2.
var olmo2 = family{
	Family: ggufhub.Family{Type: "olmo2", Architecture: "olmo2", Tells: biasTells},
	class:  "Olmo2ForCausalLM",
	read:   olmo,
}

// Olmo 3, of which three of four layers have a window, and rotary positions without a scaling.
var olmo3 = family{
	Family: ggufhub.Family{Type: "olmo3", Architecture: "olmo2", Windowed: true, Layers: true, Tells: biasTells, Theta: 5e5},
	class:  "Olmo3ForCausalLM",
	read: func(s settings, c *Config) {
		olmo(s, c)
		c.Window = s.window(4096)
		c.Local = s.windows(c.Layers, s.every("sliding_window_pattern", 4))
		if s.Object("rope_parameters") == nil {
			theta := s.Number("rope_theta", s.family.Theta)
			c.Rope, c.LocalRope = s.rope(c, s.Object("rope_scaling"), theta), nn.Rope{Base: theta}
		}
	},
}

// olmo reads what both have in common: norms that follow, and those of all queries and all keys together.
func olmo(s settings, c *Config) {
	s.biases(c, false)
	c.MLPBias = false
	c.PostNorm, c.QKNorm, c.WideQKNorm, c.Eps = true, true, true, s.Number("rms_norm_eps", 1e-5)
}

// EXAONE 4, whose layers without a window turn nothing, if others have one.
var exaone4 = family{
	Family: ggufhub.Family{Type: "exaone4", Architecture: "exaone4", Layers: true},
	class:  "Exaone4ForCausalLM",
	read: func(s settings, c *Config) {
		c.PostNorm, c.QKNorm, c.Eps = true, true, s.Number("rms_norm_eps", 1e-5)
		if c.Window = s.window(4096); c.Window > 0 {
			c.Local = s.windows(c.Layers, s.pattern("sliding_window_pattern", 4))
			c.NoRope = c.global()
		}
	},
}

// K-EXAONE, which is EXAONE 4 with experts, and norms before its parts.
var exaoneMoe = family{
	Family: ggufhub.Family{Type: "exaone_moe", Architecture: "exaone-moe", Layers: true, Sparse: true, Fixed: unscaled, Says: sigmoids,
		Keys: slices.Concat(deepKeys, ggufhub.Pairs{{"expert_shared_count", "num_shared_experts"}})},
	class: "ExaoneMoeForCausalLM",
	names: ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	files: []string{".mlp.gate.e_score_correction_bias", ".mlp.e_score_correction_bias"},
	ahead: true,
	read: func(s settings, c *Config) {
		exaone4.read(s, c)
		s.deepSeek(c, 0, true)
		c.PostNorm = false
		m := &c.Mixture
		m.Hidden, m.Scale = s.Int("moe_intermediate_size", 1024), s.factor("routed_scaling_factor", 2.5)
		m.Shared = m.Hidden * s.Int("num_shared_experts", 1)
		s.sparseKinds(c, s.Int("first_k_dense_replace", 1))
	},
}

// pattern is every, of a number or of a text such as "LLLG".
func (s settings) pattern(key string, n int) func(layer int) bool {
	var text string
	if s.Try(key, &text) && text != "" {
		return func(i int) bool { return text[i%len(text)] == 'L' }
	}
	return s.every(key, n)
}

// global are the layers without a window, nil if all have one.
func (c Config) global() []bool {
	if c.Local == nil {
		return nil
	}
	return eachLayer(len(c.Local), func(i int) bool { return !c.Local[i] })
}
