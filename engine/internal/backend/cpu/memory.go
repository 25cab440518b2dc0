package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

const alignment = 64 // a cache line, and a 512-bit vector

// A buffer is memory from Go's heap, or, when it is large, from the system where that is possible. bytes is
// nil once it was freed.
type buffer struct {
	bytes []byte
	pages []byte // what the system gave, nil for memory from the heap

	reserved bool // it does not count in the memory's limit: see Reserve
}

// largeBuffer is the size from which a buffer has pages of its own: huge ones if the system has them, which
// cost a 512th of the page faults, and which go back to the system at once.
const largeBuffer = 2 << 20

func (b *buffer) Bytes() int { return len(b.bytes) }

// alignedBytes returns zeroed memory that starts at a multiple of alignment.
func alignedBytes(n int) []byte {
	b := make([]byte, (n+alignment-1)&^(alignment-1)) // Go's allocator aligns such sizes by itself
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))&(alignment-1) == 0 {
		return b[:n:n]
	}
	b = make([]byte, n+alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (alignment - 1)
	return b[skip : skip+n : skip+n]
}

// memory counts what is allocated. It keeps nothing for later: a backend.Device recycles buffers.
type memory struct {
	limit int64 // what the machine has, 0 if unknown
	inUse atomic.Int64
	place func(n int) *buffer // where a test has buffers; nil: the heap or the system
}

// Alloc returns uninitialised memory.
func (b *Backend) Alloc(n int) (ir.Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("cpu: alloc: got %d bytes, want 0 or more", n)
	}
	m := &b.memory
	if used := m.inUse.Add(int64(n)); m.limit > 0 && used > m.limit {
		return nil, m.out(n, m.limit-used+int64(n))
	}
	if m.place != nil {
		return m.place(n), nil
	}
	if n < largeBuffer || !givesPages {
		return &buffer{bytes: alignedBytes(n)}, nil
	}
	pages := systemPages(n)
	if pages == nil { // Go's heap would end the process
		return nil, m.out(n, 0)
	}
	return &buffer{bytes: pages, pages: pages}, nil
}

// out takes back the count of n bytes that are not to be had.
func (m *memory) out(n int, free int64) error {
	used := m.inUse.Add(-int64(n))
	return &backend.OutOfMemory{Device: "cpu", Want: int64(n), Free: max(0, free), Held: fmt.Sprintf("buffers hold %d bytes", used)}
}

// AllocCollected returns memory that the collector frees: see [backend.CollectedAllocator].
func (b *Backend) AllocCollected(n int) (*backend.Block, ir.Buffer) {
	switch {
	case b.memory.place != nil:
		return new(backend.Block), b.memory.place(n)
	case n <= len(joined[[64]byte]{}.room):
		b := new(joined[[64]byte])
		return &b.block, b.of(b.room[:n:n])
	case n <= len(joined[[192]byte]{}.room):
		b := new(joined[[192]byte])
		return &b.block, b.of(b.room[:n:n])
	}
	return new(backend.Block), &buffer{bytes: alignedBytes(n)}
}

// A joined is a small block in one object, 256 and 384 bytes: Go's allocator aligns these by itself.
type joined[room any] struct {
	room  room
	block backend.Block
	buffer
}

// of gives the buffer its memory, another one if that is not aligned after all.
func (b *buffer) of(room []byte) *buffer {
	if b.bytes = room; uintptr(unsafe.Pointer(unsafe.SliceData(room)))&(alignment-1) != 0 {
		b.bytes = alignedBytes(len(room))
	}
	return b
}

// Free gives memory back. The caller must not use it any more.
func (b *Backend) Free(buf ir.Buffer) {
	p := buf.(*buffer)
	if !p.reserved {
		b.memory.inUse.Add(-int64(len(p.bytes)))
	}
	if p.pages != nil {
		givePages(p.pages)
	}
	p.bytes, p.pages = nil, nil
}

// Host returns the bytes of a buffer: see [backend.HostMemory].
func (b *Backend) Host(buf ir.Buffer) []byte { return buf.(*buffer).bytes }

// Upload copies src into dst.
func (b *Backend) Upload(dst ir.Buffer, offset int, src []byte) error {
	d := dst.(*buffer).bytes
	if offset < 0 || offset+len(src) > len(d) {
		return fmt.Errorf("cpu: upload: got bytes %d to %d, want them inside of a buffer of %d", offset, offset+len(src), len(d))
	}
	copy(d[offset:], src)
	return nil
}

// Download copies from src into dst; there is nothing to wait for.
func (b *Backend) Download(_ context.Context, dst []byte, src ir.Buffer, offset int) error {
	s := src.(*buffer).bytes
	if offset < 0 || offset+len(dst) > len(s) {
		return fmt.Errorf("cpu: download: got bytes %d to %d, want them inside of a buffer of %d", offset, offset+len(dst), len(s))
	}
	copy(dst, s[offset:])
	return nil
}

// A pages is memory of the system that goes back when nothing holds it any more.
type pages struct{ bytes []byte }

// largePages returns n bytes, or nil if n is not large or the system has none.
func largePages(n int) *pages {
	if n < largeBuffer {
		return nil
	}
	p := &pages{systemPages(n)}
	if p.bytes == nil {
		return nil
	}
	runtime.AddCleanup(p, givePages, p.bytes)
	return p
}

// An arena is the scratch memory of a launch: taken piece by piece, given back all at once when the next
// launch starts.
type arena struct {
	block []byte
	large *pages // what holds a large block
	used  int
	want  int // what the launch would need now in one block
	most  int // the most that it would have needed
}

func (a *arena) reset() {
	if a.most > len(a.block) {
		if a.block, a.large = nil, largePages(a.most); a.large != nil {
			a.block = a.large.bytes
		} else {
			a.block = alignedBytes(a.most)
		}
	}
	a.used, a.want, a.most = 0, 0, 0
}

// within calls f, whose memory is free again when it ends.
func (a *arena) within(f func()) {
	used, want := a.used, a.want
	f()
	a.used, a.want = used, want
}

// bytes returns n bytes of uninitialised memory that is valid until the launch ends.
func (a *arena) bytes(n int) []byte {
	size := (n + alignment - 1) &^ (alignment - 1)
	a.want += size
	a.most = max(a.most, a.want)
	if a.used+size > len(a.block) {
		return alignedBytes(size)[:n] // the next launch has a larger block
	}
	b := a.block[a.used : a.used+n : a.used+size]
	a.used += size
	return b
}

// floats returns n uninitialised elements that are valid until the launch ends.
func (a *arena) floats(n int) []float32 { return elements[float32](a.bytes(4 * n)) }

// elements is the memory b as numbers.
func elements[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
