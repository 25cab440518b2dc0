package driver

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// A device is an MTLDevice, with the set of its resident buffers.
type device struct {
	*api
	driver    *Driver
	info      gpu.Info
	id        objc.ID
	residency objc.ID // MTLResidencySet, nil before macOS 15

	mu      sync.Mutex // guards what follows, and the residency set
	usage   gpu.Usage  // InUse and Peak
	live    map[*buffer]bool
	heaps   []*heap
	frees   uint64 // how often a heap was left without buffers
	changed bool   // the residency set was, since its last commit
	streams map[*stream]bool
	own     map[string]gpu.Pipeline // kernels of the driver itself
	closed  atomic.Bool

	mps struct {
		once sync.Once
		err  error
	}
	timing  sync.Once
	sampled *clock // see clock
}

// open makes a device; it owns id.
func (a *api) open(driver *Driver, info gpu.Info, id objc.ID) *device {
	d := &device{api: a, driver: driver, info: info, id: id, live: map[*buffer]bool{}, streams: map[*stream]bool{}, own: map[string]gpu.Pipeline{}}
	if class := a.Class("MTLResidencySetDescriptor"); class != 0 && a.Responds(id, a.sel(selNewResidencySet)) {
		descriptor := a.Send(class, a.sel(selNew))
		// Without a set, as where this fails, useResource: serves.
		d.residency = a.Send(id, a.sel(selNewResidencySet), uintptr(descriptor), 0)
		a.Release(descriptor)
	}
	return d
}

func (d *device) name() string { return "metal" }

func (d *device) misused(op selector, format string, args ...any) error {
	return gpu.Misused(d.name(), string(op), format, args...)
}

// The codes of MTLCommandBufferError that mean something of their own.
var commandErrors = map[int]gpu.Code{
	2:  gpu.KernelFault, // timeout: a kernel that does not end
	3:  gpu.KernelFault, // page fault
	4:  gpu.LostDevice,  // access revoked
	8:  gpu.OutOfMemory,
	9:  gpu.Misuse, // invalid resource
	11: gpu.LostDevice,
	12: gpu.KernelFault, // stack overflow
}

// failed is the error of an NSError, or of a nil without one. code is the kind when the domain is not the
// command buffers'.
func (d *device) failed(op selector, id objc.ID, code gpu.Code) *gpu.Error {
	e := &gpu.Error{Code: code, Device: d.name(), Op: string(op), Free: -1, Index: -1}
	if f := d.Failure(id); f != nil {
		e.Native, e.Text = f.Code, f.Text
		if f.Domain == "MTLCommandBufferErrorDomain" {
			e.Code = commandErrors[f.Code]
		}
	}
	return e
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// A buffer is an MTLBuffer in shared memory.
type buffer struct {
	device  *device
	id      objc.ID
	heap    *heap // of which it is a part, or nil
	bytes   int
	address uint64
	host    []byte
	freed   atomic.Bool
}

func (b *buffer) Len() int        { return b.bytes }
func (b *buffer) Address() uint64 { return b.address }
func (b *buffer) Host() []byte    { return b.host }

// Free gives the memory back at once.
func (b *buffer) Free() {
	if !b.freed.Swap(true) && !b.device.closed.Load() {
		b.release()
	}
}

func (b *buffer) release() {
	b.device.mu.Lock()
	defer b.device.mu.Unlock()
	b.device.release(b)
}

// Usage asks for what this process has taken. Spare heaps count as free.
func (d *device) Usage() (gpu.Usage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.usage
	u.Total, u.Free = d.info.Memory, d.free()+d.spare()
	return u, nil
}

// owns finds a buffer's mistakes: freed, or of another device.
func (d *device) owns(b gpu.Buffer) (*buffer, error) {
	mine, ok := b.(*buffer)
	switch {
	case !ok || mine.device != d:
		return nil, fmt.Errorf("got a buffer of another device")
	case mine.freed.Load():
		return nil, fmt.Errorf("got a buffer that was freed")
	}
	return mine, nil
}

// closing is how long Close waits for work under way.
const closing = time.Second

// Close gives the device back, when the work under way is over.
func (d *device) Close() error {
	if d.closed.Swap(true) {
		return d.misused(selNewQueue, "the device was closed before")
	}
	d.mu.Lock()
	streams := d.streams
	d.streams = nil
	d.mu.Unlock()
	for deadline := time.Now().Add(closing); ; time.Sleep(time.Millisecond) {
		busy := false
		for s := range streams {
			busy = busy || s.busy()
		}
		if !busy {
			break
		}
		if time.Now().After(deadline) {
			return &gpu.Error{Code: gpu.Timeout, Device: d.name(), Op: "close", Index: -1,
				Text: "work was still under way after " + closing.String() + "; its memory is free when the program ends"}
		}
	}
	for s := range streams {
		s.reap()
		s.releaseAll()
	}
	for _, p := range d.own {
		p.Close()
	}
	for b := range d.live {
		d.Release(b.id)
	}
	for _, h := range d.heaps {
		d.Release(h.id)
	}
	d.Release(d.residency)
	d.Release(d.id)
	return nil
}

// url returns an autoreleased NSURL of a file.
func (a *api) url(path string) objc.ID {
	return a.Send(a.Class("NSURL"), a.sel(selFileURL), uintptr(a.String(path)))
}
