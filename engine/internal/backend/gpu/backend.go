package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/kernel"
)

// A Backend is the engine's backend on a driver's device: the one above CUDA, Metal and the emulation. It has
// a stream for all kernels, and one for downloads, so that a download waits only for the run that writes what
// it reads.
//
// Work is asynchronous. A run is a commit of the stream with an event; reap looks at the events, in order,
// and says what became of each run. Memory that work may still use is freed behind it.
type Backend struct {
	name   string
	device Device
	info   Info

	pipelines pipelines
	library   *library // nil if the device has none

	mu      sync.Mutex // guards what follows, and the streams
	compute Stream
	copies  Stream
	flying  []*run // not known to be done, in order
	staging map[int][]Buffer
	lost    error

	freed struct { // a queue of its own: Free waits for nothing
		sync.Mutex
		list []Buffer
	}
}

// Open returns the backend on a device of a driver. Its devices are called by name: "cuda:0".
func Open(d Driver, index int, name string) (*Backend, error) {
	device, err := d.Open(index)
	if err != nil {
		return nil, err
	}
	b := &Backend{name: name, device: device, info: device.Info(), staging: map[int][]Buffer{}}
	b.pipelines.of = map[string]*pending{}
	b.library = newLibrary(device)
	if b.compute, err = device.Stream(); err == nil {
		b.copies, err = device.Stream()
	}
	if err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return b, nil
}

// Info describes the device.
func (b *Backend) Info() backend.Info { return InfoOf(b.name, b.info) }

// leastLogits is what the logits of a linear layer with a cross entropy may take on a small device; a large
// one has its products in fewer pieces, which are faster: on an H200 those of bf16 by a third.
const leastLogits = 256 << 20

// levelsTogether are the products that need one another in the gradient of two layers of a decoder.
const levelsTogether = 16

// InfoOf describes a driver's device: a GPU knows every type but f64.
func InfoOf(name string, d Info) backend.Info {
	i := backend.Info{Name: name, Detail: d.Name + ", " + d.Driver, Memory: d.Memory}
	for _, t := range dtype.All() {
		if t != dtype.F64 {
			i.DTypes = append(i.DTypes, t)
		}
	}
	i.Hints = backend.Hints{
		Later: true, Apart: !d.Unified, Alike: true, Stored: kernel.MostCompared, Few: LimitsOf(d).Few, Absorbing: true, SmallFlops: 1 << 30, Together: levelsTogether,
		Logits: max(leastLogits, d.Memory/128), Compilers: 8, Room: LimitsOf(d).Family == kernel.NVIDIA, Permuted: func(op ir.Op) bool { return op == ir.Rope || op.Family() == ir.FamilyAttention },
	}
	return i
}

// LimitsOf is what kernels for a driver's device keep to.
func LimitsOf(d Info) kernel.Limits {
	l := kernel.Limits{Threads: d.Limits.Threads, SIMDWidth: d.Limits.Simdgroup, Processors: d.Limits.Processors,
		Memory: d.Limits.ThreadgroupMemory, Room: RoomOf(d)}
	if strings.HasPrefix(d.Family, "sm_") {
		l.Family = kernel.NVIDIA
		l.Warpgroups = d.Family == "sm_90" // no later one has their instructions
	}
	return l
}

// limits are those of the device, with its library.
func (b *Backend) limits() kernel.Limits {
	l := LimitsOf(b.info)
	if b.library != nil {
		l.Library = &kernel.Library{Offer: b.library.offer, Room: l.Room, Memory: int(b.info.Memory), Always: b.library.always}
	}
	return l
}

// failed translates an error of the driver. After one that loses the device, all errors are ErrLost. b.mu is
// held.
func (b *Backend) failed(err error) error {
	var e *Error
	if b.lost == nil && errors.As(err, &e) && e.Code.Fatal() {
		b.lost = fmt.Errorf("%w: %w", backend.ErrLost, err)
	}
	if b.lost != nil && err != nil {
		return b.lost
	}
	return err
}

// Sync waits for all work.
func (b *Backend) Sync(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wait(ctx, 0)
}

