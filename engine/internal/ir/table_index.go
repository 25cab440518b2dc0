package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func indexRows() []Row {
	const range_ = "An index below 0 counts from the end of the axis; one outside of the axis is an error when it is evaluated."
	return []Row{
		{Op: Gather, Name: "gather", Sources: 2, Infer: inferGather, Grad: gradGather, Flops: free, Tol: exact,
			Doc: "Gather takes from x the slices along Attr.Axis that index (i64, any shape) names; the axis is replaced by index's axes (NumPy's take, " +
				"an embedding). " + range_},
		{Op: GatherAlong, Name: "gather_along", Sources: 2, Infer: inferGatherAlong, Grad: gradGatherAlong, Flops: free, Tol: exact,
			Doc: "GatherAlong takes from x, at each place of index (i64, x's shape but for Attr.Axis), the element at that index along Attr.Axis " +
				"(NumPy's take_along_axis). " + range_},
		{Op: ScatterAdd, Name: "scatter_add", Sources: 3, Infer: all(hasRows, inferNumber), Grad: gradScatterAdd, Flops: flopsOfUpdates, Tol: summation,
			Doc: "ScatterAdd is base with updates added to the slices along Attr.Axis that index names, the reverse of gather; several updates of one slice add up. " + range_},
		{Op: ScatterAlong, Name: "scatter_along", Sources: 3, Infer: all(inferAlong, areNumbers), Grad: gradScatterAlong, Flops: flopsOfUpdates, Tol: summation,
			Doc: "ScatterAlong is base with each element of updates added at its index along Attr.Axis, the reverse of gather_along. " + range_},
		{Op: ScatterWith, Name: "scatter_with", Sources: 3, Infer: inferScatterWith, Grad: gradScatterWith, Flops: flopsOfUpdates, Tol: functions,
			Doc: "ScatterWith is base with each element of updates combined with what is at its index along Attr.Axis: Attr.Index is Replace (the last of several " +
				"updates of one place stays), Multiply, Least or Greatest (a NaN wins). The gradient of Replace goes to the update that stays, that of Least and " +
				"Greatest is shared evenly by those that tie. " + range_},
		{Op: Overwrite, Name: "overwrite", Sources: 3, Infer: all(hasRows, asFirst), NoGrad: "it may change its base, which others have read", Flops: free, Tol: exact,
			Doc: "Overwrite is base with its slices along Attr.Axis that index names replaced by updates; the last of several updates of one slice stays. " +
				"With Flags InPlace, for memory with one owner such as the cache of a decoder, base is not used afterwards, and the value may have its memory. " + range_},
		{Op: TopK, Name: "top_k", Sources: 1, Infer: inferTopK, Grad: gradTopK, Flops: flopsOfSource(4), Tol: exact,
			Doc: "TopK gives the Attr.Index greatest elements of each row, greatest first, and their indices (i64); the smallest with Flags Reverse. " +
				"Of equal elements the first comes first; NaN counts as greatest. The gradient goes to the chosen elements."},
	}
}

// A Combination is what a scatter does with the element that is there and the update.
type Combination int

// The combinations of ScatterWith; sums are ScatterAlong's.
const (
	Replace Combination = iota
	Multiply
	Least
	Greatest
)

func flopsOfUpdates(n *Node) int64 { return int64(Size(n.Src[2].Shape)) }

func inferGather(n *Node) error {
	x, index := n.Src[0], n.Src[1]
	if index.DType != dtype.I64 {
		return got(n, "an i64 index")
	}
	if err := axis(n, x); err != nil {
		return err
	}
	n.DType, n.Shape = x.DType, with(x.Shape, n.Attr.Axis, index.Shape...)
	return nil
}

// sameBut says whether a and b have equal lengths along every axis but one.
func sameBut(a, b []int, axis int) bool {
	return len(a) == len(b) && slices.Equal(a[:axis], b[:axis]) && slices.Equal(a[axis+1:], b[axis+1:])
}

func inferGatherAlong(n *Node) error {
	x, index := n.Src[0], n.Src[1]
	if err := axis(n, x); err != nil {
		return err
	}
	if index.DType != dtype.I64 || !sameBut(x.Shape, index.Shape, n.Attr.Axis) {
		return got(n, "an i64 index whose shape differs only along axis %d", n.Attr.Axis)
	}
	n.DType, n.Shape = x.DType, index.Shape
	return nil
}

// hasRows checks a base, an index along an axis and updates for what the index names.
func hasRows(n *Node) error {
	base, index, updates := n.Src[0], n.Src[1], n.Src[2]
	if err := axis(n, base); err != nil {
		return err
	}
	want := with(base.Shape, n.Attr.Axis, index.Shape...)
	if index.DType != dtype.I64 || updates.DType != base.DType || !slices.Equal(updates.Shape, want) {
		return got(n, "an i64 index and updates %v%v", base.DType, want)
	}
	return nil
}

// inferAlong checks a base, an index of its rank and an update for each index.
func inferAlong(n *Node) error {
	base, index, updates := n.Src[0], n.Src[1], n.Src[2]
	if err := axis(n, base); err != nil {
		return err
	}
	if index.DType != dtype.I64 || !sameBut(base.Shape, index.Shape, n.Attr.Axis) {
		return got(n, "an i64 index whose shape differs only along axis %d", n.Attr.Axis)
	}
	if updates.DType != base.DType || !slices.Equal(updates.Shape, index.Shape) {
		return got(n, "updates %v%v", base.DType, index.Shape)
	}
	return as(n, base)
}

func inferScatterWith(n *Node) error {
	if c := Combination(n.Attr.Index); c < Replace || c > Greatest {
		return wrong(n, "got combination %d, want one from %d to %d", c, Replace, Greatest)
	}
	if err := inferAlong(n); err != nil {
		return err
	}
	if !number(n.DType) && Combination(n.Attr.Index) == Multiply {
		return got(n, "numbers")
	}
	return nil
}

func inferTopK(n *Node) error {
	x := n.Src[0]
	last := len(x.Shape) - 1
	if last < 0 || n.Attr.Index < 0 || n.Attr.Index > x.Shape[last] {
		return got(n, "at least %d elements along the last axis", n.Attr.Index)
	}
	shape := with(x.Shape, last, n.Attr.Index)
	n.tuple(Type{x.DType, shape}, Type{dtype.I64, shape})
	return nil
}
