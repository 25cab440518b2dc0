package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// The Metal of these tests is a C library for arm64. On other machines the tests run under qemu.
func TestARM64(t *testing.T) {
	long.Only(t, "builds for linux/arm64 and runs under qemu")
	cctest.UnderQEMU(t)
}

// A stub is testdata/metal.c, compiled, and the driver that uses it.
type stub struct {
	*ccall.Library
	t      testing.TB
	driver *Driver
}

func newStub(t testing.TB) *stub {
	t.Helper()
	if runtime.GOARCH != "arm64" || runtime.GOOS != "linux" {
		t.Skip("runs on linux/arm64: see TestARM64")
	}
	path := cctest.Library(t, "testdata/metal.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return &stub{library, t, &Driver{System: []string{path}, Framework: path, Dispatch: path, Sign: path, Shaders: path}}
}

// ask calls one of the functions by which tests direct the stub.
func (s *stub) ask(name string, args ...uintptr) string {
	s.t.Helper()
	f, err := s.Symbol("stub_" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	result := f.Call(args...)
	if len(args) > 0 {
		return ""
	}
	return ccall.String(result)
}

func (s *stub) fail(m selector, n int) {
	name := ccall.CString(string(m))
	s.ask("fail", uintptr(unsafe.Pointer(name)), uintptr(n))
	runtime.KeepAlive(name)
}

// clean checks that Metal was used as its documentation asks, and that nothing is left.
func (s *stub) clean(what string) {
	s.t.Helper()
	if complaint := s.ask("complaint"); complaint != "" {
		s.t.Errorf("%s: %s", what, complaint)
	}
	if live := s.ask("live"); live != "" {
		s.t.Errorf("%s: these were not released: %s", what, live)
	}
}

func (s *stub) open() (*device, *stream) {
	s.t.Helper()
	d, err := s.driver.Open(0)
	if err != nil {
		s.t.Fatal(err)
	}
	st, err := d.Stream()
	if err != nil {
		s.t.Fatal(err)
	}
	return d.(*device), st.(*stream)
}

func (s *stub) alloc(d gpu.Device) gpu.Buffer {
	s.t.Helper()
	b, err := d.Alloc(256, gpu.DeviceMemory)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *stub) compile(d gpu.Device, source gpu.Source) gpu.Library {
	s.t.Helper()
	l, err := d.Compile(context.Background(), source)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s *stub) pipeline(d gpu.Device) gpu.Pipeline {
	s.t.Helper()
	l := s.compile(d, gpu.Source{Name: "axpy.metal", Text: "kernel"})
	defer l.Close()
	p, err := l.Pipeline("axpy")
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func axpy(p gpu.Pipeline, x, y gpu.Buffer, a float32) *gpu.Dispatch {
	return &gpu.Dispatch{Pipeline: p, Groups: gpu.Size{X: 2, Y: 1, Z: 1}, Threads: gpu.Size{X: 32, Y: 1, Z: 1},
		Args: []gpu.Arg{{Buffer: x}, {Buffer: y}, {Bytes: binary.LittleEndian.AppendUint32(nil, math.Float32bits(a))}}}
}

func TestConformance(t *testing.T) {
	for name, on := range map[string]uintptr{"with residency sets and clocks": 1, "without": 0} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.ask("residency", on)
			s.ask("clocks", on)
			drivertest.Run(t, drivertest.Config{Driver: s.driver, Usage: true, Library: func(t *testing.T, d gpu.Device) gpu.Library {
				return s.compile(d, gpu.Source{Name: "axpy.metal", Text: "kernel"})
			}})
			s.clean(name)
		})
	}
}

