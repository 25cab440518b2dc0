package driver

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
)

type library struct {
	device   *device
	name     string
	module   uintptr
	overlaps bool // a launch of its kernels may begin while the one before ends
}

// The numbers of CUjit_option.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// jitOptions asks for the messages of the driver's compiler. It is one piece of memory, because a call keeps
// only what its own arguments point to.
type jitOptions struct {
	names  [2]int32
	values [2]uintptr
	log    [8192]byte
}

// Load loads PTX, which the driver compiles, or a cubin.
func (d *device) Load(name string, binary []byte) (gpu.Library, error) {
	image := append(bytes.Clone(binary), 0) // PTX is a C string
	jit := &jitOptions{names: [2]int32{jitErrorLog, jitErrorLogSize}}
	jit.values = [2]uintptr{uintptr(unsafe.Pointer(&jit.log)), uintptr(len(jit.log))}
	module := new(uintptr)
	code := d.code(cuModuleLoadDataEx, uintptr(unsafe.Pointer(module)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(jit.names)), uintptr(unsafe.Pointer(&jit.names)), uintptr(unsafe.Pointer(&jit.values)))
	if code != success {
		err := d.failed(d.Name, cuModuleLoadDataEx, code)
		text, _, _ := strings.Cut(string(jit.log[:]), "\x00")
		err.Text = strings.TrimSpace(name + ": " + err.Text + "\n" + text)
		return nil, err
	}
	return &library{device: d, name: name, module: *module}, nil
}

// Close unloads the module. Its pipelines are then of no use.
func (l *library) Close() {
	if !l.device.Closed() && l.module != 0 {
		l.device.do(cuModuleUnload, l.module)
	}
	l.module = 0
}

type pipeline struct {
	device   *device
	name     string
	function uintptr
	limits   gpu.PipelineLimits
	overlaps bool
	params   []int // bytes of each parameter; nil where the driver cannot tell
}

func (p *pipeline) Name() string               { return p.name }
func (p *pipeline) Limits() gpu.PipelineLimits { return p.limits }
func (p *pipeline) Close()                     {}

// The numbers of CUfunction_attribute.
const (
	functionThreads   = 0
	functionShared    = 1
	functionLocal     = 3
	functionRegisters = 4
	functionDynamic   = 8 // the most threadgroup memory that a launch may add
)

// Pipeline finds a kernel, and allows it as much threadgroup memory as the device has.
func (l *library) Pipeline(name string, constants ...gpu.Constant) (gpu.Pipeline, error) {
	d := l.device
	if len(constants) > 0 {
		return nil, gpu.Errorf(gpu.Unsupported, d.Name, cuModuleGetFunction.String(), "%s: function constants are Metal's; here they are defines", name)
	}
	if l.module == 0 {
		return nil, d.misused(cuModuleGetFunction, "%s: the library %s was closed", name, l.name)
	}
	function := new(uintptr)
	text := ccall.CString(name)
	code := d.code(cuModuleGetFunction, uintptr(unsafe.Pointer(function)), l.module, uintptr(unsafe.Pointer(text)))
	if code != success {
		err := d.failed(d.Name, cuModuleGetFunction, code)
		if code == notFound {
			err.Text = fmt.Sprintf("%s has no kernel %q", l.name, name)
		}
		return nil, err
	}
	p := &pipeline{device: d, name: name, function: *function, overlaps: l.overlaps}
	p.limits.Simdgroup = d.info.Limits.Simdgroup
	for _, a := range []struct {
		number int
		to     *int
	}{{functionThreads, &p.limits.Threads}, {functionShared, &p.limits.ThreadgroupMemory}, {functionLocal, &p.limits.Spilled},
		{functionRegisters, &p.limits.Registers}} {
		value := new(int32)
		if err := d.do(cuFuncGetAttribute, uintptr(unsafe.Pointer(value)), uintptr(a.number), p.function); err != nil {
			return nil, err
		}
		*a.to = int(*value)
	}
	dynamic := max(d.info.Limits.ThreadgroupMemory-p.limits.ThreadgroupMemory, 0)
	if err := d.do(cuFuncSetAttribute, p.function, functionDynamic, uintptr(dynamic)); err != nil {
		return nil, err
	}
	p.params = d.params(p.function)
	return p, nil
}

// params asks for the sizes of a kernel's parameters, so that a launch with others is an error and not a
// fault.
func (d *device) params(function uintptr) []int {
	if !d.has(cuFuncGetParamInfo) {
		return nil
	}
	sizes := []int{}
	for i := range d.info.Limits.Args {
		offset, size := new(uint64), new(uint64)
		switch d.code(cuFuncGetParamInfo, function, uintptr(i), uintptr(unsafe.Pointer(offset)), uintptr(unsafe.Pointer(size))) {
		case success:
			sizes = append(sizes, int(*size))
		case invalidValue: // there are no more
			return sizes
		default:
			return nil
		}
	}
	return sizes
}

// check looks at a launch's arguments.
func (p *pipeline) check(args []gpu.Arg) error {
	if p.params != nil && len(args) != len(p.params) {
		return fmt.Errorf("%s: got %d arguments, want %d", p.name, len(args), len(p.params))
	}
	for i, a := range args {
		size := pointerSize
		if a.Buffer == nil {
			if size = len(a.Bytes); size == 0 {
				return fmt.Errorf("%s: argument %d is not bound", p.name, i)
			}
		}
		if p.params != nil && size != p.params[i] {
			return fmt.Errorf("%s: argument %d: got %d bytes, want %d", p.name, i, size, p.params[i])
		}
	}
	return nil
}
