package fake_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/drivertest"
	"github.com/mcs-notebook/mcs/engine/internal/testing/fake"
)

func axpy(d *gpu.Dispatch) {
	x, y := d.Args[0].Buffer.Host()[d.Args[0].Offset:], d.Args[1].Buffer.Host()[d.Args[1].Offset:]
	at := func(b []byte, i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	a := at(d.Args[2].Bytes, 0)
	for i := range d.Groups.Count() * d.Threads.Count() {
		binary.LittleEndian.PutUint32(y[4*i:], math.Float32bits(at(y, i)+a*at(x, i)))
	}
}

func newDriver() *fake.Driver {
	return &fake.Driver{Infos: []gpu.Info{fake.Info()}, Kernels: map[string]fake.Kernel{"axpy": axpy}}
}

func TestConformance(t *testing.T) {
	drivertest.Run(t, drivertest.Config{Driver: newDriver(), Usage: true, Library: func(t *testing.T, d gpu.Device) gpu.Library {
		l, err := d.Compile(t.Context(), gpu.Source{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}})
}

func open(t *testing.T, d *fake.Driver) (gpu.Device, gpu.Stream, gpu.Buffer) {
	t.Helper()
	device, err := d.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := device.Stream()
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := device.Alloc(16, gpu.DeviceMemory)
	if err != nil {
		t.Fatal(err)
	}
	d.Log()
	return device, stream, buffer
}

func TestLog(t *testing.T) {
	d := newDriver()
	_, stream, buffer := open(t, d)
	stream.Fill(buffer, 0, 16, 7)
	stream.Barrier()
	stream.Commit()
	if got := d.Log(); !slices.Equal(got, []string{"fill 16 7", "barrier ", "commit 1"}) {
		t.Errorf("got %q", got)
	}
	if buffer.Host()[15] != 7 {
		t.Error("the fill did not run")
	}
}

func TestHold(t *testing.T) {
	d := newDriver()
	_, stream, buffer := open(t, d)
	d.Hold()
	stream.Fill(buffer, 0, 16, 7)
	event, _ := stream.Commit()
	if err := event.Wait(t.Context(), time.Millisecond); !errors.Is(err, gpu.Timeout) {
		t.Errorf("got %v, want a timeout", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if err := event.Wait(ctx, 0); err != stopped {
		t.Errorf("got %v, want the context's cause", err)
	}
	if done, err := event.Done(); done || err != nil {
		t.Errorf("got %v, %v, want work that is not done", done, err)
	}
	d.Release()
	if err := event.Wait(t.Context(), 0); err != nil || buffer.Host()[0] != 7 {
		t.Errorf("got %v, %d after the release", err, buffer.Host()[0])
	}
}

// Of two allocations from now on the second fails; an error on the device stays with the stream.
func TestFail(t *testing.T) {
	d := newDriver()
	device, stream, _ := open(t, d)
	d.Fail("alloc", 1, gpu.OutOfMemory)
	if _, err := device.Alloc(16, gpu.DeviceMemory); err != nil {
		t.Errorf("the first: got %v", err)
	}
	if _, err := device.Alloc(16, gpu.DeviceMemory); !errors.Is(err, gpu.OutOfMemory) {
		t.Errorf("the second: got %v", err)
	}
	if _, err := device.Alloc(16, gpu.DeviceMemory); err != nil {
		t.Errorf("the third: got %v", err)
	}
	d.Fail("run", 0, gpu.KernelFault)
	for range 2 {
		event, err := stream.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if err := event.Wait(t.Context(), 0); !errors.Is(err, gpu.KernelFault) {
			t.Errorf("got %v, want the fault, again and again", err)
		}
	}
}

// A buffer that is freed while work that uses it is under way is a fault of the device.
func TestFreedTooEarly(t *testing.T) {
	d := newDriver()
	device, stream, buffer := open(t, d)
	library, err := device.Load("l", nil)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := library.Pipeline("axpy")
	if err != nil {
		t.Fatal(err)
	}
	d.Hold()
	one := gpu.Size{X: 1, Y: 1, Z: 1}
	if err := stream.Dispatch(&gpu.Dispatch{Pipeline: pipeline, Groups: one, Threads: one,
		Args: []gpu.Arg{{Buffer: buffer}, {Buffer: buffer}, {Bytes: make([]byte, 4)}}}); err != nil {
		t.Fatal(err)
	}
	event, _ := stream.Commit()
	buffer.Free()
	d.Release()
	if err := event.Wait(t.Context(), 0); !errors.Is(err, gpu.KernelFault) || !strings.Contains(err.Error(), "was freed") {
		t.Errorf("got %v, want a fault that says why", err)
	}
}
