package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// reader makes layers of the weights of a folder.
type reader struct {
	c Config
	*pretrained.Weights
	family family
	parts  backend.Parts // that hold the blocks' matrices together; nil: this process alone
}

// fill gives a part of the model what the files have of it.
func (r *reader) fill(path string, member nn.Member) {
	if r.Err() != nil {
		return
	}
	switch l := member.Module().(type) {
	case nil:
		*member.Weight = r.vector(path, member.Weight.Shape()...)
	case *nn.Linear:
		*member.Slot = r.linear(path, l)
	case *nn.Embedding:
		*member.Slot = r.embedding(path, l)
	case *nn.Grouped:
		r.grouped(path, l)
	default:
		for _, inner := range l.Members() {
			r.fill(path+"."+inner.Name, inner)
		}
	}
}

func (r *reader) linear(path string, l *nn.Linear) nn.Layer {
	in, out := l.In(), l.Out()
	if r.family.conv1D && path != "lm_head" {
		if w := r.Tensor(path+".weight", in, out); r.Err() == nil {
			l.Weight = w.Named(path + ".weight").Param()
		}
		if !l.Bias.IsNone() {
			l.Bias = r.Vector(path+".bias", out)
		}
		return l
	}
	w := r.codes(path+".weight", in, out)
	if w == nil {
		ctx := scope.Context()
		if r.parts != nil && strings.Contains(path, ".layers.") && r.Plain(r.inFiles(path+".weight")) {
			ctx = access.WithParts(ctx, r.parts)
		}
		tensor.Within(ctx, func() { l = r.Linear(path, in, out, !l.Bias.IsNone()) })
		return l
	}
	coded := &quant.Linear{Weight: w}
	if !l.Bias.IsNone() {
		coded.Bias = r.Vector(path+".bias", out)
	}
	return coded
}

func (r *reader) embedding(path string, l *nn.Embedding) nn.Layer {
	rows, width := l.Weight.Len(0), l.Weight.Len(1)
	if w := r.codes(path+".weight", width, rows); w != nil {
		return &quant.Embedding{Weight: w}
	}
	return r.Embedding(path, rows, width)
}

// codes reads a matrix that is stored in codes, nil if it is stored in numbers or there is a problem.
func (r *reader) codes(name string, in, out int) *quant.Weight { return r.codesOf(name, out, in) }

// codesOf reads a tensor of that shape, of which the codes are one matrix with the outputs of all.
func (r *reader) codesOf(name string, shape ...int) *quant.Weight {
	s, stored := r.Find(name, shape...)
	file, ok := s.(interface {
		Codes(name string) (*quant.Weight, error)
	})
	if !ok {
		return nil
	}
	w, err := file.Codes(stored)
	if err != nil {
		r.Fail(err)
	}
	if w != nil {
		r.Report()
	}
	return w
}

// vector reads numbers that are computed in f32. Kernels of convolutions keep their dtype.
func (r *reader) vector(name string, shape ...int) tensor.Tensor {
	var t tensor.Tensor
	if rows, ok := strings.CutSuffix(name, r.family.rows[0]); ok && r.family.rows[0] != "" && len(shape) == 2 && !r.Has(r.inFiles(name)) {
		list := make([]tensor.Tensor, shape[0])
		for i := range list {
			list[i] = r.Tensor(rows+fmt.Sprintf(r.family.rows[1], i), shape[1])
		}
		if r.Err() == nil {
			t = tensor.Stack(list, 0)
		}
	} else {
		t = r.Tensor(name, shape...)
	}
	if r.Err() != nil {
		return t
	}
	if len(shape) < 3 {
		t = t.Cast(dtype.F32)
	}
	return t.Named(name).Param()
}

// grouped reads the layers of all experts, which are tensors of their own in a folder; one tensor for each
// part in a GGUF file; or one in all, as transformers holds them.
func (r *reader) grouped(path string, l *nn.Grouped) {
	dot := strings.LastIndexByte(path, '.') + 1
	parts, groups, in, out := expertParts[path[dot:]], l.Weight.Len(0), l.Weight.Len(1), l.Weight.Len(2)
	l.Weight = tensor.Tensor{}
	if w := r.groupedCodes(path, parts, groups, in, out); w != nil {
		l.SetInstead(&quant.Grouped{Weight: w})
		return
	}
	of, each := path[:dot], out/len(parts)
	var w tensor.Tensor
	switch first := of + parts[0] + ".weight"; {
	case r.straight(path, groups, in, out):
		if w = r.Tensor(path, groups, in, out); r.Err() == nil {
			w = w.Transpose() // and back below
		}
	case r.Has(r.inFiles(path)):
		w = r.Tensor(path, groups, out, in)
	case r.Has(r.inFiles(first)):
		var list []tensor.Tensor
		for _, part := range parts {
			list = append(list, r.Tensor(of+part+".weight", groups, each, in))
		}
		switch {
		case r.Err() != nil:
		case r.c.Mixture.Limit != 0 && len(list) > 1: // whose columns alternate
			w = tensor.Stack(list, 2).Reshape(groups, out, in)
		default:
			w = tensor.Concat(list, 1)
		}
	default:
		var bytes []byte
		dt := dtype.Invalid
		for i := range groups {
			for _, part := range parts {
				t := r.Tensor(fmt.Sprintf("%s%d.%s.weight", of, i, part), each, in)
				if r.Err() != nil {
					return
				}
				if dt == dtype.Invalid {
					dt, bytes = t.DType(), make([]byte, 0, groups*out*in*t.DType().Size())
				}
				bytes = append(bytes, t.Cast(dt).Bytes()...)
			}
		}
		w = tensor.FromBytes(dt, bytes, groups, out, in)
	}
	if r.Err() == nil {
		l.Weight = w.Eval().Transpose().Named(path + ".weight").Param()
	}
}

