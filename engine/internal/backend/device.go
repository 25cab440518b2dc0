package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/shared"
)

// A Device is an opened backend with its memory. It is the ir.Device of the nodes that live there.
type Device struct {
	name      string
	backend   Backend
	memory    memory
	collected CollectedAllocator // the backend, nil if all memory must be freed
	small     small
	host      bool         // the processor reads the memory directly
	planned   atomic.Int64 // bytes of the largest plan that ran
	live      live
	lost      atomic.Pointer[error] // why nothing works there any more; nil while it does
	hints     Hints
	dtypes    uint64 // a bit for each that the backend computes with
	flight    Flight // of runs that belong to no context
}

// NewDevice makes a device of a backend. Tests use it for devices of their own; all other code calls Open.
func NewDevice(name string, b Backend) *Device {
	info := b.Info()
	d := &Device{name: name, backend: b, hints: info.Hints.filled(info.Memory)}
	for _, dt := range info.DTypes {
		d.dtypes |= 1 << dt
	}
	m := &d.memory
	m.name, m.backend, m.hints, m.lists, m.gc = name, b, d.hints, map[int][]ir.Buffer{}, collectGarbage
	d.collected, _ = b.(CollectedAllocator)
	_, d.host = b.(HostMemory)
	return d
}

// String returns the device's name, "cpu".
func (d *Device) String() string { return d.name }

// Host says whether the device is the processor: its work is done when a run returns.
func (d *Device) Host() bool { return d.host }

// Backend returns what runs the device's kernels. Its buffers are those of Block.Raw.
func (d *Device) Backend() Backend { return d.backend }

// Err says that the device was lost or closed: an error with [ErrLost], or nil.
func (d *Device) Err() error {
	if why := d.lost.Load(); why != nil {
		return fmt.Errorf("%s: %w", d.name, *why)
	}
	return nil
}

// Lose notes that the device was lost; the first reason counts. Tensors that live there have no values any
// more, and Open opens another device of that name.
func (d *Device) Lose(why error) { d.lost.CompareAndSwap(nil, &why) }

// Seen returns an error of the backend as it is, and notes if it says that the device was lost. Code that
// calls the backend itself passes its errors through Seen.
func (d *Device) Seen(err error) error {
	if err != nil && errors.Is(err, ErrLost) {
		d.Lose(err)
	}
	return err
}

// end closes the backend of a device that was lost, and keeps no memory for it.
func (d *Device) end() error {
	d.memory.end()
	if c, ok := d.backend.(Closer); ok {
		return c.Close()
	}
	return nil
}

// Public makes of a device what people call it, a device.Device. Package device sets it; the engine cannot
// make one itself without asking for the device by its name, which is another device once it was lost.
var Public func(*Device) any

// Lacks returns an error if the device does not compute with dt.
func (d *Device) Lacks(dt dtype.Type) error {
	if d.dtypes>>dt&1 != 0 {
		return nil
	}
	return fmt.Errorf("got %v, want a dtype that device %s has: one of %v", dt, d.name, d.backend.Info().DTypes)
}

// Hints returns what the planner should know of the device, with each default filled in.
func (d *Device) Hints() Hints { return d.hints }

// Inside returns what a device.Device stands for, nil for the zero one. Package device sets it, too.
var Inside func(public any) *Device

// A Block is memory of a device. It is the ir.Buffer of nodes. It counts its holders: nodes whose value it
// is, and evaluations that use it. When the last holder releases it, the next allocation gets the memory
// while the caches still hold it. A holder that is forgotten need not release it: then the collector finds
// the memory, only later.
type Block struct {
	dev     *Device
	raw     ir.Buffer
	bytes   int
	holders atomic.Int32 // 0: the memory was given back
	claim   atomic.Pointer[Claim]
	made    atomic.Pointer[Maker]
	first   ir.Data // that Data has given away
	spread  bool    // see Spreader

	cleanup runtime.Cleanup // of memory that is not Go's
}

// Bytes is how much was asked for.
func (b *Block) Bytes() int { return b.bytes }

// Room is how many bytes it takes: fewer where it was reserved and not all of it was written.
func (b *Block) Room() int { return b.dev.memory.takes(b.raw, b.bytes) }

// Raw is the backend's buffer. Only a holder may use it, and must keep the Block alive meanwhile
// (runtime.KeepAlive).
func (b *Block) Raw() ir.Buffer { return b.raw }

