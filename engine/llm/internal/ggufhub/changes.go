package ggufhub

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Change says what a file has in place of a tensor of a folder: other numbers, another shape, or parts.
type Change struct {
	end   string   // of the folder's name
	parts []string // in place of end in the names of what the file has, which names of folders stand for
	// split makes the file's tensors of the folder's, and join the reverse. A nil split or join changes
	// nothing.
	split func(n numbers, t tensor.Tensor) []tensor.Tensor
	join  func(n numbers, parts []tensor.Tensor) tensor.Tensor
}

// numbers are those of a config.json.
type numbers object

// of is an integer under one of several names, 0 if there is none.
func (n numbers) of(fields ...string) int { return int(n.fraction(0, fields...)) }

// fraction is a number under one of several names, or another one. "list.2" is the third of a list.
func (n numbers) fraction(other float64, fields ...string) float64 {
	for _, field := range fields {
		v := n[field]
		if name, index, ok := strings.Cut(field, "."); ok {
			list, _ := n[name].([]any)
			if i, err := strconv.Atoi(index); err == nil && i < len(list) {
				v = list[i]
			}
		}
		if x, ok := float(v); ok {
			return x
		}
	}
	return other
}

// one is a change of one tensor into one.
func one(end string, split, join func(n numbers, t tensor.Tensor) tensor.Tensor) Change {
	return Change{end, []string{end},
		func(n numbers, t tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{split(n, t)} },
		func(n numbers, parts []tensor.Tensor) tensor.Tensor { return join(n, parts[0]) }}
}

func (f Family) changes() []Change {
	if f.Changes == nil {
		return nil
	}
	return f.Changes()
}

// change finds the change of a tensor of a folder; nil: there is none.
func (f Family) change(name string) *Change {
	for _, c := range f.changes() {
		if strings.HasSuffix(name, c.end) {
			return &c
		}
	}
	return nil
}

// whole is the folder's name of what a name stands for, which may be that of a part.
func (f Family) whole(name string) string {
	for _, c := range f.changes() {
		for _, part := range c.parts {
			if stem, ok := strings.CutSuffix(name, part); ok {
				return stem + c.end
			}
		}
	}
	return name
}

// partsOf are the names that stand for what a file has in place of a tensor.
func (c *Change) partsOf(name string) (list []string) {
	for _, part := range c.parts {
		list = append(list, strings.TrimSuffix(name, c.end)+part)
	}
	return list
}

// RowGate is a matrix with one row that is a vector in older files.
func RowGate() []Change {
	return []Change{one(".shared_expert_gate.weight",
		func(_ numbers, t tensor.Tensor) tensor.Tensor { return t },
		func(_ numbers, t tensor.Tensor) tensor.Tensor { return t.Reshape(1, -1) })}
}

// Conv is LFM 2's convolution.
func Conv() []Change { return []Change{short("conv.weight")} }

// short is a convolution, whose middle axis of 1 files leave out.
func short(end string) Change { return one(end, squeezed, unsqueezed) }

// Sinks are gpt-oss's biases of gate and up, which alternate in folders.
func Sinks() []Change {
	return []Change{{".experts.gate_up_proj_bias", []string{".experts.gate_proj.bias", ".experts.up_proj.bias"},
		func(_ numbers, t tensor.Tensor) []tensor.Tensor {
			pairs := t.Reshape(t.Len(0), t.Len(1)/2, 2)
			return []tensor.Tensor{pairs.Select(2, 0), pairs.Select(2, 1)}
		},
		func(_ numbers, p []tensor.Tensor) tensor.Tensor {
			return tensor.Stack(p, 2).Reshape(p[0].Len(0), 2*p[0].Len(1))
		}}}
}

// Latent is what makes keys and values of DeepSeek's short vectors: of each head files have the part of the
// keys turned, and that of the values apart: [heads·(keys + values) short] are [heads short keys] and [heads
// values short].
func Latent() []Change {
	return []Change{{".kv_b_proj.weight", []string{".k_b_proj.weight", ".v_b_proj.weight"},
		func(n numbers, t tensor.Tensor) []tensor.Tensor {
			keys, values := n.of("qk_nope_head_dim"), n.of("v_head_dim")
			all := t.Reshape(t.Len(0)/max(1, keys+values), keys+values, t.Len(1))
			return []tensor.Tensor{all.Slice(1, 0, keys).Transpose(), all.Slice(1, keys, keys+values)}
		},
		func(_ numbers, p []tensor.Tensor) tensor.Tensor {
			all := tensor.Concat([]tensor.Tensor{p[0].Transpose(), p[1]}, 1)
			return all.Reshape(all.Len(0)*all.Len(1), all.Len(2))
		}}}
}

