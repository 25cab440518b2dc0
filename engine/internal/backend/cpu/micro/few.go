package micro

import (
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// Axpy and Dot multiply a few rows by an unpacked matrix: Axpy a matrix with contiguous rows, Dot a matrix
// with contiguous columns. Both take a in float32 with contiguous steps; lda and ldc are in elements.

// Kernels by set and type of element: of axpy for eight steps and, where there is none for any number of
// steps of one row, for one; of dot by rows. Without masks they take whole vectors.
var (
	axpys    [isa.NumSets][3][2]func(rows int, a *float32, lda int, b unsafe.Pointer, ldb int, c *float32, ldc int, cols int)
	axpyRows [isa.NumSets][3]func(k int, a *float32, b unsafe.Pointer, ldb int, c *float32, cols int)
	dots     [isa.NumSets][3][5]func(k int, a *float32, lda int, b unsafe.Pointer, ldb int, cols int, out *float32)
)

// leftOver are the bits of a number of elements that the kernels of a set without masks leave over.
var leftOver = [isa.NumSets]int{isa.AVX2: 7, isa.NEON: 3}

// axpyVector computes the first columns with vector instructions and returns their number.
func axpyVector(rows, cols, steps int, a *float32, lda int, b Source, c *float32, ldc int) int {
	several, row := axpys[isa.Level()][b.Elem], axpyRows[isa.Level()][b.Elem]
	done, ldb, at := cols&^leftOver[isa.Level()], b.Elem.Size()*b.Step, 0
	if several[0] == nil || done == 0 {
		return 0
	}
	for i, n := range []int{8, 1} {
		for ; (rows > 1 || row == nil) && several[i] != nil && at+n <= steps; at += n {
			several[i](rows, offset(a, at), 4*lda, b.At(0, at).Base, ldb, c, 4*ldc, done)
		}
	}
	for i := 0; i < rows && at < steps; i++ {
		row(steps-at, offset(a, i*lda+at), b.At(0, at).Base, ldb, offset(c, i*ldc), done)
	}
	return done
}

// dotVector computes the first m rows and the first done steps of up to four columns with vector
// instructions.
func dotVector(rows, cols, k int, a *float32, lda int, b Source, sums *[16]float32) (m, done int) {
	clear(sums[:])
	byRows := &dots[isa.Level()][b.Elem]
	for m = 4; m > 1 && (m > rows || byRows[m] == nil); {
		m /= 2
	}
	if byRows[m] == nil {
		return 1, 0
	}
	done = k &^ leftOver[isa.Level()]
	byRows[m](done, a, 4*lda, b.Base, b.Elem.Size()*b.Line, cols, &sums[0])
	return m, done
}

// Axpy computes c[i][j] += Σ a[i][u]·b(j, u) over steps u < steps, for rows rows and cols columns. The lines
// of b are its columns, so b.Line is 1.
func Axpy(rows, cols, steps int, a *float32, lda int, b Source, c *float32, ldc int) {
	done := axpyVector(rows, cols, steps, a, lda, b, c, ldc)
	if done == cols {
		return
	}
	for i := range rows {
		row := unsafe.Slice(offset(c, i*ldc+done), cols-done)
		axpyScalar(row, unsafe.Slice(offset(a, i*lda), steps), b.At(done, 0))
	}
}

// axpyScalar adds the steps of one row.
func axpyScalar(c, a []float32, b Source) {
	u := 0
	for ; b.Elem == F32 && u+4 <= len(a); u += 4 {
		line := func(i int) []float32 { return unsafe.Slice((*float32)(b.At(0, u+i).Base), len(c)) }
		x0, x1, x2, x3 := a[u], a[u+1], a[u+2], a[u+3]
		y0, y1, y2, y3 := line(0), line(1), line(2), line(3)
		for j := range c {
			c[j] += x0*y0[j] + x1*y1[j] + x2*y2[j] + x3*y3[j]
		}
	}
	for ; u < len(a); u++ {
		for j := range c {
			c[j] += a[u] * b.At(j, u).first()
		}
	}
}

// dotSums holds memory for the sums of kernels. The kernels are called through a table of functions, so the
// compiler must assume that they keep their arguments, and would allocate the sums in each call.
var dotSums = sync.Pool{New: func() any { return new([16]float32) }}

// Dot computes c[i][j] += Σ a[i][p]·b(j, p) over k steps, for rows rows and cols columns. b.Step is 1.
func Dot(rows, cols, k int, a *float32, lda int, b Source, c *float32, ldc int) {
	sums := dotSums.Get().(*[16]float32)
	defer dotSums.Put(sums)
	for j := 0; j < cols; j += 4 {
		n := min(4, cols-j)
		col := b.At(j, 0)
		for i := 0; i < rows; {
			m, done := dotVector(rows-i, n, k, offset(a, i*lda), lda, col, sums)
			for r := range m {
				if to, x := offset(c, (i+r)*ldc+j), sums[4*r:]; n == 4 && done == k {
					c := (*[4]float32)(unsafe.Pointer(to))
					c[0], c[1], c[2], c[3] = c[0]+x[0], c[1]+x[1], c[2]+x[2], c[3]+x[3]
					continue
				}
				for s := range n {
					x := sums[4*r+s]
					if done < k {
						x += dotScalar(k-done, offset(a, (i+r)*lda+done), col.At(s, done))
					}
					*offset(c, (i+r)*ldc+j+s) += x
				}
			}
			i += m
		}
	}
}

// dotScalar is the product of two contiguous vectors.
func dotScalar(k int, a *float32, b Source) float32 {
	var s0, s1, s2, s3 float32
	x := unsafe.Slice(a, k)
	if b.Elem == F32 {
		y := unsafe.Slice((*float32)(b.Base), k)
		for ; len(x) >= 4 && len(y) >= 4; x, y = x[4:], y[4:] {
			s0 += x[0] * y[0]
			s1 += x[1] * y[1]
			s2 += x[2] * y[2]
			s3 += x[3] * y[3]
		}
		b = b.At(0, k-len(x))
	}
	for p := range x {
		s0 += x[p] * b.At(0, p).first()
	}
	return s0 + s1 + (s2 + s3)
}
