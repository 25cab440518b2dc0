package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// family is the family that a Config of New belongs to, "" if no folder can say it.
func (c Config) family() string {
	if c.Family != "" {
		return c.Family
	}
	f, _, err := c.inFolder()
	if err != nil {
		return ""
	}
	return f.Type
}

// names are those that the family has for members of a model.
func (c Config) names() ggufhub.Pairs {
	f, _ := familyOf(c.family())
	if c.BothNorms && f.Type == falcon.Type {
		return slices.Concat(f.names, ggufhub.Pairs{{"input_layernorm", "ln_attn"}, {"post_attention_layernorm", "ln_mlp"}})
	}
	if c.alone(f) {
		return slices.Concat(f.names, ggufhub.Pairs{{"mlp", expertsBeside}})
	}
	return f.names
}

// alone says of a family whose experts may stand beside a feed-forward layer that there is none.
func (c Config) alone(f family) bool {
	return f.names.Of("mlp") == "shared_mlp" && c.Mixture.Experts > 0 && !c.Mixture.Beside
}

// keys are the settings of a config.json that say what c says. It is an error if no family can say it.
func (c Config) keys() (map[string]any, error) {
	_, keys, err := c.inFolder()
	return keys, err
}

// inFolder finds the family whose folder says what c says: its own, or else the first that can. The error
// tells what the one that comes nearest cannot say.
func (c Config) inFolder() (family, map[string]any, error) {
	c = c.withDefaults()
	list := families
	if c.Family != "" {
		f, ok := familyOf(c.Family)
		if !ok {
			return f, nil, fmt.Errorf("got family %q, want one that folders have", c.Family)
		}
		list = []family{f}
	}
	fewest := math.MaxInt
	var nearest error
	for _, f := range list {
		keys, missing, err := c.keysOf(f)
		if err == nil && len(missing) == 0 {
			f.call(keys)
			return f, keys, nil
		}
		if err == nil {
			err = fmt.Errorf("no folder of %s can say %s: %v", f.Type, missing[0].name, missing[0].is)
		}
		if n := len(missing); nearest == nil || n > 0 && n < fewest {
			fewest, nearest = cmp.Or(n, fewest), err
		}
	}
	return family{}, nil, nearest
}

// keysOf are the settings of a folder of a family, under the names that most families have for them, and what
// its readers would find otherwise.
func (c Config) keysOf(f family) (map[string]any, []difference, error) {
	c.Family = f.Type
	k := c.allKeys(f)
	s, err := pretrained.SettingsOf(configFile, k)
	if err != nil {
		return nil, nil, err
	}
	got, err := parseSettings(s)
	if err != nil {
		return nil, nil, fmt.Errorf("no folder of %s can say this Config: %w", f.Type, err)
	}
	maps.DeleteFunc(k, func(key string, _ any) bool { return !s.Asked(key) })
	k["architectures"] = []string{f.class}
	return k, c.differences(got), nil
}

