package train

import (
	"context"
	"math"

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
	random := tensor.GlobalRNG().State()
	var failure error
	err := tensor.Try(func() { failure = t.learn(batches) })
	if err == nil {
		err = failure
	}
	if err != nil {
		tensor.GlobalRNG().SetState(random)
		return err
	}
	t.taken += len(batches)
	for _, b := range batches {
		t.history.Tokens += b.Tokens()
	}
	return ctx.Err()
}

// learn computes loss, gradients and update of the batches, and commits the update if all is finite.
func (t *trainer) learn(batches []data.Batch) error {
	values := nn.Values(t.params)
	rate, k := t.o.LR.At(t.history.Steps()), float64(len(batches))
	var grads []tensor.Tensor
	losses := make([]tensor.Tensor, len(batches))
	for i, b := range batches {
		losses[i] = t.model.Loss(b.Inputs, b.Targets)
		g := tensor.Grad(losses[i], values...)
		if i > 0 {
			for j := range g {
				g[j] = grads[j].Add(g[j])
			}
		}
		if grads = g; i+1 < len(batches) {
			grads = settle(losses[i], grads)
		}
	}
	scale, norm := scaleOf(grads, t.o.Clip, k)
	made := t.optimizer.Update(grads, rate, scale).CommitIf(soundness(losses, norm), append(losses, norm)...)
	mean := 0.0
	for _, l := range losses {
		mean += l.Item() / k
	}
	if !made {
		return &NotFinite{Step: t.history.Steps() + 1, Loss: mean, Tensor: t.firstBad(losses, grads)}
	}
	t.history.add(mean, rate, norm.Item())
	return nil
}

// soundness is a number that is finite if losses and norm are.
func soundness(losses []tensor.Tensor, norm tensor.Tensor) tensor.Tensor {
	sum := norm.Detach()
	for _, l := range losses {
		sum = sum.Add(l.Detach().Cast(dtype.F32).Mul(0x1p-16)) // so that large losses have a finite sum
	}
	return sum
}

// settle evaluates a batch's part of the sum of gradients and lets go of the graph that it came from.
func settle(loss tensor.Tensor, grads []tensor.Tensor) []tensor.Tensor {
	for j := range grads {
		grads[j] = grads[j].Detach()
	}
	tensor.Eval(append([]tensor.Tensor{loss}, grads...)...)
	return grads
}

// scaleOf returns the norm of the mean gradient, and the factor that makes the sum over k batches their mean, clipped.
func scaleOf(grads []tensor.Tensor, limit, k float64) (scale, norm tensor.Tensor) {
	if limit <= 0 {
		limit = math.Inf(1)
	}
	scale, norm = optim.ClipScale(grads, limit*k)
	return scale.Div(k), norm.Div(k)
}

// firstBad looks for the tensor in which NaN or Inf came up first: in the forward passes, or else in the gradients.
func (t *trainer) firstBad(losses, grads []tensor.Tensor) string {
	for _, l := range losses {
		if bad := tensor.FirstNonFinite(l); bad != "" {
			return bad
		}
	}
	for i, g := range grads {
		if bad := tensor.FirstNonFinite(g); bad != "" {
			return "in the gradient of " + t.params[i].Name + ": " + bad
		}
	}
	return "the sum of squares of all gradients"
}
