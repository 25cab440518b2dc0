package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// axisOf resolves an axis that may count from the end.
func axisOf(op string, n *ir.Node, axis int) int {
	a := axis
	if a < 0 {
		a += len(n.Shape)
	}
	if a < 0 || a >= len(n.Shape) {
		fail(op, "got axis %d of %v, want one in %d…%d", axis, n, -len(n.Shape), len(n.Shape)-1)
	}
	return a
}

// axesOf resolves axes and sorts them; none means all.
func axesOf(op string, n *ir.Node, axes []int) []int {
	if len(axes) == 0 {
		return ir.Indices(len(n.Shape))
	}
	list := make([]int, 0, len(axes))
	for _, a := range axes {
		list = append(list, axisOf(op, n, a))
	}
	slices.Sort(list)
	for i := range list[1:] {
		if list[i] == list[i+1] {
			fail(op, "got axes %v of %v, want each axis once", axes, n)
		}
	}
	return list
}

// fillShape replaces a −1 by what the size leaves.
func fillShape(op string, dims []int, size int) []int {
	shape, open, rest := slices.Clone(dims), -1, 1
	if shape == nil {
		shape = []int{}
	}
	for i, d := range shape {
		switch {
		case d == -1 && open < 0:
			open = i
		case d < 0:
			fail(op, "got shape %v, want lengths, and at most one -1", dims)
		default:
			rest *= d
		}
	}
	if open >= 0 && rest > 0 {
		shape[open] = size / rest
		rest *= shape[open]
	}
	if rest != size || open >= 0 && shape[open] < 0 {
		fail(op, "got %d elements for shape %v", size, dims)
	}
	return shape
}

func reshape(n *ir.Node, shape []int) *ir.Node {
	if slices.Equal(n.Shape, shape) {
		return n
	}
	return apply(ir.Reshape, ir.Attr{Shape: shape}, n)
}

// Reshape gives the elements, in C order, another shape; one length may be −1 and follows from the rest.
func (t Tensor) Reshape(dims ...int) Tensor {
	n := t.node("reshape")
	return wrap(reshape(n, fillShape("reshape", dims, ir.Size(n.Shape))))
}

// Flatten returns the elements as one axis.
func (t Tensor) Flatten() Tensor { return t.Reshape(-1) }

// Permute reorders the axes: axis i of the result is axes[i] of t.
func (t Tensor) Permute(axes ...int) Tensor {
	n := t.node("permute")
	order := make([]int, len(axes))
	for i, a := range axes {
		order[i] = axisOf("permute", n, a)
	}
	return wrap(apply(ir.Permute, ir.Attr{Axes: order}, n))
}

// T is the transposed matrix. Of more axes [Tensor.Transpose] exchanges the last two, and [Tensor.Permute]
// reorders all.
func (t Tensor) T() Tensor {
	if n := t.node("t"); len(n.Shape) != 2 {
		fail("t", "got %v, want a matrix: Transpose exchanges the last two axes, Permute reorders all", n)
	}
	return t.Transpose()
}

// Transpose exchanges the last two axes.
func (t Tensor) Transpose() Tensor { return wrap(transpose("transpose", t.node("transpose"))) }

func transpose(op string, n *ir.Node) *ir.Node {
	if len(n.Shape) < 2 {
		fail(op, "got %v, want two axes or more", n)
	}
	order := ir.Indices(len(n.Shape))
	last := len(order) - 1
	order[last], order[last-1] = last-1, last
	return apply(ir.Permute, ir.Attr{Axes: order}, n)
}

// SwapAxes exchanges two axes.
func (t Tensor) SwapAxes(a, b int) Tensor {
	n := t.node("swap_axes")
	order := ir.Indices(len(n.Shape))
	i, j := axisOf("swap_axes", n, a), axisOf("swap_axes", n, b)
	order[i], order[j] = j, i
	return wrap(apply(ir.Permute, ir.Attr{Axes: order}, n))
}

// Expand broadcasts t to a shape: axes are aligned at the end, lengths of 1 repeat, −1 keeps a length.
func (t Tensor) Expand(shape ...int) Tensor {
	n := t.node("expand")
	full := slices.Clone(shape)
	lead := len(full) - len(n.Shape)
	for i := range full {
		if full[i] == -1 && i >= lead && lead >= 0 {
			full[i] = n.Shape[i-lead]
		}
	}
	wantShape("expand", full)
	return wrap(expand(n, full))
}

// Slice takes the elements start…stop−1 of an axis. Negative bounds count from the end; bounds are clipped to
// the axis.
func (t Tensor) Slice(axis, start, stop int) Tensor { return t.SliceStep(axis, start, stop, 1) }

// SliceStep is Slice with a step. A negative step goes backwards from start down to stop+1, as Python's
// x[start:stop:-1].
func (t Tensor) SliceStep(axis, start, stop, step int) Tensor {
	n := t.node("slice")
	a := axisOf("slice", n, axis)
	d := n.Shape[a]
	if step == 0 {
		fail("slice", "got step 0 on axis %d of %v, want any other", axis, n)
	}
	if step < 0 {
		first, last := bound(start, d, -1, d-1), bound(stop, d, -1, d-1)
		count := max(0, (first-last-step-1)/-step)
		return t.Flip(a).sliceAxis(a, d-1-first, d-1-first+count*-step, -step)
	}
	return t.sliceAxis(a, bound(start, d, 0, d), bound(stop, d, 0, d), step)
}

// bound resolves a bound that may count from the end and clips it.
func bound(b, length, low, high int) int {
	if b < 0 {
		b += length
	}
	return min(max(b, low), high)
}

