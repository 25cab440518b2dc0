package ggufhub

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Tensors that hold settings of rotary positions, in files only.
const (
	ropeFreqs = "rope_freqs.weight"
	ropeLong  = "rope_factors_long.weight"
	ropeShort = "rope_factors_short.weight"
)

// rope adds what a folder says of rotary positions. Heads have that width.
func (m *Model) rope(k map[string]any, head int) {
	turning := m.number(m.own("rope.dimension_count"), float64(head))
	if turning != float64(head) || m.family.Partial != 0 {
		k["partial_rotary_factor"] = turning / float64(head)
	}
	if base := m.family.LocalTheta; base != 0 {
		k["rope_local_base_freq"] = m.number(m.own("rope.freq_base_swa"), base)
	}
	if turns := list[bool](m, m.own("attention.rope_pattern")); turns != nil {
		rates := make([]any, len(turns))
		for i := range rates {
			if rates[i] = 0; turns[i] {
				rates[i] = k["rope_theta"]
			}
		}
		k["layer_rope_theta"] = rates
	}
	if original := m.number(m.own("rope.scaling.original_context_length"), 0); original != 0 {
		k["original_max_position_embeddings"] = original
	}
	kind := m.text(m.own("rope.scaling.type"))
	factor := m.number(m.own("rope.scaling.factor"), m.number(m.own("rope.scale_linear"), 0))
	switch {
	case m.has(ropeLong):
		m.longrope(k)
	case m.has(ropeFreqs):
		m.llama3(k, m.factors(ropeFreqs))
	case kind == "yarn":
		s := map[string]any{"rope_type": "yarn", "factor": factor}
		for _, p := range yarnKeys(m.family) {
			if x := m.number(m.own(p[0]), 0); x != 0 {
				s[p[1]] = x / m.family.yarnFactor(p[1])
			}
		}
		if all := s["mscale_all_dim"]; all != nil {
			if s["mscale"] = 1.0; k["kv_lora_rank"] != nil { // which llama.cpp knows
				s["mscale"] = all
			}
		}
		if m.family.Untruncated {
			s["truncate"] = false
		}
		k["rope_scaling"] = s
	case kind == "linear" || kind == "" && factor > 0 && factor != 1:
		k["rope_scaling"] = map[string]any{"rope_type": "linear", "factor": factor}
	case kind != "" && kind != "none":
		m.fail(m.own("rope.scaling.type"), "got %q, want linear, yarn, longrope or none", kind)
	}
}

// yarnKeys are metadata and fields of yarn.
func yarnKeys(f Family) Pairs {
	return append(Pairs{
		{"rope.scaling.yarn_attn_factor", "attention_factor"}, {"rope.scaling.yarn_beta_fast", "beta_fast"}, {"rope.scaling.yarn_beta_slow", "beta_slow"},
	}, f.Yarn...)
}

// yarnFactor is by what files have a setting multiplied.
func (f Family) yarnFactor(field string) float64 {
	if field == "mscale_all_dim" && f.Latent {
		return 0.1
	}
	return 1
}

// factors reads a tensor of settings.
func (m *Model) factors(name string) []float64 {
	t, err := m.file.Tensor(name)
	if err != nil {
		if m.err == nil {
			m.err = err
		}
		return nil
	}
	if t.DType() != dtype.F32 || t.Rank() != 1 {
		m.fail(name, "got %v%v, want a vector in f32", t.DType(), t.Shape())
		return nil
	}
	values := make([]float64, t.Size())
	for i, v := range t.Floats() {
		var ok bool
		if values[i], ok = float(v); !ok || v <= 0 {
			m.fail(name, "element %d is %v, want a positive number", i, v)
			return nil
		}
	}
	return values
}

func (m *Model) longrope(k map[string]any) {
	s := map[string]any{"rope_type": "longrope", "long_factor": m.factors(ropeLong), "short_factor": m.factors(ropeShort)}
	original, _ := k["original_max_position_embeddings"].(float64)
	context, _ := k["max_position_embeddings"].(float64)
	if x := m.number(m.own("rope.scaling.attn_factor"), 0); x != 0 && math.Abs(x-longAttention(context, original)) > 1e-6 {
		s["attention_factor"] = x
	}
	k["rope_scaling"] = s
}

// longAttention is the attention factor of a longrope that does not say one.
func longAttention(context, original float64) float64 {
	if context <= original || original <= 1 {
		return 1
	}
	return math.Sqrt(1 + math.Log(context/original)/math.Log(original))
}

// llama3 finds the scaling of Llama 3 that gives these divisors of the rates. Files do not say it. Where none
// of its usual settings does, longrope says any divisors.
func (m *Model) llama3(k map[string]any, divisors []float64) {
	base, _ := k["rope_theta"].(float64)
	base = cmp.Or(base, 10000)
	if len(divisors) == 0 || slices.Max(divisors) == 1 && slices.Min(divisors) == 1 {
		return
	}
	context, _ := k["max_position_embeddings"].(float64)
	for original := 1.0; original <= 1<<20; original *= 2 {
		s := map[string]any{"rope_type": "llama3", "factor": divisors[len(divisors)-1], "low_freq_factor": 1.0, "high_freq_factor": 4.0,
			"original_max_position_embeddings": original}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }
		if slices.EqualFunc(llama3Divisors(s, base, len(divisors)), divisors, near) && s["factor"] != 1.0 {
			k["rope_scaling"] = s
			if original == 8192 { // that of all models of the family; of others several may give the same divisors
				return
			}
		}
	}
	if k["rope_scaling"] == nil {
		k["rope_scaling"] = map[string]any{"rope_type": "longrope", "long_factor": divisors, "short_factor": divisors, "attention_factor": 1,
			"original_max_position_embeddings": max(context, 2)}
	}
}

// llama3Divisors are those of n pairs under a scaling of Llama 3.
func llama3Divisors(s map[string]any, base float64, n int) []float64 {
	get := func(key string) float64 { x, _ := s[key].(float64); return x }
	factor, low, high, original := get("factor"), get("low_freq_factor"), get("high_freq_factor"), get("original_max_position_embeddings")
	list := make([]float64, n)
	for i := range list {
		length := 2 * math.Pi * math.Pow(base, float64(i)/float64(n)) // of a turn, in tokens
		switch smooth := (original/length - low) / (high - low); {
		case length < original/high:
			list[i] = 1
		case length > original/low:
			list[i] = factor
		default:
			list[i] = 1 / ((1-smooth)/factor + smooth)
		}
	}
	return list
}
