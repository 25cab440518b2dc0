//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

type (
	direct32 func(k int, a *float32, b *float32, ldb int, c *float32, ldc int, rows int, cols int, add int, ahead int, aheadStep int)
	direct16 func(k int, a *float32, b *uint16, ldb int, c *float32, ldc int, rows int, cols int, add int, ahead int, aheadStep int)
)

func of32(f direct32) directFunc {
	return func(k int, a *float32, b Source, c *float32, ldc, rows, cols, add, ahead, aheadStep int) {
		f(k, a, (*float32)(b.Base), 4*b.Step, c, ldc, rows, cols, add, ahead, aheadStep)
	}
}

func of16(f direct16) directFunc {
	return func(k int, a *float32, b Source, c *float32, ldc, rows, cols, add, ahead, aheadStep int) {
		f(k, a, (*uint16)(b.Base), 2*b.Step, c, ldc, rows, cols, add, ahead, aheadStep)
	}
}

func directKernels(s isa.Set) []*DirectKernel {
	switch s {
	case isa.AVX2:
		return direct256
	case isa.AVX512:
		return direct512
	}
	return nil
}

var direct512 = []*DirectKernel{
	{Rows: 8, Cols: 48, lanes: 16, widths: [3][]directFunc{
		F32:  {of32(direct8x16F32AVX512), of32(direct8x32F32AVX512), of32(direct8x48F32AVX512)},
		BF16: {of16(direct8x16BF16AVX512), of16(direct8x32BF16AVX512), of16(direct8x48BF16AVX512)},
		F16:  {of16(direct8x16F16AVX512), of16(direct8x32F16AVX512), of16(direct8x48F16AVX512)},
	}},
	{Rows: 6, Cols: 64, lanes: 16, widths: [3][]directFunc{
		F32:  {of32(direct6x16F32AVX512), of32(direct6x32F32AVX512), of32(direct6x48F32AVX512), of32(direct6x64F32AVX512)},
		BF16: {of16(direct6x16BF16AVX512), of16(direct6x32BF16AVX512), of16(direct6x48BF16AVX512), of16(direct6x64BF16AVX512)},
		F16:  {of16(direct6x16F16AVX512), of16(direct6x32F16AVX512), of16(direct6x48F16AVX512), of16(direct6x64F16AVX512)},
	}},
}

var direct256 = []*DirectKernel{
	{Rows: 4, Cols: 24, lanes: 8, widths: [3][]directFunc{
		F32:  {of32(direct4x8F32AVX2), of32(direct4x16F32AVX2), of32(direct4x24F32AVX2)},
		BF16: {of16(direct4x8BF16AVX2), of16(direct4x16BF16AVX2), of16(direct4x24BF16AVX2)},
		F16:  {of16(direct4x8F16AVX2), of16(direct4x16F16AVX2), of16(direct4x24F16AVX2)},
	}},
}
