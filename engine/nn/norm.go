package nn

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An RMSNorm is x/√(mean x² + Eps)·(Weight + Plus) along the last axis (Zhang and Sennrich 2019).
type RMSNorm struct {
	Weight tensor.Tensor // [width]
	Eps    float64
	Plus   float64 // 1 in Gemma, whose weights are near 0; else 0
	Groups int     // parts of a row that are normalised each by itself (Mamba-2); 0 means 1
}

// NewRMSNorm returns a norm whose weight is 1. Eps is a finite number that is not negative.
func NewRMSNorm(width int, eps float64) *RMSNorm {
	positive("nn.NewRMSNorm", length{"width", width})
	notNegative("nn.NewRMSNorm", "eps", eps)
	return &RMSNorm{Weight: tensor.Ones(width).Named("weight").Param(), Eps: eps}
}

// Forward normalises the rows of x [… width].
func (n *RMSNorm) Forward(x tensor.Tensor) tensor.Tensor {
	weight := n.Weight
	if n.Plus != 0 {
		weight = weight.Add(n.Plus)
	}
	if n.Groups > 1 {
		parts := inGroups(x, n.Groups)
		return parts.RMSNorm(tensor.Tensor{}, n.Eps).Mul(weight.Reshape(parts.Shape()[parts.Rank()-2:]...)).Reshape(x.Shape()...)
	}
	return x.RMSNorm(weight, n.Eps)
}

// inGroups turns x [… width] into [… groups width/groups].
func inGroups(x tensor.Tensor, groups int) tensor.Tensor {
	shape := x.Shape()
	last := len(shape) - 1
	return x.Reshape(append(shape[:last:last], groups, shape[last]/groups)...)
}

// Members lists the weight.
func (n *RMSNorm) Members() []Member { return []Member{{Name: "weight", Weight: &n.Weight}} }

// String describes the layer.
func (n *RMSNorm) String() string {
	return fmt.Sprintf("RMSNorm: width %d, eps %g", n.Weight.Len(0), n.Eps)
}

// A LayerNorm is (x − mean)/√(variance + Eps)·(Weight + Plus) + Bias along the last axis (Ba, Kiros and
// Hinton 2016).
type LayerNorm struct {
	Weight, Bias tensor.Tensor // [width]; Bias may be none, and both
	Eps          float64
	Plus         float64 // 1 in Nemotron, whose weights are near 0; else 0
	Groups       int     // parts of a row that are normalised each by itself, without Bias; Weight is [groups part] then (Command R+); 0: there are none
}

// NewLayerNorm returns a norm whose weight is 1 and whose bias is 0. Eps is a finite number that is not
// negative.
func NewLayerNorm(width int, eps float64) *LayerNorm {
	positive("nn.NewLayerNorm", length{"width", width})
	notNegative("nn.NewLayerNorm", "eps", eps)
	return &LayerNorm{Weight: tensor.Ones(width).Named("weight").Param(), Bias: tensor.Zeros(width).Named("bias").Param(), Eps: eps}
}

// Forward normalises the rows of x [… width].
func (n *LayerNorm) Forward(x tensor.Tensor) tensor.Tensor {
	weight := n.Weight
	if n.Plus != 0 {
		weight = weight.Add(n.Plus)
	}
	if n.Groups > 0 {
		parts := inGroups(x, n.Groups)
		return parts.LayerNorm(tensor.Tensor{}, tensor.Tensor{}, n.Eps).Mul(weight.Reshape(parts.Shape()[parts.Rank()-2:]...)).Reshape(x.Shape()...)
	}
	return x.LayerNorm(weight, n.Bias, n.Eps)
}

// Members lists the weight, and the bias if there is one.
func (n *LayerNorm) Members() []Member {
	return Present(Member{Name: "weight", Weight: &n.Weight}, Member{Name: "bias", Weight: &n.Bias})
}

// String describes the layer.
func (n *LayerNorm) String() string {
	if n.Weight.IsNone() {
		return fmt.Sprintf("LayerNorm: no weights, eps %g", n.Eps)
	}
	return fmt.Sprintf("LayerNorm: width %d, eps %g", n.Weight.Len(0), n.Eps)
}
