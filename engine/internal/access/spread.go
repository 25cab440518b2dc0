package access

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Spread lets several processes hold the value of t together, each a part of it: see backend.Spreader. All of
// them call it, with equal tensors, and read them when all are back. A value whose elements have gaps between
// them, or several places, stays as it is.
func Spread(t tensor.Tensor, by backend.Parts) {
	t.Eval()
	n := Node(t, "spread")
	d, size := n.Value(), n.DType.Size()
	whole := ir.Layout{Shape: slices.Clone(d.Layout.Shape), Stride: slices.Clone(d.Layout.Stride)}
	if !fills(whole) || d.Layout.Offset != 0 {
		return
	}
	block, err := n.Dev.(*backend.Device).Spread(scope.Context(), d, ir.Size(n.Shape)*size, by)
	check("spread", err)
	leaf := ir.NewLeaf(n.Dev, n.DType, &ir.Data{Buf: block, Layout: whole}, n.Name)
	leaf.Succeed(n)
	box.Of(t).Succeed(n, leaf, 0)
}

// fills says whether the elements of a layout fill its memory, in whatever order of the axes.
func fills(l ir.Layout) bool {
	order := make([]int, len(l.Shape))
	for axis := range order {
		order[axis] = axis
	}
	slices.SortFunc(order, func(a, b int) int { return l.Stride[a] - l.Stride[b] })
	next := 1
	for _, axis := range order {
		if l.Shape[axis] != 1 && l.Stride[axis] != next {
			return false
		}
		next *= l.Shape[axis]
	}
	return true
}

// InParts says whether several processes hold the value of t together.
func InParts(t tensor.Tensor) bool { return backend.InParts(box.Of(t).Held().Value()) }

// Elsewhere is how many bytes of the value of t other processes hold.
func Elsewhere(t tensor.Tensor) int {
	if !InParts(t) {
		return 0
	}
	b := box.Of(t).Held().Value().Buf.(*backend.Block)
	return b.Bytes() - b.Room()
}

// Nearby returns y, which a function has made of x, computed from copies of the tensors that are in parts.
// They are made when x is there, and again where a Checkpoint computes y again.
func Nearby(y, x tensor.Tensor) tensor.Tensor {
	n := Node(y, "checkpoint")
	if near := ir.Nearby(n, Node(x, "checkpoint"), func(leaf *ir.Node) bool { return backend.InParts(leaf.Value()) }); near != n {
		return Wrap(near)
	}
	return y
}
