package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// maxWritten is the longest name that llama.cpp reads, in bytes.
const maxWritten = 63

// An Entry is a tensor to be written.
type Entry struct {
	Name   string
	Type   string // "Q8_0", "Q4_K", … quantise; "F32", "F16", "BF16", … convert; "" keeps the element type
	Tensor tensor.Tensor

	// Codes take the place of Tensor, and Type is that of TypeOf: they are written as they are, the matrix
	// [in out] as out rows. Row r is output Rows(r), or r where Rows is nil.
	Codes *quant.Weight
	Rows  func(row int) int
}

// shape is that of the tensor in the file.
func (e Entry) shape() []int {
	if e.Codes != nil {
		return []int{e.Codes.Out, e.Codes.In}
	}
	return e.Tensor.Shape()
}

// WriteFile makes or replaces the file at path, version 3. Readers find the old file or the whole new one:
// see package durable. The metadata have the types that [File.Value] returns: an int is none, since readers
// ask for a number of one type, most often uint32. They are written in the order of their keys, the tensors
// in the order given.
func WriteFile(path string, metadata map[string]any, entries []Entry) (err error) {
	defer wrap.Error(&err, "gguf: "+path)
	return durable.WriteFile(path, func(w io.Writer) error { return write(w, metadata, entries) })
}

// Write writes a file's bytes to w, as [WriteFile] does.
func Write(w io.Writer, metadata map[string]any, entries []Entry) (err error) {
	defer wrap.Error(&err, "gguf: write")
	return write(w, metadata, entries)
}

func write(to io.Writer, metadata map[string]any, entries []Entry) error {
	alignment := int64(defaultAlignment)
	if v, ok := metadata["general.alignment"]; ok {
		n, ok := v.(uint32)
		if !ok || bits.OnesCount32(n) != 1 {
			return fmt.Errorf("general.alignment is %T %v, want a power of two of type uint32", v, v)
		}
		alignment = int64(n)
	}
	if len(metadata) > maxCount || len(entries) > maxCount {
		return fmt.Errorf("got %d tensors and %d metadata, want at most %d", len(entries), len(metadata), maxCount)
	}
	head := append([]byte(magic), 3, 0, 0, 0)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(entries)))
	head = binary.LittleEndian.AppendUint64(head, uint64(len(metadata)))
	head, err := appendMetadata(head, metadata)
	if err != nil {
		return err
	}
	head, ks, err := appendInfos(head, entries, alignment)
	if err != nil {
		return err
	}
	w := &padded{w: bufio.NewWriter(to), alignment: alignment}
	if err := w.write(head); err != nil {
		return err
	}
	for i, e := range entries {
		data, err := e.bytes(ks[i])
		if err != nil {
			return fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		if err := w.write(data); err != nil {
			return err
		}
	}
	return w.w.Flush()
}

// padded writes parts, each filled with zeros up to the alignment.
type padded struct {
	w         *bufio.Writer
	alignment int64
}

func (p *padded) write(b []byte) error {
	p.w.Write(b)
	n := int64(len(b))
	_, err := io.CopyN(p.w, zeros{}, pad(n, p.alignment)-n)
	return err
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func appendMetadata(b []byte, metadata map[string]any) ([]byte, error) {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if key == "" || len(key) > maxKey || !utf8.ValidString(key) {
			return nil, fmt.Errorf("got key %q, want UTF-8 of 1 to %d bytes", visible.Clip(key), maxKey)
		}
		code := codeOf(reflect.TypeOf(metadata[key]))
		b = binary.LittleEndian.AppendUint32(appendString(b, key), code)
		var err error
		if b, err = appendValue(b, metadata[key], 0); err != nil {
			return nil, fmt.Errorf("metadata %q: %w", key, err)
		}
	}
	return b, nil
}

