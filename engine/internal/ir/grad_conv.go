package ir

// The three products are one sum, Σ y·w·x over all places and taps, with one of its three factors left out.
// So the derivative of each for a factor is the third product.

func gradConv(n *Node, dy []*Node) []*Node {
	x, w := n.Src[0], n.Src[1]
	return []*Node{convTranspose(n.Attr, dy[0], w, x.Shape), convProduct(ConvWeight, n.Attr, x, dy[0])}
}

func gradConvTranspose(n *Node, dx []*Node) []*Node {
	y, w := n.Src[0], n.Src[1]
	return []*Node{convProduct(Conv, n.Attr, dx[0], w), convProduct(ConvWeight, n.Attr, dx[0], y)}
}

func gradConvWeight(n *Node, dw []*Node) []*Node {
	x, y := n.Src[0], n.Src[1]
	return []*Node{convTranspose(n.Attr, y, dw[0], x.Shape), convProduct(Conv, n.Attr, x, dw[0])}
}

func convProduct(op Op, a Attr, x, y *Node) *Node {
	return build(op, Attr{Ints: a.Ints, Index: a.Index}, x, y)
}

// convTranspose gives the gradient of an input of shape x.
func convTranspose(a Attr, y, w *Node, x []int) *Node {
	return build(ConvTranspose, Attr{Ints: a.Ints, Index: a.Index, Shape: x[2:]}, y, w)
}

// gradMaxPool adds what flows into the greatest elements to their places.
func gradMaxPool(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	if dy[0] == nil {
		return []*Node{nothing}
	}
	lines := func(n *Node) *Node {
		return reshape(n, []int{n.Shape[0], n.Shape[1], Size(n.Shape[2:])})
	}
	flat := []int{x.Shape[0], x.Shape[1], Size(x.Shape[2:])}
	return []*Node{reshape(build(ScatterAlong, Attr{Axis: 2}, full(x, 0, flat), lines(pick(n, 1)), lines(dy[0])), x.Shape)}
}
