// Package ggufhub translates between a GGUF file and the folder in which Hugging Face's libraries keep the
// same model. The two have other names for weights and settings, another order of some rows, and the
// tokenizer in other words.
//
// [Open] shows a file as a folder, and [Write] writes a folder as a file, as llama.cpp's own converter does.
// Package llm reads and writes the one through the other, so that it knows one form only.
//
// Reading order: family.go, open.go, config.go, rope.go and global.go (settings), words.go (tokenizer);
// write.go, metadata.go, vocabulary.go.
package ggufhub

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// contents are those of a file, or of a draft of one.
type contents interface {
	Keys() []string
	Has(key string) bool
	Value(key string) (any, error)
	Tensors() []gguf.Info
	Info(name string) (gguf.Info, error)
	Tensor(name string) (tensor.Tensor, error)
}

// A Model is a GGUF file seen as a folder.
type Model struct {
	Files map[string][]byte // config.json, tokenizer.json and what else lies beside the weights of the folder

	file           contents
	weights        *gguf.File
	path           string
	families       Families
	family         Family
	arch           string
	names          map[string]string // in the file, by that of the folder
	heads, kvHeads int
	settled        numbers                  // config.json
	listed         map[string]tensor.Tensor // weights that are lists of the metadata
	err            error
}

// Open reads the settings of a file. The caller closes it.
func Open(path string, families Families) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m := &Model{families: families, file: f, weights: f, path: path, names: map[string]string{}, Files: map[string][]byte{}}
	m.settings()
	m.words()
	if m.err != nil {
		f.Close()
		return nil, m.err
	}
	return m, nil
}

// settings reads all but the tokenizer.
func (m *Model) settings() {
	m.arch = m.text("general.architecture")
	if m.err == nil && !slices.Contains(gguf.Architectures(), m.arch) {
		m.fail("general.architecture", "got %q, want one of %s", m.arch, strings.Join(gguf.Architectures(), ", "))
	}
	if n := m.number("split.count", 1); n > 1 {
		m.fail("split.count", "the file is one of %v: join them with llama-gguf-split --merge", n)
	}
	own := func(key string) float64 { return m.number(m.own(key), 0) }
	m.family = m.families.of(m.arch, own("attention.sliding_window") > 0, m.file.Has(m.own("expert_count")), own)
	m.settled = m.config()
	for _, info := range m.file.Tensors() {
		name := info.Name
		if hub, ok := gguf.HubName(m.arch, info.Name); ok {
			name = m.family.whole(m.second(m.family.called(hub, true)))
		} else if slices.Contains([]string{ropeFreqs, ropeLong, ropeShort}, name) || strings.HasPrefix(name, "dense_") {
			continue // a setting of the folder, or what comes after the pooling
		}
		m.names[name] = info.Name
	}
	m.lists()
	m.put("config.json", m.settled)
}

// lists reads the weights that are lists of the metadata.
func (m *Model) lists() {
	m.listed = map[string]tensor.Tensor{}
	for _, l := range m.family.Lists {
		if !m.file.Has(l.Key) {
			continue // a tensor is missing then
		}
		value, err := m.file.Value(l.Key)
		list, ok := value.([]float32)
		if err != nil || !ok {
			m.fail(l.Key, "got %T, want a list of numbers in f32", value)
		}
		for i, x := range list {
			m.listed["model.layers."+strconv.Itoa(i)+l.End] = tensor.Full(float64(x), []int{1}[:l.Rank]...)
		}
	}
}

// second is the folder's name of what files call as they call something else where there is only one.
func (m *Model) second(hub string) string {
	o := m.family.Second
	if o.Tensor == "" {
		return hub
	}
	if m.settled[o.Setting] = 1; m.has(o.Tensor) {
		m.settled[o.Setting] = 2
		hub = strings.Replace(hub, o.Alone, o.Name, 1)
	}
	return hub
}

// put adds a file of JSON.
func (m *Model) put(name string, content any) {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil { // a number that is infinite or NaN
		m.fail(name, "%v", err)
		return
	}
	m.Files[name] = text
}

// Close closes the file.
func (m *Model) Close() error { return m.weights.Close() }

// Names are those of the weights, as the folder has them. One that no folder has keeps its own.
func (m *Model) Names() []string {
	return append(slices.Collect(maps.Keys(m.names)), slices.Collect(maps.Keys(m.listed))...)
}

// Describe is the type of a weight in the file, and its shape.
func (m *Model) Describe(name string) (typ string, shape []int, err error) {
	if t, ok := m.listed[name]; ok {
		return "F32", t.Shape(), nil
	}
	info, err := m.file.Info(m.names[name])
	if c := m.family.change(name); err == nil && c != nil && c.join != nil {
		var t tensor.Tensor
		if t, err = m.joined(c, name, func(info gguf.Info) (tensor.Tensor, error) { return tensor.Zeros(info.Shape...), nil }); err == nil {
			info.Shape = t.Shape()
		}
	}
	return info.Type, info.Shape, err
}

