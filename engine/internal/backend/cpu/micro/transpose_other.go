//go:build (!amd64 && !arm64) || mcs_portable

package micro

import "unsafe"

// HasTranspose8 reports whether Transpose8 may be called.
func HasTranspose8() bool { return false }

// Transpose8 writes dst[p][i] = src[i][p] for i < 8 and p < 8·blocks. Elements have 32 bits; the rows of
// dst and src are dstStride and srcStride bytes apart.
func Transpose8(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, blocks int) {
	panic("micro: no transposition")
}
