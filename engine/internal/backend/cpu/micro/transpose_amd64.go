//go:build amd64 && !mcs_portable

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
	packTransposeF328((*float32)(dst), dstStride, (*float32)(src), srcStride, 8, blocks)
}
