package gguf

import (
	"encoding/binary"
	"math"
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
func (h *header) value(code uint32, keep bool, depth int) (any, error) {
	switch {
	case code >= uint32(len(leastBytes)):
		return nil, h.refuse(h.at-4, "got metadata of type %d, want 0 to %d", code, len(leastBytes)-1)
	case code == codeString:
		s, err := h.text("a string", keep)
		if err != nil || !keep {
			return nil, err
		}
		return s, nil
	case code == codeArray:
		return h.array(keep, depth)
	}
	b, err := h.next(leastBytes[code], "a number")
	if err != nil {
		return nil, err
	}
	if code == codeBool && b[0] > 1 {
		return nil, h.refuse(h.at-1, "got %d for a bool, want 0 or 1", b[0])
	}
	if !keep {
		return nil, nil
	}
	return number(code, b), nil
}

// number is the Go value of a number's bytes.
func number(code uint32, b []byte) any {
	le := binary.LittleEndian
	switch code {
	case codeUint8:
		return b[0]
	case codeInt8:
		return int8(b[0])
	case codeUint16:
		return le.Uint16(b)
	case codeInt16:
		return int16(le.Uint16(b))
	case codeUint32:
		return le.Uint32(b)
	case codeInt32:
		return int32(le.Uint32(b))
	case codeFloat32:
		return math.Float32frombits(le.Uint32(b))
	case codeBool:
		return b[0] == 1
	case codeUint64:
		return le.Uint64(b)
	case codeInt64:
		return int64(le.Uint64(b))
	}
	return math.Float64frombits(le.Uint64(b))
}

// array reads an array after its type: the type of its elements, their number, and they themselves.
func (h *header) array(keep bool, depth int) (any, error) {
	if depth >= maxDepth {
		return nil, h.refuse(h.at, "got arrays in arrays more than %d deep", maxDepth)
	}
	code, err := h.uint32("the type of an array's elements")
	if err != nil {
		return nil, err
	}
	if code >= uint32(len(leastBytes)) {
		return nil, h.refuse(h.at-4, "got an array of type %d, want 0 to %d", code, len(leastBytes)-1)
	}
	at := h.at
	n, err := h.count("the length of an array", int64(leastBytes[code]))
	if err != nil {
		return nil, err
	}
	if code == codeArray && n > maxNested {
		return nil, h.refuse(at, "got %d arrays in an array, want at most %d", n, maxNested)
	}
	switch code {
	case codeUint8:
		return elements[uint8](h, code, n, keep, depth)
	case codeInt8:
		return elements[int8](h, code, n, keep, depth)
	case codeUint16:
		return elements[uint16](h, code, n, keep, depth)
	case codeInt16:
		return elements[int16](h, code, n, keep, depth)
	case codeUint32:
		return elements[uint32](h, code, n, keep, depth)
	case codeInt32:
		return elements[int32](h, code, n, keep, depth)
	case codeFloat32:
		return elements[float32](h, code, n, keep, depth)
	case codeBool:
		return elements[bool](h, code, n, keep, depth)
	case codeString:
		return elements[string](h, code, n, keep, depth)
	case codeArray:
		return elements[any](h, code, n, keep, depth)
	case codeUint64:
		return elements[uint64](h, code, n, keep, depth)
	case codeInt64:
		return elements[int64](h, code, n, keep, depth)
	}
	return elements[float64](h, code, n, keep, depth)
}

// elements reads n elements of an array.
func elements[T any](h *header, code uint32, n int64, keep bool, depth int) (any, error) {
	var list []T
	if keep {
		list = make([]T, 0, n)
	}
	for range n {
		v, err := h.value(code, keep, depth+1)
		if err != nil {
			return nil, err
		}
		if keep {
			list = append(list, v.(T))
		}
	}
	if !keep {
		return nil, nil
	}
	return list, nil
}
