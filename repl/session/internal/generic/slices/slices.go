// Package slices is the generic part of the standard package slices.
package slices

import "cmp"

// Equal reports whether two slices have the same length and equal elements.
func Equal[S ~[]E, E comparable](s1, s2 S) bool {
	if len(s1) != len(s2) {
		return false
	}
	for i := range s1 {
		if s1[i] != s2[i] {
			return false
		}
	}
	return true
}

// EqualFunc is Equal with a given equality.
func EqualFunc[S1 ~[]E1, S2 ~[]E2, E1, E2 any](s1 S1, s2 S2, eq func(E1, E2) bool) bool {
	if len(s1) != len(s2) {
		return false
	}
	for i, v1 := range s1 {
		if !eq(v1, s2[i]) {
			return false
		}
	}
	return true
}

// Compare compares element by element.
func Compare[S ~[]E, E cmp.Ordered](s1, s2 S) int {
	for i, v1 := range s1 {
		if i >= len(s2) {
			return +1
		}
		if c := cmp.Compare(v1, s2[i]); c != 0 {
			return c
		}
	}
	if len(s1) < len(s2) {
		return -1
	}
	return 0
}

// CompareFunc is Compare with a given order.
func CompareFunc[S1 ~[]E1, S2 ~[]E2, E1, E2 any](s1 S1, s2 S2, order func(E1, E2) int) int {
	for i, v1 := range s1 {
		if i >= len(s2) {
			return +1
		}
		if c := order(v1, s2[i]); c != 0 {
			return c
		}
	}
	if len(s1) < len(s2) {
		return -1
	}
	return 0
}

// Index returns the index of the first v, or -1.
func Index[S ~[]E, E comparable](s S, v E) int {
	for i := range s {
		if v == s[i] {
			return i
		}
	}
	return -1
}

// IndexFunc returns the index of the first element for which f is true, or -1.
func IndexFunc[S ~[]E, E any](s S, f func(E) bool) int {
	for i := range s {
		if f(s[i]) {
			return i
		}
	}
	return -1
}

// Contains reports whether v is in s.
func Contains[S ~[]E, E comparable](s S, v E) bool { return Index(s, v) >= 0 }

// ContainsFunc reports whether f is true for an element of s.
func ContainsFunc[S ~[]E, E any](s S, f func(E) bool) bool { return IndexFunc(s, f) >= 0 }

// Insert inserts values at index i.
func Insert[S ~[]E, E any](s S, i int, v ...E) S {
	_ = s[i:]
	tail := append(S(nil), s[i:]...)
	s = append(s[:i], v...)
	return append(s, tail...)
}

// Delete removes s[i:j] and zeroes the elements left over at the end.
func Delete[S ~[]E, E any](s S, i, j int) S {
	_ = s[i:j:len(s)]
	if i == j {
		return s
	}
	n := len(s)
	s = append(s[:i], s[j:]...)
	zeroRest(s, n)
	return s
}

// zeroRest zeroes the elements between the length of s and n.
func zeroRest[S ~[]E, E any](s S, n int) {
	var zero E
	rest := s[len(s):n]
	for i := range rest {
		rest[i] = zero
	}
}

// DeleteFunc removes the elements for which del is true.
func DeleteFunc[S ~[]E, E any](s S, del func(E) bool) S {
	k, n := 0, len(s)
	for _, v := range s {
		if !del(v) {
			s[k] = v
			k++
		}
	}
	s = s[:k]
	zeroRest(s, n)
	return s
}

// Replace puts values in the place of s[i:j].
func Replace[S ~[]E, E any](s S, i, j int, v ...E) S {
	_ = s[i:j]
	n := len(s)
	tail := append(S(nil), s[j:]...)
	s = append(append(s[:i], v...), tail...)
	if len(s) < n {
		zeroRest(s, n)
	}
	return s
}

// Clone copies a slice; a nil one stays nil.
func Clone[S ~[]E, E any](s S) S {
	if s == nil {
		return nil
	}
	return append(S{}, s...)
}

// Compact removes all but the first of equal neighbours.
func Compact[S ~[]E, E comparable](s S) S {
	return CompactFunc(s, func(a, b E) bool { return a == b })
}

// CompactFunc is Compact with a given equality.
func CompactFunc[S ~[]E, E any](s S, eq func(E, E) bool) S {
	if len(s) < 2 {
		return s
	}
	k, n := 1, len(s)
	for i := 1; i < n; i++ {
		if !eq(s[k-1], s[i]) {
			s[k] = s[i]
			k++
		}
	}
	s = s[:k]
	zeroRest(s, n)
	return s
}

// Grow makes room for n more elements.
func Grow[S ~[]E, E any](s S, n int) S {
	if n < 0 {
		panic("cannot be negative")
	}
	if n -= cap(s) - len(s); n > 0 {
		s = append(s[:cap(s)], make([]E, n)...)[:len(s)]
	}
	return s
}

// Clip drops the capacity that is not used.
func Clip[S ~[]E, E any](s S) S { return s[:len(s):len(s)] }

// Reverse turns a slice around.
func Reverse[S ~[]E, E any](s S) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

// Concat makes one slice of several.
func Concat[S ~[]E, E any](slices ...S) S {
	n := 0
	for _, s := range slices {
		n += len(s)
	}
	out := Grow[S](nil, n)
	for _, s := range slices {
		out = append(out, s...)
	}
	return out
}

// Repeat makes a slice of count copies of x.
func Repeat[S ~[]E, E any](x S, count int) S {
	if count < 0 {
		panic("cannot be negative")
	}
	out := make(S, 0, len(x)*count)
	for i := 0; i < count; i++ {
		out = append(out, x...)
	}
	return out
}
