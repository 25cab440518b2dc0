package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

// A DirectKernel multiplies a panel of up to Rows rows, packed as a Kernel's, by a matrix with contiguous
// rows that is read as it lies, f32, bf16 or f16. It is for products with so few rows that packing that
// matrix would take longer than the panel gains.
type DirectKernel struct {
	Rows, Cols int
	lanes      int
	widths     [3][]directFunc // by element; for up to lanes, 2·lanes … Cols columns
}

// directFunc is a kernel for any element: b is an address of one.
type directFunc func(k int, a *float32, b Source, c *float32, ldc, rows, cols, add, ahead, aheadStep int)

// DirectKernels returns the kernels of this machine; there need not be any.
func DirectKernels() []*DirectKernel { return directKernels(isa.Level()) }

// Multiply computes c = a·b, or c += a·b when add is 1, over k ≥ 1 steps, for the first rows rows and cols ≤
// Cols columns. The lines of b are its columns, so b.Line is 1; ldc is in elements. Each step fetches two
// lines of memory ahead of their use: from address ahead on, aheadStep bytes further with each step. They
// need not exist.
func (d *DirectKernel) Multiply(k int, a *float32, b Source, c *float32, ldc, rows, cols, add, ahead, aheadStep int) {
	done := cols
	if d.lanes == 8 {
		done &^= 7 // without masks for elements of two bytes
	}
	if done > 0 {
		d.widths[b.Elem][(done-1)/d.lanes](k, a, b, c, 4*ldc, rows, done, add, ahead, aheadStep)
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
