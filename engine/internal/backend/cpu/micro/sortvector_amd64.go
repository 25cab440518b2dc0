//go:build amd64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// HasSort reports whether Divide and SortFew may be called.
func HasSort() bool { return isa.Level() != isa.Portable }

// Divide copies 16 numbers or more to another slice of the same length: first those of at most pivot, which
// it counts.
func Divide(to, from []int32, pivot int32) (low int) {
	end := unsafe.Add(unsafe.Pointer(&to[0]), 4*len(to))
	divideAVX2(&to[0], (*int32)(end), &from[0], len(from), int(pivot), &low)
	return low
}

// SortFew writes n numbers, at most 64, in rising order, each as y^(y>>31&mask) with y = x^before.
func SortFew(to, from *int32, n int, mask, before uint32) {
	sortFewAVX2(to, from, n, int(mask), int(before))
}