func (t Tensor) sliceAxis(axis, start, stop, step int) Tensor {
	n := t.node("slice")
	b := make([]int, 0, 3*len(n.Shape))
	for i, d := range n.Shape {
		if i == axis {
			stop = min(stop, d)
			start = min(start, d)
			b = append(b, start, max(start, stop), step)
		} else {
			b = append(b, 0, d, 1)
		}
	}
	return wrap(apply(ir.Slice, ir.Attr{Ints: b}, n))
}

// Select takes the element at an index of an axis and drops the axis; a negative index counts from the end.
func (t Tensor) Select(axis, index int) Tensor {
	a, i := placeOf("select", t.node("select"), axis, index)
	return t.sliceAxis(a, i, i+1, 1).Squeeze(a)
}

// placeOf checks an axis and an index on it; both count from the end if they are below 0.
func placeOf(op string, n *ir.Node, axis, index int) (a, i int) {
	a, i = axisOf(op, n, axis), index
	if i < 0 {
		i += n.Shape[a]
	}
	if i < 0 || i >= n.Shape[a] {
		fail(op, "got index %d on axis %d of %v, want one in %d…%d", index, axis, n, -n.Shape[a], n.Shape[a]-1)
	}
	return a, i
}

// At takes the element at an index of the first axes: x.At(2) is a row of a matrix, x.At(2, 3) a number.
func (t Tensor) At(index ...int) Tensor {
	x := t
	for axis, i := range index {
		_, i = placeOf("at", t.node("at"), axis, i)
		x = x.Select(0, i)
	}
	return x
}

// Flip reverses axes; none means all.
func (t Tensor) Flip(axes ...int) Tensor {
	n := t.node("flip")
	return wrap(apply(ir.Flip, ir.Attr{Axes: axesOf("flip", n, axes)}, n))
}

// Squeeze removes axes of length 1; none means all of them.
func (t Tensor) Squeeze(axes ...int) Tensor {
	n := t.node("squeeze")
	list := axesOf("squeeze", n, axes)
	shape := []int{}
	for a, d := range n.Shape {
		switch {
		case !slices.Contains(list, a), d != 1 && len(axes) == 0:
			shape = append(shape, d)
		case d != 1:
			fail("squeeze", "got axis %d of %v, want length 1", a, n)
		}
	}
	return wrap(reshape(n, shape))
}

// Unsqueeze puts an axis of length 1 before axis; a negative one counts from the end of the result.
func (t Tensor) Unsqueeze(axis int) Tensor {
	n := t.node("unsqueeze")
	a := axis
	if a < 0 {
		a += len(n.Shape) + 1
	}
	if a < 0 || a > len(n.Shape) {
		fail("unsqueeze", "got axis %d for %v, want one in %d…%d", axis, n, -len(n.Shape)-1, len(n.Shape))
	}
	return wrap(reshape(n, slices.Insert(slices.Clone(n.Shape), a, 1)))
}

// Pad puts before and after elements of a value at the ends of an axis.
func (t Tensor) Pad(axis, before, after int, value float64) Tensor {
	n := t.node("pad")
	widths := make([]int, 2*len(n.Shape))
	a := axisOf("pad", n, axis)
	widths[2*a], widths[2*a+1] = before, after
	return wrap(apply(ir.Pad, ir.Attr{Ints: widths}, n, cast(ir.Number(n.Dev, n.DType.Part(), value), n.DType)))
}

// Concat joins tensors along an axis; dtypes are promoted. The tensors are a list: []tensor.Tensor{a, b}.
func Concat(ts []Tensor, axis int) Tensor {
	if len(ts) == 0 {
		fail("concat", "got no tensors")
	}
	nodes := make([]*ir.Node, len(ts))
	dt := ts[0].DType()
	for i, t := range ts {
		nodes[i] = t.node("concat")
		dt = dtype.Promote(dt, nodes[i].DType)
	}
	for i := range nodes {
		nodes[i] = cast(nodes[i], dt)
	}
	if len(nodes) == 1 {
		return ts[0]
	}
	return wrap(apply(ir.Concat, ir.Attr{Axis: axisOf("concat", nodes[0], axis)}, nodes...))
}

// Stack joins tensors of one shape along a new axis. The tensors are a list: []tensor.Tensor{a, b}.
func Stack(ts []Tensor, axis int) Tensor {
	list := make([]Tensor, len(ts))
	for i, t := range ts {
		list[i] = t.Unsqueeze(axis)
	}
	if axis < 0 && len(ts) > 0 {
		axis += list[0].Rank()
	}
	return Concat(list, axis)
}

// Split cuts an axis into pieces of a length; the last one may be shorter.
func (t Tensor) Split(axis, length int) []Tensor {
	if length < 1 {
		fail("split", "got length %d, want at least 1", length)
	}
	d := t.Len(axis)
	var parts []Tensor
	for i := 0; i < d; i += length {
		parts = append(parts, t.Slice(axis, i, min(i+length, d)))
	}
	return parts
}

// Chunk cuts an axis into n pieces whose lengths differ by at most one.
func (t Tensor) Chunk(axis, n int) []Tensor {
	if n < 1 {
		fail("chunk", "got %d pieces, want at least 1", n)
	}
	d := t.Len(axis)
	hostRoom("chunk", n, 512) // about what the graph of a piece takes
	parts := make([]Tensor, n)
	for i := range parts {
		parts[i] = t.Slice(axis, d*i/n, d*(i+1)/n)
	}
	return parts
}
