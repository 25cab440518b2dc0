package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
)

// An ending is the work after a product. It runs on each part of the result as soon as that is complete,
// while the part is in the cache. There are two: program, and rounding, which does less and is faster.
type ending interface {
	// bind points it at the memory of a launch, and release forgets that.
	bind(l *launch, scratch []byte)
	release()
	// part is called by the worker that has just completed a part of the result.
	part(worker int, r gemm.Part)
}

// A program is the elementwise instructions after a product.
type program struct {
	m, n   int // of a matrix of the batch
	states perWorker
	given  []place // the product, nowhere if it is not kept, and results of earlier phases
	outs   []place
}

func (p *program) bind(l *launch, scratch []byte) {
	p.states.bind(l)
	for worker := range p.states.all {
		s := p.states.at(worker)
		for i, at := range p.given {
			s.SetGiven(i, at.at(l, scratch), 0)
		}
		for i, at := range p.outs {
			s.SetOut(i, at.at(l, scratch), 0)
		}
	}
}

func (p *program) release() { p.states.release() }

func (p *program) part(worker int, r gemm.Part) {
	s, kept := p.states.at(worker), p.given[0] != nowhere
	at := (r.Batch*p.m+r.Row)*p.n + r.Col
	if kept && r.Cols == p.n {
		s.Run(at, r.Rows*r.Cols)
		return
	}
	c := unsafe.Pointer(r.C)
	for i := range r.Rows {
		if !kept {
			s.SetGiven(0, unsafe.Add(c, 4*i*r.LDC), at+i*p.n)
		}
		s.Run(at+i*p.n, r.Cols)
	}
}

// A rounding only stores the product as numbers of fewer bits. A program could do that, too, but takes longer
// for a short row.
type rounding struct {
	m, n int // of a matrix of the batch
	to   place
	base unsafe.Pointer // during a launch
}

func (n *rounding) bind(l *launch, scratch []byte) { n.base = n.to.at(l, scratch) }

func (n *rounding) release() { n.base = nil }

func (n *rounding) part(_ int, r gemm.Part) {
	size := n.to.dtype.Size()
	to := unsafe.Add(n.base, ((r.Batch*n.m+r.Row)*n.n+r.Col)*size)
	for i := range r.Rows {
		narrowTo(n.to.dtype, unsafe.Add(to, i*n.n*size), unsafe.Add(unsafe.Pointer(r.C), 4*i*r.LDC), r.Cols)
	}
}
