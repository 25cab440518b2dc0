// Package driver is CUDA's driver API as a gpu.Driver. It opens libcuda, which is part of NVIDIA's driver,
// when the program runs; no toolkit is needed. NVRTC, cuBLASLt, cuBLAS, cuSOLVER, cuFFT, cuDNN and NCCL are
// used where they are found.
//
// Every entry into libcuda is a batch (package ccall) that begins with cuCtxSetCurrent: a context is current
// by thread of the system, and a goroutine has no thread of its own. Streams collect work and hand it over in
// one batch.
//
// A device holds the primary context of its GPU, which is the one that NCCL works in; two devices of one GPU
// share it. After the fault of a kernel the driver gives none to the process any more (seen with driver 580):
// Open then says that the program must be started again. Memory comes from a
// pool of the device's own (cuMemAllocFromPoolAsync), or by cuMemAlloc where the driver has no pools.
//
// Reading order: driver.go, api.go, device.go, library.go, nvrtc.go, compilers.go, stream.go, event.go,
// graph.go, cublaslt.go, cusolver.go, cufft.go, cudnn.go, cudnn_graph.go, cudnn_attention.go, nccl.go.
package driver

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Driver finds NVIDIA's GPUs. Its fields are where it looks; New fills them in.
type Driver struct {
	Libraries []string // names of libcuda
	NVRTC     []string
	CublasLt  []string
	Cudnn     []string
	Cusolver  []string
	Cublas    []string
	Cufft     []string
	NCCL      []string
	Packages  []string // patterns of folders with Python's packages, in which NVIDIA's libraries may be, too
	Includes  []string // folders with CUDA's headers, for NVRTC
	Signs     []string // files that the kernel module makes; one of them means that there may be a device
	Listing   string   // the folder in which the kernel module has a folder for each GPU

	once sync.Once
	api  *api
	err  error

	compilers compilers
	planning  sync.Mutex // see uninterrupted
}

// New returns the driver of this machine.
func New() *Driver {
	const toolkit = "/usr/local/cuda"
	home, _ := os.UserHomeDir()
	return &Driver{
		Packages:  pythons(os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX"), filepath.Join(home, ".local"), "/usr/local", "/usr"),
		Libraries: []string{"libcuda.so.1"},
		NVRTC: []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", toolkit + "/lib64/libnvrtc.so.13",
			toolkit + "/lib64/libnvrtc.so.12"},
		CublasLt: []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", toolkit + "/lib64/libcublasLt.so.13",
			toolkit + "/lib64/libcublasLt.so.12"},
		Cusolver: []string{"libcusolver.so.12", "libcusolver.so.11", toolkit + "/lib64/libcusolver.so.12", toolkit + "/lib64/libcusolver.so.11"},
		Cublas: []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", toolkit + "/lib64/libcublas.so.13",
			toolkit + "/lib64/libcublas.so.12"},
		Cufft:    []string{"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", toolkit + "/lib64/libcufft.so.12", toolkit + "/lib64/libcufft.so.11"},
		Cudnn:    []string{"libcudnn.so.9", "libcudnn.so.8"},
		NCCL:     []string{cmp.Or(os.Getenv("MCS_NCCL"), "libnccl.so.2")},
		Includes: []string{os.Getenv("CUDA_HOME") + "/include", os.Getenv("CUDA_PATH") + "/include", toolkit + "/include"},
		Listing:  "/proc/driver/nvidia/gpus",
		Signs:    []string{"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl-gpu"},
	}
}

// Name is "cuda".
func (*Driver) Name() string { return "cuda" }

// Present looks for what NVIDIA's kernel module makes.
func (d *Driver) Present() error {
	if visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set && (visible == "" || visible == "-1") {
		return gpu.Errorf(gpu.NoDriver, "cuda", "find", "CUDA_VISIBLE_DEVICES hides every GPU")
	}
	for _, sign := range d.Signs {
		if _, err := os.Stat(sign); err == nil {
			return nil
		}
	}
	return gpu.Errorf(gpu.NoDriver, "cuda", "find", "no NVIDIA driver is loaded: looked for %s", strings.Join(d.Signs, ", "))
}

