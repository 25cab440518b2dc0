package optim

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	m, v   []eight
	small  *adamW // the others; nil: none
	kept   []int  // params of small
	step   int
}

var signed, unsigned = dynamicMap{true}, dynamicMap{false}

func newAdamW8(a AdamW, params []nn.Param) *adamW8 {
	o := &adamW8{AdamW: a, params: params}
	var rest []nn.Param
	for i, p := range params {
		if w := p.Value(); w.Size() >= smallest && computed(w) == dtype.F32 {
			o.large = append(o.large, i)
			o.m, o.v = append(o.m, newEight(signed, w.Size(), w)), append(o.v, newEight(unsigned, w.Size(), w))
		} else {
			o.kept, rest = append(o.kept, i), append(rest, p)
		}
	}
	if rest != nil {
		o.small = newAdamW(a, rest, &o.step)
	}
	return o
}

func (o *adamW8) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.AdamW", o.params, grads, rate)
	u := &Update{step: &o.step, rate: constant(rate)}
	for at, i := range o.large {
		u.old = append(u.old, o.params[i].Value(), o.m[at].codes, o.m[at].scales, o.v[at].codes, o.v[at].scales)
	}
	var small *Update
	if o.small != nil {
		list := make([]tensor.Tensor, len(o.kept))
		for at, i := range o.kept {
			list[at] = grads[i]
		}
		small = o.small.Update(list, rate, scale)
		u.old, u.private = append(u.old, small.old...), small.private
	}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		var next []tensor.Tensor
		at := o.at(u)
		for n, i := range o.large {
			next = append(next, o.next(n, grads[i], scale, at)...)
		}
		if !guard.IsNone() {
			for i := range next {
				next[i] = tensor.Where(guard.IsFinite(), next[i], u.old[i].Detach())
			}
		}
		if small != nil {
			small.rate = u.rate
			next = append(next, small.make(inPlace, guard)...)
		}
		return next
	}
	return u
}

// numbers of a step, which plans do not depend on.
type numbers struct{ decay, rate, first, second tensor.Tensor }

// at makes the factors of the parameters and of the step, and those that correct the moments for their start
// at 0.
func (o *adamW8) at(u *Update) numbers {
	varying := func(f func(rate float64, step float64) float64) tensor.Tensor {
		return tensor.Varying(func() float64 { return f(u.rate(o.step), float64(o.step+1)) })
	}
	return numbers{
		varying(func(rate, _ float64) float64 { return 1 - rate*o.WeightDecay }),
		varying(func(rate, _ float64) float64 { return rate }),
		varying(func(_, step float64) float64 { return 1 / (1 - math.Pow(o.Beta1, step)) }),
		varying(func(_, step float64) float64 { return 1 / math.Sqrt(1-math.Pow(o.Beta2, step)) }),
	}
}

// next lists the new values of a parameter and of its moments' codes and scales.
func (o *adamW8) next(n int, grad, scale tensor.Tensor, at numbers) []tensor.Tensor {
	w := o.params[o.large[n]].Value().Detach()
	g := blocked(grad.Cast(dtype.F32))
	if !scale.IsNone() {
		g = g.Mul(scale)
	}
	on := w.Device()
	m := o.m[n].numbers(signed).Mul(o.Beta1).Add(g.Mul(1 - o.Beta1))
	root := o.v[n].numbers(unsigned).Square().Mul(o.Beta2).Add(g.Square().Mul(1 - o.Beta2)).Sqrt()
	step := m.Mul(at.first.To(on)).Div(root.Mul(at.second.To(on)).Add(o.Eps))
	p := blocked(w.Cast(dtype.F32)).Mul(at.decay.To(on)).Sub(step.Mul(at.rate.To(on)))
	first, second := packed(signed, m), packed(unsigned, root)
	return []tensor.Tensor{unblocked(p, w.Shape()).Cast(w.DType()), first.codes, first.scales, second.codes, second.scales}
}

// memories have moments in 8 bits under names of their own, so that those of another AdamW do not fit.
func (o *adamW8) memories() []memory {
	list := []memory{{name: "m8"}, {name: "m8.scale"}, {name: "root8"}, {name: "root8.scale"}}
	for i := range list {
		list[i].tensors = make([]tensor.Tensor, len(o.params))
	}
	for n, i := range o.large {
		for k, t := range []tensor.Tensor{o.m[n].codes, o.m[n].scales, o.v[n].codes, o.v[n].scales} {
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
