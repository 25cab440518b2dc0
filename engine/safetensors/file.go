package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A File is an open safetensors file whose header was found correct.
type File struct {
	name     string
	r        io.ReaderAt
	closer   io.Closer
	data     int64   // where the data begins
	tensors  []Info  // in the order of their data
	byName   []int32 // places in tensors, in the order of their names
	metadata map[string]string
}

// An Info describes one tensor of a file.
type Info struct {
	Name  string
	DType string // the format's name: "F32", "BF16", "I64"
	Shape []int
	Bytes int64 // size of the data

	begin, end int64 // in the data
	at         int   // of the entry in the header, for errors
}

// Open opens the file and checks its header. The caller closes it.
func Open(path string) (*File, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	file, err := Read(f, size, filepath.Base(path))
	if err != nil {
		f.Close()
		return nil, err
	}
	file.closer = f
	return file, nil
}

// otherFormat says what a file is that begins so, and what reads it; nothing if that is not known.
func otherFormat(prefix []byte) string {
	for begin, is := range map[string]string{"GGUF": "a GGUF file, which llm.Load and gguf.Open read", "\x93NUMPY": "a file of NumPy's, which npy.Load reads",
		"PK\x03\x04": "a zip archive, as torch.save and np.savez write; npy.LoadZip reads those of NumPy"} {
		if strings.HasPrefix(string(prefix), begin) {
			return "; it is " + is
		}
	}
	if !slices.ContainsFunc(prefix, func(b byte) bool { return b < ' ' && b != '\n' && b != '\r' && b != '\t' || b > '~' }) {
		return "; it is text: data.ReadCSV reads tables"
	}
	return ""
}

// Read checks the header of the size bytes that r gives. The name is for errors.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	refuse := func(offset int64, format string, args ...any) error {
		return &FormatError{File: name, Offset: offset, Msg: fmt.Sprintf(format, args...)}
	}
	if size < 8 {
		return nil, refuse(0, "the file has %d bytes, want at least the 8 of the header's length", size)
	}
	var prefix [8]byte
	if err := regular.ReadAt(r, prefix[:], 0); err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", name, err)
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	switch {
	case length > maxHeader:
		return nil, refuse(0, "the header's length is %d, want at most %d%s", length, maxHeader, otherFormat(prefix[:]))
	case int64(length) > size-8:
		return nil, refuse(0, "the header's length is %d, but only %d bytes follow", length, size-8)
	}
	if problem := headerOutOfProportion(int64(length), size-8-int64(length)); problem != "" {
		return nil, refuse(0, "%s", problem)
	}
	src, err := readString(r, 8, int64(length))
	if err != nil {
		return nil, fmt.Errorf("safetensors: %s: %w", name, err)
	}
	h, err := parseHeader(name, src)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, r: r, data: 8 + int64(length), tensors: h.tensors, metadata: h.metadata}
	if err := f.checkData(size - f.data); err != nil {
		return nil, err
	}
	f.byName = make([]int32, len(f.tensors))
	for i := range f.byName {
		f.byName[i] = int32(i)
	}
	slices.SortFunc(f.byName, func(a, b int32) int { return strings.Compare(f.tensors[a].Name, f.tensors[b].Name) })
	return f, nil
}

// plainHeader is how long the header of a small file may be: some 50,000 tensors. A longer one must describe
// at least as many bytes of data as it has, so that a list of empty tensors cannot fill the
// memory.
const plainHeader = 4 << 20

// headerOutOfProportion says what is wrong with a header of so many bytes for so many bytes of data, or "".
func headerOutOfProportion(length, data int64) string {
	if length <= plainHeader || length <= data {
		return ""
	}
	return fmt.Sprintf("the header has %d bytes and describes only %d bytes of data, want at most %d, or as many as the data", length, data, plainHeader)
}

