package safetensors

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// formatName is the format's name of an element type: that of package dtype in capitals.
func formatName(dt dtype.Type) string { return strings.ToUpper(dt.String()) }

// formatNames are those of all element types.
func formatNames() []string {
	var names []string
	for _, dt := range append(dtype.All(), dtype.C64) {
		names = append(names, formatName(dt))
	}
	return names
}

// Tensor reads one tensor onto the default device.
func (f *File) Tensor(name string) (tensor.Tensor, error) {
	info, err := f.Info(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	dt, err := dtype.Parse(strings.ToLower(info.DType))
	if err != nil || formatName(dt) != info.DType {
		return tensor.Tensor{}, fmt.Errorf("safetensors: %s: tensor %q has dtype %s, want one of %v", f.name, name, info.DType, formatNames())
	}
	return access.Read(name, dt, info.Shape, func(at int, to []byte) error { return f.read(name, to, info.begin+int64(at)) })
}

// Load reads all tensors of a file onto the default device, and its metadata.
func Load(path string) (tensors map[string]tensor.Tensor, metadata map[string]string, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	tensors = map[string]tensor.Tensor{}
	for _, info := range f.tensors {
		name := strings.Clone(info.Name) // the header goes with the File
		if tensors[name], err = f.Tensor(name); err != nil {
			return nil, nil, err
		}
	}
	return tensors, f.Metadata(), nil
}

// Save writes tensors and metadata as the file at path: readers find the old file or the whole new one.
func Save(path string, tensors map[string]tensor.Tensor, metadata map[string]string) error {
	entries, err := Entries(tensors)
	if err != nil {
		return err
	}
	return WriteFile(path, entries, metadata)
}

// Entries reads tensors for writing, in the order of their names.
func Entries(tensors map[string]tensor.Tensor) ([]Entry, error) {
	var entries []Entry
	err := tensor.Try(func() {
		list := make([]tensor.Tensor, 0, len(tensors))
		names := slices.Sorted(maps.Keys(tensors))
		for _, name := range names {
			list = append(list, tensors[name])
		}
		tensor.Eval(list...)
		for i, t := range list {
			entries = append(entries, Entry{Name: names[i], DType: formatName(t.DType()), Shape: t.Shape(), Data: t.Bytes()})
		}
	})
	return entries, err
}
