package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Tuned is what came of LoRA or Full.
type Tuned struct {
	Adapter *lora.Adapter // what was trained: Save writes it, Merge adds it to the model; nil: the model's weights
	History *History

	trained, all int // parameters
}

// LoRA trains an adapter of a model on data:
//
//	tuned := train.LoRA(ctx, m, data.Windows(text, 128, 16), train.Options{LoRA: lora.Config{Rank: 16}})
//	tuned.Adapter.Save("adapter")
//
// o.LoRA says what is adapted: zero is rank 8 beside every linear layer. Of the other options all may stay
// zero: three epochs, or 300 steps of data that does not say how long it is; a rate that rises to 2e-4 in a
// twentieth of the steps, at most 100, and falls to 0 along half a cosine; gradients clipped to a norm of 1;
// with o.Eval ten evaluations. [Options.Tuning] shows them.
//
// The adapter is put into the model first. If that has an adapter of the same name made of the same
// configuration, it is trained further: so a call that was interrupted, whose error is an *Interrupted, goes
// on when it is made again. An error of the options leaves the model as it was.
func LoRA(ctx context.Context, m Model, d data.Source, o Options) (*Tuned, error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	if o.Params != nil {
		return nil, errors.New("train: got Params, which say what Run trains: LoRA trains the adapter that Options.LoRA describes")
	}
	adapter, injected, err := adapterOf(m, o.LoRA)
	if err != nil {
		return nil, err
	}
	o, err = o.of(adapter, d)
	var h *History
	if err == nil {
		h, err = Run(ctx, m, d, o)
	}
	if h == nil {
		if injected {
			err = errors.Join(err, adapter.Remove(m))
		}
		return nil, err
	}
	return tuned(m, adapter, o.Params, h), err
}

// Full is LoRA without an adapter: it trains all trainable weights of the model. The rate rises to 2e-5.
func Full(ctx context.Context, m Model, d data.Source, o Options) (*Tuned, error) {
	if err := missing(m, d); err != nil {
		return nil, err
	}
	if !o.LoRA.IsZero() || o.LoRAPlus != 0 {
		return nil, errors.New("train: got Options.LoRA or LoRAPlus, which are for train.LoRA: Full trains the model's own weights")
	}
	if list := lora.Of(m); len(list) > 0 {
		return nil, fmt.Errorf("train: the model has the adapter %v: merge it and take it out with lora.Remove, or train it with train.LoRA", list[0])
	}
	for _, p := range nn.Params(m) {
		if access.InParts(p.Value()) {
			return nil, fmt.Errorf("train: %s is %s: train.LoRA trains an adapter beside it", p.Name, p.Untrained())
		}
	}
	o = o.Tuning(d, false)
	h, err := Run(ctx, m, d, o)
	if h == nil {
		return nil, err
	}
	return tuned(m, nil, nn.Trainable(m), h), err
}

func tuned(m Model, adapter *lora.Adapter, params []nn.Param, h *History) *Tuned {
	all, _ := nn.Size(m)
	return &Tuned{Adapter: adapter, History: h, trained: nn.Count(params), all: all}
}

// adapterOf finds the adapter of a configuration in the model, or puts it there.
func adapterOf(m Model, c lora.Config) (adapter *lora.Adapter, injected bool, err error) {
	for _, a := range lora.Of(m) {
		if a.Is(c) {
			a.Unfreeze()
			return a, false, nil
		}
	}
	adapter, err = lora.Inject(m, c)
	return adapter, true, err
}

// of returns the options of Run for training an adapter.
func (o Options) of(adapter *lora.Adapter, d data.Source) (Options, error) {
	if !(o.LoRAPlus >= 0) || math.IsInf(o.LoRAPlus, 0) {
		return o, fmt.Errorf("train: got LoRAPlus %v, want a positive number, or 0 for the same rate", o.LoRAPlus)
	}
	o = o.Tuning(d, true)
	if o.LoRAPlus != 0 {
		o.Optimizer = adapter.Plus(o.Optimizer, o.LoRAPlus)
	}
	o.Params, o.LoRA, o.LoRAPlus = adapter.Params(), lora.Config{}, 0
	return o, nil
}

// Tuning returns the options with what LoRA (or else Full) takes for those that are zero.
func (o Options) Tuning(d data.Source, adapter bool) Options {
	if o.Steps == 0 && o.Epochs == 0 {
		if o.Epochs = 3; data.Epoch(d) == 0 {
			o.Steps, o.Epochs = 300, 0
		}
	}
	o = o.withSteps(d)
	if (o.LR == optim.Schedule{}) {
		peak := 2e-5
		if adapter {
			peak = 2e-4
		}
		if warmup := min(max(1, o.Steps/20), 100); o.Steps > 0 { // else Run says so
			o.LR = optim.Cosine(peak, warmup, o.Steps)
		}
	}
	o.Clip = cmp.Or(o.Clip, 1)
	if o.Eval != nil && o.EvalEvery == 0 {
		o.EvalEvery = max(1, o.Steps/10)
	}
	return o
}

// withSteps works out the steps of the epochs.
func (o Options) withSteps(d data.Source) Options {
	if o.Epochs > 0 && o.Steps == 0 {
		parts := max(1, o.Accumulate)
		o.Steps = (o.Epochs*data.Epoch(d) + parts - 1) / parts
	}
	return o
}

// Text says what was trained and how it went.
func (t *Tuned) Text(width int) string {
	what := "all weights"
	if t.Adapter != nil {
		what = t.Adapter.String()
		what, _, _ = strings.Cut(what, " · ")
	}
	share := 100 * float64(t.trained) / float64(max(1, t.all))
	return lines.Fit(fmt.Sprintf("%s · %s of %s parameters (%.3g %%)\n%s", what, units.Int(int64(t.trained)), units.Int(int64(t.all)), share, t.History.Text(0)), width)
}

// String is Text.
func (t *Tuned) String() string { return t.Text(0) }

// JSON returns the history.
func (t *Tuned) JSON() ([]byte, error) { return t.History.JSON() }

// Plot returns the curve of the loss.
func (t *Tuned) Plot() Curves { return t.History.Plot() }