// allKeys are the settings of all families that c says, under each name that a family has for them.
func (c Config) allKeys(f family) map[string]any {
	c = c.withDefaults()
	act := hiddenAct(c.Act)
	said := c.said()
	logits := 1 / said.HeadScale
	if f.Type == "hyperclovax" {
		logits = said.HeadScale
	}
	k := map[string]any{
		"model_type": c.Family, "vocab_size": c.Vocab, "hidden_size": c.Width, "num_hidden_layers": c.Layers,
		"num_attention_heads": c.Heads, "num_key_value_heads": c.KVHeads, "head_dim": c.HeadDim, "intermediate_size": c.Hidden,
		"max_position_embeddings": cmp.Or(c.Context, 4096), "tie_word_embeddings": !c.Untied,
		"rms_norm_eps": c.Eps, "layer_norm_eps": c.Eps, "norm_eps": c.Eps, "norm_epsilon": c.Eps,
		"hidden_act": act, "hidden_activation": act, "activation_function": act, "lm_head_bias": c.HeadBias, "rope_theta": c.Rope.Base,
		"attention_bias": c.QKVBias, "qkv_bias": c.QKVBias, "use_qkv_bias": c.QKVBias, "use_bias": c.QKVBias, "attention_out_bias": c.OutBias,
		"mlp_bias": c.MLPBias, "bias": c.MLPBias, "use_qk_norm": c.HeadQKNorm, "qk_layernorm": c.QKNorm, "use_parallel_residual": c.Parallel, "parallel_attn": c.Parallel,
		"multi_query": c.KVHeads == 1, "new_decoder_architecture": c.KVHeads != 1 && c.KVHeads != c.Heads || c.BothNorms, "num_ln_in_parallel_attn": map[bool]int{true: 2, false: 1}[c.BothNorms],
		"embedding_multiplier": fraction(said.EmbedScale), "residual_multiplier": fraction(said.ResidualScale), "attention_multiplier": fraction(said.Scale),
		"logit_scale": fraction(said.HeadScale), "logits_scaling": fraction(logits), "query_pre_attn_scalar": math.Round(1 / (said.Scale * said.Scale)),
		"scale_emb": fraction(said.EmbedScale), "scale_depth": said.ResidualScale * math.Sqrt(float64(c.Layers)), "dim_model_base": math.Round(said.HeadScale * float64(c.Width)),
		"sliding_window": nil, "use_sliding_window": c.Window > 0, "max_window_layers": 0, "layer_types": kindsOf(said.Local, "sliding_attention", "full_attention"),
	}
	kinds := kindsOf(said.Local, "local", "global")
	k["attention_layers"], k["attention_types"], k["scale_attn_weights"] = kinds, []any{[]any{kinds, 1}}, said.Scale != 1
	if c.Clip > 0 {
		k["clip_qkv"] = c.Clip
	}
	if c.Window > 0 {
		k["sliding_window"] = c.Window
	}
	if c.Bidirectional {
		k["use_bidirectional_attention"], k["sliding_window"] = true, 2*(c.Window-1)
	}
	if f.Partial != 0 || c.Rope.Rotary != 0 {
		k["partial_rotary_factor"] = float64(cmp.Or(c.Rope.Rotary, c.HeadDim)) / float64(c.HeadDim)
	}
	if c.Rope.Scaling.Kind != "" {
		k["rope_scaling"] = ropeKeys(c.Rope.Scaling)
	}
	if f.kinds {
		delete(k, "partial_rotary_factor")
		k["rope_parameters"] = c.kindsOfRopes()
	} else if c.Rope.Scaling.Kind == "" && f.Type == gptOSS.Type { // where nothing means yarn
		k["rope_parameters"] = map[string]any{"rope_type": "default", "rope_theta": c.Rope.Base}
	}
	if c.LocalRope.Base != 0 {
		k["rope_local_base_freq"] = c.LocalRope.Base
	}
	for key, x := range map[string]float64{"attn_logit_softcapping": c.ScoreCap, "final_logit_softcapping": c.LogitCap} {
		if x != 0 {
			k[key] = fraction(x)
		}
	}
	turning, rates := make([]int, c.Layers), make([]float64, c.Layers)
	for i := range turning {
		if !said.NoRope[i] {
			turning[i], rates[i] = 1, map[bool]float64{true: said.LocalRope.Base, false: c.Rope.Base}[said.Local[i]]
		}
	}
	k["no_rope_layers"], k["layer_rope_theta"], k["num_local_experts"] = turning, rates, 0
	if slices.Contains(turning, 1) {
		k["position_embedding_type"] = "rope"
	}
	if f.names.Of("mlp") == "shared_mlp" {
		k["shared_intermediate_size"] = c.Hidden
	}
	maps.Copy(k, c.Mixture.keys(c))
	maps.Copy(k, c.Recurrent.keys(c))
	if c.alone(f) {
		k["shared_intermediate_size"], k["intermediate_size"] = 0, c.Mixture.Hidden
	}
	c.latentKeys(k)
	c.gemma4Keys(k)
	return k
}

