package llm

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// A Latent says of which lengths latent attention is: see [nn.Latent]. Config.HeadDim is the width of a
// head's queries and keys, Turning among it.
type Latent struct {
	Q, KV   int // of the short vectors; Q 0: queries are made of the whole one. KV 0: there is no latent attention
	Turning int // numbers of a head's queries and keys that turn
	Value   int // of a head's values
}

// check says what no latent attention can have.
func (l Latent) check(c Config) error {
	switch {
	case l == Latent{}:
		return nil
	case l.KV < 1 || l.Q < 0 || l.Value < 1 || max(l.KV, l.Q, l.Value) > 1<<31:
		return fmt.Errorf("got short vectors of %d and %d and values of %d, want positive lengths", l.Q, l.KV, l.Value)
	case l.Turning < 2 || l.Turning > c.HeadDim:
		return fmt.Errorf("got %d turning numbers of heads of %d, want 2 or more of them", l.Turning, c.HeadDim)
	case c.KVHeads != c.Heads || c.JoinedQKV || c.QKNorm:
		return fmt.Errorf("got Latent with %d heads for keys of %d, JoinedQKV %v, QKNorm %v, want as many heads, and none of these", c.KVHeads, c.Heads, c.JoinedQKV, c.QKNorm)
	}
	return nil
}

// cached is how wide the keys and values of a token are in a layer's cache, of each of some heads. Latent
// attention has one row for all heads, which is both, if that is less.
func (c Config) cached(layer int) (heads, key, value int) {
	if row := c.Latent.KV + c.Latent.Turning; c.Latent.KV > 0 && row < c.KVHeads*(c.HeadDim+c.Latent.Value) {
		return 1, row, 0
	}
	if c.Latent.KV > 0 {
		return c.KVHeads, c.HeadDim, c.Latent.Value
	}
	heads, key = c.heads(layer)
	return heads, key, key
}

// latent makes what an attention has in place of q, k and v.
func (c *maker) latent(a *nn.Attention) {
	l := c.Latent
	norm := func(width int) nn.Layer {
		n := c.norm(width)
		if rms, ok := n.(*nn.RMSNorm); ok {
			rms.Eps = 1e-6 // whatever the others have
		}
		return n
	}
	a.Latent = &nn.Latent{Turning: l.Turning, Value: l.Value}
	if l.Q > 0 {
		a.Latent.QA = c.linear(c.Width, l.Q, c.QKVBias)
		a.Latent.QNorm = norm(l.Q)
		a.Latent.QB = c.linear(l.Q, c.Heads*c.HeadDim, false)
	} else {
		a.Q = c.linear(c.Width, c.Heads*c.HeadDim, false)
	}
	a.Latent.KVA = c.linear(c.Width, l.KV+l.Turning, c.QKVBias)
	a.Latent.KVNorm = norm(l.KV)
	a.Latent.KVB = c.linear(l.KV, c.Heads*(c.HeadDim-l.Turning+l.Value), false)
}

// latent reads the lengths of latent attention; other and still, how much of a head does not turn, are those
// of a folder that does not say them.
func (s settings) latent(c *Config, other Latent, still int) {
	l := &c.Latent
	if l.Q = s.Int("q_lora_rank", other.Q); s.Null("q_lora_rank") {
		l.Q = 0
	}
	l.KV, l.Turning, l.Value = s.Int("kv_lora_rank", other.KV), s.Int("qk_rope_head_dim", other.Turning), s.Int("v_head_dim", other.Value)
	c.HeadDim = s.Int("qk_nope_head_dim", still) + l.Turning
	c.KVHeads = c.Heads
	c.QKVBias = s.Bool("attention_bias", false)
	c.OutBias = c.QKVBias
	if l.KV < 1 {
		s.Fail("kv_lora_rank", "got %d, want a positive length", l.KV)
	}
}

// latentRope says which part of heads turns, and how scores grow with yarn.
func (s settings) latentRope(c *Config) {
	if c.Latent.KV < 1 {
		return
	}
	c.Rope.Rotary, c.Rope.Interleaved = c.Latent.Turning, s.Bool("rope_interleave", s.family.interleaved)
	o := s.Object("rope_parameters")
	if o == nil {
		o = s.Object("rope_scaling")
	}
	if o == nil || c.Rope.Scaling.Kind == "" {
		return
	}
	if all, factor := o.Number("mscale_all_dim", 0), o.Number("factor", 1); all != 0 && factor > 1 {
		more := 0.1*all*math.Log(factor) + 1
		c.Scale = more * more / math.Sqrt(float64(c.HeadDim))
	}
}

// latentKeys are the settings of latent attention.
func (c Config) latentKeys(k map[string]any) {
	l := c.Latent
	if l.KV == 0 {
		return
	}
	delete(k, "partial_rotary_factor")
	k["q_lora_rank"], k["kv_lora_rank"], k["rope_interleave"] = any(nil), l.KV, c.Rope.Interleaved
	if l.Q > 0 {
		k["q_lora_rank"] = l.Q
	}
	k["qk_rope_head_dim"], k["qk_nope_head_dim"], k["v_head_dim"], k["head_dim"] = l.Turning, c.HeadDim-l.Turning, l.Value, l.Turning
	if k["topk_method"] = "greedy"; c.Mixture.Groups > 1 {
		k["topk_method"] = "group_limited_greedy"
	}
	if more := math.Sqrt(c.said().Scale * math.Sqrt(float64(c.HeadDim))); more > 1+1e-9 && c.Rope.Scaling.Factor > 1 {
		k["rope_scaling"].(map[string]any)["mscale_all_dim"] = (more - 1) / (0.1 * math.Log(c.Rope.Scaling.Factor))
	}
}

