package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// An Indirect multiplies rows that lie anywhere by rows of a matrix, without packing the former. So the
// windows of an image are the rows of a product.
type Indirect struct {
	Rows, Cols int
	lanes      int
	widths     []indirectFunc // kernels for up to lanes, 2·lanes … Cols columns
}

type indirectFunc func(stretches *Stretch, n int, a *float32, lines *int, b *float32, ldb int, c *float32, ldc, rows, cols, add int)

// A Stretch is steps that follow one another in both operands: elements A to End of each row of the left one,
// and as many rows of the right one from its element B on.
type Stretch struct{ A, End, B int }

var indirects = [isa.NumSets]*Indirect{isa.Portable: {Rows: 1, Cols: 4, lanes: 4, widths: []indirectFunc{indirectPortable}}}

// IndirectKernel returns the kernel of this machine.
func IndirectKernel() *Indirect { return indirects[isa.Level()] }

// Run computes c = a·b, or c += a·b when add is 1, for the first rows rows and cols columns, over all
// stretches, of which none is empty. Each row of a begins at one of the lines, in elements, of which there
// are Rows even if rows is less. Rows of b are ldb elements apart, and read up to the next multiple of a
// vector; ldc is in elements, too.
//
// As in a [Kernel] each sum is a chain of fused multiply-adds.
func (m *Indirect) Run(stretches []Stretch, a *float32, lines []int, b *float32, ldb int, c *float32, ldc, rows, cols, add int) {
	_ = lines[m.Rows-1]
	m.widths[(cols-1)/m.lanes](unsafe.SliceData(stretches), len(stretches), a, unsafe.SliceData(lines), b, 4*ldb, c, 4*ldc, rows, cols, add)
}

// indirectPortable is the micro-kernel in Go: one row.
func indirectPortable(stretches *Stretch, n int, a *float32, lines *int, b *float32, ldb int, c *float32, _, _, cols, add int) {
	var s0, s1, s2, s3 float32 // Go keeps no arrays in registers
	for _, s := range unsafe.Slice(stretches, n) {
		y := unsafe.Pointer(offset(b, s.B))
		for p, x := range unsafe.Slice(offset(a, *lines+s.A), s.End-s.A) {
			row := (*[4]float32)(unsafe.Add(y, p*ldb))
			s0 += x * row[0]
			s1 += x * row[1]
			s2 += x * row[2]
			s3 += x * row[3]
		}
	}
	for i, sum := range []float32{s0, s1, s2, s3}[:cols] {
		if add != 0 {
			sum += *offset(c, i)
		}
		*offset(c, i) = sum
	}
}
