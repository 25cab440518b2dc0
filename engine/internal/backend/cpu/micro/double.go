package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// A DoubleKernel multiplies a panel of Rows rows by a panel of Cols columns in float64. All sums stay in
// registers.
type DoubleKernel struct {
	Rows, Cols int
	run        func(k int, a, b *float64, ldb int, c *float64, ldc, onto int)
}

// Run computes c[Rows Cols] = a·b over k ≥ 1 steps, or with onto 1 or −1 c plus or minus that. For each step
// a holds Rows values, and b Cols values, ldb after those of the step before. Rows of c are ldc apart.
func (d *DoubleKernel) Run(k int, a, b []float64, ldb int, c []float64, ldc, onto int) {
	_, _, _ = a[k*d.Rows-1], b[(k-1)*ldb+d.Cols-1], c[(d.Rows-1)*ldc+d.Cols-1]
	d.run(k, &a[0], &b[0], ldb, &c[0], ldc, onto)
}

var doubleKernels = [isa.NumSets]*DoubleKernel{isa.Portable: doublePortable, isa.NEON: doublePortable}

// Double returns the kernel of this machine.
func Double() *DoubleKernel { return doubleKernels[isa.Level()] }

var doublePortable = &DoubleKernel{Rows: 4, Cols: 4, run: func(k int, a, b *float64, ldb int, c *float64, ldc, onto int) {
	x, y, to := unsafe.Slice(a, 4*k), unsafe.Slice(b, (k-1)*ldb+4), unsafe.Slice(c, 3*ldc+4)
	for i := range 4 {
		var s0, s1, s2, s3 float64 // an array would lie in memory
		for p := range k {
			f, row := x[4*p+i], y[p*ldb:][:4]
			s0 += f * row[0]
			s1 += f * row[1]
			s2 += f * row[2]
			s3 += f * row[3]
		}
		for j, sum := range [4]float64{s0, s1, s2, s3} {
			switch at := &to[i*ldc+j]; {
			case onto > 0:
				*at += sum
			case onto < 0:
				*at -= sum
			default:
				*at = sum
			}
		}
	}
}}

// Symmetric adds four rows of a symmetric matrix times a vector to y: y[j] += Σ of[i]·a[i][j], and it returns
// Σ a[i][j]·x[j] of each row, over n columns, a multiple of 4. Rows are lda apart.
func Symmetric(n int, a []float64, lda int, of *[4]float64, x, y []float64) (sums [4]float64) {
	if n == 0 {
		return sums
	}
	_, _, _ = a[3*lda+n-1], x[n-1], y[n-1]
	var parts [16]float64
	if symmetric(n, &a[0], lda, &of[0], &x[0], &y[0], &parts[0]) {
		for i := range sums {
			sums[i] = parts[4*i] + parts[4*i+1] + (parts[4*i+2] + parts[4*i+3])
		}
		return sums
	}
	for i := range sums {
		s, f, to := 0., of[i], y[:n]
		from := x[:n]
		for j, v := range a[i*lda:][:n] {
			s += v * from[j]
			to[j] += v * f
		}
		sums[i] = s
	}
	return sums
}
