package optim

import (
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
	if a.Beta1 == 0 {
		a.Beta1 = 0.9
	}
	if a.Beta2 == 0 {
		a.Beta2 = 0.999
	}
	if a.Eps == 0 {
		a.Eps = 1e-8
	}
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
	var w []tensor.Tensor
	if k.master {
		w = masters(params)
	}
	if k.eight {
		return newAdamW8(a, params, w)
	}
	return &adamW{AdamW: a, params: params, m: zeros(params), v: zeros(params), w: w}
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
	params []nn.Param
	m, v   []tensor.Tensor
	w      []tensor.Tensor // masters, of all parameters or of none
	step   int
}

func (a *adamW) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.AdamW", a.params, grads, rate)
	values := nn.Values(a.params)
	own := likeParams(grads, values)
	memory := slices.Concat(a.m, a.v, a.w)
	u := &Update{old: slices.Concat(values, memory), private: len(memory), step: &a.step, rate: constant(rate)}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		step := tensor.AdamWStep{
			At:    func() (float64, int) { return u.rate(a.step), a.step + 1 },
			Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, WeightDecay: a.WeightDecay, Scale: scale, Guard: guard, InPlace: inPlace,
		}
		if a.w == nil {
			p, m, v := tensor.AdamW(values, own, a.m, a.v, step)
			return slices.Concat(p, m, v)
		}
		p, m, v, w := tensor.AdamWMasters(values, own, a.m, a.v, a.w, step)
		return slices.Concat(p, m, v, w)
	}
	return u
}

// likeParams returns the gradients in the types of the parameters.
func likeParams(grads, values []tensor.Tensor) []tensor.Tensor {
	own := make([]tensor.Tensor, len(grads))
	for i, w := range values {
		own[i] = grads[i].Cast(w.DType())
	}
	return own
}

func (a *adamW) memories() []memory { return withMasters([]memory{{"m", a.m}, {"v", a.v}}, a.w) }

func (a *adamW) State() State { return stateOf(a.step, a.params, a.memories()) }

func (a *adamW) SetState(s State) error { return restore(s, a.params, a.memories(), &a.step) }