// straight says whether the layers of all experts are one tensor [groups in out], as folders of Qwen 3 VL
// have them, too.
func (r *reader) straight(path string, groups, in, out int) bool {
	stored := r.inFiles(path)
	return r.Has(stored) && (r.family.straight || in != out && slices.Equal(r.Shape(stored), []int{groups, in, out}))
}

// groupedCodes reads them where all are stored in codes of one kind; else it is nil.
func (r *reader) groupedCodes(path string, parts []string, groups, in, out int) *quant.Weight {
	of, each := path[:strings.LastIndexByte(path, '.')+1], out/len(parts)
	var list []*quant.Weight
	found := func(name string, shape ...int) bool {
		w := r.codesOf(name, shape...)
		if w != nil && len(list) > 0 && w.Config != list[0].Config {
			w = nil
		}
		list = append(list, w)
		return w != nil
	}
	dims, axes := []int{groups, out}, []int{0, 1}
	switch stored := r.inFiles(path); {
	case r.Has(stored):
		shape := []int{groups, out, in}
		if r.straight(path, groups, in, out) {
			shape = []int{groups, in, out}
		}
		if !found(path, shape...) {
			return nil
		}
	case r.Has(r.inFiles(of + parts[0] + ".weight")):
		for _, part := range parts {
			if !found(of+part+".weight", groups, each, in) {
				return nil
			}
		}
		dims, axes = []int{len(parts), groups, each}, []int{1, 0, 2}
		if r.c.Mixture.Limit != 0 && len(parts) > 1 { // whose columns alternate
			axes = []int{1, 2, 0}
		}
	default:
		for i := range groups {
			for _, part := range parts {
				if !found(fmt.Sprintf("%s%d.%s.weight", of, i, part), each, in) {
					return nil
				}
			}
		}
	}
	w, err := quant.Join(list, dims, axes)
	if err != nil {
		r.Fail(fmt.Errorf("%s: %w", path, err))
		return nil
	}
	return w
}

// beyond says whether a tensor is of a layer after the last.
func beyond(stored string, layers int) bool {
	rest, ok := strings.CutPrefix(stored, "model.layers.")
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= layers || strings.HasPrefix(stored, "mtp.")
}

// unneeded says whether a tensor makes keys or values of a layer that looks at those of another.
func (c Config) unneeded(stored string) bool {
	_, rest, _ := strings.Cut(stored, "layers.")
	number, name, _ := strings.Cut(rest, ".self_attn.")
	n, err := strconv.Atoi(number)
	return err == nil && n < c.Layers && c.lender(n) != n && (name[0] == 'k' || name[0] == 'v')
}

// inFiles is the name of a tensor in the files.
func (r *reader) inFiles(name string) string {
	if r.Stored == nil {
		return name
	}
	return r.Stored(name)
}

// readWeights builds the model of c with the weights of a source. The parts are nil, or hold the blocks
// together.
func readWeights(c Config, s *source, body bool, parts backend.Parts) (*Model, error) {
	w := s.weights
	if w.Len() < 4*c.Layers { // so that a hostile number of layers costs nothing
		return nil, fmt.Errorf("%s: got %d tensors, want those of %d layers", s.path, w.Len(), c.Layers)
	}
	names := c.names()
	inner := cmp.Or(names.Of("model"), "model") + "."
	if first := rename(names, "model.embed_tokens") + ".weight"; w.Stored == nil && !w.Has(first) && w.Has(strings.TrimPrefix(first, inner)) { // the model without its head
		w.Stored = func(name string) string { return strings.TrimPrefix(name, inner) }
	}
	if f, _ := familyOf(c.Family); w.Stored == nil && f.files != nil {
		w.Stored = func(name string) string {
			if stored := f.inFolder(name); w.Has(stored) {
				return stored
			}
			return name // as transformers holds it, or a GGUF file has it
		}
	}
	f, _ := familyOf(c.Family)
	f.conv1D = f.conv1D && !s.gguf
	m, r := build(c), &reader{c, w, f, parts}
	for _, member := range m.Members() {
		r.fill(member.Name, member)
		if parts != nil && member.Part != nil && w.Err() == nil {
			spread(member.Part, parts)
		}
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	m.straighten()
	nn.SetNames(m) // those of codes
	// A tied model may store its output matrix a second time, and old files the rates of rotary positions,
	// and which tokens see each other.
	old := []string{"rotary_emb.inv_freq", ".attn.bias", ".attention.bias", ".masked_bias"}
	err := w.Rest(c.Family, func(stored string) bool {
		if s.left(stored) {
			m.unread++
			return true
		}
		if family, _ := familyOf(c.Family); family.ahead && beyond(stored, c.Layers) {
			return true
		}
		if c.LentKV > 0 && c.unneeded(stored) {
			return true
		}
		return !c.Untied && stored == "lm_head.weight" || body && (stored == "lm_head.bias" || stored == "score.weight") ||
			slices.ContainsFunc(old, func(end string) bool { return strings.HasSuffix(stored, end) })
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
