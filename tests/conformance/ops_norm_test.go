package conformance

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// normalizing are the operators that scale by statistics of a row, a group or a batch.
var normalizing = map[string]operator{
	"Softmax":                   func(c *call) []value { return alongAxis(c, tensor.Tensor.Softmax) },
	"LogSoftmax":                func(c *call) []value { return alongAxis(c, tensor.Tensor.LogSoftmax) },
	"LayerNormalization":        layerNorm,
	"RMSNormalization":          rmsNorm,
	"InstanceNormalization":     instanceNorm,
	"GroupNormalization":        groupNorm,
	"BatchNormalization":        batchNorm,
	"LpNormalization":           lpNorm,
	"MeanVarianceNormalization": meanVarianceNorm,
	"LRN":                       localResponseNorm,
	"Dropout":                   dropout,
	"GlobalAveragePool":         globalPool(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Mean(axes...) }),
	"GlobalMaxPool":             globalPool(func(x tensor.Tensor, axes []int) tensor.Tensor { return x.Max(axes...) }),
}

// rowsFrom views the axes from a on as one row, and flattens a weight of such a row; a weight may broadcast
// to it.
func rowsFrom(t tensor.Tensor, a int) tensor.Tensor {
	s := t.Shape()
	return t.Reshape(product(s[:a]), product(s[a:]))
}

func (c *call) rowWeight(i int, shape []int) tensor.Tensor {
	if !c.has(i) {
		return tensor.Tensor{}
	}
	return c.real(c.in[i]).Expand(shape...).Flatten()
}

func layerNorm(c *call) []value {
	x := c.x(0)
	shape := x.Shape()
	a := axis(c.integer("axis", -1), len(shape))
	eps := c.number("epsilon", 1e-5)
	rows := rowsFrom(c.real(x), a)
	y := rows.LayerNorm(c.rowWeight(1, shape[a:]), c.rowWeight(2, shape[a:]), eps)
	stash := kind(c.integer("stash_type", int(kFloat)))
	kept := append(slices.Clone(shape[:a]), slices.Repeat([]int{1}, len(shape)-a)...)
	return []value{
		c.fit(y.Reshape(shape...), x.kind),
		c.fit(rows.Mean(1).Reshape(kept...), stash),
		c.fit(rows.Var(1).Add(eps).Rsqrt().Reshape(kept...), stash),
	}
}

func rmsNorm(c *call) []value {
	x := c.x(0)
	shape := x.Shape()
	a := axis(c.integer("axis", -1), len(shape))
	y := rowsFrom(c.real(x), a).RMSNorm(c.rowWeight(1, shape[a:]), c.number("epsilon", 1e-5))
	return c.result(y.Reshape(shape...), c.x(1).kind)
}

// perChannel is a list for axis 1 in the shape in which it broadcasts to rank axes.
func (c *call) perChannel(i, rank int) tensor.Tensor {
	shape := append([]int{-1}, slices.Repeat([]int{1}, rank-2)...)
	return c.real(c.x(i)).Reshape(shape...)
}

func instanceNorm(c *call) []value {
	x := c.x(0)
	y := rowsFrom(c.real(x), 2).LayerNorm(tensor.Tensor{}, tensor.Tensor{}, c.number("epsilon", 1e-5)).Reshape(x.Shape()...)
	return c.result(y.Mul(c.perChannel(1, x.Rank())).Add(c.perChannel(2, x.Rank())), x.kind)
}

// groupNorm has its scale and bias for each channel, before version 21 for each group.
func groupNorm(c *call) []value {
	x := c.x(0)
	groups := c.integer("num_groups", 1)
	rows := c.real(x).Reshape(x.Len(0)*groups, -1)
	y := rows.LayerNorm(tensor.Tensor{}, tensor.Tensor{}, c.number("epsilon", 1e-5))
	if c.version < 21 {
		y = y.Reshape(x.Len(0), groups, -1).Mul(c.perChannel(1, 3)).Add(c.perChannel(2, 3))
		return c.result(y.Reshape(x.Shape()...), x.kind)
	}
	return c.result(y.Reshape(x.Shape()...).Mul(c.perChannel(1, x.Rank())).Add(c.perChannel(2, x.Rank())), x.kind)
}

