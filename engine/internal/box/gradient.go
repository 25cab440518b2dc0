package box

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Backward returns the gradient of each argument, with its shape and dtype, given the arguments, the
// results and the gradients of the results; a zero tensor for an argument without one. It is written with
// operations, so it has gradients itself.
type Backward[T Tensor] func(in, out, dout []T) []T

// GradientOf is a Backward as the gradient of a node with an ir.Kernel. Errors say who returned what is wrong
// for which of the named arguments. wrap makes a tensor of a node.
func GradientOf[T Tensor](who string, names []string, wrap func(*ir.Node) T, backward Backward[T]) func(n *ir.Node, dy []*ir.Node) ([]*ir.Node, error) {
	return func(n *ir.Node, dy []*ir.Node) ([]*ir.Node, error) {
		args := n.Src
		if n.Attr.Kernel.Composed() {
			args = args[:len(args)-len(n.Outs)]
		}
		in, dout := make([]T, len(args)), make([]T, len(dy))
		for i, s := range args {
			in[i] = wrap(s)
		}
		out, err := Results(wrap, n)
		if err != nil {
			return nil, err
		}
		for i, d := range dy {
			if d == nil { // nothing flowed back through this result
				d, err = zeros(n.Dev, n.Outs[i])
			}
			if err != nil {
				return nil, err
			}
			dout[i] = wrap(d)
		}
		grads := backward(in, out, dout)
		if len(grads) != len(args) {
			return nil, fmt.Errorf("%s returned %d tensors, want one for each of %s", who, len(grads), strings.Join(names, ", "))
		}
		nodes := make([]*ir.Node, len(args))
		for i, g := range grads {
			b := Of(g)
			if b == nil {
				continue
			}
			d, err := b.Node("grad")
			if err != nil {
				return nil, err
			}
			if x := args[i]; d.DType != x.DType || !slices.Equal(d.Shape, x.Shape) {
				return nil, fmt.Errorf("%s returned %v for %s, want %v", who, d, names[i], x.Type())
			}
			nodes[i] = d
		}
		return nodes, nil
	}
}

// zeros are a value of that type.
func zeros(dev ir.Device, t ir.Type) (*ir.Node, error) {
	zero := ir.NewConst(dev, t.DType, ir.Scalar{})
	if len(t.Shape) == 0 {
		return zero, nil
	}
	return ir.New(ir.Expand, ir.Attr{Shape: t.Shape}, zero)
}

// Results returns all results of a tuple.
func Results[T Tensor](wrap func(*ir.Node) T, tuple *ir.Node) ([]T, error) {
	list := make([]T, len(tuple.Outs))
	for i := range list {
		y, err := ir.New(ir.Pick, ir.Attr{Index: i}, tuple)
		if err != nil {
			return nil, err
		}
		list[i] = wrap(y)
	}
	return list, nil
}
