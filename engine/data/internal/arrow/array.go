package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// An array is a field's values in a batch.
type array struct {
	f        *field
	length   int64
	valid    []byte   // a bit for each value; nil: all are there
	data     []byte   // numbers, bits, texts or views
	offsets  []byte   // of texts and lists
	wide     bool     // offsets have 8 bytes
	views    [][]byte // to which views lead
	children []*array
	entries  []*array // of a dictionary, one after the other
}

// check says whether the buffers have what the length claims.
func (a *array) check() error {
	size := int64(0)
	switch {
	case a.f.coded:
		size = a.length * int64(a.f.index.width)
	case a.f.views():
		size = 16 * a.length
	case a.f.kind == typeBool:
		size = (a.length + 7) / 8
	case a.offsets == nil:
		size = a.length * int64(a.f.width)
	}
	if int64(len(a.data)) < size {
		return fmt.Errorf("got %d bytes for %d values, want at least %d", len(a.data), a.length, size)
	}
	if n := int64(len(a.offsets)) / a.offsetBytes(); a.offsets != nil && a.length > 0 && n < a.length+1 {
		return fmt.Errorf("got %d offsets for %d values", n, a.length)
	}
	for _, c := range a.children {
		if a.f.kind == typeStruct && c.length < a.length || a.f.kind == typeFixedList && a.f.size > 0 && c.length/int64(a.f.size) < a.length {
			return fmt.Errorf("got %d values of field %.40q for %d", c.length, c.f.name, a.length)
		}
	}
	return nil
}

func (a *array) offsetBytes() int64 {
	if a.wide {
		return 8
	}
	return 4
}

// bit says whether bit i is set.
func bit(b []byte, i int64) bool { return b[i/8]>>(i%8)&1 == 1 }

// whole is whole number i of b, with so many bytes.
func whole(b []byte, i int64, f *field) (int64, error) {
	var raw [8]byte
	copy(raw[:], b[i*int64(f.width):][:f.width])
	v, unused := int64(binary.LittleEndian.Uint64(raw[:])), 64-8*f.width
	switch {
	case !f.unsigned:
		return v << unused >> unused, nil
	case v < 0:
		return 0, fmt.Errorf("got %d, want at most %d", uint64(v), int64(math.MaxInt64))
	}
	return v, nil
}

// float is number i of b.
func float(b []byte, i int64, width int) float64 {
	b = b[i*int64(width):]
	switch width {
	case 2:
		return float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(b)))
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// span is where item i of a list, or text i, begins and ends.
func (a *array) span(i, most int64) (from, to int64, err error) {
	if a.wide {
		from, to = int64(binary.LittleEndian.Uint64(a.offsets[8*i:])), int64(binary.LittleEndian.Uint64(a.offsets[8*i+8:]))
	} else {
		from, to = int64(int32(binary.LittleEndian.Uint32(a.offsets[4*i:]))), int64(int32(binary.LittleEndian.Uint32(a.offsets[4*i+4:])))
	}
	if from < 0 || to < from || to > most {
		return 0, 0, fmt.Errorf("got a value from %d to %d of %d", from, to, most)
	}
	return from, to, nil
}

// value returns value i, which there is.
func (r *Reader) value(a *array, i int64) (any, error) {
	if a.f.kind == typeNull && !a.f.coded || a.valid != nil && !bit(a.valid, i) {
		return nil, nil
	}
	if a.f.coded {
		return r.entry(a, i)
	}
	switch a.f.kind {
	case typeBool:
		return bit(a.data, i), nil
	case typeDate, typeTimestamp:
		n, err := whole(a.data, i, a.f)
		if err != nil {
			return nil, err
		}
		return columns.At(n, a.f.unit)
	case typeInt, typeTime, typeDuration:
		if a.f.unsigned && a.f.width == 8 {
			return binary.LittleEndian.Uint64(a.data[8*i:]), nil
		}
		return whole(a.data, i, a.f)
	case typeFloat:
		return float(a.data, i, a.f.width), nil
	case typeText, typeLargeText, typeBinary, typeLargeBinary:
		from, to, err := a.span(i, int64(len(a.data)))
		if err != nil {
			return nil, err
		}
		return r.string(a, a.data[from:to])
	case typeTextView, typeBinaryView:
		b, err := a.view(i)
		if err != nil {
			return nil, err
		}
		return r.string(a, b)
	case typeStruct:
		return r.object(a, i)
	case typeFixedList:
		return r.list(a, i*int64(a.f.size), (i+1)*int64(a.f.size))
	}
	from, to, err := a.span(i, a.children[0].length)
	if err != nil {
		return nil, err
	}
	list, err := r.list(a, from, to)
	if a.f.kind == typeMap && err == nil {
		return columns.Map(list)
	}
	return list, err
}

// entry returns the dictionary's entry that value i names.
func (r *Reader) entry(a *array, i int64) (any, error) {
	n, err := whole(a.data, i, a.f.index)
	if err != nil {
		return nil, err
	}
	at := n
	for _, e := range a.entries {
		if at >= 0 && at < e.length {
			return r.value(e, at)
		}
		at -= e.length
	}
	return nil, fmt.Errorf("got entry %d, and dictionary %d has %d", n, a.f.dictionary, n-at)
}

// view returns the bytes of view i: up to 12 are in it, more are at a place of a buffer.
func (a *array) view(i int64) ([]byte, error) {
	v := a.data[16*i : 16*i+16]
	n := int64(int32(binary.LittleEndian.Uint32(v)))
	if n >= 0 && n <= 12 {
		return v[4 : 4+n], nil
	}
	k, from := int64(int32(binary.LittleEndian.Uint32(v[8:]))), int64(int32(binary.LittleEndian.Uint32(v[12:])))
	if n < 0 || k < 0 || k >= int64(len(a.views)) || from < 0 || from+n > int64(len(a.views[k])) {
		return nil, fmt.Errorf("got a text of %d bytes at %d of buffer %d, which is not there", n, from, k)
	}
	return a.views[k][from : from+n], nil
}

func (r *Reader) string(a *array, b []byte) (any, error) {
	if r.text -= int64(len(b)); r.text < 0 {
		return nil, errors.New("the file holds more text than its bytes can")
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("got the bytes %.20q, want text in UTF-8", b)
	}
	if a.f.json {
		return columns.JSON(b), nil
	}
	return string(b), nil
}

// took counts so many items of lists.
func (r *Reader) took(n int64) error {
	if r.inRow += n; r.inRow > columns.MaxItems {
		return fmt.Errorf("the lists of a row have more than %d items", columns.MaxItems)
	}
	if r.items -= n; r.items < 0 {
		return errors.New("the file holds more items than its bytes can")
	}
	return nil
}

func (r *Reader) list(a *array, from, to int64) ([]any, error) {
	if err := r.took(to - from); err != nil {
		return nil, err
	}
	list := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		v, err := r.value(a.children[0], i)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (r *Reader) object(a *array, i int64) (any, error) {
	object := make(columns.Object, 0, len(a.children))
	for _, c := range a.children {
		v, err := r.value(c, i)
		if err != nil {
			return nil, err
		}
		object = append(object, columns.Field{Name: c.f.name, Value: v})
	}
	return object, nil
}
