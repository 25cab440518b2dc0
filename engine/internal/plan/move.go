package plan

import (
	"context"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// moveAll gives the nodes of a walk that come from other devices their values: it computes their sources, all
// of one device together, and copies them. It releases the walk, which must be made again.
func moveAll(ctx context.Context, w *ir.Graph) error {
	defer w.Release()
	for _, sources := range byDevice(w.From) {
		if err := Run(ctx, sources); err != nil {
			return err
		}
	}
	for i, n := range w.Moves {
		from := w.From[i]
		d := backend.Hold(from)
		if d == nil {
			return fmt.Errorf("got %v, which was freed, want its value: evaluate what reads a tensor before it is freed", from)
		}
		moved, err := Move(ctx, n.Dev, from.Type(), d)
		d.Buf.(*backend.Block).Release()
		if err != nil {
			return err
		}
		if n.Value() != nil { // another goroutine was faster
			moved.Buf.(*backend.Block).Release()
			continue
		}
		n.SetValue(moved)
		backend.Note(n)
	}
	events.Of(ctx).Computed(w.Moves, nil)
	return nil
}

// byDevice sorts nodes by their devices, in the order in which these come up.
func byDevice(nodes []*ir.Node) (lists [][]*ir.Node) {
	place := map[ir.Device]int{}
	for _, n := range nodes {
		i, ok := place[n.Dev]
		if !ok {
			i = len(lists)
			place[n.Dev], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], n)
	}
	return lists
}

// Move copies a value of that type to another device, where it is contiguous. The copy goes through a few MiB
// of the host.
func Move(ctx context.Context, to ir.Device, t ir.Type, d *ir.Data) (*ir.Data, error) {
	dev, ok := to.(*backend.Device)
	if !ok {
		return nil, fmt.Errorf("got the device %v, want one that is open", to)
	}
	from, ok := d.Buf.(*backend.Block)
	if !ok || !from.Retain() {
		return nil, fmt.Errorf("got %v%v, which was freed", t.DType, t.Shape)
	}
	defer from.Release()
	if !d.Layout.IsContiguous() {
		dense, err := gather(ctx, from.Device(), t, d)
		if err != nil {
			return nil, err
		}
		d = dense
		defer d.Buf.(*backend.Block).Release()
	}
	size := t.DType.Size()
	block, err := dev.Alloc(t.Bytes())
	if err == nil {
		err = backend.Copy(ctx, block, d, d.Layout.Offset*size, t.Bytes())
	}
	if err != nil {
		if block != nil {
			block.Release()
		}
		return nil, err
	}
	return &ir.Data{Buf: block, Layout: new(ir.Contiguous(t.Shape))}, nil
}

// gather lays the elements of a value side by side, on its own device.
func gather(ctx context.Context, dev *backend.Device, t ir.Type, d *ir.Data) (*ir.Data, error) {
	leaf := ir.NewLeaf(dev, t.DType, d, "")
	n, err := ir.New(ir.Again, ir.Attr{}, leaf, leaf)
	if err == nil {
		err = Run(ctx, []*ir.Node{n})
	}
	if err != nil {
		return nil, err
	}
	return n.Value(), nil
}
