package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Scorer is a language model: it says how likely each token is.
type Scorer interface {
	nn.Module
	// Losses are the cross-entropies of the targets that follow the inputs, in nats, [B T]; both are integers
	// [B T]. Targets of −100 have 0.
	Losses(inputs, targets tensor.Tensor) tensor.Tensor
}

// A DPO learns to prefer chosen answers to rejected ones, by direct preference optimisation (Rafailov et al.
// 2023). It is a [Model] for [Run] over preferences (data.PreferenceKind), whose batches have the chosen
// answers in their first half and the rejected ones in the second.
//
//	train.Run(ctx, train.DPO{Model: m}, preferences, options)
//
// A pair's reward is Beta times how much likelier than for the reference the chosen answer has become, less
// that of the rejected one; the loss is −ln sigmoid(reward), on average.
type DPO struct {
	Model Scorer
	// Reference is what the model was; nil: the model without its adapters, which costs no memory.
	Reference Scorer
	Beta      float64 // how near the model stays to the reference; 0 means 0.1
	// Kind is "sigmoid" (empty means that), "robust" (Chowdhury et al. 2024), "hinge" (Zhao et al. 2023) or
	// "ipo" (Azar et al. 2023), whose answers count by the token.
	Kind string
	// Smoothing is the share of pairs that are taken to be the wrong way round, below 0.5, for sigmoid
	// (conservative DPO) and robust.
	Smoothing float64
}

// Members lists those of the model.
func (d DPO) Members() []nn.Member { return d.Model.Members() }

// SetTraining tells the model, which is no member.
func (d DPO) SetTraining(on bool) { setTraining(d.Model, on) }

// Counted is the number of pairs: the loss is their mean.
func (d DPO) Counted(b data.Batch) int { return b.Examples() / 2 }

// Loss is the mean over the pairs. Inputs and targets are i64 [2·pairs T]; targets of −100, the prompt for
// example, do not count.
func (d DPO) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	chosen, rejected := d.gains(inputs, targets)
	beta, s := d.beta(), d.Smoothing
	x := chosen.Sub(rejected).Mul(beta)
	switch d.Kind {
	case "ipo":
		return chosen.Sub(rejected).Sub(1 / (2 * beta)).Square().Mean()
	case "hinge":
		return x.Neg().Add(1).Relu().Mean()
	case "robust":
		return x.LogSigmoid().Mul(1 - s).Sub(x.Neg().LogSigmoid().Mul(s)).Mean().Div(2*s - 1)
	}
	loss := x.LogSigmoid().Mul(1 - s)
	if s != 0 {
		loss = loss.Add(x.Neg().LogSigmoid().Mul(s))
	}
	return loss.Mean().Neg()
}

// Rewards are Beta times the gain in likelihood, in nats, of the chosen answers and of the rejected ones, f32
// [pairs] each: a model that has learnt what is preferred gives the chosen ones more.
func (d DPO) Rewards(inputs, targets tensor.Tensor) (chosen, rejected tensor.Tensor) {
	chosen, rejected = d.gains(inputs, targets)
	return chosen.Mul(d.beta()).Detach(), rejected.Mul(d.beta()).Detach()
}

func (d DPO) beta() float64 {
	return cmp.Or(d.Beta, 0.1)
}

// gains are how much likelier answers are than for the reference, in nats, of ipo in nats a token.
func (d DPO) gains(inputs, targets tensor.Tensor) (chosen, rejected tensor.Tensor) {
	if err := d.check(); err != nil {
		panic(&tensor.Error{Op: "train.DPO", Msg: err.Error()})
	}
	checkPairs("train.DPO", inputs, targets)
	return halves(gains(d.Model, d.Reference, inputs, targets, d.Kind == "ipo"))
}

// gains are how much likelier each row is than for the reference, which is the model without its adapters if
// it is nil: f32 [rows], in nats, a token's on average if perToken.
func gains(m, reference Scorer, inputs, targets tensor.Tensor, perToken bool) tensor.Tensor {
	of := func(m Scorer) tensor.Tensor {
		return overTokens(m.Losses(inputs, targets).Cast(dtype.F32), targets, perToken)
	}
	return of(m).Sub(ofReference(m, reference, of))
}

// ofReference is what of makes of the reference, which is the model without its adapters if it is nil. It has
// no gradient.
func ofReference[M comparable](m, reference M, of func(m M) tensor.Tensor) (was tensor.Tensor) {
	ctx := scope.Context()
	if none := *new(M); reference == none {
		ctx, reference = lora.With(ctx), m
	}
	tensor.Within(ctx, func() { was = of(reference).Detach() })
	return was
}

func (d DPO) check() error {
	switch d.Kind {
	case "", "sigmoid", "robust":
	case "ipo", "hinge":
		if d.Smoothing != 0 {
			return fmt.Errorf("got a smoothing of %v for %s, want 0", d.Smoothing, d.Kind)
		}
	default:
		return fmt.Errorf("got kind %q, want sigmoid, robust, hinge or ipo", d.Kind)
	}
	if !(d.Beta >= 0) || math.IsInf(d.Beta, 0) {
		return fmt.Errorf("got beta %v, want a positive number, or 0 for 0.1", d.Beta)
	}
	if !(d.Smoothing >= 0 && d.Smoothing < 0.5) {
		return fmt.Errorf("got a smoothing of %v, want 0 to below 0.5", d.Smoothing)
	}
	if d.Reference != nil {
		return nil
	}
	return hasReference(d.Model)
}

