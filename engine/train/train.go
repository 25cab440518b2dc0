// Package train makes a model better at its data, step by step.
//
// [Run] takes a model with a loss, a source of batches and [Options], and returns the [History] of the run. A
// step evaluates loss, gradients and the optimizer's update together. It changes the model only if loss and
// gradients are finite. Its numbers are read when the device has been asked for the next step, so that no
// device waits for the host between two steps. An interrupted run keeps its steps. Calling Run again with the
// same model, data and options continues it. With a checkpoint folder it also continues in another process,
// with the same bits as without the interruption: parameters, optimizer, random numbers and the position in
// the data are all saved.
//
// Reading order: train.go, tune.go, step.go, spike.go, evaluate.go, best.go, predict.go, pause.go,
// history.go, logs.go, checkpoint.go, folders.go, together.go, number.go, preference.go,
// distill.go, grpo.go.
package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Model can be trained.
type Model interface {
	nn.Module
	// Loss is one number, the mean over the targets; inputs and targets are i64 [batch length].
	Loss(inputs, targets tensor.Tensor) tensor.Tensor
}

// A PackedModel can learn from rows in which several documents stand one after the other (see data.Batch).
type PackedModel interface {
	Model
	// PackedLoss is Loss where a token sees its own document only, and positions count from starts, i64
	// [batch length].
	PackedLoss(inputs, targets, starts tensor.Tensor) tensor.Tensor
}

// Options say how to train. For Run, Steps or Epochs and LR are needed, and the rest may stay zero.
type Options struct {
	Steps      int
	Epochs     int // in place of Steps: so often all of the data, if that says how much it is (see data.Epoch)
	LR         optim.Schedule
	Clip       float64     // largest global norm of the gradients; 0: any
	Accumulate int         // batches whose gradients make one step, weighed by their targets that count; 0: 1
	Optimizer  optim.Rule  // nil: optim.AdamW{}
	Params     []nn.Param  // parameters to train; nil: all trainable weights of the model
	LoRA       lora.Config // the adapter that the function LoRA trains; Run has Params
	LoRAPlus   float64     // LoRA+: the function LoRA changes B with so many times the learning rate of A; 0: with the same

	Eval        data.Source // data for evaluation, not for training; nil: no evaluation
	EvalEvery   int         // steps between evaluations; 0: at the end only
	EvalBatches int         // batches of an evaluation; 0: all of the data once (see Evaluate)
	// Metrics are numbers of outputs and targets that an evaluation shows beside the loss, by name:
	// {"accuracy": nn.Accuracy}. The model then has to be a layer, or made of one by WithLoss.
	Metrics map[string]nn.Loss

	// Best loads the weights of the best evaluation back at the end. With Checkpoint, which keeps the best
	// checkpoint beside the newest ones in any case, they come from there, and otherwise from memory.
	Best     bool
	Patience int     // evaluations in a row without a better one after which the run ends; 0: it makes all steps
	MinDelta float64 // how much lower a loss has to be to be better, for Patience
	// Spikes is what to do about a step whose loss is far above those before: above their median by more than
	// 8 deviations, as their distances to it tell, and by more than half of it.
	Spikes Spikes

	Log         string // file to which each step and evaluation is written as a line of JSON; empty: none
	TensorBoard string // folder for event files, which TensorBoard shows; empty: none

	Checkpoint      string // folder for checkpoints; empty: none
	CheckpointEvery int    // steps between checkpoints; 0: at the end (and when interrupted) only
	Keep            int    // checkpoints to keep; 0: 2
	Resume          bool   // go on from the folder's newest checkpoint, if there is one

	// Compile replays the first step instead of building the graph again in each (see tensor.Compile). It
	// is for small models, whose steps are short, and whose Loss does the same in each step. Loss runs, and
	// prints, only in steps 1, 2, 3, 5, 9 …; if it then computes something else than before, Run returns an
	// error. The results are the same, bit for bit.
	Compile bool

	Plot bool // draws the loss while the run goes on; where nothing can be drawn in place, at the end

	// Ranks are processes that share the batches of a step, at least one each: Accumulate is at least their
	// number. All of them call Run with the same model, data and options. Losses, weights and checkpoints are
	// those of one process, bit for bit if the number is a power of two. Files are the first one's.
	Ranks *ranks.Group

	Seed uint64 // of the run's own generator, for dropout and other random numbers of a step; 0: tensor.DefaultRNG at its present position
}