// readString reads n bytes at offset.
func readString(r io.ReaderAt, offset, n int64) (string, error) {
	var b strings.Builder
	b.Grow(int(n))
	if _, err := io.CopyN(&b, io.NewSectionReader(r, offset, n), n); err == io.EOF {
		return "", io.ErrUnexpectedEOF
	} else if err != nil {
		return "", err
	}
	return b.String(), nil
}

// checkData sorts the tensors by place and checks that they cover the data's bytes exactly, without hole or
// overlap.
func (f *File) checkData(size int64) error {
	slices.SortStableFunc(f.tensors, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	var end int64
	for i := range f.tensors {
		t := &f.tensors[i]
		refuse := func(format string, args ...any) error {
			return &FormatError{File: f.name, Tensor: t.Name, Offset: int64(t.at) + 8, Msg: fmt.Sprintf(format, args...)}
		}
		switch {
		case t.end < t.begin:
			return refuse("data_offsets [%d, %d]: the end is before the begin", t.begin, t.end)
		case t.end > size:
			return refuse("data_offsets [%d, %d]: the file has only %d bytes of data", t.begin, t.end, size)
		case t.begin < end:
			return refuse("data_offsets [%d, %d] overlap the tensor before, which ends at %d", t.begin, t.end, end)
		case t.begin > end:
			return refuse("data_offsets [%d, %d] leave a hole: the tensor before ends at %d", t.begin, t.end, end)
		}
		want, ok := sizeOf(t.DType, t.Shape)
		if !ok {
			return refuse("%s%v is larger than any file, or no whole number of bytes", t.DType, t.Shape)
		}
		if want != t.end-t.begin {
			return refuse("%s%v needs %d bytes, but data_offsets [%d, %d] give it %d", t.DType, t.Shape, want, t.begin, t.end, t.end-t.begin)
		}
		t.Bytes, end = want, t.end
	}
	if end != size {
		return &FormatError{File: f.name, Offset: f.data + end, Msg: fmt.Sprintf("%d bytes at the end belong to no tensor", size-end)}
	}
	return nil
}

// sizeOf is the number of bytes of a tensor; it is not ok if that overflows or is not a whole number.
func sizeOf(dtype string, shape []int) (int64, bool) {
	total := uint64(typeBits[dtype])
	for _, n := range shape {
		if n == 0 {
			return 0, true
		}
	}
	for _, n := range shape {
		hi, lo := bits.Mul64(total, uint64(n))
		if n < 0 || hi != 0 || lo > 1<<62 {
			return 0, false
		}
		total = lo
	}
	return int64(total / 8), total%8 == 0
}

// Close closes the file, if Open opened it.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Tensors describes the file's tensors, in the order of their data.
func (f *File) Tensors() []Info {
	list := slices.Clone(f.tensors)
	for i := range list {
		list[i].Shape = slices.Clone(list[i].Shape)
	}
	return list
}

// Metadata returns the file's __metadata__, empty if it has none.
func (f *File) Metadata() map[string]string {
	m := make(map[string]string, len(f.metadata))
	for k, v := range f.metadata {
		m[strings.Clone(k)] = strings.Clone(v) // the header goes with the File
	}
	return m
}

// Has says whether the file has a tensor of that name.
func (f *File) Has(name string) bool {
	_, err := f.Info(name)
	return err == nil
}

// Info describes the tensor of that name.
func (f *File) Info(name string) (Info, error) {
	i, ok := slices.BinarySearchFunc(f.byName, name, func(i int32, name string) int {
		return strings.Compare(f.tensors[i].Name, name)
	})
	if !ok {
		return Info{}, fmt.Errorf("safetensors: %s: no tensor %q among %d", f.name, name, len(f.tensors))
	}
	return f.tensors[f.byName[i]], nil
}

// Bytes reads a tensor's data: C order, little endian.
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

// read fills b with what the data have at a place, of a tensor of that name.
func (f *File) read(name string, b []byte, at int64) (err error) {
	defer wrap.Error(&err, fmt.Sprintf("safetensors: %s: tensor %q", f.name, name))
	return regular.ReadAt(f.r, b, f.data+at)
}
