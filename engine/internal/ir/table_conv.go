package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// convRows are ops over windows that move along spatial axes: of x [N C S…], with one to three axes S. Each
// of the three products is the gradient of the two others, so no further row is needed for derivatives of any
// order.
func convRows() []Row {
	const places = "Attr.Ints has five numbers for each spatial axis: the kernel's length, the stride, how many zeros stand before and after the axis, and the dilation. "
	const again = "It adds up as conv does."
	return []Row{
		{
			Op: Conv, Name: "conv", Sources: 2, Infer: inferConv, Grad: gradConv, Tol: summation,
			Flops: func(n *Node) int64 { return convFlops(n.Shape, n.Src[1].Shape) },
			Doc: "Conv is the cross-correlation of x [N C S…] with w [O C/G K…], G = Attr.Index groups of channels: y [N O T…] with " +
				"y[n, o, t…] = Σ w[o, c, k…]·x[n, c, t·stride − before + k·dilation…] over the channels c of o's group and the kernel. " + places +
				"It adds up in f32 (f64 for f64) and rounds once.",
		},
		{
			Op: ConvTranspose, Name: "conv_transpose", Sources: 2, Infer: inferConvTranspose, Grad: gradConvTranspose, Tol: summation,
			Flops: func(n *Node) int64 { return convFlops(n.Src[0].Shape, n.Src[1].Shape) },
			Doc: "ConvTranspose is conv's gradient for its input, a transposed convolution: from y [N O T…] and w [O C/G K…] it gives x [N C S…] with S… = Attr.Shape, " +
				"where each y[n, o, t…] adds w[o, c, k…]·y[n, o, t…] to the element that conv multiplies by w[o, c, k…]. " + places + again,
		},
		{
			Op: ConvWeight, Name: "conv_weight", Sources: 2, Infer: inferConvWeight, Grad: gradConvWeight, Tol: summation,
			Flops: func(n *Node) int64 { return convFlops(n.Src[1].Shape, n.Shape) },
			Doc: "ConvWeight is conv's gradient for its weight: from x [N C S…] and dy [N O T…] it gives w [O C/G K…] with " +
				"w[o, c, k…] = Σ dy[n, o, t…]·x[n, c, t·stride − before + k·dilation…] over n and t. " + places + again,
		},
		{
			Op: MaxPool, Name: "max_pool", Sources: 1, Infer: inferMaxPool, Grad: gradMaxPool, Tol: exact,
			Flops: func(n *Node) int64 {
				taps := 1
				for _, w := range WindowsOf(*n.Attr) {
					taps *= w.Kernel
				}
				return int64(Size(n.Outs[0].Shape)) * int64(taps)
			},
			Doc: "MaxPool gives the greatest element of each window of x [N C S…] and its place among the spatial axes as one number (i64, in C order), both [N C T…]. " +
				"The first of equal elements counts, and a NaN beats every number. What stands before and after an axis never counts. " + places + "A window without an element is refused.",
		},
	}
}

// A Window is how a kernel moves along one spatial axis.
type Window struct{ Kernel, Stride, Before, After, Dilation int }

// WindowsOf returns the windows of an op of the family of convolutions, one for each spatial axis.
func WindowsOf(a Attr) []Window {
	list := make([]Window, len(a.Ints)/5)
	for i := range list {
		p := a.Ints[5*i:]
		list[i] = Window{p[0], p[1], p[2], p[3], p[4]}
	}
	return list
}

// Ints is what Attr.Ints has for windows.
func Ints(list []Window) []int {
	var ints []int
	for _, w := range list {
		ints = append(ints, w.Kernel, w.Stride, w.Before, w.After, w.Dilation)
	}
	return ints
}

// Count is how many places the window takes along an axis of that length: 0 or less if it does not fit.
func (w Window) Count(length int) int {
	room := length + w.Before + w.After - (w.Kernel-1)*w.Dilation - 1
	if room < 0 {
		return 0
	}
	return room/w.Stride + 1
}

// At is the element that tap k of the window at place t reads: outside of the axis there are zeros.
func (w Window) At(t, k int) int { return t*w.Stride - w.Before + k*w.Dilation }

func convFlops(y, w []int) int64 { return 2 * int64(Size(y)) * int64(Size(w[1:])) }

// windows checks Attr.Ints for a tensor with axes [N C S…].
func windows(n *Node, x []int) ([]Window, error) {
	rank := len(x) - 2
	if rank < 1 || rank > 3 {
		return nil, got(n, "[N C …] with one to three spatial axes")
	}
	if len(n.Attr.Ints) != 5*rank {
		return nil, got(n, "kernel, stride, zeros before and after, and dilation for each of %d axes (not %v)", rank, n.Attr.Ints)
	}
	list := WindowsOf(*n.Attr)
	for i, w := range list {
		const most = 1 << 30
		if w.Kernel < 1 || w.Stride < 1 || w.Dilation < 1 || w.Before < 0 || w.After < 0 || max(w.Kernel, w.Stride, w.Before, w.After, w.Dilation, w.Kernel*w.Dilation) > most {
			return nil, got(n, "a kernel, stride and dilation of 1 or more and padding of 0 or more along spatial axis %d (not %d, %d, %d and %d before, %d after)",
				i, w.Kernel, w.Stride, w.Dilation, w.Before, w.After)
		}
	}
	return list, nil
}

