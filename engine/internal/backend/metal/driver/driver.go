// Package driver is Metal as a gpu.Driver, for Apple silicon with macOS 14 or later.
//
// No line of it has run on Apple hardware. It is built and vetted for darwin/arm64, and its tests run on
// linux/arm64, also under qemu, on testdata/metal.c: a small Objective-C runtime with the classes of Metal
// that are used here. That shows that messages have the arguments, the order and the owners that Apple's
// documentation asks for, and that errors arrive; it shows nothing about Apple's compiler, about speed, or
// about what the documentation leaves out.
//
// How it uses Metal:
//   - All memory is shared (unified), so a DeviceMemory buffer has a Host, too.
//   - Buffers are untracked: Metal does not look for hazards between kernels. Barriers become memory barriers
//     in an encoder that runs dispatches side by side, and each encoder waits for a fence that the encoder
//     before it updates.
//   - Messages of an encoder are collected and sent in one transition (ccall.Run) when the encoder ends.
//   - Buffers are parts of heaps, which cost nothing to make anew (heap.go).
//   - Memory that kernels reach by address is resident: by a residency set where the system has them (macOS
//     15), and by useResource: for those in Dispatch.Uses elsewhere.
//   - Streams are command queues. They wait for each other by shared events.
//   - A Stamp is a counter sample where an encoder ends. Where these are missing or wrong, it ends a command
//     buffer, and is its GPUEndTime (stamp.go).
//
// Reading order: driver.go, device.go, heap.go, library.go, stream.go, bytewise.go, event.go, stamp.go,
// mps.go, trace.go.
package driver

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// Driver finds Apple's GPUs. Its fields are where it looks; New fills them in.
type Driver struct {
	System    []string // the Objective-C runtime, and frameworks
	Framework string   // with MTLCopyAllDevices
	Dispatch  string   // with dispatch_data_create
	Sign      string   // a folder that is there when Metal is
	Shaders   string   // the framework of Metal Performance Shaders

	// Products lets Metal Performance Shaders compute matrix products. It is off at first.
	Products bool

	once sync.Once
	api  *api
	err  error
}

// New returns the driver of this machine.
func New() *Driver {
	const frameworks = "/System/Library/Frameworks/"
	return &Driver{System: objc.System, Framework: frameworks + "Metal.framework/Metal", Dispatch: "/usr/lib/libSystem.B.dylib",
		Sign: frameworks + "Metal.framework", Shaders: frameworks + "MetalPerformanceShaders.framework/MetalPerformanceShaders"}
}

// Name is "metal".
func (*Driver) Name() string { return "metal" }

