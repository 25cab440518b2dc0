package train

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// step makes one step, or returns an error and leaves everything as it was.
func (t *trainer) step(ctx context.Context) error {
	batches := make([]data.Batch, t.o.Accumulate)
	for i := range batches {
		b, err := t.data.Batch(t.taken + i)
		if err != nil {
			return err
		}
		batches[i] = b
	}
	random := t.random.State()
	var failure error
	err := tensor.Try(func() {
		var parts [][]tensor.Tensor
		if parts, failure = t.arguments(batches); failure != nil {
			return
		}
		if failure = t.learn(parts); failure != nil {
			t.random.SetState(random)
			failure.(*NotFinite).Tensor = t.firstBad(parts)
		}
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		t.random.SetState(random)
		return err
	}
	t.taken += len(batches)
	for _, b := range batches {
		t.history.Tokens += b.Tokens()
		t.history.Examples += b.Examples()
	}
	return ctx.Err()
}

// arguments are the tensors of each batch of a step, on the model's device: inputs, targets, the starts of
// documents if rows have several, and in a step of several batches the batch's weight. The weights make the
// mean of the batches' losses the mean over all targets of the step: batches whose targets are masked or
// padded have different numbers of them.
func (t *trainer) arguments(batches []data.Batch) ([][]tensor.Tensor, error) {
	weights, err := weightsOf(batches)
	if err != nil {
		return nil, err
	}
	parts := make([][]tensor.Tensor, len(batches))
	for i, b := range batches {
		if err := packs(t.model, b); err != nil {
			return nil, err
		}
		parts[i] = tensorsOf(b, t.on)
		if len(batches) > 1 {
			parts[i] = append(parts[i], tensor.FromAs(dtype.F32, weights[i]).To(t.on))
		}
		if len(parts[i]) != len(parts[0]) {
			return nil, errors.New("train: a batch has rows of several documents and another one of the same step has not")
		}
	}
	t.width = len(parts[0])
	return parts, nil
}

// weightsOf are the shares of the batches in all targets that count, times the number of batches.
func weightsOf(batches []data.Batch) ([]float64, error) {
	weights, sum := make([]float64, len(batches)), 0.0
	if len(batches) == 1 {
		return []float64{1}, nil
	}
	for i, b := range batches {
		weights[i] = float64(b.Counted())
		if sum += weights[i]; weights[i] == 0 {
			return nil, errors.New("train: a batch has no target that counts")
		}
	}
	for i := range weights {
		weights[i] *= float64(len(batches)) / sum
	}
	return weights, nil
}

// A stepper is the two halves of a step, compiled or not. Their arguments begin with a batch's (see
// arguments).
type stepper struct {
	// part also gets the sum of the gradients so far, if there are some, and returns the loss and the new
	// sum.
	part func(args ...tensor.Tensor) []tensor.Tensor
	// last gets in addition the losses of the earlier parts, before the gradients. It makes the step if that
	// is sound, and returns all losses, the norm of the gradient and a number that is finite if they are.
	last func(args ...tensor.Tensor) []tensor.Tensor
}

func (t *trainer) newStepper() stepper {
	s := stepper{part: t.part, last: t.last}
	if t.o.Compile {
		s = stepper{tensor.Compile(t.part), tensor.Compile(t.last)}
	}
	return s
}

// learn computes loss, gradients and update of the batches, and commits the update if all is finite.
// Otherwise the error is a *NotFinite that does not yet say where it began.
func (t *trainer) learn(parts [][]tensor.Tensor) error {
	rate, k := t.o.LR.At(t.history.Steps()), len(parts)
	var losses, grads []tensor.Tensor
	for _, batch := range parts[:k-1] {
		made := t.stepper.part(slices.Concat(batch, grads)...)
		for i := range made {
			made[i] = made[i].Detach() // lets go of the graph
		}
		tensor.Eval(made...)
		losses, grads = append(losses, made[0]), made[1:]
	}
	made := t.stepper.last(slices.Concat(parts[k-1], losses, grads)...)
	mean := 0.0
	for _, l := range made[:k] {
		mean += l.Item() / float64(k)
	}
	norm, sound := made[k].Item(), made[k+1].Item()
	if !finite(sound) {
		return &NotFinite{Step: t.history.Steps() + 1, Loss: mean}
	}
	t.history.add(mean, rate, norm)
	return nil
}

func (t *trainer) part(args ...tensor.Tensor) []tensor.Tensor {
	batch, sum := args[:t.width], args[t.width:]
	if t.o.Accumulate > 1 {
		batch = batch[:t.width-1]
	}
	loss := lossOf(t.model, batch)
	if t.o.Accumulate > 1 {
		loss = loss.Mul(args[t.width-1])
	}
	grads := tensor.Grad(loss, nn.Values(t.params)...)
	for i, before := range sum {
		grads[i] = before.Add(grads[i])
	}
	return append([]tensor.Tensor{loss}, grads...)
}

func (t *trainer) last(args ...tensor.Tensor) []tensor.Tensor {
	k := t.o.Accumulate
	batch, before, sum := args[:t.width], args[t.width:t.width+k-1], args[t.width+k-1:]
	made := t.part(slices.Concat(batch, sum)...)
	losses, grads := slices.Concat(before, made[:1]), made[1:]
	scale, norm := scaleOf(grads, t.o.Clip, float64(k))
	sound := soundness(losses, norm)
	results := append(losses, norm, sound)
	rate := func(int) float64 { return t.o.LR.At(t.history.Steps()) }
	t.optimizer.Update(grads, 0, scale).At(rate).CommitIf(sound, results...)
	return results
}

// soundness is a number that is finite if losses and norm are.
func soundness(losses []tensor.Tensor, norm tensor.Tensor) tensor.Tensor {
	sum := norm.Detach()
	for _, l := range losses {
		sum = sum.Add(l.Detach().Cast(dtype.F32).Mul(0x1p-16)) // so that large losses have a finite sum
	}
	return sum
}

// scaleOf returns the norm of the mean gradient, and the factor that makes the sum over k batches their mean,
// clipped.
func scaleOf(grads []tensor.Tensor, limit, k float64) (scale, norm tensor.Tensor) {
	if limit <= 0 {
		limit = math.Inf(1)
	}
	scale, norm = optim.ClipScale(grads, limit*k)
	return scale.Div(k), norm.Div(k)
}

// firstBad looks for the tensor in which NaN or Inf came up first: in the forward passes, or else in the
// gradients.
func (t *trainer) firstBad(parts [][]tensor.Tensor) string {
	var grads []tensor.Tensor
	for _, batch := range parts {
		made := t.part(slices.Concat(batch, grads)...)
		if bad := tensor.FirstNonFinite(made[0]); bad != "" {
			return bad
		}
		grads = made[1:]
	}
	for i, g := range grads {
		if bad := tensor.FirstNonFinite(g); bad != "" {
			return "in the gradient of " + t.params[i].Name + ": " + bad
		}
	}
	return "the sum of squares of all gradients"
}
