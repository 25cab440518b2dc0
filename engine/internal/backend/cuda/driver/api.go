package driver

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

// A function is one of libcuda's.
type function int

// A symbol is a function's name in the library; "_v2" and so on are versions of a function's interface, which
// cuda.h hides.
type symbol struct {
	name     string
	optional bool
}

// symbols are those of all functions. A driver that lacks one which is needed is older than CUDA 11.4.
var symbols []symbol

// use is the function with that name.
func use(name string, optional bool) function {
	symbols = append(symbols, symbol{name, optional})
	return function(len(symbols) - 1)
}

const needed, optional = false, true

var (
	cuInit                         = use("cuInit", needed)
	cuDriverGetVersion             = use("cuDriverGetVersion", needed)
	cuGetErrorName                 = use("cuGetErrorName", needed)
	cuGetErrorString               = use("cuGetErrorString", needed)
	cuDeviceGetCount               = use("cuDeviceGetCount", needed)
	cuDeviceGet                    = use("cuDeviceGet", needed)
	cuDeviceGetName                = use("cuDeviceGetName", needed)
	cuDeviceTotalMem               = use("cuDeviceTotalMem_v2", needed)
	cuDeviceGetAttribute           = use("cuDeviceGetAttribute", needed)
	cuDevicePrimaryCtxRetain       = use("cuDevicePrimaryCtxRetain", needed)
	cuDevicePrimaryCtxRelease      = use("cuDevicePrimaryCtxRelease_v2", needed)
	cuCtxSetCurrent                = use("cuCtxSetCurrent", needed)
	cuMemGetInfo                   = use("cuMemGetInfo_v2", needed)
	cuMemAlloc                     = use("cuMemAlloc_v2", needed)
	cuMemFree                      = use("cuMemFree_v2", needed)
	cuMemHostAlloc                 = use("cuMemHostAlloc", needed)
	cuMemFreeHost                  = use("cuMemFreeHost", needed)
	cuMemHostGetDevicePointer      = use("cuMemHostGetDevicePointer_v2", needed)
	cuMemPoolCreate                = use("cuMemPoolCreate", optional)
	cuMemPoolDestroy               = use("cuMemPoolDestroy", optional)
	cuMemPoolSetAttribute          = use("cuMemPoolSetAttribute", optional)
	cuMemPoolGetAttribute          = use("cuMemPoolGetAttribute", optional)
	cuMemPoolTrimTo                = use("cuMemPoolTrimTo", optional)
	cuMemAllocFromPoolAsync        = use("cuMemAllocFromPoolAsync", optional)
	cuMemFreeAsync                 = use("cuMemFreeAsync", optional)
	cuModuleLoadDataEx             = use("cuModuleLoadDataEx", needed)
	cuModuleUnload                 = use("cuModuleUnload", needed)
	cuModuleGetFunction            = use("cuModuleGetFunction", needed)
	cuFuncGetAttribute             = use("cuFuncGetAttribute", needed)
	cuFuncSetAttribute             = use("cuFuncSetAttribute", needed)
	cuFuncGetParamInfo             = use("cuFuncGetParamInfo", optional) // CUDA 12.4
	cuStreamCreate                 = use("cuStreamCreate", needed)
	cuStreamDestroy                = use("cuStreamDestroy_v2", needed)
	cuStreamQuery                  = use("cuStreamQuery", needed)
	cuStreamSynchronize            = use("cuStreamSynchronize", needed)
	cuStreamWaitEvent              = use("cuStreamWaitEvent", needed)
	cuStreamBeginCapture           = use("cuStreamBeginCapture_v2", needed)
	cuStreamEndCapture             = use("cuStreamEndCapture", needed)
	cuGraphInstantiate             = use("cuGraphInstantiateWithFlags", needed)
	cuGraphLaunch                  = use("cuGraphLaunch", needed)
	cuGraphExecDestroy             = use("cuGraphExecDestroy", needed)
	cuGraphDestroy                 = use("cuGraphDestroy", needed)
	cuGraphGetNodes                = use("cuGraphGetNodes", needed)
	cuGraphNodeGetType             = use("cuGraphNodeGetType", needed)
	cuGraphKernelNodeGetParams     = use("cuGraphKernelNodeGetParams", needed)
	cuGraphExecKernelNodeSetParams = use("cuGraphExecKernelNodeSetParams", needed)
	cuEventCreate                  = use("cuEventCreate", needed)
	cuEventRecord                  = use("cuEventRecord", needed)
	cuEventQuery                   = use("cuEventQuery", needed)
	cuEventElapsedTime             = use("cuEventElapsedTime", needed)
	cuLaunchKernel                 = use("cuLaunchKernel", needed)
	cuLaunchKernelEx               = use("cuLaunchKernelEx", optional) // CUDA 11.8
	cuMemcpyAsync                  = use("cuMemcpyAsync", needed)
	cuMemsetD8Async                = use("cuMemsetD8Async", needed)
	cuDeviceCanAccessPeer          = use("cuDeviceCanAccessPeer", optional)
	cuMemPoolSetAccess             = use("cuMemPoolSetAccess", optional)
	cuMemcpyPeerAsync              = use("cuMemcpyPeerAsync", optional)
	cuMemGetAllocationGranularity  = use("cuMemGetAllocationGranularity", optional)
	cuMemCreate                    = use("cuMemCreate", optional)
	cuMemRelease                   = use("cuMemRelease", optional)
	cuMemExportToShareableHandle   = use("cuMemExportToShareableHandle", optional)
	cuMemImportFromShareableHandle = use("cuMemImportFromShareableHandle", optional)
	cuMemAddressReserve            = use("cuMemAddressReserve", optional)
	cuMemAddressFree               = use("cuMemAddressFree", optional)
	cuMemMap                       = use("cuMemMap", optional)
	cuMemUnmap                     = use("cuMemUnmap", optional)
	cuMemSetAccess                 = use("cuMemSetAccess", optional)
	functions                      = function(len(symbols)) // their number
)

