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
	large  []int // params in 8 bits
	m, v   tensor.Eight
	small  *adamW // the others; nil: none
	kept   []int  // params of small
	step   int
}

func newAdamW8(a AdamW, params []nn.Param) *adamW8 {
	o := &adamW8{AdamW: a, params: params}
	var rest []nn.Param
	for i, p := range params {
		if w := p.Value(); w.Size() >= smallest && computed(w) == dtype.F32 {
			o.large = append(o.large, i)
			addZeros(&o.m, 127, w)
			addZeros(&o.v, 0, w)
		} else {
			o.kept, rest = append(o.kept, i), append(rest, p)
		}
	}
	if rest != nil {
		o.small = newAdamW(a, rest, &o.step)
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
	u := &Update{step: &o.step, rate: constant(rate)}
	var parts []*Update
	if o.large != nil {
		parts = append(parts, o.updateLarge(chosen(grads, o.large), u, scale))
	}
	if o.small != nil {
		small := o.small.Update(chosen(grads, o.kept), rate, scale)
		small.rate = func(step int) float64 { return u.rate(step) }
		parts = append(parts, small)
	}
	u.old = sorted(parts, func(p *Update) []tensor.Tensor { return p.old })
	for _, p := range parts {
		u.private += p.private
	}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		return sorted(parts, func(p *Update) []tensor.Tensor { return p.make(inPlace, guard) })
	}
	return u
}

// updateLarge is the part of u that steps the parameters in 8 bits.
func (o *adamW8) updateLarge(grads []tensor.Tensor, u *Update, scale tensor.Tensor) *Update {
	values := chosen(nn.Values(o.params), o.large)
	for i, w := range values {
		grads[i] = grads[i].Cast(w.DType())
	}
	memory := slices.Concat(o.m.Codes, o.m.Scales, o.v.Codes, o.v.Scales)
	return &Update{old: slices.Concat(values, memory), private: len(memory), make: func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		p, m, v := tensor.AdamW8(values, grads, o.m, o.v, tensor.AdamWStep{
			At:    func() (float64, int) { return u.rate(o.step), o.step + 1 },
			Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay, Scale: scale, Guard: guard, InPlace: inPlace,
		})
		return slices.Concat(p, m.Codes, m.Scales, v.Codes, v.Scales)
	}}
}

// chosen lists the tensors at these places.
func chosen(list []tensor.Tensor, at []int) []tensor.Tensor {
	some := make([]tensor.Tensor, len(at))
	for i, n := range at {
		some[i] = list[n]
	}
	return some
}

// memories have moments in 8 bits under names of their own, so that those of another AdamW do not fit.
func (o *adamW8) memories() []memory {
	list := []memory{{name: "m8"}, {name: "m8.scale"}, {name: "root8"}, {name: "root8.scale"}}
	for i := range list {
		list[i].tensors = make([]tensor.Tensor, len(o.params))
	}
	for n, i := range o.large {
		for k, t := range []tensor.Tensor{o.m.Codes[n], o.m.Scales[n], o.v.Codes[n], o.v.Scales[n]} {
			list[k].tensors[i] = t
		}
	}
	if o.small == nil {
		return list
	}
	for _, inner := range o.small.memories() {
		outer := memory{name: inner.name, tensors: make([]tensor.Tensor, len(o.params))}
		for n, i := range o.kept {
			outer.tensors[i] = inner.tensors[n]
		}
		list = append(list, outer)
	}
	return list
}

func (o *adamW8) State() State { return stateOf(o.step, o.params, o.memories()) }

func (o *adamW8) SetState(s State) error {
	if err := restore(s, o.params, o.memories()); err != nil {
		return err
	}
	o.step = s.Step
	return nil
}
