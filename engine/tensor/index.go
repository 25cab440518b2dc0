package tensor

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// Take takes the slices of t at index along an axis (NumPy's take): the axis is replaced by the index's axes. A matrix
// of embeddings and i64 [B T] give [B T D] with axis 0. An index below 0 counts from the end, here and in the functions
// below; one that is out of range is an error, with the index and the axis's length, when the result is evaluated.
func (t Tensor) Take(index Tensor, axis int) Tensor {
	n := t.node("gather")
	return wrap(apply(ir.Gather, ir.Attr{Axis: axisOf("gather", n, axis)}, n, index.node("gather")))
}

// TakeAlong takes t[…, index[…], …] along an axis; the index has t's rank, and its lengths but for the axis.
func (t Tensor) TakeAlong(index Tensor, axis int) Tensor {
	n := t.node("gather_along")
	return wrap(apply(ir.GatherAlong, ir.Attr{Axis: axisOf("gather_along", n, axis)}, n, index.node("gather_along")))
}

// ScatterAdd returns t with updates added to its slices at index along an axis; an index may come more than once. The
// updates have the shape that Take would give.
func (t Tensor) ScatterAdd(axis int, index, updates Tensor) Tensor {
	n := t.node("scatter_add")
	attr := ir.Attr{Axis: axisOf("scatter_add", n, axis)}
	return wrap(apply(ir.ScatterAdd, attr, n, index.node("scatter_add"), cast(updates.node("scatter_add"), n.DType)))
}

// Overwrite returns t with its slices at index along an axis replaced by updates, which have the shape that Take would give.
// It is for memory with one owner, such as a decoder's cache: if t is evaluated and nothing else in the evaluation reads
// it, t's own memory is changed, and t must not be read afterwards. No gradient flows through it.
func (t Tensor) Overwrite(axis int, index, updates Tensor) Tensor {
	n := t.node("overwrite")
	attr := ir.Attr{Axis: axisOf("overwrite", n, axis)}
	return wrap(apply(ir.Overwrite, attr, n, index.node("overwrite"), cast(updates.node("overwrite"), n.DType)))
}

// ScatterAlong returns t with updates added at index along an axis, the reverse of TakeAlong.
func (t Tensor) ScatterAlong(axis int, index, updates Tensor) Tensor {
	n := t.node("scatter_along")
	attr := ir.Attr{Axis: axisOf("scatter_along", n, axis)}
	return wrap(apply(ir.ScatterAlong, attr, n, index.node("scatter_along"), cast(updates.node("scatter_along"), n.DType)))
}

// TopK returns the k largest values of each row (last axis) in falling order, and their places as i64.
func (t Tensor) TopK(k int) (values, indices Tensor) {
	tuple := apply(ir.TopK, ir.Attr{Index: k}, t.node("topk"))
	return pick(tuple, 0), pick(tuple, 1)
}

// BottomK returns the k smallest values of each row (last axis) in rising order, and their places as i64.
func (t Tensor) BottomK(k int) (values, indices Tensor) {
	tuple := apply(ir.TopK, ir.Attr{Index: k, Flags: ir.Reverse}, t.node("topk"))
	return pick(tuple, 0), pick(tuple, 1)
}
