package ggufhub

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/gguf"
)

// fail makes a key of the metadata the error, if there is none yet.
func (m *Model) fail(key, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s: %s", m.path, key, fmt.Sprintf(format, args...))
	}
}

// value reads one of the metadata; nil: there is none.
func (m *Model) value(key string) any {
	if !m.file.Has(key) {
		return nil
	}
	v, err := m.file.Value(key)
	if err != nil && m.err == nil {
		m.err = err
	}
	return v
}

// valueOf reads a T, other if there is none; want says what it is.
func valueOf[T any](m *Model, key string, other T, want string) T {
	v := m.value(key)
	if v == nil {
		return other
	}
	x, ok := v.(T)
	if !ok {
		m.fail(key, "got %T, want %s", v, want)
	}
	return x
}

func (m *Model) text(key string) string { return valueOf(m, key, "", "a string") }

// list reads an array of T; nil: there is none.
func list[T any](m *Model, key string) []T {
	return valueOf(m, key, []T(nil), fmt.Sprintf("%T", []T(nil)))
}

// flag reads a bool, other if there is none.
func (m *Model) flag(key string, other bool) bool { return valueOf(m, key, other, "a bool") }

// number reads a number of any type, other if there is none. An f32 becomes the shortest decimal that rounds
// to it: 1e-6, as the folder had it. Of an array, one number for each layer, all must be the same.
func (m *Model) number(key string, other float64) float64 {
	v := m.value(key)
	if v == nil {
		return other
	}
	if l, ok := v.([]uint32); ok {
		v = same(l)
	} else if l, ok := v.([]int32); ok {
		v = same(l)
	}
	x, ok := float(v)
	if !ok {
		m.fail(key, "got %T, want a number, the same for all layers", v)
	}
	return x
}

// same is the number of which a list consists, 0s aside, or else the list.
func same[T int32 | uint32](l []T) any {
	var found T
	for _, x := range l {
		if x != 0 && found != 0 && x != found {
			return l
		}
		found = cmp.Or(x, found)
	}
	if len(l) == 0 {
		return l
	}
	return found
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case float32:
		x, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
		return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
	case float64:
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	switch n := reflect.ValueOf(v); {
	case !n.IsValid():
	case n.CanInt():
		return float64(n.Int()), true
	case n.CanUint():
		return float64(n.Uint()), true
	}
	return 0, false
}

// shape is that of a tensor of the file, nil if there is none.
func (m *Model) shape(name string) []int {
	info, _ := m.file.Info(name)
	return info.Shape
}

func (m *Model) has(name string) bool { return m.shape(name) != nil }

// own is a key of the architecture.
func (m *Model) own(key string) string { return m.arch + "." + key }

// config is the config.json that says what the metadata say.
func (m *Model) config() map[string]any {
	k := map[string]any{"tie_word_embeddings": !m.has("output.weight"), "torch_dtype": m.dtype()}
	for _, key := range m.file.Keys() {
		if field, ok := gguf.ConfigField(key); ok && strings.HasPrefix(key, m.own("")) && !(m.family.Global && slices.Contains(ofKinds, field)) {
			if k[field] = m.number(key, 0); k[field] == 0.0 && (m.family.Attentionless || m.family.State != "") {
				delete(k, field) // what no layer has
			}
		}
	}
	if shape := m.shape("token_embd.weight"); len(shape) == 2 {
		k["vocab_size"] = shape[0]
	}
	if m.family.Global {
		m.global(k)
	}
	m.heads = m.count(k, "num_attention_heads", 1)
	m.kvHeads = m.count(k, "num_key_value_heads", m.heads)
	head := m.count(k, "head_dim", m.count(k, "hidden_size", 0)/m.heads)
	if m.family.Latent {
		head = m.latent(k)
	} else if keys := m.number(m.own("attention.key_length"), float64(head)); m.number(m.own("attention.value_length"), keys) != keys {
		m.fail(m.own("attention.value_length"), "got %v, want that of keys, %v", m.number(m.own("attention.value_length"), 0), keys)
	}
	k["head_dim"] = head
	if !m.family.Global {
		m.rope(k, head)
	}
	k["model_type"] = m.family.Type
	for _, p := range m.family.Tells {
		k[p[0]] = m.tells(p[1])
	}
	m.states(k)
	for _, p := range m.family.Keys {
		switch v := m.value(m.own(p[0])).(type) {
		case nil:
		case bool:
			k[p[1]] = v
		default:
			k[p[1]] = m.number(m.own(p[0]), 0)
		}
	}
	for field, x := range m.family.Knows {
		if k[field] == nil {
			k[field] = x
		}
	}
	if m.family.Gemma {
		m.gemma(k, head)
	}
	if m.family.Layers {
		m.window(k, m.family.Every)
	}
	if x, ok := k["sliding_window"]; !ok || x == 0.0 {
		k["sliding_window"] = nil // none, where a folder that does not say it may have one
	}
	return k
}

// tells says whether the file has a tensor, of some layer where its name has a star.
func (m *Model) tells(name string) bool {
	before, after, some := strings.Cut(name, "*")
	return m.has(name) || some && slices.ContainsFunc(m.file.Tensors(), func(info gguf.Info) bool {
		return strings.HasPrefix(info.Name, before) && strings.HasSuffix(info.Name, after)
	})
}

