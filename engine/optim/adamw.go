package optim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2019). A field that is 0 has its usual
// value, and 1e-30 or less is as good as a true 0: the steps are the same. WeightDecay is usually 0 with LoRA
// and 0.1 in pre-training.
type AdamW struct {
	Beta1       float64 // 0 is 0.9; not negative, and less than 1
	Beta2       float64 // 0 is 0.999; likewise
	Eps         float64 // 0 is 1e-8; not negative
	WeightDecay float64 // of all parameters: p −= rate·WeightDecay·p in each step
	// Bits is how the moments are kept: 32 (0 means that), or 8 for those of parameters of 4096 elements and
	// more, a quarter of the memory (Dettmers et al. 2022).
	Bits int
	// NoMasters steps parameters of f16 and bf16 as they are. Otherwise a copy of them in f32, 4 bytes a
	// number, is stepped, which loses no small step to rounding.
	NoMasters bool
}

func (a AdamW) withDefaults() AdamW {
	a.Beta1, a.Beta2, a.Eps = cmp.Or(a.Beta1, 0.9), cmp.Or(a.Beta2, 0.999), cmp.Or(a.Eps, 1e-8)
	return a
}

// New returns an AdamW optimizer. One step is one launch, however many parameters there are, and one more for
// each kind of them: those that are too small for 8 bits, and those that have masters beside those that have
// none.
func (a AdamW) New(params []nn.Param) Optimizer {
	a = a.withDefaults()
	must(checked("optim.AdamW", 1, setting{"Beta1", a.Beta1}, setting{"Beta2", a.Beta2}),
		checked("optim.AdamW", unlimited, setting{"Eps", a.Eps}, setting{"WeightDecay", a.WeightDecay}))
	if !slices.Contains([]int{0, 8, 32}, a.Bits) {
		panic(&tensor.Error{Op: "optim.AdamW", Msg: fmt.Sprintf("got Bits %d, want 8 or 32", a.Bits)})
	}
	return training("optim.AdamW", params, func(trained []nn.Param) method {
		return byKind("optim.AdamW", trained, a.kindOf, a.of)
	})
}

// Of returns an AdamW optimizer for tensors.
func (a AdamW) Of(weights ...tensor.Tensor) Optimizer { return a.New(named(weights)) }

// kindOf says how what belongs to a parameter is kept.
func (a AdamW) kindOf(p nn.Param) kind {
	w := p.Value()
	return kind{
		eight:  a.Bits == 8 && w.Size() >= smallest && computed(w) == dtype.F32,
		master: !a.NoMasters && mastered(p),
	}
}

// of returns an optimizer for parameters of one kind.
func (a AdamW) of(k kind, params []nn.Param) method {
	o := &adamW{AdamW: a, kept: kept{params: params}}
	if k.master {
		o.w = masters(params)
	}
	if k.eight {
		o.eights()
	} else {
		o.m.Codes, o.v.Codes = zeros(params), zeros(params)
		o.memories = []memory{{"m", o.m.Codes}, {"v", o.v.Codes}}
	}
	o.memories = withMasters(o.memories, o.w)
	return o
}

// String says the settings.
func (a AdamW) String() string {
	a = a.withDefaults()
	bits := ""
	if a.Bits == 8 {
		bits = " in 8 bits"
	}
	return fmt.Sprintf("AdamW%s β %g %g, ε %g, weight decay %g%s", bits, shown(a.Beta1), shown(a.Beta2), shown(a.Eps), a.WeightDecay, masterless(a.NoMasters))
}

// shown is a setting, or 0 where it is as good as that.
func shown(x float64) float64 {
	if x > 0 && x <= 1e-30 {
		return 0
	}
	return x
}

type adamW struct {
	AdamW
	kept
	m, v tensor.Eight    // moments, which without scales are numbers
	w    []tensor.Tensor // masters, of all parameters or of none
}

func (a *adamW) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.AdamW", a.params, grads, rate)
	values := nn.Values(a.params)
	own := slices.Clone(grads) // in the types of the parameters
	for i, w := range values {
		own[i] = grads[i].Cast(w.DType())
	}
	memory := slices.Concat(a.m.Codes, a.m.Scales, a.v.Codes, a.v.Scales, a.w)
	u := &Update{old: slices.Concat(values, memory), private: len(memory), step: &a.step, rate: constant(rate)}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		step := tensor.AdamWStep{
			At:    func() (float64, int) { return u.rate(a.step), a.step + 1 },
			Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, WeightDecay: a.WeightDecay, Scale: scale, Guard: guard, InPlace: inPlace,
		}
		var p, w []tensor.Tensor
		var m, v tensor.Eight
		switch eight := a.m.Scales != nil; {
		case eight && a.w == nil:
			p, m, v = tensor.AdamW8(values, own, a.m, a.v, step)
		case eight:
			p, m, v, w = tensor.AdamW8Masters(values, own, a.m, a.v, a.w, step)
		case a.w == nil:
			p, m.Codes, v.Codes = tensor.AdamW(values, own, a.m.Codes, a.v.Codes, step)
		default:
			p, m.Codes, v.Codes, w = tensor.AdamWMasters(values, own, a.m.Codes, a.v.Codes, a.w, step)
		}
		return slices.Concat(p, m.Codes, m.Scales, v.Codes, v.Scales, w)
	}
	return u
}
