package ggufhub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A folder is what a file is written of.
type folder struct {
	config   object
	files    map[string][]byte
	family   Family
	arch     string
	metadata map[string]any
	extra    []gguf.Entry // settings that files keep as tensors
	experts  bool         // there are some
	tied     bool         // the embedding is the output matrix
}

// newFolder translates config.json.
func newFolder(families Families, files map[string][]byte, mixed bool) (*folder, error) {
	f := &folder{files: files, experts: mixed, config: object{}, metadata: map[string]any{}}
	if err := json.Unmarshal(files["config.json"], &f.config); err != nil {
		return nil, fmt.Errorf("config.json: %w", err)
	}
	if f.family = families.written(f.config); f.family.Architecture == "" {
		return nil, fmt.Errorf("got a model of type %q, want one of %s, which GGUF files may be", f.config["model_type"], families)
	}
	f.arch = f.family.Architecture
	if mixed && f.family.MixedArchitecture != "" {
		f.arch = f.family.MixedArchitecture
	}
	f.metadata["general.architecture"] = f.arch
	for _, field := range []string{"num_experts", "n_routed_experts"} { // as folders of the hub have it
		if n := f.config[field]; n != nil && mixed {
			f.config["num_local_experts"] = n
		}
	}
	f.metadata["general.quantization_version"] = uint32(2)
	for _, name := range gguf.ConfigKeys() {
		key := f.arch + "." + name
		field, _ := gguf.ConfigField(key)
		if x, ok := f.config[field].(float64); ok {
			f.number(name, x)
		}
	}
	if kinds, ok := f.config["mlp_layer_types"].([]any); ok {
		first := slices.Index(kinds, any("sparse"))
		f.config["first_k_dense_replace"] = float64(max(0, first))
	}
	if f.family.Sparse {
		f.metadata[f.arch+".expert_weights_norm"] = true
	}
	for _, p := range f.family.Keys {
		key, v := p[0], f.config[p[1]]
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0] // the same for all layers
		}
		switch v := v.(type) {
		case bool:
			f.metadata[f.arch+"."+key] = v
		case float64:
			f.number(key, v)
		}
	}
	for key, x := range f.family.Says {
		if x != 0 {
			f.metadata[f.arch+"."+key] = x
		}
	}
	for key, v := range f.family.Fixed {
		f.metadata[f.arch+"."+key] = v
	}
	if f.family.Finetuned {
		f.metadata[f.arch+".rope.scaling.finetuned"] = f.config["position_embedding_type"] == "rope"
	}
	if f.family.Sparse {
		f.number("expert_shared_feed_forward_length", cmp.Or(f.setting("shared_expert_intermediate_size"), f.setting("moe_intermediate_size")*f.setting("num_shared_experts")))
	}
	if f.config["use_sliding_window"] == false && f.config["max_window_layers"] != nil { // Qwen's files may say a window that they do not use
		delete(f.metadata, f.arch+".attention.sliding_window")
	}
	if f.family.SaysWindow && f.config["sliding_window"] == nil {
		f.number("attention.sliding_window", 0)
	}
	f.heads()
	return f, nil
}

// number adds a number: an integer, or a fraction for the keys that are one.
func (f *folder) number(name string, x float64) {
	fraction := strings.HasSuffix(name, "epsilon") || strings.HasSuffix(name, "scale") || strings.HasSuffix(name, "freq_base") || strings.HasSuffix(name, "clamp_kqv") || strings.HasSuffix(name, "softcapping") ||
		strings.Contains(name, "rope.scaling.") && !strings.HasSuffix(name, "context_length") || strings.HasSuffix(name, "freq_base_swa")
	switch {
	case fraction:
		f.metadata[f.arch+"."+name] = float32(x)
	case x >= 0 && x <= math.MaxUint32 && x == math.Trunc(x):
		f.metadata[f.arch+"."+name] = uint32(x)
	}
}

// setting is one of config.json, 0 if there is none.
func (f *folder) setting(names ...string) float64 {
	for _, name := range names {
		if x, ok := f.config[name].(float64); ok {
			return x
		}
	}
	return 0
}

// headCounts are the numbers of heads of queries and of keys.
func (f *folder) headCounts() (heads, kvHeads int) {
	heads = int(f.setting("num_attention_heads"))
	return heads, int(f.setting("num_key_value_heads", "num_attention_heads"))
}

// heads adds what concerns heads, windows and rotary positions.
func (f *folder) heads() {
	heads, kvHeads := f.headCounts()
	if f.family.Attentionless {
		f.number("attention.head_count", 0)
		f.number("feed_forward_length", 0)
		if f.setting("max_position_embeddings") == 0 {
			f.number("context_length", 1<<20)
		}
		return
	}
	head := f.setting("head_dim")
	if head == 0 && heads > 0 {
		head = f.setting("hidden_size") / float64(heads)
	}
	f.number("attention.head_count_kv", float64(kvHeads))
	f.number("attention.key_length", head)
	f.number("attention.value_length", head)
	if short := f.setting("kv_lora_rank"); short > 0 {
		head = f.setting("qk_rope_head_dim")
		end := f.family.ofHeads()
		if end != "" {
			f.number("attention.head_count_kv", 1)
			f.number("attention.key_length", short+head)
			f.number("attention.value_length", short)
		}
		f.number("attention.key_length"+end, f.setting("qk_nope_head_dim")+head)
		f.number("attention.value_length"+end, f.setting("v_head_dim"))
		if end != "" && !f.experts {
			f.number("expert_shared_count", 0) // which llama.cpp asks for all the same
		}
	}
	for _, field := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if x := f.setting(field); x != 0 {
			f.number(field, x)
		}
	}
	if kinds, ok := f.config["layer_types"].([]any); ok && f.family.Every != 2 && f.metadata[f.arch+".attention.sliding_window"] != nil {
		local := make([]bool, len(kinds))
		for i, kind := range kinds {
			local[i] = kind == "sliding_attention"
		}
		f.metadata[f.arch+".attention.sliding_window_pattern"] = local
	}
	if f.family.Global {
		f.global()
		return
	}
	f.rope(int(head))
}

