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
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A stub is testdata/cuda.c, compiled, and the driver that uses it.
type stub struct {
	*ccall.Library
	t      testing.TB
	driver *Driver
}

func newStub(t testing.TB) *stub {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("NVIDIA's driver and its stand-in are for linux")
	}
	path := cctest.Library(t, "testdata/cuda.c")
	library, err := ccall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{library, t, &Driver{Libraries: []string{path}, Signs: []string{path}}}
	s.ask("reset") // tests leave devices open, which share the primary context
	return s
}

// ask calls one of the functions by which tests direct the stub.
func (s *stub) ask(name string, args ...uintptr) uintptr {
	s.t.Helper()
	f, err := s.Symbol("stub_" + name)
	if err != nil {
		s.t.Fatal(err)
	}
	return f.Call(args...)
}

func (s *stub) fail(f function, n, code int) {
	name := ccall.CString(symbols[f].name)
	s.ask("fail", uintptr(unsafe.Pointer(name)), uintptr(n), uintptr(code))
	runtime.KeepAlive(name)
}

// calls are the names of the functions that were called since the last time.
func (s *stub) calls() []string { return strings.Fields(ccall.String(s.ask("calls"))) }

// clean checks that the driver was used as NVIDIA's wants to be, and that all memory was freed.
func (s *stub) clean(what string) {
	s.t.Helper()
	if complaint := ccall.String(s.ask("complaint")); complaint != "" {
		s.t.Errorf("%s: %s", what, complaint)
	}
	if live := s.ask("live"); live != 0 {
		s.t.Errorf("%s: %d buffers were not freed", what, live)
	}
}

