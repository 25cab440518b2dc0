// Package dtype names the element types of tensors.
package dtype

import "fmt"

// A Type is the type of a tensor's elements. The zero Type is invalid.
type Type uint8

// The element types, which stand as they promote: see [Promote]. F16 and BF16 are for storage: kernels
// compute in float32 and round once.
const (
	Invalid Type = iota
	Bool         // one byte, 0 or 1
	U8
	I8
	U16
	I16
	U32
	I32
	U64
	I64
	F16  // IEEE 754 binary16
	BF16 // the upper half of an F32
	F32
	F64
	C64  // complex: a real and an imaginary part of F32
	C128 // complex, of F64
)

var types = [...]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0},
	Bool:    {"bool", 1},
	U8:      {"u8", 1}, I8: {"i8", 1},
	U16: {"u16", 2}, I16: {"i16", 2},
	U32: {"u32", 4}, I32: {"i32", 4},
	U64: {"u64", 8}, I64: {"i64", 8},
	F16: {"f16", 2}, BF16: {"bf16", 2}, F32: {"f32", 4}, F64: {"f64", 8},
	C64: {"c64", 8}, C128: {"c128", 16},
}

// All lists the valid types of real numbers in order: those that devices compute with. C64 and C128 are two
// numbers of one of them, see [Type.Part].
func All() []Type {
	list := make([]Type, 0, len(types)-1)
	for t := Bool; t <= F64; t++ {
		list = append(list, t)
	}
	return list
}

// String returns the short name, "f32".
func (t Type) String() string {
	if t <= C128 {
		return types[t].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(t))
}

// Size is the number of bytes of one element.
func (t Type) Size() int { return types[t].size }

// Float says whether t is a floating-point type.
func (t Type) Float() bool { return t >= F16 && t <= F64 }

// Int says whether t is an integer type; Bool does not count as one.
func (t Type) Int() bool { return t >= U8 && t <= I64 }

// Signed says whether t has negative numbers.
func (t Type) Signed() bool { return t.Float() || t.Int() && (t-U8)%2 == 1 }

// Complex says whether t is a type of complex numbers; it is no floating-point type then.
func (t Type) Complex() bool { return t == C64 || t == C128 }

// Part is the type of the real and the imaginary part of complex numbers, and t itself of others.
func (t Type) Part() Type {
	switch t {
	case C64:
		return F32
	case C128:
		return F64
	}
	return t
}

// ComplexOf is the type of complex numbers with parts of type t, or of the nearest one that there is: C128 of
// F64, C64 of all others.
func ComplexOf(t Type) Type {
	if t == F64 || t == C128 {
		return C128
	}
	return C64
}

// Parse returns the type with that short name.
func Parse(name string) (Type, error) {
	list := append(All(), C64, C128)
	for _, t := range list {
		if types[t].name == name {
			return t, nil
		}
	}
	return Invalid, fmt.Errorf("dtype: got %q, want one of %v", name, list)
}

// Promote returns the type in which an operation on a and b is computed: the wider of one kind; a float beats
// an integer, an integer beats Bool; F16 with BF16 gives F32. An unsigned and a signed integer give the
// narrowest signed type that holds both, U8 and I8 I16, and U64 with a signed one F64, which rounds beyond
// 2⁵³: NumPy's rules. A complex type beats all others, but C64 with F64 gives C128.
func Promote(a, b Type) Type {
	a, b = min(a, b), max(a, b)
	switch {
	case a == F64 && b == C64:
		return C128
	case a == F16 && b == BF16:
		return F32
	case !a.Int() || !b.Int() || a.Signed() == b.Signed() || b.Signed() && b.Size() > a.Size():
		return b
	case a.Signed(): // beside an unsigned type that is wider
		a = b
	}
	return signedAbove[a]
}

// signedAbove is the narrowest type that holds an unsigned type and signed ones of its size.
var signedAbove = [...]Type{U8: I16, U16: I32, U32: I64, U64: F64}
