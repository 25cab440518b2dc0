package llm

import (
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// biasTells says by which tensors a file tells that there are biases.
var biasTells = ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}, {"mlp_bias", "blk.0.ffn_up.bias"}}

// Llama 2 and 3.
var llama = family{
	Family: ggufhub.Family{
		Type: "llama", Architecture: "llama", Interleaved: true,
		Tells: biasTells,
	},
	class: "LlamaForCausalLM",
	read:  func(s settings, c *Config) { s.biases(c, false) },
}

// EuroBERT, an encoder: Llama, whose tokens see those after them, too.
var euroBERT = family{
	Family: ggufhub.Family{Type: "eurobert", Architecture: "eurobert", Fixed: map[string]any{"attention.causal": false, "rope.scaling.type": "none"}},
	class:  "EuroBertModel",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.Eps, c.Bidirectional = s.Number("rms_norm_eps", 1e-5), true
	},
}

// IQuest-Coder.
var iQuestCoder = family{
	Family: ggufhub.Family{Type: "iquestcoder", Architecture: "llama", Interleaved: true},
	class:  "LlamaForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
	},
}

// CWM, whose layers have windows.
var cwm = family{
	Family: ggufhub.Family{Type: "cwm"},
	class:  "CwmForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
		c.Window = s.window(8192)
		c.Local = s.windows(c.Layers, func(i int) bool { return i%4 != 0 })
	},
}

// Mistral, whose files are Llama's with a window.
var mistral = family{
	Family: ggufhub.Family{Type: "mistral", Architecture: "llama", Interleaved: true, Windowed: true},
	class:  "MistralForCausalLM",
	read: func(s settings, c *Config) {
		c.KVHeads = s.Int("num_key_value_heads", 8)
		c.Window = s.Int("sliding_window", 0)
	},
}

// Ministral, of which some layers have the window.
var ministral = family{
	Family: ggufhub.Family{Type: "ministral", Architecture: "llama", Interleaved: true},
	class:  "MinistralForCausalLM",
	read: func(s settings, c *Config) {
		c.KVHeads = s.Int("num_key_value_heads", 8)
		c.Window = s.window(4096)
		c.Local = s.windows(c.Layers, func(int) bool { return c.Window > 0 })
	},
}

// Ministral 3, whose queries grow with their position.
var ministral3 = family{
	Family: ggufhub.Family{Type: "ministral3", Architecture: "mistral3", Interleaved: true,
		Yarn: ggufhub.Pairs{{"rope.scaling.yarn_log_multiplier", "mscale_all_dim"}, {"attention.temperature_scale", "llama_4_scaling_beta"}}},
	class: "Ministral3ForCausalLM",
	grows: true,
	read: func(s settings, c *Config) {
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
		c.Window = s.window(0)
	},
}

// Seed-OSS.
var seedOSS = family{
	Family: ggufhub.Family{Type: "seed_oss", Architecture: "seed_oss",
		Tells: ggufhub.Pairs{{"attention_bias", "blk.0.attn_q.bias"}, {"attention_out_bias", "blk.0.attn_output.bias"}, {"mlp_bias", "blk.0.ffn_up.bias"}}},
	class: "SeedOssForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, true)
		c.OutBias, c.MLPBias = s.Bool("attention_out_bias", false), s.Bool("mlp_bias", false)
		c.KVHeads, c.HeadDim = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128)
	},
}

// SmolLM 3, of which every fourth layer turns nothing.
var smolLM3 = family{
	Family: ggufhub.Family{Type: "smollm3", Architecture: "smollm3", Interleaved: true, Tells: biasTells, Theta: 2e6},
	class:  "SmolLM3ForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.KVHeads, c.Untied = s.Int("num_key_value_heads", 4), !s.Bool("tie_word_embeddings", true)
		c.NoRope = s.noRope(c.Layers)
		if s.Bool("use_sliding_window", false) && s.Has("sliding_window") {
			c.Window = s.window(0)
			c.Local = s.windows(c.Layers, func(i int) bool { return c.NoRope[i] })
		}
	},
}

// noRope reads which layers turn nothing: those with a 0 in no_rope_layers, or every few.
func (s settings) noRope(n int) []bool {
	turning := s.Numbers("no_rope_layers")
	turns := s.every("no_rope_layer_interval", 4)
	if n < 1 || n > 1<<20 || s.Err() != nil {
		return nil // refused by the check of all lengths
	}
	if turning != nil && len(turning) < n {
		s.Fail("no_rope_layers", "got %d layers, want %d", len(turning), n)
		return nil
	}
	return eachLayer(n, func(i int) bool { return turning == nil && !turns(i) || turning != nil && turning[i] == 0 })
}

// Granite, which scales four places.
var granite = family{
	Family: ggufhub.Family{Type: "granite", Architecture: "granite", Interleaved: true, Tells: biasTells,
		Keys: ggufhub.Pairs{
			{"attention.scale", "attention_multiplier"}, {"embedding_scale", "embedding_multiplier"}, {"residual_scale", "residual_multiplier"},
			{"logit_scale", "logits_scaling"},
		},
	},
	class: "GraniteForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.EmbedScale, c.ResidualScale = s.factor("embedding_multiplier", 1), s.factor("residual_multiplier", 1)
		c.Scale = s.Number("attention_multiplier", 1)
		if by := s.factor("logits_scaling", 1); by != 0 {
			c.HeadScale = 1 / by
		}
	},
}

