package driver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/internal/durable"
)

// A compiler is NVRTC, which makes cubins of CUDA C++, opened at the first need. The process of the device
// asks it what it can do; others compile with it, see compilers.
type compiler struct {
	once    sync.Once
	err     error
	library string
	version string
	target  string // of --gpu-architecture
	ptx     bool   // it makes PTX, which the driver compiles: it is older than the GPU

	number, create, compile, cubinSize, cubin, ptxSize, ptxText, logSize, log, destroy, text, archCount, archs ccall.Func
}

func (c *compiler) open(d *device) error {
	c.once.Do(func() { c.err = c.load(d) })
	return c.err
}

// load opens the first NVRTC that the driver can run the kernels of: none of a later major version of CUDA.
func (c *compiler) load(d *device) error {
	var reasons []string
	for _, name := range d.driver.everywhere(d.driver.NVRTC) {
		library, err := ccall.Open(name)
		if err == nil {
			err = c.use(library)
		}
		if err == nil {
			err = c.fits(d)
		}
		if err == nil {
			return nil
		}
		reasons = append(reasons, err.Error())
	}
	return gpu.Errorf(gpu.Unsupported, d.Name, "nvrtc", "kernels that are made at run time need NVRTC, a part of the CUDA toolkit: %s", strings.Join(reasons, "; "))
}

// use takes the functions of a library.
func (c *compiler) use(library *ccall.Library) error {
	c.library = library.Name()
	return lookUp(library, map[string]*ccall.Func{"nvrtcVersion": &c.number, "nvrtcCreateProgram": &c.create,
		"nvrtcCompileProgram": &c.compile, "nvrtcGetCUBINSize": &c.cubinSize, "nvrtcGetCUBIN": &c.cubin, "nvrtcGetPTXSize": &c.ptxSize,
		"nvrtcGetPTX": &c.ptxText, "nvrtcGetProgramLogSize": &c.logSize, "nvrtcGetProgramLog": &c.log,
		"nvrtcDestroyProgram": &c.destroy, "nvrtcGetErrorString": &c.text, "nvrtcGetNumSupportedArchs": &c.archCount,
		"nvrtcGetSupportedArchs": &c.archs})
}

// fits checks that the driver can run what it makes, and chooses what to make.
func (c *compiler) fits(d *device) (err error) {
	major, minor := new(int32), new(int32)
	c.number.Call(uintptr(unsafe.Pointer(major)), uintptr(unsafe.Pointer(minor)))
	if int(*major) > d.version/1000 {
		return fmt.Errorf("%s is of CUDA %d.%d, want at most that of the driver, %s", c.library, *major, *minor, d.versionText())
	}
	c.version = fmt.Sprintf("%s %d.%d", c.library, *major, *minor)
	c.target, c.ptx, err = target(d.info.Family, c.architectures())
	return err
}

// architectures are the GPUs that the compiler knows: 90 is sm_90.
func (c *compiler) architectures() []int {
	n := new(int32)
	if int32(c.archCount.Call(uintptr(unsafe.Pointer(n)))) != success || *n < 1 {
		return nil
	}
	list := make([]int32, *n)
	if int32(c.archs.Call(uintptr(unsafe.Pointer(&list[0])))) != success {
		return nil
	}
	known := make([]int, len(list))
	for i, v := range list {
		known[i] = int(v)
	}
	return known
}

// target is what to compile for: the GPU itself or, when it is newer than the compiler, PTX of the newest
// that is older.
func target(family string, known []int) (target string, ptx bool, err error) {
	own, err := strconv.Atoi(strings.TrimPrefix(family, "sm_"))
	if err != nil {
		return "", false, err
	}
	best := 0
	for _, v := range known {
		if v <= own {
			best = max(best, v)
		}
	}
	switch best {
	case 0:
		return "", false, fmt.Errorf("it compiles for %v, want %s or older", known, family)
	case own:
		if own == 90 {
			family += "a" // with the instructions that no later GPU has: those of warpgroups
		}
		return family, false, nil
	}
	return fmt.Sprintf("compute_%d", best), true, nil
}

// options are the flags that a source is compiled with.
func (d *device) options(s gpu.Source) []string {
	options := []string{"--gpu-architecture=" + d.nvrtc.target, "--std=c++17", "--device-as-default-execution-space"}
	if s.Relaxed {
		options = append(options, "--use_fast_math")
	} else {
		options = append(options, "--fmad=false")
	}
	for _, define := range s.Defines {
		options = append(options, "--define-macro="+define)
	}
	for _, folder := range d.driver.Includes {
		if _, err := os.Stat(filepath.Join(folder, "cuda_fp16.h")); err == nil {
			options = append(options, "--include-path="+folder)
		}
	}
	return options
}

// Compile makes a library of CUDA C++, or takes what was made of the same text before. A process of its own
// compiles; it is ended when ctx ends.
func (d *device) Compile(ctx context.Context, s gpu.Source) (gpu.Library, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := d.nvrtc.open(d); err != nil {
		return nil, err
	}
	options := d.options(s)
	path := cachePath(s.Cache, ".cubin", slices.Concat(options, []string{d.nvrtc.version, s.Text})...)
	if binary := readCache(path); binary != nil {
		return d.loadCompiled(s, binary)
	}
	done, err := d.driver.compilers.do(ctx, &job{Library: d.nvrtc.library, Name: s.Name, Text: s.Text, Options: options, PTX: d.nvrtc.ptx})
	if err != nil {
		return nil, err
	}
	if done.Op != "" {
		return nil, d.uncompiled(s, done)
	}
	// A cache that cannot be written costs time only.
	_ = writeCache(path, done.Binary)
	return d.loadCompiled(s, done.Binary)
}

