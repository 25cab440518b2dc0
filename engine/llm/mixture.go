package llm

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// mixture reads how many experts there are, under one of the names for that, and what most families say of
// them alike.
func (s settings) mixture(c *Config, balance float64) *Mixture {
	m := &c.Mixture
	m.Experts, m.TopK = s.Int("num_local_experts", s.Int("num_experts", s.Int("n_routed_experts", 0))), s.Need("num_experts_per_tok")
	if m.Experts < 1 {
		s.Fail("num_experts", "got %d, want a positive number", m.Experts)
	}
	m.Hidden = c.Hidden
	if coefficient := s.Number("router_aux_loss_coef", balance); s.Bool("output_router_logits", false) {
		m.Balance = coefficient
	}
	return m
}

// sparse reads which layers have no experts, as Qwen's families say it.
func (s settings) sparse(c *Config) {
	dense, each := s.Numbers("mlp_only_layers"), s.every("decoder_sparse_step", 1)
	if c.Layers < 1 || c.Layers > 1<<20 || s.Err() != nil {
		return // refused by the check of all lengths
	}
	list := eachLayer(c.Layers, func(i int) bool { return each(i) || slices.Contains(dense, float64(i)) })
	if slices.Contains(list, true) {
		c.Mixture.Dense = list
	}
}

// deepSeek reads the settings of mixtures as DeepSeek V3 has them, whose first layers have no experts.
func (s settings) deepSeek(c *Config, dense int, normalise bool) {
	m := s.mixture(c, 0)
	m.Hidden, m.Normalise, m.Sigmoid, m.Correction = s.Int("moe_intermediate_size", 1408), s.Bool("norm_topk_prob", normalise), true, true
	m.Scale = s.factor("routed_scaling_factor", 1)
	m.Groups, m.TopGroups = s.Int("n_group", 1), s.Int("topk_group", 1)
	m.Shared = m.Hidden * s.Int("n_shared_experts", 1)
	m.firstDense(s.Int("first_k_dense_replace", dense), c.Layers)
}

// firstDense has the first layers, if any, be without experts.
func (m *Mixture) firstDense(first, layers int) {
	if m.Dense = nil; first > 0 && layers > 0 && layers <= 1<<20 {
		m.Dense = eachLayer(layers, func(i int) bool { return i < first })
	}
}

// deepKeys are metadata of such mixtures, and sigmoids what they say of a router's scores.
var (
	deepKeys = ggufhub.Pairs{
		{"leading_dense_block_count", "first_k_dense_replace"}, {"expert_shared_count", "n_shared_experts"}, {"expert_weights_scale", "routed_scaling_factor"},
		{"expert_weights_norm", "norm_topk_prob"}, {"expert_group_count", "n_group"}, {"expert_group_used_count", "topk_group"},
	}
	sigmoids = map[string]uint32{"expert_gating_func": 2}
)

// GLM 4.5 to 4.7, of which half of each head turns.
var glm4Moe = family{
	Family: ggufhub.Family{Type: "glm4_moe", Partial: 0.5, Architecture: "glm4moe", Says: sigmoids, Keys: deepKeys, Knows: map[string]any{"first_k_dense_replace": 0},
		Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}, {"use_qk_norm", "blk.0.attn_q_norm.weight"}}},
	class: "Glm4MoeForCausalLM",
	names: ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	ahead: true,
	read: func(s settings, c *Config) {
		s.deepSeek(c, 1, true)
		c.KVHeads, c.Eps = s.Int("num_key_value_heads", 8), s.Number("rms_norm_eps", 1e-5)
		c.QKVBias, c.QKNorm = s.Bool("attention_bias", false), s.Bool("use_qk_norm", false)
	},
}

// Solar Open, which is GLM 4.5 whose heads turn wholly, without norms of queries and keys.
var solarOpen = family{
	Family: ggufhub.Family{Type: "solar_open", Theta: 1e6, Architecture: "glm4moe", Says: sigmoids, Keys: deepKeys, Tells: glm4Moe.Tells},
	class:  "SolarOpenForCausalLM",
	names:  glm4Moe.names,
	read: func(s settings, c *Config) {
		s.deepSeek(c, 0, true)
		c.Mixture.Dense = nil
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
		c.QKVBias = s.Bool("attention_bias", false)
	},
}

