package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// gradient asks Options.Grad for the gradients of the inputs of n.
func (k *Kernel) gradient(n *ir.Node, dy []*ir.Node) ([]*ir.Node, error) {
	in := make([]tensor.Tensor, len(n.Src))
	for i, s := range n.Src {
		in[i] = access.Wrap(s)
	}
	out := k.results(n)
	dout := make([]tensor.Tensor, len(out))
	for i, d := range dy {
		if d != nil {
			dout[i] = access.Wrap(d)
		} else { // nothing flowed back through this output
			dout[i] = tensor.ZerosLike(out[i])
		}
	}
	grads := k.options.Grad(in, out, dout)
	if len(grads) != len(in) {
		return nil, fmt.Errorf("Options.Grad returned %d tensors, want one for each of %s", len(grads), k.list(input))
	}
	nodes := make([]*ir.Node, len(grads))
	for i, g := range grads {
		if g.IsNone() {
			continue
		}
		nodes[i] = access.Node(g, k.name)
		if x := n.Src[i]; nodes[i].DType != x.DType || !slices.Equal(nodes[i].Shape, x.Shape) {
			return nil, fmt.Errorf("Options.Grad returned %v for %s, want %v", nodes[i], k.args[k.inputs[i]].name, x.Type())
		}
	}
	return nodes, nil
}
