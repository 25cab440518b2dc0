package llm

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/mcs-notebook/mcs/engine/nn"
)

// architectures are the classes of transformers that read a family's folder.
var architectures = map[string]string{
	"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM",
	"gemma2": "Gemma2ForCausalLM", "gemma3_text": "Gemma3ForCausalLM", "phi3": "Phi3ForCausalLM",
}

// family is the family that a Config of New belongs to.
func (c Config) family() string {
	switch {
	case c.Family != "":
		return c.Family
	case c.Joined:
		return "phi3"
	case c.Sandwich && c.QKNorm:
		return "gemma3_text"
	case c.Sandwich:
		return "gemma2"
	case c.QKNorm:
		return "qwen3"
	case c.QKVBias && !c.OutBias:
		return "qwen2"
	case c.Window > 0:
		return "mistral"
	}
	return "llama"
}

// keys are the settings of a config.json that say what c says. It is an error if no family can say it.
func (c Config) keys() (map[string]any, error) {
	c.Family = c.family()
	if _, ok := families[c.Family]; !ok {
		return nil, fmt.Errorf("got family %q, want one that folders have", c.Family)
	}
	context := c.Context
	if context == 0 {
		context = 4096
	}
	act := map[string]string{"": "silu", "silu": "silu", "gelu_tanh": "gelu_pytorch_tanh", "gelu": "gelu"}[c.Act]
	k := map[string]any{
		"model_type": c.Family, "architectures": []string{architectures[c.Family]}, "vocab_size": c.Vocab, "hidden_size": c.Width,
		"num_hidden_layers": c.Layers, "num_attention_heads": c.Heads, "num_key_value_heads": c.KVHeads, "head_dim": c.HeadDim,
		"intermediate_size": c.Hidden, "max_position_embeddings": context, "tie_word_embeddings": !c.Untied, "rms_norm_eps": c.Eps,
		"hidden_act": act, "attention_bias": c.OutBias, "mlp_bias": c.MLPBias, "rope_theta": c.Rope.Base,
	}
	if c.Rope.Rotary != 0 {
		k["partial_rotary_factor"] = float64(c.Rope.Rotary) / float64(c.HeadDim)
	}
	if c.Rope.Scaling.Kind != "" {
		k["rope_scaling"] = ropeKeys(c.Rope.Scaling)
	}
	if c.Window > 0 {
		k["sliding_window"], k["use_sliding_window"], k["max_window_layers"] = c.Window, true, 0
	}
	if c.Local != nil || c.Sandwich {
		kinds := make([]string, c.Layers)
		for i := range kinds {
			if kinds[i] = "full_attention"; c.local(i) {
				kinds[i] = "sliding_attention"
			}
		}
		k["layer_types"] = kinds
	}
	if c.Sandwich {
		gemmaKeys(c, k, act)
	}
	return k, c.saidBy(k)
}

func gemmaKeys(c Config, k map[string]any, act string) {
	k["hidden_activation"], k["sliding_window"] = act, c.Window
	scale := c.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(c.HeadDim))
	}
	k["query_pre_attn_scalar"] = math.Round(1 / (scale * scale))
	if c.ScoreCap != 0 {
		k["attn_logit_softcapping"] = c.ScoreCap
	}
	if c.LogitCap != 0 {
		k["final_logit_softcapping"] = c.LogitCap
	}
	if c.LocalRope.Base != 0 {
		k["rope_local_base_freq"] = c.LocalRope.Base
	}
}

func ropeKeys(s nn.RopeScaling) map[string]any {
	k := map[string]any{"rope_type": s.Kind}
	for name, x := range map[string]float64{
		"factor": s.Factor, "low_freq_factor": s.LowFreq, "high_freq_factor": s.HighFreq, "beta_fast": s.BetaFast, "beta_slow": s.BetaSlow,
		"attention_factor": s.Attention, "original_max_position_embeddings": float64(s.Original),
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
	}
	return k
}

// saidBy says whether a reader of the keys gets c again.
func (c Config) saidBy(k map[string]any) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	got, err := parseConfig(configFile, text)
	if err != nil {
		return fmt.Errorf("no folder of %s can say this Config: %w", c.Family, err)
	}
	want := c
	want.Seed, want.Checkpoint, want.DType, got.DType = 0, false, 0, 0
	if want.Context == 0 {
		want.Context = got.Context
	}
	if want.Act == "" {
		want.Act = got.Act
	}
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return fmt.Errorf("no folder of %s can say %s: %v", c.Family, a.Type().Field(i).Name, a.Field(i).Interface())
		}
	}
	return nil
}
