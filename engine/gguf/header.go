package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/visible"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	maxKey           = 1<<16 - 1 // bytes of a key or a name
	maxCount         = 1 << 16   // keys, or tensors: the largest models have some 100 and 5,000
	maxRank          = 4
)

// A header reads a file's bytes up to the data, and knows where it is.
type header struct {
	name string
	buf  *bufio.Reader
	at   int64
	size int64
}

func newHeader(name string, r io.ReaderAt, at, size int64) *header {
	return &header{name: name, buf: bufio.NewReaderSize(io.NewSectionReader(r, at, size-at), 8<<10), at: at, size: size}
}

// A stop is the panic by which a header ends that cannot be read on, so that no step passes errors on.
type stop struct{ error }

// stopped makes the error that it is of a stop, where it is deferred.
func stopped(err *error) {
	switch r := recover().(type) {
	case nil:
	case stop:
		*err = r.error
	default:
		panic(r)
	}
}

// refuse stops at a byte.
func (h *header) refuse(at int64, format string, args ...any) {
	panic(stop{&FormatError{File: h.name, Offset: at, Msg: fmt.Sprintf(format, args...)}})
}

// unless stops at an error of the file.
func (h *header) unless(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the file became shorter meanwhile
	}
	if err != nil {
		panic(stop{fmt.Errorf("gguf: %s: byte %d: %w", h.name, h.at, err)})
	}
}

// next returns the next n bytes, at most 8. They are good until the next call.
func (h *header) next(n int, what string) []byte {
	if left := h.size - h.at; left < int64(n) {
		h.refuse(h.at, "%s needs %d bytes, but only %d follow", what, n, left)
	}
	b, err := h.buf.Peek(n)
	h.unless(err)
	h.buf.Discard(n)
	h.at += int64(n)
	return b
}

func (h *header) uint32(what string) uint32 { return binary.LittleEndian.Uint32(h.next(4, what)) }

func (h *header) uint64(what string) uint64 { return binary.LittleEndian.Uint64(h.next(8, what)) }

// count reads how many things of at least so many bytes each follow.
func (h *header) count(what string, each int64) int64 {
	at := h.at
	n := h.uint64(what)
	if left := h.size - h.at; n > uint64(left/each) {
		h.refuse(at, "%s is %d, but only %d bytes follow", what, n, left)
	}
	return int64(n)
}

// text reads a string, or passes over it.
func (h *header) text(what string, keep bool) string {
	n := h.count(what+": its length", 1)
	var b []byte
	var err error
	if keep {
		b = make([]byte, n)
		_, err = io.ReadFull(h.buf, b)
	} else {
		_, err = h.buf.Discard(int(n))
	}
	h.unless(err)
	h.at += n
	return string(b)
}

// label reads a key or a name.
func (h *header) label(what string) string {
	at := h.at
	if b, err := h.buf.Peek(8); err == nil && binary.LittleEndian.Uint64(b) > maxKey && h.size-h.at >= 8 {
		h.refuse(at, "%s has %d bytes, want at most %d", what, binary.LittleEndian.Uint64(b), maxKey)
	}
	s := h.text(what, true)
	if s == "" || !utf8.ValidString(s) {
		h.refuse(at, "%s is %q, want UTF-8 that is not empty", what, visible.Clip(s))
	}
	return s
}

// Read checks the header of the size bytes that r gives. The name is for errors.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{name: name, r: r, size: size, values: map[string]place{}, byName: map[string]int{}}
	if err := newHeader(name, r, 0, size).read(f); err != nil {
		return nil, err
	}
	return f, nil
}

