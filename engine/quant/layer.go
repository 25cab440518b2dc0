package quant

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Linear is a linear layer with a quantised weight: y = x·Weight + Bias. The weight is frozen.
type Linear struct {
	Weight *Weight
	Bias   tensor.Tensor // [out], or none
}

// NewLinear quantises a linear layer. The layer itself stays as it is.
func NewLinear(l *nn.Linear, c Config) (*Linear, error) {
	w, err := Quantize(l.Weight, c)
	if err != nil {
		return nil, err
	}
	return &Linear{Weight: w, Bias: l.Bias}, nil
}

// In is the length of the rows that go in.
func (l *Linear) In() int { return l.Weight.In }

// Out is the length of the rows that come out.
func (l *Linear) Out() int { return l.Weight.Out }

// Forward maps x [… in] to [… out] in x's dtype.
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	return tensor.Linear(x, l.Weight.Dequantize(x.DType()), l.Bias)
}

// Matrix is what the layer multiplies by, as [nn.Linear.Matrix].
func (l *Linear) Matrix() (w tensor.Tensor, ok bool) { return l.Weight.Dequantized(), l.Bias.IsNone() }

// Members lists the parts of the weight, and the bias.
func (l *Linear) Members() []nn.Member {
	return nn.Present(append(l.Weight.members(), nn.Member{Name: "bias", Weight: &l.Bias})...)
}

// Parameters is the number of weights that the codes stand for.
func (l *Linear) Parameters() int { return l.Weight.In * l.Weight.Out }

// String describes the layer.
func (l *Linear) String() string {
	bias := ""
	if !l.Bias.IsNone() {
		bias = ", bias"
	}
	return fmt.Sprintf("Linear: %v%s", l.Weight, bias)
}

// An Embedding maps tokens to columns of a quantised weight, which can serve as the output layer, too. It is
// frozen.
type Embedding struct {
	Weight *Weight // [width vocabulary]: groups run along a token's vector
}

// NewEmbedding quantises an embedding. The embedding itself stays as it is.
func NewEmbedding(e *nn.Embedding, c Config) (*Embedding, error) {
	w, err := Quantize(e.Weight.Detach().Transpose().Named(e.Weight.Name()), c)
	if err != nil {
		return nil, err
	}
	return &Embedding{Weight: w}, nil
}

// Forward maps integers [B T] to f32 [B T width].
func (e *Embedding) Forward(tokens tensor.Tensor) tensor.Tensor {
	return e.Weight.Take(tokens, dtype.F32)
}

// Scores maps x [… width] to its products with every token's vector, [… vocabulary].
func (e *Embedding) Scores(x tensor.Tensor) tensor.Tensor { return e.Weight.MatMul(x) }

// Members lists the parts of the weight.
func (e *Embedding) Members() []nn.Member { return e.Weight.members() }

// Parameters is the number of weights that the codes stand for.
func (e *Embedding) Parameters() int { return e.Weight.In * e.Weight.Out }

// String describes the layer.
func (e *Embedding) String() string {
	return fmt.Sprintf("Embedding: vocabulary %d, %v", e.Weight.Out, e.Weight)
}

// parts are codes, scales, and the third part of each scheme that has one.
var parts = [...]string{"weight_codes", "weight_scales", "weight_zeros", "weight_minimums", "weight_table"}

// members lists the parts of a weight.
func (w *Weight) members() []nn.Member {
	list := []nn.Member{{Name: parts[0], Weight: &w.Codes, Fixed: true}, {Name: parts[1], Weight: &w.Scales, Fixed: true}}
	if w.Form != 0 {
		list = append(list, nn.Member{Name: parts[1+w.Form], Weight: &w.Extra, Fixed: true})
	}
	return list
}

// Parts are the names that the parts of a Weight of any scheme have in the place of a layer's "weight".
func Parts() []string { return slices.Clone(parts[:]) }
