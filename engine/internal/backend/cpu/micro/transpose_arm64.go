//go:build arm64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// HasTranspose8 says whether there is a Transpose8.
func HasTranspose8() bool { return isa.Level() != isa.Portable }

// Transpose8 writes dst[p][i] = src[i][p] for i < 8 and p < 8·blocks, where rows of dst and src lie dstStride
// and srcStride bytes apart and elements have 32 bits.
func Transpose8(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, blocks int) {
	for i := 0; i < 8; i += 4 {
		packTransposeF32NEON((*float32)(unsafe.Add(dst, 4*i)), dstStride, (*float32)(unsafe.Add(src, i*srcStride)), srcStride, 4, 2*blocks)
	}
}
