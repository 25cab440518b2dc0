package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// An Estimate is what a run will take, in bytes on the device and in time.
type Estimate struct {
	Weights     int64 // of the model, adapters included
	Optimizer   int64 // what the optimizer remembers
	Gradients   int64 // of what is trained
	Activations int64 // what a step keeps on the way from the loss back, and all else between launches
	Waiting     int64 // weights of earlier steps, which Go's collector has not found yet
	Other       int64 // batches, and what else lies on the device now
	Peak        int64 // the sum: the most that is in use at once
	Total       int64 // what the device has, 0 if unknown

	Steps    int
	Tokens   int           // places of a step, with prompts and padding, in the largest batches; 0 for data that has none
	Flops    int64         // of a step
	Launches int           // of a step
	Step     time.Duration // that a step takes, the least of those measured; 0 if none was
	Measured int           // steps for Step: none where the memory does not suffice
}

// Predict says what Run would take with these options: memory as the step's plan has it, for the largest of
// the first batches, and time by steps that are measured and not made. The model stays as it is, and no file
// is written. If the memory would not suffice no step is measured. An evaluation and the making of
// checkpoints are left out.
func Predict(ctx context.Context, m Model, d data.Source, o Options) (*Estimate, error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	o = o.withSteps(d).withDefaults()
	params := o.Params
	if params == nil {
		params = nn.Trainable(m)
	}
	if err := o.check(params); err != nil {
		return nil, err
	}
	o.Checkpoint, o.Log, o.TensorBoard, o.Seed, o.Ranks = "", "", "", 1, nil
	runtime.GC() // what nobody holds any more would count as in use
	ctx = device.On(ctx, nn.Device(m))
	var e *Estimate
	err := within(tensor.WithRNG(ctx, tensor.NewRNG(1)), func() error {
		t, err := start(m, d, o, params)
		if err != nil {
			return err
		}
		nn.SetTraining(m, true)
		defer nn.SetTraining(m, false)
		if e, err = t.estimate(); err != nil {
			return err
		}
		if e.tooMuch() {
			return nil
		}
		return t.measure(ctx, e)
	})
	return e, err
}

// PredictLoRA is [Predict] for [LoRA], PredictFull for [Full].
func PredictLoRA(ctx context.Context, m Model, d data.Source, o Options) (e *Estimate, err error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	adapter, injected, err := adapterOf(m, o.LoRA)
	if err != nil {
		return nil, err
	}
	if injected {
		defer func() { err = errors.Join(err, adapter.Remove(m)) }()
	}
	if o, err = o.of(adapter, d); err != nil {
		return nil, err
	}
	return Predict(ctx, m, d, o)
}

// PredictFull is [Predict] for [Full].
func PredictFull(ctx context.Context, m Model, d data.Source, o Options) (*Estimate, error) {
	return Predict(ctx, m, d, o.Tuning(d, false))
}

// largest returns the batches of one step: of the first batches the one with the most elements, so often as a
// step has batches. The step before still holds its own.
func (t *trainer) largest() ([]data.Batch, error) {
	const looked = 32
	n := looked
	if epoch := data.Epoch(t.data); epoch > 0 {
		n = min(n, epoch)
	}
	n = min(n, t.o.Steps*t.o.Accumulate)
	var largest data.Batch
	for i := range n {
		b, err := t.data.Batch(i)
		if err != nil {
			return nil, err
		}
		if largest.Inputs.IsNone() || b.Inputs.Size() > largest.Inputs.Size() {
			largest = b
		}
	}
	return slices.Repeat([]data.Batch{largest}, t.o.Accumulate), nil
}

