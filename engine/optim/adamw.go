package optim

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// AdamW is Adam with decoupled weight decay (Loshchilov and Hutter 2019). A field that is 0 has its usual
// value; WeightDecay is usually 0 with LoRA and 0.1 in pre-training.
type AdamW struct {
	Beta1       float64 // 0.9; at least 0 and less than 1
	Beta2       float64 // 0.999; likewise
	Eps         float64 // 1e-8; not negative
	WeightDecay float64 // of all parameters: p −= rate·WeightDecay·p in each step
	// Bits is how the moments are kept: 32 (0 means that), or 8 for those of parameters of 4096 elements and
	// more, a quarter of the memory (Dettmers et al. 2022).
	Bits int
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

// New returns an AdamW optimizer. One step is one launch, however many parameters there are; with 8 bits it
// is two if some parameters are too small for that.
func (a AdamW) New(params []nn.Param) Optimizer {
	a = a.withDefaults()
	must(checked("optim.AdamW", 1, setting{"Beta1", a.Beta1}, setting{"Beta2", a.Beta2}),
		checked("optim.AdamW", unlimited, setting{"Eps", a.Eps}, setting{"WeightDecay", a.WeightDecay}))
	switch a.Bits {
	case 8:
		return newAdamW8(a, params)
	case 0, 32:
		return newAdamW(a, params, new(int))
	}
	panic(&tensor.Error{Op: "optim.AdamW", Msg: fmt.Sprintf("got Bits %d, want 8 or 32", a.Bits)})
}

// newAdamW makes an optimizer with moments in f32, which counts its steps in step.
func newAdamW(a AdamW, params []nn.Param, step *int) *adamW {
	return &adamW{AdamW: a, params: params, m: zeros(params), v: zeros(params), step: step}
}

// String says the settings.
func (a AdamW) String() string {
	a = a.withDefaults()
	bits := ""
	if a.Bits == 8 {
		bits = " in 8 bits"
	}
	return fmt.Sprintf("AdamW%s β %g %g, ε %g, weight decay %g", bits, a.Beta1, a.Beta2, a.Eps, a.WeightDecay)
}

type adamW struct {
	AdamW
	params []nn.Param
	m, v   []tensor.Tensor
	step   *int
}

func (a *adamW) Update(grads []tensor.Tensor, rate float64, scale tensor.Tensor) *Update {
	checkStep("optim.AdamW", a.params, grads, rate)
	values := nn.Values(a.params)
	u := &Update{old: slices.Concat(values, a.m, a.v), private: 2 * len(values), step: a.step, rate: constant(rate)}
	u.make = func(inPlace bool, guard tensor.Tensor) []tensor.Tensor {
		p, m, v := tensor.AdamW(values, grads, a.m, a.v, tensor.AdamWStep{
			At:    func() (float64, int) { return u.rate(*a.step), *a.step + 1 },
			Beta1: a.Beta1, Beta2: a.Beta2, Eps: a.Eps, WeightDecay: a.WeightDecay, Scale: scale, Guard: guard, InPlace: inPlace,
		})
		return slices.Concat(p, m, v)
	}
	return u
}

func (a *adamW) memories() []memory { return []memory{{"m", a.m}, {"v", a.v}} }

func (a *adamW) State() State { return stateOf(*a.step, a.params, a.memories()) }

func (a *adamW) SetState(s State) error {
	if err := restore(s, a.params, a.memories()); err != nil {
		return err
	}
	*a.step = s.Step
	return nil
}