// latent adds the lengths of latent attention, and gives that of what turns.
func (m *Model) latent(k map[string]any) int {
	short, turning := m.count(k, "kv_lora_rank", int(m.number(m.own("attention.kv_lora_rank"), 0))), int(m.number(m.own("rope.dimension_count"), 0))
	k["kv_lora_rank"], k["q_lora_rank"], k["qk_rope_head_dim"], k["num_key_value_heads"] = short, nil, turning, m.heads
	key, value := m.own("attention.key_length"+m.family.ofHeads()), m.own("attention.value_length"+m.family.ofHeads())
	k["qk_nope_head_dim"] = m.number(key, 0) - float64(turning)
	k["v_head_dim"] = m.number(value, float64(m.count(k, "hidden_size", 0)/m.heads))
	if !m.file.Has(key) {
		m.fail(key, "is not there, as in files of before 2025-04: convert the folder anew")
	}
	if k["topk_method"] = "greedy"; m.number(m.own("expert_group_count"), 0) > 1 {
		k["topk_method"] = "group_limited_greedy"
	}
	return max(turning, 2)
}

// states adds what layers that keep a state are like.
func (m *Model) states(k map[string]any) {
	inner, heads := m.number(m.own("ssm.inner_size"), 0), m.number(m.own("ssm.time_step_rank"), 0)
	if width := m.family.Width; width != "" && heads > 0 {
		k[width], k["mamba_d_ssm"] = math.Trunc(inner/heads), inner
		k["expand"] = math.Trunc(inner / float64(m.count(k, "hidden_size", 1)))
		k["mamba_expand"] = k["expand"]
	}
	layers := m.count(k, "num_hidden_layers", 0)
	if m.family.Sparse && layers <= 1<<16 {
		kinds := make([]string, layers)
		for i := range kinds {
			kinds[i] = map[bool]string{true: "sparse", false: "dense"}[m.has(fmt.Sprintf("blk.%d.ffn_gate_inp.weight", i))]
		}
		k["mlp_layer_types"] = kinds
	}
	if m.family.Finetuned && m.flag(m.own("rope.scaling.finetuned"), false) {
		k["position_embedding_type"] = "rope"
	}
	if m.family.State == "" || layers > 1<<16 {
		return
	}
	kinds, attending := make([]string, layers), []int{}
	for i := range kinds {
		has := func(name string) bool { return m.has(fmt.Sprintf("blk.%d.%s", i, name)) }
		switch {
		case has("attn_k.weight"):
			kinds[i], attending = "full_attention", append(attending, i)
		case has("ssm_a"), has("shortconv.conv.weight"):
			kinds[i] = m.family.State
		case has("ffn_up_exps.weight"):
			kinds[i] = "moe"
		default:
			kinds[i] = "mlp"
		}
	}
	if field := m.family.Attending; field != "" {
		k[field] = attending
		return
	}
	k[cmp.Or(m.family.Kinds, "layer_types")] = kinds
}

// count is a setting that counts heads or widths, other if there is none. One that is no positive integer is
// an error, and 1.
func (m *Model) count(k map[string]any, field string, other int) int {
	x, ok := k[field].(float64)
	if !ok {
		x = float64(other)
	}
	if x < 1 || x != math.Trunc(x) || x > 1<<31 {
		m.fail(field, "got %v, want a positive integer", x)
		return 1
	}
	return int(x)
}

// dtype is the type of most of the weights. Those that are quantised become bf16 where they cannot stay as
// they are.
func (m *Model) dtype() string {
	info, _ := m.file.Info("blk.0.attn_output.weight")
	switch info.Type {
	case "F32":
		return "float32"
	case "F16":
		return "float16"
	}
	return "bfloat16"
}

// gemma adds what llama.cpp knows without metadata.
func (m *Model) gemma(k map[string]any, head int) {
	k["query_pre_attn_scalar"] = head
	if k["num_hidden_layers"] == float64(m.family.Largest) {
		k["query_pre_attn_scalar"] = m.count(k, "hidden_size", 1) / m.heads
	}
	for _, field := range []string{"attn_logit_softcapping", "final_logit_softcapping"} {
		if x := m.number(m.own(field), 0); x != 0 {
			k[field] = x
		}
	}
	k["hidden_activation"] = "gelu_pytorch_tanh"
}

// window says which layers have the window: all but every n-th, or as the metadata say. Of the families
// without such a rule only the metadata say it.
func (m *Model) window(k map[string]any, n int) {
	key := m.own("attention.sliding_window_pattern")
	layers := m.count(k, "num_hidden_layers", 0)
	if layers > 1<<16 {
		return // refused by the number of tensors
	}
	size, _ := k["sliding_window"].(float64)
	kinds := make([]string, layers)
	local := func(i int) bool { return n > 0 && (i+1)%n != 0 }
	switch v := m.value(key).(type) {
	case nil:
	case []bool:
		if len(v) != layers {
			m.fail(key, "got %d layers, want %d", len(v), layers)
			return
		}
		n, local = 1, func(i int) bool { return v[i] }
	default:
		n = int(m.number(key, 0))
		local = func(i int) bool { return n == 0 || (i+1)%n != 0 }
	}
	if n == 0 && k["sliding_window"] == nil {
		return
	}
	for i := range kinds {
		kinds[i] = "full_attention"
		if local(i) && (size > 0 || m.family.Always) {
			kinds[i] = "sliding_attention"
		}
	}
	k["layer_types"] = kinds
	k["use_sliding_window"] = true
}
