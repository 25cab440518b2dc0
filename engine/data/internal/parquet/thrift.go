package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
)

// Kinds of values in Thrift's compact protocol.
const (
	kindTrue   = 1
	kindFalse  = 2
	kindByte   = 3
	kindI64    = 6
	kindDouble = 7
	kindBinary = 8
	kindList   = 9
	kindSet    = 10
	kindMap    = 11
	kindStruct = 12
)

// thrift reads Thrift's compact protocol, in which footers and headers of pages are written. After an error
// all numbers are 0.
type thrift struct {
	b     []byte
	at    int
	depth int
	err   error
}

func (t *thrift) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
		t.at = len(t.b)
	}
}

func (t *thrift) byte() byte {
	if t.at >= len(t.b) {
		t.fail("it ends early")
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) varint() uint64 {
	v, n := binary.Uvarint(t.b[t.at:])
	if n <= 0 {
		t.fail("a number has no end")
		return 0
	}
	t.at += n
	return v
}

// int reads a number of any width but one byte.
func (t *thrift) int() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thrift) binary() []byte {
	n := t.varint()
	if n > uint64(len(t.b)-t.at) {
		t.fail("a text of %d bytes is longer than what follows", n)
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

// fields calls f with the number and the kind of each field of a struct. If f returns false it has not read
// the field.
func (t *thrift) fields(f func(id int, kind byte) bool) {
	if t.depth++; t.depth > columns.MaxNesting {
		t.fail("structs are more than %d deep", columns.MaxNesting)
	}
	for id := 0; t.err == nil; {
		head := t.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int(int16(t.int()))
		}
		if kind := head & 15; !f(id, kind) {
			t.skip(kind)
		}
	}
	t.depth--
}

// list calls f for each item of a list of the kind. Each item takes at least a byte, so a list is no longer
// than the bytes that follow.
func (t *thrift) list(want byte, f func()) {
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.varint()
	}
	if kind := head & 15; kind != want && n > 0 {
		t.fail("got a list of kind %d, want %d", kind, want)
	}
	if n > uint64(len(t.b)-t.at) {
		t.fail("a list of %d is longer than what follows", n)
	}
	for range n {
		if t.err != nil {
			return
		}
		f()
	}
}

// skip leaves a value out.
func (t *thrift) skip(kind byte) {
	if t.depth++; t.depth > columns.MaxNesting {
		t.fail("values are more than %d deep", columns.MaxNesting)
	}
	switch kind {
	case kindTrue, kindFalse:
	case kindByte:
		t.byte()
	case kindByte + 1, kindByte + 2, kindI64:
		t.varint()
	case kindDouble:
		for range 8 {
			t.byte()
		}
	case kindBinary:
		t.binary()
	case kindList, kindSet:
		inner := byte(0)
		if t.at < len(t.b) {
			inner = t.b[t.at] & 15
		}
		t.list(inner, func() { t.skipItem(inner) })
	case kindMap:
		if n := t.varint(); n > 0 {
			kinds := t.byte()
			for range n {
				if t.err != nil {
					break
				}
				t.skipItem(kinds >> 4)
				t.skipItem(kinds & 15)
			}
		}
	case kindStruct:
		t.fields(func(int, byte) bool { return false })
	default:
		t.fail("got a value of kind %d", kind)
	}
	t.depth--
}

// skipItem leaves an item of a list out: there a bool has a byte.
func (t *thrift) skipItem(kind byte) {
	if kind == kindTrue || kind == kindFalse {
		t.byte()
		return
	}
	t.skip(kind)
}
