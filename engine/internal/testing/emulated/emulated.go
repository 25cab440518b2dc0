// Package emulated is a gpu.Driver without a GPU: it compiles kernels through the checking prelude and runs
// them on the processor, in a process of their own, thread by thread. What the backend above does to a device
// (argument structs, order, events, memory that is freed behind work, faults) is real; only the speed is not.
//
// It keeps to the limits of a small device, so that what passes here fits into an Apple GPU: 1,024 threads
// and 32 KB of threadgroup memory a group.
package emulated

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
	"github.com/mcs-notebook/mcs/shaders"
)

// A Driver has one device.
type Driver struct {
	Tools *check.Toolchain
	Mode  check.Mode
	// Prepared are texts, by the name of their function, that are compiled together when a device is opened:
	// a compiler that reads forty kernels at once is ten times faster than one that reads them one by one.
	// Each text stands after shaders.Blocks.
	Prepared map[string]string
	// Family is that of the device whose kernels run: "sm_90" has those for NVIDIA's GPUs. "" is the
	// emulation's own, which has those for Apple's.
	Family string
	// Library gives the device a library of matrix products, of attention and of convolutions; with Columns
	// of no convolutions.
	Library, Columns bool
	// Memory is how many bytes the device has; 4 GiB if it is 0.
	Memory int64
	// Unified lets the processor see all memory, as on Apple's GPUs.
	Unified bool

	products, attentions, convolutions atomic.Int64 // of the library that ran
}

// Name is "emulated".
func (d *Driver) Name() string { return "emulated" }

// Present is nil where a compiler was found.
func (d *Driver) Present() error {
	if d.Tools == nil {
		return fmt.Errorf("emulated: got no compiler")
	}
	return nil
}

// Devices describes the device.
func (d *Driver) Devices() ([]gpu.Info, error) {
	return []gpu.Info{d.info()}, d.Present()
}

// info describes the device in the driver's mode.
func (d *Driver) info() gpu.Info {
	memory := 32 << 10
	if strings.HasPrefix(d.Family, "sm_") {
		memory = 227 << 10
	}
	return gpu.Info{
		Name: "emulation", Driver: "check " + d.Mode.String(), Family: cmp.Or(d.Family, "emulated"), Memory: cmp.Or(d.Memory, 4<<30), Language: gpu.Metal, Unified: d.Unified,
		Limits: gpu.Limits{
			Threads: 1024, ThreadgroupMemory: memory, Simdgroup: 32, Processors: 10, Groups: gpu.Size{X: 1<<31 - 1, Y: 65535, Z: 65535},
			Args: 31, InlineBytes: 4096, Alignment: 16, Buffer: 4 << 30,
		},
	}
}

// Open starts the process.
func (d *Driver) Open(index int) (gpu.Device, error) {
	infos, err := d.Devices()
	if err == nil && index != 0 {
		err = fmt.Errorf("got device %d, want 0", index)
	}
	if err != nil {
		return nil, &gpu.Error{Code: gpu.NoDriver, Device: "emulated", Op: "open", Text: err.Error(), Index: -1}
	}
	dev := &device{info: infos[0], driver: d, live: map[*buffer]bool{}, known: map[string]bool{}}
	if dev.process, err = d.Tools.Start(context.Background(), d.Mode); err != nil {
		return nil, badKernel(err)
	}
	if err := dev.prepare(d.Prepared); err != nil {
		return nil, errors.Join(badKernel(err), dev.process.Close())
	}
	return dev, nil
}

// perSource is how many prepared texts stand after one copy of the blocks, about.
const perSource = 40

