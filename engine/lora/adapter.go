package lora

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// An Adapter is all of the low-rank layers that were put into a model.
type Adapter struct {
	Config  Config
	names   []string
	layers  []*Linear
	parts   []*Part // of the layers
	off     bool
	factor  float64   // of what it adds
	wholes  []*whole  // what it trains without A and B
	merged  bool      // Merge was called, and Unmerge was not
	blocks  int       // of the model
	model   nn.Module // nil after it was removed
	routers []string  // names of layers that files of PEFT have as weights
	lock    *nn.Steps // of the model's steps; nil: the model has none, or the adapter was removed
}

// change calls f between two steps of the model.
func (a *Adapter) change(f func()) {
	if lock := a.lock; lock != nil {
		lock.Lock()
		defer lock.Unlock()
	}
	f()
}

// removed forgets the layer that a part was taken out of, so that an adapter that somebody still has, to save
// it for example, holds no memory of the model.
func (a *Adapter) removed(p *Part) {
	a.layers[slices.Index(a.parts, p)] = nil
	if !slices.ContainsFunc(a.layers, func(l *Linear) bool { return l != nil }) {
		a.release()
	}
}

// Is says whether c, with its zero values filled in, is the configuration that the adapter was made with.
func (a *Adapter) Is(c Config) bool {
	return reflect.DeepEqual(a.Config.withDefaults(), c.withDefaults())
}

// Name is what the adapter is called.
func (a *Adapter) Name() string { return a.Config.withDefaults().Name }

// Remove takes the adapter out of the model; the base's layers stay as they are now, merged or not, and stay
// frozen. It is an error if no layer of the model has it. The function [Remove] takes out whatever is there.
func (a *Adapter) Remove(m nn.Module) error {
	if remove(m, func(b *Adapter) bool { return a == b }) > 0 {
		return nil
	}
	if len(a.parts) == 0 && a.model == m && m != nil {
		a.change(a.release)
		return nil
	}
	switch others := Of(m); {
	case len(a.parts) == 0:
		return errors.New("lora: this adapter has no layers: Inject and Load make one; lora.Remove(model) takes out what a model has")
	case len(others) > 0:
		return errors.New("lora: the model has another adapter than this one; lora.Remove(model) takes it out")
	}
	return errors.New("lora: the adapter is not in this model")
}

// Params returns what is trained: lora_A and lora_B of each layer, under the names that they have in the
// model.
func (a *Adapter) Params() []nn.Param {
	var list []nn.Param
	for i, p := range a.parts {
		for _, m := range p.factors() {
			list = append(list, nn.NewParam(a.names[i]+"."+m.Name, m.Weight))
		}
	}
	for _, w := range a.wholes {
		list = append(list, w.param)
	}
	return list
}

// Freeze takes the adapter out of training. What it computes stays.
func (a *Adapter) Freeze() {
	for _, p := range a.Params() {
		p.Freeze()
	}
}

// Unfreeze makes the adapter trainable again, after the model was frozen: for another adapter, for example.
func (a *Adapter) Unfreeze() {
	for _, p := range a.Params() {
		p.Unfreeze()
	}
}

// Trained is the number of parameters that training the adapter changes.
func (a *Adapter) Trained() int { return nn.Count(a.Params()) }

// Layers returns the names of the adapted layers.
func (a *Adapter) Layers() []string { return slices.Compact(slices.Clone(a.names)) }

// On says whether the adapter takes part.
func (a *Adapter) On() bool { return !a.off }

// Enable lets the adapter take part, beside the others that are on. [Use] turns these off.
//
// It panics with a *tensor.Error if another one that is on trains the same weight whole, or if the adapter
// waits on another device.
func (a *Adapter) Enable() {
	if err := a.elsewhere(); err != nil {
		panic(&tensor.Error{Op: "lora.Enable", Msg: err.Error()})
	}
	if a.model != nil && a.off {
		if other, weight := a.rival(Of(a.model)); other != nil {
			panic(&tensor.Error{Op: "lora.Enable", Msg: fmt.Sprintf("%s is trained whole by %q, too, which is on", weight, other.Name())})
		}
	}
	a.change(func() { a.turn(true) })
}

// Disable takes the adapter out of the computation, also where it is merged, until Enable.
func (a *Adapter) Disable() { a.change(func() { a.turn(false) }) }

// Weigh lets the adapter count by a factor: 1 is as it was trained, 0.5 half as strong, −1 the opposite. It
// panics with a *tensor.Error for a factor that is not finite.
func (a *Adapter) Weigh(factor float64) {
	if math.IsNaN(factor) || math.IsInf(factor, 0) {
		panic(&tensor.Error{Op: "lora.Weigh", Msg: fmt.Sprintf("got factor %v, want a finite number", factor)})
	}
	a.change(func() { a.factor = factor })
}

// Weight is the factor that Weigh set.
func (a *Adapter) Weight() float64 { return a.factor }

// Unmerge takes the adapter out of the weights, which are then, bit for bit, what they would be without it.
func (a *Adapter) Unmerge() {
	a.change(func() {
		a.merged = false
		for i, l := range a.layers {
			if l != nil {
				l.unmerge(a.parts[i])
			}
		}
	})
}

// String says what is adapted, and in what way it takes part unless that is the usual way.
func (a *Adapter) String() string {
	text := "LoRA"
	switch {
	case a.Config.Full:
		text = "full fine-tuning"
	case a.Config.DoRA:
		text = "DoRA"
	}
	if name := a.Name(); name != DefaultName {
		text += fmt.Sprintf(" %q", name)
	}
	if len(a.parts) > 0 {
		text += " " + a.strength()
	}
	if a.Config.Dropout > 0 {
		text += fmt.Sprintf(", dropout %g", a.Config.Dropout)
	}
	if a.Config.LoRABias {
		text += ", biases of B"
	}
	if a.factor != 1 {
		text += fmt.Sprintf(", times %g", a.factor)
	}
	if a.off {
		text += ", off"
	}
	if n := len(a.Layers()); n > 0 {
		text += ", " + units.Plural(int64(n), "layer")
	}
	if n := len(a.wholes); n > 0 {
		text += fmt.Sprintf(", %s whole", units.Plural(int64(n), "weight"))
	}
	return fmt.Sprintf("%s · %d trained parameters", text, a.Trained())
}

// strength says rank and scale, of the least and of the greatest layer if they differ.
func (a *Adapter) strength() string {
	c := a.Config.withDefaults()
	ranks, scales := []int{}, []float64{}
	for _, p := range a.parts {
		if p.tokens == nil {
			ranks, scales = append(ranks, p.Rank), append(scales, p.Scale)
		}
	}
	if len(ranks) == 0 {
		return fmt.Sprintf("%d tokens", len(c.Tokens))
	}
	span := func(least, greatest any) string {
		if least == greatest {
			return fmt.Sprint(least)
		}
		return fmt.Sprintf("%v to %v", least, greatest)
	}
	return fmt.Sprintf("rank %s, scale %s", span(slices.Min(ranks), slices.Max(ranks)), span(slices.Min(scales), slices.Max(scales)))
}
