// Package coded reads and writes the matrices of folders of transformers and mlx whose weights are codes.
//
// A [format] says which tensors such a folder has for a matrix, and a [layout] where the bits of each code
// are, and which scale, zero point or minimum belongs to it. The rest is the same for all: a reader makes the
// codes those of package quant, number for number, and the folder looks as if it had one tensor more, the
// matrix; a [Writer] fits codes and puts them where the layout says.
//
// Reading order: coded.go, layout.go, formats.go, blocks.go, compressed.go, mxfp4.go, write.go.
package coded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Keys are those of settings that say that weights are codes.
var Keys = []string{"quantization_config", "quantization"}

// Open makes tensors of the matrices in codes of a folder, as its settings say, and says whether those do.
// Matrices that are not codes in the files stay what they are. A setting that is not read is an error that
// names its key.
func Open(w *pretrained.Weights, s *pretrained.Settings) (bool, error) {
	q := settings(s)
	if text := s.Object("text_config"); q == nil && text != nil {
		q = settings(text)
	}
	if q == nil {
		return false, s.Err()
	}
	f := formatOf(q)
	if f == nil {
		return false, s.Err()
	}
	f.check(q)
	for _, name := range w.Names() {
		i := slices.IndexFunc(f.marks, func(mark string) bool { return strings.HasSuffix(name, mark) })
		if i < 0 || !w.Has(name) { // or another mark has taken it
			continue
		}
		path := strings.TrimSuffix(name, f.marks[i])
		m := &matrix{w: w, q: q, path: path, parts: map[string]pretrained.Source{}}
		for _, part := range slices.Concat(f.marks, f.parts) {
			if from := w.Take(path + part); from != nil {
				m.parts[part] = from
			}
		}
		m.layout = f.layout(m)
		m.check()
		if err := s.Err(); err != nil {
			return false, err
		}
		if m.err != nil {
			return false, w.Wrong(m.err)
		}
		as := strings.Replace(path, ".switch_mlp.", ".experts.", 1) + ".weight"
		if m.straight {
			as = path
		}
		w.Add(as, m)
	}
	return true, s.Err()
}

func settings(s *pretrained.Settings) *pretrained.Settings {
	for _, key := range Keys {
		if q := s.Object(key); q != nil {
			return q
		}
	}
	return nil
}

// A matrix is a source of one tensor, of those that a folder has for it.
type matrix struct {
	layout
	w     *pretrained.Weights
	q     *pretrained.Settings
	path  string
	parts map[string]pretrained.Source
	err   error
}

// Describe returns the shape [out in], or that of all experts.
func (m *matrix) Describe(string) (string, []int, error) {
	switch {
	case m.experts == 0:
		return "codes", []int{m.out, m.in}, nil
	case m.straight:
		return "codes", []int{m.experts, m.in, m.out / m.experts}, nil
	}
	return "codes", []int{m.experts, m.out / m.experts, m.in}, nil
}

// Close does nothing: the files are the folder's.
func (m *matrix) Close() error { return nil }

// Tensor returns what the codes stand for, in that shape.
func (m *matrix) Tensor(name string) (tensor.Tensor, error) {
	w, err := m.Codes(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := w.Dequantize(w.Config.Scale).Transpose()
	if m.experts > 0 {
		t = t.Reshape(m.experts, m.out/m.experts, m.in)
	}
	if m.straight {
		t = t.Transpose()
	}
	return t, nil
}

// fail makes an error of the matrix, if there is none yet.
func (m *matrix) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// has says whether the folder has a part.
func (m *matrix) has(part string) bool { return m.parts[part] != nil }

// dims is the shape of a part, nil if there is none.
func (m *matrix) dims(part string) []int {
	from := m.parts[part]
	if from == nil {
		return nil
	}
	_, shape, _ := from.Describe(m.path + part)
	return shape
}

// shape is that of a part of as many dimensions, which has one of these types.
func (m *matrix) shape(part string, rank int, types ...string) []int {
	from := m.parts[part]
	if from == nil {
		m.fail("no tensor %q", m.path+part)
		return make([]int, rank)
	}
	typ, shape, err := from.Describe(m.path + part)
	if err == nil && (len(shape) != rank || !slices.Contains(types, typ)) {
		err = fmt.Errorf("tensor %q: got %s%v, want %d dimensions of %s", m.path+part, typ, shape, rank, strings.Join(types, " or "))
	}
	if err != nil {
		m.fail("%w", err)
		return make([]int, rank)
	}
	return shape
}

// want checks the shape of a part.
func (m *matrix) want(part string, types []string, shape ...int) {
	if got := m.shape(part, len(shape), types...); m.err == nil && !slices.Equal(got, shape) {
		m.fail("tensor %q: got shape %v, want %v", m.path+part, got, shape)
	}
}

// bytes are those of a part.
func (m *matrix) bytes(part string) []byte {
	if m.err != nil {
		return nil
	}
	file, ok := m.parts[part].(interface {
		Bytes(name string) ([]byte, error)
	})
	if !ok {
		m.fail("no tensor %q", m.path+part)
		return nil
	}
	data, err := file.Bytes(m.path + part)
	if err != nil {
		m.fail("%w", err)
	}
	return data
}

// numbers are those of a part.
func (m *matrix) numbers(part string) []float32 {
	if m.err != nil {
		return nil
	}
	t, err := m.parts[part].Tensor(m.path + part)
	if err != nil {
		m.fail("%w", err)
		return nil
	}
	return t.Cast(dtype.F32).Floats()
}
