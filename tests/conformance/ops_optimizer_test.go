package conformance

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// optimizers are one step each: inputs R (rate), T (steps before), then all X, all gradients, all states.
var optimizers = map[string]operator{
	"Adagrad": optimizer(1, func(c *call, rate float64, step int, x, g tensor.Tensor, s []tensor.Tensor) []tensor.Tensor {
		rate /= 1 + float64(step)*c.number("decay_factor", 0)
		h := s[0].Add(g.Square())
		return []tensor.Tensor{x.Sub(g.Mul(rate).Div(h.Sqrt().Add(c.number("epsilon", 1e-6)))), h}
	}),
	"Momentum": optimizer(1, func(c *call, rate float64, step int, x, g tensor.Tensor, s []tensor.Tensor) []tensor.Tensor {
		alpha, beta := c.number("alpha", 0), c.number("beta", 0)
		if step == 0 {
			beta = 1
		}
		v := s[0].Mul(alpha).Add(g.Mul(beta))
		if c.text("mode", "standard") == "nesterov" {
			return []tensor.Tensor{x.Sub(g.Add(v.Mul(alpha)).Mul(rate)), v}
		}
		return []tensor.Tensor{x.Sub(v.Mul(rate)), v}
	}),
	"Adam": optimizer(2, func(c *call, rate float64, step int, x, g tensor.Tensor, s []tensor.Tensor) []tensor.Tensor {
		alpha, beta := c.number("alpha", 0.9), c.number("beta", 0.999)
		v := s[0].Mul(alpha).Add(g.Mul(1 - alpha))
		h := s[1].Mul(beta).Add(g.Square().Mul(1 - beta))
		if step > 0 {
			rate *= math.Sqrt(1-math.Pow(beta, float64(step))) / (1 - math.Pow(alpha, float64(step)))
		}
		x = x.Sub(v.Mul(rate).Div(h.Sqrt().Add(c.number("epsilon", 1e-6))))
		return []tensor.Tensor{x.Mul(1 - c.number("norm_coefficient_post", 0)), v, h}
	}),
}

// optimizer applies a step to each tensor. The gradient it gets includes that of the norm.
func optimizer(states int, f func(c *call, rate float64, step int, x, g tensor.Tensor, s []tensor.Tensor) []tensor.Tensor) operator {
	return func(c *call) []value {
		rate, step := c.x(0).Item(), int(c.x(1).Item())
		n := (len(c.in) - 2) / (2 + states)
		out := make([]value, n*(1+states))
		for i := range n {
			x := c.real(c.x(2 + i))
			g := c.real(c.x(2 + n + i)).Add(x.Mul(c.number("norm_coefficient", 0)))
			var s []tensor.Tensor
			for j := range states {
				s = append(s, c.real(c.x(2+(2+j)*n+i)))
			}
			for j, t := range f(c, rate, step, x, g, s) {
				out[j*n+i] = c.fit(t, c.x(2+i).kind)
			}
		}
		return out
	}
}