// ERNIE 4.5 with experts in some layers.
var ernieMoe = family{
	Family: ggufhub.Family{Type: "ernie4_5_moe", Theta: 5e5, Architecture: "ernie4_5-moe", Tells: ggufhub.Pairs{{"use_bias", "blk.0.attn_q.bias"}},
		Keys: ggufhub.Pairs{
			{"expert_count", "moe_num_experts"}, {"expert_used_count", "moe_k"}, {"expert_feed_forward_length", "moe_intermediate_size"},
			{"expert_shared_count", "moe_num_shared_experts"}, {"expert_shared_feed_forward_length", "moe_intermediate_size"},
			{"leading_dense_block_count", "moe_layer_start_index"}, {"interleave_moe_layer_step", "moe_layer_interval"},
		}},
	class:       "Ernie4_5_MoeForCausalLM",
	names:       ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	files:       []string{".gate.e_score_correction_bias", ".moe_statics.e_score_correction_bias"},
	interleaved: true,
	ahead:       true,
	statics:     true,
	read: func(s settings, c *Config) {
		ernie.read(s, c)
		c.KVHeads, c.HeadDim, c.HeadBias = s.Int("num_key_value_heads", 4), s.Int("head_dim", 0), c.QKVBias
		m := &c.Mixture
		*m = Mixture{Experts: s.Int("moe_num_experts", 64), TopK: s.Int("moe_k", 6), Hidden: s.Int("moe_intermediate_size", 1536), Normalise: true, Correction: true}
		m.Shared = m.Hidden * s.Int("moe_num_shared_experts", 2)
		if s.Bool("output_router_logits", false) {
			m.Balance = s.Number("router_aux_loss_coef", 0.001)
		}
		if least := s.Number("moe_norm_min", 1e-12); least > 1e-6 {
			s.Fail("moe_norm_min", "got %v, want at most 1e-6", least)
		}
		first, last, dense := s.Int("moe_layer_start_index", 1), s.Int("moe_layer_end_index", -1), s.every("moe_layer_interval", 1)
		if last < 0 {
			last = c.Layers - 1
		}
		m.Dense = eachLayer(c.Layers, func(i int) bool { return dense(i) || i < first || i > last })
	},
}

// dots.llm1, which is Qwen 3 with the experts of DeepSeek V3.
var dots1 = family{
	Family: ggufhub.Family{Type: "dots1", Architecture: "dots1", Says: sigmoids, Keys: deepKeys, Tells: biasTells, Layers: true},
	class:  "Dots1ForCausalLM",
	names:  ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	read: func(s settings, c *Config) {
		s.deepSeek(c, 0, false)
		s.biases(c, false)
		c.MLPBias, c.QKNorm = false, true
		if c.Window = s.window(4096); c.Window > 0 {
			first := s.Int("max_window_layers", 62)
			c.Local = s.windows(c.Layers, func(i int) bool { return i >= first })
		}
	},
}

// Granite 3 with experts.
var graniteMoe = family{
	Family: ggufhub.Family{Type: "granitemoe", Architecture: "granitemoe", Interleaved: true, Tells: biasTells, Keys: granite.Keys},
	class:  "GraniteMoeForCausalLM",
	names:  ggufhub.Pairs{{"mlp", "block_sparse_moe"}, {"gate", "router"}},
	files:  []string{".experts.gate_up_proj", ".input_linear.weight", ".experts.down_proj", ".output_linear.weight", ".router.", ".router.layer."},
	joined: true,
	read: func(s settings, c *Config) {
		s.mixture(c, 0.001).Normalise = true
		granite.read(s, c)
	},
}

// Hunyuan's models with experts, of which all tokens have one as wide as the others.
var hunyuanMoe = family{
	Family: ggufhub.Family{Type: "hunyuan_v1_moe", Architecture: "hunyuan-moe", Tells: biasTells, Says: map[string]uint32{"expert_shared_count": 1},
		Keys: ggufhub.Pairs{
			{"expert_count", "num_experts"}, {"expert_used_count", "moe_topk"}, {"expert_feed_forward_length", "intermediate_size"},
			{"expert_shared_feed_forward_length", "intermediate_size"},
		}},
	class: "HunYuanMoEV1ForCausalLM",
	names: ggufhub.Pairs{{"q_norm", "query_layernorm"}, {"k_norm", "key_layernorm"}, {"gate", "gate.wg"}, {"shared_expert", "shared_mlp"}},
	read: func(s settings, c *Config) {
		hunyuan.read(s, c)
		c.Mixture = Mixture{Experts: s.Int("num_experts", 1), TopK: s.same("moe_topk", 1), Hidden: c.Hidden, Normalise: true, Shared: c.Hidden}
	},
}