// hasReference says whether the model without its adapters is what it was.
func hasReference(m nn.Module) error {
	list := lora.Of(m)
	if len(list) == 0 {
		return fmt.Errorf("the model has no adapter, and so nothing to be compared with: lora.Inject one, or set Reference")
	}
	for _, a := range list {
		if a.On() && (a.Config.Full || a.Config.Train != "") {
			return fmt.Errorf("the adapter %q trains weights whole, without which the model cannot be computed meanwhile: set Reference", a.Name())
		}
	}
	return nil
}

// An ORPO learns the chosen answers, and to prefer them to the rejected ones, without a reference (Hong, Lee
// and Thorne 2024). It is a [Model] for [Run] over preferences like [DPO]. The loss is the cross-entropy of
// the chosen answers less Beta·ln sigmoid(ln odds of the chosen answer − ln odds of the rejected one), where
// the odds are those of a token's likelihood on average.
type ORPO struct {
	Model Scorer
	Beta  float64 // λ of the paper; 0 means 0.1
	// Prompts makes the tokens of the prompts part of the cross-entropy, as TRL does; otherwise only those
	// that count are, as in the paper.
	Prompts bool
}

// Members lists those of the model.
func (o ORPO) Members() []nn.Member { return o.Model.Members() }

// SetTraining tells the model, which is no member.
func (o ORPO) SetTraining(on bool) { setTraining(o.Model, on) }

// Counted is the number of pairs.
func (o ORPO) Counted(b data.Batch) int { return b.Examples() / 2 }

// Loss is the mean over the pairs, of the cross-entropy over the tokens. Inputs and targets are those of
// [DPO.Loss].
func (o ORPO) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	beta := cmp.Or(o.Beta, 0.1)
	if !(beta > 0) || math.IsInf(beta, 0) {
		panic(&tensor.Error{Op: "train.ORPO", Msg: fmt.Sprintf("got beta %v, want a positive number, or 0 for 0.1", beta)})
	}
	checkPairs("train.ORPO", inputs, targets)
	said := targets
	if o.Prompts {
		said = toTheEnd(inputs, targets)
	}
	losses := o.Model.Losses(inputs, said).Cast(dtype.F32)
	chosen, rejected := halves(overTokens(losses, targets, true))
	odds := chosen.Sub(rejected).Sub(ln1mexp(chosen).Sub(ln1mexp(rejected)))
	learnt, _ := halves(losses)
	counts, _ := halves(said.Ne(data.Ignored).Cast(dtype.F32))
	return learnt.Sum().Div(counts.Sum()).Sub(odds.LogSigmoid().Mean().Mul(beta))
}

// ln1mexp is ln(1 − eˣ) for x ≤ 0, in the form that keeps its digits on each side of −ln 2.
func ln1mexp(x tensor.Tensor) tensor.Tensor {
	const middle = -math.Ln2
	small := x.Lt(middle) // each form gets only what it is for, also in the gradient
	far, near := tensor.Where(small, x, middle), tensor.Where(small, middle, x)
	return tensor.Where(small, far.Exp().Neg().Log1p(), near.Expm1().Neg().Log())
}

// toTheEnd are the targets of all tokens of a row up to the last one that counts: those of the prompt are the
// inputs after them.
func toTheEnd(inputs, targets tensor.Tensor) tensor.Tensor {
	counts := targets.Ne(data.Ignored)
	later := counts.Cast(dtype.I64).Flip(1).CumMax(1).Flip(1).Gt(0)
	next := tensor.Concat([]tensor.Tensor{inputs.Slice(1, 1, inputs.Len(1)), targets.Slice(1, targets.Len(1)-1, targets.Len(1))}, 1)
	return tensor.Where(counts, targets, tensor.Where(later, next, data.Ignored))
}

func checkPairs(op string, inputs, targets tensor.Tensor) {
	if inputs.Rank() != 2 || targets.Rank() != 2 || inputs.Len(0)%2 != 0 {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got inputs %v and targets %v, want [2·pairs T]: chosen answers, then the rejected ones, or of KTO answers, then those to other prompts", inputs.Shape(), targets.Shape())})
	}
}

// overTokens adds up the losses of the targets that count, as logarithms of probabilities.
func overTokens(losses, targets tensor.Tensor, mean bool) tensor.Tensor {
	counts := targets.Ne(data.Ignored)
	sum := tensor.Where(counts, losses, 0).Sum(1).Neg()
	if !mean {
		return sum
	}
	return sum.Div(counts.Cast(dtype.F32).Sum(1).Maximum(1))
}

// halves are the numbers of the chosen answers and of the rejected ones.
func halves(x tensor.Tensor) (chosen, rejected tensor.Tensor) {
	n := x.Len(0) / 2
	return x.Slice(0, 0, n), x.Slice(0, n, 2*n)
}
