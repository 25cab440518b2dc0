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

const (
	cuInit function = iota
	cuDriverGetVersion
	cuGetErrorName
	cuGetErrorString
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuCtxSetCurrent
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostGetDevicePointer
	cuMemPoolCreate
	cuMemPoolDestroy
	cuMemPoolSetAttribute
	cuMemPoolGetAttribute
	cuMemPoolTrimTo
	cuMemAllocFromPoolAsync
	cuMemFreeAsync
	cuModuleLoadDataEx
	cuModuleUnload
	cuModuleGetFunction
	cuFuncGetAttribute
	cuFuncSetAttribute
	cuFuncGetParamInfo
	cuStreamCreate
	cuStreamDestroy
	cuStreamQuery
	cuStreamSynchronize
	cuStreamWaitEvent
	cuStreamBeginCapture
	cuStreamEndCapture
	cuGraphInstantiate
	cuGraphLaunch
	cuGraphExecDestroy
	cuGraphDestroy
	cuGraphGetNodes
	cuGraphNodeGetType
	cuGraphKernelNodeGetParams
	cuGraphExecKernelNodeSetParams
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventQuery
	cuEventElapsedTime
	cuLaunchKernel
	cuLaunchKernelEx
	cuMemcpyAsync
	cuMemsetD8Async
	cuDeviceCanAccessPeer
	cuMemPoolSetAccess
	cuMemcpyPeerAsync
	cuMemGetAllocationGranularity
	cuMemCreate
	cuMemRelease
	cuMemExportToShareableHandle
	cuMemImportFromShareableHandle
	cuMemAddressReserve
	cuMemAddressFree
	cuMemMap
	cuMemUnmap
	cuMemSetAccess
	functions // their number
)

// symbols are the names in the library; "_v2" and so on are versions of a function's interface, which cuda.h
// hides. A driver that lacks one which is not optional is older than CUDA 11.4.
var symbols = [functions]struct {
	name     string
	optional bool
}{
	cuInit:                         {name: "cuInit"},
	cuDriverGetVersion:             {name: "cuDriverGetVersion"},
	cuGetErrorName:                 {name: "cuGetErrorName"},
	cuGetErrorString:               {name: "cuGetErrorString"},
	cuDeviceGetCount:               {name: "cuDeviceGetCount"},
	cuDeviceGet:                    {name: "cuDeviceGet"},
	cuDeviceGetName:                {name: "cuDeviceGetName"},
	cuDeviceTotalMem:               {name: "cuDeviceTotalMem_v2"},
	cuDeviceGetAttribute:           {name: "cuDeviceGetAttribute"},
	cuDevicePrimaryCtxRetain:       {name: "cuDevicePrimaryCtxRetain"},
	cuDevicePrimaryCtxRelease:      {name: "cuDevicePrimaryCtxRelease_v2"},
	cuCtxSetCurrent:                {name: "cuCtxSetCurrent"},
	cuMemGetInfo:                   {name: "cuMemGetInfo_v2"},
	cuMemAlloc:                     {name: "cuMemAlloc_v2"},
	cuMemFree:                      {name: "cuMemFree_v2"},
	cuMemHostAlloc:                 {name: "cuMemHostAlloc"},
	cuMemFreeHost:                  {name: "cuMemFreeHost"},
	cuMemHostGetDevicePointer:      {name: "cuMemHostGetDevicePointer_v2"},
	cuMemPoolCreate:                {"cuMemPoolCreate", true},
	cuMemPoolDestroy:               {"cuMemPoolDestroy", true},
	cuMemPoolSetAttribute:          {"cuMemPoolSetAttribute", true},
	cuMemPoolGetAttribute:          {"cuMemPoolGetAttribute", true},
	cuMemPoolTrimTo:                {"cuMemPoolTrimTo", true},
	cuMemAllocFromPoolAsync:        {"cuMemAllocFromPoolAsync", true},
	cuMemFreeAsync:                 {"cuMemFreeAsync", true},
	cuModuleLoadDataEx:             {name: "cuModuleLoadDataEx"},
	cuModuleUnload:                 {name: "cuModuleUnload"},
	cuModuleGetFunction:            {name: "cuModuleGetFunction"},
	cuFuncGetAttribute:             {name: "cuFuncGetAttribute"},
	cuFuncSetAttribute:             {name: "cuFuncSetAttribute"},
	cuFuncGetParamInfo:             {"cuFuncGetParamInfo", true}, // CUDA 12.4
	cuStreamCreate:                 {name: "cuStreamCreate"},
	cuStreamDestroy:                {name: "cuStreamDestroy_v2"},
	cuStreamQuery:                  {name: "cuStreamQuery"},
	cuStreamSynchronize:            {name: "cuStreamSynchronize"},
	cuStreamWaitEvent:              {name: "cuStreamWaitEvent"},
	cuStreamBeginCapture:           {name: "cuStreamBeginCapture_v2"},
	cuStreamEndCapture:             {name: "cuStreamEndCapture"},
	cuGraphInstantiate:             {name: "cuGraphInstantiateWithFlags"},
	cuGraphLaunch:                  {name: "cuGraphLaunch"},
	cuGraphExecDestroy:             {name: "cuGraphExecDestroy"},
	cuGraphDestroy:                 {name: "cuGraphDestroy"},
	cuGraphGetNodes:                {name: "cuGraphGetNodes"},
	cuGraphNodeGetType:             {name: "cuGraphNodeGetType"},
	cuGraphKernelNodeGetParams:     {name: "cuGraphKernelNodeGetParams"},
	cuGraphExecKernelNodeSetParams: {name: "cuGraphExecKernelNodeSetParams"},
	cuEventCreate:                  {name: "cuEventCreate"},
	cuEventDestroy:                 {name: "cuEventDestroy_v2"},
	cuEventRecord:                  {name: "cuEventRecord"},
	cuEventQuery:                   {name: "cuEventQuery"},
	cuEventElapsedTime:             {name: "cuEventElapsedTime"},
	cuLaunchKernel:                 {name: "cuLaunchKernel"},
	cuLaunchKernelEx:               {"cuLaunchKernelEx", true}, // CUDA 11.8
	cuMemcpyAsync:                  {name: "cuMemcpyAsync"},
	cuMemsetD8Async:                {name: "cuMemsetD8Async"},
	cuDeviceCanAccessPeer:          {"cuDeviceCanAccessPeer", true},
	cuMemPoolSetAccess:             {"cuMemPoolSetAccess", true},
	cuMemcpyPeerAsync:              {"cuMemcpyPeerAsync", true},
	cuMemGetAllocationGranularity:  {"cuMemGetAllocationGranularity", true},
	cuMemCreate:                    {"cuMemCreate", true},
	cuMemRelease:                   {"cuMemRelease", true},
	cuMemExportToShareableHandle:   {"cuMemExportToShareableHandle", true},
	cuMemImportFromShareableHandle: {"cuMemImportFromShareableHandle", true},
	cuMemAddressReserve:            {"cuMemAddressReserve", true},
	cuMemAddressFree:               {"cuMemAddressFree", true},
	cuMemMap:                       {"cuMemMap", true},
	cuMemUnmap:                     {"cuMemUnmap", true},
	cuMemSetAccess:                 {"cuMemSetAccess", true},
}

// String is the function's name without the version of its interface.
func (f function) String() string {
	name, _, _ := strings.Cut(symbols[f].name, "_v")
	return name
}

// oldest is the first version with all functions that are not optional: 11.4.
const oldest = 11040

// An api is the driver's library.
type api struct {
	functions [functions]ccall.Func
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
	a := &api{}
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
