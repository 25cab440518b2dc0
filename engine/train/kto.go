package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A KTO learns from answers of which each is wanted or not, by Kahneman-Tversky optimisation (Ethayarajh et
// al. 2024). It is a [Model] for [Run] over such answers (data.UnpairedKind):
//
//	train.LoRA(ctx, train.KTO{Model: m}, answers.Padded(8), options)
//
// An answer's reward is Beta times how much likelier it has become than for the reference, z that of answers
// to other prompts, on average over the batch and at least 0. The loss of a wanted answer is
// Desirable·(1 − sigmoid(reward − z)), of another one Undesirable·(1 − sigmoid(z − reward)).
type KTO struct {
	Model Scorer
	// Reference is what the model was; nil: the model without its adapters, which costs no memory.
	Reference Scorer
	Beta      float64 // how near the model stays to the reference; 0 means 0.1
	// Desirable and Undesirable weigh the two kinds of answers, of which there may be more of one; 0 means 1.
	Desirable, Undesirable float64
}

// Members lists those of the model.
func (k KTO) Members() []nn.Member { return k.Model.Members() }

// SetTraining tells the model, which is no member.
func (k KTO) SetTraining(on bool) { setTraining(k.Model, on) }

// Counted is the number of answers.
func (k KTO) Counted(b data.Batch) int { return b.Examples() / 2 }

// Loss is the mean over the answers. Inputs and targets are i64 [2·answers T] as data.Sequences.Padded makes
// them: the answers, where those not wanted have data.Unwanted added to their targets, and the same prompts
// with answers to others.
func (k KTO) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if err := k.check(); err != nil {
		panic(&tensor.Error{Op: "train.KTO", Msg: err.Error()})
	}
	checkPairs("train.KTO", inputs, targets)
	marked := targets.Ge(data.Unwanted)
	targets = tensor.Where(marked, targets.Sub(data.Unwanted), targets)
	ids, others := halves(inputs)
	said, saidToOthers := halves(targets)
	z := gains(k.Model, k.Reference, others, saidToOthers, false).Mean().Detach().Relu()
	unwanted, _ := halves(marked.Cast(dtype.F32).Max(1))
	sign := unwanted.Mul(-2).Add(1)
	weight := unwanted.Mul(cmp.Or(k.Undesirable, 1) - cmp.Or(k.Desirable, 1)).Add(cmp.Or(k.Desirable, 1))
	reward := gains(k.Model, k.Reference, ids, said, false)
	return reward.Sub(z).Mul(sign).Mul(-cmp.Or(k.Beta, 0.1)).Sigmoid().Mul(weight).Mean()
}

func (k KTO) check() error {
	for name, x := range map[string]float64{"beta": k.Beta, "desirable weight": k.Desirable, "undesirable weight": k.Undesirable} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return fmt.Errorf("got %s %v, want a positive number, or 0 for the usual", name, x)
		}
	}
	if k.Reference != nil {
		return nil
	}
	return hasReference(k.Model)
}
