package ir

// Lower writes a composite node with plainer ones, and returns n itself when there is nothing to lower. src are n's
// sources, perhaps lowered themselves.
//
// LoRALinear becomes h = (x·a)·s and the single MatMul x·w + h·b, which is what fusion wants: the h of several adapters
// can share a launch, and so can the products. With plain it becomes the five ops that one would write by hand.
func Lower(n *Node, src []*Node, plain bool) *Node {
	if n.Op != LoRALinear {
		return n
	}
	x, w, a, b := src[0], src[1], src[2], src[3]
	scale := fixed(n.Dev, n.DType, n.Attr.Float)
	if !plain {
		return build(MatMul, Attr{}, x, w, loraHidden(n, x, a), b)
	}
	product := build(MatMul, Attr{}, x, w)
	update := build(MatMul, Attr{}, build(MatMul, Attr{}, x, a), b)
	return build(Add, Attr{}, product, build(Mul, Attr{}, update, scale))
}

// loraHidden is s·x·a of a LoRALinear node. Forward and backward write it the same way, so that it is computed once.
func loraHidden(n, x, a *Node) *Node {
	return build(Mul, Attr{}, build(MatMul, Attr{}, x, a), fixed(n.Dev, n.DType, n.Attr.Float))
}
