package driver

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A cudnn is NVIDIA's library of fused attention, by its backend API: descriptors with attributes, which are
// set one by one and then finalised. A device has a handle of its own, which belongs to the device's context.
type cudnn struct {
	device *device
	name   string // "cudnn 9.19.0"
	handle uintptr

	create, destroy, setStream, version, runtime, status, lastError ccall.Func
	make, drop, set, get, finalize, execute                         ccall.Func
}

// oldestCudnn is the first version in which a score that is masked may be -inf.
const oldestCudnn = 91000

// attentions opens the library at the first need; how that went is remembered.
type attentions struct {
	once   sync.Once
	err    error
	opened atomic.Pointer[cudnn]
}

// open opens the first library that the driver can run, and that is new enough.
func (a *attentions) open(d *device) (*cudnn, error) {
	a.once.Do(func() {
		d.nvrtc.open(d) // which the library looks for by name alone: one that is open is found
		var reasons []error
		for _, name := range d.driver.everywhere(d.driver.Cudnn) {
			l := &cudnn{device: d}
			library, err := ccall.Open(name)
			if err == nil {
				err = l.use(library)
			}
			if err == nil {
				a.opened.Store(l)
				return
			}
			reasons = append(reasons, err)
		}
		a.err = &gpu.Error{Code: gpu.Unsupported, Device: d.Name, Op: "cudnn", Index: -1, Text: fmt.Sprint(errors.Join(reasons...))}
	})
	return a.opened.Load(), a.err
}

func (l *cudnn) use(library *ccall.Library) (err error) {
	for name, f := range map[string]*ccall.Func{"cudnnCreate": &l.create, "cudnnDestroy": &l.destroy, "cudnnSetStream": &l.setStream,
		"cudnnGetVersion": &l.version, "cudnnGetCudartVersion": &l.runtime, "cudnnGetErrorString": &l.status,
		"cudnnGetLastErrorString": &l.lastError, "cudnnBackendCreateDescriptor": &l.make, "cudnnBackendDestroyDescriptor": &l.drop,
		"cudnnBackendSetAttribute": &l.set, "cudnnBackendGetAttribute": &l.get, "cudnnBackendFinalize": &l.finalize,
		"cudnnBackendExecute": &l.execute} {
		if *f, err = library.Symbol(name); err != nil {
			return err
		}
	}
	version := int(l.version.Call())
	l.name = "cudnn " + versionOf(version, 10000)
	if version < oldestCudnn {
		return fmt.Errorf("%s is %s, want 9.10 or later", library.Name(), l.name)
	}
	if major := int(l.runtime.Call()) / 1000; major > l.device.version/1000 {
		return fmt.Errorf("%s is of CUDA %d, want at most that of the driver, %s", library.Name(), major, l.device.versionText())
	}
	handle := new(uintptr)
	err = l.do("cudnnCreate", l.create, uintptr(unsafe.Pointer(handle)))
	l.handle = *handle
	return err
}

// do calls a function of the library in the device's context. What went wrong the library tells the same
// thread only.
//
//go:uintptrescapes
func (l *cudnn) do(name string, f ccall.Func, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := l.device
	calls := [2]ccall.Call{d.enter(), {Func: f, Check: ccall.Zero}}
	copy(calls[1].Args[:], args)
	switch ccall.Run(calls[:]) {
	case 0:
		return d.failed(d.Name, cuCtxSetCurrent, calls[0].Int())
	case 1:
		return l.failed(name, calls[1].Int())
	}
	return nil
}

// cudnnStatuses are the codes of cudnnStatus_t that mean something of their own.
var cudnnStatuses = map[int]gpu.Code{1003: gpu.OutOfMemory, 4002: gpu.OutOfMemory, 4003: gpu.OutOfMemory}

func (l *cudnn) failed(name string, code int) *gpu.Error {
	text := ccall.String(l.status.Call(uintptr(code)))
	said := make([]byte, 1024)
	l.lastError.Call(uintptr(unsafe.Pointer(&said[0])), uintptr(len(said)))
	runtime.KeepAlive(said)
	if more, _, _ := strings.Cut(string(said), "\x00"); more != "" {
		text += ", " + more
	}
	e := &gpu.Error{Code: cudnnStatuses[code], Device: l.device.Name, Op: name, Native: code, Text: text, Free: -1, Index: -1}
	if code/1000 == 3 { // what the library does not have, in this or that respect
		e.Code = gpu.Unsupported
	}
	return e
}

// A descriptor is an object of the library.
type descriptor uintptr

// An attribute of a descriptor: its name and type as in cudnn_graph.h, and its elements in memory.
type attribute struct {
	name, kind uintptr
	count      int
	data       []uint64
}

// The types of attributes.
const (
	typeHandle     = 0
	typeData       = 1
	typeBool       = 2
	typeInt64      = 3
	typePointer    = 6
	typeMode       = 8
	typePointwise  = 14
	typeDescriptor = 15
	typeReduction  = 18
)

// enum is an attribute of 4 bytes.
func enum(name, kind uintptr, value int) attribute {
	return attribute{name, kind, 1, []uint64{uint64(uint32(value))}}
}

func truth(name uintptr, value bool) attribute {
	if value {
		return attribute{name, typeBool, 1, []uint64{1}}
	}
	return attribute{name, typeBool, 1, []uint64{0}}
}

func numbers(name uintptr, list ...int) attribute {
	a := attribute{name, typeInt64, len(list), make([]uint64, len(list))}
	for i, n := range list {
		a.data[i] = uint64(n)
	}
	return a
}

func refers(name uintptr, list ...descriptor) attribute {
	a := attribute{name, typeDescriptor, len(list), make([]uint64, len(list))}
	for i, d := range list {
		a.data[i] = uint64(d)
	}
	return a
}

// describe makes a descriptor with attributes.
func (l *cudnn) describe(kind uintptr, attributes ...attribute) (descriptor, error) {
	d, err := l.empty(kind)
	if err != nil {
		return 0, err
	}
	for _, a := range attributes {
		if err := l.do("cudnnBackendSetAttribute", l.set, uintptr(d), a.name, a.kind, uintptr(a.count), uintptr(unsafe.Pointer(&a.data[0]))); err != nil {
			l.discard(d)
			return 0, err
		}
	}
	if err := l.do("cudnnBackendFinalize", l.finalize, uintptr(d)); err != nil {
		l.discard(d)
		return 0, err
	}
	return d, nil
}

// empty makes a descriptor without attributes.
func (l *cudnn) empty(kind uintptr) (descriptor, error) {
	made := new(uintptr)
	err := l.do("cudnnBackendCreateDescriptor", l.make, kind, uintptr(unsafe.Pointer(made)))
	return descriptor(*made), err
}

// number is an attribute that is one number, as the library says.
func (l *cudnn) number(d descriptor, name uintptr) (int, error) {
	value, count := new(int64), new(int64)
	err := l.do("cudnnBackendGetAttribute", l.get, uintptr(d), name, typeInt64, 1, uintptr(unsafe.Pointer(count)), uintptr(unsafe.Pointer(value)))
	return int(*value), err
}

func (l *cudnn) discard(d descriptor) { l.do("cudnnBackendDestroyDescriptor", l.drop, uintptr(d)) }