func (h *header) read(f *File) (err error) {
	defer stopped(&err)
	tensors, values := h.start()
	alignment := h.metadata(f, int(values))
	begin := int64(0) // in the data
	for i := range int(tensors) {
		at := h.at
		t, offset := h.tensor(i)
		if _, twice := f.byName[t.Name]; twice {
			h.refuse(at, "the name %q stands in the file twice", t.Name)
		}
		if begin = pad(begin, alignment); offset != uint64(begin) {
			h.refuse(at, "tensor %q: its offset is %d, want %d, where the tensor before ends", t.Name, offset, begin)
		}
		if t.Bytes > h.size-begin {
			h.refuse(at, "tensor %q: %s%v needs %d bytes, but the file has %d", t.Name, t.Type, t.Shape, t.Bytes, h.size)
		}
		t.begin = begin
		begin += t.Bytes
		f.byName[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	h.data(f, begin, alignment)
	return nil
}

// start reads up to the metadata: the numbers of tensors and of metadata.
func (h *header) start() (tensors, values int64) {
	if b := h.next(4, "the magic number"); string(b) != magic {
		h.refuse(0, "got %q, want a file that starts with %s", b, magic)
	}
	switch version := h.uint32("the version"); version {
	case 2, 3:
	case 2 << 24, 3 << 24:
		h.refuse(4, "the file is big endian, want little endian")
	default:
		h.refuse(4, "got version %d, want 2 or 3", version)
	}
	const leastTensor, leastValue = 8 + 1 + 4 + 4 + 8, 8 + 1 + 4 + 1
	tensors = h.count("the number of tensors", leastTensor)
	values = h.count("the number of metadata", leastValue)
	if tensors > maxCount || values > maxCount {
		h.refuse(8, "got %d tensors and %d metadata, want at most %d", tensors, values, maxCount)
	}
	return tensors, values
}

// metadata notes where the values are, and returns the alignment.
func (h *header) metadata(f *File, count int) (alignment int64) {
	alignment = defaultAlignment
	for i := range count {
		at := h.at
		key := h.label(fmt.Sprintf("key %d", i))
		if f.Has(key) {
			h.refuse(at, "the key %q stands in the file twice", key)
		}
		code := h.uint32("a value's type")
		f.keys = append(f.keys, key)
		f.values[key] = place{code, h.at}
		at = h.at
		v := h.value(code, key == "general.alignment", 0)
		if key == "general.alignment" {
			n, ok := v.(uint32)
			if !ok || bits.OnesCount32(n) != 1 {
				h.refuse(at, "general.alignment is %T %v, want a power of two of type uint32", v, visible.Clip(fmt.Sprint(v)))
			}
			alignment = int64(n)
		}
	}
	return alignment
}

// tensor reads the description of the tensor of that number, and its offset in the data.
func (h *header) tensor(i int) (t Info, offset uint64) {
	at := h.at
	t.Name = h.label(fmt.Sprintf("the name of tensor %d", i))
	rank := h.uint32("the number of dimensions")
	if rank > maxRank {
		h.refuse(at, "tensor %q has %d dimensions, want at most %d", t.Name, rank, maxRank)
	}
	t.Shape = make([]int, rank)
	for i := range t.Shape {
		n := h.uint64("a dimension")
		if int64(n) < 0 || int64(int(n)) != int64(n) {
			h.refuse(h.at-8, "tensor %q: dimension %d is %d, which is larger than any file", t.Name, i, n)
		}
		t.Shape[i] = int(n)
	}
	slices.Reverse(t.Shape)
	number := h.uint32("a tensor's type")
	k := kindBy(func(k kind) bool { return k.number == number })
	if k == nil {
		h.refuse(h.at-4, "tensor %q: got type %d, want one of the format's", t.Name, number)
	}
	t.Type = k.name
	var problem string
	if t.Bytes, problem = k.size(t.Shape); problem != "" {
		h.refuse(at, "tensor %q: %s", t.Name, problem)
	}
	return t, h.uint64("a tensor's offset")
}

// size is the number of bytes of a tensor of the shape, or says why there is none.
func (k *kind) size(shape []int) (n int64, problem string) {
	row := 1 // blocks do not go across rows
	if len(shape) > 0 {
		row = shape[len(shape)-1]
	}
	if row%k.block != 0 {
		return 0, fmt.Sprintf("%s%v: a row has %d elements, want a multiple of %d", k.name, shape, row, k.block)
	}
	if slices.Contains(shape, 0) {
		return 0, ""
	}
	blocks := uint64(1)
	for i, n := range shape {
		if i == len(shape)-1 {
			n /= k.block
		}
		hi, lo := bits.Mul64(blocks, uint64(n))
		if hi != 0 || lo > 1<<50 {
			return 0, fmt.Sprintf("%s%v is larger than any file", k.name, shape)
		}
		blocks = lo
	}
	return int64(blocks) * int64(k.bytes), ""
}

// data says where the tensors are in the file, and checks that it ends with them.
func (h *header) data(f *File, length, alignment int64) {
	start, end := pad(h.at, alignment), h.at
	if length > 0 {
		end = start + length
	}
	if h.size < end {
		h.refuse(h.size, "the tensors' data end at byte %d, but the file has %d bytes", end, h.size)
	}
	if last := pad(end, alignment); h.size > last {
		h.refuse(last, "%d bytes at the end belong to no tensor", h.size-last)
	}
	for i := range f.tensors {
		f.tensors[i].begin += start
	}
}

// pad is the next multiple of alignment, a power of two.
func pad(n, alignment int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }
