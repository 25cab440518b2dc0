package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Few is the number of rows up to which the right operand is not packed: reading it once is what the product costs.
// Its sums run over all of K, so they may round differently from those of a product with more rows.
const Few = 8

// fewCols is how many columns a worker takes at a time. With the rows of the result and eight rows of b they fit the
// first-level cache.
const fewCols = 256

// few says whether the product has few rows and right operands that can be read as they lie.
func (p *Product) few() bool {
	for i := range p.Terms {
		if b := &p.Terms[i].B; b.Line != 1 && b.Step != 1 {
			return false
		}
	}
	return p.M <= Few
}

// fewScratch is room for the left operands as float32 rows.
func (p *Product) fewScratch() int {
	n := 0
	for i := range p.Terms {
		if t := &p.Terms[i]; !t.A.plain() {
			n += roundUp(p.Batch*p.M*t.K, 16)
		}
	}
	return n
}

// plain says whether rows can be read as float32 with contiguous steps.
func (o *Operand) plain() bool { return o.Elem == asm.F32 && o.Step == 1 }

// runFew shares out the columns of the result.
func (p *Product) runFew(workers *pool.Pool, c *Call) {
	p.spread(workers, c)
	per := (p.N + fewCols - 1) / fewCols
	chunks := p.Batch * per
	work := func(worker, chunk int) {
		batch, col := chunk/per, chunk%per*fewCols
		cols := min(fewCols, p.N-col)
		p.columns(c, batch, col, cols)
		if c.Done != nil {
			c.Done(worker, batch, 0, p.M, col, cols)
		}
	}
	if p.Batch*p.M*p.N*p.steps() < 1<<14 { // sooner done than shared out
		for chunk := range chunks {
			work(0, chunk)
		}
		return
	}
	workers.For(chunks, work)
}

// spread writes left operands that are not plain into the scratch memory, row after row.
func (p *Product) spread(workers *pool.Pool, c *Call) {
	at := 0
	for i := range p.Terms {
		t := &p.Terms[i]
		if t.A.plain() || t.K == 0 {
			continue
		}
		dst, k := c.Scratch[at:], t.K
		for row := range p.Batch * p.M {
			asm.Spread(dst[row*k:], t.A.source(c.A[i], row/p.M).At(row%p.M, 0), k)
		}
		at += roundUp(p.Batch*p.M*k, 16)
	}
}

// columns computes a range of columns of one matrix.
func (p *Product) columns(c *Call, batch, col, cols int) {
	for i := range p.M {
		clear(unsafe.Slice(c.c(batch, i, col), cols))
	}
	out := c.c(batch, 0, col)
	at := 0
	for i := range p.Terms {
		t := &p.Terms[i]
		if t.K == 0 {
			continue
		}
		var a *float32
		lda := t.A.Line
		if t.A.plain() {
			a = (*float32)(t.A.source(c.A[i], batch).Base)
		} else {
			a, lda = unsafe.SliceData(c.Scratch[at+batch*p.M*t.K:]), t.K
			at += roundUp(p.Batch*p.M*t.K, 16)
		}
		b := t.B.source(c.B[i], batch).At(col, 0)
		if b.Line == 1 {
			for s := 0; s < t.K; s += asm.FewSteps {
				x := (*float32)(unsafe.Add(unsafe.Pointer(a), 4*s))
				asm.Axpy(p.M, cols, min(asm.FewSteps, t.K-s), x, lda, b.At(0, s), out, c.LDC)
			}
		} else {
			asm.Dot(p.M, cols, t.K, a, lda, b, out, c.LDC)
		}
	}
}
