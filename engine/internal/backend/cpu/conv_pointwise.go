package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A pointwise computes conv and conv_transpose with windows of one element, in which the images are matrices
// as they lie.
type pointwise struct{ floatProduct }

// wideEnough is the number of elements of a channel from which an image is a matrix that fills a product.
const wideEnough = 128

// newPointwise returns nil for other windows, and for small images.
func newPointwise(c *convolution) convolver {
	if !c.pointwise() || c.y.size() < wideEnough {
		return nil
	}
	p := &problem{m: c.out, n: c.y.size(), batch: c.images * c.groups}
	t := gemm.Term{K: c.in, A: gemm.Operand{Line: c.in, Step: 1}, B: gemm.Operand{Line: 1, Step: p.n}}
	if c.op == ir.ConvTranspose {
		p.m, t.K, t.A.Line, t.A.Step = c.in, c.out, 1, c.in
	}
	for i := range p.batch {
		t.A.Batch = append(t.A.Batch, i%c.groups*p.m*t.K)
		t.B.Batch = append(t.B.Batch, i*t.K*p.n)
	}
	p.terms = []gemm.Term{t}
	return &pointwise{floatProduct{problem: p}}
}

func (p *pointwise) run(l *launch, x, weight, to unsafe.Pointer) {
	none := []unsafe.Pointer{nil}
	a := arguments{a: []unsafe.Pointer{weight}, b: []unsafe.Pointer{x}, scales: none, extra: none, c: to}
	defer a.release()
	p.multiply(l, nil, &a)
}