// wait waits until at most so many runs are under way. b.mu is held, but not while it waits.
func (b *Backend) wait(ctx context.Context, most int) error {
	for {
		b.reap()
		if b.lost != nil {
			return b.lost
		}
		if len(b.flying) <= most {
			return nil
		}
		r := b.flying[len(b.flying)-1-most]
		b.mu.Unlock()
		r.event.Wait(ctx, 0) // an error is that of the run, which reap finds
		b.mu.Lock()
		if ctx.Err() != nil {
			return backend.Interrupted(ctx)
		}
	}
}

// reap says what became of the runs that are done. b.mu is held.
func (b *Backend) reap() {
	for len(b.flying) > 0 {
		r := b.flying[0]
		done, err := r.event.Done()
		if !done && err == nil {
			return
		}
		b.flying = b.flying[1:]
		r.end(b.failed(err))
	}
}

// Capture lets the device write what it does, from now until stop, into a file for the tools of its vendor.
func (b *Backend) Capture(path string) (stop func() error, err error) {
	tracer, ok := b.device.(Tracer)
	if !ok {
		return nil, fmt.Errorf("%s writes no such file: a .gputrace is Metal's", b.name)
	}
	if err := b.Sync(context.Background()); err != nil {
		return nil, err
	}
	end, err := tracer.Trace(path)
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(b.Sync(context.Background()), end()) }, nil
}

// Close gives everything back; runs under way end with an error.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := b.wait(ctx, 0)
	for _, r := range b.flying {
		r.end(backend.ErrLost)
	}
	b.flying = nil
	b.pipelines.close()
	if b.library != nil {
		b.library.close()
	}
	return errors.Join(err, b.compute.Close(), b.copies.Close(), b.device.Close())
}

// A buffer is device memory above the border.
type buffer struct {
	Buffer
	bytes int
	// written is the last run that writes the memory, used the last that reads or writes it; b.mu guards
	// both.
	written, used *run
}

func (m *buffer) Bytes() int { return m.bytes }

// Alloc returns device memory. When there is none left it waits for what was freed.
func (b *Backend) Alloc(bytes int) (ir.Buffer, error) {
	if bytes < 0 {
		return nil, fmt.Errorf("%s: alloc: got %d bytes, want 0 or more", b.name, bytes)
	}
	raw, err := b.device.Alloc(max(bytes, 1), DeviceMemory)
	if err != nil {
		b.mu.Lock()
		raw, err = b.again(bytes, DeviceMemory, err)
		b.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	return &buffer{Buffer: raw, bytes: bytes}, nil
}

// take allocates memory for the backend itself. b.mu is held, but not while it waits.
func (b *Backend) take(bytes int, m Memory) (Buffer, error) {
	raw, err := b.device.Alloc(bytes, m)
	if err != nil {
		return b.again(bytes, m, err)
	}
	return raw, nil
}

// again tries to allocate a second time if err says that there is no memory left: when work is done and what
// was freed behind it is free. b.mu is held, but not while it waits.
func (b *Backend) again(bytes int, m Memory, err error) (Buffer, error) {
	if errors.Is(err, OutOfMemory) {
		if err := b.wait(context.Background(), 0); err != nil {
			return nil, err
		}
		if err := b.drain(true); err != nil {
			return nil, err
		}
		var raw Buffer
		if raw, err = b.device.Alloc(max(bytes, 1), m); err == nil {
			return raw, nil
		}
	}
	var e *Error
	if errors.As(err, &e) && e.Code == OutOfMemory {
		return nil, &backend.OutOfMemory{Device: b.name, Want: int64(bytes), Free: e.Free}
	}
	return nil, b.failed(err)
}

// Free gives memory back behind the work that was asked for before.
func (b *Backend) Free(m ir.Buffer) {
	b.freed.Lock()
	defer b.freed.Unlock()
	b.freed.list = append(b.freed.list, m.(*buffer).Buffer)
}

// drain encodes what Free has queued; with commit it is handed over and waited for. b.mu is held.
func (b *Backend) drain(commit bool) error {
	b.freed.Lock()
	list := b.freed.list
	b.freed.list = nil
	b.freed.Unlock()
	for _, m := range list {
		b.compute.Free(m)
	}
	if !commit || len(list) == 0 {
		return nil
	}
	e, err := b.compute.Commit()
	if err != nil {
		return b.failed(err)
	}
	defer e.Close()
	return b.failed(e.Wait(context.Background(), 0))
}
