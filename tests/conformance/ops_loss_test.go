package conformance

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// losses compare scores [N C …] with targets [N …].
var losses = map[string]operator{
	"NegativeLogLikelihoodLoss": func(c *call) []value {
		x := moved(c.real(c.x(0)), 1)
		target, counts := c.targets()
		picked := x.TakeAlong(target.Unsqueeze(-1), -1).Squeeze(-1)
		return c.result(c.loss(picked.Neg(), target, counts), c.x(0).kind)
	},
	"SoftmaxCrossEntropyLoss": func(c *call) []value {
		x := moved(c.real(c.x(0)), 1)
		target, counts := c.targets()
		rows := tensor.CrossEntropy(x, target, tensor.CrossEntropyOptions{PerRow: true})
		return []value{
			c.fit(c.loss(rows, target, counts), c.x(0).kind),
			c.fit(movedBack(x.LogSoftmax(-1), 1), c.x(0).kind),
		}
	},
}

// targets returns the classes, and whether each counts. A class that does not count (ignore_index, which
// may not be a class) becomes 0.
func (c *call) targets() (target, counts tensor.Tensor) {
	target = c.x(1).Cast(dtype.I64)
	counts = target.Eq(target)
	if c.set("ignore_index") {
		counts = target.Ne(c.integer("ignore_index", 0))
	}
	return tensor.Where(counts, target, 0), counts
}

// loss weights the losses of the elements by class and reduces them; the mean is over the weights.
func (c *call) loss(each, target, counts tensor.Tensor) tensor.Tensor {
	weight := tensor.OnesLike(each)
	if c.has(2) {
		weight = c.real(c.in[2]).Take(target, 0)
	}
	weight = tensor.Where(counts, weight, 0)
	each = tensor.Where(counts, each.Mul(weight), 0)
	switch how := c.text("reduction", "mean"); how {
	case "none":
		return each
	case "sum":
		return each.Sum()
	case "mean":
		return each.Sum().Div(weight.Sum())
	default:
		refuse("got reduction %q", how)
		return each
	}
}
