package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// A plainProduct is a matrix product in plain Go, for types that package gemm does not have. Sums of integers wrap around.
type plainProduct struct {
	dtype       dtype.Type
	m, n, batch int
	terms       []gemm.Term
}

// A productCall is where operands and result are.
type productCall struct {
	pool *pool.Pool
	a, b []unsafe.Pointer
	c    unsafe.Pointer
}

// run shares out the rows of all matrices; done is called for each when it is complete, unless it is nil.
func (p *plainProduct) run(c *productCall, done func(worker int, part gemm.Part)) {
	row := loopsOf[p.dtype].multiply
	c.pool.Range(p.batch*p.m, 1+4096/max(1, p.n), func(worker, lo, hi int) {
		for i := lo; i < hi && !c.pool.Stopped(); i++ {
			row(p, c, i/p.m, i%p.m)
			if done != nil {
				done(worker, gemm.Part{Batch: i / p.m, Row: i % p.m, Rows: 1, Cols: p.n})
			}
		}
	})
}

// multiplyRow computes one row of a matrix of the batch, or a part of it when the pool was told to stop.
func multiplyRow[T tile.Number](p *plainProduct, c *productCall, batch, row int) {
	const often = 64 // rows of b between two looks whether to stop
	size := int(unsafe.Sizeof(T(0)))
	out := unsafe.Slice((*T)(unsafe.Add(c.c, (batch*p.m+row)*p.n*size)), p.n)
	clear(out)
	for i := range p.terms {
		t := &p.terms[i]
		x, y := row*t.A.Line+first(t.A, batch), first(t.B, batch)
		for k := range t.K {
			if k%often == 0 && c.pool.Stopped() {
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
