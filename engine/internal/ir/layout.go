package ir

import (
	"fmt"
	"math/bits"
	"slices"
)

// Size is the number of elements of a shape.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Broadcast returns the shape that shapes have in common, aligned at the end, as NumPy does; ok is false if
// two lengths of an axis differ and neither is 1.
func Broadcast(shapes ...[]int) (shape []int, ok bool) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	shape = slices.Repeat([]int{1}, rank)
	for _, s := range shapes {
		for i, d := range s {
			switch have := &shape[rank-len(s)+i]; {
			case *have == 1:
				*have = d
			case d != 1 && d != *have:
				return nil, false
			}
		}
	}
	return shape, true
}

// MostElements is the power of two of the number of elements that a tensor may have at most: a factor 16
// leaves room for the bytes of an element in an int.
const MostElements = bits.UintSize - 5

// checkShape refuses negative lengths and shapes whose elements an int cannot count.
func checkShape(shape []int) error {
	size := uint64(1)
	empty := slices.Contains(shape, 0)
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("got shape %v, want lengths of 0 or more", shape)
		}
		hi, lo := bits.Mul64(size, uint64(d))
		if !empty && (hi != 0 || lo > 1<<MostElements) {
			return fmt.Errorf("got shape %v, want fewer elements than 2^%d", shape, MostElements)
		}
		size = lo
	}
	return nil
}

// LayoutOf returns how the elements of n lie in memory, or will lie if n is a view of what will be computed.
func LayoutOf(n *Node) Layout {
	links.RLock()
	defer links.RUnlock()
	return layoutOf(n, mostViews)
}

// mostViews is how many views of views LayoutOf follows; what they are views of then counts as contiguous.
const mostViews = 16

func layoutOf(n *Node, views int) Layout {
	if d := n.Value(); d != nil {
		return *d.Layout
	}
	if views == 0 || len(n.Src) == 0 {
		return Contiguous(n.Shape)
	}
	switch n.Op {
	case Reshape:
		if l, ok := layoutOf(n.Src[0], views-1).Reshape(n.Shape); ok {
			return l
		}
	case Permute:
		return layoutOf(n.Src[0], views-1).Permute(n.Attr.Axes)
	case Expand:
		return layoutOf(n.Src[0], views-1).Expand(n.Shape)
	case Slice:
		return layoutOf(n.Src[0], views-1).Slice(n.Attr.Ints)
	case Flip:
		return layoutOf(n.Src[0], views-1).Flip(n.Attr.Axes)
	}
	return Contiguous(n.Shape)
}

// Contiguous returns the layout of a shape in C order, from the start of a buffer.
func Contiguous(shape []int) Layout {
	l := Layout{Shape: slices.Clone(shape), Stride: make([]int, len(shape))}
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		l.Stride[i] = n
		n *= shape[i]
	}
	return l
}

// Indices are the first n numbers from 0.
func Indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// IndexOf is the place of element i of a shape in C order, [1 2].
func IndexOf(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k, n := range slices.Backward(shape) {
		at[k], i = i%n, i/n
	}
	return at
}

// Inverse returns the order that undoes an order of axes.
func Inverse(axes []int) []int {
	back := make([]int, len(axes))
	for i, a := range axes {
		back[a] = i
	}
	return back
}

// Around splits a shape at an axis: the product of the lengths before it, its length, and the product of
// those after.
func Around(shape []int, axis int) (outer, length, inner int) {
	return Size(shape[:axis]), shape[axis], Size(shape[axis+1:])
}

// InMemory are the axes as they lie in memory, the longest stride first, and whether the elements fill a
// piece of memory, each once.
func (l Layout) InMemory() (axes []int, fills bool) {
	axes = Indices(len(l.Shape))
	slices.SortStableFunc(axes, func(i, j int) int { return l.Stride[j] - l.Stride[i] })
	size := 1
	for _, i := range slices.Backward(axes) {
		if l.Stride[i] != size && l.Shape[i] != 1 {
			return axes, false
		}
		size *= l.Shape[i]
	}
	return axes, true
}

// Size is the number of elements.
func (l Layout) Size() int { return Size(l.Shape) }

// IsContiguous says whether the elements follow each other in C order without a gap, from wherever the offset
// is. Strides of axes of length 1 do not matter, and nothing matters when there are no elements.
func (l Layout) IsContiguous() bool {
	if l.Size() == 0 {
		return true
	}
	n := 1
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] != 1 && l.Stride[i] != n {
			return false
		}
		n *= l.Shape[i]
	}
	return true
}

