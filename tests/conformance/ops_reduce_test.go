package conformance

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// reductions are the operators that make one element of many along axes, and running sums.
var reductions = map[string]operator{
	"ReduceSum":  reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Sum(axes...) }),
	"ReduceMean": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Mean(axes...) }),
	"ReduceProd": reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Prod(axes...) }),
	"ReduceMax":  reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return extreme(x, axes, true) }),
	"ReduceMin":  reduce(func(x tensor.Tensor, axes []int) tensor.Tensor { return extreme(x, axes, false) }),
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
	"ArgMax": arg(tensor.Tensor.ArgMax), "ArgMin": arg(tensor.Tensor.ArgMin),
	"TopK":    topK,
	"Hardmax": hardmax,
	"CumSum":  cumulate(tensor.Tensor.CumSum, 0),
	"CumProd": cumulate(tensor.Tensor.CumProd, 1),
}

// reduce reads the axes (an attribute before version 18, or 13 for ReduceSum). No axes means all of them, or, with
// noop_with_empty_axes, each element for itself.
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

// extreme is the maximum or minimum; that of no elements is the least or greatest value of the type.
func extreme(x tensor.Tensor, over []int, largest bool) tensor.Tensor {
	if x.Size() > 0 || x.DType() == dtype.Bool {
		if largest {
			return x.Max(over...)
		}
		return x.Min(over...)
	}
	shape := []int{}
	for a, d := range x.Shape() {
		if !slices.Contains(over, a) {
			shape = append(shape, d)
		}
	}
	return tensor.Full(0, shape...).Cast(x.DType()).Add(bound(x.DType(), !largest))
}

// bound is the greatest or least value of a dtype.
func bound(dt dtype.Type, greatest bool) tensor.Tensor {
	switch {
	case dt.Float() && greatest:
		return tensor.Scalar(math.Inf(1)).Cast(dt)
	case dt.Float():
		return tensor.Scalar(math.Inf(-1)).Cast(dt)
	}
	limits := map[dtype.Type][2]int{dtype.U8: {0, math.MaxUint8}, dtype.I32: {math.MinInt32, math.MaxInt32}, dtype.I64: {math.MinInt64, math.MaxInt64}}[dt]
	if greatest {
		return tensor.From(limits[1]).Cast(dt)
	}
	return tensor.From(limits[0]).Cast(dt)
}

// arg is ArgMax or ArgMin, of which the last index may be asked for when several tie.
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

// hardmax is 1 at the first largest element of an axis and 0 elsewhere; before version 13 the axes from axis on are one.
func hardmax(c *call) []value {
	return alongAxis(c, func(t tensor.Tensor, a int) tensor.Tensor {
		return movedBack(t.ArgMax(a).OneHot(t.Len(a)), a)
	})
}

// alongAxis is for Softmax, LogSoftmax and Hardmax, whose axis meant something else before version 13.
func alongAxis(c *call, f func(t tensor.Tensor, a int) tensor.Tensor) []value {
	x := c.x(0)
	t := c.real(x)
	if c.version >= 13 || c.version == 0 {
		return c.result(f(t, axis(c.integer("axis", -1), x.Rank())), x.kind)
	}
	a := axis(c.integer("axis", 1), x.Rank())
	return c.result(f(t.Reshape(product(x.Shape()[:a]), product(x.Shape()[a:])), 1).Reshape(x.Shape()...), x.kind)
}

// cumulate runs along an axis, maybe from the end, maybe without the element itself; start is the result of no elements.
func cumulate(f func(tensor.Tensor, int) tensor.Tensor, start float64) operator {
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
