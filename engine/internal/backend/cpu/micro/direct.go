package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// A DirectKernel multiplies a panel of up to Rows rows, packed as for a Kernel, by a matrix in f32, bf16 or
// f16 that it reads unpacked; the rows of the matrix are contiguous. It is for products with few rows,
// where packing the matrix would take longer than the packed panels save.
type DirectKernel struct {
	Rows, Cols int
	lanes      int
	widths     [3][]directFunc // for each Elem: kernels for up to lanes, 2·lanes … Cols columns
}

// A directFunc is a kernel for elements of any type.
type directFunc func(k int, a *float32, b unsafe.Pointer, ldb int, c *float32, ldc, rows, cols, add, ahead, aheadStep int)

var directKernels [isa.NumSets][]*DirectKernel

// DirectKernels returns the kernels of this machine; there may be none.
func DirectKernels() []*DirectKernel { return directKernels[isa.Level()] }

// Multiply computes c = a·b, or c += a·b when add is 1, over k ≥ 1 steps, for the first rows rows and cols
// ≤ Cols columns. The lines of b are its columns, so b.Line is 1; ldc is in elements. Each step prefetches
// two cache lines that later calls read: at address ahead, which grows by aheadStep bytes in each step.
// They may lie beyond the matrix.
func (d *DirectKernel) Multiply(k int, a *float32, b Source, c *float32, ldc, rows, cols, add, ahead, aheadStep int) {
	done := cols
	if d.lanes == 8 {
		done &^= 7 // there are no masks for elements of two bytes
	}
	if done > 0 {
		d.widths[b.Elem][(done-1)/d.lanes](k, a, b.Base, b.Elem.Size()*b.Step, c, 4*ldc, rows, done, add, ahead, aheadStep)
	}
	for j := done; j < cols; j++ {
		for i := range rows {
			sum := float32(0)
			for p := range k {
				sum += *offset(a, p*d.Rows+i) * b.At(j, p).first()
			}
			if add != 0 {
				sum += *offset(c, i*ldc+j)
			}
			*offset(c, i*ldc+j) = sum
		}
	}
}
