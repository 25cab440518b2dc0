package conformance

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// reductions are the operators that make one element of many along axes, and running sums.
var reductions = map[string]operator{
	"ReduceSum":  reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Sum(axes...) }),
	"ReduceMean": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Mean(axes...) }),
	"ReduceProd": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Prod(axes...) }),
	"ReduceMax":  func(c *call) []value { return reduce(extreme(c.x(0).kind, true))(c) },
	"ReduceMin":  func(c *call) []value { return reduce(extreme(c.x(0).kind, false))(c) },
	"ReduceL1":   reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Abs().Sum(axes...) }),
	"ReduceL2":   reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Square().Sum(axes...).Sqrt() }),
	"ReduceSumSquare": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor {
		return x.Square().Sum(axes...)
	}),
	"ReduceLogSum": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Sum(axes...).Log() }),
	"ReduceLogSumExp": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor {
		if x.Size() == 0 {
			return x.Exp().Sum(axes...).Log()
		}
		return x.LogSumExp(axes...)
	}),
	"ArgMax": arg(func(x tensor.Tensor, axis int) tensor.Tensor { return x.ArgMax(axis) }), "ArgMin": arg(func(x tensor.Tensor, axis int) tensor.Tensor { return x.ArgMin(axis) }),
	"TopK":    topK,
	"Hardmax": hardmax,
	"CumSum":  cumulate(tensor.Tensor.CumSum, 0),
	"CumProd": cumulate(tensor.Tensor.CumProd, 1),
}

// reduce reads the axes (an attribute before version 18, or 13 for ReduceSum). No axes means all of them, or,
// with noop_with_empty_axes, each element for itself.
func reduce(f func(x tensor.Tensor, axes []int) tensor.Tensor) operator {
	return func(c *call) []value {
		x := c.x(0)
		t := x.Tensor
		if x.kind.float() {
			t = c.real(x)
		}
		over := axes(c.integers(1, "axes"), x.Rank())
		if len(over) == 0 && c.flag("noop_with_empty_axes", 0) {
			return c.result(f(t.Unsqueeze(-1), []int{-1}), x.kind)
		}
		if len(over) == 0 {
			over = span(0, x.Rank())
		}
		y := f(t, over)
		if c.flag("keepdims", 1) {
			shape := x.Shape()
			for _, a := range over {
				shape[a] = 1
			}
			y = y.Reshape(shape...)
		}
		return c.result(y, x.kind)
	}
}

// extreme is the maximum or minimum; that of no elements is the least or greatest value of the kind.
func extreme(k kind, largest bool) func(x tensor.Tensor, over []int) tensor.Tensor {
	return func(x tensor.Tensor, over []int) tensor.Tensor {
		if x.Size() == 0 && x.DType() != dtype.Bool {
			for _, a := range over { // one element that loses against all others
				if x.Len(a) == 0 {
					shape := x.Shape()
					shape[a] = 1
					x = bound(k, x.DType(), !largest).Expand(shape...)
				}
			}
		}
		if largest {
			return x.Max(over...)
		}
		return x.Min(over...)
	}
}

// bound is the greatest or least value of a kind, in a dtype.
func bound(k kind, dt dtype.Type, greatest bool) tensor.Tensor {
	bits, signed, integer := k.integer()
	switch {
	case !integer && greatest:
		return tensor.Scalar(math.Inf(1)).Cast(dt)
	case !integer:
		return tensor.Scalar(math.Inf(-1)).Cast(dt)
	case k == kUint64 && greatest:
		refuse("got the greatest uint64 as a result, want less than 2⁶³ (it travels in i64)")
	case !signed && greatest:
		return tensor.From(1<<bits - 1).Cast(dt)
	case !signed:
		return tensor.From(0).Cast(dt)
	case greatest:
		return tensor.From(1<<(bits-1) - 1).Cast(dt)
	}
	return tensor.From(-1 << (bits - 1)).Cast(dt)
}

// arg makes ArgMax or ArgMin; an attribute may ask for the last index among equal values.
func arg(f func(tensor.Tensor, int) tensor.Tensor) operator {
	return func(c *call) []value {
		x := c.x(0)
		a := axis(c.integer("axis", 0), x.Rank())
		var y tensor.Tensor
		if c.flag("select_last_index", 0) {
			y = f(x.Flip(a), a).Neg().Add(x.Len(a) - 1)
		} else {
			y = f(x.Tensor, a)
		}
		if c.flag("keepdims", 1) {
			y = y.Unsqueeze(a)
		}
		return c.result(y, kInt64)
	}
}

// topK has k as input, before version 10 as an attribute.
func topK(c *call) []value {
	x := c.x(0)
	k := c.integer("k", 0)
	if c.has(1) {
		k = int(c.in[1].Flatten().Item())
	}
	a := axis(c.integer("axis", -1), x.Rank())
	rows := moved(x.Tensor, a)
	var values, places tensor.Tensor
	if c.flag("largest", 1) {
		values, places = rows.TopK(k)
	} else {
		values, places = rows.BottomK(k)
	}
	return []value{c.fit(movedBack(values, a), x.kind), c.fit(movedBack(places, a), kInt64)}
}

// hardmax is 1 at the first largest element of an axis and 0 elsewhere; before version 13 the axes from axis
// on are one.
func hardmax(c *call) []value {
	return alongAxis(c, func(t tensor.Tensor, a int) tensor.Tensor {
		return movedBack(t.ArgMax(a).OneHot(t.Len(a)), a)
	})
}

// alongAxis makes Softmax, LogSoftmax and Hardmax, whose axis had another meaning before version 13.
func alongAxis(c *call, f func(t tensor.Tensor, a int) tensor.Tensor) []value {
	x := c.x(0)
	t := c.real(x)
	if c.version >= 13 || c.version == 0 {
		return c.result(f(t, axis(c.integer("axis", -1), x.Rank())), x.kind)
	}
	a := axis(c.integer("axis", 1), x.Rank())
	return c.result(f(t.Reshape(product(x.Shape()[:a]), product(x.Shape()[a:])), 1).Reshape(x.Shape()...), x.kind)
}

// cumulate runs along an axis, maybe from the end, maybe without the element itself; start is the result of
// no elements.
func cumulate(f func(tensor.Tensor, ...int) tensor.Tensor, start float64) operator {
	return func(c *call) []value {
		x := c.x(0)
		a := axis(int(c.x(1).Item()), x.Rank())
		t := x.Tensor
		if c.flag("reverse", 0) {
			t = t.Flip(a)
		}
		if c.flag("exclusive", 0) {
			t = t.Pad(a, 1, 0, start).Slice(a, 0, t.Len(a))
		}
		t = f(t, a)
		if c.flag("reverse", 0) {
			t = t.Flip(a)
		}
		return c.result(t, x.kind)
	}
}
