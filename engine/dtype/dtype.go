// Package dtype names the element types of tensors.
package dtype

import "fmt"

// A Type is the type of a tensor's elements. The zero Type is invalid.
type Type uint8

// The element types. F16 and BF16 are for storage: kernels compute in float32 and round once. F64 exists on the
// reference backend only.
const (
	Invalid Type = iota
	Bool         // one byte, 0 or 1
	U8
	I32
	I64
	F16  // IEEE 754 binary16
	BF16 // the upper half of an F32
	F32
	F64
)

var names = [...]string{"invalid", "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64"}

var sizes = [...]int{0, 1, 1, 4, 8, 2, 2, 4, 8}

// All lists the valid types, narrow to wide.
func All() []Type { return []Type{Bool, U8, I32, I64, F16, BF16, F32, F64} }

// String returns the short name, "f32".
func (t Type) String() string {
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("dtype(%d)", uint8(t))
}

// Size is the number of bytes of one element.
func (t Type) Size() int { return sizes[t] }

// Float says whether t is a floating-point type.
func (t Type) Float() bool { return t >= F16 && t <= F64 }

// Int says whether t is an integer type; Bool is none.
func (t Type) Int() bool { return t >= U8 && t <= I64 }

// Parse returns the type with that short name.
func Parse(name string) (Type, error) {
	for i, n := range names {
		if i > 0 && n == name {
			return Type(i), nil
		}
	}
	return Invalid, fmt.Errorf("dtype: got %q, want one of %v", name, names[1:])
}

// Promote returns the type in which an operation on a and b is computed: the wider of one kind; a float beats an
// integer, an integer beats Bool; F16 with BF16 gives F32.
func Promote(a, b Type) Type {
	switch {
	case a == b:
		return a
	case a == F16 && b == BF16, a == BF16 && b == F16:
		return F32
	}
	return max(a, b)
}