// estimate works out the memory of a step, and what it computes.
func (t *trainer) estimate() (*Estimate, error) {
	batches, err := t.largest()
	if err != nil {
		return nil, err
	}
	parts, err := t.arguments(batches)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		tensor.Eval(part...)
	}
	k := len(parts)
	gradients := bytesOf(nn.Values(t.params), 4)
	var between tensor.Cost // of a batch of several
	var sum []tensor.Tensor
	if k > 1 {
		between = tensor.CostOf(t.part(parts[0]...)...)
		sum = []tensor.Tensor{tensor.Zeros(k + 1)}
		for _, v := range nn.Values(t.params) {
			sum = append(sum, tensor.ZerosLike(v).Cast(dtype.Promote(v.DType(), dtype.F32)))
		}
		tensor.Eval(sum...)
	} else {
		sum = t.part(parts[0]...)
	}
	zero := tensor.Zeros().Eval()
	update, guard, numbers, sound := t.update(slices.Concat([]tensor.Tensor{zero, tensor.Scalar(math.Inf(1))}, sum)...)
	all := update.Cost(guard, numbers, sound)

	used, planned, waiting := t.on.Memory().InUse, max(all.Memory, between.Memory), int64(0)
	if !t.o.Compile { // a loss was computed from the weights, so new ones lie elsewhere
		trained := bytesOf(nn.Values(t.params), 0)
		planned += min(all.Replaced, trained)
		h := backend.Inside(t.on).Hints() // when the collector is asked for, at the latest
		waiting = min(int64(t.o.Steps)*trained, max(h.CollectEarly, used/8)+trained)
	}
	_, weights := nn.Size(t.model)
	for _, p := range nn.Params(t.model) {
		weights -= access.Elsewhere(p.Value())
	}
	optimizer := bytesOf(slices.Collect(maps.Values(t.optimizer.State().Tensors)), 0)
	total := cmp.Or(t.on.Memory().Total, t.on.Info().Memory)
	e := &Estimate{
		Weights: int64(weights), Optimizer: optimizer, Gradients: gradients,
		Waiting: waiting, Peak: used + planned + waiting, Total: total, Steps: t.o.Steps,
		Flops: all.Flops, Launches: all.Launches,
	}
	for _, b := range batches {
		e.Tokens += b.Tokens()
	}
	e.Activations = max(0, planned-gradients)
	if k > 1 { // some of the tree's sums lie in memory of their own beside the last batch's
		e.Flops, e.Launches = e.Flops+int64(k)*between.Flops, e.Launches+k*between.Launches
		e.Gradients *= int64(bits.Len(uint(k - 1)))
		e.Peak += e.Gradients
	}
	e.Other = max(0, e.Peak-e.Weights-e.Optimizer-e.Gradients-e.Activations-e.Waiting)
	return e, nil
}

// bytesOf is the size of tensors; each element has at least so many bytes.
func bytesOf(list []tensor.Tensor, least int) (n int64) {
	for _, t := range list {
		n += int64(t.Size() * max(least, t.DType().Size()))
	}
	return n
}

// measure times steps that are not made: their guard is not finite.
func (t *trainer) measure(ctx context.Context, e *Estimate) error {
	const enough = 10 * time.Second
	batches, err := t.largest()
	if err != nil {
		return err
	}
	for _, p := range nn.Params(t.model) {
		if p.Running() { // a step changes it in any case
			was := p.Value().Snapshot()
			defer func() { p.Value().Set(was) }()
		}
	}
	began := time.Now()
	for e.Measured < 3 && (e.Measured == 0 || time.Since(began) < enough) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l := launched{batches: batches}
		if l.parts, err = t.arguments(batches); err != nil {
			return err
		}
		t.sound = tensor.Full(math.NaN()).To(t.on).Eval()
		from := time.Now()
		if err := t.launch(&l); err != nil {
			return err
		}
		_ = l.numbers.Float64s() // waits
		took := time.Since(from)
		l.pending.Undo()
		if e.Measured++; e.Step == 0 || took < e.Step {
			e.Step = took
		}
	}
	return nil
}

// tooMuch says whether the run needs more memory than the device has, as far as that is known.
func (e *Estimate) tooMuch() bool { return e.Total > 0 && e.Peak > e.Total }

// Time is how long all steps take.
func (e *Estimate) Time() time.Duration { return time.Duration(e.Steps) * e.Step }

// Text says it in a few lines.
func (e *Estimate) Text(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory  %s at most", units.Bytes(e.Peak))
	if e.Total > 0 {
		fmt.Fprintf(&b, " of %s", units.Bytes(e.Total))
		if e.tooMuch() {
			b.WriteString(", which is too much: smaller batches, Accumulate, or a model with Checkpoint need less")
		}
	}
	fmt.Fprintf(&b, "\n        weights %s · optimizer %s · gradients %s · activations %s · old weights %s · other %s",
		units.Bytes(e.Weights), units.Bytes(e.Optimizer), units.Bytes(e.Gradients), units.Bytes(e.Activations), units.Bytes(e.Waiting), units.Bytes(e.Other))
	if steps := units.Plural(int64(e.Steps), "step"); e.Measured == 0 {
		fmt.Fprintf(&b, "\ntime    not measured for %s: the memory does not suffice", steps)
	} else {
		fmt.Fprintf(&b, "\ntime    %s for %s, %s each (%s)", units.Duration(e.Time()), steps, units.Duration(e.Step), units.Plural(int64(e.Measured), "measured step"))
	}
	fmt.Fprintf(&b, "\nstep    %s flops, %s", units.Count(float64(e.Flops)), units.Plural(int64(e.Launches), "launch"))
	if e.Tokens > 0 {
		fmt.Fprintf(&b, ", %s tokens with prompts and padding", units.Int(int64(e.Tokens)))
	}
	return strings.Join(lines.Wrap(b.String(), width, 8), "\n")
}

// String is Text.
func (e *Estimate) String() string { return e.Text(0) }