// rope adds rotary positions, in today's form of config.json or in the older one.
func (f *folder) rope(head int) {
	all, _ := f.config["rope_parameters"].(object)
	local, _ := all["sliding_attention"].(object)
	if inner, ok := all["full_attention"].(object); ok {
		all = inner
	}
	if all == nil {
		all, _ = f.config["rope_scaling"].(object)
	}
	get := func(fields ...string) float64 {
		for _, field := range fields {
			if x, ok := all[field].(float64); ok {
				return x
			}
		}
		return f.setting(fields...)
	}
	base := cmp.Or(get("rope_theta"), f.family.Theta, 10000)
	if rates, ok := f.config["layer_rope_theta"].([]any); ok { // of which files have one, and which layers it is of
		turns := make([]bool, len(rates))
		for i, rate := range rates {
			if x, _ := rate.(float64); x != 0 {
				turns[i], base = true, x
			}
		}
		f.metadata[f.arch+".attention.rope_pattern"] = turns
	}
	f.number("rope.freq_base", base)
	if x, ok := local["rope_theta"].(float64); ok {
		f.number("rope.freq_base_swa", x)
	} else if x := f.setting("rope_local_base_freq"); x != 0 {
		f.number("rope.freq_base_swa", x)
	}
	turning := float64(head)
	if share := get("partial_rotary_factor"); share != 0 {
		turning = math.Trunc(turning * share)
	}
	f.number("rope.dimension_count", turning)
	kind, _ := all["rope_type"].(string)
	if kind == "" {
		kind, _ = all["type"].(string)
	}
	if alpha := get("alpha"); kind == "dynamic" && alpha > 0 { // which is another base
		f.number("rope.freq_base", base*math.Pow(alpha, float64(head)/float64(head-2)))
		kind = ""
	}
	f.scaling(kind, all, get, base, int(turning/2))
}

// scaling adds the scaling of rotary positions of that kind, for so many pairs. What a file cannot say is
// found when the draft is read.
func (f *folder) scaling(kind string, all object, get func(fields ...string) float64, base float64, pairs int) {
	original, context := get("original_max_position_embeddings"), f.setting("max_position_embeddings")
	if f.family.SaysContext && original == 0 {
		original = context
	}
	if original != 0 && kind != "llama3" {
		f.number("rope.scaling.original_context_length", original)
	}
	factor := get("factor")
	switch kind {
	case "linear", "yarn":
		if kind == "yarn" && factor == 0 && original > 0 {
			factor = context / original
		}
		f.metadata[f.arch+".rope.scaling.type"] = kind
		f.number("rope.scaling.factor", factor)
		for _, p := range yarnKeys(f.family) {
			if x := get(p[1]); x != 0 {
				f.number(p[0], x*f.family.yarnFactor(p[1]))
			}
		}
	case "longrope", "su":
		f.metadata[f.arch+".rope.scaling.type"] = "longrope"
		f.number("rope.scaling.attn_factor", cmp.Or(get("attention_factor"), longAttention(context, original)))
		f.factors(ropeLong, all["long_factor"])
		f.factors(ropeShort, all["short_factor"])
	case "llama3":
		divisors := []any{}
		for _, x := range llama3Divisors(all, base, max(0, pairs)) {
			divisors = append(divisors, x)
		}
		f.factors(ropeFreqs, divisors)
	}
}

// factors adds a tensor of settings.
func (f *folder) factors(name string, list any) {
	values, _ := list.([]any)
	if len(values) == 0 {
		return
	}
	numbers := make([]float32, len(values))
	for i, v := range values {
		x, _ := v.(float64)
		numbers[i] = float32(x)
	}
	f.extra = append(f.extra, gguf.Entry{Name: name, Type: "F32", Tensor: tensor.From(numbers)})
}

// states adds which layers keep a state, and other numbers that are of each layer or that the tensors say.
func (f *folder) states(d *Draft) {
	if f.family.State == "" {
		return
	}
	_, kvHeads := f.headCounts()
	shapes := map[string][]int{}
	for _, info := range d.Tensors() {
		shapes[info.Name] = info.Shape
	}
	of := func(i int, name string) []int { return shapes[fmt.Sprintf("blk.%d.%s.weight", i, name)] }
	var keys, widths []int32
	var recurs []bool
	for i := 0; of(i, "attn_norm") != nil; i++ {
		keys, widths = append(keys, 0), append(widths, 0)
		recurs = append(recurs, of(i, "attn_k") == nil)
		if !recurs[i] {
			keys[i] = int32(kvHeads)
		}
		if up := cmp.Or(len(of(i, "ffn_up")), len(of(i, "ffn_up_exps"))); up == 2 {
			widths[i] = int32(of(i, "ffn_up")[0])
		} else if up == 3 {
			widths[i] = int32(of(i, "ffn_up_exps")[1])
		}
	}
	f.number("block_count", float64(len(keys)))
	if f.family.Interval > 0 {
		f.metadata[f.arch+".attention.recurrent_layers"] = recurs
		f.number("full_attention_interval", cmp.Or(f.setting("full_attention_interval"), float64(f.family.Interval)))
		return
	}
	f.metadata[f.arch+".attention.head_count_kv"] = keys
	if f.family.Kinds != "" {
		f.metadata[f.arch+".feed_forward_length"] = widths
	}
}
