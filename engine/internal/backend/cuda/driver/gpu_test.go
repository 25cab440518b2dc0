package driver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
)

// onGPU returns the driver of a machine with an NVIDIA GPU, and the kernels of testdata/kernels.cu.
func onGPU(t testing.TB) (*Driver, []byte) {
	t.Helper()
	d := New()
	if err := d.Present(); err != nil {
		t.Skip(err)
	}
	if _, err := d.Devices(); errors.Is(err, gpu.NoDriver) {
		t.Skip(err)
	}
	ptx, err := os.ReadFile("testdata/kernels.ptx")
	if err != nil {
		t.Fatal(err)
	}
	return d, ptx
}

func TestConformanceOnGPU(t *testing.T) {
	d, ptx := onGPU(t)
	infos, err := d.Devices()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", infos)
	drivertest.Run(t, drivertest.Config{Driver: d, Usage: true, Library: func(t *testing.T, d gpu.Device) gpu.Library {
		l, err := d.Load("kernels.ptx", ptx)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}})
}

// A gpuBench is an open GPU with a kernel of testdata/kernels.cu.
type gpuBench struct {
	device   gpu.Device
	stream   gpu.Recorder
	pipeline gpu.Pipeline
	x, y     gpu.Buffer // x of the device, y pinned
}

func openGPU(t testing.TB, kernel string) gpuBench {
	t.Helper()
	d, ptx := onGPU(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	device, err := d.Open(0)
	must(err)
	stream, err := device.Stream()
	must(err)
	library, err := device.Load("kernels.ptx", ptx)
	must(err)
	pipeline, err := library.Pipeline(kernel)
	must(err)
	x, err := device.Alloc(256, gpu.DeviceMemory)
	must(err)
	y, err := device.Alloc(256, gpu.SharedMemory)
	must(err)
	clear(y.Host())
	return gpuBench{device, stream.(gpu.Recorder), pipeline, x, y}
}

// A kernel that does not end hangs nothing but its stream.
func TestEndlessKernelOnGPU(t *testing.T) {
	b := openGPU(t, "endless")
	one := gpu.Size{X: 1, Y: 1, Z: 1}
	if err := b.stream.Dispatch(&gpu.Dispatch{Pipeline: b.pipeline, Groups: one, Threads: one, Args: []gpu.Arg{{Buffer: b.y}}}); err != nil {
		t.Fatal(err)
	}
	e, err := b.stream.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Wait(t.Context(), 50*time.Millisecond); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	b.y.Host()[0] = 1
	if err := e.Wait(t.Context(), 10*time.Second); err != nil {
		t.Error(err)
	}
	if err := b.device.Close(); err != nil {
		t.Error(err)
	}
}

// What a launch costs the host, and how long one takes that is waited for.
func BenchmarkLaunchOnGPU(b *testing.B) {
	g := openGPU(b, "axpy")
	defer g.device.Close()
	dispatch := axpy(g.pipeline, g.x, g.x, 0)
	commit := func(wait bool) {
		e, err := g.stream.Commit()
		if err == nil && wait {
			err = e.Wait(b.Context(), 0)
		}
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
	encode := func(n int) {
		for range n {
			if err := g.stream.Dispatch(dispatch); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("commits of %d, waited for", size), func(b *testing.B) {
			for i := 0; i < b.N; i += size {
				encode(size)
				commit(true)
			}
		})
	}
	b.Run("graph of 1000, waited for", func(b *testing.B) {
		const size = 1000
		g.stream.Record()
		encode(size)
		graph, err := g.stream.Finish()
		if err != nil {
			b.Fatal(err)
		}
		defer graph.Close()
		b.ResetTimer()
		for i := 0; i < b.N; i += size {
			if err := graph.Replay(g.stream); err != nil {
				b.Fatal(err)
			}
			commit(true)
		}
	})
	b.Run("run and read", func(b *testing.B) {
		for range b.N {
			encode(1)
			if err := g.stream.Copy(g.y, 0, g.x, 0, 256); err != nil {
				b.Fatal(err)
			}
			commit(true)
		}
	})
}

// After a fault the device closes, and the driver opens none in this process any more: so a process of its
// own runs this.
func TestFaultOnGPU(t *testing.T) {
	onGPU(t)
	const variable = "MCS_TEST_FAULT"
	if os.Getenv(variable) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestFaultOnGPU$", "-test.v")
		child.Env = append(os.Environ(), variable+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	b := openGPU(t, "axpy")
	d := axpy(b.pipeline, b.x, b.x, 1)
	d.Args[0] = gpu.Arg{Bytes: binary.LittleEndian.AppendUint64(nil, 4096)} // an address of nothing
	if err := b.stream.Dispatch(d); err != nil {
		t.Fatal(err)
	}
	e, err := b.stream.Commit()
	if err == nil {
		err = e.Wait(t.Context(), 10*time.Second)
	}
	if !errors.Is(err, gpu.KernelFault) {
		t.Errorf("got %v, want a fault", err)
	}
	if err := b.device.Close(); err != nil {
		t.Errorf("a device with a fault does not close: %v", err)
	}
	if _, err := New().Open(0); !errors.Is(err, gpu.Unsupported) {
		t.Errorf("opened after a fault: got %v, want what to do", err)
	}
}
