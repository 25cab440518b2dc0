package driver

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A device holds the primary context of a GPU, with a stream for memory and a pool.
type device struct {
	*api
	gpu.Owner
	driver *Driver
	info   gpu.Info
	handle int // what the driver calls the device

	context uintptr
	memory  uintptr // a stream on which nothing but memory is allocated and freed
	pool    uintptr // 0 where the driver has none

	running sync.Mutex // see run
	mu      sync.Mutex
	idle    map[kind][]uintptr // events that can be used again
	vendors []*vendor          // the libraries that are open
	peers   map[*device]error  // whether memory of other devices can be read

	nvrtc      compiler
	products   opening[cublasLt]
	networks   opening[cudnn]
	solvers    opening[cusolver]
	triangles  opening[cublas]
	transforms opening[cufft]
	links      opening[nccl]
}

func (d *Driver) open(index int) (_ gpu.Device, err error) {
	v := &device{api: d.api, driver: d, idle: map[kind][]uintptr{}}
	if v.info, v.handle, err = d.api.describe(index); err != nil {
		return nil, err
	}
	v.Name = fmt.Sprintf("cuda:%d", index)
	context := new(uintptr)
	if err := v.api.call(cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(context)), uintptr(v.handle)); err != nil {
		return nil, afterFault(v.Name, err)
	}
	v.context = *context
	defer func() {
		if err != nil {
			v.Close()
		}
	}()
	if v.memory, err = v.newStream(); err != nil {
		return nil, err
	}
	if err = v.newPool(); err != nil {
		return nil, err
	}
	v.info.Libraries = d.found()
	return v, nil
}

