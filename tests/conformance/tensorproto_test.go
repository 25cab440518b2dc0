package conformance

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A kind is an element type of ONNX (TensorProto.DataType).
type kind int64

// The kinds that are read; strings and complex numbers are not.
const (
	kFloat    kind = 1
	kUint8    kind = 2
	kInt8     kind = 3
	kUint16   kind = 4
	kInt16    kind = 5
	kInt32    kind = 6
	kInt64    kind = 7
	kString   kind = 8
	kBool     kind = 9
	kFloat16  kind = 10
	kDouble   kind = 11
	kUint32   kind = 12
	kUint64   kind = 13
	kBFloat16 kind = 16
	kE4M3FN   kind = 17
	kE4M3FNUZ kind = 18
	kE5M2     kind = 19
	kE5M2FNUZ kind = 20
	kUint4    kind = 21
	kInt4     kind = 22
	kE2M1     kind = 23
	kE8M0     kind = 24
	kUint2    kind = 25
	kInt2     kind = 26
)

var kindNames = map[kind]string{
	kFloat: "float", kUint8: "uint8", kInt8: "int8", kUint16: "uint16", kInt16: "int16", kInt32: "int32", kInt64: "int64",
	kString: "string", kBool: "bool", kFloat16: "float16", kDouble: "double", kUint32: "uint32", kUint64: "uint64",
	kBFloat16: "bfloat16", kE4M3FN: "float8e4m3fn", kE4M3FNUZ: "float8e4m3fnuz", kE5M2: "float8e5m2",
	kE5M2FNUZ: "float8e5m2fnuz", kUint4: "uint4", kInt4: "int4", kE2M1: "float4e2m1", kE8M0: "float8e8m0",
	kUint2: "uint2", kInt2: "int2",
}

func (k kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind(%d)", int64(k))
}

// kindBits is the size of an element in raw data.
var kindBits = map[kind]int{
	kFloat: 32, kUint8: 8, kInt8: 8, kUint16: 16, kInt16: 16, kInt32: 32, kInt64: 64, kBool: 8, kFloat16: 16, kDouble: 64,
	kUint32: 32, kUint64: 64, kBFloat16: 16, kE4M3FN: 8, kE4M3FNUZ: 8, kE5M2: 8, kE5M2FNUZ: 8, kUint4: 4, kInt4: 4,
	kE2M1: 4, kE8M0: 8, kUint2: 2, kInt2: 2,
}

// float says whether the engine computes with the kind as a floating-point type.
func (k kind) float() bool {
	return k == kFloat || k == kDouble || k == kFloat16 || k == kBFloat16
}

// coded says whether elements are codes of a float of 8 bits or less.
func (k kind) coded() bool { return k >= kE4M3FN && k <= kE5M2FNUZ || k == kE2M1 || k == kE8M0 }

// integer says whether the kind is an integer type, and of how many bits.
func (k kind) integer() (bits int, signed, ok bool) {
	switch k {
	case kInt2, kInt4, kInt8, kInt16, kInt32, kInt64:
		return kindBits[k], true, true
	case kUint2, kUint4, kUint8, kUint16, kUint32, kUint64:
		return kindBits[k], false, true
	}
	return 0, false, false
}

// A tensorProto is a TensorProto. Each element is its bits, sign-extended for signed integers.
type tensorProto struct {
	name  string
	kind  kind
	shape []int
	bits  []uint64
}

