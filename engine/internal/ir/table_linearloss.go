package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func linearLossRows() []Row {
	return []Row{
		{
			Op: LinearCrossEntropy, Name: "linear_cross_entropy", Sources: 3, Infer: all(linearClasses, lossOf(2)), Grad: gradLinearCrossEntropy,
			Flops: flopsOfLinearLoss(2), Tol: functions, Rounds: true,
			Doc: "LinearCrossEntropy gives, for x [N D], w [D V] and targets i64[N], the loss [N] and the logsumexp [N] of the logits x·w as CrossEntropy does, " +
				"with the same label smoothing Attr.Float and ignored target Attr.Index. With a number c in Attr.Rates the logits are c·tanh(x·w/c). " +
				"The logits of all rows never exist at once: the planner computes some rows after the others.",
		},
		{
			Op: LinearCrossEntropyGrad, Name: "linear_cross_entropy_grad", Sources: 5, Infer: all(linearClasses, lossGiven(2), asFactors),
			Grad: composed(composeLinearCrossEntropyGrad, 0, 1, 3, 4), Flops: flopsOfLinearLoss(6), Tol: functions, Rounds: true,
			Doc: "LinearCrossEntropyGrad gives the gradients of x and w from x, w, targets, logsumexp and the gradient dloss [N] of a LinearCrossEntropy. " +
				"It computes the logits again, some rows after the others, unless the loss is computed in the same evaluation and dloss does not depend on it.",
		},
	}
}

// flopsOfLinearLoss counts so many operations for each term of the products, and 12 for each logit.
func flopsOfLinearLoss(each int64) func(n *Node) int64 {
	return func(n *Node) int64 {
		x, w := n.Src[0].Shape, n.Src[1].Shape
		return int64(x[0]) * int64(w[1]) * (each*int64(x[1]) + 12)
	}
}

// CapOf is the cap of a linear cross entropy's logits, or 0.
func CapOf(a *Attr) float64 {
	if len(a.Rates) == 0 {
		return 0
	}
	return a.Rates[0]
}

// linearClasses checks x [N D], w [D V] and targets i64[N].
func linearClasses(n *Node) error {
	x, w, targets := n.Src[0], n.Src[1], n.Src[2]
	if len(x.Shape) != 2 || len(w.Shape) != 2 || x.Shape[1] != w.Shape[0] || targets.DType != dtype.I64 || !slices.Equal(targets.Shape, x.Shape[:1]) {
		return got(n, "x [N D], w [D V] and targets i64[N]")
	}
	if len(n.Attr.Rates) > 1 {
		return wrong(n, "got %d caps, want one at most", len(n.Attr.Rates))
	}
	return floats(n, x, w)
}

// asFactors makes n's values the gradients of x and w.
func asFactors(n *Node) error {
	n.tuple(n.Src[0].Type(), n.Src[1].Type())
	return nil
}

// linearLogits are the logits of a linear cross entropy, all at once.
func linearLogits(n *Node) *Node {
	y := product(n.Src[0], n.Src[1])
	if c := CapOf(n.Attr); c != 0 {
		y = times(unary(Tanh, times(y, 1/c)), c)
	}
	return y
}

// gradLinearCrossEntropy is the rule of LinearCrossEntropy. Where a gradient comes through the logsumexp,
// too, the logits are written down.
func gradLinearCrossEntropy(n *Node, dy []*Node) []*Node {
	x, w, targets := n.Src[0], n.Src[1], n.Src[2]
	if dy[1] != nil {
		grads := composed(func(n *Node) []*Node {
			attr := *n.Attr
			attr.Rates = nil
			loss := build(CrossEntropy, attr, linearLogits(n), targets)
			return []*Node{pick(loss, 0), pick(loss, 1)}
		}, 0, 1)(n, dy)
		return []*Node{grads[0], grads[1], nil}
	}
	d := build(LinearCrossEntropyGrad, *n.Attr, x, w, targets, pick(n, 1), dy[0])
	return []*Node{pick(d, 0), pick(d, 1), nil}
}

// composeLinearCrossEntropyGrad writes the gradients with all logits at once.
func composeLinearCrossEntropyGrad(n *Node) []*Node {
	x, w := n.Src[0], n.Src[1]
	y := linearLogits(n)
	attr := *n.Attr
	attr.Rates = nil
	d := build(CrossEntropyGrad, attr, y, n.Src[2], n.Src[3], n.Src[4])
	if c := CapOf(n.Attr); c != 0 {
		share := times(y, 1/c)
		d = mul(d, plus(neg(mul(share, share)), 1))
	}
	return []*Node{product(d, transpose(w)), product(transpose(x), d)}
}
