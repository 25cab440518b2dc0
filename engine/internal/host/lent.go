package host

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// mostLent is how many matrices of a batch a library is called for one by one.
const mostLent = 512

// Lends returns the routine for so many matrices, if the library of the operands' device computes it.
func (h Code) Lends(batch []int, in []Tensor) (r ir.Routine, ok bool) {
	on, ok := access.Node(in[0], h.Op).Dev.(*backend.Device).Backend().(backend.Lender)
	if !ok || h.Lent == nil || in[0].DType() != dtype.F32 || slices.ContainsFunc(in, func(t Tensor) bool { return t.Size() == 0 }) {
		return r, false
	}
	r = h.Lent.Routine
	r.Batches, r.Vectors = ir.Size(batch), true
	return r, (r.Batches <= mostLent || r.Together()) && on.Lends(r)
}

// routine makes the node of the library's routine.
func (h Code) routine(r *ir.Routine, batch []int, in []Tensor) []Tensor {
	if h.Lent.Before != nil {
		in = h.Lent.Before(in)
	}
	src := make([]*ir.Node, len(in))
	for i, t := range in {
		src[i] = access.Node(t, h.Op)
	}
	outs := make([]ir.Type, len(h.Lent.Outs))
	for i, o := range h.Lent.Outs {
		outs[i] = ir.Type{DType: o.DType, Shape: slices.Concat(batch, o.Shape)}
	}
	op, fail := h.Op, h.Lent.Fail
	k := &ir.Kernel{Name: op, Function: fmt.Sprintf("%s by a library %#v", op, *r), Outs: outs, Flops: -1, Routine: r, Gradient: h.never,
		Fail: func(i, code int) error { return fmt.Errorf("%s: %w%s", op, fail(code), place(i, batch)) }}
	k.SetKey()
	return h.results(k, src, func(_ int, y Tensor) Tensor { return y })
}
