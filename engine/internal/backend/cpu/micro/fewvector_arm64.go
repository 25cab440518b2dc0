//go:build arm64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

type (
	axpy32 func(rows int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int, cols int)
	axpy16 func(rows int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc int, cols int)
	dot32  func(k int, a *float32, lda int, b *float32, ldb int, cols int, out *float32)
	dot16  func(k int, a *float32, lda int, b *uint16, ldb int, cols int, out *float32)
)

// Kernels by steps: eight or one.
var (
	axpyF32  = [2]axpy32{axpy8F32NEON, axpy1F32NEON}
	axpyBF16 = [2]axpy16{axpy8BF16NEON, axpy1BF16NEON}
	axpyF16  = [2]axpy16{axpy8F16NEON, axpy1F16NEON}
)

// Kernels by rows: 1, 2, 4.
var (
	dotF32  = [3]dot32{dot1F32NEON, dot2F32NEON, dot4F32NEON}
	dotBF16 = [3]dot16{dot1BF16NEON, dot2BF16NEON, dot4BF16NEON}
	dotF16  = [3]dot16{dot1F16NEON, dot2F16NEON, dot4F16NEON}
)

// axpyVector computes the first columns with vector instructions and returns their number.
func axpyVector(rows, cols, steps int, a *float32, lda int, b Source, c *float32, ldc int) int {
	done := cols &^ 3
	if isa.Level() == isa.Portable || done == 0 {
		return 0
	}
	one := 0
	if steps == 1 {
		one = 1
	}
	switch b.Elem {
	case F32:
		axpyF32[one](rows, a, 4*lda, (*float32)(b.Base), 4*b.Step, c, 4*ldc, done)
	case BF16:
		axpyBF16[one](rows, a, 4*lda, (*uint16)(b.Base), 2*b.Step, c, 4*ldc, done)
	case F16:
		axpyF16[one](rows, a, 4*lda, (*uint16)(b.Base), 2*b.Step, c, 4*ldc, done)
	}
	return done
}

// dotVector computes the first m rows and the first done steps of up to four columns with vector
// instructions.
func dotVector(rows, cols, k int, a *float32, lda int, b Source, sums *[16]float32) (m, done int) {
	clear(sums[:])
	if isa.Level() == isa.Portable {
		return 1, 0
	}
	k &^= 3
	m, which := 1, 0
	switch {
	case rows >= 4:
		m, which = 4, 2
	case rows >= 2:
		m, which = 2, 1
	}
	switch b.Elem {
	case F32:
		dotF32[which](k, a, 4*lda, (*float32)(b.Base), 4*b.Line, cols, &sums[0])
	case BF16:
		dotBF16[which](k, a, 4*lda, (*uint16)(b.Base), 2*b.Line, cols, &sums[0])
	case F16:
		dotF16[which](k, a, 4*lda, (*uint16)(b.Base), 2*b.Line, cols, &sums[0])
	}
	return m, k
}