// readTensorProto reads a TensorProto. It fails if the number of elements is not that of the shape.
func readTensorProto(b []byte) (*tensorProto, error) {
	t := &tensorProto{shape: []int{}}
	var dims, narrow, wide, unsigned []int64
	var floats, doubles []uint64
	var raw []byte
	hasRaw, external := false, false
	err := eachField(b, func(x field) error {
		switch x.number {
		case 1:
			return x.integers(&dims)
		case 2:
			var k int64
			err := x.integer(&k)
			t.kind = kind(k)
			return err
		case 4:
			return x.fixed(4, &floats)
		case 5:
			return x.integers(&narrow)
		case 7:
			return x.integers(&wide)
		case 8:
			return x.text(&t.name)
		case 9:
			raw, hasRaw = x.data, true
			return x.want(wireBytes)
		case 10:
			return x.fixed(8, &doubles)
		case 11:
			return x.integers(&unsigned)
		case 13:
			external = true
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("tensor %q: %w", t.name, err)
	case t.kind == kString:
		return t, nil // its elements are of no use here
	case kindBits[t.kind] == 0:
		return nil, fmt.Errorf("tensor %q: got element type %v, want numbers", t.name, t.kind)
	case external:
		return nil, fmt.Errorf("tensor %q: got data in another file, want it inside", t.name)
	}
	size, err := t.setShape(dims)
	if err != nil {
		return nil, err
	}
	switch {
	case hasRaw:
		err = t.unpack(raw, size)
	case t.kind == kFloat:
		t.bits = floats
	case t.kind == kDouble:
		t.bits = doubles
	case t.kind == kInt64:
		t.take(wide)
	case t.kind == kUint64 || t.kind == kUint32:
		t.take(unsigned)
	case kindBits[t.kind] < 8: // several elements a byte, one byte a number
		packed := make([]byte, len(narrow))
		for i, v := range narrow {
			packed[i] = byte(v)
		}
		err = t.unpack(packed, size)
	default:
		t.take(narrow)
	}
	if err == nil && len(t.bits) != size {
		err = fmt.Errorf("tensor %q: got %d elements for shape %v, want %d", t.name, len(t.bits), t.shape, size)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// setShape checks the lengths and returns their product.
func (t *tensorProto) setShape(dims []int64) (size int, err error) {
	size = 1
	for _, d := range dims {
		if d < 0 || d > math.MaxInt32 || d > 0 && size > math.MaxInt32/int(d) {
			return 0, fmt.Errorf("tensor %q: got shape %v, want lengths of 0 or more and fewer than 2³¹ elements", t.name, dims)
		}
		t.shape = append(t.shape, int(d))
		size *= int(d)
	}
	return size, nil
}

// take keeps the bits of integers of the kind's width.
func (t *tensorProto) take(values []int64) {
	for _, v := range values {
		t.bits = append(t.bits, t.extend(uint64(v)))
	}
}

// extend cuts bits to the kind's width, and extends the sign of signed integers.
func (t *tensorProto) extend(u uint64) uint64 {
	shift := 64 - kindBits[t.kind]
	if _, signed, _ := t.kind.integer(); signed {
		return uint64(int64(u<<shift) >> shift)
	}
	return u << shift >> shift
}

// unpack reads raw data: little-endian elements; those below a byte begin at its low bits.
func (t *tensorProto) unpack(raw []byte, size int) error {
	width := kindBits[t.kind]
	if want := (size*width + 7) / 8; len(raw) != want {
		return fmt.Errorf("tensor %q: got %d bytes for %v%v, want %d", t.name, len(raw), t.kind, t.shape, want)
	}
	t.bits = make([]uint64, size)
	for i := range t.bits {
		var u uint64
		switch width {
		case 64:
			u = binary.LittleEndian.Uint64(raw[8*i:])
		case 32:
			u = uint64(binary.LittleEndian.Uint32(raw[4*i:]))
		case 16:
			u = uint64(binary.LittleEndian.Uint16(raw[2*i:]))
		default:
			at := i * width
			u = uint64(raw[at/8]) >> (at % 8)
		}
		t.bits[i] = t.extend(u)
	}
	return nil
}

// number is element i of a tensor of floats.
func (t *tensorProto) number(i int) float64 {
	u := t.bits[i]
	switch t.kind {
	case kFloat:
		return float64(math.Float32frombits(uint32(u)))
	case kFloat16:
		return float64(dtype.F16ToFloat32(uint16(u)))
	case kBFloat16:
		return float64(dtype.BF16ToFloat32(uint16(u)))
	}
	return math.Float64frombits(u)
}
