package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/handle"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	handle.Node = func(t any, op string) *ir.Node { return t.(Tensor).node(op) }
	handle.Freeze = func(t any, why string) { t.(Tensor).mark("freeze", false, why) }
	handle.Wrap = func(n *ir.Node) any { return wrap(n) }
	handle.Filled = filled
}

// filled is FromBytes of what read gives: see [handle.Filled].
func filled(dt dtype.Type, shape []int, read func(at int, to []byte) error) (any, error) {
	wantShape("from", shape)
	checkDType(dt)
	d, n := backend.Default(), ir.Size(shape)*dt.Size()
	var failed error
	t := leafOf(d, dt, slices.Clone(shape), n, "", func(buf *backend.Block) error {
		failed = d.Fill(buf, n, read)
		return nil
	})
	return t, failed
}
