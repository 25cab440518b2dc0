//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

type (
	axpy32 func(rows int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int, cols int)
	axpy16 func(rows int, a *float32, lda int, b *uint16, ldb int, c *float32, ldc int, cols int)
	dot32  func(k int, a *float32, lda int, b *float32, ldb int, cols int, out *float32)
	dot16  func(k int, a *float32, lda int, b *uint16, ldb int, cols int, out *float32)
)

// Kernels by set, and by steps: eight or one.
var (
	axpyF32  = [...][2]axpy32{isa.AVX2: {axpy8F32AVX2, axpy1F32AVX2}, isa.AVX512: {axpy8F32AVX512, axpy1F32AVX512}}
	axpyBF16 = [...][2]axpy16{isa.AVX2: {axpy8BF16AVX2, axpy1BF16AVX2}, isa.AVX512: {axpy8BF16AVX512, axpy1BF16AVX512}}
	axpyF16  = [...][2]axpy16{isa.AVX2: {axpy8F16AVX2, axpy1F16AVX2}, isa.AVX512: {axpy8F16AVX512, axpy1F16AVX512}}
)

// Kernels by set, and by rows: 1, 2, and with AVX-512 also 4.
var (
	dotF32 = [...][3]dot32{
		isa.AVX2:   {dot1F32AVX2, dot2F32AVX2},
		isa.AVX512: {dot1F32AVX512, dot2F32AVX512, dot4F32AVX512},
	}
	dotBF16 = [...][3]dot16{
		isa.AVX2:   {dot1BF16AVX2, dot2BF16AVX2},
		isa.AVX512: {dot1BF16AVX512, dot2BF16AVX512, dot4BF16AVX512},
	}
	dotF16 = [...][3]dot16{
		isa.AVX2:   {dot1F16AVX2, dot2F16AVX2},
		isa.AVX512: {dot1F16AVX512, dot2F16AVX512, dot4F16AVX512},
	}
)

// axpyVector computes the first columns with vector instructions and returns their number.
func axpyVector(rows, cols, steps int, a *float32, lda int, b Source, c *float32, ldc int) int {
	if isa.Level() == isa.Portable {
		return 0
	}
	done := cols
	if isa.Level() == isa.AVX2 {
		done &^= 7
	}
	if done == 0 {
		return 0
	}
	one := 0
	if steps == 1 {
		one = 1
	}
	switch b.Elem {
	case F32:
		axpyF32[isa.Level()][one](rows, a, 4*lda, (*float32)(b.Base), 4*b.Step, c, 4*ldc, done)
	case BF16:
		axpyBF16[isa.Level()][one](rows, a, 4*lda, (*uint16)(b.Base), 2*b.Step, c, 4*ldc, done)
	case F16:
		axpyF16[isa.Level()][one](rows, a, 4*lda, (*uint16)(b.Base), 2*b.Step, c, 4*ldc, done)
	}
	return done
}

// fewRows returns how many of rows the next dot kernel takes, at most most, and the index of that kernel.
func fewRows(rows, most int) (n, which int) {
	switch {
	case rows >= 4 && most >= 4:
		return 4, 2
	case rows >= 2:
		return 2, 1
	}
	return 1, 0
}

// dotVector computes the first m rows and the first done steps of up to four columns with vector
// instructions.
func dotVector(rows, cols, k int, a *float32, lda int, b Source, sums *[16]float32) (m, done int) {
	clear(sums[:])
	most := 4
	switch isa.Level() {
	case isa.Portable:
		return 1, 0
	case isa.AVX2:
		most, k = 2, k&^7
	}
	m, which := fewRows(rows, most)
	switch b.Elem {
	case F32:
		dotF32[isa.Level()][which](k, a, 4*lda, (*float32)(b.Base), 4*b.Line, cols, &sums[0])
	case BF16:
		dotBF16[isa.Level()][which](k, a, 4*lda, (*uint16)(b.Base), 2*b.Line, cols, &sums[0])
	case F16:
		dotF16[isa.Level()][which](k, a, 4*lda, (*uint16)(b.Base), 2*b.Line, cols, &sums[0])
	}
	return m, k
}
