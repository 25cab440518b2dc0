package conformance

import (
	"math"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// elementwise are the operators that compute each element by itself, with numbers as results.
var elementwise = map[string]operator{
	"Abs": unary(tensor.Tensor.Abs), "Neg": unary(tensor.Tensor.Neg), "Sign": unary(tensor.Tensor.Sign),
	"Floor": unary(tensor.Tensor.Floor), "Ceil": unary(tensor.Tensor.Ceil), "Round": unary(tensor.Tensor.Round),
	"Sqrt": unary(tensor.Tensor.Sqrt), "Reciprocal": unary(tensor.Tensor.Recip),
	"Exp": unary(tensor.Tensor.Exp), "Log": unary(tensor.Tensor.Log), "Erf": unary(tensor.Tensor.Erf),
	"Sin": unary(tensor.Tensor.Sin), "Cos": unary(tensor.Tensor.Cos), "Tan": unary(tensor.Tensor.Tan),
	"Asin": unary(tensor.Tensor.Asin), "Acos": unary(tensor.Tensor.Acos), "Atan": unary(tensor.Tensor.Atan),
	"Sinh": unary(tensor.Tensor.Sinh), "Cosh": unary(tensor.Tensor.Cosh), "Tanh": unary(tensor.Tensor.Tanh),
	"Asinh": unary(tensor.Tensor.Asinh), "Acosh": unary(tensor.Tensor.Acosh), "Atanh": unary(tensor.Tensor.Atanh),
	"Sigmoid": unary(tensor.Tensor.Sigmoid), "Relu": unary(tensor.Tensor.Relu),
	"Softplus": unary(tensor.Tensor.Softplus), "Softsign": unary(func(x tensor.Tensor) tensor.Tensor { return x.Div(x.Abs().Add(1)) }),
	"Mish":      unary(func(x tensor.Tensor) tensor.Tensor { return x.Mul(x.Softplus().Tanh()) }),
	"HardSwish": unary(func(x tensor.Tensor) tensor.Tensor { return x.Mul(x.Div(6).Add(0.5).Clip(0, 1)) }),

	"Elu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor { return x.Elu(c.number("alpha", 1)) }),
	"Celu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		alpha := c.number("alpha", 1)
		return x.Maximum(0).Add(x.Minimum(0).Div(alpha).Expm1().Mul(alpha))
	}),
	"Selu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		alpha, gamma := c.number("alpha", 1.67326319217681884765625), c.number("gamma", 1.05070102214813232421875)
		return tensor.Where(x.Gt(0), x, x.Minimum(0).Expm1().Mul(alpha)).Mul(gamma)
	}),
	"LeakyRelu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor { return x.LeakyRelu(c.number("alpha", 0.01)) }),
	"ThresholdedRelu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		return tensor.Where(x.Gt(c.number("alpha", 1)), x, 0)
	}),
	"HardSigmoid": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		return x.Mul(c.number("alpha", 0.2)).Add(c.number("beta", 0.5)).Clip(0, 1)
	}),
	"Shrink": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		limit, bias := c.number("lambd", 0.5), c.number("bias", 0)
		return tensor.Where(x.Lt(-limit), x.Add(bias), tensor.Where(x.Gt(limit), x.Sub(bias), 0))
	}),
	"Swish": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		return x.Mul(x.Mul(c.number("alpha", 1)).Sigmoid())
	}),
	"Gelu": shaped(func(c *call, x tensor.Tensor) tensor.Tensor {
		if c.text("approximate", "none") == "tanh" {
			return x.GeluTanh()
		}
		return x.Gelu()
	}),
	"SwiGLU": func(c *call) []value {
		a, b := c.real(c.x(0)), c.real(c.x(1))
		return c.result(a.Mul(a.Mul(c.number("alpha", 1)).Sigmoid()).Mul(b), c.x(0).kind)
	},
	"PRelu": binary2(func(x, slope tensor.Tensor) tensor.Tensor { return tensor.Where(x.Lt(0), x.Mul(slope), x) }),

	"Add": binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.Add(y) }),
	"Sub": binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.Sub(y) }),
	"Mul": binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }),
	"Div": binary2(func(x, y tensor.Tensor) tensor.Tensor {
		if x.DType().Float() {
			return x.Div(y)
		}
		return x.TruncDiv(y)
	}),
	"Mod": func(c *call) []value {
		x, y := c.x(0), c.x(1)
		if c.flag("fmod", 0) {
			return c.result(x.Fmod(y.Tensor), x.kind)
		}
		return c.result(x.Mod(y.Tensor), x.kind)
	},
	"Pow": pow,

	"Max":  fold(func(x, y tensor.Tensor) tensor.Tensor { return x.Maximum(y) }),
	"Min":  fold(func(x, y tensor.Tensor) tensor.Tensor { return x.Minimum(y) }),
	"Sum":  fold(func(x, y tensor.Tensor) tensor.Tensor { return x.Add(y) }),
	"Mean": mean,
	"Clip": clip,

	"BitwiseNot": unary(tensor.Tensor.Not),
	"BitwiseAnd": binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.And(y) }),
	"BitwiseOr":  binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.Or(y) }),
	"BitwiseXor": binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.Xor(y) }),
	"BitShift":   bitShift,

	"HannWindow":     window(0.5, 0.5, 0),
	"HammingWindow":  window(25./46, 21./46, 0),
	"BlackmanWindow": window(0.42, 0.5, 0.08),
}