// Permute returns the layout whose axis i is axis axes[i] of l.
func (l Layout) Permute(axes []int) Layout {
	r := Layout{Shape: make([]int, len(axes)), Stride: make([]int, len(axes)), Offset: l.Offset}
	for i, a := range axes {
		r.Shape[i], r.Stride[i] = l.Shape[a], l.Stride[a]
	}
	return r
}

// Expand repeats axes of length 1 by giving them stride 0, and adds axes in front where shape has more.
func (l Layout) Expand(shape []int) Layout {
	r := Layout{Shape: slices.Clone(shape), Stride: make([]int, len(shape)), Offset: l.Offset}
	front := len(shape) - len(l.Shape)
	for i, d := range l.Shape {
		if d == shape[front+i] {
			r.Stride[front+i] = l.Stride[i]
		}
	}
	return r
}

// Slice keeps of each axis the elements start, start+step, … before stop; ints holds the three numbers for
// each axis. A negative step walks back and stops after stop.
func (l Layout) Slice(ints []int) Layout {
	r := Layout{Shape: slices.Clone(l.Shape), Stride: slices.Clone(l.Stride), Offset: l.Offset}
	for i := range l.Shape {
		start, stop, step := ints[3*i], ints[3*i+1], ints[3*i+2]
		r.Shape[i] = sliceLen(start, stop, step)
		r.Stride[i] *= step
		if r.Shape[i] > 0 {
			r.Offset += start * l.Stride[i]
		}
	}
	return r
}

// sliceLen is how many elements start, start+step, … lie before stop.
func sliceLen(start, stop, step int) int {
	if step > 0 {
		return max(0, (stop-start+step-1)/step)
	}
	return max(0, (start-stop-step-1)/-step)
}

// Flip reverses axes.
func (l Layout) Flip(axes []int) Layout {
	r := Layout{Shape: slices.Clone(l.Shape), Stride: slices.Clone(l.Stride), Offset: l.Offset}
	for _, a := range axes {
		if r.Shape[a] > 0 {
			r.Offset += (r.Shape[a] - 1) * r.Stride[a]
		}
		r.Stride[a] = -r.Stride[a]
	}
	return r
}

// Reshape returns the same elements in C order under another shape of the same size, and false if no layout
// expresses that: then the elements have to be copied.
func (l Layout) Reshape(shape []int) (Layout, bool) {
	r := Layout{Shape: slices.Clone(shape), Stride: make([]int, len(shape)), Offset: l.Offset}
	if l.Size() == 0 {
		return Layout{Shape: r.Shape, Stride: Contiguous(shape).Stride, Offset: l.Offset}, true
	}
	// Walk both shapes from the end. A run of old axes that lie in one straight line can be cut anew in any
	// way.
	old := len(l.Shape) - 1
	left, stride := 1, 1 // elements left of the current run, and the step between them
	for i := len(shape) - 1; i >= 0; i-- {
		if shape[i] == 1 {
			r.Stride[i] = stride * left
			continue
		}
		if left == 1 {
			for old >= 0 && l.Shape[old] == 1 {
				old--
			}
			left, stride, old = l.run(old)
		}
		if left%shape[i] != 0 {
			return Layout{}, false
		}
		r.Stride[i] = stride
		stride *= shape[i]
		left /= shape[i]
	}
	return r, true
}

// JoinRows makes the batch axes of a product from axis from on rows of its left operand: a [… M K] becomes […
// rows K] and b [… K N] loses those axes. So many small products are one large one. It is false where b is
// not one and the same matrix all along these axes, or where a does not go on from the last row of one matrix
// to the first of the next.
func JoinRows(a, b Layout, from int) (left, right Layout, ok bool) {
	last := len(b.Shape) - 2
	for i := from; i < last; i++ {
		if b.Shape[i] > 1 && b.Stride[i] != 0 {
			return a, b, false
		}
	}
	right = Layout{
		Shape: slices.Concat(b.Shape[:from], b.Shape[last:]), Stride: slices.Concat(b.Stride[:from], b.Stride[last:]), Offset: b.Offset,
	}
	rows := len(a.Shape) - 1
	left, ok = a.Reshape(append(slices.Clone(a.Shape[:from]), Size(a.Shape[from:rows]), a.Shape[rows]))
	return left, right, ok
}

// run joins axis last and those before it as long as they continue its line: how many elements, the step
// between two, and the axis before the run.
func (l Layout) run(last int) (count, stride, before int) {
	count, stride = l.Shape[last], l.Stride[last]
	for before = last - 1; before >= 0; before-- {
		if l.Shape[before] == 1 {
			continue
		}
		if l.Stride[before] != stride*count {
			break
		}
		count *= l.Shape[before]
	}
	return count, stride, before
}
