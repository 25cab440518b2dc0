package ggufhub

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// still is by what files divide the rates of pairs that turn nothing.
const still = 1e30

// ofKinds are settings that each kind of layer may have for itself.
var ofKinds = []string{"intermediate_size", "head_dim", "num_key_value_heads"}

// each is a number of each layer, which the metadata say once or as a list.
func (m *Model) each(key string, layers int) []float64 {
	key = m.own(key)
	all, ok := m.value(key).([]int32)
	if !ok {
		return slices.Repeat([]float64{m.number(key, 0)}, layers)
	}
	if len(all) != layers {
		m.fail(key, "got %d layers, want %d", len(all), layers)
		return make([]float64, layers)
	}
	numbers := make([]float64, layers)
	for i, x := range all {
		numbers[i] = float64(x)
	}
	return numbers
}

// global adds what layers without a window have otherwise than the others, and how both turn.
func (m *Model) global(k map[string]any) {
	layers := min(m.count(k, "num_hidden_layers", 0), 1<<16)
	local := list[bool](m, m.own("attention.sliding_window_pattern"))
	if len(local) != layers || layers < 1 {
		m.fail(m.own("attention.sliding_window_pattern"), "got %d layers, want %d", len(local), layers)
		return
	}
	heads, widths := m.each("attention.head_count_kv", layers), m.each("feed_forward_length", layers)
	wide := m.number(m.own("attention.key_length"), 0)
	k["global_head_dim"], k["head_dim"] = wide, m.number(m.own("attention.key_length_swa"), wide)
	k["attention_k_eq_v"], k["use_double_wide_mlp"] = false, slices.Max(widths) > widths[0]
	k["intermediate_size"], k["num_key_value_heads"] = widths[0], heads[0]
	for i, n := range heads {
		if local[i] {
			k["num_key_value_heads"] = n
			continue
		}
		if has := func(name string) bool { return m.has(fmt.Sprintf("blk.%d.%s.weight", i, name)) }; has("attn_k") && !has("attn_v") {
			k["attention_k_eq_v"], k["num_global_key_value_heads"] = true, n
		}
	}
	divisors := m.factors(ropeFreqs)
	turning := len(divisors)
	if i := slices.IndexFunc(divisors, func(x float64) bool { return x > 1 }); i >= 0 {
		turning = i
	}
	k["rope_parameters"] = object{
		"full_attention":    object{"rope_type": "proportional", "partial_rotary_factor": float64(turning) / float64(max(1, len(divisors))), "rope_theta": m.number(m.own("rope.freq_base"), 1e6)},
		"sliding_attention": object{"rope_type": "default", "rope_theta": m.number(m.own("rope.freq_base_swa"), 1e4)},
	}
	k["enable_moe_block"], k["vocab_size_per_layer_input"] = m.file.Has(m.own("expert_count")), k["vocab_size"]
}

// global adds the same to a file.
func (f *folder) global() {
	f.number("final_logit_softcapping", f.setting("final_logit_softcapping")) // llama.cpp takes 30 where a file says none
	wide, head := f.setting("global_head_dim"), f.setting("head_dim")
	for _, key := range []string{"attention.key_length", "attention.value_length", "rope.dimension_count"} {
		f.number(key, wide)
		f.number(key+"_swa", head)
	}
	kinds, _ := f.config["layer_types"].([]any)
	heads, widths := make([]int32, len(kinds)), make([]int32, len(kinds))
	lent := len(kinds) - int(f.setting("num_kv_shared_layers"))
	for i, kind := range kinds {
		heads[i], widths[i] = int32(f.setting("num_global_key_value_heads")), int32(f.setting("intermediate_size"))
		if kind == "sliding_attention" {
			heads[i] = int32(f.setting("num_key_value_heads"))
		}
		if i >= lent {
			widths[i] *= 2
		}
	}
	if f.setting("num_global_key_value_heads") > 0 {
		f.metadata[f.arch+".attention.head_count_kv"] = heads
	}
	if f.config["use_double_wide_mlp"] == true {
		f.metadata[f.arch+".feed_forward_length"] = widths
	}
	all, _ := f.config["rope_parameters"].(object)
	full, _ := all["full_attention"].(object)
	local, _ := all["sliding_attention"].(object)
	for key, o := range map[string]object{"rope.freq_base": full, "rope.freq_base_swa": local} {
		if base, ok := o["rope_theta"].(float64); ok {
			f.number(key, base)
		}
	}
	share, _ := full["partial_rotary_factor"].(float64)
	divisors := make([]float32, int(wide)/2)
	for i := range divisors {
		if divisors[i] = 1; i >= int(wide*cmp.Or(share, 1)/2) {
			divisors[i] = still
		}
	}
	f.extra = append(f.extra, gguf.Entry{Name: ropeFreqs, Type: "F32", Tensor: tensor.From(divisors)})
}
