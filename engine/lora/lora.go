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
