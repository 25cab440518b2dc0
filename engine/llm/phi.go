package llm

import "github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"

// Phi 3.
var phi3 = family{
	Family: ggufhub.Family{Type: "phi3", Architecture: "phi3", SaysWindow: true, SaysContext: true},
	class:  "Phi3ForCausalLM",
	read: func(s settings, c *Config) {
		c.Joined = true
		c.Window = s.Int("sliding_window", 0)
	},
	has:       func(c Config) bool { return c.Joined },
	ropeKinds: map[string]string{"su": "longrope", "yarn": "longrope"},
}
