package asm

import "unsafe"

// A MicroKernel multiplies a panel of up to Rows rows by a panel of up to Cols columns, with all sums in registers.
//
// Every micro-kernel for float32 adds the products of an element in the order of k, one fused multiply-add each, so which
// one is chosen never changes a bit of the result (except that plain Go on some processors has no fused multiply-add).
// Those for bf16 add two products at a time.
type MicroKernel struct {
	Rows, Cols int
	lanes      int
	widths     []microFunc // for up to lanes, 2·lanes … Cols columns
	form       form
}

// A form is what panels hold.
type form uint8

const (
	numbers form = iota // float32
	pairs               // two steps of bf16 side by side in 32 bits
	tiles               // the same for columns; for rows as gen/tiles.go says
)

type microFunc func(k int, a, b *float32, ldb int, c *float32, ldc int, rows, cols, add int)

// Run computes c = a·b, or c += a·b when add is 1, for the first rows rows and cols columns; k, rows and cols are at
// least 1. It is for float32.
//
// a is packed: Rows values for each k, whether or not rows is less. b has a row for each k, ldb bytes apart, and is read
// up to PanelCols(cols) columns; ldc is in bytes.
func (m *MicroKernel) Run(k int, a, b *float32, ldb int, c *float32, ldc, rows, cols, add int) {
	m.widths[(cols-1)/m.lanes](k, a, b, ldb, c, ldc, rows, cols, add)
}

// Multiply is Run for panels that were packed by PackLeft and PackRight: one of rows, and as many of columns, one after the
// other, as cols takes. words is Words of the number of steps.
func (m *MicroKernel) Multiply(words int, a, b, c *float32, ldc, rows, cols, add int) {
	if m.form == tiles {
		multiplyTiles(words, a, b, c, ldc, rows, cols, add)
		return
	}
	for j := 0; j < cols; j += m.Cols {
		n := min(m.Cols, cols-j)
		m.Run(words, a, offset(b, j*words), 4*m.PanelCols(n), offset(c, j), ldc, rows, n, add)
	}
}

// PanelCols is how many columns of b are read for cols columns of the result: the next multiple of the vector's length.
func (m *MicroKernel) PanelCols(cols int) int {
	if m.form != numbers {
		return m.Cols
	}
	return (cols + m.lanes - 1) / m.lanes * m.lanes
}

// Words is how many float32 of memory k steps of a packed row or column take.
func (m *MicroKernel) Words(k int) int {
	switch m.form {
	case pairs:
		return (k + 1) / 2
	case tiles:
		return roundUp(k, 32) / 2
	}
	return k
}

// Takes says whether the kernel multiplies elements of these types; float32 ones take all.
func (m *MicroKernel) Takes(a, b Elem) bool { return m.form == numbers || a == BF16 && b == BF16 }

// PackLeft packs k steps of up to Rows rows.
func (m *MicroKernel) PackLeft(dst []float32, s Source, rows, k int) {
	switch m.form {
	case pairs:
		packPairRows(dst, m.Rows, s, rows, k)
	case tiles:
		packTiles(dst, s, rows, k)
	default:
		PackPanel(dst, m.Rows, s, rows, k)
	}
}

// PackRight packs k steps of up to Cols columns.
func (m *MicroKernel) PackRight(dst []float32, s Source, cols, k int) {
	if m.form != numbers {
		packPairPanel(dst[:m.Words(k)*m.Cols], s, cols, k)
		return
	}
	PackPanel(dst, m.PanelCols(cols), s, cols, k)
}

// MicroKernels returns the kernels for s, the widest last.
func MicroKernels(s Set) []*MicroKernel { return microKernels[min(s, level)] }

func offset(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }
