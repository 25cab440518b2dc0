package optim

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// smallest is the number of elements of a parameter from which on its moments are kept in 8 bits, as in
// bitsandbytes: small ones, norms and biases, gain nothing by it.
const smallest = 4096

// eights begins moments in 8 bits (Dettmers et al. 2022). The first moment is kept in a dynamic map with a
// sign. Of the second one the root is kept, in the map without: that is what the step divides by, and its
// numbers span half as many decades, so that few of them become 0. They have names of their own, so that
// those of another AdamW do not fit.
func (a *adamW) eights() {
	for _, p := range a.params {
		addZeros(&a.m, 127, p.Value())
		addZeros(&a.v, 0, p.Value())
	}
	a.memories = []memory{{"m8", a.m.Codes}, {"m8.scale", a.m.Scales}, {"root8", a.v.Codes}, {"root8.scale", a.v.Scales}}
}

// addZeros adds as many numbers as w has, all 0, which have the code zero, on w's device.
func addZeros(e *tensor.Eight, zero float64, w tensor.Tensor) {
	blocks := (w.Size() + ir.DynamicBlock - 1) / ir.DynamicBlock
	e.Codes = append(e.Codes, tensor.Full(zero, blocks, ir.DynamicBlock).Cast(dtype.U8).To(w.Device()).Eval())
	e.Scales = append(e.Scales, tensor.Zeros(blocks, 1).To(w.Device()).Eval())
}
