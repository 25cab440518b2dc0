package conformance

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// logical are the operators with booleans as results.
var logical = map[string]operator{
	"Equal":          compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Eq(y) }),
	"Less":           compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Lt(y) }),
	"LessOrEqual":    compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Le(y) }),
	"Greater":        compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Gt(y) }),
	"GreaterOrEqual": compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Ge(y) }),
	"And":            compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.And(y) }),
	"Or":             compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Or(y) }),
	"Xor":            compare2(func(x, y tensor.Tensor) tensor.Tensor { return x.Xor(y) }),
	"Not":            func(c *call) []value { return c.result(c.x(0).Not(), kBool) },
	"IsNaN":          func(c *call) []value { return c.result(c.x(0).IsNaN(), kBool) },
	"IsInf":          isInf,
}

func compare2(f func(x, y tensor.Tensor) tensor.Tensor) operator {
	return func(c *call) []value { return c.result(f(c.x(0).Tensor, c.second().Tensor), kBool) }
}

// isInf looks for both infinities, or for one of them.
func isInf(c *call) []value {
	x := c.x(0).Tensor
	up, down := c.flag("detect_positive", 1), c.flag("detect_negative", 1)
	switch {
	case up && down:
		return c.result(x.IsInf(), kBool)
	case up:
		return c.result(x.Eq(math.Inf(1)), kBool)
	case down:
		return c.result(x.Eq(math.Inf(-1)), kBool)
	}
	return c.result(tensor.Zeros(x.Shape()...), kBool)
}
