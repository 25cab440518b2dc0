package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// A Linker is a Device that can move bytes to devices of other processes: by NCCL.
type Linker interface {
	Device
	// Links says by what: "NCCL 2.28.9", or what is missing.
	Links() (string, error)
	// Meet returns the name of a meeting. One process asks for it, and hands it to all; it lives until they
	// have met.
	Meet() ([]byte, error)
	// Link waits for the other processes of a meeting. Ranks are 0 … size−1.
	Link(meeting []byte, rank, size int) (Link, error)
}

// A Link moves bytes between the devices of several processes. All of them encode the same moves in the same
// order. A move waits, on the device, for those of the others.
type Link interface {
	// Move encodes that part r of src goes to rank r, and what comes from there to part r of dst. Parts of
	// dst follow one another, those of src begin so many bytes apart: 0 sends the same to all.
	Move(s Stream, dst, src Arg, bytes, apart int) error
	// Err is an error that was found after a commit: a connection has broken.
	Err() error
	// Abort ends moves that are under way, which a process that is gone would let wait for ever. The link is
	// then closed. No move is encoded or committed meanwhile.
	Abort() error
	// Close ends the link, when its moves are over.
	Close() error
}

// linker is the device, if it is one.
func (b *Backend) linker() (Linker, error) {
	if l, ok := b.device.(Linker); ok {
		return l, nil
	}
	return nil, fmt.Errorf("%s moves no memory to other processes: %w", b.name, errors.ErrUnsupported)
}

// Untimed takes the first of the ways that a library proposes for products that are new.
func (b *Backend) Untimed() {
	if l := b.library; l != nil {
		l.Lock()
		defer l.Unlock()
		l.timed = false
	}
}

// Links says what moves memory to other processes.
func (b *Backend) Links() (string, error) {
	l, err := b.linker()
	if err != nil {
		return "", err
	}
	return l.Links()
}

// Meet returns the name of a meeting.
func (b *Backend) Meet() ([]byte, error) {
	l, err := b.linker()
	if err != nil {
		return nil, err
	}
	return l.Meet()
}

// Link waits for the other processes of a meeting.
func (b *Backend) Link(meeting []byte, rank, size int) (backend.Link, error) {
	l, err := b.linker()
	if err != nil {
		return nil, err
	}
	link, err := l.Link(meeting, rank, size)
	if err != nil {
		return nil, err
	}
	return &linked{b: b, link: link}, nil
}

// linked is a link of the backend's memory; b.mu guards its moves.
type linked struct {
	b     *Backend
	link  Link
	last  *run // the last move
	ended sync.Once
}

// Move is a run of its own.
func (l *linked) Move(dst, src backend.Slice, bytes, apart int) error {
	b, to, from := l.b, dst.Buf.(*buffer), src.Buf.(*buffer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.wait(context.Background(), mostFlying); err != nil {
		return err
	}
	if err := l.link.Move(b.compute, Arg{Buffer: to.Buffer, Offset: dst.Offset}, Arg{Buffer: from.Buffer, Offset: src.Offset}, bytes, apart); err != nil {
		return b.failed(err)
	}
	r := &run{b: b}
	if err := b.commit(r); err != nil {
		return err
	}
	to.written, to.used, from.used, l.last = r, r, r, r
	return nil
}

// Err asks the driver.
func (l *linked) Err() error { return l.link.Err() }

// Break lets the device be lost before it aborts: what is read from then on is no result.
func (l *linked) Break(why error) {
	b := l.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reap()
	if l.last != nil && !l.last.done && b.lost == nil {
		b.lost = fmt.Errorf("%w: %w", backend.ErrLost, why)
	}
	l.ended.Do(func() { _ = l.link.Abort() }) // that it was broken is the error
}

// Close waits for the last moves.
func (l *linked) Close() (err error) {
	const limit = 10 * time.Second // the others have made the same moves
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	err = l.b.Sync(ctx)
	l.ended.Do(func() { err = errors.Join(err, l.link.Close()) })
	return err
}
