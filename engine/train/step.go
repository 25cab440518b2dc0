package train

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// A launched is a step that the device was asked for, and of which the host does not know yet what became.
// What it holds is what was before the step, for the case that it was refused.
type launched struct {
	batches []data.Batch
	parts   [][]tensor.Tensor // their tensors: see arguments
	random  tensor.RNGState
	taken   int
	rate    float64
	limit   float64       // of the loss: see Options.Spikes
	numbers tensor.Tensor // losses of the batches, norm, soundness and whether it is a spike: [batches + 3]
	pending *optim.Pending
}

// steps is the number of steps that the device was asked for.
func (t *trainer) steps() int { return t.history.Steps() + len(t.flight) }

// step asks the device for one step, and then reads the numbers of the step before, with which the device has
// been done, or nearly so: between two steps the device does not wait for the host. If the step before was
// refused, so is this one, because its guard is made of the guard before. After an error everything is as it
// was before the step that failed.
func (t *trainer) step(ctx context.Context) error {
	l := launched{batches: make([]data.Batch, t.o.Accumulate), random: t.random.State(), taken: t.taken}
	for i := range l.batches {
		b, err := batchOf(ctx, t.data, t.taken+i)
		if err != nil {
			return cmp.Or(t.settle(ctx), err)
		}
		l.batches[i] = b
	}
	var wrong error
	failed := tensor.Try(func() {
		defer unwound(ctx, &wrong)
		if l.parts, wrong = t.arguments(l.batches); wrong == nil {
			t.launch(&l)
		}
	})
	if err := cmp.Or(failed, wrong); err != nil {
		t.random.SetState(l.random)
		return cmp.Or(t.settle(ctx), err)
	}
	t.flight, t.taken = append(t.flight, l), t.taken+len(l.batches)
	if len(t.flight) > 1 {
		if err := t.land(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// batchOf is a batch of the data, which may be the code of a cell that is stopped meanwhile.
func batchOf(ctx context.Context, d data.Source, n int) (b data.Batch, err error) {
	defer unwound(ctx, &err)
	return d.Batch(n)
}

// unwound is deferred around the caller's code, such as the data, a loss or a metric. A session stops code of
// cells by unwinding it: that ends the code here, like any other interruption, and Run returns what there is.
// All other panics go on.
func unwound(ctx context.Context, err *error) {
	if ctx.Err() == nil {
		return
	}
	switch p := recover().(type) {
	case nil:
	case runtime.Error, *tensor.Error:
		panic(p)
	default:
		*err = context.Cause(ctx)
	}
}

// settle reads the numbers of all steps that the device was asked for. Evaluations, checkpoints and the end
// of a run come after it.
func (t *trainer) settle(ctx context.Context) error {
	for len(t.flight) > 0 {
		if err := t.land(ctx); err != nil {
			return err
		}
	}
	return nil
}

// land reads the numbers of the oldest step under way. If it was refused or failed, it and those after it
// were not made. If ctx ends meanwhile, all of them stay under way.
func (t *trainer) land(ctx context.Context) error {
	l, k := t.flight[0], t.o.Accumulate
	var read []float64
	err := tensor.Try(func() { read = l.numbers.Float64s() })
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err == nil {
		mean := 0.0
		for _, loss := range read[:k] {
			mean += loss / float64(k)
		}
		if norm, sound := read[k], read[k+1]; finite(sound) {
			t.flight = t.flight[1:]
			l.pending.Done()
			t.history.add(mean, l.rate, norm)
			for _, b := range l.batches {
				if places := b.Tokens(); places > 0 {
					t.history.Tokens += b.Counted()
					t.history.Places += places
				}
				t.history.Examples += b.Examples()
			}
			t.logs.step()
			if read[k+2] != 0 {
				return t.spiked(l)
			}
			return nil
		}
		err = &NotFinite{Step: t.history.Steps() + 1, Loss: mean}
	}
	t.undo()
	t.taken = l.taken
	t.random.SetState(l.random)
	if bad, ok := err.(*NotFinite); ok {
		failed := tensor.Try(func() { bad.Tensor = t.firstBad(l.parts) })
		t.random.SetState(l.random)
		if failed != nil {
			return failed
		}
	}
	return err
}

// arguments are the tensors of each batch of a step, on the model's device: inputs, targets, the starts of
// documents if rows have several, and in a step of several batches the batch's weight. The weights make the
// mean of the batches' losses the mean over all targets of the step: batches whose targets are masked or
// padded have different numbers of them.
func (t *trainer) arguments(batches []data.Batch) ([][]tensor.Tensor, error) {
	weights, err := weightsOf(t.model, batches)
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
func weightsOf(m Model, batches []data.Batch) ([]float64, error) {
	weights, sum := make([]float64, len(batches)), 0.0
	if len(batches) == 1 {
		return []float64{1}, nil
	}
	for i, b := range batches {
		weights[i] = float64(counted(m, b))
		if sum += weights[i]; weights[i] == 0 {
			return nil, errors.New("train: a batch has no target that counts")
		}
	}
	for i := range weights {
		weights[i] *= float64(len(batches)) / sum
	}
	return weights, nil
}

// undo takes back the steps under way.
func (t *trainer) undo() {
	for _, l := range slices.Backward(t.flight) {
		l.pending.Undo()
	}
	t.flight, t.due, t.sound = nil, false, tensor.Tensor{}
}

// A stepper is the two halves of a step, compiled or not. Their arguments begin with a batch's (see
// arguments).
type stepper struct {
	// part also gets the sum of the gradients so far, if there are some, and returns the loss and the new
	// sum.
	part func(args ...tensor.Tensor) []tensor.Tensor
	// last gets in addition the losses of the earlier parts, the soundness of the step before, and the loss
	// above which it is a spike, before the gradients. It makes the step if that is sound and the one before
	// was, and if it is no spike that is left out. It returns all losses, the norm of the gradient, the
	// soundness and whether it is a spike as one vector; and the soundness, for the step after.
	last func(args ...tensor.Tensor) []tensor.Tensor
}

func (t *trainer) newStepper() stepper {
	s := stepper{part: t.part, last: t.last}
	if t.o.Compile {
		s = stepper{tensor.Compile(t.part), tensor.Compile(t.last)}
	}
	return s
}

// launch asks the device for loss, gradients and update of the batches, and for the commit of the update if
// all is finite.
func (t *trainer) launch(l *launched) {
	k := len(l.parts)
	l.rate, l.limit = t.o.LR.At(t.steps()), t.history.limit(t.steps())
	var losses, grads []tensor.Tensor
	for _, batch := range l.parts[:k-1] {
		made := t.stepper.part(slices.Concat(batch, grads)...)
		for i := range made {
			made[i] = made[i].Detach() // lets go of the graph
		}
		tensor.Eval(made...)
		tensor.Free(grads...) // at once: they are as large as what is trained
		losses, grads = append(losses, made[0]), made[1:]
	}
	if t.sound.IsNone() {
		t.sound = tensor.Zeros().To(t.on).Eval()
	}
	made := t.stepper.last(slices.Concat(l.parts[k-1], losses, []tensor.Tensor{t.sound, tensor.Scalar(l.limit)}, grads)...)
	l.numbers, t.sound, l.pending = made[0].Detach(), made[1].Detach(), t.pending
	tensor.Free(grads...)
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
	if t.o.Accumulate > 1 {
		for i, g := range grads { // sums of bf16 would be rounded as often as there are batches
			grads[i] = g.Cast(dtype.Promote(g.DType(), dtype.F32))
		}
	}
	for i, before := range sum {
		grads[i] = before.Add(grads[i])
	}
	return append([]tensor.Tensor{loss}, grads...)
}

func (t *trainer) last(args ...tensor.Tensor) []tensor.Tensor {
	update, guard, numbers, sound := t.update(args...)
	t.pending = update.CommitLater(guard, numbers, sound)
	return []tensor.Tensor{numbers, sound}
}

// update is the step that last makes: the update, the number that has to be finite for it, and the results.
func (t *trainer) update(args ...tensor.Tensor) (update *optim.Update, guard, numbers, sound tensor.Tensor) {
	k := t.o.Accumulate
	batch, before, rest := args[:t.width], args[t.width:t.width+k-1], args[t.width+k-1:]
	limit, sum := rest[1], rest[2:]
	made := t.part(slices.Concat(batch, sum)...)
	losses, grads := slices.Concat(before, made[:1]), made[1:]
	scale, norm := scaleOf(grads, t.o.Clip, float64(k))
	sound = soundness(losses, norm, rest[0])
	spike := meanOf(losses).Gt(limit)
	guard = sound
	if t.o.Spikes != NoteSpikes {
		guard = tensor.Where(spike, tensor.FullLike(sound, math.Inf(1)), sound)
	}
	numbers = tensor.Stack(append(losses, norm, sound, spike.Cast(sound.DType())), 0)
	rate := func(int) float64 { return t.o.LR.At(t.steps()) }
	return t.optimizer.Update(grads, 0, scale).At(rate), guard, numbers, sound
}

// meanOf is the mean of losses.
func meanOf(losses []tensor.Tensor) tensor.Tensor {
	sum := losses[0].Detach()
	for _, l := range losses[1:] {
		sum = sum.Add(l.Detach())
	}
	return sum.Div(float64(len(losses)))
}

// soundness is a number that is finite if losses, norm and the soundness of the step before are.
func soundness(losses []tensor.Tensor, norm, before tensor.Tensor) tensor.Tensor {
	const small = 0x1p-16 // so that large numbers have a finite sum
	sum := norm.Detach().Add(before.Mul(small))
	for _, l := range losses {
		sum = sum.Add(l.Detach().Cast(dtype.F32).Mul(small))
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
