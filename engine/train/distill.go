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

// A Predictor is a language model: it scores the next tokens.
type Predictor interface {
	nn.Module
	// Logits are the scores of the tokens that may follow each of the inputs, integers [B T], as [B T
	// vocabulary].
	Logits(inputs tensor.Tensor) tensor.Tensor
}

// A Distill learns what a teacher would say, not only which token comes next (Hinton et al. 2015; Agarwal et
// al. 2024). It is a [Model] for [Run] over the same data as the model alone:
//
//	train.LoRA(ctx, train.Distill{Model: small, Teacher: large}, d, options)
//
// Both models have one vocabulary. The loss is the mean over the targets that count, of the divergence of the
// student's probabilities from the teacher's, and as far as Hard says of the cross-entropy of the target.
type Distill struct {
	Model   Predictor
	Teacher Predictor // nil: the model without its adapters
	// Beta says which divergence: 0 is KL(teacher‖student), which covers all that the teacher may say, 1 is
	// KL(student‖teacher), which says only what the teacher would, and between them it is the generalised
	// Jensen-Shannon divergence, whose mixture has this share of the teacher.
	Beta        float64
	Temperature float64 // divides the scores of both; 0 means 1
	Hard        float64 // share of the cross-entropy in the loss, from 0 to 1
}

// Members lists those of the student.
func (d Distill) Members() []nn.Member { return d.Model.Members() }

// SetTraining tells the student, which is no member.
func (d Distill) SetTraining(on bool) { setTraining(d.Model, on) }

// Loss is the mean over the targets that count. Inputs and targets are i64 [B T].
func (d Distill) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	if err := d.check(); err != nil {
		panic(&tensor.Error{Op: "train.Distill", Msg: err.Error()})
	}
	student := d.Model.Logits(inputs)
	teacher := ofReference(d.Model, d.Teacher, func(m Predictor) tensor.Tensor { return m.Logits(inputs) })
	if a, b := student.Len(-1), teacher.Len(-1); a != b {
		panic(&tensor.Error{Op: "train.Distill", Msg: fmt.Sprintf("got a student with %d tokens and a teacher with %d, want one vocabulary", a, b)})
	}
	counts := targets.Ne(data.Ignored)
	loss := tensor.Where(counts, d.divergences(student, teacher), 0).Sum().Div(counts.Cast(dtype.F32).Sum().Maximum(1))
	if d.Hard == 0 {
		return loss
	}
	return loss.Mul(1 - d.Hard).Add(tensor.CrossEntropy(student, targets, tensor.CrossEntropyOptions{}).Mul(d.Hard))
}

// divergences are those of each token, f32 [B T].
func (d Distill) divergences(student, teacher tensor.Tensor) tensor.Tensor {
	of := func(scores tensor.Tensor) tensor.Tensor {
		return scores.Cast(dtype.F32).Div(cmp.Or(d.Temperature, 1)).LogSoftmax(-1)
	}
	s, t := of(student), of(teacher)
	kl := func(p, q tensor.Tensor) tensor.Tensor { return p.Exp().Mul(p.Sub(q)).Sum(-1) }
	switch d.Beta {
	case 0:
		return kl(t, s)
	case 1:
		return kl(s, t)
	}
	both := s.Add(math.Log1p(-d.Beta)).LogAddExp(t.Add(math.Log(d.Beta)))
	return kl(t, both).Mul(d.Beta).Add(kl(s, both).Mul(1 - d.Beta))
}

func (d Distill) check() error {
	switch {
	case !(d.Beta >= 0 && d.Beta <= 1):
		return fmt.Errorf("got beta %v, want 0 to 1", d.Beta)
	case !(d.Hard >= 0 && d.Hard <= 1):
		return fmt.Errorf("got a share of %v for the cross-entropy, want 0 to 1", d.Hard)
	case !(d.Temperature >= 0) || math.IsInf(d.Temperature, 0):
		return fmt.Errorf("got temperature %v, want a positive number, or 0 for 1", d.Temperature)
	case d.Teacher == nil:
		return hasReference(d.Model)
	}
	return nil
}
