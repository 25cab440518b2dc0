//go:build !mcs_portable

package cpu

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
)

// openAccelerate returns the matrix product of Apple's Accelerate, which uses units that no instructions are
// published for. It was compiled, but never run: we had no Apple hardware.
func openAccelerate() (gemm.BLAS, error) {
	const path = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("accelerate: %w", err)
	}
	const name = "cblas_sgemm"
	if _, err := purego.Dlsym(library, name); err != nil {
		return nil, fmt.Errorf("accelerate: %w", err)
	}
	var sgemm func(order, transA, transB, m, n, k int32, alpha float32, a unsafe.Pointer, lda int32, b unsafe.Pointer, ldb int32, beta float32, c unsafe.Pointer, ldc int32)
	purego.RegisterLibFunc(&sgemm, library, name)
	const rowMajor, noTrans, trans = 101, 111, 112 // of CBLAS
	transposed := map[bool]int32{false: noTrans, true: trans}
	return func(transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, beta float32, c unsafe.Pointer, ldc int) {
		sgemm(rowMajor, transposed[transA], transposed[transB], int32(m), int32(n), int32(k), 1, a, int32(lda), b, int32(ldb), beta, c, int32(ldc))
	}, nil
}
