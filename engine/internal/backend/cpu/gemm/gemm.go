// Package gemm multiplies float32 matrices.
//
// The method is Goto's. Both operands are copied in blocks into panels, which a micro-kernel reads from
// start to end. The blocks have the size of the caches. K is cut into pieces of [depth]. All workers
// together pack the operand with fewer lines. Then they divide the lines of the other operand, and each
// packs its lines right before it uses them: so they are read from memory once, and stay in the
// second-level cache of a core. Packing widens f16 and bf16 operands. Only packing reads operands, so any
// strides are legal. If the processor has faster instructions for bf16 (a matrix unit, AMX; or VDPBF16PS),
// products of two bf16 operands use those without widening; tiles can be loaded from unpacked rows.
//
// A product with few rows packs no right operand: it reads it once, at the speed of memory. Results that
// only an epilogue reads are completed in memory of the worker and handed on; see [NewPassing].
//
// The products of an element are added in the order of k within pieces of fixed length. So a result does
// not depend on the number of threads, the blocks or the micro-kernel. The exception are instructions for
// bf16, which add two products at a time.
//
// Reading order: gemm.go, layout.go, block.go, few.go, quant.go, choose.go, panels.go (for
// attention), blas.go (the system's products, if they are wanted).
package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// depth is the length of the pieces of K: 512 steps of a panel of 64 columns are 128 KiB. It is equal on
// every machine, because it decides the order of additions.
const depth = 512

// An Operand describes the layout of a matrix, or of a batch of them, in memory.
type Operand struct {
	Elem micro.Elem
	// Line is the distance between rows of a left operand, columns of a right one; Step is the distance along
	// the inner dimension; both in elements.
	Line, Step int
	// Batch holds the offset of each matrix of a batch, in elements; nil stands for one matrix at 0.
	Batch []int
}

// A Term is one product of a sum.
type Term struct {
	K    int
	A, B Operand
	// Codes, if not nil, describes a quantised weight as the right operand; then B is not used.
	Codes *Codes
}

// A Product is c[M N] = Σ a·b over its terms, for each matrix of a batch. It is immutable.
type Product struct {
	M, N, Batch int
	Terms       []Term

	layout     layout
	transposed bool // the result is written transposed
	passing    bool // results are handed to Done and not kept
}

// New returns a product for a pool with that many threads.
func New(m, n, batch int, terms []Term, threads int) *Product {
	p := &Product{M: m, N: n, Batch: batch, Terms: terms}
	p.layout = p.arrange(threads)
	return p
}

// NewPassing returns a product whose results are not kept: Call.Done gets each part while it is in the
// cache, and Call.C is not used. It returns nil if results have to be kept because their sums take several
// passes.
func NewPassing(m, n, batch int, terms []Term, threads int) *Product {
	p := &Product{M: m, N: n, Batch: batch, Terms: terms, passing: true}
	if p.steps() == 0 {
		return nil
	}
	p.layout = p.arrange(threads)
	if p.layout.blas || !p.layout.few && len(p.layout.stages) != 1 {
		return nil
	}
	return p
}

// A Call is one evaluation of a product.
type Call struct {
	A, B []unsafe.Pointer // of each term; of a quantised weight B is its codes
	// Scales and Extra belong to the terms with quantised weights; they are nil for other terms.
	Scales, Extra []unsafe.Pointer
	// C is the address of the results: M rows of N columns, rows LDC elements apart, matrices BatchC
	// elements apart. A product that only passes results on does not use it.
	C           *float32
	LDC, BatchC int
	// Done, if not nil, is called once for each complete part of the result, by the worker that has just
	// written it.
	Done    func(worker int, part Part)
	Scratch []float32 // ScratchLen elements, aligned to 64 bytes

	inputs []micro.QuantInput // prepared left operands of terms with quantised weights, for few rows

	kept kept
}

// kept holds what a Call that runs again would otherwise allocate in each run. The product and the number
// of threads must be the same.
type kept struct {
	product    *Product
	threads    int
	passes     bool // whether there is a Done
	blocks     *blockLoop
	transposed *Call
	spreads    []func(worker, lo, hi int)
	columns    func(worker, chunk int)
	arrived    []uint32 // parts that are computed, of each range of columns
}

// A Part is rows [Row, Row+Rows) and columns [Col, Col+Cols) of a matrix of the batch. C is their address;
// rows are LDC elements apart. If the product only passes results on, the memory is used again after Done.
type Part struct {
	Batch, Row, Rows, Col, Cols int
	C                           *float32
	LDC                         int
}

// done hands on a part of the result.
func (c *Call) done(worker, batch, row, rows, col, cols int) {
	c.Done(worker, Part{batch, row, rows, col, cols, c.c(batch, row, col), c.LDC})
}

// c returns the address of an element of the result.
func (c *Call) c(batch, row, col int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(c.C), 4*(batch*c.BatchC+row*c.LDC+col)))
}

// source returns one matrix of an operand.
func (o *Operand) source(base unsafe.Pointer, batch int) micro.Source {
	s := o.lies()
	s.Base = base
	if o.Batch != nil {
		s.Base = unsafe.Add(base, o.Batch[batch]*o.Elem.Size())
	}
	return s
}

// lies returns the layout of the matrices without an address.
func (o *Operand) lies() micro.Source { return micro.Source{Elem: o.Elem, Line: o.Line, Step: o.Step} }

// Run computes the product. It ends early, with an undefined result, when the pool was told to stop.
func (p *Product) Run(workers *pool.Pool, c *Call) {
	if k := &c.kept; k.product != p || k.threads != workers.Threads() || k.passes != (c.Done != nil) {
		*k = kept{product: p, threads: workers.Threads(), passes: c.Done != nil}
	}
	switch {
	case p.M == 0 || p.N == 0 || p.Batch == 0:
	case p.steps() == 0:
		p.zero(workers, c)
	case p.layout.blas:
		p.runBLAS(workers, c)
	case p.layout.transposed != nil:
		p.runTransposed(workers, c)
	case p.layout.few:
		p.runFew(workers, c)
	case p.layout.byBatch:
		p.runByBatch(workers, c)
	default:
		p.runBlocks(workers, c)
	}
}

// steps is the length of all inner dimensions together.
func (p *Product) steps() int {
	n := 0
	for i := range p.Terms {
		n += p.Terms[i].K
	}
	return n
}

// zero stores the empty sum.
func (p *Product) zero(workers *pool.Pool, c *Call) {
	workers.Range(p.Batch*p.M, 1+4096/p.N, func(worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			clear(unsafe.Slice(c.c(i/p.M, i%p.M, 0), p.N))
			if c.Done != nil {
				c.done(worker, i/p.M, i%p.M, 1, 0, p.N)
			}
		}
	})
}
