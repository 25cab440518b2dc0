package ir

func gradMatMul(n *Node, dy []*Node) []*Node {
	grads := make([]*Node, len(n.Src))
	for i := 0; i < len(n.Src); i += 2 {
		grads[i] = product(dy[0], transpose(n.Src[i+1]))
		grads[i+1] = product(transpose(n.Src[i]), dy[0])
	}
	return grads
}

// gradLoRALinear: with h = s·x·a and dh = s·dy·bᵀ, dx = dy·wᵀ + dh·aᵀ in one product, dw = xᵀ·dy, da = xᵀ·dh,
// db = hᵀ·dy. h is written as in the forward pass, so that it is computed once.
func gradLoRALinear(n *Node, dy []*Node) []*Node {
	x, w, a, b := n.Src[0], n.Src[1], n.Src[2], n.Src[3]
	h := build(Mul, Attr{}, build(MatMul, Attr{}, x, a), fixed(n.Dev, n.DType, n.Attr.Float))
	dh := times(product(dy[0], transpose(b)), n.Attr.Float)
	xt := transpose(x)
	return []*Node{
		product(dy[0], transpose(w), dh, transpose(a)),
		product(xt, dy[0]),
		product(xt, dh),
		product(transpose(h), dy[0]),
	}
}

// gradByResult makes the rule of a row op whose gradient is another op of its result and dy.
func gradByResult(op Op) func(n *Node, dy []*Node) []*Node {
	return func(n *Node, dy []*Node) []*Node { return []*Node{build(op, Attr{}, n, dy[0])} }
}

// gradSoftmaxGrad differentiates f = y·(v − Σ y·v): for y, g·(v − Σ y·v) − v·Σ g·y; for v, the same form as
// f.
func gradSoftmaxGrad(n *Node, g []*Node) []*Node {
	y, v := n.Src[0], n.Src[1]
	last := lastAxis(n)
	dot := func(a, b *Node) *Node { return expand(sumOver(mul(a, b), last), n.Shape) }
	dy := sub(mul(g[0], sub(v, dot(y, v))), mul(v, dot(g[0], y)))
	return []*Node{dy, build(SoftmaxGrad, Attr{}, y, g[0])}
}

// gradLogSoftmaxGrad differentiates f = v − exp(y)·Σ v: for y, −g·exp(y)·Σ v; for v, g − Σ g·exp(y).
func gradLogSoftmaxGrad(n *Node, g []*Node) []*Node {
	y, v := n.Src[0], n.Src[1]
	last := lastAxis(n)
	p := mul(g[0], unary(Exp, y))
	dy := neg(mul(p, expand(sumOver(v, last), n.Shape)))
	return []*Node{dy, sub(g[0], expand(sumOver(p, last), n.Shape))}
}

func gradLayerNorm(n *Node, dy []*Node) []*Node {
	d := build(LayerNormGrad, *n.Attr, n.Src[0], n.Src[1], dy[0])
	return []*Node{pick(d, 0), pick(d, 1), pick(d, 2)}
}

func gradRMSNorm(n *Node, dy []*Node) []*Node {
	d := build(RMSNormGrad, *n.Attr, n.Src[0], n.Src[1], dy[0])
	return []*Node{pick(d, 0), pick(d, 1)}
}

// gradCrossEntropy is the rule of CrossEntropy. The gradient of the logsumexp, where that is used, is the
// softmax.
func gradCrossEntropy(n *Node, dy []*Node) []*Node {
	x, targets, lse := n.Src[0], n.Src[1], pick(n, 1)
	var dx *Node
	if dy[0] != nil {
		dx = build(CrossEntropyGrad, *n.Attr, x, targets, lse, dy[0])
	}
	if dy[1] != nil {
		rows := func(v *Node) *Node {
			return expand(reshape(build(Cast, Attr{DType: x.DType}, v), []int{x.Shape[0], 1}), x.Shape)
		}
		p := mul(unary(Exp, sub(x, rows(lse))), rows(dy[1]))
		if dx == nil {
			dx = p
		} else {
			dx = add(dx, p)
		}
	}
	return []*Node{dx, nil}
}

// gradRope turns back: the matrix of a rotation is orthogonal.
func gradRope(n *Node, dy []*Node) []*Node {
	attr := *n.Attr
	attr.Flags ^= Reverse
	back := build(Rope, attr, append([]*Node{dy[0]}, n.Src[1:]...)...)
	return append([]*Node{back}, make([]*Node, len(n.Src)-1)...)
}

// gradAttention is the rule of Attention. The gradient of the logsumexp is p, so what flows into it is one
// more column of do, whose values are 1 and whose result is taken for 0: ds = p·(do·vᵀ + dlse·1 − do·o).
func gradAttention(n *Node, dy []*Node) []*Node {
	q, k, v, o, do := n.Src[0], n.Src[1], n.Src[2], pick(n, 0), dy[0]
	if do == nil {
		do = full(o, 0, o.Shape)
	}
	if dlse := dy[1]; dlse != nil {
		column := with(o.Shape, 3, 1)
		beside := func(x, last *Node) *Node { return build(Concat, Attr{Axis: 3}, x, last) }
		v, o = beside(v, full(v, 1, with(v.Shape, 3, 1))), beside(o, full(o, 0, column))
		do = beside(do, reshape(build(Cast, Attr{DType: do.DType}, dlse), column))
	}
	d := build(AttentionGrad, *n.Attr, append([]*Node{q, k, v, o, pick(n, 1), do}, n.Src[3:]...)...)
	dv := pick(d, 2)
	if dy[1] != nil {
		dv = cut(dv, 3, 0, n.Src[2].Shape[3])
	}
	return append([]*Node{pick(d, 0), pick(d, 1), dv}, make([]*Node, len(n.Src)-3)...)
}
