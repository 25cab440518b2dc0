//go:build (!amd64 && !arm64) || mcs_portable

package micro

import "unsafe"

// HasTranspose8 says whether there is a Transpose8.
func HasTranspose8() bool { return false }

// Transpose8 writes dst[p][i] = src[i][p] for i < 8 and p < 8·blocks, where rows of dst and src lie dstStride
// and srcStride bytes apart and elements have 32 bits.
func Transpose8(dst unsafe.Pointer, dstStride int, src unsafe.Pointer, srcStride, blocks int) {
	panic("micro: no transposition")
}
