package ir

import "slices"

func linearRows() []Row {
	return []Row{
		{
			Op: MatMul, Name: "matmul", Infer: inferMatMul, Grad: gradMatMul, Tol: summation,
			Doc: "MatMul is Σᵢ aᵢ·bᵢ over the pairs of its sources a₀, b₀, a₁, b₁, …: a [… M K], b [… K N], equal axes in front, K of each pair its own. " +
				"It adds up in f32 and rounds once to the operands' dtype; integers wrap. A transposed operand is a Permute of it.",
			Flops: func(n *Node) int64 {
				var total int64
				for i := 0; i < len(n.Src); i += 2 {
					s := n.Src[i].Shape
					total += 2 * int64(Size(n.Shape)) * int64(s[len(s)-1])
				}
				return total
			},
		},
		{
			Op: LoRALinear, Name: "lora_linear", Sources: 4, Infer: inferLoRALinear, Grad: gradLoRALinear, Tol: summation,
			Doc: "LoRALinear is x·w + s·(x·a)·b with x [M K], w [K N], a [K R], b [R N] and s = Attr.Float " +
				"(Hu and others: LoRA, low-rank adaptation of large language models, 2021). Gradients are made only for what is asked, so a frozen w costs nothing.",
			Flops: func(n *Node) int64 {
				m, k := int64(n.Src[0].Shape[0]), int64(n.Src[0].Shape[1])
				cols, rank := int64(n.Shape[1]), int64(n.Src[3].Shape[0])
				return 2*m*k*cols + 2*m*k*rank + m*rank + 2*m*rank*cols
			},
		},
	}
}

func inferMatMul(n *Node) error {
	if len(n.Src) == 0 || len(n.Src)%2 != 0 {
		return wrong(n, "got %d operands, want pairs", len(n.Src))
	}
	for i := 0; i < len(n.Src); i += 2 {
		if err := inferProduct(n, n.Src[i], n.Src[i+1], i > 0); err != nil {
			return err
		}
	}
	return nil
}

// inferProduct checks one pair, and that it fits the result of the pairs before it.
func inferProduct(n, a, b *Node, later bool) error {
	last := len(a.Shape) - 1
	switch {
	case a.DType != b.DType:
		return got(n, "one dtype")
	case !number(a.DType):
		return got(n, "numbers")
	case last < 1 || len(b.Shape) != last+1:
		return got(n, "two matrices, with the same axes in front")
	case a.Shape[last] != b.Shape[last-1]:
		return got(n, "inner dimensions equal (%d and %d)", a.Shape[last], b.Shape[last-1])
	case !slices.Equal(a.Shape[:last-1], b.Shape[:last-1]):
		return got(n, "the same axes in front (%v and %v)", a.Shape[:last-1], b.Shape[:last-1])
	}
	shape := with(a.Shape, last, b.Shape[last])
	if later && (a.DType != n.DType || !slices.Equal(shape, n.Shape)) {
		return got(n, "pairs with one result (%v%v and %v%v)", n.DType, n.Shape, a.DType, shape)
	}
	n.DType, n.Shape = a.DType, shape
	return nil
}

func inferLoRALinear(n *Node) error {
	for _, s := range n.Src {
		if len(s.Shape) != 2 {
			return got(n, "four matrices: x, w, a and b")
		}
	}
	if err := floats(n, n.Src...); err != nil {
		return err
	}
	x, w, a, b := n.Src[0].Shape, n.Src[1].Shape, n.Src[2].Shape, n.Src[3].Shape
	if x[1] != w[0] || x[1] != a[0] || a[1] != b[0] || w[1] != b[1] {
		return got(n, "x[M K], w[K N], a[K R], b[R N]")
	}
	n.DType, n.Shape = n.Src[0].DType, []int{x[0], w[1]}
	return nil
}
