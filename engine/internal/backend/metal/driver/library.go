package driver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/backend/metal/objc"
)

// A library is an MTLLibrary and, where compiled kernels are kept, an MTLBinaryArchive.
type library struct {
	device *device
	name   string
	id     objc.ID

	mu      sync.Mutex // an archive is changed by one at a time
	archive objc.ID    // nil without a cache
	path    string     // of the archive
}

// text is the source as Metal gets it: Defines stand before it, and lines count from the first of Text.
func text(s gpu.Source) string {
	var b strings.Builder
	for _, define := range s.Defines {
		name, value, ok := strings.Cut(define, "=")
		if !ok {
			value = "1"
		}
		fmt.Fprintf(&b, "#define %s %s\n", name, value)
	}
	fmt.Fprintf(&b, "#line 1 %q\n%s", s.Name, s.Text)
	return b.String()
}

// Compile compiles a text. Apple's compiler cannot be stopped: when ctx ends, it goes on in the background.
func (d *device) Compile(ctx context.Context, s gpu.Source) (gpu.Library, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	type compiled struct {
		library *library
		err     error
	}
	done := make(chan compiled, 1)
	go func() {
		l, err := d.compile(s)
		done <- compiled{l, err}
	}()
	select {
	case c := <-done:
		if c.err != nil {
			return nil, c.err
		}
		return c.library, nil
	case <-ctx.Done():
		go func() {
			if c := <-done; c.err == nil {
				c.library.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

func (d *device) compile(s gpu.Source) (l *library, err error) {
	d.Pool(func() {
		options := d.Send(d.Class("MTLCompileOptions"), d.sel(selNew))
		defer d.Release(options)
		const safe, fast = 0, 2 // of MTLMathMode
		mode, fastMath := uintptr(safe), uintptr(0)
		if s.Relaxed {
			mode, fastMath = fast, 1
		}
		if d.Responds(options, d.sel(selSetMathMode)) {
			d.Send(options, d.sel(selSetMathMode), mode)
		} else {
			d.Send(options, d.sel("setFastMathEnabled:"), fastMath)
		}
		failure := new(objc.ID)
		id := d.Send(d.id, d.sel(selNewLibrary), uintptr(d.String(text(s))), uintptr(options), uintptr(unsafe.Pointer(failure)))
		if id == 0 {
			err = d.failed(selNewLibrary, *failure, gpu.BadKernel)
			return
		}
		l = &library{device: d, name: s.Name, id: id}
		if s.Cache != "" {
			l.open(s)
		}
	})
	return l, err
}

// open opens the archive for a text, or begins one. Without an archive pipelines take longer, and that is
// all.
func (l *library) open(s gpu.Source) {
	d := l.device
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%v\n%s", d.info.Driver, d.info.Name, s.Relaxed, text(s)))
	l.path = filepath.Join(s.Cache, hex.EncodeToString(h[:16])+".metalarchive")
	class := d.Class("MTLBinaryArchiveDescriptor")
	if class == 0 || os.MkdirAll(s.Cache, 0o755) != nil {
		return
	}
	descriptor := d.Send(class, d.sel(selNew))
	defer d.Release(descriptor)
	if _, err := os.Stat(l.path); err == nil {
		d.Send(descriptor, d.sel(selSetURL), uintptr(d.url(l.path)))
		if l.archive = d.Send(d.id, d.sel(selNewArchive), uintptr(descriptor), 0); l.archive != 0 {
			return
		}
		d.Send(descriptor, d.sel(selSetURL), 0) // it is damaged, or of another version of the system
	}
	l.archive = d.Send(d.id, d.sel(selNewArchive), uintptr(descriptor), 0)
}

// save writes the archive, which has got one more pipeline. A reader sees the old file or the new one.
func (l *library) save() {
	d := l.device
	temporary := fmt.Sprintf("%s.%d", l.path, os.Getpid())
	if !d.Bool(l.archive, d.sel(selSerialize), uintptr(d.url(temporary)), 0) || os.Rename(temporary, l.path) != nil {
		os.Remove(temporary)
	}
}

// Load loads a metallib.
func (d *device) Load(name string, binary []byte) (_ gpu.Library, err error) {
	if len(binary) == 0 {
		return nil, d.misused(selNewLibraryWithData, "%s is empty", name)
	}
	l := &library{device: d, name: name}
	d.Pool(func() {
		// Without a queue and a destructor the data is copied.
		data := objc.ID(d.createData.Call(uintptr(unsafe.Pointer(&binary[0])), uintptr(len(binary)), 0, 0))
		defer d.Release(data)
		failure := new(objc.ID)
		if l.id = d.Send(d.id, d.sel(selNewLibraryWithData), uintptr(data), uintptr(unsafe.Pointer(failure))); l.id == 0 {
			e := d.failed(selNewLibraryWithData, *failure, gpu.BadKernel)
			e.Text = name + ": " + e.Text
			err = e
		}
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Close releases the library. Its pipelines stay.
func (l *library) Close() {
	l.device.Release(l.id)
	l.device.Release(l.archive)
	l.id, l.archive = 0, 0
}

type pipeline struct {
	device  *device
	name    string
	id      objc.ID
	limits  gpu.PipelineLimits
	buffers []int // by index the bytes that an argument has at least; -1 where the kernel has none
}

func (p *pipeline) Name() string               { return p.name }
func (p *pipeline) Limits() gpu.PipelineLimits { return p.limits }

// Close releases the pipeline.
func (p *pipeline) Close() {
	p.device.Release(p.id)
	p.id = 0
}

// Pipeline makes a kernel ready, from the archive if it is there.
func (l *library) Pipeline(name string, constants ...gpu.Constant) (_ gpu.Pipeline, err error) {
	if l.id == 0 {
		return nil, l.device.misused(selNewFunction, "%s: the library %s was closed", name, l.name)
	}
	var p *pipeline
	l.device.Pool(func() { p, err = l.pipeline(name, constants) })
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (l *library) pipeline(name string, constants []gpu.Constant) (*pipeline, error) {
	d := l.device
	function, err := l.function(name, constants)
	if err != nil {
		return nil, err
	}
	defer d.Release(function)
	descriptor := d.Send(d.Class("MTLComputePipelineDescriptor"), d.sel(selNew))
	defer d.Release(descriptor)
	d.Send(descriptor, d.sel("setComputeFunction:"), uintptr(function))

	// MTLPipelineOption: with sizes of buffers; only from the archive.
	const bindingInfo, bufferTypeInfo, fromArchive = 1, 2, 4
	p := &pipeline{device: d, name: name}
	reflection, failure := new(objc.ID), new(objc.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.archive != 0 {
		list := d.Send(d.Class("NSArray"), d.sel("arrayWithObject:"), uintptr(l.archive))
		d.Send(descriptor, d.sel("setBinaryArchives:"), uintptr(list))
		p.id = d.Send(d.id, d.sel(selNewPipeline), uintptr(descriptor), bindingInfo|bufferTypeInfo|fromArchive,
			uintptr(unsafe.Pointer(reflection)), uintptr(unsafe.Pointer(failure)))
	}
	if p.id == 0 {
		*reflection, *failure = 0, 0
		p.id = d.Send(d.id, d.sel(selNewPipeline), uintptr(descriptor), bindingInfo|bufferTypeInfo,
			uintptr(unsafe.Pointer(reflection)), uintptr(unsafe.Pointer(failure)))
		if p.id == 0 {
			e := d.failed(selNewPipeline, *failure, gpu.BadKernel)
			e.Text = name + ": " + e.Text
			return nil, e
		}
		if l.archive != 0 && d.Bool(l.archive, d.sel(selAddFunctions), uintptr(descriptor), 0) {
			l.save()
		}
	}
	p.limits = gpu.PipelineLimits{Threads: int(d.Send(p.id, d.sel("maxTotalThreadsPerThreadgroup"))), Simdgroup: int(d.Send(p.id, d.sel("threadExecutionWidth"))),
		ThreadgroupMemory: int(d.Send(p.id, d.sel("staticThreadgroupMemoryLength")))}
	p.buffers = d.bindings(*reflection)
	return p, nil
}

// function returns the kernel, which is the caller's to release.
func (l *library) function(name string, constants []gpu.Constant) (objc.ID, error) {
	d := l.device
	bad := func(e *gpu.Error, text string) (objc.ID, error) {
		e.Text = strings.TrimSpace(text + " " + e.Text)
		return 0, e
	}
	if len(constants) == 0 {
		if f := d.Send(l.id, d.sel(selNewFunction), uintptr(d.String(name))); f != 0 {
			return f, nil
		}
		return bad(d.failed(selNewFunction, 0, gpu.BadKernel), fmt.Sprintf("%s has no kernel %q, only %q", l.name, name, l.kernels()))
	}
	values := d.Send(d.Class("MTLFunctionConstantValues"), d.sel(selNew))
	defer d.Release(values)
	for _, c := range constants {
		bits, kind, err := constant(c.Value)
		if err != nil {
			return 0, d.misused(selSetConstant, "%s: constant %d: %v", name, c.Index, err)
		}
		d.Send(values, d.sel(selSetConstant), uintptr(unsafe.Pointer(&bits)), kind, uintptr(c.Index))
	}
	failure := new(objc.ID)
	f := d.Send(l.id, d.sel(selNewFunctionWithConstants), uintptr(d.String(name)), uintptr(values), uintptr(unsafe.Pointer(failure)))
	if f == 0 {
		return bad(d.failed(selNewFunctionWithConstants, *failure, gpu.BadKernel), fmt.Sprintf("%s: %s:", l.name, name))
	}
	return f, nil
}

// kernels lists what a library has.
func (l *library) kernels() (names []string) {
	d := l.device
	list := d.Send(l.id, d.sel("functionNames"))
	for i := range int(d.Send(list, d.sel(selCount))) {
		names = append(names, d.Text(d.Send(list, d.sel(selObjectAtIndex), uintptr(i))))
	}
	return names
}

// bindings are the sizes of a kernel's buffers, by index.
func (d *device) bindings(reflection objc.ID) []int {
	list := d.Send(reflection, d.sel("bindings"))
	var sizes []int
	for i := range int(d.Send(list, d.sel(selCount))) {
		b := d.Send(list, d.sel(selObjectAtIndex), uintptr(i))
		const ofBuffer = 0 // of MTLBindingType
		if d.Send(b, d.sel("type")) != ofBuffer || !d.Bool(b, d.sel("isUsed")) {
			continue
		}
		index := int(d.Send(b, d.sel("index")))
		for len(sizes) <= index {
			sizes = append(sizes, -1)
		}
		sizes[index] = int(d.Send(b, d.sel("bufferDataSize")))
	}
	return sizes
}

// check looks whether a dispatch binds what the kernel reads.
func (p *pipeline) check(args []gpu.Arg) error {
	for i, size := range p.buffers {
		switch {
		case size < 0:
		case i >= len(args) || args[i].Buffer == nil && len(args[i].Bytes) == 0:
			return fmt.Errorf("%s: argument %d is not bound", p.name, i)
		case args[i].Buffer == nil && len(args[i].Bytes) < size:
			return fmt.Errorf("%s: argument %d: got %d bytes, want at least %d", p.name, i, len(args[i].Bytes), size)
		}
	}
	return nil
}
