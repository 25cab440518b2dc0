package access

import (
	"context"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	if _, fills := whole.InMemory(); !fills || d.Layout.Offset != 0 {
		return
	}
	dev, ctx := n.Dev.(*backend.Device), scope.Context()
	block, err := dev.Spread(ctx, ir.Size(n.Shape)*size, by, func(at int, to []byte) error { return dev.Download(ctx, to, d, at) })
	check("spread", err)
	box.Of(t).Succeed(n, &ir.Data{Buf: block, Layout: &whole}, 0)
}

// inPartsBy is the setting of WithParts.
var inPartsBy = &scope.Key{Name: "parts"}

// WithParts returns a context within which the matrices that Filled makes are held by several processes
// together, of which each reads its part alone. All of them make the same ones.
func WithParts(ctx context.Context, by backend.Parts) context.Context {
	return context.WithValue(ctx, inPartsBy, by)
}

// filledInParts is Filled of a matrix.
func filledInParts(by backend.Parts, dt dtype.Type, shape []int, read func(at int, to []byte) error) (t tensor.Tensor, err error) {
	d := backend.Default()
	block, err := d.Spread(scope.Context(), ir.Size(shape)*dt.Size(), by, read)
	if err != nil {
		return t, err
	}
	return on(box.Holding(d, dt, &ir.Data{Buf: block, Layout: new(ir.Contiguous(slices.Clone(shape)))})), nil
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
