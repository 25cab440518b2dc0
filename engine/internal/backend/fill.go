package backend

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A HostMemory is a Backend whose memory the processor writes directly.
type HostMemory interface {
	Backend
	// Host returns a buffer's bytes. They may be written as long as no run was asked for that reads or
	// writes the buffer.
	Host(buf ir.Buffer) []byte
}

// piece is how much of a file a goroutine reads at once, at most, and leastPiece how much if that gives work
// to all of them.
const (
	piece      = 4 << 20
	leastPiece = 256 << 10
)

// Fill writes n bytes at the beginning of a new block. read gives those from a place on; several goroutines
// call it, for places of their own. Where the device's memory is the host's, they read right into it: nothing
// is copied a second time, and the memory's pages come from several processors. For a whole block it is one
// call.
func (d *Device) Fill(dst ir.Buffer, n int, whole bool, read func(at int, to []byte) error) error {
	b, err := d.own(dst)
	if err != nil {
		return err
	}
	defer b.Release()
	defer events.Here().Copying(int64(n)).Done()
	pieces, most := inPieces, 4*piece
	if whole {
		pieces, most = func(to []byte, read func(at int, to []byte) error) error { return read(0, to) }, n
	}
	if h, ok := d.backend.(HostMemory); ok {
		return pieces(h.Host(b.raw)[:n], read)
	}
	staged := make([]byte, min(n, most))
	for at := 0; at < n; at += len(staged) {
		staged = staged[:min(len(staged), n-at)]
		if err := pieces(staged, func(inside int, to []byte) error { return read(at+inside, to) }); err != nil {
			return err
		}
		if err := d.Seen(d.backend.Upload(b.raw, at, staged)); err != nil {
			return err
		}
	}
	return nil
}

// Sift writes what keep keeps of n bytes of a value, from a byte offset of its block on, to the beginning of
// dst, and returns how many bytes these are. keep is given a piece after the other, which stays in the
// caches: it moves bytes from one slice to another of the same length, or within one. Where the device's
// memory is the host's, nothing else is copied.
func (d *Device) Sift(ctx context.Context, dst ir.Buffer, src *ir.Data, offset, n int, keep func(to, from []byte) int) (kept int, err error) {
	a, err := d.own(src.Buf)
	if err != nil {
		return 0, err
	}
	defer a.Release()
	b, err := d.own(dst)
	if err != nil {
		return 0, err
	}
	defer b.Release()
	h, host := d.backend.(HostMemory)
	const most = 1 << 18
	var room []byte
	if !host {
		room = make([]byte, min(n, most))
	} else if err := d.Await(ctx, src); err != nil {
		return 0, err
	}
	for at := 0; at < n; at += most {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		size := min(most, n-at)
		if host {
			kept += keep(h.Host(b.raw)[kept:][:size], h.Host(a.raw)[offset+at:][:size])
			continue
		}
		if err := d.Download(ctx, room[:size], src, offset+at); err != nil {
			return 0, err
		}
		stay := keep(room[:size], room[:size])
		if err := d.Upload(dst, kept, room[:stay]); err != nil {
			return 0, err
		}
		kept += stay
	}
	return kept, nil
}

// inPieces fills to by goroutines, as many as there are processors. It returns the error that came first in
// to.
func inPieces(to []byte, read func(at int, to []byte) error) error {
	piece := piece
	for piece > leastPiece && len(to) < 2*piece*runtime.GOMAXPROCS(0) {
		piece /= 2
	}
	pieces := (len(to) + piece - 1) / piece
	if pieces < 2 {
		return read(0, to)
	}
	failed := make([]error, pieces)
	work := make(chan int, pieces)
	for i := range pieces {
		work <- i
	}
	close(work)
	var wg sync.WaitGroup
	for range min(pieces, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range work {
				at := i * piece
				if failed[i] = read(at, to[at:min(at+piece, len(to))]); failed[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return cmp.Or(failed...)
}
