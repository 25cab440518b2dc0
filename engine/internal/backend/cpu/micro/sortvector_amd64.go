//go:build amd64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// HasSort reports whether Divide and SortFew may be called.
func HasSort() bool { return isa.Level() != isa.Portable }

// Few is how many numbers SortFew sorts at most.
func Few() int {
	if isa.Level() == isa.AVX512 {
		return 256
	}
	return 64
}

// Divide copies 16 numbers or more to another slice of the same length: first those of at most pivot, which
// it counts.
func Divide(to, from []int32, pivot int32) (low int) {
	end := unsafe.Add(unsafe.Pointer(&to[0]), 4*len(to))
	if isa.Level() == isa.AVX512 {
		divideAVX512(&to[0], (*int32)(end), &from[0], len(from), int(pivot), &low)
	} else {
		divideAVX2(&to[0], (*int32)(end), &from[0], len(from), int(pivot), &low)
	}
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