func (o Options) withDefaults() Options {
	o.Accumulate = cmp.Or(o.Accumulate, 1)
	if o.Optimizer == nil {
		o.Optimizer = optim.AdamW{}
	}
	o.Keep = cmp.Or(o.Keep, 2)
	return o
}

// An Interrupted is the error of a run that its context stopped. Its steps are kept.
type Interrupted struct {
	Step, Steps int
	Cause       error
}

func (e *Interrupted) Error() string {
	return fmt.Sprintf("train: interrupted at step %d of %d: %d steps kept; run it again to go on", e.Step, e.Steps, e.Step)
}

// Unwrap returns the context's cause.
func (e *Interrupted) Unwrap() error { return e.Cause }

// A Paused is the error of a run that could not write a checkpoint or read data. Its steps and the
// optimizer's state are kept. Calling Run again first does what failed.
type Paused struct {
	Step, Steps int
	Cause       error
}

func (e *Paused) Error() string {
	return fmt.Sprintf("%v; paused at step %d of %d, nothing is lost: run it again to go on", e.Cause, e.Step, e.Steps)
}

// Unwrap returns the error of the file or of the data.
func (e *Paused) Unwrap() error { return e.Cause }

// A NotFinite is the error of a run whose loss or gradients became NaN or infinite. The parameters are
// those before the step.
type NotFinite struct {
	Step   int     // the step that was refused, counted from 1
	Loss   float64 // its loss
	Tensor string  // the first tensor with such a value, its shape and the share of such values
}

func (e *NotFinite) Error() string {
	what := fmt.Sprintf("the loss is %g", e.Loss)
	if finite(e.Loss) {
		what = fmt.Sprintf("the loss is %.4g, but its gradient is not finite", e.Loss)
	}
	return fmt.Sprintf("train: step %d: %s; the first tensor that went bad is %s. The step was not made", e.Step, what, e.Tensor)
}

// A trainer is a run under way.
type trainer struct {
	model     Model
	data      data.Source
	on        device.Device // the model's
	o         Options
	params    []nn.Param
	optimizer optim.Optimizer
	stepper   stepper
	random    *tensor.RNG // generator of the random numbers of a step
	history   *History
	flight    []launched     // steps of which the numbers are not read yet, at most two
	sound     tensor.Tensor  // of the newest step, or none
	pending   *optim.Pending // of the newest step
	taken     int            // batches of data
	width     int            // tensors of a batch in the arguments of a step
	asked     bool           // one of the ranks was asked to stop
	asks      func() error   // why this one was, if it was
	due       bool           // the last step's evaluation and checkpoint are still to be made
	saved     savedState
	best      map[string]tensor.Tensor // weights of the best evaluation, if they are kept in memory
	logs      logs
	began     time.Time     // when this call of Run did
	before    time.Duration // that earlier calls took
	signature string        // see signatureOf
	base      string        // hash of the weights that are not trained; only with checkpoints or ranks
}

// Run trains. It returns the history, with an *Interrupted when ctx is cancelled, a *NotFinite when the loss
// or a gradient is not finite, and a *Paused when a checkpoint cannot be written or data cannot be read.
// Options that mean nothing are errors. One process at a time trains into a checkpoint folder. Only ctx stops
// Run: in a goroutine of its own, with a context of its own, it goes on when the cell that started it has
// ended. What it makes lives on the model's device: batches, which are moved there, the optimizer's memory,
// and new tensors of the model's own.
func Run(ctx context.Context, m Model, d data.Source, o Options) (*History, error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	o = o.withSteps(d).withDefaults()
	params := o.Params
	if params == nil {
		if params = nn.Trainable(m); len(params) == 0 {
			return nil, fmt.Errorf("train: the model has no trainable weights%s", nn.Untrained(nn.Params(m)))
		}
	}
	if err := o.check(params); err != nil {
		return nil, err
	}
	if _, ok := layerOf(m); !ok && len(o.Metrics) > 0 {
		return nil, fmt.Errorf("train: Metrics want outputs, and %T has no method Forward: make the model with train.WithLoss", m)
	}
	ctx = device.On(ctx, nn.Device(m))
	h, err := o.run(ctx, m, d, params)
	err = o.Ranks.Why(err)
	var interrupted *Interrupted
	var bad *NotFinite
	if !errors.As(err, &interrupted) && !errors.As(err, &bad) { // which all ranks find together
		o.Ranks.Fail(err)
	}
	return h, err
}

