package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// What gradient rules are written with. All operands of an op have one dtype, and one shape or [].

func unary(op Op, x *Node) *Node { return build(op, Attr{}, x) }
func add(x, y *Node) *Node       { return build(Add, Attr{}, x, y) }
func sub(x, y *Node) *Node       { return build(Sub, Attr{}, x, y) }
func mul(x, y *Node) *Node       { return build(Mul, Attr{}, x, y) }
func div(x, y *Node) *Node       { return build(Div, Attr{}, x, y) }
func neg(x *Node) *Node          { return unary(Neg, x) }

// plus and times put a number beside x.
func plus(x *Node, v float64) *Node  { return add(x, like(x, v)) }
func times(x *Node, v float64) *Node { return mul(x, like(x, v)) }

// like is a number of x's dtype.
func like(x *Node, v float64) *Node { return fixed(x.Dev, x.DType, v) }

// full is the number v in every place of a shape, of x's dtype.
func full(x *Node, v float64, shape []int) *Node { return expand(like(x, v), shape) }

// choose is x where cond holds and y elsewhere.
func choose(cond, x, y *Node) *Node { return build(Where, Attr{}, cond, x, y) }

// compare gives Bool.
func compare(op Op, x, y *Node) *Node { return build(op, Attr{}, x, y) }

// as01 turns a Bool into 0 or 1 of x's dtype.
func as01(cond, x *Node) *Node { return build(Cast, Attr{DType: x.DType}, cond) }

// converted is x in a dtype.
func converted(x *Node, dt dtype.Type) *Node {
	if x.DType == dt {
		return x
	}
	return build(Cast, Attr{DType: dt}, x)
}

func reshape(x *Node, shape []int) *Node {
	if slices.Equal(x.Shape, shape) {
		return x
	}
	return build(Reshape, Attr{Shape: shape}, x)
}

func expand(x *Node, shape []int) *Node {
	if slices.Equal(x.Shape, shape) {
		return x
	}
	return build(Expand, Attr{Shape: shape}, x)
}

// sumOver adds up over axes, which stay with length 1.
func sumOver(x *Node, axes []int) *Node {
	if len(axes) == 0 {
		return x
	}
	return build(Sum, Attr{Axes: axes}, x)
}

// sumTo is the reverse of expand: it adds up g over what was repeated to get from shape to g's.
func sumTo(g *Node, shape []int) *Node {
	front := len(g.Shape) - len(shape)
	var axes []int
	for i, d := range g.Shape {
		if i < front || shape[i-front] == 1 && d != 1 {
			axes = append(axes, i)
		}
	}
	return reshape(sumOver(g, axes), shape)
}

// lastAxis is the last axis of x, as a list.
func lastAxis(x *Node) []int { return []int{len(x.Shape) - 1} }

// transpose swaps the last two axes.
func transpose(x *Node) *Node {
	axes := Indices(len(x.Shape))
	k := len(axes)
	axes[k-2], axes[k-1] = k-1, k-2
	return build(Permute, Attr{Axes: axes}, x)
}

// product is x·y, or the sum over several pairs.
func product(pairs ...*Node) *Node { return build(MatMul, Attr{}, pairs...) }

// pick is value i of a tuple.
func pick(n *Node, i int) *Node { return build(Pick, Attr{Index: i}, n) }

// scalarOr lets a gradient of the result's shape flow into each operand: an operand of shape [] gets the sum.
func scalarOr(n *Node, grads ...*Node) []*Node {
	for i, g := range grads {
		if g != nil {
			grads[i] = sumTo(expand(g, n.Shape), n.Src[i].Shape)
		}
	}
	return grads
}