// joined is the folder's tensor of parts, which read gives.
func (m *Model) joined(c *Change, name string, read func(gguf.Info) (tensor.Tensor, error)) (t tensor.Tensor, err error) {
	err = access.Try(tensor.Context(), func() error {
		var parts []tensor.Tensor
		for _, part := range c.partsOf(name) {
			file, ok := m.family.fileName(m.arch, part, m.file.Has(m.own("expert_count")))
			info, err := m.file.Info(file)
			if !ok || err != nil {
				return fmt.Errorf("%s: no tensor %q, which %s needs", m.path, file, name)
			}
			p, err := read(info)
			if err != nil {
				return err
			}
			parts = append(parts, p)
		}
		t = c.join(m.settled, parts)
		return nil
	})
	return t, err
}

// Tensor reads a weight as the folder has it. One that is quantised becomes bf16.
func (m *Model) Tensor(name string) (t tensor.Tensor, err error) {
	if t, ok := m.listed[name]; ok {
		return t, nil
	}
	info, err := m.file.Info(m.names[name])
	if err != nil {
		return t, err
	}
	read := func(info gguf.Info) (tensor.Tensor, error) { return m.weights.Expanded(info.Name, dtype.BF16) }
	if c := m.family.change(name); c != nil && c.join != nil {
		t, err = m.joined(c, name, read)
	} else {
		t, err = read(info)
	}
	if err != nil {
		return t, err
	}
	err = tensor.Try(func() {
		if rows := m.family.rows(name, m.heads, m.kvHeads, info.Shape); rows != nil {
			t = ordered(t, rows)
		}
		if plusOne(m.family, name) {
			t = t.Cast(dtype.F32).Sub(1)
		}
		t = t.Eval()
	})
	return t, err
}

// Codes reads a matrix of a quantised type, or matrices above one another, as the codes that it is; it is nil
// for other tensors.
func (m *Model) Codes(name string) (*quant.Weight, error) {
	info, err := m.file.Info(m.names[name])
	if c := m.family.change(name); err != nil || !gguf.HasCodes(info.Type) || len(info.Shape) < 2 || c != nil && c.join != nil {
		return nil, err
	}
	return m.weights.Codes(info.Name, m.family.rows(name, m.heads, m.kvHeads, info.Shape))
}

// rows says for a tensor of that shape which row of the file is output o of the folder; nil: row o is. A
// shape that the heads do not divide the model refuses.
func (f Family) rows(name string, heads, kvHeads int, shape []int) func(o int) int {
	if len(shape) == 0 {
		return nil
	}
	turned := 0 // heads: llama.cpp turns neighbours, transformers the number at i and the one half a head further
	switch {
	case f.Grouped && strings.Contains(name, ".query_key_value."):
		return grouped(heads, kvHeads, shape[0])
	case !f.Interleaved:
	case strings.Contains(name, ".q_proj."):
		turned = heads
	case strings.Contains(name, ".k_proj."):
		turned = kvHeads
	}
	if turned == 0 || shape[0]%(2*turned) != 0 {
		return nil
	}
	width := shape[0] / turned
	return func(o int) int {
		head, i := o/width*width, o%width
		return head + i%(width/2)*2 + i/(width/2)
	}
}

// grouped is the order of n rows that are the heads of queries, keys and values, of which the folder has
// those of each head of keys together.
func grouped(heads, kvHeads, n int) func(o int) int {
	per, width := heads/kvHeads, n/(heads+2*kvHeads)
	if width == 0 || heads%kvHeads != 0 || n%(heads+2*kvHeads) != 0 {
		return nil
	}
	return func(o int) int {
		group, i := o/width/(per+2), o/width%(per+2)
		head := group*per + i
		if i >= per {
			head = heads + (i-per)*kvHeads + group
		}
		return head*width + o%width
	}
}

// ordered is t with other rows: row o of it is row rows(o) of t.
func ordered(t tensor.Tensor, rows func(o int) int) tensor.Tensor {
	index := make([]int, t.Len(0))
	for o := range index {
		index[o] = rows(o)
	}
	return t.Take(tensor.From(index), 0)
}

// inverse is the reverse of an order of n rows.
func inverse(rows func(o int) int, n int) func(row int) int {
	outputs := make([]int, n)
	for o := range outputs {
		outputs[rows(o)] = o
	}
	return func(row int) int { return outputs[row] }
}

// plusOne says whether the file has a norm's weight plus 1, and the folder without.
func plusOne(f Family, name string) bool {
	return f.PlusOne && strings.HasSuffix(name, "norm.weight") && !strings.HasSuffix(name, "linear_attn.norm.weight")
}
