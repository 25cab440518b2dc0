package quant

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Grouped computes in the place of an nn.Grouped, with a stack of weights in codes. They are frozen.
type Grouped struct {
	Weight *Weight // of as many matrices as there are groups
}

// NewGrouped quantises layers beside each other. The layers themselves stay as they are.
func NewGrouped(g *nn.Grouped, c Config) (*Grouped, error) {
	w, err := Quantize(g.Weight, c)
	if err != nil {
		return nil, err
	}
	return &Grouped{Weight: w}, nil
}

// quantizeStack is Quantize of each matrix.
func quantizeStack(w tensor.Tensor, c Config) (*Weight, error) {
	matrices, out := w.Len(0), w.Len(2)
	list := make([]*Weight, matrices)
	for i := range list {
		var err error
		if list[i], err = Quantize(w.Detach().Select(0, i).Named(w.Name()), c); err != nil {
			return nil, err
		}
	}
	r, err := Join(list, []int{matrices, out}, []int{0, 1})
	if err == nil {
		r.name(w.Name())
	}
	return r, err
}

// Of maps x [… in] to [… out], each row by the matrix that an index [… ] of integers names.
func (g *Grouped) Of(x, index tensor.Tensor) tensor.Tensor {
	return tensor.GroupedMatMul(x, g.Weight.Dequantize(x.DType()), index)
}

// Forward maps x [groups rows in] to [groups rows out], the rows of each group by its matrix.
func (g *Grouped) Forward(x tensor.Tensor) tensor.Tensor { return nn.EachGroup(g, x) }

// Members lists the parts of the weights.
func (g *Grouped) Members() []nn.Member { return g.Weight.members() }

// Parameters is the number of weights that the codes stand for.
func (g *Grouped) Parameters() int { return g.Weight.Matrices * g.Weight.In * g.Weight.Out }

// String describes the layer.
func (g *Grouped) String() string { return fmt.Sprintf("Grouped: %v", g.Weight) }

// Join makes a stack of the outputs of weights of one Config and as many inputs: all outputs one after the
// other, of which those of all weights are an array of dims, with its axes in another order. The first of
// them is that of the stack then. What is joined is freed if the stack is a copy of it.
func Join(list []*Weight, dims, axes []int) (*Weight, error) {
	first, total := list[0], ir.Size(dims)
	// Blocks go where they belong as a whole, if no block has outputs that part.
	last, each := len(dims)-1, lanes
	if axes[last] != last || dims[last]%lanes != 0 {
		each = 1
	}
	outputs := 0
	for _, w := range list {
		if w.Config != first.Config || w.In != first.In {
			return nil, fmt.Errorf("quant: got [%d %d] %v beside [%d %d] %v, want codes of one kind", w.In, w.Out, w.Config, first.In, first.Out, first.Config)
		}
		outputs += max(1, w.Matrices) * w.Out
		if w.Out%lanes != 0 {
			each = 1
		}
	}
	if outputs != total {
		return nil, fmt.Errorf("quant: got %d outputs in all, want those of %v", outputs, dims)
	}
	r := *first
	r.Matrices = dims[axes[0]]
	r.Out = total / r.Matrices
	if len(list) == 1 && each == lanes && slices.IsSorted(axes) {
		return &r, nil
	}
	return &r, tensor.Try(func() {
		join := func(part func(w *Weight) *tensor.Tensor, bytes int) {
			var all []tensor.Tensor
			for _, w := range list {
				all = append(all, w.outputs(*part(w), each, bytes))
			}
			t := tensor.Concat(all, 0)
			shape := slices.Clone(dims)
			shape[last] /= each
			t = t.Reshape(append(shape, t.Len(1))...).Permute(append(slices.Clone(axes), len(axes))...)
			*part(&r) = r.blocks(t.Reshape(r.Matrices, r.Out/each, t.Len(-1)), each, bytes).Eval()
			for _, w := range list {
				part(w).Free()
			}
		}
		join(func(w *Weight) *tensor.Tensor { return &w.Codes }, 4)
		join(func(w *Weight) *tensor.Tensor { return &w.Scales }, 1)
		if r.Form == int(Affine) || r.Form == int(Minimum) {
			join(func(w *Weight) *tensor.Tensor { return &w.Extra }, 1)
		}
	})
}

// outputs are those of a part [blocks lines bytes·16] of a weight, or its blocks, as rows.
func (w *Weight) outputs(t tensor.Tensor, each, bytes int) tensor.Tensor {
	matrices, lines := max(1, w.Matrices), t.Len(1)
	if each == lanes {
		return t.Reshape(t.Len(0), lines*lanes*bytes)
	}
	t = t.Reshape(t.Len(0), lines, lanes, bytes).Permute(0, 2, 1, 3)
	return t.Reshape(matrices, -1, lines*bytes).Slice(1, 0, w.Out).Reshape(matrices*w.Out, lines*bytes)
}

// blocks is the inverse of outputs.
func (w *Weight) blocks(t tensor.Tensor, each, bytes int) tensor.Tensor {
	if each == lanes {
		return t.Reshape(t.Len(0)*t.Len(1), -1, lanes*bytes)
	}
	lines := t.Len(2) / bytes
	filled := t.Pad(1, 0, (lanes-w.Out%lanes)%lanes, 0).Reshape(-1, lanes, lines, bytes)
	return filled.Permute(0, 2, 1, 3).Reshape(-1, lines, lanes*bytes)
}
