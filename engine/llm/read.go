package llm

import (
	"cmp"
	"fmt"
	"path/filepath"
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

// grouped reads the layers of all experts, in codes where all are stored in codes of one kind.
func (r *reader) grouped(path string, l *nn.Grouped) {
	groups, in, out := l.Weight.Len(0), l.Weight.Len(1), l.Weight.Len(2)
	p := r.pieces(path, groups, in, out)
	l.Weight = tensor.Tensor{}
	if w := r.joined(path, p); w != nil {
		l.SetInstead(&quant.Grouped{Weight: w})
		return
	}
	var list []tensor.Tensor
	var bytes []byte // of experts that are tensors of their own, of which the result needs as much memory again
	for _, name := range p.names {
		t := r.Tensor(name, p.shape...)
		if r.Err() != nil {
			return
		}
		if len(p.shape) < 3 {
			if list == nil {
				list, bytes = []tensor.Tensor{t}, make([]byte, 0, groups*out*in*t.DType().Size())
			}
			bytes = append(bytes, t.Cast(list[0].DType()).Bytes()...)
			continue
		}
		list = append(list, t)
	}
	w := list[0]
	switch {
	case bytes != nil:
		w = tensor.FromBytes(w.DType(), bytes, groups, out, in)
	case len(list) > 1:
		w = tensor.Stack(list, slices.Index(p.axes, 0)).Reshape(groups, out, in)
	case p.straight:
		w = w.Transpose() // and back below
	}
	l.Weight = w.Eval().Transpose().Named(path + ".weight").Param()
}

// Pieces are the tensors in which the layers of all experts are stored, of one shape. The outputs of all are
// an array of dims, with its axes in another order than the model's.
type pieces struct {
	names      []string
	shape      []int
	straight   bool // the one that there is is [groups in out]
	dims, axes []int
}

// pieces finds those of a path: tensors of each expert in a folder; one for each part in a GGUF file; or one
// in all, as transformers holds them, also turned, as folders of Qwen 3 VL have it.
func (r *reader) pieces(path string, groups, in, out int) pieces {
	dot := strings.LastIndexByte(path, '.') + 1
	of, parts, stored := path[:dot], expertParts[path[dot:]], r.inFiles(path)
	each := out / len(parts)
	p := pieces{dims: []int{groups, out}, axes: []int{0, 1}}
	switch {
	case r.Has(stored):
		p.names, p.shape = []string{path}, []int{groups, out, in}
		if turned := []int{groups, in, out}; r.family.straight || in != out && slices.Equal(r.Shape(stored), turned) {
			p.shape, p.straight = turned, true
		}
	case r.Has(r.inFiles(of + parts[0] + ".weight")):
		p.shape, p.dims, p.axes = []int{groups, each, in}, []int{len(parts), groups, each}, []int{1, 0, 2}
		if r.c.Mixture.Limit != 0 && len(parts) > 1 { // whose columns alternate
			p.axes = []int{1, 2, 0}
		}
		for _, part := range parts {
			p.names = append(p.names, of+part+".weight")
		}
	default:
		p.shape = []int{each, in}
		for i := range groups {
			for _, part := range parts {
				p.names = append(p.names, fmt.Sprintf("%s%d.%s.weight", of, i, part))
			}
		}
	}
	return p
}

// joined reads pieces that are all stored in codes of one kind; else it is nil.
func (r *reader) joined(path string, p pieces) *quant.Weight {
	var list []*quant.Weight
	for _, name := range p.names {
		w := r.codesOf(name, p.shape...)
		if w == nil || len(list) > 0 && w.Config != list[0].Config {
			return nil
		}
		list = append(list, w)
	}
	w, err := quant.Join(list, p.dims, p.axes)
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
	var m *Model
	if err := tensor.Try(func() { m = build(c) }); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(s.path, configFile), err)
	}
	r := &reader{c, w, m.family, parts}
	inner := cmp.Or(m.names.Of("model"), "model") + "."
	if first := m.Members()[0].Name + ".weight"; w.Stored == nil && !w.Has(first) && w.Has(strings.TrimPrefix(first, inner)) { // the model without its head
		w.Stored = func(name string) string { return strings.TrimPrefix(name, inner) }
	}
	if w.Stored == nil && m.family.files != nil {
		w.Stored = func(name string) string {
			if stored := m.family.inFolder(name); w.Has(stored) {
				return stored
			}
			return name // as transformers holds it, or a GGUF file has it
		}
	}
	r.family.conv1D = m.family.conv1D && !s.gguf
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
		if m.family.ahead && beyond(stored, c.Layers) || c.LentKV > 0 && c.unneeded(stored) {
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
