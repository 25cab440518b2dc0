package asm

// A MicroKernel multiplies a panel of up to Rows rows by a panel of up to Cols columns, with all sums in registers.
//
// Every micro-kernel adds the products of an element in the order of k, one fused multiply-add each, so which one is
// chosen never changes a bit of the result (except that plain Go on some processors has no fused multiply-add).
type MicroKernel struct {
	Rows, Cols int
	lanes      int
	widths     []microFunc // for up to lanes, 2·lanes … Cols columns
}

type microFunc func(k int, a, b *float32, ldb int, c *float32, ldc int, rows, cols, add int)

// Run computes c = a·b, or c += a·b when add is 1, for the first rows rows and cols columns; k, rows and cols are at
// least 1.
//
// a is packed: Rows values for each k, whether or not rows is less. b has a row for each k, ldb bytes apart, and is read
// up to PanelCols(cols) columns; ldc is in bytes.
func (m *MicroKernel) Run(k int, a, b *float32, ldb int, c *float32, ldc, rows, cols, add int) {
	m.widths[(cols-1)/m.lanes](k, a, b, ldb, c, ldc, rows, cols, add)
}

// PanelCols is how many columns of b are read for cols columns of the result: the next multiple of the vector's length.
func (m *MicroKernel) PanelCols(cols int) int { return (cols + m.lanes - 1) / m.lanes * m.lanes }

// MicroKernels returns the kernels for s, the widest last.
func MicroKernels(s Set) []*MicroKernel { return microKernels[min(s, level)] }
