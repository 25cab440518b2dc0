// Package cmp is the generic part of the standard package cmp.
package cmp

// Ordered is any type that has <.
type Ordered interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64 | ~string
}

// Less reports whether x is less than y; a NaN is less than any other number.
func Less[T Ordered](x, y T) bool { return x != x && y == y || x < y }

// Compare returns -1, 0 or +1; a NaN is less than any other number and equal to a NaN.
func Compare[T Ordered](x, y T) int {
	if x < y {
		return -1
	}
	if x > y {
		return +1
	}
	if x == y {
		return 0
	}
	if x != x {
		if y != y {
			return 0
		}
		return -1
	}
	return +1
}

// Or returns the first of its arguments that is not the zero value.
func Or[T comparable](vals ...T) T {
	var zero T
	for _, v := range vals {
		if v != zero {
			return v
		}
	}
	return zero
}
