// Package lora adapts a model with few parameters: beside a frozen weight W [in out] it trains A [in rank]
// and B [rank out], and the layer computes x·W + scale·(x·A)·B (Hu et al.: LoRA, 2021).
//
// [Inject] puts adapters into a model and freezes everything else; training then changes the adapters only.
// [Adapter.Merge] adds them to the weights, [Adapter.Unmerge] puts back exactly what was there. [Of] finds
// the adapters of a model, [Remove] takes them out. Files are those of PEFT.
package lora

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// AllLinear as Config.Targets means every linear layer but the output layer lm_head.
const AllLinear = nn.AllLinear

// A Config says what is adapted, and how strongly.
type Config struct {
	Rank  int     // of A and B; 0 means 8
	Alpha float64 // scale = Alpha/Rank; 0 means 2·Rank
	// Targets chooses layers, as nn.Targeted says; empty means AllLinear.
	Targets string
	// RankStabilized makes scale = Alpha/√Rank (Kalajdzievski 2023).
	RankStabilized bool
	// Dropout is the probability with which the adapter does not see an element of x, in training only; it
	// sees the others divided by 1 − Dropout. Which elements these are follows from [tensor.Seed].
	Dropout float64
	Seed    uint64 // of A's random values
}

func (c Config) withDefaults() Config {
	if c.Rank == 0 {
		c.Rank = 8
	}
	if c.Alpha == 0 {
		c.Alpha = 2 * float64(c.Rank)
	}
	if c.Targets == "" {
		c.Targets = AllLinear
	}
	return c
}

// Scale is the factor of (x·A)·B.
func (c Config) Scale() float64 {
	c = c.withDefaults()
	if c.RankStabilized {
		return c.Alpha / math.Sqrt(float64(c.Rank))
	}
	return c.Alpha / float64(c.Rank)
}

// A Linear is a linear layer with an adapter.
type Linear struct {
	Base  nn.Layer      // an *nn.Linear, or a *quant.Linear whose codes stay as they are
	A     tensor.Tensor // [in rank]
	B     tensor.Tensor // [rank out]
	Rank  int
	Scale float64
	// Dropout is the probability with which the adapter does not see an element of x, while the layer is in
	// training.
	Dropout float64

	adapter  *Adapter // that the layer is one of, or nil
	training bool
	before   tensor.Tensor // the base's weight while the adapter is merged into it, or none
	codes    *quant.Linear // the quantised base while a merged one stands in its place, or nil
}

// parts returns weight [in out] and bias of a base; the weight of a quantised one is lazy, in x's dtype.
func parts(base nn.Layer, dt dtype.Type) (weight, bias tensor.Tensor) {
	switch b := base.(type) {
	case *nn.Linear:
		return b.Weight, b.Bias
	case *quant.Linear:
		return b.Weight.Dequantize(dt), b.Bias
	}
	panic(&tensor.Error{Op: "lora.Wrap", Msg: fmt.Sprintf("got %T, want *nn.Linear or *quant.Linear", base)})
}

// Wrap puts an adapter beside a layer, plain or quantised, and freezes the layer. A is uniform in ±1/√in, B
// is 0: at first the layer computes what it did. Wrap panics with a *tensor.Error for numbers that Inject
// refuses.
func Wrap(base nn.Layer, c Config) *Linear {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		panic(&tensor.Error{Op: "lora.Wrap", Msg: err.Error()})
	}
	l := beside(base, c, tensor.NewRNG(c.Seed))
	nn.Freeze(base)
	return l
}

// beside makes the adapter of a layer, which it leaves as it is.
func beside(base nn.Layer, c Config, rng *tensor.RNG) *Linear {
	w, _ := parts(base, dtype.F32)
	in, out, dt := w.Len(0), w.Len(1), w.DType()
	if dt.Size() == 2 { // the steps of training would be lost in half precision
		dt = dtype.F32
	}
	bound := 1 / math.Sqrt(max(1, float64(in)))
	return &Linear{
		Base:    base,
		A:       rng.Rand(in, c.Rank).Mul(2 * bound).Sub(bound).Cast(dt).To(w.Device()).Named("lora_A").Param(),
		B:       tensor.Zeros(c.Rank, out).Cast(dt).To(w.Device()).Named("lora_B").Param(),
		Rank:    c.Rank,
		Scale:   c.Scale(),
		Dropout: c.Dropout,
	}
}

