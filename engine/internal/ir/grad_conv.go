package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// The three products are one sum, Σ y·w·x over all places and taps, with one of its three factors left out.
// So the derivative of each for a factor is the third product.

func gradConv(n *Node, dy []*Node) []*Node {
	x, w := n.Src[0], n.Src[1]
	return []*Node{convTranspose(*n.Attr, dy[0], w, x.Shape), convProduct(ConvWeight, *n.Attr, x, dy[0])}
}

func gradConvTranspose(n *Node, dx []*Node) []*Node {
	y, w := n.Src[0], n.Src[1]
	return []*Node{convProduct(Conv, *n.Attr, dx[0], w), convProduct(ConvWeight, *n.Attr, dx[0], y)}
}

func gradConvWeight(n *Node, dw []*Node) []*Node {
	x, y := n.Src[0], n.Src[1]
	return []*Node{convTranspose(*n.Attr, y, dw[0], x.Shape), convProduct(Conv, *n.Attr, x, dw[0])}
}

func convProduct(op Op, a Attr, x, y *Node) *Node {
	return build(op, Attr{Ints: a.Ints, Index: a.Index}, x, y)
}

// convTranspose gives the gradient of an input of shape x.
func convTranspose(a Attr, y, w *Node, x []int) *Node {
	return build(ConvTranspose, Attr{Ints: a.Ints, Index: a.Index, Shape: x[2:]}, y, w)
}

// gradMaxPool lets what flows into the greatest elements flow on to their places. Where windows may overlap,
// several flow to one place, and are added up there.
func gradMaxPool(n *Node, dy []*Node) []*Node {
	x := n.Src[0]
	if dy[0] == nil {
		return []*Node{nothing}
	}
	if apart(WindowsOf(*n.Attr)) {
		return []*Node{windowsApart(n, dy[0])}
	}
	lines := func(n *Node) *Node {
		return reshape(n, []int{n.Shape[0], n.Shape[1], Size(n.Shape[2:])})
	}
	flat := []int{x.Shape[0], x.Shape[1], Size(x.Shape[2:])}
	return []*Node{reshape(build(ScatterAlong, Attr{Axis: 2}, full(x, 0, flat), lines(pick(n, 1)), lines(dy[0])), x.Shape)}
}

// apart says whether windows stand side by side from the first element on.
func apart(list []Window) bool {
	return !slices.ContainsFunc(list, func(w Window) bool {
		return w.Before > 0 || w.Stride != w.Kernel || w.Dilation > 1 && w.Kernel > 1
	})
}

// windowsApart is the gradient of a max pool whose windows stand side by side: each element of x has one
// window, and compares its own place with that of the window's greatest element.
func windowsApart(n *Node, dy *Node) *Node {
	x, front := n.Src[0], n.Src[0].Shape[:2]
	windows := WindowsOf(*n.Attr)
	one, all, whole := slices.Clone(front), slices.Clone(front), slices.Clone(front)
	for i, w := range windows {
		t := dy.Shape[2+i]
		one, all, whole = append(one, t, 1), append(all, t, w.Kernel), append(whole, t*w.Kernel)
	}
	var place *Node
	for i := range windows {
		along, err := NewIota(x.Dev, dtype.I64, whole[2+i:3+i], 0)
		if err != nil {
			panic(err) // no shape that a tensor has
		}
		shape := slices.Repeat([]int{1}, len(all))
		copy(shape[2+2*i:], all[2+2*i:4+2*i])
		step := expand(reshape(times(along, float64(Size(x.Shape[3+i:]))), shape), all)
		if place == nil {
			place = step
		} else {
			place = add(place, step)
		}
	}
	over := func(n *Node) *Node { return expand(reshape(n, one), all) }
	g := reshape(choose(compare(Eq, over(pick(n, 1)), place), over(dy), full(dy, 0, all)), whole)
	pads := make([]int, 2*len(x.Shape))
	for axis, d := range x.Shape {
		if g.Shape[axis] > d { // the last window reaches beyond the axis
			g = cut(g, axis, 0, d)
		}
		pads[2*axis+1] = d - g.Shape[axis]
	}
	return padZero(g, pads)
}
