package nn

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Sequential is layers one after the other:
//
//	m := nn.Sequential{nn.NewLinearBias(784, 64), nn.ReLU(), nn.NewLinearBias(64, 10)}
//
// A layer's name is its place, as in PyTorch ("0.weight"), and each place is a slot.
type Sequential []Layer

// NewMLP returns a multilayer perceptron with the given widths, at least two: linear layers with bias, and
// [ReLU] between two of them. [MLP] is the gated one of decoders.
func NewMLP(widths ...int) Sequential {
	if len(widths) < 2 {
		panic(&tensor.Error{Op: "nn.NewMLP", Msg: fmt.Sprintf("got widths %v, want at least two", widths)})
	}
	for _, n := range widths {
		positive("nn.NewMLP", length{"width", n})
	}
	var s Sequential
	for i, n := range widths[1:] {
		if i > 0 {
			s = append(s, ReLU())
		}
		s = append(s, NewLinearBias(widths[i], n))
	}
	return s
}

// Forward maps x through all layers.
func (s Sequential) Forward(x tensor.Tensor) tensor.Tensor {
	for _, l := range s {
		x = l.Forward(x)
	}
	return x
}

// Members lists the layers.
func (s Sequential) Members() []Member {
	list := make([]Member, len(s))
	for i := range s {
		list[i] = Member{Name: strconv.Itoa(i), Slot: &s[i]}
	}
	return list
}

// Save is the function [Save].
func (s Sequential) Save(path string) error { return Save(path, s) }

// Load is the function [Load].
func (s Sequential) Load(path string) error { return Load(path, s) }

// String describes the layers, one a line.
func (s Sequential) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sequential: %s", units.Plural(int64(len(s)), "layer"))
	for i, l := range s {
		text := strings.ReplaceAll(fmt.Sprint(l), "\n", "\n  ")
		fmt.Fprintf(&b, "\n  %d %s", i, text)
	}
	return b.String()
}
