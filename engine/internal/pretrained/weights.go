package pretrained

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
)

// WeightsFile is the file of the weights, where there is one.
const WeightsFile = "model.safetensors"

const maxIndex = 64 << 20 // bytes of an index of shards

// Weights are those of a folder, in one file or in several. Layers are made of them. The first problem is
// their error, and all layers are empty from then on.
type Weights struct {
	// Stored is the name in the files of what the model calls by another name; nil: it is the same.
	Stored func(name string) string

	ctx   context.Context
	dir   string
	files map[string]*safetensors.File
	at    map[string]Source // by the name of the tensor
	used  map[string]bool
	bytes int64 // of the files
	err   error
}

// A Source has tensors by the names that folders give them.
type Source interface {
	Describe(name string) (typ string, shape []int, err error)
	Tensor(name string) (tensor.Tensor, error)
	Close() error
}

// shard is a file of safetensors.
type shard struct{ *safetensors.File }

func (s shard) Describe(name string) (string, []int, error) {
	info, err := s.Info(name)
	return info.DType, info.Shape, err
}

// WeightsOf are those of a source that has tensors of these names. The path is for errors.
func WeightsOf(ctx context.Context, path string, s Source, names []string) *Weights {
	w := &Weights{ctx: ctx, dir: path, at: map[string]Source{}, used: map[string]bool{}}
	for _, name := range names {
		w.at[name] = s
	}
	w.measure(path)
	return w
}

// measure counts the bytes of a file.
func (s *Weights) measure(path string) {
	if info, err := os.Stat(path); err == nil {
		s.bytes += info.Size()
	}
}

// OpenWeights opens model.safetensors of a folder, or the files that model.safetensors.index.json lists. The
// caller closes them. Reading stops when ctx is done.
func OpenWeights(ctx context.Context, dir string) (*Weights, error) {
	s := &Weights{ctx: ctx, dir: dir, files: map[string]*safetensors.File{}, at: map[string]Source{}, used: map[string]bool{}}
	index := filepath.Join(dir, WeightsFile+".index.json")
	text, err := regular.Read(index, maxIndex)
	if err != nil {
		f, err := s.open(WeightsFile)
		if err != nil {
			return nil, cmp.Or(pickled(dir), err)
		}
		for _, info := range f.Tensors() {
			s.at[info.Name] = shard{f}
		}
		return s, nil
	}
	var content struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", index, err)
	}
	for _, name := range slices.Sorted(maps.Keys(content.Map)) {
		f, err := s.open(content.Map[name])
		if err == nil && !f.Has(name) {
			err = fmt.Errorf("%s: %s has no tensor %q", index, content.Map[name], name)
		}
		if err != nil {
			s.Close()
			return nil, err
		}
		s.at[name] = shard{f}
	}
	return s, nil
}

// open opens a file of the folder, once.
func (s *Weights) open(name string) (*safetensors.File, error) {
	if f := s.files[name]; f != nil {
		return f, nil
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s: got the file %q in its index, want a name without a folder", s.dir, name)
	}
	f, err := safetensors.Open(filepath.Join(s.dir, name))
	if format := (*safetensors.FormatError)(nil); errors.As(err, &format) {
		return nil, fmt.Errorf("%s: %w", s.dir, err) // which of several files of that name
	}
	if err != nil {
		return nil, err
	}
	s.files[name] = f
	s.measure(filepath.Join(s.dir, name))
	return f, nil
}

// Close closes the files that OpenWeights opened.
func (s *Weights) Close() {
	for _, f := range s.files {
		f.Close()
	}
}

// Len is the number of tensors in the files.
func (s *Weights) Len() int { return len(s.at) }

// Has says whether the files have a tensor of that name.
func (s *Weights) Has(stored string) bool { return s.at[stored] != nil }

// Plain says whether the tensor lies in a file of safetensors.
func (s *Weights) Plain(stored string) bool {
	_, ok := s.at[stored].(shard)
	return ok
}

// Names lists the tensors in the files.
func (s *Weights) Names() []string { return slices.Sorted(maps.Keys(s.at)) }

// Take returns the source of a tensor, which belongs to the caller from then on; nil if there is none.
func (s *Weights) Take(stored string) Source {
	f := s.at[stored]
	delete(s.at, stored)
	return f
}

// Add makes a tensor of another source one of the files.
func (s *Weights) Add(stored string, from Source) { s.at[stored] = from }

// Wrong is an error that says in which folder it is.
func (s *Weights) Wrong(err error) error { return fmt.Errorf("%s: %w", s.dir, err) }

// Err is the first problem.
func (s *Weights) Err() error { return s.err }

