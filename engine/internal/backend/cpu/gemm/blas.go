package gemm

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A BLAS computes c = a·b + beta·c for matrices with rows lda, ldb and ldc elements apart. a and b may be
// transposed; c is not read if beta is 0. The system provides the function. It uses its own threads and
// cannot be interrupted.
type BLAS func(transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, beta float32, c unsafe.Pointer, ldc int)

var blas BLAS

// UseBLAS makes f compute the float32 products that have more than a few rows; nil turns that off. A
// process calls it before it makes products. Products made before must not be run afterwards.
func UseBLAS(f BLAS) { blas = f }

// blasWork is the number of multiply-adds in one call of a BLAS, which cannot be interrupted: some 10 ms
// for a slow one.
const blasWork = 1 << 30

// plainOperand returns the layout of an operand in the terms of a BLAS: the distance of its rows, and
// whether the rows are the steps. Other rows are the lines.
func plainOperand(o *Operand, lines, steps int) (ld int, rowsAreSteps, ok bool) {
	switch {
	case o.Elem != micro.F32:
		return 0, false, false
	case o.Step == 1 && o.Line >= max(1, steps) && o.Line <= math.MaxInt32:
		return o.Line, false, true
	case o.Line == 1 && o.Step >= max(1, lines) && o.Step <= math.MaxInt32:
		return o.Step, true, true
	}
	return 0, false, false
}

// fitsBLAS reports whether the process has a BLAS and the BLAS can compute the product.
func (p *Product) fitsBLAS() bool {
	if blas == nil || max(p.M, p.N) > math.MaxInt32 {
		return false
	}
	for i := range p.Terms {
		t := &p.Terms[i]
		_, _, left := plainOperand(&t.A, p.M, t.K)
		_, _, right := plainOperand(&t.B, p.N, t.K)
		if t.Codes != nil || !left || !right || t.K > math.MaxInt32 {
			return false
		}
	}
	return true
}

// runBLAS computes the product some rows at a time: first all terms, then Done of the result.
func (p *Product) runBLAS(workers *pool.Pool, c *Call) {
	rows := max(1, blasWork/(p.N*p.steps()))
	for batch := range p.Batch {
		for row := 0; row < p.M; row += rows {
			n, beta := min(rows, p.M-row), float32(0)
			for i := range p.Terms {
				t := &p.Terms[i]
				if t.K == 0 {
					continue
				}
				lda, transA, _ := plainOperand(&t.A, p.M, t.K)
				ldb, rowsAreSteps, _ := plainOperand(&t.B, p.N, t.K)
				a, b := t.A.source(c.A[i], batch).At(row, 0), t.B.source(c.B[i], batch)
				blas(transA, !rowsAreSteps, n, p.N, t.K, a.Base, lda, b.Base, ldb, beta, unsafe.Pointer(c.c(batch, row, 0)), c.LDC)
				beta = 1
			}
			if workers.Stopped() {
				return
			}
			if c.Done != nil {
				workers.Range(n, 1+4096/p.N, func(worker, lo, hi int) { c.done(worker, batch, row+lo, hi-lo, 0, p.N) })
			}
		}
	}
}
