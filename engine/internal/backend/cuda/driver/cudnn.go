package driver

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A cudnn is NVIDIA's library of fused attention and of convolutions, by its backend API: descriptors with
// attributes, which are set one by one and then finalised.
type cudnn struct {
	*vendor
	create, destroy, setStream, runtime, status, lastError ccall.Func
	make, drop, set, get, finalize, execute                ccall.Func
}

// openNetworks opens the library. It looks for NVRTC by name alone: one that is open is found.
func (d *device) openNetworks() (*cudnn, error) {
	d.nvrtc.open(d)
	return d.networks.open(d, "cudnn", d.driver.Cudnn, func(library *ccall.Library, by *vendor, v version) (*cudnn, error) {
		l := &cudnn{vendor: by}
		l.codes, l.words = cudnnStatuses, l.says
		if err := lookUp(library, map[string]*ccall.Func{"cudnnCreate": &l.create, "cudnnDestroy": &l.destroy, "cudnnSetStream": &l.setStream,
			"cudnnGetCudartVersion": &l.runtime, "cudnnGetErrorString": &l.status,
			"cudnnGetLastErrorString": &l.lastError, "cudnnBackendCreateDescriptor": &l.make, "cudnnBackendDestroyDescriptor": &l.drop,
			"cudnnBackendSetAttribute": &l.set, "cudnnBackendGetAttribute": &l.get, "cudnnBackendFinalize": &l.finalize,
			"cudnnBackendExecute": &l.execute}); err != nil {
			return nil, err
		}
		l.encodes = map[ccall.Func]encoded{l.execute: {"cudnnBackendExecute", isWork}, l.setStream: {"cudnnSetStream", isSetting},
			l.drop: {"cudnnBackendDestroyDescriptor", isEnd}}
		if oldest := (version{9, 10, 0}); slices.Compare(v[:], oldest[:]) < 0 { // before, no score may be -inf
			return nil, fmt.Errorf("%s is %s, want 9.10 or later", library.Name(), l.name)
		}
		if err := d.fits(library, int(l.runtime.Call())/1000); err != nil {
			return nil, err
		}
		return l, l.begin("cudnn", l.create, l.destroy)
	})
}

// cudnnStatuses are the codes of cudnnStatus_t that mean something of their own. From 3000 on are those of
// what the library does not have, in this or that respect.
var cudnnStatuses = map[int]gpu.Code{1003: gpu.OutOfMemory, 3: gpu.Unsupported, 4002: gpu.OutOfMemory, 4003: gpu.OutOfMemory}

// says is what the library says of a code.
func (l *cudnn) says(code int) string {
	text := ccall.String(l.status.Call(uintptr(code)))
	said := make([]byte, 1024)
	l.lastError.Call(uintptr(unsafe.Pointer(&said[0])), uintptr(len(said)))
	runtime.KeepAlive(said)
	if more, _, _ := strings.Cut(string(said), "\x00"); more != "" {
		text += ", " + more
	}
	return text
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
	typeFloat      = 4
	typePointer    = 6
	typeConv       = 7
	typeMode       = 8
	typeNote       = 11
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

func numbers(name uintptr, list ...int) attribute { return listed(name, typeInt64, list) }

func refers(name uintptr, list ...descriptor) attribute { return listed(name, typeDescriptor, list) }

func listed[T int | descriptor](name, kind uintptr, list []T) attribute {
	a := attribute{name, kind, len(list), make([]uint64, len(list))}
	for i, n := range list {
		a.data[i] = uint64(n)
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
