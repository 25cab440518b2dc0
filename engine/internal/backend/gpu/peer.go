package gpu

import (
	"cmp"
	"context"
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Peer is a Stream that copies memory of another device of its driver.
type Peer interface {
	Stream
	// CopyFrom is Copy from a buffer of another device, which lives until the commit is over. It is
	// errors.ErrUnsupported where the devices do not reach each other.
	CopyFrom(dst Buffer, dstOffset int, src Buffer, srcOffset, bytes int) error
}

// CopyFrom copies memory of another device of the driver to dst, in the order of b's work. It returns when
// src has been read.
func (b *Backend) CopyFrom(ctx context.Context, dst ir.Buffer, offset int, src ir.Buffer, from, n int) error {
	to := dst.(*buffer)
	read, ok := src.(*buffer)
	stream, can := b.compute.(Peer)
	if !ok || !can {
		return errors.ErrUnsupported
	}
	if err := cmp.Or(b.within("copy", to, offset, n), b.within("copy", read, from, n)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.wait(ctx, mostFlying); err != nil {
		return err
	}
	if err := stream.CopyFrom(to.Buffer, offset, read.Buffer, from, n); err != nil {
		return b.failed(err)
	}
	r := &run{b: b}
	if err := b.commit(r); err != nil {
		return err
	}
	to.written, to.used = r, r
	return b.written(context.Background(), to) // whatever ctx says: what frees src does not know of this copy
}

// Written waits until what writes the memory is done.
func (b *Backend) Written(ctx context.Context, src ir.Buffer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.written(ctx, src.(*buffer))
}

// written is Written. b.mu is held.
func (b *Backend) written(ctx context.Context, m *buffer) error {
	if ctx.Err() != nil {
		return backend.Interrupted(ctx)
	}
	for b.reap(); b.lost == nil && m.written != nil && !m.written.done; b.reap() {
		e := m.written.event
		b.mu.Unlock()
		e.Wait(ctx, 0) // an error is that of the run, which reap finds
		b.mu.Lock()
		if ctx.Err() != nil {
			return backend.Interrupted(ctx)
		}
	}
	return b.lost
}
