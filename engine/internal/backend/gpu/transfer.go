package gpu

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A transfer goes through pinned staging memory, in pieces of at most so many bytes. Where memory is unified,
// the host reads and writes it itself, piece by piece too, because b.mu is held meanwhile.
const mostStaged = 16 << 20

// stage returns staging memory of at least n bytes. b.mu is held.
func (b *Backend) stage(n int) (Buffer, error) {
	class := max(4096, 1<<bits.Len(uint(n-1)))
	if list := b.staging[class]; len(list) > 0 {
		b.staging[class] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	return b.take(class, SharedMemory)
}

// unstage takes staging memory back that no work uses any more. b.mu is held.
func (b *Backend) unstage(m Buffer) {
	if m != nil {
		b.staging[m.Len()] = append(b.staging[m.Len()], m)
	}
}

func (b *Backend) within(what string, m *buffer, offset, n int) error {
	if offset < 0 || n > m.bytes-offset {
		return fmt.Errorf("%s: %s: got bytes %d to %d, want them inside of a buffer of %d", b.name, what, offset, offset+n, m.bytes)
	}
	return nil
}

// Upload copies in the order of the stream: src is copied before it returns, to staging memory, or to dst
// itself where memory is unified and no run that is under way uses dst.
func (b *Backend) Upload(dst ir.Buffer, offset int, src []byte) error {
	m := dst.(*buffer)
	if err := b.within("upload", m, offset, len(src)); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(src) > 0 {
		if err := b.wait(context.Background(), mostFlying); err != nil {
			return err
		}
		n := min(len(src), mostStaged)
		if b.info.Unified && (m.used == nil || m.used.done) {
			copy(m.Host()[offset:], src[:n])
			src, offset = src[n:], offset+n
			continue
		}
		from, err := b.stage(n)
		if err != nil {
			return err
		}
		copy(from.Host(), src[:n])
		if err := b.compute.Copy(m.Buffer, offset, from, 0, n); err != nil {
			b.unstage(from)
			return b.failed(err)
		}
		r := &run{b: b, staged: []Buffer{from}}
		if err := b.commit(r); err != nil {
			return err
		}
		m.written, m.used = r, r
		src, offset = src[n:], offset+n
	}
	return nil
}

// Download waits for the last work that writes src, and copies on a stream of its own.
func (b *Backend) Download(ctx context.Context, dst []byte, src ir.Buffer, offset int) error {
	m := src.(*buffer)
	if err := b.within("download", m, offset, len(dst)); err != nil {
		return err
	}
	fetch := b.fetch
	if b.info.Unified {
		fetch = b.read
	}
	for len(dst) > 0 {
		n := min(len(dst), mostStaged)
		if err := fetch(ctx, dst[:n], m, offset); err != nil {
			return err
		}
		dst, offset = dst[n:], offset+n
	}
	return nil
}

// read copies from unified memory, when what writes it is done.
func (b *Backend) read(ctx context.Context, dst []byte, m *buffer, offset int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.written(ctx, m)
	if err == nil {
		copy(dst, m.Host()[offset:])
	}
	return err
}

// small is up to how many bytes a copy takes no longer than a launch.
const small = 64 << 10

// streamFor returns the stream for a download of n bytes, after the run that writes them. That is a stream of
// its own, so that later runs do not delay it, nor it them. But where that run is the last one, and the copy
// small, it goes behind the run: for one stream to wait for another takes the device some microseconds. b.mu
// is held.
func (b *Backend) streamFor(m *buffer, n int) (Stream, error) {
	if m.written == nil || m.written.done {
		return b.copies, nil
	}
	if n <= small && m.written == b.flying[len(b.flying)-1] {
		return b.compute, nil
	}
	return b.copies, b.copies.After(m.written.event)
}

// fetch downloads what fits into staging memory.
func (b *Backend) fetch(ctx context.Context, dst []byte, m *buffer, offset int) error {
	if ctx.Err() != nil {
		return backend.Interrupted(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		return b.lost
	}
	to, err := b.stage(len(dst))
	if err != nil {
		return err
	}
	stream, err := b.streamFor(m, len(dst))
	if err == nil {
		err = stream.Copy(to, 0, m.Buffer, offset, len(dst))
	}
	var e Event
	if err == nil {
		e, err = stream.Commit()
	}
	if err != nil {
		b.unstage(to)
		return b.failed(err)
	}
	b.mu.Unlock()
	err = e.Wait(ctx, 0)
	b.mu.Lock()
	b.reap()
	if ctx.Err() != nil { // the copy goes on: what is computed next, or freed, comes after it
		late := b.compute.After(e)
		b.flying = append(b.flying, &run{b: b, event: e, staged: []Buffer{to}})
		if late != nil {
			return b.failed(late)
		}
		return backend.Interrupted(ctx)
	}
	defer e.Close()
	if err == nil {
		copy(dst, to.Host())
	}
	b.unstage(to)
	return cmp.Or(b.failed(err), b.lost)
}
