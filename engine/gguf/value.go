package gguf

import (
	"encoding/binary"
	"io"
	"reflect"
)

// The types of metadata, as files number them.
const (
	codeUint8 = iota
	codeInt8
	codeUint16
	codeInt16
	codeUint32
	codeInt32
	codeFloat32
	codeBool
	codeString
	codeArray
	codeUint64
	codeInt64
	codeFloat64
)

// valueTypes are the Go types of values by their number, of arrays that of an element that is an array.
var valueTypes = [...]reflect.Type{
	codeUint8: reflect.TypeFor[uint8](), codeInt8: reflect.TypeFor[int8](), codeUint16: reflect.TypeFor[uint16](),
	codeInt16: reflect.TypeFor[int16](), codeUint32: reflect.TypeFor[uint32](), codeInt32: reflect.TypeFor[int32](),
	codeFloat32: reflect.TypeFor[float32](), codeBool: reflect.TypeFor[bool](), codeString: reflect.TypeFor[string](),
	codeArray: reflect.TypeFor[any](), codeUint64: reflect.TypeFor[uint64](), codeInt64: reflect.TypeFor[int64](),
	codeFloat64: reflect.TypeFor[float64](),
}

// leastBytes is the least size of a value, by its type: of an array its type and length.
var leastBytes = [...]int{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}

const (
	maxDepth  = 4       // arrays in arrays
	maxNested = 1 << 16 // arrays in one array
)

// A place is where a value is.
type place struct {
	code uint32
	at   int64
}

// value reads a value of the type, or checks it and passes over it, and returns nil.
func (h *header) value(code uint32, keep bool, depth int) any {
	switch {
	case code >= uint32(len(leastBytes)):
		h.refuse(h.at-4, "got metadata of type %d, want 0 to %d", code, len(leastBytes)-1)
	case code == codeString:
		if s := h.text("a string", keep); keep {
			return s
		}
		return nil
	case code == codeArray:
		return h.array(keep, depth)
	}
	b := h.next(leastBytes[code], "a number")
	if code == codeBool && b[0] > 1 {
		h.refuse(h.at-1, "got %d for a bool, want 0 or 1", b[0])
	}
	if !keep {
		return nil
	}
	v := reflect.New(valueTypes[code])
	_, err := binary.Decode(b, binary.LittleEndian, v.Interface())
	h.unless(err)
	return v.Elem().Interface()
}

// array reads an array after its type: the type of its elements, their number, and they themselves.
func (h *header) array(keep bool, depth int) any {
	if depth >= maxDepth {
		h.refuse(h.at, "got arrays in arrays more than %d deep", maxDepth)
	}
	code := h.uint32("the type of an array's elements")
	if code >= uint32(len(leastBytes)) {
		h.refuse(h.at-4, "got an array of type %d, want 0 to %d", code, len(leastBytes)-1)
	}
	at := h.at
	n := h.count("the length of an array", int64(leastBytes[code]))
	if code == codeArray && n > maxNested {
		h.refuse(at, "got %d arrays in an array, want at most %d", n, maxNested)
	}
	var list reflect.Value
	if keep {
		list = reflect.MakeSlice(reflect.SliceOf(valueTypes[code]), int(n), int(n))
	}
	if keep && code != codeString && code != codeArray && code != codeBool { // numbers, all at once
		b := make([]byte, n*int64(leastBytes[code]))
		k, err := io.ReadFull(h.buf, b)
		h.at += int64(k)
		h.unless(err)
		_, err = binary.Decode(b, binary.LittleEndian, list.Interface())
		h.unless(err)
		return list.Interface()
	}
	for i := range int(n) {
		if v := h.value(code, keep, depth+1); keep {
			list.Index(i).Set(reflect.ValueOf(v))
		}
	}
	if !keep {
		return nil
	}
	return list.Interface()
}
