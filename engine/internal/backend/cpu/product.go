package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// A plainProduct is a matrix product in plain Go, for types that package gemm does not have. Sums of integers
// wrap around.
type plainProduct struct {
	problem *problem
	row     func(p *problem, l *launch, a *arguments, batch, row int)
}

// multiply shares out the rows of all matrices.
func (p *plainProduct) multiply(l *launch, _ []byte, a *arguments) {
	l.pool.Range(p.problem.batch*p.problem.m, 1+4096/max(1, p.problem.n), func(worker, lo, hi int) {
		for i := lo; i < hi && !l.pool.Stopped(); i++ {
			batch, row := i/p.problem.m, i%p.problem.m
			p.row(p.problem, l, a, batch, row)
			if a.done != nil {
				a.done(worker, gemm.Part{Batch: batch, Row: row, Rows: 1, Cols: p.problem.n})
			}
		}
	})
}

// multiplyRow computes one row of a matrix of the batch, or a part of it when the pool was told to stop.
func multiplyRow[T tile.Number](p *problem, l *launch, c *arguments, batch, row int) {
	const often = 64 // rows of b between two looks whether to stop
	size := int(unsafe.Sizeof(T(0)))
	out := unsafe.Slice((*T)(unsafe.Add(c.c, (batch*p.m+row)*p.n*size)), p.n)
	clear(out)
	for i := range p.terms {
		t := &p.terms[i]
		x, y := row*t.A.Line+first(t.A, batch), first(t.B, batch)
		for k := range t.K {
			if k%often == 0 && l.pool.Stopped() {
				return
			}
			f := *(*T)(unsafe.Add(c.a[i], (x+k*t.A.Step)*size))
			from := y + k*t.B.Step
			if t.B.Line == 1 {
				for j, v := range unsafe.Slice((*T)(unsafe.Add(c.b[i], from*size)), p.n) {
					out[j] += f * v
				}
				continue
			}
			for j := range out {
				// Never a pointer beyond the matrix: the collector looks at pointers.
				out[j] += f * *(*T)(unsafe.Add(c.b[i], (from+j*t.B.Line)*size))
			}
		}
	}
}

// first is the offset of a matrix of the batch, in elements.
func first(o gemm.Operand, batch int) int {
	if o.Batch == nil {
		return 0
	}
	return o.Batch[batch]
}
