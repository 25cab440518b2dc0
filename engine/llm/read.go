package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// shards are the files in which a folder keeps a model's weights.
type shards struct {
	dir   string
	files map[string]*safetensors.File
	at    map[string]*safetensors.File // by the name of the tensor
}

func (s *shards) Close() {
	for _, f := range s.files {
		f.Close()
	}
}

// openShards opens model.safetensors, or the files that model.safetensors.index.json lists.
func openShards(dir string) (*shards, error) {
	s := &shards{dir: dir, files: map[string]*safetensors.File{}, at: map[string]*safetensors.File{}}
	index := filepath.Join(dir, weightsFile+".index.json")
	text, err := regular.Read(index, maxIndex)
	if err != nil {
		f, err := s.open(weightsFile)
		if err != nil {
			return nil, err
		}
		for _, info := range f.Tensors() {
			s.at[info.Name] = f
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
		s.at[name] = f
	}
	return s, nil
}

// open opens a file of the folder, once.
func (s *shards) open(name string) (*safetensors.File, error) {
	if f := s.files[name]; f != nil {
		return f, nil
	}
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s: got the file %q in its index, want a name without a folder", s.dir, name)
	}
	f, err := safetensors.Open(filepath.Join(s.dir, name))
	if err == nil {
		s.files[name] = f
	}
	return f, err
}

// reader makes layers of the weights of a folder. The first problem is its error, and all layers are empty
// from then on.
type reader struct {
	ctx    context.Context
	c      Config
	shards *shards
	prefix string // of all names of the model in the files, where it is not "model."
	used   map[string]bool
	err    error
}

// tensor reads the tensor of that name, which must have that shape.
func (r *reader) tensor(name string, shape ...int) tensor.Tensor {
	if r.err == nil && r.ctx.Err() != nil {
		r.err = context.Cause(r.ctx)
	}
	if r.err != nil {
		return tensor.Tensor{}
	}
	stored := name
	if inner, ok := strings.CutPrefix(name, "model."); ok {
		stored = r.prefix + inner
	}
	f := r.shards.at[stored]
	if f == nil {
		r.err = fmt.Errorf("%s: no tensor %q, want %v", r.shards.dir, stored, shape)
		return tensor.Tensor{}
	}
	info, err := f.Info(stored)
	if err == nil && !slices.Equal(info.Shape, shape) {
		err = fmt.Errorf("%s: tensor %q: got %s%v, want shape %v as config.json says", r.shards.dir, stored, info.DType, info.Shape, shape)
	}
	var t tensor.Tensor
	if err == nil {
		t, err = f.Tensor(stored)
	}
	if err == nil && t.DType() != dtype.F32 && t.DType() != dtype.BF16 && t.DType() != dtype.F16 {
		err = fmt.Errorf("%s: tensor %q: got %v, want f32, bf16 or f16", r.shards.dir, stored, t.DType())
	}
	if err != nil {
		r.err = err
		return tensor.Tensor{}
	}
	r.used[stored] = true
	progress.Report(r.ctx, progress.Event{Task: "loading", Done: int64(len(r.used)), Total: int64(len(r.shards.at)), Unit: "tensors"})
	return t
}

// vector reads a vector, as f32.
func (r *reader) vector(name string, n int) tensor.Tensor {
	t := r.tensor(name, n)
	if r.err != nil {
		return t
	}
	return t.Cast(dtype.F32).Named(name).Param()
}

func (r *reader) linear(path string, in, out int, bias bool, _ float64) nn.Layer {
	l := &nn.Linear{}
	if w := r.tensor(path+".weight", out, in); r.err == nil {
		l.Weight = w.Transpose().Named(path + ".weight").Param() // the bytes stay where they are
	}
	if bias {
		l.Bias = r.vector(path+".bias", out)
	}
	return l
}

func (r *reader) embedding(path string, _ float64) nn.Layer {
	e := &nn.Embedding{}
	if w := r.tensor(path+".weight", r.c.Vocab, r.c.Width); r.err == nil {
		e.Weight = w.Named(path + ".weight").Param()
	}
	return e
}

func (r *reader) norm(path string, width int) *nn.RMSNorm {
	return &nn.RMSNorm{Weight: r.vector(path+".weight", width), Eps: r.c.Eps, Plus: r.c.NormPlus}
}

// rest says which tensors of the folder belong to no layer. A tied model may store its output matrix a second
// time, and old files store the rates of rotary positions.
func (r *reader) rest() error {
	var left []string
	for name := range r.shards.at {
		tied := !r.c.Untied && name == "lm_head.weight"
		if !r.used[name] && !tied && !strings.HasSuffix(name, "rotary_emb.inv_freq") {
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
	return fmt.Errorf("%s: a %s model has no place for tensors %q%s", r.shards.dir, r.c.Family, left, more)
}

// readWeights builds the model of c with the weights of a folder.
func readWeights(ctx context.Context, dir string, c Config) (*Model, error) {
	s, err := openShards(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(s.at) < 4*c.Layers { // so that a hostile number of layers costs nothing
		return nil, fmt.Errorf("%s: got %d tensors, want those of %d layers", dir, len(s.at), c.Layers)
	}
	r := &reader{ctx: ctx, c: c, shards: s, prefix: "model.", used: map[string]bool{}}
	if s.at["model.embed_tokens.weight"] == nil && s.at["embed_tokens.weight"] != nil {
		r.prefix = "" // of the model without its head
	}
	m := build(c, r)
	if r.err == nil {
		r.err = r.rest()
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}