// prepare compiles texts, many to a source. One that cannot be compiled takes those of its source with it:
// they are then compiled alone when they are asked for, which tells whose mistake it is.
func (d *device) prepare(texts map[string]string) error {
	var parts [][]string
	var sources []*msl.Source
	for _, part := range gathered(slices.Sorted(maps.Keys(texts))) {
		text := shaders.Blocks()
		for _, function := range part {
			text += texts[function]
		}
		if s, err := msl.Parse("prepared.metal", text); err == nil {
			parts, sources = append(parts, part), append(sources, s)
		}
	}
	know := func(part []string) {
		for _, function := range part {
			d.known[function] = true
		}
	}
	err := d.process.Load(context.Background(), sources...)
	var refused *check.CompileError
	if !errors.As(err, &refused) {
		for _, part := range parts {
			know(part)
		}
		return err
	}
	for i, s := range sources {
		if err := d.process.Load(context.Background(), s); err == nil {
			know(parts[i])
		} else if !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// gathered puts functions into parts by a hash of their names, which have a hash of the text in them. So one
// text more or less changes one part, and the others are still in the compiler's cache.
func gathered(functions []string) [][]string {
	parts := make([][]string, 1)
	for len(functions) > perSource*len(parts) {
		parts = append(parts, parts...)
	}
	clear(parts)
	for _, f := range functions {
		h := fnv.New32a()
		h.Write([]byte(f))
		i := h.Sum32() % uint32(len(parts))
		parts[i] = append(parts[i], f)
	}
	return slices.DeleteFunc(parts, func(p []string) bool { return len(p) == 0 })
}

func badKernel(err error) error {
	text := err.Error()
	if c, ok := err.(*check.CompileError); ok {
		text = c.Output
	}
	return &gpu.Error{Code: gpu.BadKernel, Device: "emulated", Op: "compile", Text: text, Index: -1}
}

// A device is a process with memory.
type device struct {
	info    gpu.Info
	process *check.Device
	driver  *Driver

	mu    sync.Mutex
	live  map[*buffer]bool
	known map[string]bool // functions that are compiled
	usage gpu.Usage
}

func (d *device) Info() gpu.Info { return d.info }

func misused(op, format string, args ...any) error {
	return gpu.Misused("emulated", op, format, args...)
}

// Alloc takes memory of the process; that of SharedMemory has a twin here, which copies and dispatches bring
// up to date.
func (d *device) Alloc(bytes int, m gpu.Memory) (gpu.Buffer, error) {
	if bytes < 1 || int64(bytes) > d.info.Limits.Buffer {
		return nil, misused("alloc", "got %d bytes, want 1 to %d", bytes, d.info.Limits.Buffer)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if free := d.info.Memory - d.usage.InUse; int64(bytes) > free {
		return nil, &gpu.Error{Code: gpu.OutOfMemory, Device: "emulated", Op: "alloc", Want: int64(bytes), Free: free, Index: -1}
	}
	at, err := d.process.Alloc(bytes)
	if err != nil {
		return nil, lost(err)
	}
	b := &buffer{device: d, at: at, bytes: bytes}
	if m == gpu.SharedMemory || d.info.Unified {
		b.host = make([]byte, bytes)
	}
	d.usage.InUse += int64(bytes)
	d.usage.Peak = max(d.usage.Peak, d.usage.InUse)
	d.live[b] = true
	return b, nil
}

func lost(err error) error {
	return &gpu.Error{Code: gpu.LostDevice, Device: "emulated", Op: "process", Text: err.Error(), Index: -1}
}

// Usage says what buffers take.
func (d *device) Usage() (gpu.Usage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.usage
	u.Total, u.Free = d.info.Memory, d.info.Memory-u.InUse
	return u, nil
}

// Compile compiles a text for checking, unless its function was prepared. A backend's text has the name of
// its function, which a hash of the text is part of: what is known by it is not read again.
func (d *device) Compile(ctx context.Context, s gpu.Source) (gpu.Library, error) {
	d.mu.Lock()
	known := d.known[s.Name]
	d.mu.Unlock()
	if known {
		return &library{d, []string{s.Name}}, nil
	}
	source, err := msl.Parse(s.Name+".metal", s.Text)
	if err != nil {
		return nil, badKernel(err)
	}
	l := &library{device: d}
	missing := false
	d.mu.Lock()
	for _, k := range source.Kernels {
		l.kernels = append(l.kernels, k.Name)
		missing = missing || !d.known[k.Name]
	}
	d.mu.Unlock()
	if !missing {
		return l, nil
	}
	if err := d.process.Load(ctx, source); err != nil {
		return nil, badKernel(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range l.kernels {
		d.known[k] = true
	}
	return l, nil
}

// Load is for compiled kernels, of which there are none.
func (d *device) Load(name string, _ []byte) (gpu.Library, error) {
	return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "load", Text: name + " is compiled for another device", Index: -1}
}

// Close ends the process.
func (d *device) Close() error { return d.process.Close() }

// check finds buffers that were freed or belong to another device.
func (d *device) check(b gpu.Buffer) error {
	mine, ok := b.(*buffer)
	if !ok || mine.device != d {
		return fmt.Errorf("got a buffer of another device")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.live[mine] {
		return fmt.Errorf("got a buffer that was freed")
	}
	return nil
}

type buffer struct {
	device *device
	at     check.Pointer
	bytes  int
	host   []byte
	writes int // of the device, that changed host; device.mu guards it
}

// write puts what the device has made of a part of shared memory where the processor sees it: the bytes that
// it has changed.
func (d *device) write(b *buffer, offset int, before, now []byte) {
	if bytes.Equal(before, now) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range now {
		if before[i] != now[i] {
			b.host[offset+i] = now[i]
		}
	}
	b.writes++
}

// state is the hash of a part of shared memory, and how often the device has changed the buffer. Both are of
// one moment: the device may be at work.
func (d *device) state(p part) (hash uint64, wrote int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maphash.Bytes(seed, p.buffer.host[p.from:p.to]), p.buffer.writes
}

// reached are the buffers into which addresses in the given ones lead, and which the processor sees, too: a
// dispatch that was recorded names none.
func (d *device) reached(from []gpu.Buffer) (list []gpu.Buffer, err error) {
	var known []*buffer
	d.mu.Lock()
	for b := range d.live {
		if b.host != nil && !slices.Contains(from, gpu.Buffer(b)) {
			known = append(known, b)
		}
	}
	d.mu.Unlock()
	slices.SortFunc(known, func(a, b *buffer) int { return cmp.Compare(a.at, b.at) })
	found := map[*buffer]bool{}
	for _, b := range from {
		data := make([]byte, b.Len())
		if err := d.get(b.(*buffer), 0, data); err != nil {
			return nil, err
		}
		for ; len(data) >= 8 && len(known) > 0; data = data[8:] {
			at := check.Pointer(binary.LittleEndian.Uint64(data))
			i, exact := slices.BinarySearchFunc(known, at, func(b *buffer, at check.Pointer) int { return cmp.Compare(b.at, at) })
			if !exact {
				i--
			}
			if i >= 0 && at < known[i].at+check.Pointer(known[i].bytes) && !found[known[i]] {
				found[known[i]] = true
				list = append(list, known[i])
			}
		}
	}
	return list, nil
}

func (b *buffer) Len() int        { return b.bytes }
func (b *buffer) Address() uint64 { return uint64(b.at) }
func (b *buffer) Host() []byte    { return b.host }

// Free gives the memory back. What uses it afterwards is a fault.
func (b *buffer) Free() {
	d := b.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.live[b] {
		return
	}
	delete(d.live, b)
	d.usage.InUse -= int64(b.bytes)
	d.process.Free(b.at) // fails only when the process is lost, and with it the memory
}

type library struct {
	device  *device
	kernels []string
}

// Pipeline finds a kernel.
func (l *library) Pipeline(name string, constants ...gpu.Constant) (gpu.Pipeline, error) {
	if len(constants) > 0 {
		return nil, &gpu.Error{Code: gpu.Unsupported, Device: "emulated", Op: "pipeline", Text: name + " has function constants", Index: -1}
	}
	if !slices.Contains(l.kernels, name) {
		return nil, &gpu.Error{Code: gpu.BadKernel, Device: "emulated", Op: "pipeline", Text: fmt.Sprintf("got %q, want one of %q", name, l.kernels), Index: -1}
	}
	return &pipeline{l.device, name}, nil
}

func (*library) Close() {}

type pipeline struct {
	device *device
	name   string
}

func (p *pipeline) Name() string { return p.name }

func (p *pipeline) Limits() gpu.PipelineLimits {
	return gpu.PipelineLimits{Threads: p.device.info.Limits.Threads, Simdgroup: p.device.info.Limits.Simdgroup}
}

func (*pipeline) Close() {}