// run is Run with options that are checked.
func (o Options) run(ctx context.Context, m Model, d data.Source, params []nn.Param) (*History, error) {
	defer o.Ranks.Guard()()
	if o.Checkpoint != "" {
		var lock *durable.Lock
		_, err := o.Ranks.Once(func() (_ []byte, err error) {
			lock, err = lockCheckpoints(o.Checkpoint)
			return nil, err
		})
		if err != nil {
			return nil, err
		}
		if lock != nil {
			defer lock.Unlock()
		}
		defer savesWhenStopped(ctx, o.Checkpoint)()
	}
	own := ctx
	if o.Ranks.Size() > 1 { // they stop together: see trainer.asked
		ctx = context.WithoutCancel(ctx)
	}
	var t *trainer
	var err error
	tensor.Within(context.WithoutCancel(ctx), func() { // a checkpoint is loaded as a whole
		if t = takePaused(m, d, o, params); t == nil || t.overtaken() {
			t, err = start(m, d, o, params)
		} else {
			err = t.agree()
		}
	})
	if err != nil {
		return nil, err
	}
	t.asks, t.asked = func() error { return context.Cause(own) }, false
	if err := t.openLogs(); err != nil {
		return nil, err
	}
	if left := t.leftOut(); o.Params == nil && left != "" && !slices.Contains(t.history.Notes, left) {
		t.history.Notes = append(t.history.Notes, left)
	}
	defer t.logs.close()
	nn.SetTraining(m, true)
	defer nn.SetTraining(m, false)
	tensor.Within(tensor.WithRNG(ctx, t.random), func() { err = t.loop(ctx) })
	var interrupted *Interrupted
	var waits *Paused
	if errors.As(err, &interrupted) || errors.As(err, &waits) {
		pause(t)
	}
	return t.history, err
}

// missing says that there is no model, or no data.
func missing(m Model, d data.Source) error {
	for i, x := range []any{m, d} {
		if v := reflect.ValueOf(x); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fmt.Errorf("train: got nil, want %s", [...]string{"a model", "data"}[i])
		}
	}
	return nil
}

func (o Options) check(params []nn.Param) error {
	switch {
	case !o.LoRA.IsZero() || o.LoRAPlus != 0:
		return errors.New("train: got Options.LoRA or LoRAPlus, which are for the function train.LoRA: for Run, inject the adapter and set Params")
	case o.Epochs < 0:
		return fmt.Errorf("train: got %d epochs, want at least 1", o.Epochs)
	case o.Epochs != 0 && o.Steps == 0:
		return fmt.Errorf("train: got %d epochs of data that does not say how long an epoch is: set Steps, or give the data a method Epoch", o.Epochs)
	case o.Steps < 1:
		return fmt.Errorf("train: got %d steps, want at least 1", o.Steps)
	case o.LR == optim.Schedule{}:
		return errors.New("train: the learning rate is missing: set LR, for example to optim.Cosine(3e-3, 30, steps)")
	case !(o.Clip >= 0):
		return fmt.Errorf("train: got a Clip of %v, want at least 0; 0 and +Inf clip nothing", o.Clip)
	case len(params) == 0:
		return errors.New("train: the model has no trainable weights")
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"Accumulate", o.Accumulate}, {"EvalEvery", o.EvalEvery}, {"EvalBatches", o.EvalBatches}, {"CheckpointEvery", o.CheckpointEvery}, {"Keep", o.Keep}, {"Patience", o.Patience}} {
		if n.value < 0 {
			return fmt.Errorf("train: got %s %d, want at least 0", n.name, n.value)
		}
	}
	if o.Eval == nil && len(o.Metrics) > 0 {
		return errors.New("train: got Metrics without Eval: set Eval to the data to measure them on")
	}
	if err := o.checkBest(); err != nil {
		return err
	}
	if size := o.Ranks.Size(); o.Accumulate < size {
		return fmt.Errorf("train: got %d ranks and steps of %s, want at least a batch for each: set Accumulate to %d, and the rows of a batch accordingly", size, units.Plural(int64(o.Accumulate), "batch"), size)
	}
	switch {
	case o.Spikes < 0 || int(o.Spikes) >= len(spikeNames):
		return fmt.Errorf("train: got Spikes %d, want NoteSpikes, SkipSpikes or GoBack", int(o.Spikes))
	case o.Spikes == GoBack && o.Checkpoint == "":
		return errors.New("train: GoBack goes back to a checkpoint: set Checkpoint and CheckpointEvery")
	}
	if err := o.LR.Check(); err != nil {
		return fmt.Errorf("train: LR: %w", err)
	}
	for _, p := range params {
		switch why := p.Untrained(); why {
		case "":
		case box.Frozen:
			return fmt.Errorf("train: %s is frozen: Unfreeze it, or leave it out of Params", p.Name)
		default:
			return fmt.Errorf("train: %s is %s", p.Name, why)
		}
	}
	return nil
}

