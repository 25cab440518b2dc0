package ggufhub

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Weight is one of a model, by the name and in the order of rows that folders have.
type Weight struct {
	Name   string
	Tensor tensor.Tensor // [out in] of a matrix
	Codes  *quant.Weight // in its place: codes [in out]
}

// A Draft is a file that is not yet written.
type Draft struct {
	families Families
	folder   *folder
	entries  []gguf.Entry
}

// NewDraft translates the files of a folder, config.json among them, and its weights. Matrices get one of the
// [Types], or keep their own where it is "". q4_k_m and q6_k are the mixtures of types that llama.cpp's
// quantiser makes. A matrix whose rows are no whole blocks of 256 gets a type of blocks of 32, and f16 where
// they are no whole ones of these either. Vectors are f32. As llama.cpp's converter does, a draft leaves
// nothing out but what no file has; ask [Draft.Config] what a reader of the file will find.
func NewDraft(families Families, files map[string][]byte, weights []Weight, typ string) (*Draft, error) {
	if typ != "" && !slices.Contains(Types(), typ) {
		return nil, fmt.Errorf("got type %q for the matrices, want one of %s", typ, strings.Join(Types(), ", "))
	}
	mixed := slices.ContainsFunc(weights, func(w Weight) bool { return strings.Contains(w.Name, ".experts.") })
	f, err := newFolder(families, files, mixed)
	if err != nil {
		return nil, err
	}
	vocab := 0
	d := &Draft{families: families, folder: f, entries: f.extra}
	counts := map[string]int{}
	f.tied = !slices.ContainsFunc(weights, func(w Weight) bool { return w.Name == "lm_head.weight" })
	for _, w := range weights {
		if l, ok := f.family.listed(w.Name); ok {
			list, _ := f.metadata[l.Key].([]float32)
			f.metadata[l.Key] = append(list, float32(w.Tensor.Item()))
			continue
		}
		changed, err := f.changed(w)
		if err != nil {
			return nil, err
		}
		for _, w := range changed {
			e, err := f.entry(w, strings.ToUpper(typ))
			if err != nil {
				return nil, err
			}
			switch rows, columns := w.size(); {
			case e.Name == "token_embd.weight":
				vocab = rows
			case strings.HasSuffix(e.Name, ".ssm_out.weight"):
				f.number("ssm.inner_size", float64(columns))
			case strings.HasSuffix(e.Name, ".ffn_gate.weight") && !f.family.Global: // which folders of LFM 2 leave to be worked out
				f.number("feed_forward_length", float64(rows))
			}
			if strings.HasPrefix(e.Name, "blk.") && strings.HasSuffix(e.Name, ".weight") {
				counts[e.Type]++
			}
			d.entries = append(d.entries, e)
		}
	}
	f.states(d)
	most := "F32"
	for name, n := range counts {
		if name != "F32" && (most == "F32" || n > counts[most]) {
			most = name
		}
	}
	for _, t := range fileTypes {
		if t.name == cmp.Or(typ, strings.ToLower(most)) {
			f.metadata["general.file_type"] = t.number
		}
	}
	return d, f.vocabulary(vocab)
}

// size is how many rows and columns a weight has, 0 where it is no matrix.
func (w Weight) size() (rows, columns int) {
	switch {
	case w.Codes != nil:
		return w.Codes.Out, w.Codes.In
	case w.Tensor.Rank() == 2:
		return w.Tensor.Len(0), w.Tensor.Len(1)
	}
	return 0, 0
}

// changed is a weight as files have it, in parts.
func (f *folder) changed(w Weight) (list []Weight, err error) {
	c := f.family.change(w.Name)
	if c == nil || c.split == nil {
		return []Weight{w}, nil
	}
	if w.Codes != nil {
		w.Tensor = w.Codes.Dequantized().Transpose()
	}
	err = tensor.Try(func() {
		for i, t := range c.split(f.config, w.Tensor) {
			list = append(list, Weight{Name: c.partsOf(w.Name)[i], Tensor: t.Eval()})
		}
	})
	return list, err
}

