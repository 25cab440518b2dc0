package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// An integerProduct is a matrix product of integers, in plain Go; sums wrap around.
type integerProduct struct {
	dtype       dtype.Type
	m, n, batch int
	terms       []gemm.Term
}

// run shares out the rows of all matrices; done is called for each when it is complete, unless it is nil.
func (p *integerProduct) run(workers *pool.Pool, a, b []unsafe.Pointer, c unsafe.Pointer, done func(worker, batch, row, rows, col, cols int)) {
	row := multiplyRow[uint8]
	switch p.dtype {
	case dtype.I32:
		row = multiplyRow[int32]
	case dtype.I64:
		row = multiplyRow[int64]
	}
	workers.Range(p.batch*p.m, 1+4096/max(1, p.n), func(worker, lo, hi int) {
		for i := lo; i < hi && !workers.Stopped(); i++ {
			row(p, workers, i/p.m, i%p.m, a, b, c)
			if done != nil {
				done(worker, i/p.m, i%p.m, 1, 0, p.n)
			}
		}
	})
}

// multiplyRow computes one row of a matrix of the batch, or a part of it when the pool was told to stop.
func multiplyRow[T uint8 | int32 | int64](p *integerProduct, workers *pool.Pool, batch, row int, a, b []unsafe.Pointer, c unsafe.Pointer) {
	const often = 64 // rows of b between two looks whether to stop
	size := int(unsafe.Sizeof(T(0)))
	out := unsafe.Slice((*T)(unsafe.Add(c, (batch*p.m+row)*p.n*size)), p.n)
	clear(out)
	for i := range p.terms {
		t := &p.terms[i]
		x, y := row*t.A.Line+first(t.A, batch), first(t.B, batch)
		for k := range t.K {
			if k%often == 0 && workers.Stopped() {
				return
			}
			f := *(*T)(unsafe.Add(a[i], (x+k*t.A.Step)*size))
			from := y + k*t.B.Step
			if t.B.Line == 1 {
				for j, v := range unsafe.Slice((*T)(unsafe.Add(b[i], from*size)), p.n) {
					out[j] += f * v
				}
				continue
			}
			for j := range out {
				// Never a pointer beyond the matrix: the collector looks at pointers.
				out[j] += f * *(*T)(unsafe.Add(b[i], (from+j*t.B.Line)*size))
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