// EXAONE 3 and 3.5, which are Llama with names of their own.
var exaone = family{
	Family: ggufhub.Family{Type: "exaone", Theta: 5e5, Architecture: "exaone"},
	class:  "ExaoneForCausalLM",
	files: []string{"model.layers.", "transformer.h.", "model.embed_tokens.", "transformer.wte.", "model.norm.", "transformer.ln_f.", ".input_layernorm.", ".ln_1.",
		".post_attention_layernorm.", ".ln_2.", ".self_attn.o_proj.", ".attn.attention.out_proj.", ".self_attn.", ".attn.attention.",
		".gate_proj.", ".c_fc_0.", ".up_proj.", ".c_fc_1.", ".down_proj.", ".c_proj."},
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.KVHeads, c.Eps = s.Int("num_key_value_heads", 8), s.Number("rms_norm_eps", s.Number("layer_norm_epsilon", 1e-5))
		if s.Has("activation_function") {
			c.Act = s.activation("activation_function", "silu")
		}
	},
}

// HyperCLOVA X, which is Granite with norms on both sides, and multiplies logits.
var hyperCLOVAX = family{
	Family: ggufhub.Family{Type: "hyperclovax"},
	class:  "HyperCLOVAXForCausalLM",
	names: ggufhub.Pairs{
		{"post_attention_layernorm", "post_norm1"}, {"pre_feedforward_layernorm", "post_attention_layernorm"}, {"post_feedforward_layernorm", "post_norm2"},
	},
	read: func(s settings, c *Config) {
		granite.read(s, c)
		c.HeadScale, c.Scale, c.Sandwich = s.factor("logits_scaling", 1), s.Number("attention_multiplier", 0), true
		if !s.Bool("use_post_norm", true) {
			s.Fail("use_post_norm", "got false, want true")
		}
	},
}

// Helium.
var helium = family{
	Family:      ggufhub.Family{Type: "helium", Theta: 1e5},
	class:       "HeliumForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.OutBias = false
		c.HeadDim, c.Eps = s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-8)
	},
}

// ERNIE 4.5.
var ernie = family{
	Family:      ggufhub.Family{Type: "ernie4_5", Architecture: "ernie4_5", Tells: ggufhub.Pairs{{"use_bias", "blk.0.attn_q.bias"}}, Theta: 5e5},
	class:       "Ernie4_5ForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		c.QKVBias = s.Bool("use_bias", false)
		c.OutBias, c.MLPBias = c.QKVBias, c.QKVBias
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 2), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
		c.Untied = !s.Bool("tie_word_embeddings", true)
	},
}

// InternLM 3.
var internLM3 = family{
	Family: ggufhub.Family{Type: "internlm3", Architecture: "llama", Interleaved: true},
	class:  "InternLM3ForCausalLM",
	read: func(s settings, c *Config) {
		c.QKVBias = s.Bool("attention_bias", s.Bool("qkv_bias", false))
		c.OutBias, c.MLPBias = c.QKVBias, s.Bool("mlp_bias", s.Bool("bias", false))
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 2), s.Int("head_dim", 128), s.Number("rms_norm_eps", 1e-5)
		if c.QKVBias != c.MLPBias {
			s.Fail("qkv_bias", "got %v and bias %v, want the same", c.QKVBias, c.MLPBias)
		}
	},
}

// Arcee, whose feed-forward layers have no gate.
var arcee = family{
	Family: ggufhub.Family{Type: "arcee", Architecture: "arcee", Interleaved: true, Tells: biasTells},
	class:  "ArceeForCausalLM",
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.Plain, c.Act, c.Eps = true, s.activation("hidden_act", "relu2"), s.Number("rms_norm_eps", 1e-5)
	},
}

// Hunyuan's dense models, whose queries and keys are normalised after their turn.
var hunyuan = family{
	Family: ggufhub.Family{Type: "hunyuan_v1_dense", Architecture: "hunyuan-dense", Tells: biasTells},
	class:  "HunYuanDenseV1ForCausalLM",
	names:  ggufhub.Pairs{{"q_norm", "query_layernorm"}, {"k_norm", "key_layernorm"}},
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.QKNorm, c.LateQKNorm, c.MLPBias, c.Eps = true, true, false, s.Number("rms_norm_eps", 1e-5)
	},
}

// Apertus, whose activation has weights.
var apertus = family{
	Family: ggufhub.Family{Type: "apertus", Theta: 1.2e7, Architecture: "apertus", Tells: biasTells, Lists: []ggufhub.List{
		{Key: "xielu.alpha_p", End: ".mlp.act_fn.alpha_p", Rank: 1}, {Key: "xielu.alpha_n", End: ".mlp.act_fn.alpha_n", Rank: 1},
		{Key: "xielu.beta", End: ".mlp.act_fn.beta"}, {Key: "xielu.eps", End: ".mlp.act_fn.eps"},
	}},
	class: "ApertusForCausalLM",
	names: ggufhub.Pairs{{"input_layernorm", "attention_layernorm"}, {"post_attention_layernorm", "feedforward_layernorm"}},
	read: func(s settings, c *Config) {
		s.biases(c, false)
		c.MLPBias, c.QKNorm, c.Plain = false, true, true
		c.Act, c.Eps = s.activation("hidden_act", xielu), s.Number("rms_norm_eps", 1e-5)
		if !s.Has("rope_parameters") && !s.Has("rope_scaling") && !s.Has("rope_theta") {
			c.Rope = nn.Rope{Base: 1.2e7, Scaling: nn.RopeScaling{Kind: "llama3", Factor: 8, LowFreq: 1, HighFreq: 4, Original: 8192, Context: c.Context}}
			c.LocalRope = c.Rope
		}
	},
}
