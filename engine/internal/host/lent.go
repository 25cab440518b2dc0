package host

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// mostLent is how many matrices of a batch a library is called for, one by one.
const mostLent = 512

// lent is the routine of the operands' device for them, or nil where it has none.
func (h Code) lent(batch []int, in []Tensor) *ir.Routine {
	on, ok := access.Node(in[0], h.Op).Dev.(*backend.Device).Backend().(backend.Lender)
	if count := ir.Size(batch); ok && h.Lent != nil && in[0].DType() == dtype.F32 && count <= mostLent {
		r := h.Lent.Routine
		if r.Batches, r.Vectors = count, true; on.Lends(r) {
			return &r
		}
	}
	return nil
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
	k := &ir.Kernel{Name: op, Function: fmt.Sprint(op, " by a library ", *r), Outs: outs, Flops: -1, Routine: r, Gradient: h.never,
		Fail: func(i, code int) error { return fmt.Errorf("%s: %w%s", op, fail(code), place(i, batch)) }}
	k.SetKey()
	return h.results(k, src, func(_ int, y Tensor) Tensor { return y })
}
