//go:build amd64 && !mcs_portable

package vec

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

var tables = map[isa.Set]table{isa.AVX512: {funcsAVX512, useAVX512}, isa.AVX2: {funcsAVX2, useAVX2}}

var adamW, stream = adamWAVX2, streamAVX2

// wholeVectors lets f do eights of elements and the portable function the rest. The sizes are those of an
// element of d, a, b and c, and 0 for an operand that f does not have: its pointer may point anywhere, so it
// must not be moved.
func wholeVectors(f Func, id ID, d, a, b, c int) Func {
	return func(pd, pa, pb, pc unsafe.Pointer, n int) {
		whole := n &^ 7
		f(pd, pa, pb, pc, whole)
		if whole < n {
			portable[id](unsafe.Add(pd, whole*d), unsafe.Add(pa, whole*a), unsafe.Add(pb, whole*b), unsafe.Add(pc, whole*c), n-whole)
		}
	}
}