// Mamba is Mamba-2: files have A, of which folders have the logarithm of −A.
func Mamba() []Change {
	return []Change{short("conv1d.weight"), rate(1), one(".D", func(_ numbers, t tensor.Tensor) tensor.Tensor { return t.Unsqueeze(1) }, flat), groups(".mixer."), groups(".mamba.")}
}

// Halves are gate and up in one matrix.
func Halves() []Change {
	return []Change{{".shared_mlp.input_linear.weight", []string{".shared_mlp.gate_proj.weight", ".shared_mlp.up_proj.weight"},
		func(_ numbers, t tensor.Tensor) []tensor.Tensor { return t.Split(0, t.Len(0)/2) },
		func(_ numbers, p []tensor.Tensor) tensor.Tensor { return tensor.Concat(p, 0) }}}
}

// MambaHalves are both.
func MambaHalves() []Change { return append(Halves(), Mamba()...) }

// Baked are the factors of Falcon-H1, by which files have the weights multiplied.
func Baked() []Change {
	return append([]Change{
		times("embed_tokens.weight", "embedding_multiplier"), times("lm_head.weight", "lm_head_multiplier"),
		times(".q_proj.weight", "attention_in_multiplier"), times(".k_proj.weight", "key_multiplier", "attention_in_multiplier"),
		times(".v_proj.weight", "attention_in_multiplier"), times(".o_proj.weight", "attention_out_multiplier"),
		times(".gate_proj.weight", "mlp_multipliers.0"), times(".down_proj.weight", "mlp_multipliers.1"), times(".out_proj.weight", "ssm_out_multiplier"),
		{".in_proj.weight", []string{".in_proj.weight"}, func(n numbers, t tensor.Tensor) []tensor.Tensor {
			inner, states, at := n.of("mamba_n_heads")*n.of("mamba_d_head"), n.of("mamba_n_groups")*n.of("mamba_d_state"), 0
			t = t.Mul(n.fraction(1, "ssm_in_multiplier"))
			var parts []tensor.Tensor
			for i, rows := range []int{inner, inner, states, states, n.of("mamba_n_heads")} {
				parts = append(parts, t.Slice(0, at, at+rows).Mul(n.fraction(1, fmt.Sprintf("ssm_multipliers.%d", i))))
				at += rows
			}
			return []tensor.Tensor{tensor.Concat(parts, 0)}
		}, nil},
	}, Mamba()...)
}

// times is a weight times several settings.
func times(end string, fields ...string) Change {
	return Change{end, []string{end}, func(n numbers, t tensor.Tensor) []tensor.Tensor {
		for _, field := range fields {
			t = t.Mul(n.fraction(1, field))
		}
		return []tensor.Tensor{t}
	}, nil}
}

// Delta are the changes of Qwen 3 Next's gated delta nets, whose projections are in one matrix, head by head.
func Delta() []Change {
	return []Change{short("conv1d.weight"), rate(0), {".in_proj_qkvz.weight", []string{".in_proj_qkv.weight", ".in_proj_z.weight"},
		func(n numbers, t tensor.Tensor) []tensor.Tensor {
			keys, parts := n.of("linear_num_key_heads"), deltaParts(n)
			heads := t.Reshape(keys, t.Len(0)/keys, t.Len(1))
			var list []tensor.Tensor
			at := 0
			for _, rows := range parts {
				list = append(list, heads.Slice(1, at, at+rows).Reshape(keys*rows, t.Len(1)))
				at += rows
			}
			return []tensor.Tensor{tensor.Concat(list[:3], 0), list[3]}
		},
		func(n numbers, p []tensor.Tensor) tensor.Tensor {
			keys, parts, at := n.of("linear_num_key_heads"), deltaParts(n), 0
			both := tensor.Concat(p, 0)
			var list []tensor.Tensor
			for _, rows := range parts {
				list = append(list, both.Slice(0, at, at+keys*rows).Reshape(keys, rows, both.Len(1)))
				at += keys * rows
			}
			return tensor.Concat(list, 1).Reshape(both.Shape()...)
		}}}
}

