package lora

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
)

// An Adapter is all of the low-rank layers that were put into a model.
type Adapter struct {
	Config Config
	names  []string
	layers []*Linear
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