func appendInfos(b []byte, entries []Entry, alignment int64) ([]byte, []*kind, error) {
	seen := map[string]bool{}
	var ks []*kind
	offset := int64(0)
	for _, e := range entries {
		k, size, err := e.check()
		if err == nil && seen[e.Name] {
			err = fmt.Errorf("the name is taken")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", e.Name, err)
		}
		seen[e.Name] = true
		shape := e.shape()
		b = binary.LittleEndian.AppendUint32(appendString(b, e.Name), uint32(len(shape)))
		for _, n := range slices.Backward(shape) {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		b = binary.LittleEndian.AppendUint32(b, k.number)
		b = binary.LittleEndian.AppendUint64(b, uint64(offset))
		offset += pad(size, alignment)
		ks = append(ks, k)
	}
	return b, ks, nil
}

// check finds the type to be written and the number of bytes.
func (e Entry) check() (*kind, int64, error) {
	if e.Name == "" || len(e.Name) > maxWritten || !utf8.ValidString(e.Name) {
		return nil, 0, fmt.Errorf("want a name of UTF-8 of 1 to %d bytes", maxWritten)
	}
	shape, name := e.shape(), e.Type
	if e.Codes != nil && (name == "" || name != TypeOf(e.Codes)) {
		return nil, 0, fmt.Errorf("got type %q for %v, want the one of TypeOf", name, e.Codes)
	}
	if name == "" {
		name = strings.ToUpper(e.Tensor.DType().String())
	}
	written := func(k kind) bool { return k.block == 1 || k.encode != nil }
	k := kindBy(func(k kind) bool { return k.name == name && written(k) })
	if k == nil {
		return nil, 0, fmt.Errorf("got type %q, want one of %v", name, names(written))
	}
	if len(shape) > maxRank {
		return nil, 0, fmt.Errorf("got %d dimensions, want at most %d", len(shape), maxRank)
	}
	size, problem := k.size(shape)
	if problem != "" {
		return nil, 0, fmt.Errorf("%s", problem)
	}
	return k, size, nil
}

// bytes converts or quantises the tensor.
func (e Entry) bytes(k *kind) (b []byte, err error) {
	dt := dtype.F32
	if k.encode == nil && e.Codes == nil {
		if dt, err = dtype.Parse(strings.ToLower(k.name)); err != nil {
			return nil, err
		}
	}
	err = tensor.Try(func() {
		if e.Codes != nil {
			b = e.blocks(k)
		} else {
			b = e.Tensor.Cast(dt).Bytes()
		}
	})
	if err != nil || k.encode == nil || e.Codes != nil {
		return b, err
	}
	values := make([]float32, len(b)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return k.fromF32(values)
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// codeOf is the number of a Go type; appendValue refuses values of those that have none.
func codeOf(t reflect.Type) uint32 {
	if code := slices.Index(valueTypes[:], t); code >= 0 {
		return uint32(code)
	}
	return codeArray
}

func appendValue(b []byte, v any, depth int) ([]byte, error) {
	t := reflect.TypeOf(v)
	switch {
	case codeOf(t) == codeString:
		return appendString(b, v.(string)), nil
	case codeOf(t) != codeArray:
		return binary.Append(b, binary.LittleEndian, v)
	case slices.ContainsFunc(valueTypes[:], func(of reflect.Type) bool { return reflect.SliceOf(of) == t }):
		return appendArray(b, reflect.ValueOf(v), depth)
	}
	return nil, fmt.Errorf("got a value of type %T, want a number of a sized type, as uint32, a bool, a string, or a slice", v)
}

// appendArray appends the type of the elements, their number, and they themselves. Those of a []any are
// slices.
func appendArray(b []byte, list reflect.Value, depth int) ([]byte, error) {
	code, n := codeOf(list.Type().Elem()), list.Len()
	if depth >= maxDepth || code == codeArray && n > maxNested {
		return nil, fmt.Errorf("got %d arrays in an array at depth %d, want at most %d and %d", n, depth, maxNested, maxDepth)
	}
	b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, code), uint64(n))
	switch code {
	case codeString:
		for i := range n {
			b = appendString(b, list.Index(i).String())
		}
		return b, nil
	case codeArray:
	default:
		return binary.Append(b, binary.LittleEndian, list.Interface())
	}
	for i := range n {
		v := list.Index(i).Interface()
		if codeOf(reflect.TypeOf(v)) != codeArray {
			return nil, fmt.Errorf("element %d of a []any is a %T, want a slice", i, v)
		}
		var err error
		if b, err = appendValue(b, v, depth+1); err != nil {
			return nil, err
		}
	}
	return b, nil
}