// commit waits until a stream has done what it was given.
func (s *stub) commit(st gpu.Stream) {
	s.t.Helper()
	e, err := st.Commit()
	if err == nil {
		err = e.Wait(context.Background(), 0)
		e.Close()
	}
	if err != nil {
		s.t.Fatal(err)
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

func (s *stub) pipeline(d gpu.Device, name string) gpu.Pipeline {
	s.t.Helper()
	l, err := d.Load("axpy.ptx", []byte(".entry axpy"))
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := l.Pipeline(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *stub) alloc(d gpu.Device, m gpu.Memory) gpu.Buffer {
	s.t.Helper()
	b, err := d.Alloc(256, m)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func axpy(p gpu.Pipeline, x, y gpu.Buffer, a float32) *gpu.Dispatch {
	return &gpu.Dispatch{Pipeline: p, Groups: gpu.Size{X: 2, Y: 1, Z: 1}, Threads: gpu.Size{X: 32, Y: 1, Z: 1},
		Args: []gpu.Arg{{Buffer: x}, {Buffer: y}, {Bytes: binary.LittleEndian.AppendUint32(nil, math.Float32bits(a))}}}
}

// The same on arm64, where launches have arguments on the stack, too.
func TestARM64(t *testing.T) {
	long.Only(t, "builds for linux/arm64 and runs under qemu")
	cctest.UnderQEMU(t)
}

func TestConformance(t *testing.T) {
	for name, pools := range map[string]uintptr{"with pools": 1, "without pools": 0} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.ask("pools", pools)
			drivertest.Run(t, drivertest.Config{Driver: s.driver, Usage: true, Library: func(t *testing.T, d gpu.Device) gpu.Library {
				l, err := d.Load("axpy.ptx", []byte(".entry axpy"))
				if err != nil {
					t.Fatal(err)
				}
				return l
			}})
			s.clean(name)
		})
	}
}

func TestInfo(t *testing.T) {
	s := newStub(t)
	infos, err := s.driver.Devices()
	if err != nil || len(infos) != 2 {
		t.Fatalf("got %v, %v, want two devices", infos, err)
	}
	want := gpu.Info{Index: 1, Name: "NVIDIA Stub 1", Driver: "CUDA 12.8", Family: "sm_90", Memory: 1 << 20, Language: gpu.CUDA,
		Limits: gpu.Limits{Threads: 1024, ThreadgroupMemory: 232448, Simdgroup: 32, Processors: 132,
			Groups: gpu.Size{X: math.MaxInt32, Y: 65535, Z: 65535}, Args: 4095, InlineBytes: 32764, Alignment: 256, Buffer: 1 << 20}}
	got := infos[1]
	if got.Libraries != nil {
		t.Errorf("got libraries %q of a device that is not open", got.Libraries)
	}
	if got.Name != want.Name || got.Index != want.Index || got.Driver != want.Driver || got.Family != want.Family ||
		got.Memory != want.Memory || got.Language != want.Language || got.Limits != want.Limits {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if slices.Contains(s.calls(), "cuDevicePrimaryCtxRetain") {
		t.Error("a device was opened to describe it")
	}
}

// What is missing is said in one line, before anything is tried with it.
func TestNoDriver(t *testing.T) {
	nowhere := &Driver{Libraries: []string{"libnosuchcuda.so.1"}, Signs: []string{"/nowhere/nvidia"}}
	if err := nowhere.Present(); !errors.Is(err, gpu.NoDriver) || !strings.Contains(err.Error(), "/nowhere/nvidia") {
		t.Errorf("got %v, want where it looked", err)
	}
	for visible, hidden := range map[string]bool{"0": false, "GPU-1f": false, "": true, "-1": true} {
		t.Setenv("CUDA_VISIBLE_DEVICES", visible)
		err := (&Driver{Signs: []string{"/nowhere/nvidia", os.Args[0]}}).Present()
		if errors.Is(err, gpu.NoDriver) != hidden {
			t.Errorf("got %v with a sign of a device and CUDA_VISIBLE_DEVICES=%q", err, visible)
		}
	}
	if err := ccall.Available(); err != nil {
		t.Skip(err)
	}
	for range 2 {
		if _, err := nowhere.Devices(); !errors.Is(err, gpu.NoDriver) || !strings.Contains(err.Error(), "libnosuchcuda.so.1") {
			t.Errorf("got %v, want the library that is missing", err)
		}
	}
	old := &Driver{Libraries: []string{cctest.Library(t, "testdata/old.c")}}
	if _, err := old.Open(0); !errors.Is(err, gpu.DriverTooOld) || !strings.Contains(err.Error(), "cuDriverGetVersion") {
		t.Errorf("got %v, want the function that is missing", err)
	}
	s := newStub(t)
	s.ask("version", 11020)
	if _, err := s.driver.Open(0); !errors.Is(err, gpu.DriverTooOld) || !strings.Contains(err.Error(), "11.2") {
		t.Errorf("got %v, want the driver's version", err)
	}
}

func TestSeen(t *testing.T) {
	listing := t.TempDir()
	for bus, text := range map[string]string{
		"0000_19_00.0": "Model: \t\t NVIDIA H200\nIRQ:   \t\t 1\nGPU UUID: \t GPU-0\n",
		"0000_2a_00.0": "Model: \t\t NVIDIA A100\n",
		"0000_ff_00.0": "", // its folder is there, its information is not
	} {
		if err := os.MkdirAll(filepath.Join(listing, bus), 0o755); err != nil {
			t.Fatal(err)
		}
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(listing, bus, "information"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := (&Driver{Listing: listing}).Seen(); !slices.Equal(got, []string{"NVIDIA H200", "NVIDIA A100"}) {
		t.Errorf("got %q", got)
	}
	if got := (&Driver{Listing: "/nowhere"}).Seen(); got != nil {
		t.Errorf("got %q, want none", got)
	}
}

// A commit is one batch: the context, the work, and the event that is its end.
func TestCommitIsOneBatch(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.SharedMemory)
	p := s.pipeline(d, "axpy")
	e, _ := st.Commit() // makes its events
	e.Close()
	st.Fill(x, 0, 256, 0)
	st.Copy(y, 0, x, 0, 256)
	st.Dispatch(axpy(p, x, y, 1))
	st.Free(x)
	s.calls()
	if _, err := st.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{"cuCtxSetCurrent", "cuMemsetD8Async", "cuMemcpyAsync", "cuLaunchKernel", "cuMemFreeAsync", "cuEventRecord"}
	if got := s.calls(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	y.Free()
	d.Close()
	s.clean("a commit")
}

// A kernel that waits for the one before begins early, but behind other work, or where it fills the device.
func TestLaunchesOverlap(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
	p := s.pipeline(d, "axpy")
	e, _ := st.Commit() // makes its events
	e.Close()
	launch := func() {
		work := axpy(p, x, y, 1)
		work.Early = true
		if err := st.Dispatch(work); err != nil {
			t.Fatal(err)
		}
	}
	launch()
	p.(*pipeline).overlaps = true
	launch()
	st.Fill(x, 0, 256, 0)
	launch()
	d.info.Limits.Processors = 0
	launch()
	s.calls()
	if _, err := st.Commit(); err != nil {
		t.Fatal(err)
	}
	want := []string{"cuCtxSetCurrent", "cuLaunchKernel", "cuLaunchKernelEx", "cuMemsetD8Async", "cuLaunchKernel", "cuLaunchKernel", "cuEventRecord"}
	if got := s.calls(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for target, want := range map[string]bool{"sm_90a": true, "sm_90": true, "compute_100": true, "sm_89": false, "compute_86": false} {
		if got := (&compiler{target: target}).since(90); got != want {
			t.Errorf("%s: got %v, want %v", target, got, want)
		}
	}
	x.Free()
	y.Free()
	d.Close()
	s.clean("launches that overlap")
}

func TestDispatchAllocatesNothing(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x, y := s.alloc(d, gpu.DeviceMemory), s.alloc(d, gpu.DeviceMemory)
	dispatch := axpy(s.pipeline(d, "axpy"), x, y, 0)
	work := func() {
		for range 100 {
			if err := st.Dispatch(dispatch); err != nil {
				t.Fatal(err)
			}
		}
		e, err := st.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Wait(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		e.Close()
	}
	work()
	if n := testing.AllocsPerRun(20, work); n > 10 {
		t.Errorf("got %g allocations for a commit of 100 dispatches, want those of the commit alone", n)
	}
	d.Close()
}

// Goroutines share the threads of the system, and each batch finds its context.
func TestGoroutines(t *testing.T) {
	s := newStub(t)
	var group sync.WaitGroup
	for i := range 2 {
		opened, err := s.driver.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		p := s.pipeline(opened, "axpy")
		for range 4 {
			group.Go(func() {
				st, err := opened.Stream()
				if err != nil {
					t.Error(err)
					return
				}
				x, y := s.alloc(opened, gpu.SharedMemory), s.alloc(opened, gpu.SharedMemory)
				clear(x.Host())
				clear(y.Host())
				binary.LittleEndian.PutUint32(x.Host(), math.Float32bits(1))
				for range 50 {
					st.Dispatch(axpy(p, x, y, 1))
					e, err := st.Commit()
					if err != nil {
						t.Error(err)
						return
					}
					if err := e.Wait(t.Context(), 0); err != nil {
						t.Error(err)
					}
					e.Close()
					runtime.Gosched()
				}
				if got := math.Float32frombits(binary.LittleEndian.Uint32(y.Host())); got != 50 {
					t.Errorf("got %g, want 50", got)
				}
				x.Free()
				y.Free()
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	s.clean("goroutines")
}

func TestBadPTX(t *testing.T) {
	s := newStub(t)
	d, _ := s.open()
	_, err := d.Load("row.ptx", []byte("axp"))
	for _, want := range []string{"row.ptx", "line 7", "Parsing error"} {
		if !errors.Is(err, gpu.BadKernel) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	d.Close()
}

func TestArguments(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x := s.alloc(d, gpu.DeviceMemory)
	p := s.pipeline(d, "axpy")
	for name, c := range map[string]struct {
		change func(*gpu.Dispatch)
		want   string
	}{
		"one too few":     {func(d *gpu.Dispatch) { d.Args = d.Args[:2] }, "axpy: got 2 arguments, want 3"},
		"not bound":       {func(d *gpu.Dispatch) { d.Args[1] = gpu.Arg{} }, "axpy: argument 1 is not bound"},
		"too long":        {func(d *gpu.Dispatch) { d.Args[2].Bytes = make([]byte, 8) }, "axpy: argument 2: got 8 bytes, want 4"},
		"not a buffer":    {func(d *gpu.Dispatch) { d.Args[0] = gpu.Arg{Bytes: make([]byte, 4)} }, "axpy: argument 0: got 4 bytes, want 8"},
		"too many groups": {func(d *gpu.Dispatch) { d.Threads.X = 513 }, "axpy: got 513 threads of a group, want 1 to 512"},
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

func TestTarget(t *testing.T) {
	known := []int{75, 80, 90}
	for _, c := range []struct {
		family, want string
		ptx          bool
	}{{"sm_90", "sm_90a", false}, {"sm_75", "sm_75", false}, {"sm_86", "compute_80", true}, {"sm_120", "compute_90", true}, {"sm_61", "", false}} {
		got, ptx, err := target(c.family, known)
		if got != c.want || ptx != c.ptx || (err != nil) != (c.want == "") {
			t.Errorf("%s: got %q, %v, %v, want %q, %v", c.family, got, ptx, err, c.want, c.ptx)
		}
	}
}

func TestNVRTC(t *testing.T) {
	s := newStub(t)
	path := cctest.Library(t, "testdata/nvrtc.c")
	count := filepath.Join(t.TempDir(), "compiled")
	t.Setenv("MCS_STUB_COMPILED", count)
	compiled := func() int {
		dots, _ := os.ReadFile(count)
		return len(dots)
	}
	s.driver.NVRTC, s.driver.CublasLt, s.driver.Cudnn = []string{path}, []string{path}, []string{path}
	d, _ := s.open()
	if got := d.Info().Libraries; !slices.Equal(got, []string{"cublasLt 12.8.4", "cudnn 9.5.1"}) {
		t.Errorf("got %q", got)
	}
	cache := filepath.Join(t.TempDir(), "kernels")
	source := gpu.Source{Name: "axpy.metal", Text: "kernel", Defines: []string{"N=4"}, Cache: cache}
	compile := func(what string, s gpu.Source, want int) {
		t.Helper()
		before := compiled()
		l, err := d.Compile(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer l.Close()
		if _, err := l.Pipeline("axpy"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := compiled() - before; got != want {
			t.Errorf("%s: got %d compilations, want %d", what, got, want)
		}
	}
	compile("the first time", source, 1)
	compile("from the cache", source, 0)
	other := source
	other.Relaxed = true
	compile("other options", other, 1)
	other.Text = "other kernel"
	compile("another text", other, 1)
	other.Cache = ""
	compile("no cache", other, 1)

	files, _ := filepath.Glob(cache + "/*.cubin")
	if len(files) != 3 {
		t.Fatalf("got %q in the cache, want 3 files", files)
	}
	for _, file := range files {
		content, _ := os.ReadFile(file)
		if err := os.WriteFile(file, content[:len(content)-1], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compile("a file that is cut off", source, 1)
	compile("which was mended", source, 0)

	source.Text = "#error no such thing"
	if _, err := d.Compile(t.Context(), source); !errors.Is(err, gpu.BadKernel) || !strings.Contains(err.Error(), "row.metal(7): error") {
		t.Errorf("got %v, want the compiler's message", err)
	}
	if !cctest.Emulated() { // there it compiles in this process
		source.Text = "#crash"
		if _, err := d.Compile(t.Context(), source); !errors.Is(err, gpu.Failed) || !strings.Contains(err.Error(), "the process that compiles has ended: ") {
			t.Errorf("got %v, want the end of the process that compiles", err)
		}
		source.Text = "#endless"
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := d.Compile(ctx, source); err != context.Canceled {
			t.Errorf("got %v, want the end of the context", err)
		}
	}
	source.Text = "after that"
	compile("after a process that ended", source, 1)
	s.driver.compilers.close()
	d.Close()

	// A driver for CUDA 11 does not run what NVRTC 12 makes.
	old := newStub(t)
	old.ask("version", 11080)
	old.driver.NVRTC = []string{path}
	d, _ = old.open()
	if _, err := d.Compile(t.Context(), source); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "is of CUDA 12.8, want at most that of the driver, 11.8") {
		t.Errorf("got %v, want the versions", err)
	}
	d.Close()

	s.driver.NVRTC = []string{"libnosuchnvrtc.so"}
	d, _ = s.open()
	if _, err := d.Compile(t.Context(), source); !errors.Is(err, gpu.Unsupported) || !strings.Contains(err.Error(), "libnosuchnvrtc.so") {
		t.Errorf("got %v, want what is missing", err)
	}
	d.Close()
}
