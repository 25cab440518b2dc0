//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

// HasSort reports whether Divide and SortFew may be called.
func HasSort() bool { return isa.Level() != isa.Portable }

// Few is how many numbers SortFew sorts at most.
func Few() int {
	if isa.Level() == isa.AVX512 {
		return 256
	}
	return 64
}

// Divide brings 16 numbers or more that are at most pivot before the others, and counts them. It needs room
// for [DivideRoom] numbers.
func Divide(x, room []int32, pivot int32) (low int) {
	group, divide := 64, divideAVX2
	if isa.Level() == isa.AVX512 {
		group, divide = 128, divideAVX512
	}
	before, groups, n := 0, 0, len(x)
	if n < 3*group {
		copy(room, x)
	} else { // both sides give their places
		before = n%group + group
		copy(room, x[:before])
		copy(room[before:], x[n-group:])
		n = before + group
		groups = (len(x) - n) / group
	}
	divide(&x[0], 4*len(x), &x[before], groups, &room[0], n, int(pivot), &low)
	return low
}

// SortFew writes n numbers, at most Few, in rising order, each as y^(y>>31&mask) with y = x^before.
func SortFew(to, from *int32, n int, mask, before uint32) {
	if n > 64 {
		sortFewAVX512(to, from, n, int(mask), int(before))
	} else {
		sortFewAVX2(to, from, n, int(mask), int(before))
	}
}