// places is the shape in front and how many places each window takes in x [N C S…].
func places(n *Node, list []Window, front, x []int) ([]int, error) {
	shape := slices.Clone(front)
	for i, w := range list {
		t := w.Count(x[2+i])
		if t < 1 {
			return nil, got(n, "spatial axis %d, of %d with %d around it, at least as long as the kernel (%d)", i, x[2+i], w.Before+w.After, (w.Kernel-1)*w.Dilation+1)
		}
		shape = append(shape, t)
	}
	return shape, nil
}

// groups checks that C channels and O results can be divided into Attr.Index groups.
func groups(n *Node, c, o int) error {
	if g := n.Attr.Index; g < 1 || c%g != 0 || o%g != 0 {
		return got(n, "channels (%d in and %d out) that %d groups divide", c, o, g)
	}
	return nil
}

// convolved checks x [N C S…] and w [O C/G K…], and returns the shape of their convolution.
func convolved(n *Node, x, w []int) ([]int, error) {
	list, err := windows(n, x)
	if err != nil {
		return nil, err
	}
	if len(w) != len(x) {
		return nil, got(n, "x [N C …] and w [O C …] with as many axes")
	}
	if err := groups(n, x[1], w[0]); err != nil {
		return nil, err
	}
	for i, d := range list {
		if w[2+i] != d.Kernel {
			return nil, got(n, "a kernel of length %d along spatial axis %d (not %d)", d.Kernel, i, w[2+i])
		}
	}
	if x[1] != w[1]*n.Attr.Index {
		return nil, got(n, "%d channels (%d in each of %d groups), not %d", w[1]*n.Attr.Index, w[1], n.Attr.Index, x[1])
	}
	return places(n, list, []int{x[0], w[0]}, x)
}

func inferConv(n *Node) (err error) {
	if err := floats(n, n.Src...); err != nil {
		return err
	}
	n.DType = n.Src[0].DType
	n.Shape, err = convolved(n, n.Src[0].Shape, n.Src[1].Shape)
	return err
}

func inferConvTranspose(n *Node) error {
	if err := floats(n, n.Src...); err != nil {
		return err
	}
	y, w := n.Src[0].Shape, n.Src[1].Shape
	if len(y) < 3 || len(w) != len(y) || len(n.Attr.Shape) != len(y)-2 {
		return got(n, "y [N O …], w [O C …] and a shape %v of as many spatial axes", n.Attr.Shape)
	}
	n.DType, n.Shape = n.Src[0].DType, append([]int{y[0], w[1] * n.Attr.Index}, n.Attr.Shape...)
	if err := checkShape(n.Shape); err != nil {
		return wrong(n, "%v", err)
	}
	want, err := convolved(n, n.Shape, w)
	if err == nil && !slices.Equal(want, y) {
		err = got(n, "y%v, which is what a convolution gives for %v", want, n.Shape)
	}
	return err
}

func inferConvWeight(n *Node) error {
	if err := floats(n, n.Src...); err != nil {
		return err
	}
	x, dy := n.Src[0].Shape, n.Src[1].Shape
	list, err := windows(n, x)
	if err != nil {
		return err
	}
	if len(dy) != len(x) {
		return got(n, "x [N C …] and dy [N O …] with as many axes")
	}
	if err := groups(n, x[1], dy[1]); err != nil {
		return err
	}
	n.DType, n.Shape = n.Src[0].DType, []int{dy[1], x[1] / n.Attr.Index}
	for _, w := range list {
		n.Shape = append(n.Shape, w.Kernel)
	}
	want, err := convolved(n, x, n.Shape)
	if err == nil && !slices.Equal(want, dy) {
		err = got(n, "dy%v, which is what a convolution gives for %v", want, x)
	}
	return err
}

func inferMaxPool(n *Node) error {
	x := n.Src[0]
	if !number(x.DType) {
		return got(n, "numbers")
	}
	list, err := windows(n, x.Shape)
	if err != nil {
		return err
	}
	shape, err := places(n, list, x.Shape[:2], x.Shape)
	if err != nil {
		return err
	}
	for i, w := range list {
		if !w.neverEmpty(x.Shape[2+i], shape[2+i]) {
			return got(n, "less around spatial axis %d than %d before and %d after: a window of %d would hold no element", i, w.Before, w.After, w.Kernel)
		}
	}
	n.tuple(Type{x.DType, shape}, Type{dtype.I64, shape})
	return nil
}

// neverEmpty says whether each of count places of the window has an element of an axis of that length. Only
// those at the ends can be without: places between lie inside.
func (w Window) neverEmpty(length, count int) bool {
	for t := range count {
		first := w.At(t, 0)
		if first >= 0 && first < length {
			continue
		}
		k := (max(0, -first) + w.Dilation - 1) / w.Dilation
		if at := first + k*w.Dilation; k >= w.Kernel || at >= length {
			return false
		}
	}
	return true
}