// check says what is wrong with the numbers of a configuration.
func (c Config) check() error {
	if c.Rank < 1 {
		return fmt.Errorf("got rank %d, want at least 1", c.Rank)
	}
	if !(c.Alpha > 0) || math.IsInf(c.Alpha, 0) {
		return fmt.Errorf("got alpha %v, want a positive number", c.Alpha)
	}
	if !(c.Dropout >= 0 && c.Dropout <= 1) {
		return fmt.Errorf("got dropout %v, want a probability from 0 to 1", c.Dropout)
	}
	return nil
}

// In is the length of the rows that go in.
func (l *Linear) In() int { return l.A.Len(0) }

// Out is the length of the rows that come out.
func (l *Linear) Out() int { return l.B.Len(1) }

// SetTraining says whether dropout takes place; package train calls it around training.
func (l *Linear) SetTraining(on bool) { l.training = on }

// Forward computes x·W + scale·(x·A)·B, or x·W alone while the adapter is merged into W. In training dropout
// changes what A sees of x, not what W does.
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	if l.Merged() {
		return l.Base.Forward(x)
	}
	w, bias := parts(l.Base, x.DType())
	var y tensor.Tensor
	if l.training && l.Dropout > 0 {
		seen := tensor.Dropout(x, l.Dropout)
		dt := seen.DType()
		down := seen.MatMul(l.A.Cast(dt)).Mul(l.Scale)
		y = x.MatMul(w.Cast(dt)).Add(down.MatMul(l.B.Cast(dt)))
	} else {
		y = tensor.LoRALinear(x, w, l.A, l.B, l.Scale)
	}
	if !bias.IsNone() {
		y = y.Add(bias)
	}
	return y
}

// Members lists the base's weights, which are frozen, then lora_A and lora_B.
func (l *Linear) Members() []nn.Member { return append(l.Base.Members(), l.factors()...) }

func (l *Linear) factors() []nn.Member {
	return []nn.Member{{Name: "lora_A", Weight: &l.A}, {Name: "lora_B", Weight: &l.B}}
}

// Parameters is the number of parameters that the base stores as codes.
func (l *Linear) Parameters() int {
	if b, ok := l.Base.(*quant.Linear); ok {
		return b.Parameters()
	}
	return 0
}

// Merged says whether the adapter is part of the base's weight now.
func (l *Linear) Merged() bool { return !l.before.IsNone() || l.codes != nil }

// Merge adds scale·A·B to the base's weight. It keeps the weight as it was for Unmerge, which costs as much
// memory again. A plain base in f32 stands in for a quantised one until Unmerge, because the sum would not
// fit the codes; then the codes are kept.
func (l *Linear) Merge() {
	if l.Merged() {
		return
	}
	w, bias := parts(l.Base, dtype.F32)
	sum := w.Add(l.A.MatMul(l.B).Mul(l.Scale)).Cast(w.DType()).Detach()
	if b, ok := l.Base.(*quant.Linear); ok {
		l.codes = b
		l.Base = &nn.Linear{Weight: sum.Eval().Named("weight"), Bias: bias}
		return
	}
	l.before = w.Snapshot()
	w.Set(sum)
}

// Unmerge puts the base's weight back, bit for bit.
func (l *Linear) Unmerge() {
	switch {
	case l.codes != nil:
		l.Base, l.codes = l.codes, nil
	case l.Merged():
		w, _ := parts(l.Base, dtype.F32)
		w.Set(l.before)
		l.before = tensor.Tensor{}
	}
}

// String says what the layer is and how many of its parameters are trained.
func (l *Linear) String() string {
	trained := l.A.Size() + l.B.Size()
	all, _ := nn.Size(l)
	return fmt.Sprintf("in %d, out %d, rank %d, scale %g · %d trainable of %d (%.2g %%)",
		l.In(), l.Out(), l.Rank, l.Scale, trained, all, 100*float64(trained)/float64(all))
}

// An Adapter is all of the low-rank layers that were put into a model.
type Adapter struct {
	Config Config
	names  []string
	layers []*Linear
}

