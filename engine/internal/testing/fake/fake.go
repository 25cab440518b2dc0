// Package fake is a gpu.Driver for tests of code that uses drivers. Its kernels are Go functions, which it
// runs in the order of the commits. It records each call as a line of text, checks for mistakes that would be
// a fault of a real device, fails where a test wants it to, and can hold work back, so that a test sees which
// calls wait.
package fake

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// A Kernel is what a pipeline of the fake does: it gets the dispatch, whose buffers' bytes are
// Arg.Buffer.Host().
type Kernel func(d *gpu.Dispatch)

// A Driver has one device for each of Infos.
type Driver struct {
	Infos   []gpu.Info
	Kernels map[string]Kernel // by name; each compiled library has them all
	Missing error             // what Present and Devices return
	Library *Library          // of matrix products; nil if there is none
	Peers   bool              // devices copy from each other

	mu    sync.Mutex
	log   []string
	fails []failure
	held  bool
	queue []func() // commits that are held back
	next  uint64   // address of the next buffer
}

// A failure is an error for the nth call of an op, counted from 0.
type failure struct {
	op  string
	n   int
	err error
}

// Info is that of a small device, for Driver.Infos.
func Info() gpu.Info {
	return gpu.Info{Name: "Fake", Driver: "fake 1.0", Family: "fake", Memory: 1 << 20, Language: gpu.Metal, Limits: gpu.Limits{
		Threads: 256, ThreadgroupMemory: 32 << 10, Simdgroup: 32, Processors: 4, Groups: gpu.Size{X: 1 << 20, Y: 1 << 16, Z: 1 << 16},
		Args: 31, InlineBytes: 4096, Alignment: 256, Buffer: 1 << 19}}
}

// Fail makes the nth call of an op from now on fail, counted from 0: "alloc", "compile", "load", "pipeline",
// "stream", "dispatch", "copy", "fill", "commit"; "run" fails on the device, so that the commit's event and
// all later ones of the stream have the error.
func (d *Driver) Fail(op string, n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = append(d.fails, failure{op, n, err})
}

// Log returns the calls since the last Log, a line each.
func (d *Driver) Log() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	log := d.log
	d.log = nil
	return log
}

// Hold keeps commits from running until Release.
func (d *Driver) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// Release runs what Hold kept back.
func (d *Driver) Release() {
	d.mu.Lock()
	queue := d.queue
	d.held, d.queue = false, nil
	d.mu.Unlock()
	for _, run := range queue {
		run()
	}
}

// did records a call and returns the error that it is to have.
func (d *Driver) did(op, format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, op+" "+fmt.Sprintf(format, args...))
	return d.failure(op)
}

// failure counts a call of op; d.mu is held.
func (d *Driver) failure(op string) (err error) {
	for i := range d.fails {
		if d.fails[i].op == op {
			if d.fails[i].n == 0 {
				err = d.fails[i].err
			}
			d.fails[i].n--
		}
	}
	d.fails = slices.DeleteFunc(d.fails, func(f failure) bool { return f.n < 0 })
	return err
}

// submit runs work now, or on Release.
func (d *Driver) submit(run func()) {
	d.mu.Lock()
	if d.held {
		d.queue = append(d.queue, run)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	run()
}

// Name is "fake".
func (d *Driver) Name() string { return "fake" }

// Present returns Missing.
func (d *Driver) Present() error { return d.Missing }

// Devices returns Infos, by index.
func (d *Driver) Devices() ([]gpu.Info, error) {
	infos := slices.Clone(d.Infos)
	for i := range infos {
		infos[i].Index = i
	}
	return infos, d.Missing
}

// Open opens a device.
func (d *Driver) Open(index int) (gpu.Device, error) {
	if err := d.did("open", "%d", index); err != nil {
		return nil, err
	}
	infos, err := d.Devices()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(infos) {
		return nil, &gpu.Error{Code: gpu.NoDriver, Device: "fake", Op: "open", Index: -1,
			Text: fmt.Sprintf("got device %d, want less than %d", index, len(infos))}
	}
	return &device{driver: d, info: infos[index], live: map[*buffer]bool{}}, nil
}

type device struct {
	driver *Driver
	info   gpu.Info
	mu     sync.Mutex
	live   map[*buffer]bool
	usage  gpu.Usage
	closed bool
}

func (d *device) name() string { return fmt.Sprintf("fake:%d", d.info.Index) }

func (d *device) misused(op, format string, args ...any) error {
	return gpu.Misused(d.name(), op, format, args...)
}

// Info describes the device.
func (d *device) Info() gpu.Info { return d.info }

// Alloc takes memory of the process.
func (d *device) Alloc(bytes int, m gpu.Memory) (gpu.Buffer, error) {
	if err := d.driver.did("alloc", "%d %d", bytes, m); err != nil {
		return nil, err
	}
	if bytes < 1 || int64(bytes) > d.info.Limits.Buffer {
		return nil, d.misused("alloc", "got %d bytes, want 1 to %d", bytes, d.info.Limits.Buffer)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if free := d.info.Memory - d.usage.InUse; int64(bytes) > free {
		return nil, &gpu.Error{Code: gpu.OutOfMemory, Device: d.name(), Op: "alloc", Want: int64(bytes), Free: free, Index: -1}
	}
	d.usage.InUse += int64(bytes)
	d.usage.Peak = max(d.usage.Peak, d.usage.InUse)
	d.driver.mu.Lock()
	d.driver.next += 1 << 32
	b := &buffer{device: d, bytes: make([]byte, bytes), address: d.driver.next}
	d.driver.mu.Unlock()
	for i := range b.bytes {
		b.bytes[i] = 0xA5 // what is in new memory is undefined
	}
	d.live[b] = true
	return b, nil
}

// Trace notes when it begins and when it ends.
func (d *device) Trace(path string) (stop func() error, err error) {
	if err := d.driver.did("trace", "%s", path); err != nil {
		return nil, err
	}
	return func() error { return d.driver.did("traced", "%s", path) }, nil
}

// Usage says what buffers take.
func (d *device) Usage() (gpu.Usage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.usage
	u.Total, u.Free = d.info.Memory, d.info.Memory-u.InUse
	return u, nil
}

// Close refuses a second time.
func (d *device) Close() error {
	if err := d.driver.did("close", "%s", d.name()); err != nil {
		return err
	}
	if d.closed {
		return d.misused("close", "the device was closed before")
	}
	d.closed = true
	return nil
}

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
	device  *device
	bytes   []byte
	address uint64
}

func (b *buffer) Len() int        { return len(b.bytes) }
func (b *buffer) Address() uint64 { return b.address }
func (b *buffer) Host() []byte    { return b.bytes }

// Free panics the second time, because a driver would free another buffer's memory.
func (b *buffer) Free() {
	b.device.driver.did("free", "%d", len(b.bytes))
	d := b.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.live[b] {
		panic("fake: a buffer was freed twice")
	}
	delete(d.live, b)
	d.usage.InUse -= int64(len(b.bytes))
}
