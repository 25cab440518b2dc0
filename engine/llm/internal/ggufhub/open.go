// Package ggufhub translates between a GGUF file and the folder in which Hugging Face's libraries keep the
// same model. The two have other names for weights and settings, another order of some rows, and the
// tokenizer in other words.
//
// [Open] shows a file as a folder, and [Write] writes a folder as a file, as llama.cpp's own converter does.
// Package llm reads and writes the one through the other, so that it knows one form only.
//
// Reading order: family.go, open.go, config.go and rope.go (settings), words.go (tokenizer); write.go,
// metadata.go, vocabulary.go.
package ggufhub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/gguf"
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
			name = m.family.whole(hub)
		} else if isRope(info.Name) {
			continue // a setting of the folder
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
		failed := tensor.Try(func() {
			var t tensor.Tensor
			if t, err = m.joined(c, name, func(info gguf.Info) (tensor.Tensor, error) { return tensor.Zeros(info.Shape...), nil }); err == nil {
				info.Shape = t.Shape()
			}
		})
		err = cmp.Or(err, failed)
	}
	return info.Type, info.Shape, err
}

// joined is the folder's tensor of parts, which read gives.
func (m *Model) joined(c *Change, name string, read func(gguf.Info) (tensor.Tensor, error)) (t tensor.Tensor, err error) {
	var parts []tensor.Tensor
	for _, part := range c.partsOf(name) {
		file, ok := fileName(m.arch, part, m.file.Has(m.own("expert_count")))
		info, err := m.file.Info(file)
		if !ok || err != nil {
			return t, fmt.Errorf("%s: no tensor %q, which %s needs", m.path, file, name)
		}
		p, err := read(info)
		if err != nil {
			return t, err
		}
		parts = append(parts, p)
	}
	return c.join(m.settled, parts), nil
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
		failed := tensor.Try(func() {
			if t, err = m.joined(c, name, read); err == nil {
				t = t.Eval()
			}
		})
		err = cmp.Or(err, failed)
	} else {
		t, err = read(info)
	}
	if err != nil {
		return t, err
	}
	err = tensor.Try(func() {
		if heads := m.turned(name); heads > 0 && fits(heads, info.Shape) {
			t = turn(t, heads, 2).Eval()
		}
		if plusOne(m.family, name) {
			t = t.Cast(dtype.F32).Sub(1).Eval()
		}
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
	var rows func(int) int
	if heads := m.turned(name); heads > 0 && fits(heads, info.Shape) {
		rows = func(o int) int { return rowInFile(o, info.Shape[0]/heads) }
	}
	return m.weights.Codes(info.Name, rows)
}

// turned is the number of heads whose rows stand in another order in the file, 0 where none do: llama.cpp
// turns neighbours, transformers turns the number at i together with the one half a head further.
func (m *Model) turned(name string) int { return turnedHeads(m.family, name, m.heads, m.kvHeads) }

func turnedHeads(f Family, name string, heads, kvHeads int) int {
	switch {
	case !f.Interleaved:
	case strings.Contains(name, ".q_proj."):
		return heads
	case strings.Contains(name, ".k_proj."):
		return kvHeads
	}
	return 0
}

// fits says whether rows are heads of an even width; the model refuses those that are not, by their shape.
func fits(heads int, shape []int) bool { return len(shape) > 0 && shape[0]%(2*heads) == 0 }

// turn brings rows from the file's order into the folder's, with parts 2, or back, with the half of a head.
func turn(t tensor.Tensor, heads, parts int) tensor.Tensor {
	shape := t.Shape()
	split := append([]int{heads, shape[0] / heads / parts, parts}, shape[1:]...)
	order := []int{0, 2, 1, 3}[:len(split)]
	return t.Reshape(split...).Permute(order...).Reshape(shape...)
}

// rowInFile is the row of the file that is output o of the folder, for heads of that width.
func rowInFile(o, width int) int {
	head, i := o/width*width, o%width
	return head + i%(width/2)*2 + i/(width/2)
}

// plusOne says whether the file has a norm's weight plus 1, and the folder without.
func plusOne(f Family, name string) bool {
	return f.PlusOne && strings.HasSuffix(name, "norm.weight") && !strings.HasSuffix(name, "linear_attn.norm.weight")
}