// afterFault explains why no context can be made: after the fault of one kernel the driver refuses everything
// that the process asks for, on each device, whatever contexts are destroyed before.
func afterFault(device string, err error) error {
	var e *gpu.Error
	if !errors.As(err, &e) || e.Code != gpu.KernelFault {
		return err
	}
	return &gpu.Error{Code: gpu.Unsupported, Device: device, Op: e.Op, Native: e.Native, Index: -1,
		Text: "a kernel has faulted in this process, and the driver opens no device in it any more: end the program and start it again"}
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

func (d *device) misused(f function, format string, args ...any) error {
	return gpu.Misused(d.Name, f.String(), format, args...)
}

// enter is the call that every batch begins with.
func (d *device) enter() ccall.Call {
	return ccall.Call{Func: d.functions[cuCtxSetCurrent], Args: [16]uintptr{d.context}, Check: ccall.Zero}
}

// make is a call for a batch.
func (d *device) make(f function, args ...uintptr) ccall.Call {
	return callOf(d.functions[f], args)
}

func callOf(f ccall.Func, args []uintptr) ccall.Call {
	c := ccall.Call{Func: f, Check: ccall.Zero}
	copy(c.Args[:], args)
	return c
}

// code calls a function in the context and returns the driver's code.
//
//go:uintptrescapes
func (d *device) code(f function, args ...uintptr) int {
	calls := [2]ccall.Call{d.enter(), {Func: d.functions[f], Check: ccall.Zero}}
	copy(calls[1].Args[:], args)
	if n := ccall.Run(calls[:]); n < len(calls) {
		return calls[n].Int()
	}
	return success
}

// do calls a function in the context.
//
//go:uintptrescapes
func (d *device) do(f function, args ...uintptr) error {
	if code := d.code(f, args...); code != success {
		return d.failed(d.Name, f, code)
	}
	return nil
}

// poolProperties is CUmemPoolProps: memory of a device that is not shared between processes.
type poolProperties struct {
	allocation, handles  int32
	locationKind, device int32
	security             uintptr
	most                 uint64
	usage                uint16
	_                    [54]byte
}

// The numbers of CUmemPool_attribute.
const (
	poolReuseInternal = 3 // whether an allocation may wait, on the device, for a free
	poolKeep          = 4 // bytes that are not given back to the system
	poolReserved      = 5
	poolUsed          = 7
)

func (d *device) newPool() error {
	supported, err := d.attribute(d.handle, attrMemoryPools)
	if err != nil {
		return err
	}
	if supported == 0 || !d.has(cuMemPoolCreate, cuMemPoolDestroy, cuMemPoolSetAttribute, cuMemPoolGetAttribute,
		cuMemPoolTrimTo, cuMemAllocFromPoolAsync, cuMemFreeAsync) {
		return nil
	}
	properties := &poolProperties{allocation: 1, locationKind: 1, device: int32(d.handle)}
	pool := new(uintptr)
	if err := d.do(cuMemPoolCreate, uintptr(unsafe.Pointer(pool)), uintptr(unsafe.Pointer(properties))); err != nil {
		return err
	}
	d.pool = *pool
	keep, no := new(uint64), new(int32)
	*keep = 1<<64 - 1
	if err := d.do(cuMemPoolSetAttribute, d.pool, poolKeep, uintptr(unsafe.Pointer(keep))); err != nil {
		return err
	}
	return d.do(cuMemPoolSetAttribute, d.pool, poolReuseInternal, uintptr(unsafe.Pointer(no)))
}

// A buffer is memory of the device, or pinned memory of the host.
type buffer struct {
	gpu.Held
	device *device
	aside  bool // not counted: memory of the driver itself, for a moment
}

func (d *device) newBuffer(bytes int, aside bool) *buffer {
	b := &buffer{gpu.Held{Owner: &d.Owner, Bytes: bytes}, d, aside}
	b.Release = func() { d.release(b) }
	return b
}

// Alloc takes memory from the pool, or pinned memory. When there is none, the pool gives the system back what
// it does not use, and Alloc tries once more.
func (d *device) Alloc(bytes int, m gpu.Memory) (gpu.Buffer, error) {
	if bytes < 1 {
		return nil, d.misused(cuMemAlloc, "got %d bytes, want at least 1", bytes)
	}
	b := d.newBuffer(bytes, false)
	err := d.alloc(b, m)
	if e, ok := err.(*gpu.Error); ok && e.Code == gpu.OutOfMemory {
		if d.pool != 0 {
			d.do(cuMemPoolTrimTo, d.pool, 0)
			err = d.alloc(b, m)
		}
		if e, ok = err.(*gpu.Error); ok && e.Code == gpu.OutOfMemory {
			e.Want, e.Free = int64(bytes), -1
			if u, err := d.Usage(); err == nil {
				e.Free = u.Free
			}
		}
	}
	if err != nil {
		return nil, err
	}
	d.Count(int64(bytes))
	return b, nil
}

func (d *device) alloc(b *buffer, m gpu.Memory) error {
	address := new(uintptr)
	switch {
	case m == gpu.SharedMemory:
		const portable, mapped = 1, 2
		if err := d.do(cuMemHostAlloc, uintptr(unsafe.Pointer(address)), uintptr(b.Bytes), portable|mapped); err != nil {
			return err
		}
		b.Memory = ccall.Bytes(*address, b.Bytes)
		onHost := *address
		if err := d.do(cuMemHostGetDevicePointer, uintptr(unsafe.Pointer(address)), onHost, 0); err != nil {
			d.do(cuMemFreeHost, onHost)
			return err
		}
	case d.pool != 0:
		if err := d.do(cuMemAllocFromPoolAsync, uintptr(unsafe.Pointer(address)), uintptr(b.Bytes), d.pool, d.memory); err != nil {
			return err
		}
		// The memory is there for all streams once its own stream has come to it, which has nothing else to
		// do.
		if err := d.do(cuStreamSynchronize, d.memory); err != nil {
			d.do(cuMemFreeAsync, *address, d.memory)
			return err
		}
	default:
		if err := d.do(cuMemAlloc, uintptr(unsafe.Pointer(address)), uintptr(b.Bytes)); err != nil {
			return err
		}
	}
	b.At = uint64(*address)
	return nil
}

// release frees memory that nothing uses any more. An error of a device that is lost changes nothing.
func (d *device) release(b *buffer) {
	switch {
	case b.Memory != nil:
		d.do(cuMemFreeHost, uintptr(unsafe.Pointer(&b.Memory[0])))
	case d.pool != 0:
		d.do(cuMemFreeAsync, uintptr(b.At), d.memory)
	default:
		d.do(cuMemFree, uintptr(b.At))
	}
	if !b.aside {
		d.Count(-int64(b.Bytes))
	}
}

// Usage counts what the pool keeps as free.
func (d *device) Usage() (gpu.Usage, error) {
	u := d.Counted()
	free, total := new(uint64), new(uint64)
	if err := d.do(cuMemGetInfo, uintptr(unsafe.Pointer(free)), uintptr(unsafe.Pointer(total))); err != nil {
		return u, err
	}
	u.Free, u.Total = int64(*free), int64(*total)
	if d.pool != 0 {
		reserved, used := new(uint64), new(uint64)
		if err := d.do(cuMemPoolGetAttribute, d.pool, poolReserved, uintptr(unsafe.Pointer(reserved))); err != nil {
			return u, err
		}
		if err := d.do(cuMemPoolGetAttribute, d.pool, poolUsed, uintptr(unsafe.Pointer(used))); err != nil {
			return u, err
		}
		u.Free += int64(*reserved - *used)
	}
	return u, nil
}

// Close lets go of the context. When nothing else in the process holds it, everything goes that was made in
// it; a library that was opened may hold it, and then memory that was not freed stays. While a kernel does
// not end that would wait for ever, so the context is then left to the end of the process, and Close says so.
func (d *device) Close() error {
	if _, err := d.Owner.Close(cuDevicePrimaryCtxRelease.String()); err != nil {
		return err
	}
	d.mu.Lock()
	vendors := d.vendors
	d.mu.Unlock()
	for _, v := range vendors {
		v.close()
	}
	if d.pool != 0 {
		d.do(cuMemPoolDestroy, d.pool)
	}
	err := d.api.call(cuDevicePrimaryCtxRelease, uintptr(d.handle))
	var e *gpu.Error
	if errors.As(err, &e) && e.Code.Fatal() {
		return nil
	}
	return err
}
