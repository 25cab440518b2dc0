package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// indexOf is an index of any integer dtype as the ops want it.
func indexOf(op string, index Tensor) *ir.Node {
	n := index.node(op)
	if !n.DType.Int() {
		fail(op, "got index %v, want integers", n)
	}
	return cast(n, dtype.I64)
}

// Take takes the slices of t at index along an axis (NumPy's take): the axis is replaced by the index's axes.
// A matrix of embeddings and integers [B T] give [B T D] with axis 0. An index below 0 counts from the end,
// here and in the functions below; one that is out of range is an error, with the index and the axis's
// length, when the result is evaluated.
func (t Tensor) Take(index Tensor, axis int) Tensor {
	n := t.node("gather")
	return wrap(apply(ir.Gather, ir.Attr{Axis: axisOf("gather", n, axis)}, n, indexOf("gather", index)))
}

// TakeAlong takes t[…, index[…], …] along an axis; the index has t's rank, and its lengths but for the axis.
func (t Tensor) TakeAlong(index Tensor, axis int) Tensor {
	n := t.node("gather_along")
	return wrap(apply(ir.GatherAlong, ir.Attr{Axis: axisOf("gather_along", n, axis)}, n, indexOf("gather_along", index)))
}

// ScatterAdd returns t with updates added to its slices at index along an axis; an index may come more than
// once. The updates have the shape that Take would give.
func (t Tensor) ScatterAdd(axis int, index, updates Tensor) Tensor {
	n := t.node("scatter_add")
	attr := ir.Attr{Axis: axisOf("scatter_add", n, axis)}
	return wrap(apply(ir.ScatterAdd, attr, n, indexOf("scatter_add", index), cast(updates.node("scatter_add"), n.DType)))
}

// Overwrite returns t with its slices at index along an axis replaced by updates, which have the shape that
// Take would give; t does not change. No gradient flows through it.
func (t Tensor) Overwrite(axis int, index, updates Tensor) Tensor {
	n := t.node("overwrite")
	attr := ir.Attr{Axis: axisOf("overwrite", n, axis)}
	return wrap(apply(ir.Overwrite, attr, n, indexOf("overwrite", index), cast(updates.node("overwrite"), n.DType)))
}

// ScatterAlong returns t with updates added at index along an axis, the reverse of TakeAlong.
func (t Tensor) ScatterAlong(axis int, index, updates Tensor) Tensor {
	n := t.node("scatter_along")
	attr := ir.Attr{Axis: axisOf("scatter_along", n, axis)}
	return wrap(apply(ir.ScatterAlong, attr, n, indexOf("scatter_along", index), cast(updates.node("scatter_along"), n.DType)))
}

// A Combination is what [Tensor.Put] does with the element that is there and its update.
type Combination int

const (
	Replace    Combination = iota // the update; the last of several for one place
	Accumulate                    // their sum
	Multiply                      // their product
	Least                         // the smaller one
	Greatest                      // the larger one
)

// Put returns t with updates put into its slices at index along an axis, as the combination says. The updates
// have the shape that Take would give. Gradients flow, as they do not through Overwrite: where updates
// replace, to the one that stays; where the least or greatest stays, in equal shares to those that tie.
func (t Tensor) Put(axis int, index, updates Tensor, how Combination) Tensor {
	if how == Accumulate {
		return t.ScatterAdd(axis, index, updates)
	}
	n, ix := t.node("put"), indexOf("put", index)
	a := axisOf("put", n, axis)
	want := slices.Concat(n.Shape[:a], ix.Shape, n.Shape[a+1:])
	if !slices.Equal(updates.Shape(), want) {
		fail("put", "got updates %v for index %v along axis %d of %v, want %v%v", updates.node("put"), ix, axis, n, n.DType, want)
	}
	outer, inner := ir.Size(n.Shape[:a]), ir.Size(n.Shape[a+1:])
	places := wrap(ix).Reshape(1, ir.Size(ix.Shape), 1).Expand(outer, -1, inner)
	y := t.Reshape(outer, n.Shape[a], inner).PutAlong(1, places, updates.Reshape(places.Shape()...), how)
	return y.Reshape(n.Shape...)
}

// PutAlong returns t with updates put at index along an axis, as the combination says: the reverse of
// TakeAlong. Index and updates have one shape, of t's rank; along the other axes it may be shorter than t,
// and then the rest of t stays.
func (t Tensor) PutAlong(axis int, index, updates Tensor, how Combination) Tensor {
	n, ix := t.node("put_along"), indexOf("put_along", index)
	a := axisOf("put_along", n, axis)
	if len(ix.Shape) == len(n.Shape) {
		for i, d := range n.Shape {
			if k := ix.Shape[i]; i != a && k < d {
				first := t.Slice(i, 0, k).PutAlong(axis, index, updates, how)
				return Concat([]Tensor{first, t.Slice(i, k, d)}, i)
			}
		}
	}
	u := cast(updates.node("put_along"), n.DType)
	if how == Accumulate {
		return wrap(apply(ir.ScatterAlong, ir.Attr{Axis: a}, n, ix, u))
	}
	to := map[Combination]ir.Combination{Replace: ir.Replace, Multiply: ir.Multiply, Least: ir.Least, Greatest: ir.Greatest}
	c, ok := to[how]
	if !ok {
		fail("put_along", "got combination %d, want one from %d to %d", how, Replace, Greatest)
	}
	return wrap(apply(ir.ScatterWith, ir.Attr{Axis: a, Index: int(c)}, n, ix, u))
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
