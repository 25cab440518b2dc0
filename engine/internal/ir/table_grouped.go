package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// groupedRows are products of which each row has a matrix of its own, chosen by an index: the experts of a
// mixture. Each of the two is the gradient of the other for one of its factors.
func groupedRows() []Row {
	flops := func(n *Node) int64 {
		x := n.Src[0].Shape
		return 2 * int64(Size(x)) * int64(n.Shape[len(n.Shape)-1])
	}
	return []Row{
		{Op: GroupedMatMul, Name: "grouped_matmul", Sources: 3, Infer: inferGroupedMatMul, Grad: gradGroupedMatMul, Flops: flops, Tol: summation,
			Doc: "GroupedMatMul multiplies each row of x [M K] by the matrix of w [G K N] that an index i64[M] names: y[m] = x[m]·w[index[m]], [M N] in x's dtype. " +
				"An index below 0 counts from the end. w may be of another floating-point dtype, which is widened as it is read. It adds up in f32 (f64 for f64) and rounds once. " +
				"Where w is a Dequantize the product reads its codes. Matrices that no row names are not read, and all is one launch (Gale and others: MegaBlocks, 2022)."},
		{Op: GroupedWeight, Name: "grouped_weight", Sources: 3, Infer: inferGroupedWeight, Grad: gradGroupedWeight, Flops: flops, Tol: summation,
			Doc: "GroupedWeight is grouped_matmul's gradient for its matrices: from x [M K], dy [M N] and index i64[M] it gives w [G K N] with G = Attr.Index, as Attr.DType: " +
				"w[g] = Σ x[m]ᵀ·dy[m] over the rows of group g, 0 where there is none. It adds up as grouped_matmul does."},
	}
}

// rowsInGroups checks rows a [M K], b, and an index i64[M] of their groups.
func rowsInGroups(n *Node, a, b, index *Node, fits bool, want string) error {
	if !a.DType.Float() || !b.DType.Float() || (a.DType == dtype.F64) != (b.DType == dtype.F64) {
		return got(n, "floating-point dtypes, f64 beside f64 only")
	}
	if !fits || index.DType != dtype.I64 || !slices.Equal(index.Shape, a.Shape[:1]) {
		return got(n, want)
	}
	return nil
}

func inferGroupedMatMul(n *Node) error {
	x, w, index := n.Src[0], n.Src[1], n.Src[2]
	fits := len(x.Shape) == 2 && len(w.Shape) == 3 && x.Shape[1] == w.Shape[1] && w.Shape[0] > 0
	if err := rowsInGroups(n, x, w, index, fits, "x [M K], w [G K N] of one group or more, and index i64[M]"); err != nil {
		return err
	}
	n.DType, n.Shape = x.DType, []int{x.Shape[0], w.Shape[2]}
	return nil
}

func inferGroupedWeight(n *Node) error {
	x, dy, index := n.Src[0], n.Src[1], n.Src[2]
	fits := len(x.Shape) == 2 && len(dy.Shape) == 2 && x.Shape[0] == dy.Shape[0] && n.Attr.Index > 0
	if err := rowsInGroups(n, x, dy, index, fits, "x [M K], dy [M N], one group or more, and index i64[M]"); err != nil {
		return err
	}
	if dt := n.Attr.DType; !dt.Float() || (dt == dtype.F64) != (x.DType == dtype.F64) {
		return got(n, "a floating-point result (not %v)", dt)
	}
	n.DType, n.Shape = n.Attr.DType, []int{n.Attr.Index, x.Shape[1], dy.Shape[1]}
	return nil
}

func gradGroupedMatMul(n *Node, dy []*Node) []*Node {
	x, w, index := n.Src[0], n.Src[1], n.Src[2]
	return []*Node{groupedMatMul(dy[0], transpose(w), index), groupedWeight(x, dy[0], index, w), nil}
}

func gradGroupedWeight(n *Node, dw []*Node) []*Node {
	x, dy, index := n.Src[0], n.Src[1], n.Src[2]
	return []*Node{groupedMatMul(dy, transpose(dw[0]), index), groupedMatMul(x, dw[0], index), nil}
}

func groupedMatMul(x, w, index *Node) *Node { return build(GroupedMatMul, Attr{}, x, w, index) }

// groupedWeight is the gradient of the matrices w.
func groupedWeight(x, dy, index, w *Node) *Node {
	return build(GroupedWeight, Attr{Index: w.Shape[0], DType: w.DType}, x, dy, index)
}
