package linalg

import (
	"runtime"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// LAPACK by gonum finds its BLAS by blas64.Implementation and takes no other. So this package says once,
// before anything runs, what that is: nothing changes it later, and it computes what gonum's own does.
func init() { blas64.Use(products{}) }

// products is gonum's BLAS with products of matrices by the engine's micro-kernels for float64, and the
// functions that consist of products in the main by way of those. All matrices are in rows.
type products struct{ gonum.Implementation }

const (
	few  = 48      // rows and columns up to which gonum's loops are left alone
	work = 1 << 16 // multiplications up to which a product is left to gonum
)

// Dgemm computes c = alpha·op(a)·op(b) + beta·c.
func (p products) Dgemm(ta, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if m*n*k <= work || k < 4 || alpha == 0 {
		p.Implementation.Dgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	term := gemm.Term{K: k, A: gemm.Operand{Line: lda, Step: 1}, B: gemm.Operand{Line: 1, Step: ldb}}
	if ta != blas.NoTrans {
		term.A = gemm.Operand{Line: 1, Step: lda}
	}
	if tb != blas.NoTrans {
		term.B = gemm.Operand{Line: ldb, Step: 1}
	}
	parts := 1
	if m*n*k > 1<<20 {
		parts = runtime.GOMAXPROCS(0)
	}
	var wg sync.WaitGroup
	for i := range parts {
		lo, hi := i*m/parts, (i+1)*m/parts
		x, y, to := a[lo*term.A.Line:], b, c
		rows, cols := hi-lo, n
		if to = c[lo*ldc:]; n > m { // a wide result is divided by columns
			lo, hi = i*n/parts, (i+1)*n/parts
			x, y, to, rows, cols = a, b[lo*term.B.Line:], c[lo:], m, hi-lo
		}
		if rows == 0 || cols == 0 {
			continue
		}
		wg.Go(func() { multiply(rows, cols, term, alpha, x, y, beta, to, ldc) })
	}
	wg.Wait()
}

// multiply computes a part of a product on one thread.
func multiply(m, n int, term gemm.Term, alpha float64, a, b []float64, beta float64, c []float64, ldc int) {
	d := gemm.NewDouble(m, n, 1, []gemm.Term{term}, 1)
	ab := make([]float64, m*n)
	d.Run(pool.Serial(1), &gemm.DoubleCall{
		A: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(a))}, B: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(b))},
		C: unsafe.Pointer(unsafe.SliceData(ab)), Scratch: make([]float64, d.ScratchLen(1)),
	})
	for i := range m {
		x, y := ab[i*n:][:n], c[i*ldc:][:n]
		switch {
		case beta == 0:
			for j, v := range x {
				y[j] = alpha * v
			}
		case beta == 1 && alpha == -1: // what factorisations ask for
			for j, v := range x {
				y[j] -= v
			}
		default:
			for j, v := range x {
				y[j] = alpha*v + beta*y[j]
			}
		}
	}
}

// halfOf is where a triangle of n rows is divided: at a multiple of 16.
func halfOf(n int) int { return (n/2 + 15) / 16 * 16 }

// Dtrsm solves op(a)·x = alpha·b, or x·op(a) = alpha·b, in b: a triangle of two triangles and a square, with
// one product between the two halves.
func (p products) Dtrsm(s blas.Side, ul blas.Uplo, ta blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	size := m
	if s == blas.Right {
		size = n
	}
	if size <= few || m == 0 || n == 0 {
		p.Implementation.Dtrsm(s, ul, ta, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	h := halfOf(size)
	first, last, square := a, a[h*lda+h:], a[h*lda:]
	if ul == blas.Upper {
		square = a[h:]
	}
	if down := (ul == blas.Lower) == (ta == blas.NoTrans); down == (s == blas.Left) {
		if s == blas.Left {
			p.Dtrsm(s, ul, ta, d, h, n, alpha, first, lda, b, ldb)
			p.Dgemm(ta, blas.NoTrans, m-h, n, h, -1, square, lda, b, ldb, alpha, b[h*ldb:], ldb)
			p.Dtrsm(s, ul, ta, d, m-h, n, 1, last, lda, b[h*ldb:], ldb)
			return
		}
		p.Dtrsm(s, ul, ta, d, m, h, alpha, first, lda, b, ldb)
		p.Dgemm(blas.NoTrans, ta, m, n-h, h, -1, b, ldb, square, lda, alpha, b[h:], ldb)
		p.Dtrsm(s, ul, ta, d, m, n-h, 1, last, lda, b[h:], ldb)
		return
	}
	if s == blas.Left {
		p.Dtrsm(s, ul, ta, d, m-h, n, alpha, last, lda, b[h*ldb:], ldb)
		p.Dgemm(ta, blas.NoTrans, h, n, m-h, -1, square, lda, b[h*ldb:], ldb, alpha, b, ldb)
		p.Dtrsm(s, ul, ta, d, h, n, 1, first, lda, b, ldb)
		return
	}
	p.Dtrsm(s, ul, ta, d, m, n-h, alpha, last, lda, b[h:], ldb)
	p.Dgemm(blas.NoTrans, ta, m, h, n-h, -1, b[h:], ldb, square, lda, alpha, b, ldb)
	p.Dtrsm(s, ul, ta, d, m, h, 1, first, lda, b, ldb)
}

// Dsyrk computes a triangle of c = alpha·op(a)·op(a)ᵀ + beta·c: two triangles and the square between them.
func (p products) Dsyrk(ul blas.Uplo, ta blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	if n <= few || k == 0 {
		p.Implementation.Dsyrk(ul, ta, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	h := halfOf(n)
	last, other := a[h*lda:], blas.Trans
	if ta != blas.NoTrans {
		last, other = a[h:], blas.NoTrans
	}
	p.Dsyrk(ul, ta, h, k, alpha, a, lda, beta, c, ldc)
	p.Dsyrk(ul, ta, n-h, k, alpha, last, lda, beta, c[h*ldc+h:], ldc)
	if ul == blas.Lower {
		p.Dgemm(ta, other, n-h, h, k, alpha, last, lda, a, lda, beta, c[h*ldc:], ldc)
	} else {
		p.Dgemm(ta, other, h, n-h, k, alpha, a, lda, last, lda, beta, c[h:], ldc)
	}
}
