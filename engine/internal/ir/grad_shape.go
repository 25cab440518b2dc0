package ir

import "slices"

func gradReshape(n *Node, dy []*Node) []*Node { return []*Node{reshape(dy[0], n.Src[0].Shape)} }
func gradExpand(n *Node, dy []*Node) []*Node  { return []*Node{sumTo(dy[0], n.Src[0].Shape)} }
func gradFlip(n *Node, dy []*Node) []*Node    { return []*Node{build(Flip, *n.Attr, dy[0])} }

func gradPermute(n *Node, dy []*Node) []*Node {
	return []*Node{build(Permute, Attr{Axes: Inverse(n.Attr.Axes)}, dy[0])}
}

// gradSlice puts the gradient back between zeros: axes that were walked backwards are flipped, steps are
// filled up, and what was left out at both ends is padded.
func gradSlice(n *Node, dy []*Node) []*Node {
	g, x := dy[0], n.Src[0]
	var back []int
	for i := range x.Shape {
		if n.Attr.Ints[3*i+2] < 0 {
			back = append(back, i)
		}
	}
	if back != nil {
		g = build(Flip, Attr{Axes: back}, g)
	}
	pads := make([]int, 2*len(x.Shape))
	for i, d := range x.Shape {
		start, step, k := n.Attr.Ints[3*i], n.Attr.Ints[3*i+2], n.Shape[i]
		if k == 0 {
			pads[2*i+1] = d
			continue
		}
		if step < 0 {
			start, step = start+(k-1)*step, -step
		}
		g = dilate(g, i, step)
		pads[2*i], pads[2*i+1] = start, d-start-g.Shape[i]
	}
	return []*Node{padZero(g, pads)}
}

// dilate puts step−1 zeros between neighbours along an axis.
func dilate(g *Node, axis, step int) *Node {
	k := g.Shape[axis]
	if step == 1 || k == 1 {
		return g
	}
	pads := make([]int, 2*(len(g.Shape)+1))
	pads[2*(axis+1)+1] = step - 1
	columns := reshape(g, with(g.Shape, axis, k, 1))
	line := reshape(padZero(columns, pads), with(g.Shape, axis, k*step))
	return cut(line, axis, 0, (k-1)*step+1)
}

func padZero(g *Node, pads []int) *Node {
	if !slices.ContainsFunc(pads, func(k int) bool { return k != 0 }) {
		return g
	}
	return build(Pad, Attr{Ints: pads}, g, like(g, 0))
}

// cut keeps start to stop of one axis.
func cut(x *Node, axis, start, stop int) *Node {
	ints := make([]int, 0, 3*len(x.Shape))
	for _, d := range x.Shape {
		ints = append(ints, 0, d, 1)
	}
	ints[3*axis], ints[3*axis+1] = start, stop
	return build(Slice, Attr{Ints: ints}, x)
}

// gradPad cuts the gradient out; the value that fills the rest gets the rest.
func gradPad(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	ints := make([]int, 0, 3*len(x.Shape))
	for i, d := range x.Shape {
		before := n.Attr.Ints[2*i]
		ints = append(ints, before, before+d, 1)
	}
	dx := build(Slice, Attr{Ints: ints}, dy[0])
	return []*Node{dx, sub(sumTo(dy[0], nil), sumTo(dx, nil))}
}

func gradConcat(n *Node, dy []*Node) []*Node {
	grads := make([]*Node, len(n.Src))
	start := 0
	for i, s := range n.Src {
		stop := start + s.Shape[n.Attr.Axis]
		grads[i] = cut(dy[0], n.Attr.Axis, start, stop)
		start = stop
	}
	return grads
}

func gradSum(n *Node, dy []*Node) []*Node { return []*Node{expand(dy[0], n.Src[0].Shape)} }

func gradMean(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	share := 0.0 // nothing flows into no elements
	if k := Size(x.Shape) / max(1, Size(n.Shape)); k > 0 {
		share = 1 / float64(k)
	}
	return []*Node{expand(times(dy[0], share), x.Shape)}
}

// gradProd is the product of the others: of those before an element and of those behind it. The quotient
// product/x would take fewer steps, but has no derivative of its own where x is 0.
func gradProd(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	order := make([]int, 0, len(x.Shape)) // the axes, those that are multiplied over last
	for i := range x.Shape {
		if !slices.Contains(n.Attr.Axes, i) {
			order = append(order, i)
		}
	}
	order = append(order, n.Attr.Axes...)
	lines := build(Permute, Attr{Axes: order}, x)
	rows := Size(n.Shape)
	flat := reshape(lines, []int{rows, Size(x.Shape) / max(1, rows)})
	others := reshape(mul(productsBefore(flat, 1), productsBefore(flat, -1)), lines.Shape)
	return []*Node{mul(expand(dy[0], x.Shape), gradPermute(lines, []*Node{others})[0])}
}

// productsBefore multiplies, for each element of a row, those before it, or with side −1 those behind it:
// each step doubles how many there are.
func productsBefore(x *Node, side int) *Node {
	k := x.Shape[1]
	shifted := func(y *Node, by int) *Node {
		one := like(y, 1)
		if side < 0 {
			return build(Pad, Attr{Ints: []int{0, 0, 0, by}}, cut(y, 1, by, k), one)
		}
		return build(Pad, Attr{Ints: []int{0, 0, by, 0}}, cut(y, 1, 0, k-by), one)
	}
	y := shifted(x, min(1, k))
	for step := 1; step < k; step *= 2 {
		y = mul(y, shifted(y, step))
	}
	return y
}

// gradExtreme shares the gradient evenly between the elements that equal the result.
func gradExtreme(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	best := as01(compare(Eq, x, expand(n, x.Shape)), x)
	share := div(dy[0], sumOver(best, n.Attr.Axes))
	return []*Node{mul(expand(share, x.Shape), best)}
}

func gradSumSquares(n *Node, dy []*Node) []*Node {
	grads := make([]*Node, len(n.Src))
	twice := times(dy[0], 2)
	for i, s := range n.Src {
		grads[i] = mul(s, converted(twice, s.DType))
	}
	return grads
}

// gradCumSum: what flows into an element comes from all sums that it is part of.
func gradCumSum(n *Node, dy []*Node) []*Node {
	attr := *n.Attr
	attr.Flags ^= Reverse
	return []*Node{build(CumSum, attr, dy[0])}
}

func gradGather(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	return []*Node{build(ScatterAdd, *n.Attr, full(x, 0, x.Shape), n.Src[1], dy[0]), nil}
}

func gradGatherAlong(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	return []*Node{build(ScatterAlong, *n.Attr, full(x, 0, x.Shape), n.Src[1], dy[0]), nil}
}

func gradScatterAdd(n *Node, dy []*Node) []*Node {
	return []*Node{dy[0], nil, build(Gather, *n.Attr, dy[0], n.Src[1])}
}

func gradScatterAlong(n *Node, dy []*Node) []*Node {
	return []*Node{dy[0], nil, build(GatherAlong, *n.Attr, dy[0], n.Src[1])}
}

func gradTopK(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	return []*Node{build(ScatterAlong, Attr{Axis: len(x.Shape) - 1}, full(x, 0, x.Shape), pick(n, 1), dy[0])}
}