// start begins a run at step 0 or at its newest checkpoint.
func start(m Model, d data.Source, o Options, params []nn.Param) (*trainer, error) {
	t := &trainer{model: m, data: d, on: nn.Device(m), o: o, params: params, history: &History{Total: o.Steps}, saved: savedState{step: -1}, signature: signatureOf(d, o, params), asks: func() error { return nil }}
	t.stepper = t.newStepper()
	err := tensor.Try(func() { t.optimizer = o.Optimizer.New(params) })
	if err != nil {
		return nil, err
	}
	if t.random = tensor.DefaultRNG(); o.Seed != 0 {
		t.random = tensor.NewRNG(o.Seed)
	}
	if o.Checkpoint != "" || o.Ranks.Size() > 1 {
		t.base = nn.Hash(untrained(m, params))
		err = t.agree()
	}
	if o.Checkpoint != "" && err == nil {
		err = t.openCheckpoints()
	}
	return t, err
}

// signatureOf returns a text of all that must be equal for a run to continue exactly. More steps are allowed,
// and with them a schedule that takes longer: see difference.
func signatureOf(d data.Source, o Options, params []nn.Param) string {
	shapes := make([]string, len(params))
	for i, p := range params {
		shapes[i] = p.String()
	}
	values := map[string]any{
		"learning rate": o.LR, "optimizer": o.Optimizer.String(), "clip": number(o.Clip), "accumulate": o.Accumulate,
		"seed": o.Seed, "data": d.Fingerprint(), "parameters": shapes,
	}
	if o.Spikes != NoteSpikes { // runs of earlier versions have none
		values["way with spikes"] = o.Spikes.String()
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // check has refused a learning rate that JSON cannot hold; the rest is text and whole numbers
	}
	return string(text)
}

// leftOut says which weights of the model the run does not train: "trains 24 of 28 weights; frozen: tok,
// pos". It is empty if there are none.
func (t *trainer) leftOut() string {
	const most = 4 // names
	left := untrained(t.model, t.params)
	if len(left) == 0 {
		return ""
	}
	var names []string
	for _, p := range left[:min(most, len(left))] {
		names = append(names, p.Name)
	}
	if len(left) > most {
		names = append(names, "…")
	}
	return fmt.Sprintf("trains %d of %d weights; frozen: %s", len(t.params), len(t.params)+len(left), strings.Join(names, ", "))
}

// elapsed is the time that the run took until now, pauses left out.
func (t *trainer) elapsed() time.Duration { return t.before + time.Since(t.began) }

// nothingLeft is the note of a run that goes on from its last checkpoint.
const nothingLeft = "no step was left to make: all of this is of earlier calls"

