package ir

import "github.com/mcs-notebook/mcs/engine/dtype"

func leafRows() []Row {
	none := func(n *Node) error { return nil }
	return []Row{
		{Op: Leaf, Name: "leaf", Infer: none, Flops: free, Doc: "Leaf is data in memory: provided by somebody, or evaluated earlier.", NoGrad: "it has no sources"},
		{Op: Const, Name: "const", Infer: none, Flops: free,
			Doc:    "Const is one number, of shape []. Its value is not part of a plan, so a learning rate may change.",
			NoGrad: "it has no sources"},
		{Op: Iota, Name: "iota", Infer: inferIota, Flops: free,
			Doc:    "Iota holds at each place the index along axis Attr.Axis, in any dtype but Bool; in floating-point types it is exact up to 2^24 (f32).",
			NoGrad: "it has no sources"},
		{Op: Pick, Name: "pick", Sources: 1, Infer: inferPick, Flops: free, Doc: "Pick is value Attr.Index of an op that has several."},
		{
			Op: To, Name: "to", Sources: 1, Infer: inferTo, Flops: free,
			Doc: "To is Src[0] on the device Attr.Dev, contiguous. It is a leaf of the graph of that device: Src[0] belongs to the graph of " +
				"another one, which is computed before.",
			Grad: func(n *Node, dy []*Node) []*Node { return []*Node{build(To, Attr{Dev: n.Src[0].Dev}, dy[0])} },
		},
	}
}

func inferIota(n *Node) error {
	n.DType, n.Shape = n.Attr.DType, n.Attr.Shape
	switch {
	case !number(n.DType):
		return wrong(n, "got %v, want a number dtype", n.DType)
	case n.Attr.Axis < 0 || n.Attr.Axis >= len(n.Shape):
		return wrong(n, "got axis %d of shape %v, want an axis of it", n.Attr.Axis, n.Shape)
	}
	if err := checkShape(n.Shape); err != nil {
		return wrong(n, "%v", err)
	}
	return nil
}

func inferPick(n *Node) error {
	outs := n.Src[0].Outs
	if n.Attr.Index < 0 || n.Attr.Index >= len(outs) {
		return wrong(n, "got value %d of %d, want one that there is", n.Attr.Index, len(outs))
	}
	n.DType, n.Shape = outs[n.Attr.Index].DType, outs[n.Attr.Index].Shape
	return nil
}

func inferTo(n *Node) error {
	n.Dev = n.Attr.Dev
	return as(n, n.Src[0])
}

func randomRows() []Row {
	return []Row{
		{Op: Rand, Name: "rand", Sources: 2, Infer: inferRandom, Flops: free, Tol: exact,
			Doc: "Rand is uniform in [0, 1) in steps of 2^-24: the upper 24 bits of a word divided by 2^24. The words are those of Philox4x32-10 " +
				"(Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011) with the 64-bit key Src[0]: elements 4b to 4b+3 in C order " +
				"come from the block with the 128-bit counter (b, Src[1]), whose words 0 and 1 are b, low word first, and words 2 and 3 Src[1]. " +
				"Key and counter are i64[] Consts. Every backend gives the same bits.",
			NoGrad: "random numbers depend on no tensor"},
		{
			Op: RandNormal, Name: "rand_normal", Sources: 2, Infer: inferRandom, Flops: free, Tol: functions,
			Doc: "RandNormal has mean 0 and variance 1: Box and Muller's transform of the uniform numbers u (see rand) of words 0, 1 and " +
				"of words 2, 3: r = √(−2·ln(1−u₀)), the pair r·cos(2π·u₁), r·sin(2π·u₁). " +
				"Backends agree up to rounding of the functions.",
			NoGrad: "random numbers depend on no tensor",
		},
	}
}

func inferRandom(n *Node) error {
	for _, s := range n.Src {
		if s.DType != dtype.I64 || len(s.Shape) != 0 {
			return got(n, "a key and a counter of i64[]")
		}
	}
	n.DType, n.Shape = n.Attr.DType, n.Attr.Shape
	if n.DType != dtype.F32 && n.DType != dtype.F64 {
		return wrong(n, "got %v, want f32 (f64 on ref)", n.DType)
	}
	return nil
}
