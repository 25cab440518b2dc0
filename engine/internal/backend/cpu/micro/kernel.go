package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// A Kernel multiplies a panel of up to Rows rows by a panel of up to Cols columns. All sums stay in
// registers.
//
// Every micro-kernel for float32 adds the products of an element in the order of k, each by one fused
// multiply-add. So the choice of the kernel never changes a bit of the result, except that plain Go has no
// fused multiply-add on some processors. The kernels for bf16 add two products at a time.
type Kernel struct {
	Rows, Cols int
	lanes      int
	widths     []microFunc // kernels for up to lanes, 2·lanes … Cols columns
	form       form
}

// A form is the kind of numbers in panels.
type form uint8

const (
	numbers form = iota // float32
	pairs               // two steps of bf16 side by side in 32 bits
	tiles               // columns: pairs of bf16; rows: bf16
)

type microFunc func(k int, a, b *float32, ldb int, c *float32, ldc int, rows, cols, add int)

// Run computes c = a·b, or c += a·b when add is 1, for the first rows rows and cols columns; k, rows and
// cols are at least 1. It is for kernels of float32.
//
// a is packed, with Rows values for each k even if rows is less. b has a row for each k, ldb bytes apart,
// of which PanelCols(cols) columns are read; ldc is in bytes.
func (m *Kernel) Run(k int, a, b *float32, ldb int, c *float32, ldc, rows, cols, add int) {
	m.widths[(cols-1)/m.lanes](k, a, b, ldb, c, ldc, rows, cols, add)
}

// Multiply is Run for packed rows and packed columns: up to RowsAtOnce rows, and any number of columns, in
// panels from PackRight. words is Words of the number of steps. lda is the distance of the rows in bytes:
// 4·words, unless the rows are read unpacked (see Unpacked).
func (m *Kernel) Multiply(words int, a *float32, lda int, b, c *float32, ldc, rows, cols, add int) {
	if m.form == tiles {
		multiplyTiles(words, a, lda, b, c, ldc, rows, cols, add)
		return
	}
	for j := 0; j < cols; j += m.Cols {
		n := min(m.Cols, cols-j)
		m.Run(words, a, offset(b, j*words), 4*m.PanelCols(n), offset(c, j), ldc, rows, n, add)
	}
}

// RowsAtOnce returns how many of the rows one Multiply takes: one panel, or with tiles all whole panels,
// because preparing the tiles takes as long as some products.
func (m *Kernel) RowsAtOnce(rows int) int {
	if m.form == tiles && rows > m.Rows {
		return min(8*m.Rows, rows/m.Rows*m.Rows)
	}
	return min(rows, m.Rows)
}

// Unpacked reports whether k steps of rows of s can be multiplied unpacked: tiles are loaded from rows, if
// these fill them.
func (m *Kernel) Unpacked(s Source, k int) bool {
	const line = 32 // elements in a line of memory
	return m.form == tiles && s.Elem == BF16 && s.Step == 1 && s.Line%line == 0 && k%line == 0
}

// Depth returns how many times as many steps as kernels of float32 this kernel should do before it stores
// results: as many as take as long, and with tiles more, because for these storing takes as long as the sums.
func (m *Kernel) Depth() int {
	switch m.form {
	case pairs:
		return 2
	case tiles:
		return 4
	}
	return 1
}

// PanelCols returns how many columns of b are read for cols columns of the result: cols rounded up to whole
// vectors.
func (m *Kernel) PanelCols(cols int) int {
	if m.form != numbers {
		return m.Cols
	}
	return (cols + m.lanes - 1) / m.lanes * m.lanes
}

// Words returns the float32 words of memory that k steps of a packed row or column take.
func (m *Kernel) Words(k int) int {
	switch m.form {
	case pairs:
		return (k + 1) / 2
	case tiles:
		return roundUp(k, 32) / 2
	}
	return k
}

// Takes reports whether the kernel multiplies elements of these types. Kernels of float32 take all.
func (m *Kernel) Takes(a, b Elem) bool { return m.form == numbers || a == BF16 && b == BF16 }

// PackLeft packs the k steps from step on of up to Rows rows into a panel. A row of the panel takes words;
// step is a multiple of 32.
func (m *Kernel) PackLeft(panel []float32, words, step int, s Source, rows, k int) {
	at := m.Words(step) * m.Rows
	switch m.form {
	case pairs:
		packPairRows(panel[at:], m.Rows, s, rows, k)
	case tiles:
		packTiles(panel[m.Words(step):], words, s, rows, k)
	default:
		PackPanel(panel[at:], m.Rows, s, rows, k)
	}
}

// PackRight packs k steps of up to Cols columns.
func (m *Kernel) PackRight(dst []float32, s Source, cols, k int) {
	if m.form != numbers {
		packPairPanel(dst[:m.Words(k)*m.Cols], s, cols, k)
		return
	}
	PackPanel(dst, m.PanelCols(cols), s, cols, k)
}

var kernels = [isa.NumSets][]*Kernel{isa.Portable: {portable}}

// Kernels returns the kernels for s, the widest last.
func Kernels(s isa.Set) []*Kernel { return kernels[min(s, isa.Level())] }

func offset(p *float32, n int) *float32 { return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*n)) }
