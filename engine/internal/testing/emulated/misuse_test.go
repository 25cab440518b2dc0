package emulated

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A bench is an opened device with a stream and a kernel that writes 1 to four floats, whose address is in a
// table.
type bench struct {
	*testing.T
	device   gpu.Device
	stream   gpu.Stream
	pipeline gpu.Pipeline
	x, table gpu.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	b := &bench{T: t}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	b.device, err = (&Driver{Tools: tools}).Open(0)
	try(err)
	t.Cleanup(func() { b.device.Close() })
	b.stream, err = b.device.Stream()
	try(err)
	library, err := b.device.Compile(t.Context(), gpu.Source{Name: "reach", Text: `#include <metal_stdlib>
using namespace metal;
struct table { device float* x; };
kernel void reach(constant table* a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a->x[i] = 1.0f; }
`})
	try(err)
	b.pipeline, err = library.Pipeline("reach")
	try(err)
	b.x, err = b.device.Alloc(16, gpu.DeviceMemory)
	try(err)
	b.table, err = b.device.Alloc(8, gpu.SharedMemory)
	try(err)
	binary.LittleEndian.PutUint64(b.table.Host(), b.x.Address())
	return b
}

// dispatch encodes a launch of the kernel that names some buffers.
func (b *bench) dispatch(uses ...gpu.Buffer) {
	b.Helper()
	one, four := gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: 4, Y: 1, Z: 1}
	if err := b.stream.Dispatch(&gpu.Dispatch{Pipeline: b.pipeline, Groups: one, Threads: four, Args: []gpu.Arg{{Buffer: b.table}}, Uses: uses}); err != nil {
		b.Fatal(err)
	}
}

// fails commits, lets then meddle, and wants an error with a text, or none.
func (b *bench) fails(want string, meddle func()) {
	b.Helper()
	e, err := b.stream.Commit()
	if err != nil {
		b.Fatal(err)
	}
	meddle()
	if err = e.Wait(b.Context(), 0); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		b.Errorf("got %v, want %q", err, want)
	}
}

// TestUses: a dispatch names the buffers that its kernel reaches through addresses.
func TestUses(t *testing.T) {
	b := newBench(t)
	b.dispatch(b.x)
	b.fails("", func() {})
	b.dispatch()
	b.fails("it lies in a block of 16 bytes that the launch does not name", func() {})
}

// TestTooEarly: what work uses that is not done is neither freed nor changed by the processor.
func TestTooEarly(t *testing.T) {
	for _, c := range []struct {
		name   string
		encode func(b *bench)
		meddle func(b *bench)
		want   string
	}{
		{"nothing happens", func(b *bench) { b.dispatch(b.x) }, func(*bench) {}, ""},
		{"a buffer that a kernel uses is freed", func(b *bench) { b.dispatch(b.x) }, func(b *bench) { b.x.Free() }, "got a buffer that was freed"},
		{"a buffer that is copied is freed", func(b *bench) { b.copy() }, func(b *bench) { b.table.Free() }, "got a buffer that was freed"},
		{"memory that is copied is written", func(b *bench) { b.copy() }, func(b *bench) { b.table.Host()[3]++ }, "changed by the processor before work that reads them was done"},
		{"memory that a kernel reads is written", func(b *bench) { b.dispatch(b.x) }, func(b *bench) { b.table.Host()[0] ^= 8 }, "changed by the processor before work that reads them was done"},
		{"memory that the device fills is written", func(b *bench) { b.fill() }, func(b *bench) { b.table.Host()[3]++ }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.T = t
			c.encode(b)
			b.fails(c.want, func() { c.meddle(b) })
		})
	}
}

func (b *bench) copy() {
	if err := b.stream.Copy(b.x, 0, b.table, 0, 8); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) fill() {
	if err := b.stream.Fill(b.table, 0, 8, 0); err != nil {
		b.Fatal(err)
	}
}