func TestInfo(t *testing.T) {
	s := newStub(t)
	infos, err := s.driver.Devices()
	if err != nil || len(infos) != 1 {
		t.Fatalf("got %v, %v, want a device", infos, err)
	}
	i := infos[0]
	if i.Name != "Apple Stub" || i.Driver != "macOS 15.3 (stub)" || i.Family != "apple9" || !i.Unified || i.Memory != 1<<20 ||
		i.Language != gpu.Metal || i.Limits.ThreadgroupMemory != 32768 || i.Limits.Buffer != 1<<19 {
		t.Errorf("got %+v", i)
	}
	s.clean("devices")
}

// An old system, or the GPU of a virtual machine, is refused with what it lacks.
func TestTooOld(t *testing.T) {
	for _, c := range []struct {
		macos, family uintptr
		want          string
	}{{13, 1009, "want macOS 14 or newer"}, {15, 1005, "got Apple Stub, want a GPU of the family Apple 7 (M1) or newer"}, {14, 1007, ""}} {
		s := newStub(t)
		s.ask("macos", c.macos)
		s.ask("family", c.family)
		d, err := s.driver.Open(0)
		switch {
		case c.want != "" && (!errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("macOS %d, family %d: got %v, want %q", c.macos, c.family, err, c.want)
		case c.want == "" && err != nil:
			t.Errorf("macOS %d, family %d: %v", c.macos, c.family, err)
		}
		if err == nil {
			d.Close()
		}
		s.clean("too old")
	}
}

func TestNoMetal(t *testing.T) {
	nowhere := &Driver{Sign: "/nowhere/Metal.framework"}
	if err := nowhere.Present(); !errors.Is(err, gpu.NoDriver) || !strings.Contains(err.Error(), runtime.GOOS+"/"+runtime.GOARCH) {
		t.Errorf("got %v, want where this is", err)
	}
	if _, err := nowhere.Open(0); !errors.Is(err, gpu.NoDriver) {
		t.Errorf("got %v, want no driver", err)
	}
}

// The messages of a commit, in their order.
func TestMessages(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d), s.alloc(d)
	p := s.pipeline(d)
	s.ask("sent")
	dispatch := axpy(p, x, y, 1)
	dispatch.Threadgroup = []int{20}
	st.Dispatch(dispatch)
	st.Barrier()
	st.Dispatch(axpy(p, x, y, 1))
	if _, err := st.Commit(); err != nil {
		t.Fatal(err)
	}
	bind := "setBuffer:offset:atIndex: setBuffer:offset:atIndex: setBytes:length:atIndex:"
	want := "commandBuffer retain computeCommandEncoderWithDispatchType: retain waitForFence: setComputePipelineState: " + bind +
		" setThreadgroupMemoryLength:atIndex: dispatchThreadgroups:threadsPerThreadgroup: memoryBarrierWithScope: " + bind +
		" dispatchThreadgroups:threadsPerThreadgroup: updateFence: endEncoding release encodeSignalEvent:value: commit commit" // of the residency set, and of the command buffer
	if got := strings.TrimSpace(s.ask("sent")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	x.Free()
	y.Free()
	p.Close()
	d.Close()
}

// Dispatches without a barrier between them have no order: the stub takes the other one than the program's.
func TestNoBarrier(t *testing.T) {
	for _, c := range []struct {
		barrier bool
		want    float32 // x after y += x and x += y
	}{{true, 2}, {false, 1}} {
		s := newStub(t)
		d, st := s.open()
		x, y := s.alloc(d), s.alloc(d)
		clear(x.Host())
		clear(y.Host())
		binary.LittleEndian.PutUint32(x.Host(), math.Float32bits(1))
		p := s.pipeline(d)
		st.Dispatch(axpy(p, x, y, 1))
		if c.barrier {
			st.Barrier()
		}
		st.Dispatch(axpy(p, y, x, 1))
		e, err := st.Commit()
		if err != nil {
			t.Fatal(err)
		}
		e.Wait(t.Context(), 0)
		if got := math.Float32frombits(binary.LittleEndian.Uint32(x.Host())); got != c.want {
			t.Errorf("barrier %v: got %g, want %g", c.barrier, got, c.want)
		}
		x.Free()
		y.Free()
		d.Close()
	}
}

// Without residency sets a dispatch says which buffers it reaches by address.
func TestUses(t *testing.T) {
	for _, on := range []uintptr{0, 1} {
		s := newStub(t)
		s.ask("residency", on)
		d, st := s.open()
		x, y := s.alloc(d), s.alloc(d)
		dispatch := axpy(s.pipeline(d), x, x, 1)
		dispatch.Uses = []gpu.Buffer{y}
		if err := st.Dispatch(dispatch); err != nil {
			t.Fatal(err)
		}
		e, err := st.Commit()
		if err != nil {
			t.Fatal(err)
		}
		e.Wait(t.Context(), 0)
		sent := strings.Fields(s.ask("sent"))
		if set, use := slices.Contains(sent, "addResidencySet:"), slices.Contains(sent, "useResource:usage:"); set == use || set != (on == 1) {
			t.Errorf("residency sets %d: got a set %v and uses %v", on, set, use)
		}
		if complaint := s.ask("complaint"); complaint != "" {
			t.Error(complaint)
		}
		x.Free()
		y.Free()
		d.Close()
	}
}

// Buffers are parts of heaps: many small ones of one, a large one of its own, which waits for the next buffer
// of about that size. Of 1 MiB, heaps of small buffers have 16 KiB, and spares at most 128.
func TestHeaps(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	made := func(what string, heaps, buffers int, sizes ...int) (list []gpu.Buffer) {
		t.Helper()
		s.ask("sent")
		for _, size := range sizes {
			b, err := d.Alloc(size, gpu.DeviceMemory)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			list = append(list, b)
		}
		sent := s.ask("sent")
		if h, b := strings.Count(sent, "newHeapWithDescriptor:"), strings.Count(sent, "newBufferWithLength:options:"); h != heaps || b != buffers {
			t.Errorf("%s: got %d heaps and asked for %d buffers, want %d and %d", what, h, b, heaps, buffers)
		}
		return list
	}
	free := func(list []gpu.Buffer) {
		for _, b := range list {
			b.Free()
		}
	}
	few := made("small buffers", 1, 5, 4, 256, 1000, 4096, 8)
	large := made("a large buffer", 1, 1, 80_000)
	free(large)
	free(made("one of about the size", 0, 1, 79_000))
	free(made("one of another size", 1, 1, 30_000))
	free(made("the first size again, for which the second was not given back", 0, 1, 80_000))
	all := made("more than there would be beside spares", 5, 5, 180_000, 180_000, 180_000, 180_000, 180_000)
	before, _ := d.Usage()
	if _, err := d.Alloc(180_000, gpu.DeviceMemory); !errors.Is(err, gpu.OutOfMemory) {
		t.Errorf("got %v, want no room", err)
	}
	free(all)
	free(few)
	after, _ := d.Usage()
	if before.Free > 200_000 || after.Free != after.Total || after.InUse != 0 {
		t.Errorf("got %+v, then %+v with all freed, want all of it free", before, after)
	}
	if spare := d.spare(); spare > after.Total/8 {
		t.Errorf("got %d bytes in spare heaps, want at most an eighth of %d", spare, after.Total)
	}
	d.Close()
	s.clean("heaps")
}

func TestDispatchAllocatesNothing(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d), s.alloc(d)
	dispatch := axpy(s.pipeline(d), x, y, 0)
	encode := func() {
		for range 100 {
			if err := st.Dispatch(dispatch); err != nil {
				t.Fatal(err)
			}
		}
		st.end()
	}
	encode()
	if n := testing.AllocsPerRun(5, encode); n > 20 {
		t.Errorf("got %g allocations for an encoder of 100 dispatches, want those of the encoder alone", n)
	}
	if e, err := st.Commit(); err != nil {
		t.Error(err)
	} else if err := e.Wait(t.Context(), 0); err != nil {
		t.Error(err)
	}
	x.Free()
	y.Free()
	d.Close()
}