// batchNorm uses the running statistics, or in training those of the batch, which it adds to the running
// ones.
func batchNorm(c *call) []value {
	x := c.x(0)
	t, rank := c.real(x), x.Rank()
	mean, variance := c.perChannel(3, rank), c.perChannel(4, rank)
	var running []value
	training := c.flag("training_mode", 0)
	switch {
	case c.version < 7:
		training = !c.flag("is_test", 0)
	case c.version < 14:
		training = len(c.outputs) > 1
	}
	if !c.flag("spatial", 1) {
		refuse("got spatial = 0, statistics of every place")
	}
	if training {
		over := slices.DeleteFunc(span(0, rank), func(a int) bool { return a == 1 })
		momentum := c.number("momentum", 0.9)
		now, spread := t.Mean(over...).Reshape(mean.Shape()...), t.Var(over...).Reshape(mean.Shape()...)
		update := func(old, new tensor.Tensor, k kind) value {
			return c.fit(old.Mul(momentum).Add(new.Mul(1-momentum)).Flatten(), k)
		}
		running = []value{update(mean, now, c.x(3).kind), update(variance, spread, c.x(4).kind)}
		mean, variance = now, spread
	}
	y := t.Sub(mean).Mul(variance.Add(c.number("epsilon", 1e-5)).Rsqrt())
	y = y.Mul(c.perChannel(1, rank)).Add(c.perChannel(2, rank))
	return append(c.result(y, x.kind), running...)
}

// lpNorm divides by the norm of an axis; where that is 0 the result is 0.
func lpNorm(c *call) []value {
	x := c.x(0)
	t, a := c.real(x), c.integer("axis", -1)
	norm := t.Abs().SumKeep(a)
	if c.integer("p", 2) == 2 {
		norm = t.Square().SumKeep(a).Sqrt()
	}
	return c.result(tensor.Where(norm.Eq(0), 0, t.Div(norm)), x.kind)
}

func meanVarianceNorm(c *call) []value {
	x := c.x(0)
	over := c.integers(1, "axes")
	if over == nil {
		over = []int{0, 2, 3}
	}
	centred := c.real(x).Sub(c.real(x).MeanKeep(over...))
	return c.result(centred.Div(centred.Square().MeanKeep(over...).Sqrt().Add(1e-9)), x.kind)
}

// localResponseNorm divides by a power of the squares of the neighbouring channels.
func localResponseNorm(c *call) []value {
	x := c.x(0)
	size := c.integer("size", 1)
	before := (size - 1) / 2
	squares := c.real(x).Square().Pad(1, before, size-1-before, 0)
	sum := tensor.ZerosLike(c.real(x))
	for i := range size {
		sum = sum.Add(squares.Slice(1, i, i+x.Len(1)))
	}
	divisor := sum.Mul(c.number("alpha", 0.0001) / float64(size)).Add(c.number("bias", 1)).Pow(c.number("beta", 0.75))
	return c.result(c.real(x).Div(divisor), x.kind)
}

// globalPool reduces all but the batch and the channels.
func globalPool(f func(x tensor.Tensor, axes []int) tensor.Tensor) operator {
	return func(c *call) []value {
		x := c.x(0)
		over := span(2, x.Rank())
		shape := append(x.Shape()[:2:2], slices.Repeat([]int{1}, len(over))...)
		return c.result(f(c.real(x), over).Reshape(shape...), x.kind)
	}
}

// dropout is the identity outside of training. In training the result depends on ONNX's own generator.
func dropout(c *call) []value {
	ratio := 0.5
	if c.has(1) {
		ratio = c.in[1].Item()
	}
	if c.has(2) && c.in[2].Item() != 0 && ratio != 0 {
		panic(refusal{reason: "random bits of another generator: dropout in training", out: true})
	}
	mask := kBool
	if c.version < 10 {
		mask = c.x(0).kind
	}
	return []value{c.x(0), c.fit(tensor.Ones(c.x(0).Shape()...), mask)}
}
