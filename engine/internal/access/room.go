package access

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// MakeRoom moves the value of t to where it has room for the adapters beside it, see ir.Room, if it is a
// matrix of 16 bits and its device wants that. For a moment the value is there twice.
func MakeRoom(t tensor.Tensor) {
	n := Node(t, "room")
	dev := n.Dev.(*backend.Device)
	if !dev.Hints().Room || Tracing() || len(n.Shape) != 2 || !n.DType.Float() || n.DType.Size() != 2 || InParts(t) {
		return
	}
	t.Eval()
	n = Node(t, "room")
	lies := n.Value().Layout
	if n.Value().Room {
		return
	}
	x, turned := t, lies.Stride[0] == 1 && lies.Stride[1] > 1
	if turned {
		x = t.Transpose()
	}
	whole := x.Pad(0, 0, ir.Room, 0).Pad(1, 0, ir.Room, 0).Eval()
	defer whole.Free()
	d := backend.Hold(Node(whole, "room"))
	l := ir.Layout{Shape: x.Shape(), Stride: d.Layout.Stride}
	if turned {
		l = l.Permute([]int{1, 0})
	}
	box.Of(t).Succeed(n, &ir.Data{Buf: d.Buf, Layout: &l, Room: true, Run: d.Run}, 0)
}
