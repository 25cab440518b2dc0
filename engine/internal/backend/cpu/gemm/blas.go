package gemm

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// A BLAS computes c = a·b + beta·c for matrices whose rows lie lda, ldb and ldc elements apart; a and b may
// be transposed, and c is not read if beta is 0. The system provides it, with threads of its own, and nothing
// can stop it before it is done.
type BLAS func(transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, beta float32, c unsafe.Pointer, ldc int)

var blas BLAS

// UseBLAS lets f compute the products of float32 that have more than a few rows; nil gives them back to this
// package. A process calls it before it makes products; those that it has made must not be run any more.
func UseBLAS(f BLAS) { blas = f }

// blasWork is how many multiply-adds a BLAS is given at a time, as it cannot be stopped: some 10 ms for a
// slow one.
const blasWork = 1 << 30

// plainOperand says how a BLAS gets an operand of lines and steps: the distance of its rows, and whether
// these are the steps. The rows of a matrix are the lines of a left operand, the steps of a right one.
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

// fitsBLAS says whether there is a BLAS that can compute the product.
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

// runBLAS computes the product a stretch of rows at a time: all terms, and then what is done with the result.
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
