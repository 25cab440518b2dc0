// Package submit runs kernels without a plan, for tests of backends.
package submit

import (
	"context"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Cmd is a launch with its memory.
type Cmd struct {
	Kernel  backend.Kernel
	Bufs    []backend.Slice
	Scalars []ir.Scalar
}

// Run runs commands once and waits for them.
func Run(ctx context.Context, b backend.Backend, cmds []Cmd, times []time.Duration) error {
	p, t, err := bound(b, cmds)
	if err != nil {
		return err
	}
	defer func() {
		if scratch := t.Bufs[p.Bufs-1]; scratch != nil {
			b.Free(scratch)
		}
	}()
	loaded, err := b.Load(p)
	if err != nil {
		return err
	}
	defer loaded.Close()
	if err := b.Run(ctx, loaded, t, times); err != nil {
		return err
	}
	if err := b.Sync(ctx); err != nil {
		return err
	}
	return t.Outcome().Err()
}

// bound returns a program of commands and the table to run it with. The last place is scratch memory, which
// all commands share.
func bound(b backend.Backend, cmds []Cmd) (*backend.Program, *backend.Table, error) {
	p, t, scratch := &backend.Program{Commit: len(cmds)}, &backend.Table{}, 0
	for _, c := range cmds {
		l := backend.Launch{Kernel: c.Kernel}
		for _, s := range c.Bufs {
			l.Bufs = append(l.Bufs, backend.Place{Index: len(t.Bufs), Offset: s.Offset})
			t.Bufs = append(t.Bufs, s.Buf)
		}
		for _, v := range c.Scalars {
			l.Scalars = append(l.Scalars, backend.Scalar{Index: len(t.Scalars)})
			t.Scalars = append(t.Scalars, v)
		}
		p.Launches = append(p.Launches, l)
		scratch = max(scratch, c.Kernel.Scratch())
	}
	for i := range p.Launches {
		p.Launches[i].Scratch.Index = len(t.Bufs)
	}
	t.Bufs = append(t.Bufs, nil)
	p.Bufs, p.Scalars = len(t.Bufs), len(t.Scalars)
	if scratch == 0 {
		return p, t, nil
	}
	buf, err := b.Alloc(scratch)
	t.Bufs[p.Bufs-1] = buf
	return p, t, err
}
