package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The wire types of protobuf (protobuf.dev, "Encoding"); the deprecated groups are refused.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// A field is one field of a protobuf message. Numbers are in value, everything else in data, which aliases
// the message.
type field struct {
	number int
	wire   int
	value  uint64
	data   []byte
}

// eachField calls f for the fields of a message, in their order.
func eachField(message []byte, f func(field) error) error {
	for at := 0; at < len(message); {
		x, n, err := readField(message[at:])
		if err != nil {
			return fmt.Errorf("protobuf: byte %d: %w", at, err)
		}
		at += n
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

func readField(b []byte) (x field, n int, err error) {
	key, n := binary.Uvarint(b)
	if n <= 0 {
		return x, 0, fmt.Errorf("got no whole number for a field's key")
	}
	if key>>3 == 0 || key>>3 > 1<<29-1 {
		return x, 0, fmt.Errorf("got field number %d, want 1 to 2²⁹−1", key>>3)
	}
	x.number, x.wire = int(key>>3), int(key&7)
	rest := b[n:]
	switch x.wire {
	case wireVarint:
		v, m := binary.Uvarint(rest)
		if m <= 0 {
			return x, 0, fmt.Errorf("got no whole number in field %d", x.number)
		}
		x.value = v
		return x, n + m, nil
	case wireFixed32:
		if len(rest) < 4 {
			return x, 0, fmt.Errorf("got %d bytes in field %d, want 4", len(rest), x.number)
		}
		x.value = uint64(binary.LittleEndian.Uint32(rest))
		return x, n + 4, nil
	case wireFixed64:
		if len(rest) < 8 {
			return x, 0, fmt.Errorf("got %d bytes in field %d, want 8", len(rest), x.number)
		}
		x.value = binary.LittleEndian.Uint64(rest)
		return x, n + 8, nil
	case wireBytes:
		length, m := binary.Uvarint(rest)
		if m <= 0 || length > uint64(len(rest)-m) {
			return x, 0, fmt.Errorf("got a length in field %d beyond the end of the message", x.number)
		}
		x.data = rest[m : m+int(length)]
		return x, n + m + int(length), nil
	}
	return x, 0, fmt.Errorf("got wire type %d in field %d, want 0, 1, 2 or 5", x.wire, x.number)
}

// want checks the wire type of a field.
func (x field) want(wire int) error {
	if x.wire != wire {
		return fmt.Errorf("protobuf: got wire type %d in field %d, want %d", x.wire, x.number, wire)
	}
	return nil
}

// integer reads an int32, int64 or enum.
func (x field) integer(to *int64) error {
	*to = int64(x.value)
	return x.want(wireVarint)
}

func (x field) text(to *string) error {
	*to = string(x.data)
	return x.want(wireBytes)
}

func (x field) float(to *float32) error {
	*to = math.Float32frombits(uint32(x.value))
	return x.want(wireFixed32)
}

// integers adds the numbers of a repeated field, which may be packed into one.
func (x field) integers(to *[]int64) error {
	if x.wire == wireVarint {
		*to = append(*to, int64(x.value))
		return nil
	}
	for b := x.data; len(b) > 0; {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("protobuf: got no whole number in packed field %d", x.number)
		}
		*to = append(*to, int64(v))
		b = b[n:]
	}
	return x.want(wireBytes)
}

// fixed adds the bits of the numbers of a repeated field of float (size 4) or double (size 8), which may be
// packed.
func (x field) fixed(size int, to *[]uint64) error {
	switch x.wire {
	case wireFixed32, wireFixed64:
		if (x.wire == wireFixed32) != (size == 4) {
			return fmt.Errorf("protobuf: got wire type %d in field %d, want numbers of %d bytes", x.wire, x.number, size)
		}
		*to = append(*to, x.value)
		return nil
	}
	if len(x.data)%size != 0 {
		return fmt.Errorf("protobuf: got %d bytes in packed field %d, want a multiple of %d", len(x.data), x.number, size)
	}
	for b := x.data; len(b) > 0; b = b[size:] {
		if size == 4 {
			*to = append(*to, uint64(binary.LittleEndian.Uint32(b)))
		} else {
			*to = append(*to, binary.LittleEndian.Uint64(b))
		}
	}
	return x.want(wireBytes)
}
