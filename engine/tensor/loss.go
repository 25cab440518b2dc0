package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// CrossEntropyOptions are the settings of CrossEntropy and LinearCrossEntropy.
type CrossEntropyOptions struct {
	Smoothing float64 // label smoothing ε: the target gets 1 − ε + ε/V, the others ε/V
	Ignore    []int   // rows with these targets do not count; none means −100
	PerRow    bool    // return the losses of the rows instead of their mean
	Cap       float64 // the logits are Cap·tanh(logits/Cap) (Gemma 2); 0: they stay as they are
}

// CrossEntropy is the mean of −log softmax(logits)[target] over the rows that count: logits [… V], targets […
// ] of integers. If no row counts it is NaN.
func CrossEntropy(logits, targets Tensor, o CrossEntropyOptions) Tensor {
	x, t := floats(logits.node("cross_entropy")), targets.node("cross_entropy")
	if len(x.Shape) == 0 || !slices.Equal(x.Shape[:len(x.Shape)-1], t.Shape) || !t.DType.Int() {
		fail("cross_entropy", "got logits %v and targets %v, want [… V] and integers [… ]", x, t)
	}
	if o.Cap != 0 {
		x = wrap(x).Div(o.Cap).Tanh().Mul(o.Cap).node("cross_entropy")
	}
	rows, attr := o.rows(t)
	x = reshape(x, []int{ir.Size(t.Shape), x.Shape[len(x.Shape)-1]})
	return o.mean(pick(apply(ir.CrossEntropy, attr, x, rows), 0), rows, attr.Index, t.Shape)
}

// LinearCrossEntropy is CrossEntropy of the logits x·w, for x [… D] and w [D V], without the memory for them:
// the logits, and their gradients, exist for some rows at a time. w may be wider than an x of F16 or BF16.
func LinearCrossEntropy(x, w, targets Tensor, o CrossEntropyOptions) Tensor {
	const op = "linear_cross_entropy"
	n, t := floats(x.node(op)), targets.node(op)
	if m := w.node(op); len(n.Shape) == 0 || len(m.Shape) != 2 || m.Shape[0] != n.Shape[len(n.Shape)-1] || !slices.Equal(n.Shape[:len(n.Shape)-1], t.Shape) || !t.DType.Int() {
		fail(op, "got x %v, w %v and targets %v, want [… D], [D V] and integers [… ]", n, m, t)
	}
	w = beside(x, w)
	if dt := meet(op, n, w.node(op)); dt != n.DType || dt != w.DType() {
		n, w = cast(n, dt), w.Cast(dt)
	}
	rows, attr := o.rows(t)
	if o.Cap != 0 {
		attr.Rates = []float64{o.Cap}
	}
	return o.mean(pick(apply(ir.LinearCrossEntropy, attr, asRows(n), w.node(op), rows), 0), rows, attr.Index, t.Shape)
}

// rows are the targets as a vector, and the settings that the ops know: one target that is ignored.
func (o CrossEntropyOptions) rows(targets *ir.Node) (*ir.Node, ir.Attr) {
	t := cast(reshape(targets, []int{ir.Size(targets.Shape)}), dtype.I64)
	ignore := -100
	if len(o.Ignore) > 0 {
		ignore = o.Ignore[0]
		for _, other := range o.Ignore[1:] {
			t = Where(wrap(t).Eq(other), ignore, wrap(t)).node("cross_entropy")
		}
	}
	return t, ir.Attr{Float: o.Smoothing, Index: ignore}
}

// mean is the mean of the losses whose targets are not ignored, or all of them in a shape.
func (o CrossEntropyOptions) mean(losses Tensor, rows *ir.Node, ignore int, shape []int) Tensor {
	if o.PerRow {
		return losses.Reshape(shape...)
	}
	return losses.Sum().Div(wrap(rows).Ne(ignore).Cast(losses.DType()).Sum())
}
