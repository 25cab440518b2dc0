package gguf

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A File is an open GGUF file whose header was found correct.
type File struct {
	name    string
	r       io.ReaderAt
	closer  io.Closer
	size    int64
	keys    []string // in the file's order
	values  map[string]place
	tensors []Info
	byName  map[string]int // places in tensors
}

// An Info describes one tensor of a file.
type Info struct {
	Name  string
	Type  string // the format's name: "F32", "BF16", "Q4_K"
	Shape []int  // rows before columns, as in package tensor; files have it the other way round
	Bytes int64  // size of the data

	begin int64 // in the file
}

// Open opens the file and checks its header. The caller closes it.
func Open(path string) (*File, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	file, err := Read(f, size, filepath.Base(path))
	if err != nil {
		f.Close()
		return nil, err
	}
	file.closer = f
	return file, nil
}

// Close closes the file, if Open opened it.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Keys are those of the metadata, in the file's order.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// Has says whether the metadata have the key.
func (f *File) Has(key string) bool {
	_, ok := f.values[key]
	return ok
}

// Value reads one of the metadata: a bool, a string, a number of the file's type (uint8 to int64, float32,
// float64), a slice of those, or, for an array of arrays, a []any of slices.
func (f *File) Value(key string) (v any, err error) {
	p, ok := f.values[key]
	if !ok {
		return nil, fmt.Errorf("gguf: %s: no metadata %q among %d", f.name, key, len(f.keys))
	}
	defer stopped(&err)
	return newHeader(f.name, f.r, p.at, f.size).value(p.code, true, 0), nil
}

// Metadata reads all metadata, as [File.Value] does.
func (f *File) Metadata() (map[string]any, error) {
	m := make(map[string]any, len(f.keys))
	for _, key := range f.keys {
		v, err := f.Value(key)
		if err != nil {
			return nil, err
		}
		m[key] = v
	}
	return m, nil
}

// Tensors describes the file's tensors, in the order of their data.
func (f *File) Tensors() []Info {
	list := slices.Clone(f.tensors)
	for i := range list {
		list[i].Shape = slices.Clone(list[i].Shape)
	}
	return list
}

// Info describes the tensor of that name.
func (f *File) Info(name string) (Info, error) {
	i, ok := f.byName[name]
	if !ok {
		return Info{}, fmt.Errorf("gguf: %s: no tensor %q among %d", f.name, name, len(f.tensors))
	}
	info := f.tensors[i]
	info.Shape = slices.Clone(info.Shape)
	return info, nil
}

// Bytes reads a tensor's data as it is in the file.
func (f *File) Bytes(name string) ([]byte, error) {
	t, err := f.Info(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, t.Bytes)
	if err := f.read(name, b, t.begin); err != nil {
		return nil, err
	}
	return b, nil
}

// read fills b with what the file has at a place, of a tensor of that name.
func (f *File) read(name string, b []byte, at int64) (err error) {
	defer wrap.Error(&err, fmt.Sprintf("gguf: %s: tensor %q", f.name, name))
	return regular.ReadAt(f.r, b, at)
}

// Tensor reads one tensor onto the default device: a quantised one as f32, another with its own element type.
func (f *File) Tensor(name string) (tensor.Tensor, error) { return f.Expanded(name, dtype.F32) }

// Expanded is Tensor with quantised weights rounded to expand, F32, F16 or BF16.
func (f *File) Expanded(name string, expand dtype.Type) (tensor.Tensor, error) {
	if expand != dtype.F32 && expand != dtype.F16 && expand != dtype.BF16 {
		return tensor.Tensor{}, fmt.Errorf("gguf: got %v for quantised weights, want f32, f16 or bf16", expand)
	}
	info, err := f.Info(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	k := kindBy(func(k kind) bool { return k.name == info.Type })
	dt, err := dtype.Parse(strings.ToLower(info.Type))
	if err != nil && k.decode == nil {
		return tensor.Tensor{}, fmt.Errorf("gguf: %s: tensor %q has type %s, want one of %v", f.name, name, info.Type, names(func(k kind) bool { return k.decode != nil || k.block == 1 }))
	}
	read := func(at int, to []byte) error { return f.read(name, to, info.begin+int64(at)) }
	if k.decode != nil {
		dt, read = expand, func(at int, to []byte) error { return f.expand(k, info, expand, at, to) }
	}
	return access.Read(name, dt, info.Shape, read)
}

// expand decodes the blocks that become the bytes to of a tensor, from the byte number at on. Both lie at the
// borders of blocks: of a tensor's pieces all but the last have a power of two of bytes.
func (f *File) expand(k *kind, info Info, dt dtype.Type, at int, to []byte) error {
	block := k.block * dt.Size()
	src := make([]byte, len(to)/block*k.bytes)
	if err := f.read(info.Name, src, info.begin+int64(at/block*k.bytes)); err != nil {
		return err
	}
	k.decodeAs(dt, to, src)
	return nil
}

// names are those of some types.
func names(of func(kind) bool) (list []string) {
	for _, k := range kinds {
		if of(k) {
			list = append(list, k.name)
		}
	}
	return list
}