// latentMetadata and latentYarn are those of DeepSeek's models.
var (
	latentMetadata = slices.Concat(deepKeys, ggufhub.Pairs{{"attention.q_lora_rank", "q_lora_rank"}, {"attention.kv_lora_rank", "kv_lora_rank"}})
	latentYarn     = ggufhub.Pairs{{"rope.scaling.yarn_log_multiplier", "mscale_all_dim"}}
)

// DeepSeek V2, whose experts are chosen by the softmax of their logits.
var deepSeek2 = family{
	Family:      ggufhub.Family{Type: "deepseek_v2", Architecture: "deepseek2", Mixed: true, Latent: true, Changes: ggufhub.Latent, Keys: latentMetadata, Yarn: latentYarn},
	class:       "DeepseekV2ForCausalLM",
	interleaved: true,
	names:       ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	read: func(s settings, c *Config) {
		s.latent(c, Latent{Q: 1536, KV: 512, Turning: 64, Value: 128}, 128)
		s.deepSeek(c, 0, false)
		c.MLPBias = s.Bool("mlp_bias", false)
		m := &c.Mixture
		m.Sigmoid, m.Correction = false, false
		s.Not("norm_topk_prob") // which transformers does not heed
		if s.OneOf("topk_method", "greedy", "greedy", "group_limited_greedy") == "greedy" {
			m.Groups, m.TopGroups = 0, 0
		}
	},
}

// DeepSeek V3 and R1.
var deepSeek3 = family{
	Family:      ggufhub.Family{Type: "deepseek_v3", Architecture: "deepseek2", Mixed: true, Says: sigmoids, Latent: true, Changes: ggufhub.Latent, Keys: latentMetadata, Yarn: latentYarn},
	class:       "DeepseekV3ForCausalLM",
	interleaved: true,
	names:       ggufhub.Pairs{{"shared_expert", "shared_experts"}},
	ahead:       true,
	read: func(s settings, c *Config) {
		s.latent(c, Latent{Q: 1536, KV: 512, Turning: 64, Value: 128}, 128)
		s.deepSeek(c, 3, true)
		m := &c.Mixture
		m.Scale, m.Groups, m.TopGroups = s.factor("routed_scaling_factor", 2.5), s.Int("n_group", 8), s.Int("topk_group", 4)
	},
}

// GLM 4.7 Flash, which is DeepSeek V3 with other words for the layers without experts.
var glm4MoeLite = family{
	Family:      ggufhub.Family{Type: "glm4_moe_lite", Architecture: "deepseek2", Mixed: true, Says: sigmoids, Latent: true, Changes: ggufhub.Latent, Keys: latentMetadata, Yarn: latentYarn},
	class:       "Glm4MoeLiteForCausalLM",
	interleaved: true,
	names:       deepSeek3.names,
	ahead:       true,
	read: func(s settings, c *Config) {
		s.latent(c, Latent{Q: 768, KV: 512, Turning: 64, Value: 256}, 192)
		s.deepSeek(c, 1, true)
		c.Eps, c.Mixture.Scale = s.Number("rms_norm_eps", 1e-5), s.factor("routed_scaling_factor", 1.8)
		s.sparseKinds(c, 1)
	},
}

// Youtu, which is DeepSeek V3 without experts.
var youtu = family{
	Family: ggufhub.Family{Type: "youtu", Architecture: "deepseek2", Latent: true, Changes: ggufhub.Latent, Yarn: latentYarn,
		Keys: slices.Concat(latentMetadata, ggufhub.Pairs{{"leading_dense_block_count", "num_hidden_layers"}, {"expert_feed_forward_length", "intermediate_size"}})},
	class:       "YoutuForCausalLM",
	interleaved: true,
	read: func(s settings, c *Config) {
		s.latent(c, Latent{Q: 1536, KV: 512, Turning: 64, Value: 128}, 128)
		c.Untied = !s.Bool("tie_word_embeddings", true)
	},
}

// MiniCPM 3, whose factors are Granite's under other names.
var miniCPM3 = family{
	Family: ggufhub.Family{Type: "minicpm3", Architecture: "minicpm3", Latent: true,
		Keys:  ggufhub.Pairs{{"attention.q_lora_rank", "q_lora_rank"}, {"attention.kv_lora_rank", "kv_lora_rank"}},
		Knows: map[string]any{"scale_emb": 12.0, "scale_depth": 1.4, "dim_model_base": 256.0}},
	class: "MiniCPM3ForCausalLM",
	read: func(s settings, c *Config) {
		s.latent(c, Latent{Q: 768, KV: 256, Turning: 32, Value: c.Width / max(1, c.Heads)}, 64)
		c.Eps, c.Untied, c.MLPBias = s.Number("rms_norm_eps", 1e-5), !s.Bool("tie_word_embeddings", true), s.Bool("mlp_bias", false)
		c.EmbedScale, c.ResidualScale = s.factor("scale_emb", 12), 1
		if !s.Null("scale_depth") {
			c.ResidualScale = s.Number("scale_depth", 1.4) / math.Sqrt(float64(c.Layers))
		}
		if !s.Null("dim_model_base") {
			c.HeadScale = s.Number("dim_model_base", 256) / float64(c.Width)
		}
	},
}
