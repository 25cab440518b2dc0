package ranks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An ender is a Link that finds out by itself, at any time, that another rank goes no further: Ended is then
// closed, and Err says why.
type ender interface {
	Ended() <-chan struct{}
	Err() error
}

// near is a link between the devices of the ranks, over which their numbers move without the host.
type near struct {
	link   backend.Link
	device *backend.Device
	closed chan struct{}
}

func (n *near) on(d any) bool { return backend.Inside(d) == n.device && backend.Default() == n.device }

// move is Group.move of a tensor on the device.
func (n *near) move(src tensor.Tensor, size, part, apart int) (tensor.Tensor, error) {
	const float = 4 // bytes
	dst := access.Unwritten(dtype.F32, size, part)
	place := func(t tensor.Tensor) (backend.Slice, *backend.Block) {
		v := access.Node(t, "move").Value()
		b := v.Buf.(*backend.Block)
		return backend.Slice{Buf: b.Raw(), Offset: v.Layout.Offset * float}, b
	}
	to, into := place(dst)
	from, of := place(src)
	err := n.device.Seen(n.link.Move(to, from, part*float, apart*float))
	runtime.KeepAlive(into)
	runtime.KeepAlive(of)
	return dst, err
}

// approach lets the default devices of all ranks link, if they can; otherwise numbers go through the host, as
// the group then says with the reason.
func (g *Group) approach(ctx context.Context) error {
	d := backend.Default()
	linker, ok := d.Backend().(backend.Linker)
	by, err := "", errors.ErrUnsupported
	if ok {
		by, err = linker.Links()
	}
	const not = "-"
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		by = not
	case err != nil:
		by = not + err.Error()
	}
	texts, err := g.Texts(by)
	if err != nil {
		return err
	}
	for rank, text := range texts {
		if why, cannot := strings.CutPrefix(text, not); cannot || text != texts[0] {
			if cannot && why == "" {
				return nil // as all of its kind
			}
			if !cannot {
				why = fmt.Sprintf("it has %s, and rank 0 has %s", text, texts[0])
			}
			g.text += fmt.Sprintf(", through the host: rank %d: %s", rank, why)
			return nil
		}
	}
	link, err := g.meet(ctx, linker)
	if err != nil {
		return g.common(fmt.Errorf("ranks: %s: %w", by, err))
	}
	g.near, g.text = &near{link, d, make(chan struct{})}, by
	go g.watch(g.near)
	return g.try(ctx)
}

// meet waits for the devices of the other ranks.
func (g *Group) meet(ctx context.Context, linker backend.Linker) (backend.Link, error) {
	meeting, err := g.Once(linker.Meet)
	if err != nil {
		return nil, err
	}
	return within(ctx, g, func() (backend.Link, error) { return linker.Link(meeting, g.Rank(), g.Size()) })
}

// within calls what may wait for ever. It ends early when another rank has ended: what waits in a library
// then goes on, until this process ends.
func within[T any](ctx context.Context, g *Group, f func() (T, error)) (made T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, fmt.Errorf("waited for %v; NCCL_DEBUG=INFO says for what", meeting))
	defer cancel()
	type result struct {
		made T
		err  error
	}
	done := make(chan result, 1)
	go func() {
		made, err := f()
		done <- result{made, err}
	}()
	select {
	case r := <-done:
		return r.made, r.err
	case <-g.ended():
		return made, g.link.(ender).Err()
	case <-ctx.Done():
		return made, context.Cause(ctx)
	}
}

// ended is closed when another rank goes no further; nil if the link does not tell.
func (g *Group) ended() <-chan struct{} {
	if e, ok := g.link.(ender); ok {
		return e.Ended()
	}
	return nil
}

// try lets each rank send its number to all: connections are made at the first move, and one that does not
// work is found here.
func (g *Group) try(ctx context.Context) error {
	own, here := slices.Repeat([]float32{float32(g.Rank())}, g.Size()), tensor.Context()
	got, err := within(ctx, g, func() (got []float64, err error) {
		failed := tensor.Try(func() {
			tensor.Within(here, func() {
				var all tensor.Tensor
				if all, err = g.move(tensor.From(own).Eval(), 1, 1); err == nil {
					got = all.Float64s()
				}
			})
		})
		return got, errors.Join(failed, err)
	})
	for r := range got {
		if got[r] != float64(r) {
			return fmt.Errorf("ranks: %s: got %v of the other devices, want their numbers", g.text, got)
		}
	}
	return err
}

// watch ends the devices' link when another rank goes no further, and the group when the link is broken.
func (g *Group) watch(n *near) {
	const often, lastly = time.Second, 5 * time.Second // in which the group tells which rank it was
	for ticks := time.Tick(often); ; {
		select {
		case <-n.closed:
			return
		case <-g.ended():
			why := g.link.(ender).Err()
			if other := (*mesh.Failed)(nil); !errors.As(why, &other) || other.Rank != g.Rank() { // which ends by itself
				n.link.Break(why)
			}
			return
		case <-ticks:
			err := n.link.Err()
			if err == nil {
				continue
			}
			select {
			case <-n.closed:
				return
			case <-g.ended():
			case <-time.After(lastly):
				g.link.Fail(fmt.Sprintf("%s: %v", g.text, err))
				n.link.Break(err)
				return
			}
		}
	}
}

// Why returns the words of the rank that goes no further, where a device was lost with it, and else err.
func (g *Group) Why(err error) error {
	var other *mesh.Failed
	if errors.Is(err, backend.ErrLost) && errors.As(err, &other) {
		return other
	}
	return err
}
