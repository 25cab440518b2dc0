package driver

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A vendor is one of NVIDIA's libraries of kernels. A device has a handle of its own, which belongs to the
// device's context.
type vendor struct {
	device  *device
	name    string // "cublasLt 12.8.4"
	handle  uintptr
	codes   map[int]gpu.Code       // its codes that mean something of their own
	words   func(code int) string  // what it says of one; nil if nothing
	encodes map[ccall.Func]encoded // the functions that work is encoded with
	close   func()                 // destroys what was made
}

// Computation is that of the library which has such work.
func (d *device) Computation(w gpu.Work, alignment, workspace int) (gpu.Computation, error) {
	switch w := w.(type) {
	case gpu.Product:
		return d.Multiplication(w, alignment, workspace)
	case gpu.Attention:
		return d.Attention(w)
	case gpu.Convolution:
		return d.Convolution(w, gpu.RoomOf(d.info))
	case ir.Routine:
		return d.Routine(w)
	}
	return nil, errors.ErrUnsupported
}

// An encoded is such a function: what it is called, and what it does.
type encoded struct {
	name string
	does does
}

type does uint8

const (
	isWork    does = iota // a piece of work by itself
	isSetting             // says how
	isEnd                 // destroys something, also where work before it has failed
)

// begin makes the handle.
func (v *vendor) begin(library string, create, destroy ccall.Func) error {
	handle := new(uintptr)
	err := v.do(library+"Create", create, uintptr(unsafe.Pointer(handle)))
	v.handle = *handle
	v.close = func() { v.do(library+"Destroy", destroy, *handle) }
	return err
}

// do calls a function of the library in the device's context. What went wrong a library may tell the same
// thread only.
//
//go:uintptrescapes
func (v *vendor) do(name string, f ccall.Func, args ...uintptr) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := v.device
	calls := [2]ccall.Call{d.enter(), {Func: f, Check: ccall.Zero}}
	copy(calls[1].Args[:], args)
	switch ccall.Run(calls[:]) {
	case 0:
		return d.failed(d.Name, cuCtxSetCurrent, calls[0].Int())
	case 1:
		return v.failed(name, calls[1].Int())
	}
	return nil
}

// failed is the error of a code. Of cuDNN's thousands, codes has one for all of a thousand.
func (v *vendor) failed(name string, code int) *gpu.Error {
	text := fmt.Sprintf("status %d", code)
	if v.words != nil {
		text = v.words(code)
	}
	e := gpu.Errorf(cmp.Or(v.codes[code], v.codes[code/1000]), v.device.Name, name, "%s", text)
	e.Native = code
	return e
}

// fits refuses a library of a later major version of CUDA than the driver's.
func (d *device) fits(library *ccall.Library, major int) error {
	if major > d.version/1000 {
		return fmt.Errorf("%s is of CUDA %d, want at most that of the driver, %s", library.Name(), major, d.versionText())
	}
	return nil
}

// An opening opens a library at the first need; how that went is remembered.
type opening[L any] struct {
	once   sync.Once
	err    error
	opened *L
}

// open opens the first of the files that use takes, for which it gets the device and the library's name.
func (o *opening[L]) open(d *device, what string, files []string, use func(*ccall.Library, *vendor, version) (*L, error)) (*L, error) {
	o.once.Do(func() {
		var reasons []error
		for _, name := range d.driver.everywhere(files) {
			library, v, err := openVersion(what, name)
			if err == nil {
				by := &vendor{device: d, name: what + " " + v.String()}
				if o.opened, err = use(library, by, v); err == nil {
					d.mu.Lock()
					defer d.mu.Unlock()
					d.vendors = append(d.vendors, by)
					return
				}
			}
			reasons = append(reasons, err)
		}
		o.opened = nil
		o.err = gpu.Errorf(gpu.Unsupported, d.Name, what, "%v", errors.Join(reasons...))
	})
	return o.opened, o.err
}

// encoder finds the library that a call belongs to; nil is libcuda.
func (d *device) encoder(f ccall.Func) (*vendor, encoded) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.vendors {
		if e, ok := v.encodes[f]; ok {
			return v, e
		}
	}
	return nil, encoded{"", isWork}
}

// lookUp finds functions by their names.
func lookUp(library *ccall.Library, list map[string]*ccall.Func) (err error) {
	for name, f := range list {
		if *f, err = library.Symbol(name); err != nil {
			return err
		}
	}
	return nil
}

// found lists the libraries of kernels that are installed, with their versions. None is needed.
func (d *Driver) found() (list []string) {
	for _, l := range []struct {
		name  string
		files []string
	}{{"cublasLt", d.CublasLt}, {"cublas", d.Cublas}, {"cusolver", d.Cusolver}, {"cufft", d.Cufft}, {"cudnn", d.Cudnn}} {
		if _, v, err := openVersion(l.name, d.everywhere(l.files)...); err == nil {
			list = append(list, l.name+" "+v.String())
		}
	}
	return list
}

// A version is that of a library: major, minor and patch.
type version [3]int32

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

// openVersion opens the first of the files that can be opened, and asks for the version.
func openVersion(name string, files ...string) (*ccall.Library, version, error) {
	v := new(version)
	library, err := ccall.Open(files...)
	if err != nil {
		return nil, *v, err
	}
	if property, err := library.Symbol(name + "GetProperty"); err == nil {
		for i := range v {
			property.Call(uintptr(i), uintptr(unsafe.Pointer(&v[i])))
		}
		return library, *v, nil
	}
	number, err := library.Symbol(name + "GetVersion") // 22809 is 2.28.9
	if err == nil {
		code := new(int32)
		number.Call(uintptr(unsafe.Pointer(code)))
		*v = version{*code / 10000, *code / 100 % 100, *code % 100}
	}
	return library, *v, err
}

// pythons are the patterns of folders in which the Pythons of such places keep NVIDIA's packages.
func pythons(places ...string) (list []string) {
	for _, p := range places {
		if filepath.IsAbs(p) {
			list = append(list, filepath.Join(p, "lib/python3*/*-packages/nvidia/*/lib"))
		}
	}
	return list
}

// everywhere adds to the names of a library the files of such names in Python's packages.
func (d *Driver) everywhere(names []string) []string {
	list := slices.Clone(names)
	for _, pattern := range d.Packages {
		for _, name := range names {
			if filepath.Base(name) == name {
				files, _ := filepath.Glob(filepath.Join(pattern, name))
				list = append(list, files...)
			}
		}
	}
	return list
}