// fraction is a number that transformers does not take for an integer, which some of its settings are not.
func fraction(x float64) json.Number {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// fractions are those of several numbers.
func fractions(list ...float64) (all []json.Number) {
	for _, x := range list {
		all = append(all, fraction(x))
	}
	return all
}

// hiddenAct is the name of an activation in folders.
func hiddenAct(act string) string {
	return map[string]string{"": "silu", "silu": "silu", "gelu_tanh": "gelu_pytorch_tanh", "gelu": "gelu", "relu": "relu", "relu2": "relu2", xielu: xielu}[act]
}

// keys are the settings of a mixture of experts.
func (m Mixture) keys(c Config) map[string]any {
	if m.Experts == 0 {
		return nil
	}
	dense, mixed, first, apart := []int{}, []int{}, 0, 1
	kinds := make([]string, c.Layers)
	for i := range c.Layers {
		if kinds[i] = "sparse"; !c.mixes(i) {
			kinds[i] = "dense"
			dense = append(dense, i)
			if i == first {
				first++
			}
			continue
		}
		if mixed = append(mixed, i); len(mixed) == 2 {
			apart = i - first
		}
	}
	k := map[string]any{
		"num_experts": m.Experts, "num_local_experts": m.Experts, "num_experts_per_tok": m.TopK, "moe_intermediate_size": m.Hidden,
		"decoder_sparse_step": 1, "mlp_only_layers": dense, "norm_topk_prob": m.Normalise, "shared_expert_intermediate_size": m.Shared,
		"n_routed_experts": m.Experts, "n_shared_experts": m.Shared / m.Hidden, "first_k_dense_replace": first, "num_dense_layers": first, "mlp_layer_types": kinds, "num_shared_experts": m.Shared / m.Hidden, "router_scaling_factor": fraction(cmp.Or(m.Scale, 1)), "use_expert_bias": m.Correction,
		"routed_scaling_factor": fraction(cmp.Or(m.Scale, 1)), "n_group": max(m.Groups, 1), "topk_group": max(m.TopGroups, 1), "use_qk_norm": c.QKNorm,
		"moe_shared_expert_intermediate_size": m.Shared, "output_router_logits": m.Balance != 0, "swiglu_limit": fraction(m.Limit), "moe_topk": m.TopK, "moe_k": m.TopK, "moe_num_experts": m.Experts,
		"router_jitter_noise": m.Near / 2, "moe_num_shared_experts": m.Shared / m.Hidden, "moe_layer_start_index": first, "moe_layer_interval": apart, "router_aux_loss_coef": fraction(m.Balance),
	}
	if len(mixed) > 0 {
		k["moe_layer_end_index"] = mixed[len(mixed)-1]
	}
	if m.Latent > 0 {
		k["moe_latent_size"] = m.Latent
	}
	if m.Beside && !m.Apart {
		k["intermediate_size"] = m.Hidden
	}
	return k
}

func kindsOf(layers []bool, yes, no string) []string {
	kinds := make([]string, len(layers))
	for i, l := range layers {
		kinds[i] = map[bool]string{true: yes, false: no}[l]
	}
	return kinds
}

func ropeKeys(s nn.RopeScaling) map[string]any {
	k := map[string]any{"rope_type": cmp.Or(s.Kind, "default")}
	for name, x := range map[string]float64{
		"factor": s.Factor, "low_freq_factor": s.LowFreq, "high_freq_factor": s.HighFreq, "beta_fast": s.BetaFast, "beta_slow": s.BetaSlow,
		"attention_factor": s.Attention, "llama_4_scaling_beta": s.QueryBeta, "original_max_position_embeddings": float64(s.Original),
	} {
		if x != 0 {
			k[name] = x
		}
	}
	if s.Untruncated {
		k["truncate"] = false
	}
	if s.Short != nil {
		k["short_factor"], k["long_factor"] = s.Short, s.Long
		if s.Attention != 0 {
			k["short_mscale"], k["long_mscale"] = s.Attention, s.Attention
		}
	}
	return k
}
