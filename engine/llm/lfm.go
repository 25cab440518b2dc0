package llm

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
)

// LFM 2, most of whose layers are short convolutions.
var lfm2 = family{
	Family: ggufhub.Family{Type: "lfm2", Theta: 1e6, Architecture: "lfm2", State: "conv", Changes: ggufhub.Conv, Knows: map[string]any{"block_auto_adjust_ff_dim": false},
		Keys: ggufhub.Pairs{{"shortconv.l_cache", "conv_L_cache"}, {"attention.layer_norm_rms_epsilon", "norm_eps"}}},
	class: "Lfm2ForCausalLM",
	names: ggufhub.Pairs{
		{"mixer", "conv"}, {"mlp", "feed_forward"}, {"gate_proj", "w1"}, {"up_proj", "w3"}, {"down_proj", "w2"}, {"o_proj", "out_proj"},
		{"q_norm", "q_layernorm"}, {"k_norm", "k_layernorm"}, {"norm", "embedding_norm"},
		{"input_layernorm", "operator_norm"}, {"post_attention_layernorm", "ffn_norm"},
	},
	read: func(s settings, c *Config) {
		c.KVHeads, c.QKNorm, c.Act, c.Eps = s.Int("num_key_value_heads", 8), true, "", s.Number("norm_eps", 1e-5)
		c.Untied = !s.Bool("tie_embedding", s.Bool("tie_word_embeddings", true))
		bias := s.Bool("conv_bias", false)
		c.Recurrent = Recurrent{Kind: "conv", Kernel: s.Int("conv_L_cache", 3), Bias: bias, ConvBias: bias, OutBias: bias}
		attention := s.Numbers("full_attn_idxs")
		c.Recurrent.Layers = s.layers(c.Layers, "conv", func(i int) bool {
			return attention != nil && !slices.Contains(attention, float64(i))
		})
		if s.Bool("block_auto_adjust_ff_dim", true) {
			c.Hidden = s.adjusted(c.Hidden)
		}
	},
}

// LFM 2 with experts in all but the first layers.
var lfm2Moe = family{
	Family: ggufhub.Family{Type: "lfm2_moe", Theta: 1e6, Architecture: "lfm2moe", State: "conv", Changes: ggufhub.Conv, Says: sigmoids, Knows: map[string]any{"norm_topk_prob": true},
		Tells: ggufhub.Pairs{{"use_expert_bias", "blk.*.exp_probs_b.bias"}},
		Keys:  slices.Concat(lfm2.Keys, ggufhub.Pairs{{"leading_dense_block_count", "num_dense_layers"}, {"expert_feed_forward_length", "moe_intermediate_size"}})},
	class: "Lfm2MoeForCausalLM",
	names: lfm2.names,
	files: []string{".gate.e_score_correction_bias", ".expert_bias", ".gate_proj.", ".w1.", ".up_proj.", ".w3.", ".down_proj.", ".w2."},
	read: func(s settings, c *Config) {
		hidden := c.Hidden
		lfm2.read(s, c)
		c.Hidden = hidden
		s.deepSeek(c, 0, true)
		m, first := &c.Mixture, s.Int("num_dense_layers", 2)
		m.Hidden, m.Correction, m.Shared, m.Groups, m.TopGroups = s.Need("moe_intermediate_size"), s.Bool("use_expert_bias", true), 0, 0, 0
		m.firstDense(first, c.Layers)
	},
}

// hidden is the width inside of a feed-forward layer, which some families call otherwise.
func (s settings) hidden() int {
	if s.Has("block_ff_dim") {
		return s.Need("block_ff_dim")
	}
	if s.Has("shared_intermediate_size") {
		return s.Need("shared_intermediate_size") // Granite's, which stand beside experts
	}
	if !s.Has("intermediate_size") && s.Has("state_size") {
		return 0 // Mamba-2
	}
	if s.Has("moe_intermediate_size") && !s.Has("intermediate_size") {
		return s.Need("moe_intermediate_size") // Qwen 3.5, all of whose layers have experts
	}
	if by := s.family.wide; by > 0 && !s.Has("intermediate_size") {
		return by * s.Need("hidden_size")
	}
	return s.Need("intermediate_size")
}

// adjusted is the width inside of LFM 2's feed-forward layers: two thirds of what its settings say, times a
// factor, rounded up.
func (s settings) adjusted(hidden int) int {
	const most = 1 << 32 // which the check of all lengths refuses
	multiple := s.Int("block_multiple_of", 256)
	if multiple < 1 || multiple > most {
		s.Fail("block_multiple_of", "got %d, want a positive number", multiple)
		return hidden
	}
	n := float64(2 * min(max(hidden, 0), most) / 3)
	if !s.Null("block_ffn_dim_multiplier") {
		n = math.Trunc(n * s.Number("block_ffn_dim_multiplier", 1))
	} else {
		return int(n)
	}
	if !(n >= 0 && n <= most) {
		return most
	}
	return (int(n) + multiple - 1) / multiple * multiple
}