// Present looks for Apple silicon and for Metal.
func (d *Driver) Present() error {
	if _, err := os.Stat(d.Sign); err != nil || runtime.GOARCH != "arm64" {
		return gpu.Errorf(gpu.NoDriver, "metal", "find", "Metal is a part of macOS, and mcs uses it on Apple silicon; this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// An api is the open frameworks.
type api struct {
	*objc.Runtime
	copyAllDevices ccall.Func
	createData     ccall.Func
}

func (d *Driver) load() (*api, error) {
	d.once.Do(func() { d.api, d.err = d.open() })
	return d.api, d.err
}

func (d *Driver) open() (*api, error) {
	if err := d.Present(); err != nil {
		return nil, err
	}
	missing := func(err error) error { return gpu.Errorf(gpu.NoDriver, "metal", "open", "%v", err) }
	if err := ccall.Available(); err != nil {
		return nil, gpu.Errorf(gpu.Unsupported, "metal", "open", "%v", err)
	}
	r, err := objc.Load(d.System...)
	if err != nil {
		return nil, missing(err)
	}
	a := &api{Runtime: r}
	metal, err := ccall.Open(d.Framework)
	if err != nil {
		return nil, missing(err)
	}
	system, err := ccall.Open(d.Dispatch)
	if err != nil {
		return nil, missing(err)
	}
	var err1, err2 error
	a.copyAllDevices, err1 = metal.Symbol("MTLCopyAllDevices")
	a.createData, err2 = system.Symbol("dispatch_data_create")
	if err := errors.Join(err1, err2); err != nil {
		return nil, missing(err)
	}
	return a, nil
}

// each calls f for each device, as long as f returns true; devices are released afterwards.
func (a *api) each(f func(i int, device objc.ID) bool) {
	a.Pool(func() {
		list := objc.ID(a.copyAllDevices.Call())
		defer a.Release(list)
		for i := range int(a.Send(list, a.sel(selCount))) {
			if !f(i, a.Send(list, a.sel(selObjectAtIndex), uintptr(i))) {
				return
			}
		}
	})
}

// Devices describes them. Metal gives out its device objects for that; no memory is taken.
func (d *Driver) Devices() (infos []gpu.Info, err error) {
	a, err := d.load()
	if err != nil {
		return nil, err
	}
	a.each(func(i int, device objc.ID) bool {
		infos = append(infos, a.describe(i, device))
		return true
	})
	return infos, nil
}

// families are what MTLDevice.supportsFamily: knows, the newest first.
var families = []struct {
	number int
	name   string
}{{1010, "apple10"}, {1009, "apple9"}, {1008, "apple8"}, {1007, "apple7"}}

func (a *api) describe(index int, device objc.ID) gpu.Info {
	info := gpu.Info{Index: index, Name: a.Text(a.Send(device, a.sel(selName))), Family: "older", Language: gpu.Metal,
		Memory:  int64(a.Send(device, a.sel("recommendedMaxWorkingSetSize"))),
		Unified: a.Bool(device, a.sel("hasUnifiedMemory"))}
	// "Version 15.3 (Build 24D60)", in the language of the user.
	version := a.Text(a.Send(a.process(), a.sel("operatingSystemVersionString")))
	info.Driver = "macOS " + version[max(strings.IndexAny(version, "0123456789"), 0):]
	for _, f := range families {
		if a.Bool(device, a.sel("supportsFamily:"), uintptr(f.number)) {
			info.Family = f.name
			break
		}
	}
	info.Limits = gpu.Limits{
		Threads:           1024, // of all Apple GPUs; maxThreadsPerThreadgroup returns a struct, which package ccall cannot receive
		ThreadgroupMemory: int(a.Send(device, a.sel("maxThreadgroupMemoryLength"))),
		Simdgroup:         32,
		Groups:            gpu.Size{X: math.MaxInt32, Y: math.MaxInt32, Z: math.MaxInt32},
		Args:              31,
		InlineBytes:       4096, // of setBytes, for each argument; here for all
		Alignment:         256,
		Buffer:            int64(a.Send(device, a.sel("maxBufferLength"))),
	}
	return info
}

func (a *api) process() objc.ID { return a.Send(a.Class("NSProcessInfo"), a.sel("processInfo")) }

// serves says what a device lacks. The kernels have matrices of simdgroups, addresses of buffers in
// arguments, and bfloat: an M1 has them all, a virtual machine's GPU perhaps not.
func (a *api) serves(info gpu.Info) error {
	const oldest = 14 // the first macOS with Metal 3.1
	lacks := ""
	switch version := (&[3]int{oldest, 0, 0}); {
	case !a.Bool(a.process(), a.sel("isOperatingSystemAtLeastVersion:"), uintptr(unsafe.Pointer(version))):
		lacks = fmt.Sprintf("got %s, want macOS %d or newer", info.Driver, oldest)
	case !strings.HasPrefix(info.Family, "apple"):
		lacks = fmt.Sprintf("got %s, want a GPU of the family Apple 7 (M1) or newer", info.Name)
	default:
		return nil
	}
	return gpu.Errorf(gpu.Unsupported, "metal", "open", "%s", lacks)
}

// Open makes a device ready.
func (d *Driver) Open(index int) (opened gpu.Device, err error) {
	a, err := d.load()
	if err != nil {
		return nil, err
	}
	count := 0
	a.each(func(i int, device objc.ID) bool {
		if count++; i != index {
			return true
		}
		info := a.describe(i, device)
		if err = a.serves(info); err == nil {
			opened = a.open(d, info, a.Retain(device))
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if opened == nil {
		return nil, gpu.Errorf(gpu.NoDriver, "metal", "open", "got device %d, but this machine has %d", index, count)
	}
	return opened, nil
}