func unary(f func(tensor.Tensor) tensor.Tensor) operator {
	return func(c *call) []value { return c.result(f(c.x(0).Tensor), c.x(0).kind) }
}

// shaped is unary with attributes; it is computed in f32 or wider.
func shaped(f func(c *call, x tensor.Tensor) tensor.Tensor) operator {
	return func(c *call) []value { return c.result(f(c, c.real(c.x(0))), c.x(0).kind) }
}

func binary2(f func(x, y tensor.Tensor) tensor.Tensor) operator {
	return func(c *call) []value { return c.result(f(c.x(0).Tensor, c.second().Tensor), c.x(0).kind) }
}

// fold combines any number of inputs.
func fold(f func(x, y tensor.Tensor) tensor.Tensor) operator {
	return func(c *call) []value {
		y := c.x(0).Tensor
		for i := range c.in[1:] {
			y = f(y, c.x(i+1).Tensor)
		}
		return c.result(y, c.x(0).kind)
	}
}

func mean(c *call) []value {
	sum := c.real(c.x(0))
	for i := range c.in[1:] {
		sum = sum.Add(c.real(c.x(i + 1)))
	}
	return c.result(sum.Div(len(c.in)), c.x(0).kind)
}

// pow gives the kind of the base; the exponent may have another one.
func pow(c *call) []value {
	x, y := c.x(0), c.second()
	if !y.kind.float() && !x.kind.float() {
		return c.result(x.Pow(y.Tensor), x.kind)
	}
	dt, _ := c.carrier(kDouble)
	return c.result(x.Cast(dt).Pow(y.Cast(dt)), x.kind)
}

// clip has its bounds as inputs, before version 11 as attributes. The upper one wins.
func clip(c *call) []value {
	y := c.x(0).Tensor
	if c.set("min") {
		y = y.Maximum(c.number("min", 0))
	} else if c.has(1) {
		y = y.Maximum(c.in[1].Tensor)
	}
	if c.set("max") {
		y = y.Minimum(c.number("max", 0))
	} else if c.has(2) {
		y = y.Minimum(c.in[2].Tensor)
	}
	return c.result(y, c.x(0).kind)
}

// bitShift moves bits up or down; a count that is negative or beyond the width moves all of them out.
func bitShift(c *call) []value {
	x, by := c.x(0), c.x(1).Tensor
	if strings.EqualFold(c.text("direction", ""), "LEFT") {
		return c.result(x.Shl(by), x.kind)
	}
	return c.result(x.Shr(by), x.kind)
}

// window is a − b·cos(2πn/N) + d·cos(4πn/N), with N one less than the size unless it is periodic.
func window(a, b, d float64) operator {
	return func(c *call) []value {
		n := int(c.x(0).Item())
		period := n
		if !c.flag("periodic", 1) {
			period--
		}
		angle := tensor.Range(n).Cast(dtype.F32).Mul(2 * math.Pi / float64(period))
		y := angle.Cos().Mul(-b).Add(a).Add(angle.Mul(2).Cos().Mul(d))
		return c.result(y, kind(c.integer("output_datatype", int(kFloat))))
	}
}
