package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// A DoubleKernel multiplies a panel of Rows rows by a panel of Cols columns in float64. All sums stay in
// registers.
type DoubleKernel struct {
	Rows, Cols int
	run        func(k int, a, b, c *float64)
}

// Run computes c[Rows Cols] = a·b over k ≥ 1 steps. For each step a holds Rows values and b Cols values.
func (d *DoubleKernel) Run(k int, a, b, c []float64) {
	_, _, _ = a[k*d.Rows-1], b[k*d.Cols-1], c[d.Rows*d.Cols-1]
	d.run(k, &a[0], &b[0], &c[0])
}

// Double returns the kernel of this machine.
func Double() *DoubleKernel { return doubleKernels[isa.Level()] }

var doublePortable = &DoubleKernel{Rows: 4, Cols: 4, run: func(k int, a, b, c *float64) {
	x, y := unsafe.Slice(a, 4*k), unsafe.Slice(b, 4*k)
	for i := range 4 {
		var s0, s1, s2, s3 float64
		for p := 0; p < 4*k; p += 4 {
			f, row := x[p+i], y[p:p+4]
			s0 += f * row[0]
			s1 += f * row[1]
			s2 += f * row[2]
			s3 += f * row[3]
		}
		copy(unsafe.Slice(c, 16)[4*i:], []float64{s0, s1, s2, s3})
	}
}}