// Seen lists the names of the GPUs that the kernel module shows, as "NVIDIA H200", without loading a library.
// Devices may have another order: the driver takes the fastest first, or that of CUDA_VISIBLE_DEVICES, of
// which Seen knows only how many it shows. Where the module shows none (under Windows, for one) there may be
// some all the same.
func (d *Driver) Seen() (names []string) {
	folders, err := os.ReadDir(d.Listing)
	if err != nil {
		return nil
	}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(d.Listing, folder.Name(), "information"))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				names = append(names, strings.TrimSpace(model))
			}
		}
	}
	if visible, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		names = names[:min(len(names), strings.Count(visible, ",")+1)]
	}
	return names
}

// Devices asks the driver, which takes about a tenth of a second the first time.
func (d *Driver) Devices() ([]gpu.Info, error) {
	d.once.Do(func() { d.api, d.err = load(d.Libraries) })
	a, err := d.api, d.err
	if err != nil {
		return nil, err
	}
	n := new(int32)
	if err := a.call(cuDeviceGetCount, uintptr(unsafe.Pointer(n))); err != nil {
		return nil, err
	}
	infos := make([]gpu.Info, *n)
	for i := range infos {
		if infos[i], _, err = a.describe(i); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// The numbers of CUdevice_attribute in cuda.h.
const (
	attrThreads          = 1
	attrGroupsX          = 5
	attrWarp             = 10
	attrProcessors       = 16
	attrMajor            = 75
	attrMinor            = 76
	attrSharedOptIn      = 97
	attrVirtualMemory    = 102 // whether addresses and memory are taken apart
	attrFiles            = 103 // and whether memory can be handed to other processes as a file
	attrMemoryPools      = 115
	pointerSize          = 8
	inlineBytes          = 4096
	inlineBytesVolta     = 32764 // with a driver for CUDA 12.1 or later
	versionOfLongInlines = 12010
)

// describe asks for what a device is. handle is what the driver calls it.
func (a *api) describe(index int) (info gpu.Info, handle int, err error) {
	device := new(int32)
	if err := a.call(cuDeviceGet, uintptr(unsafe.Pointer(device)), uintptr(index)); err != nil {
		return info, 0, err
	}
	handle = int(*device)
	name := make([]byte, 256)
	if err := a.call(cuDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(handle)); err != nil {
		return info, 0, err
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	memory := new(uint64)
	if err := a.call(cuDeviceTotalMem, uintptr(unsafe.Pointer(memory)), uintptr(handle)); err != nil {
		return info, 0, err
	}
	attr := func(number int) int {
		v, e := a.attribute(handle, number)
		if e != nil && err == nil {
			err = e
		}
		return v
	}
	major := attr(attrMajor)
	l := gpu.Limits{Threads: attr(attrThreads), ThreadgroupMemory: attr(attrSharedOptIn), Simdgroup: attr(attrWarp),
		Processors: attr(attrProcessors), Groups: gpu.Size{X: attr(attrGroupsX), Y: attr(attrGroupsX + 1), Z: attr(attrGroupsX + 2)},
		InlineBytes: inlineBytes, Alignment: 256, Buffer: int64(*memory)}
	if major >= 7 && a.version >= versionOfLongInlines {
		l.InlineBytes = inlineBytesVolta
	}
	l.Args = l.InlineBytes / pointerSize
	info = gpu.Info{Index: index, Name: text, Driver: "CUDA " + a.versionText(), Family: fmt.Sprintf("sm_%d%d", major, attr(attrMinor)),
		Memory: int64(*memory), Language: gpu.CUDA, Limits: l}
	return info, handle, err
}

func (a *api) attribute(handle, number int) (int, error) {
	value := new(int32)
	err := a.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(value)), uintptr(number), uintptr(handle))
	return int(*value), err
}

// Open makes a context on the device.
func (d *Driver) Open(index int) (gpu.Device, error) {
	infos, err := d.Devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(infos) {
		return nil, gpu.Errorf(gpu.NoDriver, fmt.Sprintf("cuda:%d", index), "open", "this machine has %d NVIDIA GPUs", len(infos))
	}
	return d.open(index)
}
