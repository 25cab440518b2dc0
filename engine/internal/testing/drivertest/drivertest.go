// Package drivertest is the conformance suite of package gpu's drivers: what the backend above relies on.
// Every driver passes it: package fake, those of CUDA and Metal where there is a device, or a stand-in for
// one.
package drivertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// A Config is a driver to check.
type Config struct {
	Driver gpu.Driver
	// Library returns a library with the kernel axpy(x, y, a): y[i] += a*x[i], one float for each thread of
	// the grid; x and y are buffers, a is a float.
	Library func(t *testing.T, d gpu.Device) gpu.Library
	// Usage is true when a buffer counts until it is freed, and no longer.
	Usage bool
	// Spacious is true where it would take long to use all memory up.
	Spacious bool
}

// A bench is an open device with the kernel.
type bench struct {
	*testing.T
	Config
	device gpu.Device
	stream gpu.Stream
	axpy   gpu.Pipeline
}

// Run checks the first device of the driver.
func Run(t *testing.T, c Config) {
	for _, test := range []struct {
		name string
		f    func(*bench)
	}{
		{"info", testInfo}, {"dispatch", testDispatch}, {"copies and fills", testCopies}, {"order", testOrder},
		{"mistakes", testMistakes}, {"memory", testMemory}, {"events and stamps", testEvents}, {"streams", testStreams},
		{"graphs", testGraphs}, {"no kernel", testNoKernel},
	} {
		t.Run(test.name, func(t *testing.T) {
			device, err := c.Driver.Open(0)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := device.Stream()
			if err != nil {
				t.Fatal(err)
			}
			library := c.Library(t, device)
			axpy, err := library.Pipeline("axpy")
			if err != nil {
				t.Fatal(err)
			}
			test.f(&bench{t, c, device, stream, axpy})
			axpy.Close()
			library.Close()
			if err := stream.Close(); err != nil {
				t.Error(err)
			}
			if err := device.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

const n = 64 // floats of a buffer

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) alloc(m gpu.Memory) gpu.Buffer {
	b.Helper()
	buffer, err := b.device.Alloc(4*n, m)
	b.must(err)
	if buffer.Len() != 4*n || buffer.Address() == 0 {
		b.Fatalf("got %d bytes at %#x, want %d", buffer.Len(), buffer.Address(), 4*n)
	}
	return buffer
}

func (b *bench) commit() {
	b.Helper()
	event, err := b.stream.Commit()
	b.must(err)
	b.must(event.Wait(context.Background(), 10*time.Second))
	event.Close()
}

// write fills a device buffer with values by way of shared memory.
func (b *bench) write(dst gpu.Buffer, value func(i int) float32) {
	b.Helper()
	staging := b.alloc(gpu.SharedMemory)
	for i := range n {
		binary.LittleEndian.PutUint32(staging.Host()[4*i:], math.Float32bits(value(i)))
	}
	b.must(b.stream.Copy(dst, 0, staging, 0, 4*n))
	b.stream.Free(staging)
}

func (b *bench) read(src gpu.Buffer) []float32 {
	b.Helper()
	staging := b.alloc(gpu.SharedMemory)
	b.must(b.stream.Copy(staging, 0, src, 0, 4*n))
	b.commit()
	values := make([]float32, n)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(staging.Host()[4*i:]))
	}
	staging.Free()
	return values
}

// dispatch is y += a*x over all elements.
func (b *bench) dispatch(x, y gpu.Buffer, a float32) *gpu.Dispatch {
	return &gpu.Dispatch{Pipeline: b.axpy, Groups: gpu.Size{X: n / 32, Y: 1, Z: 1}, Threads: gpu.Size{X: 32, Y: 1, Z: 1},
		Args: []gpu.Arg{{Buffer: x}, {Buffer: y}, {Bytes: binary.LittleEndian.AppendUint32(nil, math.Float32bits(a))}}}
}

func (b *bench) want(src gpu.Buffer, value func(i int) float32) {
	b.Helper()
	for i, got := range b.read(src) {
		if got != value(i) {
			b.Fatalf("got %g at %d, want %g", got, i, value(i))
		}
	}
}

func index(i int) float32 { return float32(i) }

func zero(int) float32 { return 0 }

// code checks the kind of an error.
func (b *bench) code(what string, err error, want gpu.Code) *gpu.Error {
	b.Helper()
	var e *gpu.Error
	if !errors.As(err, &e) || e.Code != want {
		b.Fatalf("%s: got error %v, want the code %v", what, err, want)
	}
	return e
}

func testInfo(b *bench) {
	b.must(b.Driver.Present())
	infos, err := b.Driver.Devices()
	b.must(err)
	info := b.device.Info()
	if len(infos) == 0 || infos[0].Name != info.Name || infos[0].Memory != info.Memory {
		b.Fatalf("found %v, opened %v", infos, info)
	}
	l := info.Limits
	for name, got := range map[string]int{"threads": l.Threads, "threadgroup memory": l.ThreadgroupMemory, "simdgroup": l.Simdgroup,
		"groups in x": l.Groups.X, "groups in y": l.Groups.Y, "groups in z": l.Groups.Z, "arguments": l.Args,
		"inline bytes": l.InlineBytes, "alignment": l.Alignment, "bytes of a buffer": int(l.Buffer)} {
		if got < 1 {
			b.Errorf("%s: got %d, want a limit", name, got)
		}
	}
	if info.Name == "" || info.Driver == "" || info.Family == "" || info.Language == "" {
		b.Errorf("got %+v, want names", info)
	}
	_, err = b.Driver.Open(len(infos))
	b.code("a device too many", err, gpu.NoDriver)
}

func testDispatch(b *bench) {
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	b.write(x, index)
	b.write(y, func(int) float32 { return 1 })
	d := b.dispatch(x, y, 2)
	b.must(b.stream.Dispatch(d))
	copy(d.Args[2].Bytes, []byte{0xff, 0xff, 0xff, 0xff}) // they were copied
	b.must(b.stream.Barrier())
	b.must(b.stream.Dispatch(b.dispatch(x, y, 1)))
	b.want(y, func(i int) float32 { return 1 + 3*float32(i) })
	half := b.dispatch(x, y, 1)
	half.Groups.X = 1
	half.Args[0].Offset, half.Args[1].Offset = 4*n/2, 4*n/2
	b.must(b.stream.Dispatch(half))
	b.want(y, func(i int) float32 {
		if i < n/2 {
			return 1 + 3*float32(i)
		}
		return 1 + 4*float32(i)
	})
	x.Free()
	y.Free()
}

func testCopies(b *bench) {
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	b.write(x, index)
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	b.must(b.stream.Copy(y, 4*8, x, 4*16, 4*4))
	b.want(y, func(i int) float32 {
		if i >= 8 && i < 12 {
			return float32(i + 8)
		}
		return 0
	})
	b.must(b.stream.Fill(y, 4*8, 4*2, 0))
	b.must(b.stream.Copy(y, 0, y, 4*8, 4*4))
	if got := b.read(y)[:12]; !slices.Equal(got, []float32{0, 0, 18, 19, 0, 0, 0, 0, 0, 0, 18, 19}) {
		b.Errorf("got %v after a copy within a buffer", got)
	}
	b.oddCopies(x, y)
	x.Free()
	y.Free()
}

// oddCopies copies and fills bytes that are no whole words, at any offset.
func (b *bench) oddCopies(x, y gpu.Buffer) {
	shared := b.alloc(gpu.SharedMemory)
	b.must(b.stream.Fill(x, 0, 4*n, 0x11))
	b.must(b.stream.Fill(y, 0, 4*n, 0x22))
	b.must(b.stream.Fill(x, 5, 7, 0x33))
	b.must(b.stream.Copy(y, 2, x, 3, 5))
	b.must(b.stream.Copy(y, 4*n-1, x, 6, 1))
	b.must(b.stream.Copy(y, 16, x, 4, 4))
	b.must(b.stream.Fill(y, 11, 0, 0x44))
	b.must(b.stream.Copy(shared, 0, y, 0, 4*n))
	b.commit()
	want := bytes.Repeat([]byte{0x22}, 4*n)
	copy(want[2:], []byte{0x11, 0x11, 0x33, 0x33, 0x33})
	copy(want[16:], []byte{0x11, 0x33, 0x33, 0x33})
	want[4*n-1] = 0x33
	if got := shared.Host(); !bytes.Equal(got, want) {
		b.Errorf("got  % x\nwant % x", got, want)
	}
	shared.Free()
}

// What is encoded before a commit runs in its order, and a commit without work is one all the same.
func testOrder(b *bench) {
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	b.write(x, index)
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	for range 1000 {
		b.must(b.stream.Dispatch(b.dispatch(x, y, 1)))
		b.must(b.stream.Barrier())
	}
	b.must(b.stream.Copy(x, 0, y, 0, 4*n))
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	b.want(x, func(i int) float32 { return 1000 * float32(i) })
	b.want(y, zero)
	b.commit()

	// A dispatch sees what came before the barrier: y += x, then x += y.
	b.write(x, index)
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	b.must(b.stream.Dispatch(b.dispatch(x, y, 1)))
	b.must(b.stream.Barrier())
	b.must(b.stream.Dispatch(b.dispatch(y, x, 1)))
	b.want(x, func(i int) float32 { return 2 * float32(i) })
	x.Free()
	y.Free()
}

func testMistakes(b *bench) {
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	freed := b.alloc(gpu.DeviceMemory)
	freed.Free()
	limits := b.device.Info().Limits
	for name, change := range map[string]func(d *gpu.Dispatch){
		"no pipeline":             func(d *gpu.Dispatch) { d.Pipeline = nil },
		"no groups":               func(d *gpu.Dispatch) { d.Groups.X = 0 },
		"too many groups":         func(d *gpu.Dispatch) { d.Groups.Y = limits.Groups.Y + 1 },
		"no threads":              func(d *gpu.Dispatch) { d.Threads.Z = 0 },
		"too many threads":        func(d *gpu.Dispatch) { d.Threads = gpu.Size{X: limits.Threads, Y: 2, Z: 1} },
		"too much group memory":   func(d *gpu.Dispatch) { d.Threadgroup = []int{limits.ThreadgroupMemory + 1} },
		"too many arguments":      func(d *gpu.Dispatch) { d.Args = make([]gpu.Arg, limits.Args+1) },
		"too many bytes":          func(d *gpu.Dispatch) { d.Args[2].Bytes = make([]byte, limits.InlineBytes+8) },
		"an offset past the end":  func(d *gpu.Dispatch) { d.Args[0].Offset = 4 * n },
		"a negative offset":       func(d *gpu.Dispatch) { d.Args[0].Offset = -4 },
		"a buffer and bytes":      func(d *gpu.Dispatch) { d.Args[0].Bytes = make([]byte, 4) },
		"a freed buffer":          func(d *gpu.Dispatch) { d.Args[0].Buffer = freed },
		"a freed buffer in a use": func(d *gpu.Dispatch) { d.Uses = []gpu.Buffer{freed} },
	} {
		d := b.dispatch(x, y, 1)
		change(d)
		b.code(name, b.stream.Dispatch(d), gpu.Misuse)
	}
	for name, err := range map[string]error{
		"a copy past the end":    b.stream.Copy(x, 4, y, 0, 4*n),
		"a copy from before":     b.stream.Copy(x, 0, y, -4, 4),
		"a copy of nothing less": b.stream.Copy(x, 0, y, 0, -1),
		"an overlapping copy":    b.stream.Copy(x, 0, x, 4, 8),
		"a copy of a freed":      b.stream.Copy(x, 0, freed, 0, 4),
		"a fill past the end":    b.stream.Fill(x, 4*n-1, 2, 0),
		"a fill of a freed":      b.stream.Fill(freed, 0, 4, 0),
	} {
		b.code(name, err, gpu.Misuse)
	}
	b.must(b.stream.Fill(x, 0, 4*n, 0)) // the stream is none the worse
	b.want(x, zero)
	x.Free()
	y.Free()
}

func testMemory(b *bench) {
	before, err := b.device.Usage()
	b.must(err)
	buffers := []gpu.Buffer{b.alloc(gpu.DeviceMemory), b.alloc(gpu.SharedMemory), b.alloc(gpu.DeviceMemory)}
	if buffers[1].Host() == nil {
		b.Error("got no memory of the host for a shared buffer")
	}
	for i, buffer := range buffers {
		if a := int(buffer.Address()); a%b.device.Info().Limits.Alignment != 0 {
			b.Errorf("buffer %d lies at %#x, want a multiple of %d", i, a, b.device.Info().Limits.Alignment)
		}
	}
	during, err := b.device.Usage()
	b.must(err)
	if during.InUse < before.InUse+3*4*n || during.Peak < during.InUse {
		b.Errorf("got %+v with three buffers more than %+v", during, before)
	}
	b.stream.Free(buffers[0])
	b.commit()
	buffers[1].Free()
	buffers[2].Free()
	after, err := b.device.Usage()
	b.must(err)
	if b.Usage && (after.InUse != before.InUse || after.Peak != during.Peak) {
		b.Errorf("got %+v after all were freed, want %d in use", after, before.InUse)
	}
	for _, bytes := range []int{0, -1} {
		_, err := b.device.Alloc(bytes, gpu.DeviceMemory)
		b.code("a buffer without bytes", err, gpu.Misuse)
	}
	if b.Spacious {
		return
	}
	// More than there is.
	var hold []gpu.Buffer
	for range 1 << 16 {
		bytes := min(b.device.Info().Limits.Buffer, b.device.Info().Memory)
		buffer, err := b.device.Alloc(int(bytes), gpu.DeviceMemory)
		if err != nil {
			if e := b.code("no room", err, gpu.OutOfMemory); e.Want != bytes {
				b.Errorf("got %v, want the %d bytes that were wanted", e, bytes)
			}
			break
		}
		hold = append(hold, buffer)
	}
	for _, buffer := range hold {
		buffer.Free()
	}
	b.alloc(gpu.DeviceMemory).Free()
}

func testEvents(b *bench) {
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	b.must(b.stream.Fill(x, 0, 4*n, 0))
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	first, err := b.stream.Stamp()
	b.must(err)
	b.must(b.stream.Dispatch(b.dispatch(x, y, 1)))
	second, err := b.stream.Stamp()
	b.must(err)
	event, err := b.stream.Commit()
	b.must(err)
	b.must(event.Wait(context.Background(), 10*time.Second))
	if done, err := event.Done(); !done || err != nil {
		b.Errorf("got %v, %v from an event that was waited for", done, err)
	}
	between, err := second.Since(first)
	b.must(err)
	if between <= 0 {
		b.Errorf("got %v for a dispatch", between)
	}
	first.Close()
	second.Close()
	event.Close()
	x.Free()
	y.Free()
}

// A stream waits for another's commit on the device.
func testStreams(b *bench) {
	other, err := b.device.Stream()
	b.must(err)
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	for i := range 20 {
		b.write(x, func(j int) float32 { return float32(i + j) })
		event, err := b.stream.Commit()
		b.must(err)
		b.must(other.After(event))
		b.must(other.Copy(y, 0, x, 0, 4*n))
		copied, err := other.Commit()
		b.must(err)
		b.must(b.stream.After(copied))
		b.want(y, func(j int) float32 { return float32(i + j) })
		event.Close()
		copied.Close()
	}
	x.Free()
	y.Free()
	b.must(other.Close())
}

func testGraphs(b *bench) {
	var refused *gpu.Error
	recorder, ok := b.stream.(gpu.Recorder)
	if !ok {
		b.Log("this driver records no graphs")
		return
	}
	x, y := b.alloc(gpu.DeviceMemory), b.alloc(gpu.DeviceMemory)
	b.write(x, index)
	b.must(b.stream.Fill(y, 0, 4*n, 0))
	b.commit()
	_, err := recorder.Finish()
	b.code("an end without a beginning", err, gpu.Misuse)
	b.must(recorder.Record())
	b.code("a recording in a recording", recorder.Record(), gpu.Misuse)
	b.must(recorder.Dispatch(b.dispatch(x, y, 1)))
	b.must(recorder.Dispatch(b.dispatch(x, y, 2)))
	_, err = recorder.Commit()
	b.code("a commit in a recording", err, gpu.Misuse)
	graph, err := recorder.Finish()
	b.must(err)
	if graph.Launches() != 2 {
		b.Errorf("got %d launches, want 2", graph.Launches())
	}
	b.want(y, zero) // nothing ran
	for range 3 {
		b.must(graph.Replay(b.stream))
	}
	b.want(y, func(i int) float32 { return 9 * float32(i) })
	if other := b.dispatch(x, y, 5).Args; errors.As(graph.Bind(1, other), &refused) && refused.Code == gpu.Unsupported {
		b.Log("this driver binds no arguments of graphs anew")
	} else {
		b.must(graph.Bind(1, other))
		b.code("a dispatch that the graph has not", graph.Bind(2, other), gpu.Misuse)
		b.must(graph.Replay(b.stream))
		b.want(y, func(i int) float32 { return 15 * float32(i) })
	}
	graph.Close()
	x.Free()
	y.Free()
}

func testNoKernel(b *bench) {
	library := b.Library(b.T, b.device)
	defer library.Close()
	_, err := library.Pipeline("no_such_kernel")
	b.code("a kernel that is not there", err, gpu.BadKernel)
}
