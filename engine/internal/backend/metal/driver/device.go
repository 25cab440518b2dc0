package driver

import (
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// A device is an MTLDevice, with the set of its resident buffers.
type device struct {
	*api
	gpu.Owner
	driver    *Driver
	info      gpu.Info
	id        objc.ID
	residency objc.ID // MTLResidencySet, nil before macOS 15

	mu      sync.Mutex // guards what follows, and the residency set
	live    map[*buffer]bool
	heaps   []*heap
	frees   uint64                  // how often a heap was left without buffers
	changed bool                    // the residency set was, since its last commit
	own     map[string]gpu.Pipeline // kernels of the driver itself

	mps struct {
		once sync.Once
		err  error
	}
	timing  sync.Once
	sampled *clock // see clock
}

// open makes a device; it owns id.
func (a *api) open(driver *Driver, info gpu.Info, id objc.ID) *device {
	d := &device{api: a, Owner: gpu.Owner{Name: "metal"}, driver: driver, info: info, id: id, live: map[*buffer]bool{}, own: map[string]gpu.Pipeline{}}
	if class := a.Class("MTLResidencySetDescriptor"); class != 0 && a.Responds(id, a.sel(selNewResidencySet)) {
		descriptor := a.Send(class, a.sel(selNew))
		// Without a set, as where this fails, useResource: serves.
		d.residency = a.Send(id, a.sel(selNewResidencySet), uintptr(descriptor), 0)
		a.Release(descriptor)
	}
	return d
}

func (d *device) misused(op selector, format string, args ...any) error {
	return gpu.Misused(d.Name, string(op), format, args...)
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
	e := &gpu.Error{Code: code, Device: d.Name, Op: string(op), Free: -1, Index: -1}
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
	gpu.Held
	id   objc.ID
	heap *heap // of which it is a part, or nil
}

// Usage asks for what this process has taken. Spare heaps count as free.
func (d *device) Usage() (gpu.Usage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.Counted()
	u.Total, u.Free = d.info.Memory, d.free()+d.spare()
	return u, nil
}

// Close gives the device back, when the work under way is over.
func (d *device) Close() error {
	streams, err := d.Owner.Close(string(selNewQueue))
	if err != nil {
		return err
	}
	for s := range streams {
		s.(*stream).Reap()
		s.(*stream).releaseAll()
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
	return a.Send(a.Class("NSURL"), a.sel("fileURLWithPath:"), uintptr(a.String(path)))
}
