package ir

import "slices"

func viewRows() []Row {
	return []Row{
		{Op: Reshape, Name: "reshape", Sources: 1, Infer: inferReshape, Grad: gradReshape, Flops: free,
			Doc: "Reshape gives the elements, in C order, the shape Attr.Shape of the same size. It copies only when no strides can say it."},
		{Op: Permute, Name: "permute", Sources: 1, Infer: inferPermute, Grad: gradPermute, Flops: free,
			Doc: "Permute reorders the axes: axis i of the result is axis Attr.Axes[i] of the source."},
		{Op: Expand, Name: "expand", Sources: 1, Infer: inferExpand, Grad: gradExpand, Flops: free,
			Doc: "Expand repeats axes of length 1 to the lengths of Attr.Shape and adds missing axes in front (NumPy's broadcast_to)."},
		{Op: Slice, Name: "slice", Sources: 1, Infer: inferSlice, Grad: gradSlice, Flops: free,
			Doc: "Slice keeps, of each axis i, the elements start, start+step, … before stop: Attr.Ints[3i:3i+3]. A negative step walks back; " +
				"then stop is -1 to include element 0."},
		{Op: Flip, Name: "flip", Sources: 1, Infer: all(hasAxes, asFirst), Grad: gradFlip, Flops: free, Doc: "Flip reverses the axes Attr.Axes."},
		{Op: Detach, Name: "detach", Sources: 1, Infer: asFirst, Flops: free, Doc: "Detach is the same tensor, but no gradient passes.", NoGrad: "it is there to stop gradients"},
		{
			Op: Checkpoint, Name: "checkpoint", Sources: 2, Infer: asFirst, Flops: free,
			Doc: "Checkpoint is Src[0]. Its gradient computes what lies between Src[1] and Src[0] again, so that the forward pass need not " +
				"keep it (Chen et al. 2016, Training deep nets with sublinear memory cost).",
			Grad: func(_ *Node, dy []*Node) []*Node { return []*Node{dy[0], nil} }, // the walk backwards has a way of its own
		},
	}
}

func inferReshape(n *Node) error {
	n.DType, n.Shape = n.Src[0].DType, n.Attr.Shape
	if err := checkShape(n.Shape); err != nil {
		return wrong(n, "%v", err)
	}
	if a, b := Size(n.Src[0].Shape), Size(n.Shape); a != b {
		return got(n, "%d elements (shape %v has %d)", a, n.Shape, b)
	}
	return nil
}

func inferPermute(n *Node) error {
	s := n.Src[0]
	ok := len(n.Attr.Axes) == len(s.Shape)
	for i := range s.Shape { // ranks are small, and many nodes are transposes
		ok = ok && slices.Contains(n.Attr.Axes, i)
	}
	if !ok {
		return got(n, "each of its %d axes once (not %v)", len(s.Shape), n.Attr.Axes)
	}
	n.DType, n.Shape = s.DType, make([]int, len(s.Shape))
	for i, a := range n.Attr.Axes {
		n.Shape[i] = s.Shape[a]
	}
	return nil
}

func inferExpand(n *Node) error {
	s := n.Src[0]
	n.DType, n.Shape = s.DType, n.Attr.Shape
	front := len(n.Shape) - len(s.Shape)
	if front < 0 {
		return got(n, "at most the rank of %v", n.Shape)
	}
	for i, d := range s.Shape {
		if d != n.Shape[front+i] && d != 1 {
			return got(n, "lengths 1 or those of %v", n.Shape)
		}
	}
	return nil
}

func inferSlice(n *Node) error {
	s, ints := n.Src[0], n.Attr.Ints
	if len(ints) != 3*len(s.Shape) {
		return got(n, "start, stop and step for each axis (not %v)", ints)
	}
	n.DType, n.Shape = s.DType, make([]int, len(s.Shape))
	for i, d := range s.Shape {
		start, stop, step := ints[3*i], ints[3*i+1], ints[3*i+2]
		up := step > 0 && 0 <= start && start <= stop && stop <= d
		down := step < 0 && -1 <= stop && stop <= start && start < d
		if !up && !down {
			return got(n, "a range inside of axis %d (not %d to %d in steps of %d)", i, start, stop, step)
		}
		n.Shape[i] = sliceLen(start, stop, step)
	}
	return nil
}

func copyRows() []Row {
	return []Row{
		{Op: Pad, Name: "pad", Sources: 2, Infer: inferPad, Grad: gradPad, Flops: free,
			Doc: "Pad puts Attr.Ints[2i] elements before and Attr.Ints[2i+1] after along each axis i; their value is Src[1], of shape []."},
		{Op: Concat, Name: "concat", Infer: inferConcat, Grad: gradConcat, Flops: free,
			Doc: "Concat puts tensors of one dtype side by side along Attr.Axis; their other axes are equal."},
		{Op: Again, Name: "again", Sources: 2, Infer: asFirst, Flops: free,
			Doc:  "Again is a copy of Src[0] that is made when Src[1] is there: where a checkpoint's computation begins again.",
			Grad: func(_ *Node, dy []*Node) []*Node { return []*Node{dy[0], nil} }},
	}
}

func inferPad(n *Node) error {
	s, v := n.Src[0], n.Src[1]
	if v.DType != s.DType || len(v.Shape) != 0 {
		return got(n, "a value of %v[]", s.DType)
	}
	if len(n.Attr.Ints) != 2*len(s.Shape) {
		return got(n, "before and after for each axis (not %v)", n.Attr.Ints)
	}
	n.DType, n.Shape = s.DType, slices.Clone(s.Shape)
	for i, k := range n.Attr.Ints {
		if k < 0 {
			return got(n, "padding of 0 or more (not %d)", k)
		}
		n.Shape[i/2] += k
	}
	return nil
}

func inferConcat(n *Node) error {
	first := n.Src[0]
	if err := axis(n, first); err != nil {
		return err
	}
	a := n.Attr.Axis
	n.DType, n.Shape = first.DType, with(first.Shape, a, 0)
	for _, s := range n.Src {
		if s.DType != first.DType {
			return got(n, "one dtype")
		}
		if len(s.Shape) != len(first.Shape) || !slices.Equal(with(s.Shape, a, 0), with(first.Shape, a, 0)) {
			return got(n, "shapes that differ only along axis %d", a)
		}
		n.Shape[a] += s.Shape[a]
	}
	return nil
}
