package slices

import (
	"cmp"
	"iter"
)

// All ranges over indexes and values.
func All[S ~[]E, E any](s S) iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i, v := range s {
			if !yield(i, v) {
				return
			}
		}
	}
}

// Backward ranges from the last element to the first.
func Backward[S ~[]E, E any](s S) iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i := len(s) - 1; i >= 0; i-- {
			if !yield(i, s[i]) {
				return
			}
		}
	}
}

// Values ranges over values.
func Values[S ~[]E, E any](s S) iter.Seq[E] {
	return func(yield func(E) bool) {
		for _, v := range s {
			if !yield(v) {
				return
			}
		}
	}
}

// AppendSeq appends the values of a sequence.
func AppendSeq[S ~[]E, E any](s S, seq iter.Seq[E]) S {
	for v := range seq {
		s = append(s, v)
	}
	return s
}

// Collect makes a slice of a sequence.
func Collect[E any](seq iter.Seq[E]) []E { return AppendSeq([]E(nil), seq) }

// Sorted collects a sequence and sorts it.
func Sorted[E cmp.Ordered](seq iter.Seq[E]) []E {
	s := Collect(seq)
	Sort(s)
	return s
}

// SortedFunc is Sorted with a given order.
func SortedFunc[E any](seq iter.Seq[E], order func(E, E) int) []E {
	s := Collect(seq)
	SortFunc(s, order)
	return s
}

// SortedStableFunc keeps equal elements in their order.
func SortedStableFunc[E any](seq iter.Seq[E], order func(E, E) int) []E {
	s := Collect(seq)
	SortStableFunc(s, order)
	return s
}

// Chunk ranges over pieces of n elements; the last may have less.
func Chunk[S ~[]E, E any](s S, n int) iter.Seq[S] {
	if n < 1 {
		panic("cannot be less than 1")
	}
	return func(yield func(S) bool) {
		for i := 0; i < len(s); i += n {
			end := min(n, len(s[i:]))
			if !yield(s[i : i+end : i+end]) {
				return
			}
		}
	}
}