// Find returns the source of a tensor and the name that it has there, nil if that is the error: there is no
// such tensor, or it has another shape. The tensor counts as used.
func (s *Weights) Find(name string, shape ...int) (Source, string) {
	if s.err == nil && s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
	}
	if s.err != nil {
		return nil, ""
	}
	stored := name
	if s.Stored != nil {
		stored = s.Stored(name)
	}
	f := s.at[stored]
	if f == nil {
		s.err = fmt.Errorf("%s: no tensor %q, want %v", s.dir, stored, shape)
		return nil, ""
	}
	typ, got, err := f.Describe(stored)
	if err == nil && !slices.Equal(got, shape) {
		err = fmt.Errorf("%s: tensor %q: got %s%v, want shape %v as config.json says", s.dir, stored, typ, got, shape)
	}
	if err != nil {
		s.err = err
		return nil, ""
	}
	s.used[stored] = true
	return f, stored
}

// Fail makes err the first problem, if there is none yet.
func (s *Weights) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Tensor reads the tensor of that name, which must have that shape, in f32, f16 or bf16.
func (s *Weights) Tensor(name string, shape ...int) tensor.Tensor {
	f, stored := s.Find(name, shape...)
	if f == nil {
		return tensor.Tensor{}
	}
	t, err := f.Tensor(stored)
	if err == nil && t.DType() != dtype.F32 && t.DType() != dtype.BF16 && t.DType() != dtype.F16 {
		err = fmt.Errorf("%s: tensor %q: got %v, want f32, bf16 or f16", s.dir, stored, t.DType())
	}
	if err != nil {
		s.err = err
		return tensor.Tensor{}
	}
	s.Report()
	return t
}

// Report tells how many tensors are read, of how much.
func (s *Weights) Report() {
	s.report(len(s.used), len(s.used) == len(s.at))
}

func (s *Weights) report(done int, final bool) {
	progress.Report(s.ctx, progress.Event{Task: "loading", Done: int64(done), Total: int64(len(s.at)), Unit: "tensors", Note: units.Bytes(s.bytes), Final: final})
}

// Values reads the tensor of that name, which must have that shape, in any dtype.
func (s *Weights) Values(name string, shape ...int) tensor.Tensor {
	f, stored := s.Find(name, shape...)
	if f == nil {
		return tensor.Tensor{}
	}
	t, err := f.Tensor(stored)
	s.Fail(err)
	return t
}

// Matrix returns the name and shape of the first of the known names that the files have, or of the only
// matrix that they have; "" if there is none or there are several.
func (s *Weights) Matrix(known ...string) (name string, shape []int) {
	for _, name := range known {
		if shape := s.Shape(name); len(shape) == 2 {
			return name, shape
		}
	}
	for other := range s.at {
		if got := s.Shape(other); len(got) == 2 {
			if name != "" {
				return "", nil
			}
			name, shape = other, got
		}
	}
	return name, shape
}

// Shape is the shape of a tensor in the files, nil if there is none.
func (s *Weights) Shape(stored string) []int {
	f := s.at[stored]
	if f == nil {
		return nil
	}
	_, shape, err := f.Describe(stored)
	if err != nil {
		return nil
	}
	return shape
}

// Vector reads a trainable vector, as f32.
func (s *Weights) Vector(name string, n int) tensor.Tensor {
	t := s.Tensor(name, n)
	if s.err != nil {
		return t
	}
	return t.Cast(dtype.F32).Named(name).Param()
}

// Linear reads the layer of that path. Its matrix keeps its dtype.
func (s *Weights) Linear(path string, in, out int, bias bool) *nn.Linear {
	l := &nn.Linear{}
	if w := s.Tensor(path+".weight", out, in); s.err == nil {
		l.Weight = w.Transpose().Named(path + ".weight").Param() // the bytes stay where they are
	}
	if bias {
		l.Bias = s.Vector(path+".bias", out)
	}
	return l
}

// Embedding reads the layer of that path. Its matrix keeps its dtype.
func (s *Weights) Embedding(path string, vocab, width int) *nn.Embedding {
	e := &nn.Embedding{}
	if w := s.Tensor(path+".weight", vocab, width); s.err == nil {
		e.Weight = w.Named(path + ".weight").Param()
	}
	return e
}

// Rest ends the reading: it is the error for tensors of the files that no layer has asked for, and that may
// not be left.
func (s *Weights) Rest(model string, may func(stored string) bool) error {
	if len(s.used) < len(s.at) {
		s.report(len(s.at), true)
	}
	var left []string
	for name := range s.at {
		if !s.used[name] && !may(name) {
			left = append(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	more := ""
	if len(left) > 3 {
		more = fmt.Sprintf(" and %d more", len(left)-3)
		left = left[:3]
	}
	return fmt.Errorf("%s: a %s model has no place for tensors %q%s", s.dir, model, left, more)
}
