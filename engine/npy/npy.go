// Package npy reads and writes NumPy's files: an array (.npy), and a zip of named arrays (.npz).
//
// A file of one array is "\x93NUMPY", a version, the header's length (little endian, 2 bytes in version 1, 4
// in 2 and 3), the header (a Python dictionary), and the elements:
//
//	{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
// A file is accepted only if it is exactly that: these three keys, an element type that tensors have, and as
// many bytes as the shape needs. A refusal is a [FormatError], which says what is wrong and at which byte. No
// more memory is taken than the file describes with bytes that it has. Objects, which NumPy stores as
// Python's pickles, are refused, as are records and texts.
//
// The format is described in NumPy's numpy.lib.format. Reading order: npy.go, header.go, zip.go.
package npy

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A FormatError says why a file is refused.
type FormatError struct {
	File   string
	Array  string // the array at fault in a .npz
	Offset int64  // of the first byte at fault, in the file or in the array
	Msg    string
}

func (e *FormatError) Error() string {
	where := visible.Line(e.File)
	if e.Array != "" {
		where += fmt.Sprintf(": array %.100q", e.Array)
	}
	return fmt.Sprintf("npy: %s: byte %d: %s", where, e.Offset, e.Msg)
}

// Load reads a .npy file onto the default device. Arrays in Fortran's order and in big-endian bytes become
// tensors like all others.
func Load(path string) (tensor.Tensor, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return tensor.Tensor{}, fmt.Errorf("npy: %w", err)
	}
	defer f.Close()
	return Read(f, size, filepath.Base(path))
}

// Read reads an array of size bytes in all. The name is for errors.
func Read(r io.Reader, size int64, name string) (tensor.Tensor, error) {
	return read(r, size, size, &FormatError{File: name})
}

// read reads an array of size bytes, for which at first no more than room bytes are allocated. A refusal is a
// copy of refused with its place and text.
func read(r io.Reader, size, room int64, refused *FormatError) (tensor.Tensor, error) {
	s := &source{r: r, size: size, room: room, refused: refused}
	h, err := s.header()
	if err != nil {
		return tensor.Tensor{}, err
	}
	want, fits := h.bytes()
	if have := size - s.at; !fits || want != have {
		need := "more than 2^62"
		if fits {
			need = fmt.Sprint(want)
		}
		return tensor.Tensor{}, s.refuse("%s needs %s bytes, but %d follow the header", h, need, have)
	}
	data, err := s.next(want)
	if err != nil {
		return tensor.Tensor{}, err
	}
	if h.dtype == dtype.Bool {
		if i := slices.IndexFunc(data, func(b byte) bool { return b > 1 }); i >= 0 {
			s.at += int64(i) - want
			return tensor.Tensor{}, s.refuse("got %d as a bool, want 0 or 1", data[i])
		}
	}
	if h.swapped {
		for n := h.dtype.Part().Size(); len(data) >= n; data = data[n:] {
			slices.Reverse(data[:n])
		}
		data = s.last
	}
	var t tensor.Tensor
	if err := tensor.Try(func() { t = h.tensor(data) }); err != nil { // too many elements beside an axis of none
		return tensor.Tensor{}, s.refuse("%v", err)
	}
	return t, nil
}

// A source is what is read, with the place up to which it was.
type source struct {
	r          io.Reader
	size, room int64
	at         int64
	last       []byte // what next returned
	refused    *FormatError
}

func (s *source) refuse(format string, args ...any) error {
	e := *s.refused
	e.Offset, e.Msg = s.at, fmt.Sprintf(format, args...)
	return &e
}

// next reads n bytes. Beyond the room it allocates only as bytes arrive.
func (s *source) next(n int64) ([]byte, error) {
	if n > s.size-s.at {
		return nil, s.refuse("%d bytes follow, want %d", s.size-s.at, n)
	}
	b, err := regular.Full(s.r, n, s.room)
	if err != nil {
		e := s.refuse("%v", err).(*FormatError)
		e.Offset += int64(len(b))
		if err == io.ErrUnexpectedEOF {
			e.Msg = fmt.Sprintf("the file ends, want %d more bytes", n-int64(len(b)))
		}
		return nil, e
	}
	s.at += n
	s.last = b
	return s.last, nil
}

// Save writes a tensor as the .npy file at path: readers find the old file or the whole new one. NumPy has no
// bf16: that is an error.
func Save(path string, t tensor.Tensor) (err error) {
	defer wrap.Error(&err, "npy: "+path)
	a, err := arrayOf(t)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, a.write)
}

// An array is a tensor to be written.
type array struct{ head, data []byte }

func arrayOf(t tensor.Tensor) (a array, err error) {
	if _, ok := descriptors[t.DType()]; !ok {
		return a, fmt.Errorf("NumPy has no %v: save x.Cast(dtype.F32)", t.DType())
	}
	err = tensor.Try(func() { a = array{headerOf(t.DType(), t.Shape()), t.Bytes()} })
	return a, err
}

func (a array) write(w io.Writer) error {
	if _, err := w.Write(a.head); err != nil {
		return err
	}
	_, err := w.Write(a.data)
	return err
}
