package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// name says what a group does, in the order in which it does it: "matmul_bias_silu", "mul_sum",
// "map_mul_add_exp". It is the kernel's name in profiles, so it is stable and says nothing of shapes.
func (e *emitter) name() string {
	ops := make([]string, 0, len(e.group.Insts))
	for i := range e.group.Insts {
		in := &e.group.Insts[i]
		if in.Op != ir.MatMul && (in.Op != ir.RMSNorm || e.k.kind != backend.MatMul) && (in.Op != ir.Dequantize || e.k.kind != backend.MatMul) {
			ops = append(ops, e.word(in))
		}
	}
	switch e.k.kind {
	case backend.MatMul:
		words := append([]string{e.productName() + e.codes()}, e.epilogueWords(ops)...)
		if e.normed(e.k) {
			words = append([]string{fmt.Sprint(ir.RMSNorm)}, words...)
		}
		return strings.Join(words, "_")
	case backend.Maps:
		return "rooms"
	case backend.Map:
		switch len(ops) {
		case 0:
			if e.group.Inputs[0].Buf < 0 {
				return "fill"
			}
			return "copy"
		case 1:
			return ops[0]
		}
		return "map_" + shorten(ops)
	}
	return shorten(ops)
}

// productName names the products of a MatMul group.
func (e *emitter) productName() string {
	lora := slices.ContainsFunc(e.k.heavy, func(v int) bool { return e.values[v].lora })
	phases := false
	for i := range e.group.Insts {
		in := &e.group.Insts[i]
		for _, a := range in.Args {
			_, input := a.Input()
			phases = phases || in.Op == ir.MatMul && !input && e.group.Insts[a.Index].Op != ir.Dequantize && e.group.Insts[a.Index].Op != ir.RMSNorm
		}
	}
	pairs := slices.ContainsFunc(e.k.heavy, func(v int) bool { return len(e.values[v].args) > 2 })
	switch {
	case lora && phases:
		return "lora_linear_rows"
	case lora && pairs:
		return "lora_linear"
	case lora:
		return "lora_down"
	case phases:
		return "matmul_rows"
	}
	return "matmul"
}

// codes names the quantised weights that products read: "_int4".
func (e *emitter) codes() string {
	for i := range e.group.Insts {
		if in := &e.group.Insts[i]; in.Op == ir.Dequantize {
			return fmt.Sprintf("_int%d", ir.QuantOf(&in.Attr).Bits)
		}
	}
	return ""
}

// epilogueWords names the elementwise work after products; that of an adapter, its scale, goes without
// saying.
func (e *emitter) epilogueWords(ops []string) []string {
	lora := slices.ContainsFunc(e.k.heavy, func(v int) bool { return e.values[v].lora })
	var words []string
	for _, o := range ops {
		if lora && o == "mul" || slices.Contains(words, o) {
			continue
		}
		words = append(words, o)
	}
	if len(words) == 0 {
		return nil
	}
	return []string{shorten(words)}
}

// word names an instruction: an addition of one row to all rows of a product is a bias,
// and the kernel of a person has the name that the person gave it.
func (e *emitter) word(in *backend.Inst) string {
	if in.Op == ir.Add && e.k.kind == backend.MatMul {
		for _, a := range in.Args {
			if i, ok := a.Input(); ok && biasLayout(e.group.Inputs[i]) {
				return "bias"
			}
		}
	}
	if in.Op == ir.UserKernel {
		return in.Attr.Kernel.Name
	}
	return fmt.Sprint(in.Op)
}

// biasLayout says whether an input is one row, read again for every row.
func biasLayout(in backend.Input) bool {
	l := in.Layout
	if in.Buf < 0 || len(l.Shape) < 2 {
		return false
	}
	last := len(l.Shape) - 1
	repeated := false
	for i, d := range l.Shape[:last] {
		if d != 1 && l.Stride[i] != 0 {
			return false
		}
		repeated = repeated || d != 1
	}
	return repeated && l.Stride[last] != 0
}

// shorten joins up to four words and counts the rest.
func shorten(words []string) string {
	const most = 4
	if len(words) <= most+1 {
		return strings.Join(words, "_")
	}
	return fmt.Sprintf("%s_and_%d", strings.Join(words[:most], "_"), len(words)-most)
}