// deltaParts are the rows of q, k, v and z that belong to a head of keys.
func deltaParts(n numbers) []int {
	key, values := n.of("linear_key_head_dim"), n.of("linear_num_value_heads")/max(1, n.of("linear_num_key_heads"))*n.of("linear_value_head_dim")
	return []int{key, key, values, values}
}

// Tiled are the changes of Qwen 3.5's, in whose files the heads of values that share keys stand apart.
func Tiled() []Change {
	return []Change{
		tiled(".in_proj_qkv.weight", false), tiled(".in_proj_z.weight", false), tiled(".in_proj_a.weight", false), tiled(".in_proj_b.weight", false),
		tiled(".dt_bias", false), tiled(".linear_attn.out_proj.weight", true), after(rate(0), tiled(".A_log", false)), after(short("conv1d.weight"), tiled("conv1d.weight", false)),
	}
}

// after is a change behind another one of the same tensor.
func after(a, b Change) Change {
	return Change{a.end, a.parts,
		func(n numbers, t tensor.Tensor) []tensor.Tensor { return b.split(n, a.split(n, t)[0]) },
		func(n numbers, p []tensor.Tensor) tensor.Tensor { return a.join(n, []tensor.Tensor{b.join(n, p)}) }}
}

// tiled exchanges heads of keys and those that share them among the last rows of a tensor, or among its
// columns.
func tiled(end string, columns bool) Change {
	turn := func(n numbers, t tensor.Tensor, back bool) tensor.Tensor {
		if columns {
			t = t.Transpose()
		}
		shape, keys := t.Shape(), max(1, n.of("linear_num_key_heads"))
		per, before := n.of("linear_num_value_heads")/keys, 2*keys*n.of("linear_key_head_dim")
		if !strings.Contains(end, "qkv") && !strings.Contains(end, "conv1d") {
			before = 0
		}
		first, second := keys, per
		if back {
			first, second = per, keys
		}
		values := t.Slice(0, before, shape[0])
		width := values.Len(0) / max(1, keys*per)
		values = values.Reshape(first, second, width, -1).Permute(1, 0, 2, 3).Reshape(append([]int{shape[0] - before}, shape[1:]...)...)
		if before > 0 {
			values = tensor.Concat([]tensor.Tensor{t.Slice(0, 0, before), values}, 0)
		}
		if columns {
			values = values.Transpose()
		}
		return values
	}
	return one(end, func(n numbers, t tensor.Tensor) tensor.Tensor { return turn(n, t, false) }, func(n numbers, t tensor.Tensor) tensor.Tensor { return turn(n, t, true) })
}

func squeezed(_ numbers, t tensor.Tensor) tensor.Tensor   { return t.Squeeze(1) }
func unsqueezed(_ numbers, t tensor.Tensor) tensor.Tensor { return t.Unsqueeze(1) }
func flat(_ numbers, t tensor.Tensor) tensor.Tensor       { return t.Flatten() }

// rate is A, with so many axes of 1 behind it.
func rate(axes int) Change {
	return one(".A_log",
		func(_ numbers, t tensor.Tensor) tensor.Tensor {
			a := t.Cast(dtype.F64).Exp().Neg().Cast(dtype.F32)
			return a.Reshape(append([]int{a.Size()}, slices.Repeat([]int{1}, axes)...)...)
		},
		func(_ numbers, t tensor.Tensor) tensor.Tensor {
			return t.Flatten().Cast(dtype.F64).Neg().Log().Cast(dtype.F32)
		})
}

// groups is the norm of what heads give, [groups width] in files.
func groups(path string) Change {
	return one(path+"norm.weight",
		func(n numbers, t tensor.Tensor) tensor.Tensor {
			groups := max(1, n.of("n_groups", "mamba_n_groups"))
			return t.Reshape(groups, t.Len(0)/groups)
		}, flat)
}
