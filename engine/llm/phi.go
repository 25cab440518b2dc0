package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// epsKey is the setting of LayerNorms in the metadata.
var epsKey = ggufhub.Pairs{{"attention.layer_norm_epsilon", "layer_norm_eps"}}

// Phi 1, 1.5 and 2.
var phi = family{
	Family: ggufhub.Family{Type: "phi", Partial: 0.5, Architecture: "phi2", Keys: epsKey},
	class:  "PhiForCausalLM",
	names: ggufhub.Pairs{
		{"o_proj", "dense"}, {"up_proj", "fc1"}, {"down_proj", "fc2"}, {"norm", "final_layernorm"}, {"q_norm", "q_layernorm"}, {"k_norm", "k_layernorm"},
	},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "layer_norm_eps", true)
		c.QKVBias, c.OutBias, c.MLPBias, c.HeadBias = true, true, true, true
		c.Parallel, c.Plain, c.Act = true, true, s.activation("hidden_act", "gelu_new")
		c.QKNorm = s.Bool("qk_layernorm", false)
	},
}

// Phi 3.
var phi3 = family{
	Family: ggufhub.Family{Type: "phi3", Architecture: "phi3", SaysWindow: true, SaysContext: true},
	class:  "Phi3ForCausalLM",
	read: func(s settings, c *Config) {
		c.JoinedQKV, c.JoinedMLP = true, true
		c.Window = s.Int("sliding_window", 0)
	},
	ropeKinds: ggufhub.Pairs{{"su", "longrope"}, {"yarn", "longrope"}},
}
