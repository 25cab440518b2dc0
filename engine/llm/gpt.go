package llm

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
)

// gptKeys are what GPT-2 and its heirs call their settings.
var gptKeys = ggufhub.Pairs{
	{"hidden_size", "n_embd"}, {"num_hidden_layers", "n_layer"}, {"num_attention_heads", "n_head"}, {"max_position_embeddings", "n_positions"},
	{"intermediate_size", "n_inner"}, {"hidden_act", "activation_function"}, {"layer_norm_eps", "layer_norm_epsilon"}, {"num_key_value_heads", ""}, {"head_dim", ""},
}

// GPT-2.
var gpt2 = family{
	Family: ggufhub.Family{Type: "gpt2", Architecture: "gpt2", Keys: epsKey},
	class:  "GPT2LMHeadModel",
	keys:   gptKeys,
	wide:   4,
	conv1D: true,
	names: ggufhub.Pairs{
		{"model", "transformer"}, {"layers", "h"}, {"embed_tokens", "wte"}, {"embed_positions", "wpe"}, {"norm", "ln_f"}, {"input_layernorm", "ln_1"}, {"post_attention_layernorm", "ln_2"},
		{"self_attn", "attn"}, {"qkv_proj", "c_attn"}, {"o_proj", "c_proj"}, {"up_proj", "c_fc"}, {"down_proj", "c_proj"},
	},
	read: func(s settings, c *Config) { s.gpt2(c, "gelu_new") },
}

func (s settings) gpt2(c *Config, act string) {
	s.layerNorm(c, "layer_norm_eps", true)
	s.Not("scale_attn_by_inverse_layer_idx")
	s.Not("add_cross_attention")
	c.KVHeads, c.HeadDim = 0, 0
	c.QKVBias, c.OutBias, c.MLPBias = true, true, true
	c.Learned, c.JoinedQKV, c.Plain, c.Act = true, true, true, s.activation("hidden_act", act)
	c.Untied = !s.Bool("tie_word_embeddings", true)
	if !s.Bool("scale_attn_weights", true) {
		c.Scale = 1
	}
}

// GPT BigCode, so StarCoder and SantaCoder.
var gptBigCode = family{
	Family: ggufhub.Family{Type: "gpt_bigcode", Architecture: "starcoder", Keys: epsKey},
	class:  "GPTBigCodeForCausalLM",
	keys:   gptKeys,
	wide:   4,
	names:  gpt2.names,
	read: func(s settings, c *Config) {
		s.gpt2(c, "gelu_pytorch_tanh")
		if c.GroupedQKV = !s.Bool("multi_query", true); !c.GroupedQKV {
			c.KVHeads = 1
		}
	},
}

// GPT-Neo.
var gptNeo = family{
	Family: ggufhub.Family{Type: "gpt_neo"},
	class:  "GPTNeoForCausalLM",
	keys: ggufhub.Pairs{
		{"num_hidden_layers", "num_layers"}, {"num_attention_heads", "num_heads"}, {"sliding_window", "window_size"}, {"hidden_act", "activation_function"},
		{"layer_norm_eps", "layer_norm_epsilon"},
	},
	wide:  4,
	names: slices.Concat(gpt2.names, ggufhub.Pairs{{"self_attn", "attn.attention"}, {"o_proj", "out_proj"}}),
	read: func(s settings, c *Config) {
		s.gpt2(c, "gelu_new")
		c.JoinedQKV, c.QKVBias, c.Scale = false, false, 1
		c.Window = s.window(256)
		kinds := s.Texts("attention_layers")
		if s.Has("attention_types"); len(kinds) != c.Layers {
			s.Fail("attention_layers", "got %d layers, want %d", len(kinds), c.Layers)
			return
		}
		c.Local = eachLayer(c.Layers, func(i int) bool { return kinds[i] == "local" })
	},
}