func TestCompile(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	l := s.compile(d, gpu.Source{Name: "a.metal", Text: "kernel void f() {}", Defines: []string{"N=4", "FAST"}})
	if got, want := s.ask("answer"), "#define N 4\n#define FAST 1\n#line 1 \"a.metal\"\nkernel void f() {}"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, err := l.Pipeline("nothing"); !errors.Is(err, gpu.BadKernel) || !strings.Contains(err.Error(), `a.metal has no kernel "nothing", only ["axpy"]`) {
		t.Errorf("got %v, want the kernels that there are", err)
	}
	p, err := l.Pipeline("axpy", gpu.Constant{Index: 3, Value: true}, gpu.Constant{Index: 1, Value: int32(-2)},
		gpu.Constant{Index: 2, Value: uint32(7)}, gpu.Constant{Index: 0, Value: float32(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.ask("answer"), "3:53=00000001 1:29=fffffffe 2:33=00000007 0:3=3f800000 "; got != want {
		t.Errorf("function constants: got %q, want %q", got, want)
	}
	p.Close()
	if _, err := l.Pipeline("axpy", gpu.Constant{Index: 3, Value: 1.5}); !errors.Is(err, gpu.Misuse) {
		t.Errorf("got %v, want a float64 refused", err)
	}
	l.Close()
	_, err = d.Compile(t.Context(), gpu.Source{Name: "row.metal", Text: "#error no such thing"})
	if !errors.Is(err, gpu.BadKernel) || !strings.Contains(err.Error(), "row.metal:7:2: error: no such thing") {
		t.Errorf("got %v, want the compiler's message", err)
	}
	s.ask("mathmode", 0) // macOS 14 and older
	s.ask("sent")
	s.compile(d, gpu.Source{Name: "a.metal", Text: "kernel"}).Close()
	if !strings.Contains(s.ask("sent"), "setFastMathEnabled:") {
		t.Error("the compiler was not told about fast math")
	}
	if l, err := d.Load("lib", []byte("MTLB")); err != nil {
		t.Error(err)
	} else {
		l.Close()
	}
	if _, err := d.Load("lib", []byte("ELF")); !errors.Is(err, gpu.BadKernel) || !strings.Contains(err.Error(), "Invalid library file") {
		t.Errorf("got %v, want the reason", err)
	}
	d.Close()
}

// Pipelines come from an archive, when they were made before; a damaged one is made anew.
func TestArchive(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	source := gpu.Source{Name: "axpy.metal", Text: "kernel", Cache: filepath.Join(t.TempDir(), "kernels")}
	compiled := func(what string, want int) {
		t.Helper()
		l := s.compile(d, source)
		s.ask("sent")
		p, err := l.Pipeline("axpy")
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := strings.Count(s.ask("sent"), "addComputePipelineFunctions"); got != want {
			t.Errorf("%s: got %d compilations, want %d", what, got, want)
		}
		p.Close()
		l.Close()
	}
	compiled("the first time", 1)
	compiled("from the archive", 0)
	files, _ := filepath.Glob(source.Cache + "/*")
	if len(files) != 1 || !strings.HasSuffix(files[0], ".metalarchive") {
		t.Fatalf("got %q, want an archive and nothing else", files)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	compiled("a damaged archive", 1)
	compiled("which was mended", 0)
	source.Text = "another kernel"
	compiled("another text", 1)
	d.Close()
	if complaint := s.ask("complaint"); complaint != "" {
		t.Error(complaint)
	}
}

// An error of the device is found after the commit, and stays with the stream.
func TestDeviceErrors(t *testing.T) {
	for code, want := range map[uintptr]gpu.Code{2: gpu.KernelFault, 3: gpu.KernelFault, 4: gpu.LostDevice, 8: gpu.OutOfMemory,
		9: gpu.Misuse, 11: gpu.LostDevice, 1: gpu.Failed} {
		s := newStub(t)
		d, st := s.open()
		s.ask("error", code)
		for i := range 2 {
			e, err := st.Commit()
			if err != nil {
				t.Fatal(err)
			}
			var failed *gpu.Error
			if err := e.Wait(t.Context(), 0); !errors.As(err, &failed) || failed.Code != want || failed.Native != int(code) ||
				!strings.Contains(failed.Text, "GPU Address Fault") {
				t.Errorf("code %d, commit %d: got %v, want %v", code, i, err, want)
			}
			e.Close()
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A device that hangs hangs no goroutine: not in Wait, not in Close.
func TestHang(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x := s.alloc(d)
	st.Fill(x, 0, 256, 1)
	st.Free(x)
	e, err := st.Commit()
	if err != nil {
		t.Fatal(err)
	}
	s.ask("hold", 1)
	if err := e.Wait(t.Context(), 5*time.Millisecond); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := e.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	e.Close()
	if !strings.Contains(s.ask("live"), "MTLBuffer ") {
		t.Error("a buffer was released before its work was over")
	}
	s.ask("hold", 0)
	if _, err := st.Commit(); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.ask("live"), "MTLBuffer ") {
		t.Error("the next commit did not release the buffer")
	}
	s.ask("hold", 1)
	if err := d.Close(); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want Close to give up", err)
	}
	if complaint := s.ask("complaint"); complaint != "" {
		t.Error(complaint)
	}
}

// More stamps than a queue holds command buffers: they are handed over in time.
func TestManyStamps(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x := s.alloc(d)
	var stamps []gpu.Stamp
	for range 3000 {
		if err := st.Fill(x, 0, 256, 1); err != nil {
			t.Fatal(err)
		}
		stamp, err := st.Stamp()
		if err != nil {
			t.Fatal(err)
		}
		stamps = append(stamps, stamp)
		if waiting := len(st.buffers) - st.committed; waiting > most/2 {
			t.Fatalf("%d command buffers wait for their commit, want at most %d", waiting, most/2)
		}
	}
	e, err := st.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, stamp := range stamps {
		if i > 0 {
			if took, err := stamp.Since(stamps[i-1]); err != nil || took <= 0 {
				t.Fatalf("stamp %d: got %v, %v", i, took, err)
			}
		}
	}
	for _, stamp := range stamps {
		stamp.Close()
	}
	e.Close()
	x.Free()
	st.Close()
	d.Close()
	s.clean("stamps")
}

func TestTrace(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	path := filepath.Join(t.TempDir(), "a.gputrace")
	t.Setenv("METAL_CAPTURE_ENABLED", "")
	if _, err := d.Trace(path); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "METAL_CAPTURE_ENABLED=1") {
		t.Errorf("got %v, want the variable that is missing", err)
	}
	t.Setenv("METAL_CAPTURE_ENABLED", "1")
	stop, err := d.Trace(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := d.Trace(path); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), path+" exists") {
		t.Errorf("got %v, want the file that is there", err)
	}
	if complaint := s.ask("complaint"); complaint != "" {
		t.Error(complaint)
	}
	d.Close()
}

func TestArguments(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x := s.alloc(d)
	p := s.pipeline(d)
	for name, c := range map[string]struct {
		change func(*gpu.Dispatch)
		want   string
	}{
		"one too few": {func(d *gpu.Dispatch) { d.Args = d.Args[:2] }, "axpy: argument 2 is not bound"},
		"not bound":   {func(d *gpu.Dispatch) { d.Args[1] = gpu.Arg{} }, "axpy: argument 1 is not bound"},
		"too short":   {func(d *gpu.Dispatch) { d.Args[2].Bytes = make([]byte, 2) }, "axpy: argument 2: got 2 bytes, want at least 4"},
	} {
		dispatch := axpy(p, x, x, 1)
		c.change(dispatch)
		if err := st.Dispatch(dispatch); !errors.Is(err, gpu.Misuse) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	x.Free()
	d.Close()
}
