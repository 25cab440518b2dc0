package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// mostDeflated is how many bytes deflate can make of one: a directory that claims more lies.
const mostDeflated = 1032

// ending is that of an array's name in the zip.
const ending = ".npy"

// LoadZip reads all arrays of a .npz file, as numpy.savez and savez_compressed write it, onto the default
// device, by their names.
func LoadZip(path string) (map[string]tensor.Tensor, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	return ReadZip(f, size, filepath.Base(path))
}

// ReadZip reads all arrays of a .npz of size bytes. The name is for errors.
func ReadZip(r io.ReaderAt, size int64, name string) (map[string]tensor.Tensor, error) {
	refuse := func(array, format string, args ...any) error {
		return &FormatError{File: name, Array: array, Msg: fmt.Sprintf(format, args...)}
	}
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // a path is a name here, and no file is made of it
		return nil, refuse("", "%v, want a zip of arrays", err)
	}
	all, claimed := map[string]tensor.Tensor{}, uint64(0)
	for _, entry := range z.File {
		key, ok := strings.CutSuffix(entry.Name, ending)
		_, twice := all[key]
		most := mostDeflated * uint64(size)
		switch {
		case !ok:
			return nil, refuse(entry.Name, "got a file whose name does not end in %s, want arrays only", ending)
		case twice:
			return nil, refuse(key, "the name stands in the zip twice")
		case entry.UncompressedSize64 > most || claimed+entry.UncompressedSize64 > most:
			return nil, refuse(key, "its size is %d bytes, more than the file's %d can hold", entry.UncompressedSize64, size)
		}
		claimed += entry.UncompressedSize64
		if all[key], err = readEntry(entry, size, &FormatError{File: name, Array: key}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readEntry(entry *zip.File, room int64, refused *FormatError) (tensor.Tensor, error) {
	refuse := func(err error) error {
		refused.Msg = err.Error()
		return refused
	}
	r, err := entry.Open()
	if err != nil {
		return tensor.Tensor{}, refuse(err)
	}
	defer r.Close()
	t, err := read(r, int64(entry.UncompressedSize64), room, refused)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil { // at the end the checksum is compared
		return tensor.Tensor{}, refuse(err)
	}
	return t.Named(refused.Array), nil
}

// SaveZip writes tensors by their names as the .npz file at path, without compression, as numpy.savez does:
// readers find the old file or the whole new one. An empty name, and bf16, which NumPy lacks, are errors.
func SaveZip(path string, tensors map[string]tensor.Tensor) (err error) {
	defer wrap.Error(&err, "npy: "+path)
	names, arrays := slices.Sorted(maps.Keys(tensors)), make([]array, len(tensors))
	for i, name := range names {
		if name == "" {
			return errors.New("got a tensor without a name")
		}
		if arrays[i], err = arrayOf(tensors[name]); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for i, name := range names {
			entry, err := z.CreateHeader(&zip.FileHeader{Name: name + ending, Method: zip.Store})
			if err == nil {
				err = arrays[i].write(entry)
			}
			if err != nil {
				return err
			}
		}
		return z.Close()
	})
}
