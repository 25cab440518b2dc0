package llm

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Mamba-2, whose layers have nothing else.
var mamba2 = family{
	Family: ggufhub.Family{Type: "mamba2", Architecture: "mamba2", Attentionless: true, Width: "head_dim", Changes: ggufhub.Mamba, Tells: ggufhub.Pairs{{"use_conv_bias", "blk.*.ssm_conv1d.bias"}},
		Keys: ggufhub.Pairs{
			{"ssm.conv_kernel", "conv_kernel"}, {"ssm.state_size", "state_size"}, {"ssm.time_step_rank", "num_heads"}, {"ssm.group_count", "n_groups"},
			{"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
		}},
	class:     "Mamba2ForCausalLM",
	unadapted: []string{"out_proj"},
	names:     ggufhub.Pairs{{"model", "backbone"}, {"embed_tokens", "embeddings"}, {"norm", "norm_f"}, {"input_layernorm", "norm"}},
	read: func(s settings, c *Config) {
		c.Eps, c.Single = s.Number("layer_norm_epsilon", 1e-5), make([]bool, min(max(c.Layers, 0), 1<<20))
		bias := s.Bool("use_bias", false)
		c.Recurrent = Recurrent{
			Kind: "mamba", Kernel: s.Int("conv_kernel", 4), Bias: bias, ConvBias: s.Bool("use_conv_bias", true), OutBias: bias,
			Keys: s.Int("n_groups", 8), Values: s.Int("num_heads", 128), KeyDim: s.Int("state_size", 128), ValueDim: s.Int("head_dim", 64),
			Limits: s.limits(),
		}
		s.inner(c, s.Int("expand", 2)*c.Width)
	},
}

// Falcon-H1, whose layers have attention and a state side by side, and factors of both.
var falconH1 = family{
	Family: ggufhub.Family{Type: "falcon_h1", Architecture: "falcon-h1", Width: "mamba_d_head", Changes: ggufhub.Baked, Keys: mambaMetadata,
		Tells: ggufhub.Pairs{{"mamba_conv_bias", "blk.*.ssm_conv1d.bias"}, {"mamba_rms_norm", "blk.0.ssm_norm.weight"}},
		Knows: map[string]any{"mamba_norm_before_gate": false}},
	class:     "FalconH1ForCausalLM",
	unadapted: []string{"out_proj"},
	folded:    true,
	names:     ggufhub.Pairs{{"mixer", "mamba"}, {"mlp", "feed_forward"}, {"post_attention_layernorm", "pre_ff_layernorm"}, {"norm", "final_layernorm"}},
	read: func(s settings, c *Config) {
		c.KVHeads, c.Eps = s.Int("num_key_value_heads", 8), s.Number("rms_norm_eps", 1e-5)
		s.biases(c, false)
		inner := s.Int("mamba_d_ssm", 1024)
		if s.Null("mamba_d_ssm") {
			inner = s.Int("mamba_expand", 2) * c.Width
		}
		s.mamba(c, inner)
		r := &c.Recurrent
		r.Beside, r.OutBias = true, s.Bool("projectors_bias", false)
		if r.NoNorm = !s.Bool("mamba_rms_norm", false); !r.NoNorm {
			r.NormFirst = s.Bool("mamba_norm_before_gate", true)
		}
		r.In, r.Factors, r.Scale = s.factor("ssm_in_multiplier", 1), [5]float64(s.numbers("ssm_multipliers", 5)), s.factor("ssm_out_multiplier", 1)
		c.EmbedScale, c.HeadScale = s.factor("embedding_multiplier", 1), s.factor("lm_head_multiplier", 1)
		c.AttnIn, c.AttnScale = s.factor("attention_in_multiplier", 1), s.factor("attention_out_multiplier", 1)
		c.Scale = s.Number("key_multiplier", 1) / math.Sqrt(float64(max(1, c.withDefaults().HeadDim)))
		mlp := s.numbers("mlp_multipliers", 2)
		c.GateScale, c.MLPScale = mlp[0], mlp[1]
	},
}

// Bamba, of which some layers have attention.
var bamba = family{
	Family: ggufhub.Family{Type: "bamba", Partial: 0.5, Architecture: "granitehybrid", Interleaved: true, State: "linear_attention", Width: "mamba_d_head", Attending: "attn_layer_indices",
		Calls: ggufhub.Pairs{{"model.final_layernorm.", "model.norm."}, {".pre_ff_layernorm.", ".post_attention_layernorm."},
			{".feed_forward.down_proj.", ".shared_mlp.output_linear."}, {".feed_forward.", ".shared_mlp."}},
		Changes: ggufhub.Mamba, Keys: mambaMetadata, Fixed: map[string]any{"rope.scaling.finetuned": true},
		Tells: slices.Concat(graniteHybrid.Tells, ggufhub.Pairs{{"mlp_bias", "blk.0.ffn_up.bias"}})},
	class: "BambaForCausalLM",
	names: falconH1.names,
	read: func(s settings, c *Config) {
		c.KVHeads, c.Eps = s.Int("num_key_value_heads", 8), s.Number("rms_norm_eps", 1e-5)
		s.biases(c, false)
		s.mamba(c, s.Int("mamba_expand", 2)*c.Width)
		attention := s.Numbers("attn_layer_indices")
		c.Recurrent.Layers = eachLayer(c.Layers, func(i int) bool { return !slices.Contains(attention, float64(i)) })
	},
}

// mambaMetadata are the metadata of Mamba-2 beside attention.
var mambaMetadata = ggufhub.Pairs{
	{"ssm.conv_kernel", "mamba_d_conv"}, {"ssm.state_size", "mamba_d_state"}, {"ssm.time_step_rank", "mamba_n_heads"}, {"ssm.group_count", "mamba_n_groups"},
}

var graniteNames = ggufhub.Pairs{{"mixer", "mamba"}, {"mlp", "shared_mlp"}, {"gate_up_proj", "input_linear"}, {"down_proj", "output_linear"}, {"gate", "router"}}

// Granite 4, whose layers have attention or a state, and mostly experts beside a feed-forward layer.
var graniteHybrid = family{
	Family: ggufhub.Family{Type: "granitemoehybrid", Architecture: "granitehybrid", Interleaved: true, State: "linear_attention", Width: "mamba_d_head", Finetuned: true, Says: map[string]uint32{"logit_scale": 0},
		Changes: ggufhub.MambaHalves, Keys: slices.Concat(graniteShared.Keys, mambaMetadata), Knows: map[string]any{"num_local_experts": 0},
		Tells: ggufhub.Pairs{{"attention_bias", "blk.*.attn_q.bias"}, {"mamba_conv_bias", "blk.*.ssm_conv1d.bias"}}},
	class:  "GraniteMoeHybridForCausalLM",
	names:  graniteNames,
	files:  graniteMoe.files,
	joined: true,
	read: func(s settings, c *Config) {
		s.mamba(c, s.Int("mamba_expand", 2)*c.Width)
		c.Recurrent.Layers = s.layers(c.Layers, "linear_attention", func(int) bool { return true })
		if s.Text("position_embedding_type", "") != "rope" {
			c.NoRope = slices.Repeat([]bool{true}, min(max(c.Layers, 0), 1<<20))
		}
		s.graniteBeside(c)
	},
}

// Granite with experts beside a feed-forward layer.
var graniteShared = family{
	Family: ggufhub.Family{Type: "granitemoeshared", Architecture: "granitemoe", Interleaved: true, Tells: biasTells, Says: map[string]uint32{"expert_shared_feed_forward_length": 0},
		Changes: ggufhub.Halves, Keys: slices.Concat(granite.Keys, ggufhub.Pairs{{"expert_shared_feed_forward_length", "shared_intermediate_size"}})},
	class:  "GraniteMoeSharedForCausalLM",
	names:  graniteNames,
	files:  graniteMoe.files,
	joined: true,
	read:   settings.graniteBeside,
}

// graniteSWA reads what Granite's models with windows and sinks have in common.
func (s settings) graniteSWA(c *Config) {
	c.Sinks, c.Window = true, s.window(128)
	c.Local = s.windows(c.Layers, func(i int) bool { return i%4 != 0 })
}

// rates reads the rate of each layer, of which those with a window have one and the others one; layers of
// rate 0 turn nothing.
func (s settings) rates(c *Config) {
	list := s.Numbers("layer_rope_theta")
	if list == nil {
		return
	}
	if len(list) != c.Layers {
		s.Fail("layer_rope_theta", "got %d layers, want %d", len(list), c.Layers)
		return
	}
	c.NoRope, c.LocalRope = make([]bool, c.Layers), c.Rope
	said := map[*nn.Rope]bool{}
	for i, rate := range list {
		r := &c.Rope
		if c.local(i) {
			r = &c.LocalRope
		}
		if c.NoRope[i] = rate == 0; rate == 0 {
			continue
		}
		if said[r] && r.Base != rate {
			s.Fail("layer_rope_theta", "got %v in layer %d and %v in another one of its kind, want the same", rate, i, r.Base)
		}
		said[r], r.Base = true, rate
	}
}

// Granite with windows and sinks.
var graniteSWA = family{
	Family: ggufhub.Family{Type: "granite_swa", Architecture: "granite_swa", Interleaved: true, Layers: true, Tells: biasTells, Keys: granite.Keys},
	class:  "GraniteSWAForCausalLM",
	rates:  true,
	read: func(s settings, c *Config) {
		granite.read(s, c)
		c.Untied, c.Eps = !s.Bool("tie_word_embeddings", true), s.Number("rms_norm_eps", 1e-5)
		s.graniteSWA(c)
	},
}

// Granite with windows, sinks and experts.
var graniteMoeSWA = family{
	Family: ggufhub.Family{Type: "granitemoe_swa", Architecture: "granite_swa", Mixed: true, Interleaved: true, Layers: true, Fused: true, Tells: biasTells, Keys: graniteShared.Keys},
	class:  "GraniteMoeSWAForCausalLM",
	rates:  true,
	names:  graniteNames,
	joined: true,
	read: func(s settings, c *Config) {
		if s.Int("shared_intermediate_size", 0) > 0 {
			s.graniteBeside(c)
		} else {
			s.mixture(c, 0.001).Hidden = s.Need("intermediate_size")
			granite.read(s, c)
			c.MLPBias, c.Mixture.Normalise = false, true
		}
		s.graniteSWA(c)
	},
}

// Nemotron-H, whose layers are each a state, attention, a feed-forward layer or experts.
var nemotronH = family{
	Family: ggufhub.Family{Type: "nemotron_h", Architecture: "nemotron_h", MixedArchitecture: "nemotron_h_moe", State: "linear_attention", Kinds: "layers_block_type",
		Width: "mamba_head_dim", Finetuned: true, Interleaved: true, Changes: ggufhub.Mamba, Tells: ggufhub.Pairs{{"use_conv_bias", "blk.*.ssm_conv1d.bias"}},
		Keys: slices.Concat(deepKeys, ggufhub.Pairs{
			{"ssm.conv_kernel", "conv_kernel"}, {"ssm.state_size", "ssm_state_size"}, {"ssm.time_step_rank", "mamba_num_heads"}, {"ssm.group_count", "n_groups"},
			{"attention.layer_norm_epsilon", "layer_norm_epsilon"}, {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"},
			{"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size"}, {"moe_latent_size", "moe_latent_size"},
		})},
	class:     "NemotronHForCausalLM",
	unadapted: []string{"out_proj"},
	names: ggufhub.Pairs{
		{"embed_tokens", "embeddings"}, {"norm", "norm_f"}, {"input_layernorm", "norm"}, {"post_attention_layernorm", "norm"}, {"self_attn", "mixer"}, {"mlp", "mixer"},
		{"shared_expert", "shared_experts"},
	},
	files: []string{"model.", "backbone."},
	ahead: true,
	read: func(s settings, c *Config) {
		c.KVHeads, c.HeadDim, c.Eps = s.Int("num_key_value_heads", 8), s.Int("head_dim", 128), s.Number("layer_norm_epsilon", 1e-5)
		c.Plain, c.MLPBias, c.Act = true, s.Bool("mlp_bias", false), s.activation("mlp_hidden_act", "relu2")
		bias := s.Bool("use_bias", false)
		r := &c.Recurrent
		*r = Recurrent{
			Kind: "mamba", Kernel: s.Int("conv_kernel", 4), Act: s.activation("mamba_hidden_act", "silu"), Bias: bias, ConvBias: s.Bool("use_conv_bias", true), OutBias: bias,
			Keys: s.Int("n_groups", 8), Values: s.Int("mamba_num_heads", 128), KeyDim: s.Int("ssm_state_size", 128), ValueDim: s.Int("mamba_head_dim", 64),
			Limits: [2]float64{s.Number("time_step_min", 0.001)},
		}
		kinds := s.kinds()
		c.Layers = len(kinds)
		c.Single, r.Layers, c.NoRope = make([]bool, len(kinds)), make([]bool, len(kinds)), slices.Repeat([]bool{true}, len(kinds))
		for i, kind := range kinds {
			c.Single[i], r.Layers[i] = kind == "mlp" || kind == "moe", kind == "linear_attention"
			if !slices.Contains([]string{"mlp", "moe", "linear_attention", "full_attention"}, kind) {
				s.Fail("layers_block_type", "got %q, want mlp, moe, linear_attention or full_attention", kind)
			}
		}
		if !slices.Contains(kinds, "moe") {
			return
		}
		s.deepSeek(c, 0, true)
		m := &c.Mixture
		m.Shared, m.Latent, m.Dense = s.Int("moe_shared_expert_intermediate_size", 7688), s.Int("moe_latent_size", 0), eachLayer(len(kinds), func(i int) bool { return kinds[i] == "mlp" })
	},
}

// kinds are those of the layers of Nemotron-H.
func (s settings) kinds() []string {
	kinds := s.Texts("layers_block_type")
	if kinds == nil {
		for _, letter := range s.Text("hybrid_override_pattern", "") {
			kinds = append(kinds, map[rune]string{'M': "linear_attention", 'E': "moe", '*': "full_attention", '-': "mlp"}[letter])
		}
	}
	for i, kind := range kinds {
		kinds[i] = cmp.Or(oldKinds[kind], kind)
	}
	return kinds
}

// depth is how many layers there are; Nemotron-H lists their kinds instead.
func (s settings) depth() int {
	if !s.Has("num_hidden_layers") {
		if s.Has("num_layers") {
			return s.Need("num_layers") // EXAONE
		}
		if n := len(s.kinds()); n > 0 {
			return n
		}
	}
	return s.Need("num_hidden_layers")
}

// graniteBeside reads what Granite's models with a feed-forward layer beside experts have in common.
func (s settings) graniteBeside(c *Config) {
	granite.read(s, c)
	c.MLPBias, c.JoinedMLP = false, true
	if c.Hidden < 1 {
		s.Fail("shared_intermediate_size", "got %d, want a positive number", c.Hidden)
	}
	if s.Int("num_local_experts", 8) == 0 {
		return
	}
	m := s.mixture(c, 0.001)
	m.Hidden, m.Normalise, m.Beside = s.Need("intermediate_size"), true, true
}

// mamba reads Mamba-2 as most families say it, whose heads are so wide together.
func (s settings) mamba(c *Config, inner int) {
	heads, width := s.Int("mamba_n_heads", 128), 0
	if !s.Try("mamba_d_head", &width) {
		width = inner / max(1, heads) // "auto"
	}
	bias := s.Bool("mamba_proj_bias", false)
	c.Recurrent = Recurrent{
		Kind: "mamba", Kernel: s.Int("mamba_d_conv", 4), Bias: bias, ConvBias: s.Bool("mamba_conv_bias", true), OutBias: bias,
		Keys: s.Int("mamba_n_groups", 1), Values: heads, KeyDim: s.Int("mamba_d_state", 256), ValueDim: width, Limits: s.limits(),
	}
	s.inner(c, inner)
}

// inner refuses heads that are not so wide together.
func (s settings) inner(c *Config, inner int) {
	if r := c.Recurrent; r.Values > 1<<16 || r.ValueDim > 1<<16 || r.Values*r.ValueDim != inner {
		s.Fail("", "got %d heads with a state of width %d, want a width of %d together", r.Values, r.ValueDim, inner)
	}
}

// limits reads those of Δ.
func (s settings) limits() (l [2]float64) {
	if list := s.Bounds("time_step_limit"); len(list) == 2 {
		l = [2]float64(list)
	} else if list != nil {
		s.Fail("time_step_limit", "got %d numbers, want 2", len(list))
	}
	if math.IsInf(l[1], 1) {
		l[1] = 0
	}
	return l
}

// numbers reads n numbers, which are 1 where there are none.
func (s settings) numbers(key string, n int) []float64 {
	list := s.Numbers(key)
	if list != nil && len(list) != n {
		s.Fail(key, "got %d numbers, want %d", len(list), n)
	}
	if len(list) != n {
		return slices.Repeat([]float64{1}, n)
	}
	return list
}

// heads is how many heads attention has; Mamba-2 has none.
func (s settings) heads() int {
	if !s.Has("num_attention_heads") && s.Has("state_size") {
		return 0
	}
	return s.Need("num_attention_heads")
}

// mambaKeys are the settings of Mamba-2 under each name that a family has for them.
func (r Recurrent) mambaKeys(c Config) map[string]any {
	if r.Kind != "mamba" {
		return nil
	}
	said := c.said()
	limits := []any{fraction(r.Limits[0]), fraction(r.Limits[1])}
	if r.Limits[1] == 0 {
		limits[1] = map[string]string{"__float__": "Infinity"}
	}
	inner := r.Values * r.ValueDim
	kinds := make([]string, c.Layers)
	for i := range kinds {
		switch {
		case c.recurs(i):
			kinds[i] = "linear_attention"
		case c.attends(i):
			kinds[i] = "full_attention"
		case c.mixes(i):
			kinds[i] = "moe"
		default:
			kinds[i] = "mlp"
		}
	}
	k := map[string]any{
		"layers_block_type": kinds, "ssm_state_size": r.KeyDim, "mamba_num_heads": r.Values, "mamba_head_dim": r.ValueDim, "time_step_min": fraction(r.Limits[0]),
		"mamba_hidden_act": hiddenAct(cmp.Or(r.Act, c.Act)), "mlp_hidden_act": hiddenAct(c.Act), "layer_norm_epsilon": c.Eps, "use_bias": r.Bias, "use_conv_bias": r.ConvBias, "conv_kernel": r.Kernel, "n_groups": r.Keys,
		"num_heads": r.Values, "state_size": r.KeyDim, "expand": inner / c.Width, "mamba_d_ssm": inner, "mamba_d_head": r.ValueDim,
		"mamba_n_heads": r.Values, "mamba_n_groups": r.Keys, "mamba_d_state": r.KeyDim, "mamba_d_conv": r.Kernel, "mamba_expand": inner / c.Width,
		"mamba_conv_bias": r.ConvBias, "mamba_proj_bias": r.Bias, "projectors_bias": r.OutBias, "mamba_rms_norm": !r.NoNorm,
		"mamba_norm_before_gate": r.NormFirst, "time_step_limit": limits, "ssm_in_multiplier": fraction(said.Recurrent.In),
		"ssm_out_multiplier": fraction(said.Recurrent.Scale),
		"ssm_multipliers":    fractions(said.Recurrent.Factors[:]...), "lm_head_multiplier": fraction(said.HeadScale),
		"mlp_multipliers":         fractions(said.GateScale, said.MLPScale),
		"attention_in_multiplier": fraction(said.AttnIn), "attention_out_multiplier": fraction(said.AttnScale),
		"key_multiplier": fraction(said.Scale * math.Sqrt(float64(c.HeadDim))),
	}
	if c.attentionless() {
		k["head_dim"] = r.ValueDim
	}
	return k
}

func (c *maker) mamba() nn.Recurrent {
	r := c.Recurrent
	m := &nn.Mamba{Act: activations[cmp.Or(r.Act, c.Act)], Heads: r.Values, Dim: r.ValueDim, Groups: r.Keys, State: r.KeyDim, Limits: r.Limits, NormFirst: r.NormFirst, Factors: r.Factors}
	inner := r.Values * r.ValueDim
	channels := inner + 2*r.Keys*r.KeyDim
	m.In = c.linear(c.Width, inner+channels+r.Values, r.Bias)
	m.Conv = c.conv(channels, r.Kernel, r.ConvBias, 1/math.Sqrt(float64(r.Kernel)))
	m.Bias, m.ALog, m.D = tensor.Zeros(r.Values), tensor.Zeros(r.Values), tensor.Ones(r.Values)
	if !r.NoNorm {
		m.Norm = &nn.RMSNorm{Weight: tensor.Ones(inner), Eps: c.Eps, Groups: r.Keys}
	}
	m.Out = c.residual(inner, c.Width, r.OutBias)
	return m
}