// versionOfOverlaps is the first driver with launches that overlap in a graph: 12.3.
const versionOfOverlaps = 12030

// loadCompiled loads what was made of a source.
func (d *device) loadCompiled(s gpu.Source, binary []byte) (gpu.Library, error) {
	l, err := d.Load(s.Name, binary)
	if err == nil {
		l.(*library).overlaps = s.Overlaps && d.nvrtc.since(90) && d.version >= versionOfOverlaps && d.has(cuLaunchKernelEx)
	}
	return l, err
}

// since says whether kernels are made for GPUs of that compute capability, 90 for 9.0, or later ones.
func (c *compiler) since(capability int) bool {
	_, number, _ := strings.Cut(strings.TrimSuffix(c.target, "a"), "_")
	n, err := strconv.Atoi(number)
	return err == nil && n >= capability
}

// uncompiled is the error of a compilation.
func (d *device) uncompiled(s gpu.Source, c *compiled) error {
	e := &gpu.Error{Code: gpu.Failed, Device: d.Name, Op: c.Op, Native: c.Code, Text: s.Name + ": " + c.Text, Index: -1, Free: -1}
	switch e.Native {
	case 1: // NVRTC_ERROR_OUT_OF_MEMORY
		e.Code = gpu.OutOfMemory
	case 6: // NVRTC_ERROR_COMPILATION
		e.Code = gpu.BadKernel
	}
	return e
}

// A job is a text to compile.
type job struct {
	Library    string // the file of NVRTC
	Name, Text string
	Options    []string
	PTX        bool
}

// What became of a job: the cubin or PTX, or the function that failed, with its code and its words.
type compiled struct {
	Binary []byte
	Op     string
	Code   int
	Text   string
}

// run compiles.
func (c *compiler) run(j *job) *compiled {
	failed := func(op string, code uintptr, text string) *compiled {
		if text == "" {
			text = ccall.String(c.text.Call(code))
		}
		return &compiled{Op: op, Code: int(int32(code)), Text: text}
	}
	program := new(uintptr)
	text, name := ccall.CString(j.Text), ccall.CString(j.Name)
	code := c.create.Call(uintptr(unsafe.Pointer(program)), uintptr(unsafe.Pointer(text)), uintptr(unsafe.Pointer(name)), 0, 0, 0)
	if int32(code) != success {
		return failed("nvrtcCreateProgram", code, "")
	}
	defer c.destroy.Call(uintptr(unsafe.Pointer(program)))
	texts, table := cStrings(j.Options)
	code = c.compile.Call(*program, uintptr(len(j.Options)), uintptr(unsafe.Pointer(&table[0])))
	runtime.KeepAlive(texts)
	if int32(code) != success {
		messages, _ := c.get(*program, c.logSize, c.log)
		messages, _, _ = bytes.Cut(messages, []byte{0})
		return failed("nvrtcCompileProgram", code, string(bytes.TrimSpace(messages)))
	}
	size, content := c.cubinSize, c.cubin
	if j.PTX {
		size, content = c.ptxSize, c.ptxText
	}
	binary, code := c.get(*program, size, content)
	if int32(code) != success {
		return failed("nvrtcGetCUBIN", code, "")
	}
	return &compiled{Binary: binary}
}

// get asks how large something is, and then for it.
func (c *compiler) get(program uintptr, size, content ccall.Func) ([]byte, uintptr) {
	n := new(uint64)
	if code := size.Call(program, uintptr(unsafe.Pointer(n))); int32(code) != success || *n == 0 {
		return nil, code
	}
	b := make([]byte, *n)
	return b, content.Call(program, uintptr(unsafe.Pointer(&b[0])))
}

// cStrings are texts as C reads them, and the table of their addresses. The texts must be kept alive with the
// table.
func cStrings(list []string) (texts [][]byte, table []uintptr) {
	for _, s := range list {
		b := append([]byte(s), 0)
		texts = append(texts, b)
		table = append(table, uintptr(unsafe.Pointer(&b[0])))
	}
	return texts, table
}

// cachePath is the file in a folder for what follows from a key, or "" when nothing is to be kept.
func cachePath(folder, ending string, key ...string) string {
	if folder == "" {
		return ""
	}
	h := sha256.New()
	for _, part := range key {
		fmt.Fprintf(h, "%d:%s\n", len(part), part)
	}
	return filepath.Join(folder, hex.EncodeToString(h.Sum(nil)[:16])+ending)
}

// readCache returns the contents of a file that is whole: it begins with the hash of what follows.
func readCache(path string) []byte {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) < sha256.Size {
		return nil
	}
	sum, binary := b[:sha256.Size], b[sha256.Size:]
	if want := sha256.Sum256(binary); !bytes.Equal(sum, want[:]) {
		return nil
	}
	return binary
}

func writeCache(path string, binary []byte) error {
	if path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		sum := sha256.Sum256(binary)
		_, err := w.Write(sum[:])
		_, err2 := w.Write(binary)
		return errors.Join(err, err2)
	})
}
