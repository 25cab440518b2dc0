package tensor

import (
	"github.com/mcs-notebook/mcs/engine/internal/handle"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	handle.Node = func(t any, op string) *ir.Node { return t.(Tensor).node(op) }
	handle.Wrap = func(n *ir.Node) any { return wrap(n) }
}
