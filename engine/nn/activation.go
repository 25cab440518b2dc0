package nn

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Func is a layer without weights: a function with a name.
type Func struct {
	Name  string
	Apply func(x tensor.Tensor) tensor.Tensor
}

// Forward returns Apply(x).
func (f Func) Forward(x tensor.Tensor) tensor.Tensor { return f.Apply(x) }

// orSiLU returns Apply(x), of the zero Func SiLU.
func (f Func) orSiLU(x tensor.Tensor) tensor.Tensor {
	if f.Apply == nil {
		return x.Silu()
	}
	return f.Apply(x)
}

// Members lists nothing.
func (f Func) Members() []Member { return nil }

// String is the function's name.
func (f Func) String() string { return f.Name }

// ReLU is max(x, 0).
func ReLU() Func { return Func{"ReLU", tensor.Tensor.Relu} }

// ReLU2 is max(x, 0)² (So and others 2021).
func ReLU2() Func {
	return Func{"ReLU2", func(x tensor.Tensor) tensor.Tensor { return x.Relu().Square() }}
}

// LeakyReLU is x, and slope·x below 0. PyTorch's slope is 0.01 if nothing is said.
func LeakyReLU(slope float64) Func {
	return Func{fmt.Sprintf("LeakyReLU: slope %g", slope), func(x tensor.Tensor) tensor.Tensor { return x.LeakyRelu(slope) }}
}

// ELU is x, and alpha·(eˣ − 1) below 0 (Clevert, Unterthiner and Hochreiter 2016).
func ELU(alpha float64) Func {
	return Func{fmt.Sprintf("ELU: alpha %g", alpha), func(x tensor.Tensor) tensor.Tensor { return x.Elu(alpha) }}
}

// GELU is x·Φ(x) (Hendrycks and Gimpel 2016).
func GELU() Func { return Func{"GELU", tensor.Tensor.Gelu} }

// GELUTanh is the approximation of [GELU] by a tanh.
func GELUTanh() Func { return Func{"GELUTanh", tensor.Tensor.GeluTanh} }

// SiLU is x·sigmoid(x).
func SiLU() Func { return Func{"SiLU", tensor.Tensor.Silu} }

// Sigmoid is 1/(1 + e⁻ˣ).
func Sigmoid() Func { return Func{"Sigmoid", tensor.Tensor.Sigmoid} }

// Tanh is the hyperbolic tangent.
func Tanh() Func { return Func{"Tanh", tensor.Tensor.Tanh} }

// Softplus is ln(1 + eˣ).
func Softplus() Func { return Func{"Softplus", tensor.Tensor.Softplus} }

// Softmax makes what lies along an axis positive, with the sum 1.
func Softmax(axis int) Func {
	return Func{fmt.Sprintf("Softmax: axis %d", axis), func(x tensor.Tensor) tensor.Tensor { return x.Softmax(axis) }}
}

// LogSoftmax is the logarithm of [Softmax].
func LogSoftmax(axis int) Func {
	return Func{fmt.Sprintf("LogSoftmax: axis %d", axis), func(x tensor.Tensor) tensor.Tensor { return x.LogSoftmax(axis) }}
}

// Flatten maps x [B …] to [B n].
func Flatten() Func {
	return Func{"Flatten", func(x tensor.Tensor) tensor.Tensor {
		if x.Rank() == 0 {
			panic(&tensor.Error{Op: "nn.Flatten", Msg: "got a tensor of rank 0, want an axis of examples"})
		}
		return x.Reshape(x.Len(0), ir.Size(x.Shape()[1:]))
	}}
}

// A XIELU is αp·x² + Beta·x, and αn·(eˣ − 1 − x) + Beta·x below 0, where αp is softplus(AlphaP) and αn is
// Beta + softplus(AlphaN) (Huang and Schlag 2024).
type XIELU struct {
	AlphaP, AlphaN tensor.Tensor // [1]
	Beta, Eps      tensor.Tensor // numbers; x is at most Eps in eˣ
}

// Forward computes it of each element.
func (f *XIELU) Forward(x tensor.Tensor) tensor.Tensor {
	beta := f.Beta.Detach()
	above := x.Square().Mul(f.AlphaP.Softplus())
	below := x.Minimum(f.Eps.Detach()).Expm1().Sub(x).Mul(f.AlphaN.Softplus().Add(beta))
	return tensor.Where(x.Gt(0), above, below).Add(x.Mul(beta)).Cast(x.DType())
}

// Members lists the weights.
func (f *XIELU) Members() []Member {
	return []Member{
		{Name: "alpha_p", Weight: &f.AlphaP}, {Name: "alpha_n", Weight: &f.AlphaN},
		{Name: "beta", Weight: &f.Beta, Fixed: true}, {Name: "eps", Weight: &f.Eps, Fixed: true},
	}
}

// A Dropout makes each element 0 with probability P in training, and divides the others by 1 − P (Srivastava
// et al. 2014). Otherwise it changes nothing. Package train says when a model is in training; elsewhere
// [SetTraining] does.
type Dropout struct {
	P        float64
	training bool
}

// NewDropout returns a dropout that is not in training. P is at least 0 and below 1.
func NewDropout(p float64) *Dropout {
	if !(p >= 0 && p < 1) {
		panic(&tensor.Error{Op: "nn.NewDropout", Msg: fmt.Sprintf("got p %v, want at least 0 and below 1", p)})
	}
	return &Dropout{P: p}
}

// SetTraining says whether dropout takes place.
func (d *Dropout) SetTraining(on bool) { d.training = on }

// Forward returns x, in training with some elements dropped.
func (d *Dropout) Forward(x tensor.Tensor) tensor.Tensor {
	if !d.training || d.P == 0 {
		return x
	}
	return tensor.Dropout(x, d.P)
}

// Members lists nothing.
func (d *Dropout) Members() []Member { return nil }

// String describes the layer.
func (d *Dropout) String() string { return fmt.Sprintf("Dropout: p %g", d.P) }