// Data returns a value that lies in b, for the goroutine that has allocated b: the first one takes no memory
// of its own.
func (b *Block) Data(layout *ir.Layout, run ir.Run) *ir.Data {
	d := &b.first
	if d.Buf != nil {
		d = &ir.Data{}
	}
	d.Buf, d.Layout, d.Run = b, layout, run
	return d
}

// Device is where the memory is.
func (b *Block) Device() *Device { return b.dev }

// Retain makes the caller one more holder. It returns false when the memory was given back already. While an
// evaluation has claimed the block, Retain waits.
func (b *Block) Retain() bool {
	for {
		n := b.holders.Load()
		if n == 0 {
			return false
		}
		if !b.holders.CompareAndSwap(n, n+1) {
			continue
		}
		c := b.claim.Load()
		if c == nil {
			return true
		}
		b.Release()
		<-c.done
	}
}

// Release makes the caller a holder no longer. The last one gives the memory back at once.
func (b *Block) Release() {
	if b.holders.Add(-1) != 0 {
		return
	}
	raw := b.raw
	b.raw = nil
	if b.cleanup != (runtime.Cleanup{}) {
		b.cleanup.Stop()
		b.dev.memory.queue(raw)
	} else {
		b.dev.small.keep(raw)
	}
}

// References is how many holders the block has: 0 when the memory was given back.
func (b *Block) References() int { return int(b.holders.Load()) }

// smallBlock is the size in bytes up to which a block's memory is an object of Go's, if the backend is a
// [CollectedAllocator]: tracking the references to such a block would cost more than a new one. Small blocks
// do not count as the device's memory.
const smallBlock = 1 << 10

// small keeps the memory of a few small blocks that were given back, for the next results of a loop.
type small struct {
	sync.Mutex
	list [8]ir.Buffer
	next int          // which of them makes room
	has  atomic.Int32 // how many there are
}

func (s *small) keep(raw ir.Buffer) {
	s.Lock()
	if s.list[s.next] == nil {
		s.has.Add(1)
	}
	s.list[s.next] = raw
	s.next = (s.next + 1) % len(s.list)
	s.Unlock()
}

// take returns memory of so many bytes, or nil: what was kept last comes first.
func (s *small) take(bytes int) ir.Buffer {
	if s.has.Load() == 0 {
		return nil
	}
	s.Lock()
	defer s.Unlock()
	for i := range s.list {
		at := (s.next + len(s.list) - 1 - i) % len(s.list)
		if raw := s.list[at]; raw != nil && raw.Bytes() == bytes {
			s.list[at], s.next = nil, at
			s.has.Add(-1)
			return raw
		}
	}
	return nil
}

// Alloc returns uninitialised memory, perhaps recycled, whose one holder is the caller. When the backend has
// too little, Alloc frees the buffers that are kept for reuse, lets the collector find blocks that nothing
// refers to, and tries once more before it returns an *OutOfMemory.
func (d *Device) Alloc(n int) (*Block, error) {
	if err := d.Err(); err != nil {
		return nil, err
	}
	if d.collected != nil && 0 <= n && n <= smallBlock {
		var b *Block
		raw := d.small.take(n)
		if raw != nil {
			b = new(Block)
		} else {
			b, raw = d.collected.AllocCollected(n)
		}
		b.dev, b.raw, b.bytes = d, raw, n
		shared.First(&b.holders, int32(1))
		return b, nil
	}
	raw, err := d.memory.takeBlock(n)
	if err != nil {
		return nil, d.Seen(err)
	}
	return d.block(raw, n), nil
}

// block makes a block of a buffer that the collector will bring back.
func (d *Device) block(raw ir.Buffer, n int) *Block {
	b := &Block{dev: d, raw: raw, bytes: n}
	shared.First(&b.holders, int32(1))
	b.cleanup = runtime.AddCleanup(b, giveBack, lease{d, raw})
	return b
}

type lease struct {
	dev *Device
	raw ir.Buffer
}

// giveBack only queues the buffer: the collector may call it at any time, and it must not call into a driver.
func giveBack(l lease) { l.dev.memory.queue(l.raw) }

// Scratch returns memory as Alloc does, but without a Block: the caller gives it back by GiveBack.
func (d *Device) Scratch(n int) (ir.Buffer, error) { return d.memory.allocate(n) }

// GiveBack returns memory that Scratch gave.
func (d *Device) GiveBack(raw ir.Buffer) { d.memory.queue(raw) }

// Upload copies host bytes (little endian) into a block.
func (d *Device) Upload(dst ir.Buffer, offset int, src []byte) error {
	b, err := d.own(dst)
	if err != nil {
		return err
	}
	defer b.Release()
	defer events.Here().Copying(int64(len(src))).Done()
	return d.Seen(d.backend.Upload(b.raw, offset, src))
}

