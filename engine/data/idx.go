package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// idxTypes are the element types of the format by their codes, from the page of the MNIST database (LeCun,
// Cortes and Burges). Elements are big-endian.
var idxTypes = map[byte]dtype.Type{8: dtype.U8, 9: dtype.I8, 11: dtype.I16, 12: dtype.I32, 13: dtype.F32, 14: dtype.F64}

// mostDeflated is how many bytes deflate can make of one.
const mostDeflated = 1032

// ReadIDX reads a file of the format of MNIST, as it is or compressed with gzip:
//
//	x, err := data.ReadIDX("train-images-idx3-ubyte.gz") // u8[60000 28 28]
//	y, err := data.ReadIDX("train-labels-idx1-ubyte.gz") // u8[60000]
//	fit, test := data.Pairs(x.Unsqueeze(1).Cast(dtype.F32).Div(255), y, 64).Split(0.9)
//
// It takes a file with exactly as many bytes as its header says. Errors name the byte.
func ReadIDX(path string) (t tensor.Tensor, err error) {
	defer wrap.Error(&err, "data: read idx")
	f, size, err := regular.OpenSized(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	defer wrap.Error(&err, visible.Line(filepath.Base(path)))
	return readIDX(f, size)
}

// readIDX reads a file of size bytes.
func readIDX(f io.Reader, size int64) (tensor.Tensor, error) {
	b := bufio.NewReader(f)
	s := &idxSource{r: b, most: size, room: size}
	if start, err := b.Peek(2); err == nil && start[0] == 0x1f && start[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return tensor.Tensor{}, err
		}
		s.r, s.most = z, mostDeflated*size
	}
	return s.read()
}

// An idxSource is what is read, with the place up to which it was: of what was compressed, if it was.
type idxSource struct {
	r    io.Reader
	most int64 // bytes that there can be
	room int64 // bytes of the file
	at   int64
}

func (s *idxSource) refuse(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", s.at, fmt.Sprintf(format, args...))
}

func (s *idxSource) next(n int64) ([]byte, error) {
	b, err := regular.Full(s.r, n, s.room)
	s.at += int64(len(b))
	if err == io.ErrUnexpectedEOF {
		return nil, s.refuse("the file ends, want %d more bytes", n-int64(len(b)))
	} else if err != nil {
		return nil, s.refuse("%v", err)
	}
	return b, nil
}

func (s *idxSource) read() (tensor.Tensor, error) {
	dt, shape, err := s.header()
	if err != nil {
		return tensor.Tensor{}, err
	}
	size, fits := uint64(dt.Size()), true
	for _, d := range shape {
		hi, lo := bits.Mul64(size, uint64(d))
		size, fits = lo, fits && hi == 0
	}
	if !fits || size > uint64(s.most-s.at) {
		return tensor.Tensor{}, s.refuse("%v%v needs more bytes than the file can hold", dt, shape)
	}
	data, err := s.next(int64(size))
	if err != nil {
		return tensor.Tensor{}, err
	}
	if n, err := io.Copy(io.Discard, s.r); n > 0 || err != nil {
		if err != nil {
			return tensor.Tensor{}, s.refuse("%v", err)
		}
		return tensor.Tensor{}, s.refuse("%d bytes follow %v%v, want none", n, dt, shape)
	}
	swap(data, dt.Size())
	var t tensor.Tensor
	err = tensor.Try(func() { t = tensor.FromBytes(dt, data, shape...) })
	return t, err
}

func (s *idxSource) header() (dtype.Type, []int, error) {
	b, err := s.next(4)
	if err != nil {
		return 0, nil, err
	}
	dt, known := idxTypes[b[2]]
	if b[0] != 0 || b[1] != 0 || !known {
		s.at = 0
		return 0, nil, s.refuse("got % x, want 00 00, a type of 08, 09 or 0b to 0e, and the number of axes", b)
	}
	lengths, err := s.next(4 * int64(b[3]))
	if err != nil {
		return 0, nil, err
	}
	shape := make([]int, b[3])
	for i := range shape {
		shape[i] = int(binary.BigEndian.Uint32(lengths[4*i:]))
	}
	return dt, shape, nil
}

// swap turns the bytes of each element around.
func swap(data []byte, size int) {
	for ; size > 1 && len(data) >= size; data = data[size:] {
		slices.Reverse(data[:size])
	}
}

// WriteIDX writes a tensor in the format of MNIST, compressed if the name ends in .gz: readers find the old
// file or the whole new one. The format has u8, i8, i16, i32, f32 and f64; other types are errors.
func WriteIDX(path string, t tensor.Tensor) (err error) {
	defer wrap.Error(&err, "data: write idx: "+visible.Line(filepath.Base(path)))
	var b bytes.Buffer
	for code, dt := range idxTypes {
		if dt == t.DType() {
			b.Write([]byte{0, 0, code, byte(t.Rank())})
		}
	}
	if b.Len() == 0 || t.Rank() > 255 {
		return fmt.Errorf("got %v%v, want u8, i8, i16, i32, f32 or f64", t.DType(), t.Shape())
	}
	for _, d := range t.Shape() {
		if int64(d) > 1<<32-1 {
			return errors.New("an axis is longer than 2^32 - 1")
		}
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(d)))
	}
	var data []byte
	if err := tensor.Try(func() { data = t.Bytes() }); err != nil {
		return err
	}
	swap(data, t.DType().Size())
	return durable.WriteFile(path, func(w io.Writer) error {
		return packedTo(w, path, func(w io.Writer) error {
			w.Write(b.Bytes()) // whose error the next one returns, too
			_, err := w.Write(data)
			return err
		})
	})
}