// GPT-J.
var gptJ = family{
	Family: ggufhub.Family{Type: "gptj"},
	class:  "GPTJForCausalLM",
	keys:   gptKeys, wide: 4,
	interleaved: true,
	names: ggufhub.Pairs{
		{"model", "transformer"}, {"layers", "h"}, {"embed_tokens", "wte"}, {"norm", "ln_f"}, {"input_layernorm", "ln_1"},
		{"self_attn", "attn"}, {"o_proj", "out_proj"}, {"up_proj", "fc_in"}, {"down_proj", "fc_out"},
	},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "layer_norm_eps", true)
		c.KVHeads, c.HeadDim = 0, 0
		c.MLPBias, c.HeadBias, c.Parallel, c.Plain, c.Act = true, true, true, true, s.activation("hidden_act", "gelu_new")
	},
}

// GPT-NeoX, so Pythia.
var gptNeoX = family{
	Family: ggufhub.Family{Type: "gpt_neox", Partial: 0.25, Architecture: "gptneox", Grouped: true, Keys: slices.Concat(epsKey, ggufhub.Pairs{{"use_parallel_residual", "use_parallel_residual"}})},
	class:  "GPTNeoXForCausalLM",
	keys:   ggufhub.Pairs{{"rope_theta", "rotary_emb_base"}, {"partial_rotary_factor", "rotary_pct"}}, // as they were first written
	names: ggufhub.Pairs{
		{"model", "gpt_neox"}, {"embed_tokens", "embed_in"}, {"norm", "final_layer_norm"}, {"self_attn", "attention"}, {"qkv_proj", "query_key_value"},
		{"o_proj", "dense"}, {"up_proj", "dense_h_to_4h"}, {"down_proj", "dense_4h_to_h"},
	},
	files: []string{"lm_head.", "embed_out."},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "layer_norm_eps", true)
		c.KVHeads, c.HeadDim = 0, 0
		c.JoinedQKV, c.GroupedQKV, c.Plain, c.Act = true, true, true, s.activation("hidden_act", "gelu")
		c.QKVBias, c.MLPBias = s.Bool("attention_bias", true), true
		c.OutBias, c.Parallel = c.QKVBias, s.Bool("use_parallel_residual", true)
		c.BothNorms = c.Parallel
	},
}

// Falcon.
var falcon = family{
	Family: ggufhub.Family{Type: "falcon", Architecture: "falcon", Grouped: true, Keys: epsKey,
		Second: ggufhub.Second{Tensor: "blk.0.attn_norm_2.weight", Alone: ".input_layernorm.", Name: ".ln_mlp.", Setting: "num_ln_in_parallel_attn"},
		Knows:  map[string]any{"new_decoder_architecture": true}}, // of which the others are cases
	class: "FalconForCausalLM",
	keys: ggufhub.Pairs{
		{"num_key_value_heads", "num_kv_heads"}, {"intermediate_size", "ffn_hidden_size"}, {"hidden_act", "activation"}, {"layer_norm_eps", "layer_norm_epsilon"},
		{"head_dim", ""},
	},
	wide: 4,
	names: ggufhub.Pairs{
		{"model", "transformer"}, {"layers", "h"}, {"embed_tokens", "word_embeddings"}, {"norm", "ln_f"}, {"self_attn", "self_attention"}, {"qkv_proj", "query_key_value"},
		{"o_proj", "dense"}, {"up_proj", "dense_h_to_4h"}, {"down_proj", "dense_4h_to_h"},
	},
	read: func(s settings, c *Config) {
		s.layerNorm(c, "layer_norm_eps", true)
		s.Not("alibi")
		c.JoinedQKV, c.GroupedQKV, c.Plain, c.Act = true, true, true, s.activation("hidden_act", "gelu")
		c.QKVBias, c.Untied = s.Bool("bias", false), !s.Bool("tie_word_embeddings", true)
		c.OutBias, c.MLPBias = c.QKVBias, c.QKVBias
		c.HeadDim = 0
		later := s.Bool("new_decoder_architecture", false)
		if !later {
			c.KVHeads = 0
			if s.Bool("multi_query", true) {
				c.KVHeads = 1
			}
		}
		c.Parallel = later || s.Bool("parallel_attn", true)
		c.BothNorms = later && s.Int("num_ln_in_parallel_attn", 2) == 2
	},
}
