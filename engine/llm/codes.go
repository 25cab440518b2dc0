package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/coded"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// Codes say how [SaveCodes] writes.
type Codes struct {
	Format string // "mlx", which mlx-lm reads, or "awq", as AutoAWQ's gemm, which transformers and vLLM read
	Bits   int    // 4, and for mlx 8, too; 0 means 4
	Group  int    // inputs that share a scale: 32, 64 or 128; 0 means 64 for mlx and 128 for awq

	// Tokens are those of a text as the model will get (awq). What the layers get of it says which inputs
	// matter: see AWQ (Lin and others 2023). Some hundreds are enough; at least 32 are needed.
	Tokens []int
}

// SaveCodes writes a model as a folder whose matrices are codes: those of linear layers and of experts, and
// for mlx the embedding. Routers, the output matrix (awq) and matrices whose rows are no whole groups stay
// numbers, and so do experts where folders of the family have one tensor for all, or, for mlx, names of their
// own, as Mixtral's. A model with adapters or codes is an error: merge, or quant.Expand. For awq weights of
// m, but those of experts, are scaled against those before them, so that it computes the same up to rounding.
// Readers find the old folder or the whole new one.
func SaveCodes(ctx context.Context, dir string, m *Model, o Codes) (err error) {
	defer wrap.Error(&err, "llm")
	return access.Try(ctx, func() error { return m.saveCodes(ctx, dir, o) })
}

func (m *Model) saveCodes(ctx context.Context, dir string, o Codes) error {
	awq := o.Format == "awq"
	usual := 64
	if awq {
		usual = 128
	}
	w, err := coded.NewWriter(o.Format, cmp.Or(o.Bits, 4), cmp.Or(o.Group, usual))
	if err != nil {
		return err
	}
	if m.family.conv1D {
		return fmt.Errorf("got a model of %s, want matrices that folders have as [out in]", m.family.Type)
	}
	params, config, err := m.numbers()
	if err != nil {
		return err
	}
	var ranges map[string]tensor.Tensor
	if awq {
		if ranges, err = m.balance(ctx, o.Tokens, w.Group); err != nil {
			return err
		}
	}
	list, left := m.inFolder(params), []string{}
	if !awq {
		list = joinExperts(list, w.Takes)
	}
	var all []stored
	for i, chosen := range m.codable(list, !awq) {
		t := list[i]
		path := strings.TrimSuffix(t.name, ".weight")
		if !chosen || !w.Takes(t.value.Len(-2), t.value.Len(-1)) || awq && path == "lm_head" {
			if all = append(all, t); t.value.Rank() == 2 {
				left = append(left, path)
			}
			continue
		}
		value := t.value
		if r, ok := ranges[t.name]; ok {
			value = clipped(value.Cast(dtype.F32).Transpose(), r).Transpose().Cast(value.DType())
		}
		parts, err := w.Tensors(value)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		for end, part := range parts {
			all = append(all, stored{path + end, part})
		}
	}
	config, err = pretrained.Changed(config, func(keys map[string]any) {
		key, settings := w.Settings(left)
		keys[key] = settings
	})
	if err != nil {
		return err
	}
	return m.writeFolder(dir, all, config, shardBytes)
}

// What folders of mlx call experts, of which a tensor has the matrices of all, and other folders, of which
// each has its own.
const (
	switched = ".switch_mlp."
	expertAt = ".experts.%d."
)

// joinExperts joins matrices of experts that can be codes as mlx-lm does, [experts out in].
func joinExperts(list []stored, takes func(out, in int) bool) (joined []stored) {
	for len(list) > 0 {
		t, n := list[0], 1
		before, part, first := strings.Cut(t.name, fmt.Sprintf(expertAt, 0))
		if first && slices.Contains([]string{"gate_proj.weight", "up_proj.weight", "down_proj.weight"}, part) && takes(t.value.Len(0), t.value.Len(1)) {
			all := []tensor.Tensor{t.value}
			for ; n < len(list) && list[n].name == before+fmt.Sprintf(expertAt, n)+part; n++ {
				all = append(all, list[n].value)
			}
			t = stored{before + switched + part, tensor.Stack(all, 0)}
		}
		joined, list = append(joined, t), list[n:]
	}
	return joined
}

// codable says which tensors of a folder are matrices of linear layers, of experts, or of the embedding, if
// it counts.
func (m *Model) codable(list []stored, embedding bool) []bool {
	names := map[string]bool{}
	nn.Walk(m, func(path string, member nn.Member) {
		_, linear := member.Module().(*nn.Linear)
		_, table := member.Module().(*nn.Embedding)
		if !member.Exact && (linear || table && embedding) {
			names[m.family.inFolder(path+".weight")] = true
		}
	})
	chosen := make([]bool, len(list))
	for i, t := range list {
		_, part, expert := strings.Cut(t.name, ".experts.")
		expert = expert && strings.HasSuffix(part, ".weight") && t.value.Rank() == 2
		chosen[i] = names[t.name] && t.value.Rank() == 2 || expert || strings.Contains(t.name, switched)
	}
	return chosen
}
