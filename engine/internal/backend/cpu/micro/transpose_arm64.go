//go:build arm64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// HasTranspose8 reports whether Transpose8 may be called.
func HasTranspose8() bool { return isa.Level() != isa.Portable }

// Transpose8 writes dst[p][i] = src[i][p] for i < 8 and p < 8·blocks. Elements have 32 bits; the rows of
// dst and src are dstStride and srcStride bytes apart.
func Transpose8(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, blocks int) {
	for i := 0; i < 8; i += 4 {
		packTransposeF32NEON((*float32)(unsafe.Add(dst, 4*i)), dstStride, (*float32)(unsafe.Add(src, i*srcStride)), srcStride, 4, 2*blocks)
	}
}