// String is the function's name without the version of its interface.
func (f function) String() string {
	name, _, _ := strings.Cut(symbols[f].name, "_v")
	return name
}

// oldest is the first version with all functions that are not optional: 11.4.
const oldest = 11040

// An api is the driver's library.
type api struct {
	functions []ccall.Func
	version   int // 12080 is 12.8
}

// load opens the library and starts the driver.
func load(names []string) (*api, error) {
	if err := ccall.Available(); err != nil {
		return nil, gpu.Errorf(gpu.Unsupported, "cuda", "open", "%v", err)
	}
	library, err := ccall.Open(names...)
	if err != nil {
		return nil, gpu.Errorf(gpu.NoDriver, "cuda", "open", "%v", err)
	}
	a := &api{functions: make([]ccall.Func, functions)}
	for f, s := range symbols {
		if a.functions[f], err = library.Symbol(s.name); err != nil && !s.optional {
			return nil, gpu.Errorf(gpu.DriverTooOld, "cuda", "open", "%v", err)
		}
	}
	if err := a.call(cuInit, 0); err != nil {
		return nil, err
	}
	version := new(int32)
	if err := a.call(cuDriverGetVersion, uintptr(unsafe.Pointer(version))); err != nil {
		return nil, err
	}
	a.version = int(*version)
	if a.version < oldest {
		return nil, gpu.Errorf(gpu.DriverTooOld, "cuda", "open", "got a driver for CUDA %s, want one for 11.4 or later", a.versionText())
	}
	return a, nil
}

func (a *api) versionText() string { return fmt.Sprintf("%d.%d", a.version/1000, a.version%1000/10) }

// has reports whether the library has all of the functions.
func (a *api) has(list ...function) bool {
	for _, f := range list {
		if a.functions[f] == 0 {
			return false
		}
	}
	return true
}

// call calls a function that needs no context.
//
//go:uintptrescapes
func (a *api) call(f function, args ...uintptr) error {
	c := ccall.Call{Func: a.functions[f]}
	copy(c.Args[:], args)
	if c.Do(); c.Int() != 0 {
		return a.failed("cuda", f, c.Int())
	}
	return nil
}

// results are the driver's codes (CUresult in cuda.h) that mean something of their own.
var results = map[int]gpu.Code{
	2:   gpu.OutOfMemory,
	34:  gpu.NoDriver, // the library is a stub, for linking only
	36:  gpu.DriverTooOld,
	46:  gpu.LostDevice, // unavailable
	100: gpu.NoDriver,   // no device
	101: gpu.NoDriver,   // no such device
	200: gpu.BadKernel,  // invalid image
	209: gpu.Unsupported,
	214: gpu.LostDevice, // an error of the memory that cannot be corrected
	218: gpu.BadKernel,  // invalid PTX
	220: gpu.LostDevice, // NVLink
	222: gpu.DriverTooOld,
	300: gpu.BadKernel, // invalid source
	500: gpu.BadKernel, // a symbol is not found
	700: gpu.KernelFault,
	701: gpu.Misuse, // launch out of resources
	702: gpu.KernelFault,
	710: gpu.KernelFault, // assert
	714: gpu.KernelFault,
	715: gpu.KernelFault,
	716: gpu.KernelFault,
	717: gpu.KernelFault,
	718: gpu.KernelFault,
	719: gpu.KernelFault,
	801: gpu.Unsupported,
	802: gpu.LostDevice,   // the system is not ready
	803: gpu.DriverTooOld, // library and kernel module differ
	804: gpu.DriverTooOld,
	900: gpu.Misuse, // 900 to 908: captures
	901: gpu.Misuse,
	906: gpu.Misuse,
}

const (
	success      = 0
	invalidValue = 1
	notFound     = 500
	notReady     = 600
)

// failed is the error of a driver's code.
func (a *api) failed(device string, f function, code int) *gpu.Error {
	text := a.text(cuGetErrorName, code)
	if s := a.text(cuGetErrorString, code); s != "" {
		text += ", " + s
	}
	return &gpu.Error{Code: results[code], Device: device, Op: f.String(), Native: code, Text: text, Free: -1, Index: -1}
}

func (a *api) text(f function, code int) string {
	p := new(uintptr)
	if int32(a.functions[f].Call(uintptr(code), uintptr(unsafe.Pointer(p)))) != success {
		return ""
	}
	return ccall.String(*p)
}
