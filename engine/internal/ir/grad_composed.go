package ir

import (
	"context"
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// The gradients of norms, losses and attention are single ops: fast, and without a rule. A second derivative
// writes such an op down once more, with ops that have rules, and differentiates those.

// nothing stands in a rule's answer for an operand to which no gradient flows, as it depends on the others.
var nothing = new(Node)

// composed makes the rule of an op that write composes: one node for each of its values. Gradients flow to
// the operands whose numbers are given.
func composed(write func(n *Node) []*Node, to ...int) func(n *Node, dy []*Node) []*Node {
	return func(n *Node, dy []*Node) []*Node {
		r := reverse{dy: map[*Node][]flows{}, on: map[*Node]bool{}, floor: map[*Node]bool{}}
		var params []*Node
		for _, i := range to {
			r.floor[n.Src[i]] = true
			params = append(params, n.Src[i])
		}
		var order []*Node
		for i, y := range write(n) {
			if dy[i] != nil {
				order = append(order, r.order(context.Background(), y, params)...)
				if r.on[y] {
					r.flow(y, 0, dy[i])
				}
			}
		}
		for i := len(order) - 1; i >= 0; i-- {
			if err := r.step(order[i]); err != nil {
				panic(refusal(fmt.Sprintf("written with other ops: %v", err)))
			}
		}
		grads := make([]*Node, len(n.Src))
		for _, i := range to {
			grads[i] = nothing
			if list := r.sums(n.Src[i]); list != nil {
				grads[i] = list[0]
				delete(r.dy, n.Src[i]) // an operand that stands twice gets its gradient once
			}
		}
		return grads
	}
}

// meanOfRows is the mean along the last axis, in every place.
func meanOfRows(x *Node) *Node {
	last := lastAxis(x)
	return expand(times(sumOver(x, last), 1/float64(max(1, x.Shape[last[0]]))), x.Shape)
}

// asWeights returns x and dy of a norm's gradient in the dtype of the weight, which may be wider.
func asWeights(n *Node) (x, w, dy *Node) {
	w = n.Src[1]
	return converted(n.Src[0], w.DType), w, converted(n.Src[2], w.DType)
}

func composeLayerNormGrad(n *Node) []*Node {
	x, w, dy := asWeights(n)
	c := sub(x, meanOfRows(x))
	dx, dw := composeNormGrad(n, c, w, dy)
	g := mul(dy, expand(w, x.Shape))
	return []*Node{converted(sub(dx, mul(reciprocalRoot(n, c), meanOfRows(g))), n.Src[0].DType), dw, sumTo(dy, w.Shape)}
}

func composeRMSNormGrad(n *Node) []*Node {
	x, w, dy := asWeights(n)
	dx, dw := composeNormGrad(n, x, w, dy)
	return []*Node{converted(dx, n.Src[0].DType), dw}
}

// reciprocalRoot is 1/√(mean(c²) + eps).
func reciprocalRoot(n, c *Node) *Node { return unary(Rsqrt, plus(meanOfRows(mul(c, c)), n.Attr.Float)) }

// composeNormGrad gives r·(g − x̂·mean(g·x̂)) and Σ dy·x̂, with x̂ = c·r.
func composeNormGrad(n, c, w, dy *Node) (dx, dw *Node) {
	r := reciprocalRoot(n, c)
	normal, g := mul(c, r), mul(dy, expand(w, c.Shape))
	return mul(r, sub(g, mul(normal, meanOfRows(mul(g, normal))))), sumTo(mul(dy, normal), w.Shape)
}

func composeCrossEntropyGrad(n *Node) []*Node {
	x, targets := n.Src[0], n.Src[1]
	column := func(v *Node) *Node { return expand(reshape(v, []int{x.Shape[0], 1}), x.Shape) }
	rows := func(v *Node) *Node { return column(build(Cast, Attr{DType: x.DType}, v)) }
	wanted := times(as01(compare(Eq, column(targets), indices(x.Dev, x.Shape, 1)), x), 1-n.Attr.Float)
	wanted = plus(wanted, n.Attr.Float/float64(max(1, x.Shape[1])))
	d := mul(rows(n.Src[3]), sub(unary(Exp, sub(x, rows(n.Src[2]))), wanted))
	ignored := compare(Eq, targets, fixed(x.Dev, dtype.I64, float64(n.Attr.Index)))
	return []*Node{choose(column(ignored), like(x, 0), d)}
}

// gradAttentionGrad gives no gradient for o and the logsumexp: they depend on q, k and v.
func gradAttentionGrad(n *Node, dy []*Node) []*Node {
	if n.Src[3].Op == Concat { // as gradAttention makes it, and composeAttentionGrad does not
		panic(refusal("it is one of a logsumexp, which has a first derivative only"))
	}
	grads := composed(composeAttentionGrad, 0, 1, 2, 5)(n, dy)
	grads[3], grads[4] = nothing, nothing
	return grads
}

// composeAttentionGrad computes o again from q, k and v, so that gradients flow through it to them.
func composeAttentionGrad(n *Node) []*Node {
	q, k, v, do := n.Src[0], n.Src[1], n.Src[2], n.Src[5]
	// The query heads that share a key head stand one below the other.
	grouped := func(x *Node, width int) *Node {
		return reshape(x, []int{k.Shape[0], k.Shape[1], Size(x.Shape[:3]) / max(1, k.Shape[0]*k.Shape[1]), width})
	}
	queries, keys := q.Shape[2], k.Shape[2]
	all := []int{q.Shape[0], q.Shape[1], queries, keys}
	q2, do2 := grouped(q, q.Shape[3]), grouped(do, v.Shape[3])
	scores := reshape(times(product(q2, transpose(k)), n.Attr.Float), all)
	var bent *Node
	if c := SightOf(n.Attr).Cap; c != 0 {
		bent = unary(Tanh, times(scores, 1/c))
		scores = times(bent, c)
	}
	seen := seenBy(n, all)
	if len(n.Src) > 6 {
		mask := expand(n.Src[6], all)
		if mask.DType != dtype.Bool {
			scores = add(scores, build(Cast, Attr{DType: scores.DType}, mask))
			mask = compare(Gt, mask, like(mask, math.Inf(-1)))
		}
		if seen != nil {
			mask = build(And, Attr{}, seen, mask)
		}
		seen = mask
	}
	var p *Node
	if seen == nil {
		p = unary(Softmax, scores)
	} else {
		p = choose(seen, unary(Softmax, choose(seen, scores, like(scores, math.Inf(-1)))), like(scores, 0))
	}
	p = grouped(p, keys)
	dp := product(do2, transpose(v))
	ds := mul(p, sub(dp, expand(sumOver(mul(p, dp), lastAxis(p)), p.Shape)))
	if bent != nil {
		ds = mul(ds, grouped(sub(like(bent, 1), mul(bent, bent)), keys))
	}
	return []*Node{
		reshape(times(product(ds, k), n.Attr.Float), q.Shape),
		times(product(transpose(ds), q2), n.Attr.Float),
		product(transpose(p), do2),
	}
}

// seenBy says where queries look by their places alone, [B Hq Tq Tk]; nil: everywhere.
func seenBy(n *Node, all []int) (seen *Node) {
	key := indices(n.Dev, all, 3)
	place := plus(indices(n.Dev, all, 2), float64(all[3]-all[2]))
	causal, window := n.Attr.Flags&Causal != 0, n.Attr.Index
	if causal {
		seen = compare(Le, key, place)
	} else if window > 0 {
		seen = compare(Lt, key, plus(place, float64(window)))
	}
	if window > 0 {
		seen = build(And, Attr{}, seen, compare(Lt, place, plus(key, float64(window))))
	}
	return seen
}

// indices holds at each place its index along an axis.
func indices(dev Device, shape []int, axis int) *Node {
	n, err := NewIota(dev, dtype.I64, shape, axis)
	if err != nil {
		panic(fmt.Sprintf("ir: rule built a wrong node: %v", err))
	}
	return n
}
