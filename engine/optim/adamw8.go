package optim

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// smallest is the number of elements of a parameter from which on its moments are kept in 8 bits, as in
// bitsandbytes: small ones, norms and biases, gain nothing by it.
const smallest = 4096

// adamW8 is AdamW with moments in 8 bits (Dettmers et al. 2022). The first moment is kept in a dynamic map
// with a sign. Of the second one the root is kept, in the map without: that is what the step divides by, and
// its numbers span half as many decades, so that few of them become 0.
type adamW8 struct {
	AdamW
	params []nn.Param
	m, v   tensor.Eight
	w      []tensor.Tensor // masters, of all parameters or of none
	step   int
}

func newAdamW8(a AdamW, params []nn.Param, masters []tensor.Tensor) *adamW8 {
	o := &adamW8{AdamW: a, params: params, w: masters}
	for _, p := range params {
		addZeros(&o.m, 127, p.Value())
		addZeros(&o.v, 0, p.Value())
	}
	return o
}

// addZeros adds as many numbers as w has, all 0, which have the code zero, on w's device.
func addZeros(e *tensor.Eight, zero float64, w tensor.Tensor) {
	blocks := (w.Size() + ir.DynamicBlock - 1) / ir.DynamicBlock
	e.Codes = append(e.Codes, tensor.Full(zero, blocks, ir.DynamicBlock).Cast(dtype.U8).To(w.Device()).Eval())
	e.Scales = append(e.Scales, tensor.Zeros(blocks, 1).To(w.Device()).Eval())
}

func (o *adamW8) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.AdamW", o.params, grads, rate)
	values := nn.Values(o.params)
	own := likeParams(grads, values)
	memory := slices.Concat(o.m.Codes, o.m.Scales, o.v.Codes, o.v.Scales, o.w)
	u := &Update{old: slices.Concat(values, memory), private: len(memory), step: &o.step, rate: constant(rate)}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		step := tensor.AdamWStep{
			At:    func() (float64, int) { return u.rate(o.step), o.step + 1 },
			Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay, Scale: scale, Guard: guard, InPlace: inPlace,
		}
		var p, w []tensor.Tensor
		var m, v tensor.Eight
		if o.w == nil {
			p, m, v = tensor.AdamW8(values, own, o.m, o.v, step)
		} else {
			p, m, v, w = tensor.AdamW8Masters(values, own, o.m, o.v, o.w, step)
		}
		return slices.Concat(p, m.Codes, m.Scales, v.Codes, v.Scales, w)
	}
	return u
}

// memories have moments in 8 bits under names of their own, so that those of another AdamW do not fit.
func (o *adamW8) memories() []memory {
	return withMasters([]memory{{"m8", o.m.Codes}, {"m8.scale", o.m.Scales}, {"root8", o.v.Codes}, {"root8.scale", o.v.Scales}}, o.w)
}

func (o *adamW8) State() State { return stateOf(o.step, o.params, o.memories()) }

func (o *adamW8) SetState(s State) error { return restore(s, o.params, o.memories(), &o.step) }
