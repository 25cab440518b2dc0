package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// A multiplier computes the product of a phase. There is one for each kind of numbers: floatProduct,
// doubleProduct, plainProduct.
type multiplier interface {
	// multiply computes the product for a launch, and hands each part of the result to a.done when it is
	// complete. It ends early, with an undefined result, when the launch's pool was told to stop.
	multiply(l *launch, scratch []byte, a *arguments)
}

// newMultiplier returns the multiplier for products of t. It reads the problem only when it runs.
func newMultiplier(p *problem, t dtype.Type) multiplier {
	switch tile.Register(t) {
	case dtype.F32:
		return &floatProduct{problem: p}
	case dtype.F64:
		return &doubleProduct{problem: p}
	}
	return &plainProduct{problem: p, row: loopsOf[t].multiply}
}

// arguments say where a product's operands and its result are during a launch. The phase keeps them, so that
// a launch allocates none.
type arguments struct {
	a, b          []unsafe.Pointer // of each term; of a quantised weight b is its codes
	scales, extra []unsafe.Pointer // of a quantised weight; nil otherwise
	c             unsafe.Pointer   // nil if only done sees the product
	done          func(worker int, part gemm.Part)
}

func (a *arguments) bind(l *launch, scratch []byte, p *problem, raw place) {
	a.a, a.b, a.scales, a.extra = a.a[:0], a.b[:0], a.scales[:0], a.extra[:0]
	for i := range p.left {
		a.a = append(a.a, p.left[i].at(l, scratch))
		a.b = append(a.b, p.right[i].at(l, scratch))
		a.scales = append(a.scales, p.scales[i].at(l, scratch))
		a.extra = append(a.extra, p.extra[i].at(l, scratch))
	}
	a.c = raw.at(l, scratch)
}

// release forgets the launch's memory, so that a kernel keeps nothing alive.
func (a *arguments) release() {
	clear(a.a)
	clear(a.b)
	clear(a.scales)
	clear(a.extra)
	a.c = nil
}

// A floatProduct is computed in float32 by package gemm.
type floatProduct struct {
	problem *problem
	product *gemm.Product // nil before the first launch, which says how many threads there are
	passing bool          // the product hands its results on and keeps none
	call    gemm.Call
}

func (f *floatProduct) multiply(l *launch, _ []byte, a *arguments) {
	p, c := f.problem, &f.call
	if f.product == nil && a.c == nil {
		f.product = gemm.NewPassing(p.m, p.n, p.batch, p.terms, l.pool.Threads())
		f.passing = f.product != nil
	}
	if f.product == nil {
		f.product = gemm.New(p.m, p.n, p.batch, p.terms, l.pool.Threads())
	}
	to := a.c
	if to == nil && !f.passing {
		to = unsafe.Pointer(unsafe.SliceData(l.scratch.floats(p.size())))
	}
	c.A, c.B, c.Scales, c.Extra, c.Done = a.a, a.b, a.scales, a.extra, a.done
	c.C, c.LDC, c.BatchC = (*float32)(to), p.n, p.m*p.n
	c.Scratch = l.scratch.floats(f.product.ScratchLen())
	defer func() { c.C, c.Scratch = nil, nil }()
	f.product.Run(l.pool, c)
}

// A doubleProduct is computed in float64. Quantised weights are written out first.
type doubleProduct struct {
	problem *problem
	product *gemm.Double // nil before the first launch
}

func (d *doubleProduct) multiply(l *launch, scratch []byte, a *arguments) {
	p := d.problem
	for _, w := range p.weights {
		writeDoubles(l, w.quant, bindQuant(l, w.quant, w.parts), w.to.at(l, scratch))
	}
	if d.product == nil {
		d.product = gemm.NewDouble(p.m, p.n, p.batch, p.terms, l.pool.Threads())
	}
	d.product.Run(l.pool, &gemm.DoubleCall{
		A: a.a, B: a.b, C: a.c, Done: a.done,
		Scratch: elements[float64](l.scratch.bytes(8 * d.product.ScratchLen(l.pool.Threads()))),
	})
}