// quick is how many bytes the processor copies in less time than it takes to look at the clock twice.
const quick = 1 << 10

// Download copies a value, from a byte offset of its block on, to host bytes (little endian). It waits for
// the run that writes the value, as long as ctx allows, and returns its error if it failed.
func (d *Device) Download(ctx context.Context, dst []byte, src *ir.Data, offset int) error {
	b, err := d.own(src.Buf)
	if err != nil {
		return err
	}
	defer b.Release()
	if records := events.Of(ctx); d.host && len(dst) <= quick {
		defer records.Copied(int64(len(dst)))
	} else {
		defer records.Copying(int64(len(dst))).Done()
	}
	if err := d.Seen(d.backend.Download(ctx, dst, b.raw, offset)); err != nil {
		return err
	}
	return d.Await(ctx, src)
}

// staging is how many bytes of the host a copy between devices goes through, at most.
const staging = 4 << 20

// A Peer is a Backend that copies from other devices of its kind without the host.
type Peer interface {
	Backend
	// Written waits until what writes src is done, unless ctx ends before.
	Written(ctx context.Context, src ir.Buffer) error
	// CopyFrom copies memory of another device, to which nothing is written, in the order of its own runs. It
	// returns when src has been read, or errors.ErrUnsupported where the two do not reach each other.
	CopyFrom(ctx context.Context, dst ir.Buffer, offset int, src ir.Buffer, from, n int) error
}

// Copy copies n bytes of a value, from a byte offset of its block on, to the beginning of dst, which may be
// on another device: directly if it can, otherwise through the host, in pieces between which it looks at ctx.
func Copy(ctx context.Context, dst *Block, src *ir.Data, offset, n int) error {
	from := src.Buf.(*Block).dev
	to, near := dst.dev.backend.(Peer)
	if of, ok := from.backend.(Peer); ok && near && from != dst.dev && n > 0 {
		if err := dst.copyFrom(ctx, to, of, src, offset, n); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	piece := make([]byte, min(n, staging))
	for at := 0; at < n; at += len(piece) {
		if ctx.Err() != nil {
			return Interrupted(ctx)
		}
		piece = piece[:min(len(piece), n-at)]
		if err := from.Download(ctx, piece, src, offset+at); err != nil {
			return err
		}
		if err := dst.dev.Upload(dst, at, piece); err != nil {
			return err
		}
	}
	return nil
}

// copyFrom is Copy without the host.
func (b *Block) copyFrom(ctx context.Context, to, of Peer, src *ir.Data, offset, n int) error {
	dev := src.Buf.(*Block).dev
	from, err := dev.own(src.Buf)
	if err != nil {
		return err
	}
	defer from.Release()
	defer runtime.KeepAlive(b)
	copying := events.Of(ctx).Copying(int64(n))
	if err := dev.Seen(of.Written(ctx, from.raw)); err != nil {
		return err
	}
	if err := b.dev.Seen(to.CopyFrom(ctx, b.raw, 0, from.raw, offset, n)); err != nil {
		return err
	}
	copying.Done()
	return dev.Await(ctx, src)
}

// own returns the block that a buffer of the device is, and holds it; the caller releases it.
func (d *Device) own(buf ir.Buffer) (*Block, error) {
	b, ok := buf.(*Block)
	if !ok || b.dev != d {
		return nil, fmt.Errorf("%s: got memory that is not of this device", d.name)
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	if !b.Retain() {
		return nil, fmt.Errorf("%s: got memory that was freed", d.name)
	}
	return b, nil
}

// MemoryInUse returns how many bytes blocks and running plans hold, the most that they ever held, and how
// many more are kept for reuse.
func (d *Device) MemoryInUse() (inUse, peak, kept int64) { return d.memory.counters() }

// ResetPeak lets the peak start again from what is in use, and the largest plan from none.
func (d *Device) ResetPeak() {
	d.planned.Store(0)
	d.memory.resetPeak()
}

// Running notes that a plan runs that needs so many bytes for its outputs and for what lies between its
// launches.
func (d *Device) Running(bytes int64) {
	for {
		old := d.planned.Load()
		if bytes <= old || d.planned.CompareAndSwap(old, bytes) {
			return
		}
	}
}

// LargestPlan returns the most bytes that Running was told of.
func (d *Device) LargestPlan() int64 { return d.planned.Load() }

// FreeCache gives the memory that is kept for reuse back to the backend.
func (d *Device) FreeCache() { d.memory.trim(0) }