// Inject freezes the model and puts an adapter beside each linear layer that c.Targets chooses. It is an
// error if none is chosen, if one has an adapter already, or if the numbers of c make no adapter; the model
// then stays as it was.
func Inject(m nn.Module, c Config) (*Adapter, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	ad := &Adapter{Config: c}
	var slots []*nn.Layer
	for _, s := range linears(m) {
		ok, err := nn.Targeted(c.Targets, s.name)
		if err != nil {
			return nil, fmt.Errorf("lora: %w", err)
		}
		if !ok {
			continue
		}
		if _, adapted := (*s.layer).(*Linear); adapted {
			return nil, adaptedAlready(s.name)
		}
		ad.names, slots = append(ad.names, s.name), append(slots, s.layer)
	}
	if len(slots) == 0 {
		return nil, fmt.Errorf("lora: targets %q choose no linear layer of the model", c.Targets)
	}
	err := tensor.Try(func() { // there may be no memory
		rng := tensor.NewRNG(c.Seed)
		for i, slot := range slots {
			l := beside(*slot, c, rng)
			l.adapter = ad
			l.A.Named(ad.names[i] + ".lora_A")
			l.B.Named(ad.names[i] + ".lora_B")
			ad.layers = append(ad.layers, l)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("lora: %w", err)
	}
	nn.Freeze(m)
	for i, slot := range slots {
		*slot = ad.layers[i]
	}
	return ad, nil
}

// adaptedAlready is the error of a layer that cannot have a second adapter.
func adaptedAlready(name string) error {
	return fmt.Errorf("lora: %s has an adapter already: lora.Of(model) returns it, and lora.Remove(model) takes it out to make room for another one", name)
}

// Of returns the adapters of a model that Inject and Load put there, in the order of their first layers.
func Of(m nn.Module) []*Adapter {
	var list []*Adapter
	for _, s := range linears(m) {
		if l, ok := (*s.layer).(*Linear); ok && l.adapter != nil && !slices.Contains(list, l.adapter) {
			list = append(list, l.adapter)
		}
	}
	return list
}

// Remove takes all adapters out of a model; the base's layers stay as they are now, merged or not, and stay
// frozen. It is an error if there is none.
func Remove(m nn.Module) error {
	if remove(m, func(*Linear) bool { return true }) == 0 {
		return errors.New("lora: the model has no adapter")
	}
	return nil
}

// remove takes the adapters that out chooses out of the model, and returns of how many layers.
func remove(m nn.Module, out func(l *Linear) bool) (count int) {
	for _, s := range linears(m) {
		if l, ok := (*s.layer).(*Linear); ok && out(l) {
			*s.layer = l.Base
			count++
		}
	}
	return count
}

// A slot is a place of a model that holds a linear layer, adapted or not.
type slot struct {
	name  string
	layer *nn.Layer
}

// A projection is a layer that multiplies by a weight [In Out], which it may store in any form: all that
// linears lists.
type projection interface {
	nn.Layer
	In() int
	Out() int
}

// linears lists the linear layers of a model that can be exchanged. What an adapted layer is made of is not
// listed.
func linears(m nn.Module) []slot {
	var list []slot
	nn.Walk(m, func(path string, member nn.Member) {
		if member.Slot == nil {
			return
		}
		switch (*member.Slot).(type) {
		case *nn.Linear, *quant.Linear, *Linear:
			list = append(list, slot{path, member.Slot})
		}
	})
	return list
}

// Remove takes the adapter out of the model; the base's layers stay as they are now, merged or not, and stay
// frozen. It is an error if no layer of the model has it. The function [Remove] takes out whatever is there.
func (a *Adapter) Remove(m nn.Module) error {
	if remove(m, func(l *Linear) bool { return slices.Contains(a.layers, l) }) > 0 {
		return nil
	}
	switch others := Of(m); {
	case len(a.layers) == 0:
		return errors.New("lora: this adapter has no layers: Inject and Load make one; lora.Remove(model) takes out what a model has")
	case len(others) > 0:
		return errors.New("lora: the model has another adapter than this one; lora.Remove(model) takes it out")
	}
	return errors.New("lora: the adapter is not in this model")
}

// Params returns what is trained: lora_A and lora_B of each layer, under the layer's name.
func (a *Adapter) Params() []nn.Param {
	var list []nn.Param
	for i, l := range a.layers {
		for _, m := range l.factors() {
			list = append(list, nn.NewParam(a.names[i]+"."+m.Name, m.Weight))
		}
	}
	return list
}

// Trained is the number of trained parameters.
func (a *Adapter) Trained() int { return nn.Count(a.Params()) }

// Layers returns the names of the adapted layers.
func (a *Adapter) Layers() []string { return append([]string(nil), a.names...) }

// Merge adds all adapters to their weights: the model then costs what it cost without them.
func (a *Adapter) Merge() {
	for _, l := range a.layers {
		l.Merge()
	}
}

// Unmerge puts all weights back, bit for bit.
func (a *Adapter) Unmerge() {
	for _, l := range a.layers {
		l.Unmerge()
	}
}

// String says what is adapted.
func (a *Adapter) String() string {
	dropout := ""
	if a.Config.Dropout > 0 {
		dropout = fmt.Sprintf(", dropout %g", a.Config.Dropout)
	}
	return fmt.Sprintf("LoRA rank %d, scale %g%s, %d layers · %d trained parameters", a.Config.Rank, a.Config.Scale(), dropout, len(a.layers), a.Trained())
}
