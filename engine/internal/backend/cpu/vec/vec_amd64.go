//go:build amd64 && !mcs_portable

package vec

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

var tables = map[isa.Set]table{isa.AVX512: {funcsAVX512, useAVX512}, isa.AVX2: {funcsAVX2, useAVX2}}

var adamW, stream = adamWAVX2, streamAVX2

// wholeVectors computes multiples of eight elements by f and the rest by the portable function. d, a, b and
// c are the sizes of their elements, 0 for an operand that f lacks. Such a pointer may point anywhere, so
// it must not be advanced.
func wholeVectors(f Func, id ID, d, a, b, c int) Func {
	return func(pd, pa, pb, pc unsafe.Pointer, n int) {
		whole := n &^ 7
		f(pd, pa, pb, pc, whole)
		if whole < n {
			portable[id](unsafe.Add(pd, whole*d), unsafe.Add(pa, whole*a), unsafe.Add(pb, whole*b), unsafe.Add(pc, whole*c), n-whole)
		}
	}
}