// same reads an integer, or a list of one for each layer, which must be the same.
func (s settings) same(key string, other int) int {
	var list []int
	if !s.Try(key, &list) {
		return s.Int(key, other)
	}
	if len(list) == 0 || len(slices.Compact(list)) > 1 {
		s.Fail(key, "got %v, want the same for all layers", list)
		return other
	}
	return list[0]
}

// FlexOlmo, which is Olmo 2 with the experts of OLMoE.
var flexOlmo = family{
	Family: ggufhub.Family{Type: "flex_olmo", Theta: 5e5},
	class:  "FlexOlmoForCausalLM",
	read: func(s settings, c *Config) {
		s.mixture(c, 0.01).Normalise = s.Bool("norm_topk_prob", false)
		olmo(s, c)
	},
}

// Qwen 3 with experts.
var qwen3Moe = family{
	Family: ggufhub.Family{Type: "qwen3_moe", Architecture: "qwen3moe", Layers: true, Knows: map[string]any{"norm_topk_prob": true},
		Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}}},
	class: "Qwen3MoeForCausalLM",
	read: func(s settings, c *Config) {
		m := s.mixture(c, 0.001)
		m.Hidden, m.Normalise = s.Int("moe_intermediate_size", 768), s.Bool("norm_topk_prob", false)
		s.sparse(c)
		c.KVHeads, c.QKNorm = s.Int("num_key_value_heads", 4), true
		c.QKVBias = s.Bool("attention_bias", false)
		c.OutBias = c.QKVBias
		if s.Bool("use_sliding_window", false) {
			c.Window = s.window(4096)
		}
	},
}

// Mellum 2, which is Qwen 3 with experts whose windows turn by rates of their own.
var mellum = family{
	Family: ggufhub.Family{Type: "mellum", Theta: 5e5, LocalTheta: 10000, Architecture: "mellum", Layers: true, Knows: map[string]any{"norm_topk_prob": true},
		Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}}},
	class: "MellumForCausalLM",
	kinds: true,
	ahead: true,
	read: func(s settings, c *Config) {
		qwen3Moe.read(s, c)
		c.HeadDim, c.Mixture.Hidden, c.Mixture.Normalise = s.Int("head_dim", 128), s.Int("moe_intermediate_size", 896), s.Bool("norm_topk_prob", true)
		s.sparseKinds(c, 0)
		c.Window = s.window(1024)
		c.Local = s.windows(c.Layers, func(int) bool { return false })
		if s.Object("rope_parameters") == nil {
			c.Rope = s.rope(c, s.Object("rope_scaling"), s.Number("rope_theta", 5e5))
			c.LocalRope = nn.Rope{Base: s.Number("rope_local_base_freq", 10000)}
		}
	},
}

// Qwen 1.5 and 2 with experts, of which all tokens have one.
var qwen2Moe = family{
	Family: ggufhub.Family{Type: "qwen2_moe", Architecture: "qwen2moe", Layers: true, Changes: ggufhub.RowGate, Tells: ggufhub.Pairs{{"qkv_bias", "blk.0.attn_q.bias"}}},
	class:  "Qwen2MoeForCausalLM",
	read: func(s settings, c *Config) {
		m := s.mixture(c, 0.001)
		m.Hidden, m.Normalise = s.Int("moe_intermediate_size", 1408), s.Bool("norm_topk_prob", false)
		m.Shared, m.SharedGate = s.Int("shared_expert_intermediate_size", 5632), true
		s.sparse(c)
		c.KVHeads, c.QKVBias = s.Int("num_key_value_heads", 16), s.Bool("qkv_bias", true)
		if s.Bool("use_sliding_window", false) {
			c.Window = s.window(4096)
			upTo := s.Int("max_window_layers", 28)
			c.Local = s.windows(c.Layers, func(i int) bool { return i%2 == 0 && i < upTo })
		}
	},
}

// Mixtral.
var mixtral = family{
	Family: ggufhub.Family{Type: "mixtral", Architecture: "llama", Mixed: true, Interleaved: true, Theta: 1e6},
	class:  "MixtralForCausalLM",
	files:  []string{".mlp.", ".block_sparse_moe.", ".gate_proj.", ".w1.", ".up_proj.", ".w3.", ".down_proj.", ".w2."},
	read: func(s settings, c *Config) {
		s.mixture(c, 0.001).Normalise = true
		c.KVHeads, c.Eps, c.Window = s.Int("num_key_value_heads", 8), s.Number("rms_norm_eps", 1e-5), s.window(0)
	},
}

