package optim

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// SGD is gradient descent with momentum, in PyTorch's form: d = g + WeightDecay·p, b = Momentum·b + d, p −=
// rate·b; with Nesterov p −= rate·(d + Momentum·b).
type SGD struct {
	Momentum    float64 // at least 0 and less than 1
	Nesterov    bool
	WeightDecay float64 // not negative
	NoMasters   bool    // as of AdamW
}

// New returns an SGD optimizer.
func (s SGD) New(params []nn.Param) Optimizer {
	must(checked("optim.SGD", 1, setting{"Momentum", s.Momentum}), checked("optim.SGD", unlimited, setting{"WeightDecay", s.WeightDecay}))
	return training("optim.SGD", params, func(trained []nn.Param) method {
		o := &sgd{SGD: s, kept: kept{params: trained}}
		if s.Momentum != 0 {
			o.b = zeros(trained)
			o.memories = []memory{{"b", o.b}}
		}
		if !s.NoMasters {
			o.w = masters(trained)
		}
		o.memories = withMasters(o.memories, o.w)
		return o
	})
}

// Of returns an SGD optimizer for tensors.
func (s SGD) Of(weights ...tensor.Tensor) Optimizer { return s.New(named(weights)) }

// String says the settings.
func (s SGD) String() string {
	nesterov := ""
	if s.Nesterov {
		nesterov = " (Nesterov)"
	}
	return fmt.Sprintf("SGD momentum %g%s, weight decay %g%s", s.Momentum, nesterov, s.WeightDecay, masterless(s.NoMasters))
}

type sgd struct {
	SGD
	kept
	b []tensor.Tensor // none without momentum
	w []tensor.Tensor // masters of those parameters that have some; nil: none
}

func (s *sgd) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.SGD", s.params, grads, rate)
	u := &Update{step: &s.step, rate: constant(rate)}
	for i, param := range s.params {
		if s.Momentum != 0 {
			u.old = append(u.old, s.b[i])
		}
		if s.mastered(i) {
			u.old = append(u.old, s.w[i])
		}
		u.old = append(u.old, param.Value())
	}
	u.make = func(_ bool, guard tensor.Tensor) []tensor.Tensor {
		next := s.next(grads, tensor.Varying(func() float64 { return u.rate(s.step) }), scale)
		if !guard.IsNone() {
			for i, old := range u.old {
				next[i] = tensor.Where(guard.IsFinite(), next[i], old.Detach())
			}
		}
		return next
	}
	return u
}

// mastered says whether parameter i has a master.
func (s *sgd) mastered(i int) bool { return s.w != nil && !s.w[i].IsNone() }

// next lists the new buffer and the new master, if there are some, and the new value of each parameter.
func (s *sgd) next(grads []tensor.Tensor, rate, scale tensor.Tensor) []tensor.Tensor {
	var list []tensor.Tensor
	for i, param := range s.params {
		old := param.Value().Detach()
		p := old.Cast(computed(old))
		if s.mastered(i) {
			p = tensor.Where(s.w[i].Cast(old.DType()).Eq(old), s.w[i], p)
		}
		d := grads[i].Cast(p.DType())
		rate := rate.To(p.Device())
		if !scale.IsNone() {
			d = d.Mul(scale)
		}
		if s.WeightDecay != 0 {
			d = d.Add(p.Mul(s.WeightDecay))
		}
		if s.Momentum != 0 {
			b := s.b[i].Mul(s.Momentum).Add(d)
			list = append(list, b)
			if s.Nesterov {
				d = d.Add(b.Mul(s.Momentum))
			} else {
				d = b
			}
		}
		p = p.Sub(d.Mul(rate))
		if s.mastered(i) {
			list = append(list, p)
		}
		list = append(list, p.Cast(old.DType()))
	}
	return list
}
