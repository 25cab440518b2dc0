package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// joinGradients lets the gradient of a cross entropy stand in the launch of its loss, which then reads the
// logits once. The gradient of each row's loss must be known before: it must not depend on the losses. That
// of a mean depends on the number of targets that count, so this comes before the rules that would compute
// that number in the launch that adds the losses up.
func (c *clustering) joinGradients() {
	for _, v := range c.list {
		loss := c.lossOf(v)
		if loss < 0 {
			continue
		}
		k, gradient := c.owner[loss], c.owner[v]
		upstream, _ := c.base(c.values[v].args[3])
		if len(k.heavy) == 1 && c.owner[upstream] != k && !c.through(gradient, k) {
			c.merge(k, gradient)
		}
	}
	c.prune()
}

// lossOf returns the cross entropy of which v is the gradient, of the same logits and targets, or -1.
func (c *clustering) lossOf(v int) int {
	x := &c.values[v]
	if x.kind != heavy || x.op != ir.CrossEntropyGrad {
		return -1
	}
	b, ch := c.base(x.args[2])
	sums := &c.values[b]
	if sums.kind != result || sums.index != 1 || !ch.direct() {
		return -1
	}
	y := &c.values[sums.args[0]]
	if y.op != ir.CrossEntropy || !slices.Equal(x.args[:2], y.args) || x.attr.Float != y.attr.Float || x.attr.Index != y.attr.Index {
		return -1
	}
	return sums.args[0]
}