// Phi 3.5 MoE, whose router chooses one expert after the other.
var phiMoE = family{
	Family: ggufhub.Family{Type: "phimoe", Theta: 1e6, Architecture: "phimoe", SaysWindow: true, SaysContext: true,
		Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}, {"lm_head_bias", "output.bias"}}},
	class: "PhimoeForCausalLM",
	files: mixtral.files,
	read: func(s settings, c *Config) {
		s.mixture(c, 0.001).Near = 2 * s.Number("router_jitter_noise", 0.01)
		s.biases(c, false)
		s.layerNorm(c, "rms_norm_eps", true)
		c.KVHeads, c.MLPBias, c.HeadBias, c.Window = s.Int("num_key_value_heads", 8), false, s.Bool("lm_head_bias", false), s.window(0)
	},
}

// MiniMax-M2.
var miniMaxM2 = family{
	Family: ggufhub.Family{Type: "minimax_m2", Theta: 5e6, Architecture: "minimax-m2", Says: sigmoids, Keys: ggufhub.Pairs{{"expert_feed_forward_length", "intermediate_size"}}},
	class:  "MiniMaxM2ForCausalLM",
	files: []string{".mlp.gate.e_score_correction_bias", ".block_sparse_moe.e_score_correction_bias", ".mlp.", ".block_sparse_moe.",
		".gate_proj.", ".w1.", ".up_proj.", ".w3.", ".down_proj.", ".w2."},
	read: func(s settings, c *Config) {
		m := s.mixture(c, 0.001)
		m.Normalise, m.Sigmoid, m.Correction, m.Balance = true, true, true, 0
		c.KVHeads, c.HeadDim, c.QKNorm, c.WideQKNorm = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), true, true
	},
}

// sparseKinds reads which layers have no experts, by a word for each; where there are none the first ones.
func (s settings) sparseKinds(c *Config, first int) {
	kinds := s.Texts("mlp_layer_types")
	if c.Layers < 1 || c.Layers > 1<<20 || kinds != nil && len(kinds) != c.Layers {
		s.Fail("mlp_layer_types", "got %d layers, want %d", len(kinds), c.Layers)
		return
	}
	list := eachLayer(c.Layers, func(i int) bool { return kinds == nil && i < first || kinds != nil && kinds[i] != "sparse" })
	if c.Mixture.Dense = nil; slices.Contains(list, true) {
		c.Mixture.Dense = list
	}
}

// Hy3, which is Qwen 3 with the experts of DeepSeek V3 in other words.
var hy3 = family{
	Family: ggufhub.Family{Type: "hy_v3", Architecture: "hy_v3", Says: sigmoids, Tells: biasTells,
		Keys: ggufhub.Pairs{{"expert_weights_scale", "router_scaling_factor"}}, Sparse: true},
	class: "HYV3ForCausalLM",
	names: ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	files: []string{".mlp.gate.e_score_correction_bias", ".mlp.expert_bias", ".mlp.gate.weight", ".mlp.router.gate.weight",
		".mlp.shared_experts.", ".mlp.shared_mlp."},
	ahead: true,
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.KVHeads, c.HeadDim, c.Eps, c.QKNorm = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5), true
		m := s.mixture(c, 0)
		m.Hidden, m.Normalise, m.Sigmoid, m.Correction, m.Scale = s.Int("moe_intermediate_size", 1536), true, true, true, s.factor("router_scaling_factor", 2.826)
		m.Shared = s.Int("shared_expert_intermediate_size", m.Hidden*s.Int("num_shared_experts", 1))
		s.sparseKinds(c, 1)
	},
}

// OLMoE.
var olmoe = family{
	Family: ggufhub.Family{Type: "olmoe", Architecture: "olmoe", Tells: biasTells},
	class:  "OlmoeForCausalLM",
	read: func(s settings, c *Config) {
		s.mixture(c, 0.01).Normalise = s.Bool("norm_topk_prob", false)
		s.biases(c, false)
		c.QKNorm, c.WideQKNorm, c.MLPBias, c.Eps = true, true, false, s.Number("rms_norm_eps", 1e-5)
		if limit := s.Number("clip_qkv", 0); limit != 0 {
			s.Fail("clip_qkv", "got %v, want null", limit)
		}
	},
}
