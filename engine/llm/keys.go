package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
)

// family is the family that a Config of New belongs to.
func (c Config) family() string {
	if c.Family != "" {
		return c.Family
	}
	for _, f := range slices.Backward(families) {
		if f.has(c) {
			return f.Type
		}
	}
	return ""
}

// keys are the settings of a config.json that say what c says. It is an error if no family can say it.
func (c Config) keys() (map[string]any, error) {
	c.Family = c.family()
	family, ok := familyOf(c.Family)
	if !ok {
		return nil, fmt.Errorf("got family %q, want one that folders have", c.Family)
	}
	context := cmp.Or(c.Context, 4096)
	act := map[string]string{"": "silu", "silu": "silu", "gelu_tanh": "gelu_pytorch_tanh", "gelu": "gelu"}[c.Act]
	k := map[string]any{
		"model_type": c.Family, "architectures": []string{family.class}, "vocab_size": c.Vocab, "hidden_size": c.Width,
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
	want.Context = cmp.Or(want.Context, got.Context)
	want.Act = cmp.Or(want.Act, got.Act)
	a, b := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			return fmt.Errorf("no folder of %s can say %s: %v", c.Family, a.Type().Field(i).Name, a.Field(i).Interface())
		}
	}
	return nil
}
