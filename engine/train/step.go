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
	parts   [][]tensor.Tensor // tensors of this rank's: see arguments
	random  tensor.RNGState
	taken   int
	rate    float64
	limit   float64       // of the loss: see Options.Spikes
	numbers tensor.Tensor // losses of the batches, norm, soundness, whether it is a spike, of several batches how many ranks were asked to stop
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
			wrong = t.launch(&l)
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
			t.asked = t.asked || k > 1 && read[k+3] != 0
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
		var tensorOf string
		failed := tensor.Try(func() { tensorOf = t.firstBad(l) })
		t.random.SetState(l.random)
		if failed = cmp.Or(failed, t.name(bad, tensorOf)); failed != nil {
			return failed
		}
	}
	return err
}

// arguments are the tensors of each of this rank's batches of a step, on the model's device: inputs, targets,
// the starts of documents if rows have several, and in a step of several batches the place of its loss. That
// is [batches + 1] with the batch's weight at its place and 0 at the others; the last number is 1 in the
// first batch of a rank that was asked to stop. The weights make the mean of the batches' losses the mean
// over all targets of the step: batches whose targets are masked or padded have different numbers of them.
func (t *trainer) arguments(batches []data.Batch) ([][]tensor.Tensor, error) {
	weights, err := weightsOf(t.model, batches)
	if err != nil {
		return nil, err
	}
	k := len(batches)
	parts := make([][]tensor.Tensor, k)
	first, to := t.o.Ranks.Share(k)
	for i, b := range batches {
		if err := packs(t.model, b); err != nil {
			return nil, err
		}
		if b.Starts.IsNone() != batches[0].Starts.IsNone() {
			return nil, errors.New("train: a batch has rows of several documents and another one of the same step has not")
		}
		if i < first || i >= to {
			continue
		}
		if parts[i] = tensorsOf(b, t.on); k > 1 {
			place := make([]float32, k+1)
			if place[i] = float32(weights[i]); i == first && t.asks() != nil {
				place[k] = 1
			}
			parts[i] = append(parts[i], tensor.From(place).To(t.on))
		}
	}
	t.width = len(parts[first])
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

// A stepper is the two halves of a step, compiled or not. The arguments of part are a batch's (see
// arguments); it returns losses and gradients. Those of finish are the soundness of the step before, the loss
// above which this one is a spike, and the sums of what part returned. It makes the step if that is sound and
// the one before was, and if it is no spike that is left out; it returns the numbers of a step (see
// launched), and the soundness for the step after. A step of one batch is whole: both at once, with the
// arguments of part and the first two of finish.
type stepper struct {
	part, finish, whole func(args ...tensor.Tensor) []tensor.Tensor
}

func (t *trainer) newStepper() stepper {
	s := stepper{t.part, t.finish, t.whole}
	if t.o.Compile {
		s = stepper{tensor.Compile(t.part), tensor.Compile(t.finish), tensor.Compile(t.whole)}
	}
	return s
}

// drawn is how many random tensors a batch of a step of several has for itself, so that none needs to know
// what the others draw.
const drawn = 1 << 20

// launch asks the device for loss, gradients and update of the batches, and for the commit of the update if
// all is finite.
func (t *trainer) launch(l *launched) error {
	l.rate, l.limit = t.o.LR.At(t.steps()), t.history.limit(t.steps())
	if t.sound.IsNone() {
		t.sound = tensor.Zeros().To(t.on).Eval()
	}
	before := []tensor.Tensor{t.sound, tensor.Scalar(l.limit)}
	var made, sum []tensor.Tensor
	if k := len(l.parts); k == 1 {
		made = t.stepper.whole(slices.Concat(l.parts[0], before)...)
	} else {
		var err error
		sum, err = t.o.Ranks.Sum(k, func(i int) []tensor.Tensor { return t.term(t.stepper.part, l, i) })
		if err != nil {
			return err
		}
		t.random.SetState(l.numbersOf(k))
		made = t.stepper.finish(slices.Concat(before, sum)...)
	}
	l.numbers, t.sound, l.pending = made[0].Detach(), made[1].Detach(), t.pending
	tensor.Free(sum...)
	return nil
}

// numbersOf is where the random numbers of batch i of a step of several begin.
func (l *launched) numbersOf(i int) tensor.RNGState {
	return tensor.RNGState{Seed: l.random.Seed, Counter: l.random.Counter + uint64(i)*drawn}
}

// term is what part makes of batch i of a step of several.
func (t *trainer) term(part func(args ...tensor.Tensor) []tensor.Tensor, l *launched, i int) []tensor.Tensor {
	t.o.Ranks.Went()
	t.random.SetState(l.numbersOf(i))
	made := part(l.parts[i]...)
	for i := range made {
		made[i] = made[i].Detach() // lets go of the graph
	}
	tensor.Eval(made...)
	return made
}

func (t *trainer) part(args ...tensor.Tensor) []tensor.Tensor {
	if t.o.Accumulate == 1 {
		loss := lossOf(t.model, args)
		return append([]tensor.Tensor{loss}, tensor.Grad(loss, nn.Values(t.params)...)...)
	}
	k, place := t.o.Accumulate, args[len(args)-1]
	loss := lossOf(t.model, args[:len(args)-1]).Mul(place.Slice(0, 0, k).Sum())
	grads := tensor.Grad(loss, nn.Values(t.params)...)
	for i, g := range grads { // sums of bf16 would be rounded as often as there are batches
		grads[i] = g.Cast(dtype.Promote(g.DType(), dtype.F32))
	}
	losses := tensor.Where(place.Slice(0, 0, k).Ne(0), loss.Cast(dtype.F32), 0) // a sum over batches adds zeros to each
	return append([]tensor.Tensor{tensor.Concat([]tensor.Tensor{losses, place.Slice(0, k, k+1)}, 0)}, grads...)
}

func (t *trainer) finish(args ...tensor.Tensor) []tensor.Tensor {
	update, guard, numbers, sound := t.update(args...)
	t.pending = update.CommitLater(guard, numbers, sound)
	return []tensor.Tensor{numbers, sound}
}

func (t *trainer) whole(args ...tensor.Tensor) []tensor.Tensor {
	return t.finish(slices.Concat(args[t.width:], t.part(args[:t.width]...))...)
}

// update is the step that finish makes: the update, the number that has to be finite for it, and the results.
func (t *trainer) update(args ...tensor.Tensor) (update *optim.Update, guard, numbers, sound tensor.Tensor) {
	k := t.o.Accumulate
	before, limit, losses, grads := args[0], args[1], args[2:3:3], args[3:]
	var stop []tensor.Tensor
	if k > 1 {
		all := losses[0]
		losses, stop = make([]tensor.Tensor, k), []tensor.Tensor{all.At(k)}
		for i := range losses {
			losses[i] = all.At(i)
		}
	}
	scale, norm := scaleOf(grads, t.o.Clip, float64(k))
	sound = soundness(losses, norm, before)
	spike := meanOf(losses).Gt(limit)
	guard = sound
	if t.o.Spikes != NoteSpikes {
		guard = tensor.Where(spike, tensor.FullLike(sound, math.Inf(1)), sound)
	}
	numbers = tensor.Stack(slices.Concat(losses, []tensor.Tensor{norm, sound, spike.Cast(sound.DType())}, stop), 0)
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

// firstBad looks for the tensor in which NaN or Inf came up first: in the forward passes of this rank's
// batches, or else in the sum of their gradients. It is "" if all of these are finite.
func (t *trainer) firstBad(l launched) string {
	var grads []tensor.Tensor
	from, to := t.o.Ranks.Share(len(l.parts))
	for i := from; i < to; i++ {
		if len(l.parts) > 1 {
			t.random.SetState(l.numbersOf(i))
		}
		made := t.part(l.parts[i]...)
		if bad := tensor.FirstNonFinite(made[0]); bad != "" {
			return bad
		}
		for j := range grads {
			made[j+1] = grads[j].Add(made[j+1])
		}
		grads = made[1:]
	}
	for i, g := range grads {
		if bad := tensor.FirstNonFinite(g); bad != "" {
			return "in the gradient of " + t.params[i].Name + ": " + bad
		}
	}
	return ""
}

// name says in an error which tensor went bad first, on the first rank that has one.
func (t *trainer) name(bad *NotFinite, own string) error {
	texts, err := t.o.Ranks.Texts(own)
	bad.Tensor = "the sum of squares of all gradients"
	if i := slices.IndexFunc(texts, func(text string) bool { return text != "" }); i >= 0 {
		bad.Tensor = texts[i]
	}
	return err
}