// entry brings a weight into the file's order of rows, and chooses its type.
func (f *folder) entry(w Weight, typ string) (gguf.Entry, error) {
	name, ok := f.family.fileName(f.arch, w.Name, f.experts)
	if !ok {
		return gguf.Entry{}, fmt.Errorf("weight %s has no place in a file of %s", w.Name, f.arch)
	}
	heads, kvHeads := f.headCounts()
	if w.Codes != nil {
		exact := gguf.TypeOf(w.Codes)
		typ = f.typeOf(typ, name, w.Codes.In)
		if exact != "" && (typ == "" || typ == exact) {
			e := gguf.Entry{Name: name, Type: exact, Codes: w.Codes}
			if rows := f.family.rows(w.Name, heads, kvHeads, []int{w.Codes.Out, w.Codes.In}); rows != nil {
				e.Rows = inverse(rows, w.Codes.Out)
			}
			return e, nil
		}
		w.Tensor = w.Codes.Dequantized().Transpose()
		typ = cmp.Or(typ, "F16")
	}
	e := gguf.Entry{Name: name, Type: typ, Tensor: w.Tensor}
	shape := w.Tensor.Shape()
	if rows := f.family.rows(w.Name, heads, kvHeads, shape); rows != nil {
		e.Tensor = ordered(e.Tensor, inverse(rows, shape[0]))
	}
	if plusOne(f.family, w.Name) {
		e.Tensor = e.Tensor.Cast(dtype.F32).Add(1)
	}
	switch {
	case len(shape) < 2 || slices.ContainsFunc(exact, func(end string) bool { return strings.HasSuffix(name, end) }):
		e.Type, e.Tensor = "F32", e.Tensor.Cast(dtype.F32)
	case typ == "":
		e.Type = strings.ToUpper(w.Tensor.DType().String())
	default:
		e.Type = f.typeOf(typ, name, shape[len(shape)-1])
	}
	return e, nil
}

// fileName is the name of what a name stands for in a file, with experts or without: Granite's feed-forward
// layer is called otherwise beside experts.
func (f Family) fileName(arch, name string, mixed bool) (string, bool) {
	file, ok := gguf.FileName(arch, f.called(name, false))
	if !mixed {
		file = strings.Replace(file, "_shexp", "", 1)
	}
	return file, ok
}

// exact are matrices that are never quantised.
var exact = []string{"_norm.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "conv1d.weight", "shortconv.conv.weight", "ssm_a", "ssm_d", "exp_probs_b.bias", "_exps.bias", "position_embd.weight", "per_layer_model_proj.weight"}

// Add adds metadata, by their keys after the architecture, and tensors.
func (d *Draft) Add(metadata map[string]any, tensors map[string]tensor.Tensor) {
	for key, v := range metadata {
		d.folder.metadata[d.folder.arch+"."+key] = v
	}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		d.entries = append(d.entries, gguf.Entry{Name: name, Tensor: tensors[name]})
	}
}

// Config is the config.json that a reader of the file will find.
func (d *Draft) Config() ([]byte, error) {
	m := &Model{families: d.families, file: d, path: "the file", names: map[string]string{}, Files: map[string][]byte{}}
	m.settings()
	return m.Files["config.json"], m.err
}

// WriteFile makes or replaces the file at path.
func (d *Draft) WriteFile(path string) error {
	return gguf.WriteFile(path, d.folder.metadata, d.entries)
}

// A draft shows what it will be.

func (d *Draft) Keys() []string { return slices.Collect(maps.Keys(d.folder.metadata)) }

func (d *Draft) Has(key string) bool { return d.folder.metadata[key] != nil }

func (d *Draft) Value(key string) (any, error) { return d.folder.metadata[key], nil }

func (d *Draft) Tensors() []gguf.Info {
	list := make([]gguf.Info, len(d.entries))
	for i, e := range d.entries {
		list[i] = gguf.Info{Name: e.Name, Type: e.Type}
		if e.Codes != nil {
			list[i].Shape = []int{e.Codes.Out, e.Codes.In}
		} else {
			list[i].Shape = e.Tensor.Shape()
		}
	}
	return list
}

var errNone = errors.New("no such tensor")

func (d *Draft) Info(name string) (gguf.Info, error) {
	for _, info := range d.Tensors() {
		if info.Name == name {
			return info, nil
		}
	}
	return gguf.Info{}, errNone
}

func (d *Draft) Tensor(name string) (tensor.Tensor, error) {
	for _, e := range d.entries {
		if e.Name == name && e.Codes == nil {
			return e.Tensor, nil
		}
	}
	return tensor.Tensor{}, errNone
}