// loop makes steps until the last one, an interrupt or an error.
func (t *trainer) loop(ctx context.Context) error {
	t.began, t.before = time.Now(), t.history.Elapsed
	t.history.Stopped, t.history.Weights = "", 0
	line := newLine(ctx, t, t.began)
	if t.leftOut() != "" {
		line.report(ctx, false)
	}
	defer func() { line.report(ctx, true) }()
	if t.ended() && !t.due && !slices.Contains(t.history.Notes, nothingLeft) {
		t.history.Notes = append(t.history.Notes, nothingLeft)
	}
	for t.due || !t.ended() {
		err := t.advance(ctx)
		if ctx.Err() != nil || t.asked && err == nil {
			return t.interrupted(ctx)
		}
		if err != nil {
			return t.stopped(err)
		}
		if !t.ended() {
			line.report(ctx, false)
		}
	}
	if t.steps() < t.o.Steps {
		t.history.Stopped = fmt.Sprintf("no better evaluation since step %d", t.history.Best().Step)
	}
	if t.o.Best {
		if err := t.loadBest(); err != nil {
			return t.stopped(err)
		}
	}
	t.history.Elapsed = t.elapsed()
	return nil
}

// advance makes a step, and then its evaluation and checkpoint. If the step was made before, only these.
func (t *trainer) advance(ctx context.Context) error {
	if n := t.steps(); !t.due {
		err := t.step(ctx)
		t.due = t.steps() > n
		t.history.Elapsed = t.elapsed()
		if err != nil {
			return err
		}
	}
	n := t.steps()
	if err := t.between(ctx); err != nil {
		return err
	}
	if t.steps() == n {
		t.due = false
	}
	return nil
}

// stopped returns the error of a run that err stopped: a *Paused if steps were made, which the next call
// continues.
func (t *trainer) stopped(err error) error {
	var bad *NotFinite
	if errors.As(err, &bad) || t.history.Steps() == 0 {
		return err
	}
	return &Paused{Step: t.history.Steps(), Steps: t.o.Steps, Cause: err}
}

// between makes the evaluation and the checkpoint that are due after a step.
func (t *trainer) between(ctx context.Context) error {
	n := t.steps()
	every := func(steps int) bool { return n == t.o.Steps || steps > 0 && n%steps == 0 }
	evaluates, saves := t.o.Eval != nil && every(t.o.EvalEvery), t.o.Checkpoint != "" && every(t.o.CheckpointEvery)
	if evaluates || saves || n == t.o.Steps {
		if err := t.settle(ctx); err != nil || t.steps() < n { // it went back
			return err
		}
	}
	evaluated := len(t.history.Eval) > 0 && t.history.Eval[len(t.history.Eval)-1].Step == n
	if evaluates && !evaluated {
		p, err := t.evaluate(ctx)
		nn.SetTraining(t.model, true)
		if err != nil {
			return err
		}
		p.Step = n
		t.history.Eval = append(t.history.Eval, p)
		t.logs.eval(p)
		if err := t.keepBest(); err != nil {
			return err
		}
	}
	if saves || t.o.Checkpoint != "" && t.ended() {
		return t.save(false)
	}
	return nil
}

// interrupted notes that the run was stopped, and saves a checkpoint if it has a folder. If saving fails,
// the run is paused. A step that turns out to have been refused is found again when the run goes on.
func (t *trainer) interrupted(ctx context.Context) error {
	defer t.o.Ranks.Texts("") // one that leaves may end the others, which wait for the numbers of the last step
	tensor.Within(context.WithoutCancel(ctx), func() { _ = t.settle(context.WithoutCancel(ctx)) })
	t.history.Interrupted = true
	if t.o.Checkpoint != "" {
		var err error
		tensor.Within(context.WithoutCancel(ctx), func() { err = t.save(t.due) })
		if err != nil {
			return &Paused{Step: t.history.Steps(), Steps: t.o.Steps, Cause: err}
		}
	}
	return &Interrupted{Step: t.history.Steps(), Steps: t.o.Steps, Cause: cmp.Or(t.asks(), errAsked)}
}

// errAsked is why a run ends of which another rank was asked to stop.
var errAsked = errors.New("another rank was asked to stop")
