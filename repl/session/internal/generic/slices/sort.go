package slices

import (
	"cmp"
	"sort"
)

// Sort sorts in ascending order.
func Sort[S ~[]E, E cmp.Ordered](x S) {
	sort.Slice(x, func(i, j int) bool { return cmp.Less(x[i], x[j]) })
}

// SortFunc sorts in a given order; it is not stable.
func SortFunc[S ~[]E, E any](x S, order func(a, b E) int) {
	sort.Slice(x, func(i, j int) bool { return order(x[i], x[j]) < 0 })
}

// SortStableFunc keeps equal elements in their order.
func SortStableFunc[S ~[]E, E any](x S, order func(a, b E) int) {
	sort.SliceStable(x, func(i, j int) bool { return order(x[i], x[j]) < 0 })
}

// IsSorted reports whether x is in ascending order.
func IsSorted[S ~[]E, E cmp.Ordered](x S) bool {
	for i := len(x) - 1; i > 0; i-- {
		if cmp.Less(x[i], x[i-1]) {
			return false
		}
	}
	return true
}

// IsSortedFunc reports whether x is in a given order.
func IsSortedFunc[S ~[]E, E any](x S, order func(a, b E) int) bool {
	for i := len(x) - 1; i > 0; i-- {
		if order(x[i], x[i-1]) < 0 {
			return false
		}
	}
	return true
}

// Min returns the least element; it panics if there is none. A NaN wins.
func Min[S ~[]E, E cmp.Ordered](x S) E {
	if len(x) < 1 {
		panic("slices.Min: empty list")
	}
	m := x[0]
	for i := 1; i < len(x); i++ {
		m = min(m, x[i])
	}
	return m
}

// MinFunc returns the first of the least elements.
func MinFunc[S ~[]E, E any](x S, order func(a, b E) int) E {
	if len(x) < 1 {
		panic("slices.MinFunc: empty list")
	}
	m := x[0]
	for i := 1; i < len(x); i++ {
		if order(x[i], m) < 0 {
			m = x[i]
		}
	}
	return m
}

// Max returns the greatest element; it panics if there is none. A NaN wins.
func Max[S ~[]E, E cmp.Ordered](x S) E {
	if len(x) < 1 {
		panic("slices.Max: empty list")
	}
	m := x[0]
	for i := 1; i < len(x); i++ {
		m = max(m, x[i])
	}
	return m
}

// MaxFunc returns the first of the greatest elements.
func MaxFunc[S ~[]E, E any](x S, order func(a, b E) int) E {
	if len(x) < 1 {
		panic("slices.MaxFunc: empty list")
	}
	m := x[0]
	for i := 1; i < len(x); i++ {
		if order(x[i], m) > 0 {
			m = x[i]
		}
	}
	return m
}

// BinarySearch finds target in a sorted slice, or where it belongs.
func BinarySearch[S ~[]E, E cmp.Ordered](x S, target E) (int, bool) {
	return BinarySearchFunc(x, target, func(a, b E) int { return cmp.Compare(a, b) })
}

// BinarySearchFunc is BinarySearch with a given order.
func BinarySearchFunc[S ~[]E, E, T any](x S, target T, order func(E, T) int) (int, bool) {
	i, j := 0, len(x)
	for i < j {
		h := int(uint(i+j) >> 1)
		if order(x[h], target) < 0 {
			i = h + 1
		} else {
			j = h
		}
	}
	return i, i < len(x) && order(x[i], target) == 0
}
