// Package device says on which devices tensors can live, what they are, how much memory is in use there, and
// how fast they can be at most.
//
// A new tensor lives on the [Default] device, at first the fastest that this machine has; [Use] changes that.
// An operation takes tensors of one device; Tensor.To copies from one to another.
//
// A device has a name. What follows a colon is a number of threads, or which of several it is:
//
//   - "cpu", the processor, is always there, with as many threads as Go may use (GOMAXPROCS). "cpu:1" is the
//     processor with one thread, "cpu:4" with four.
//   - "ref" computes in float64, one element at a time, to check the others.
//   - "metal" is a Mac's GPU; "cuda:0", or just "cuda", and "cuda:1" are NVIDIA's, where the build has them.
//
// "cpu" and "cpu:4" are two devices. On one device the launches of several goroutines take turns; devices
// with few threads compute side by side, as long as their threads together are no more than "cpu" has. The
// number of threads changes how long something takes and no bit of a result.
//
// [List] only looks; a device is opened by the first [Lookup] or [Use] of its name, and stays open until
// [Device.Close].
package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	_ "github.com/mcs-notebook/mcs/engine/internal/backend/all" // the backends register themselves
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Device is where tensors live and where their kernels run. Two Devices are equal when they are the same
// device. The zero Device is no device.
type Device struct {
	dev *backend.Device
}

// Info describes a device.
type Info struct {
	Name    string       // what Lookup finds it by
	Detail  string       // "2 threads, avx512"; what it is and what drives it: ceilings are kept for that
	DTypes  []dtype.Type // the element types of which it can compute
	Threads int          // of a processor; 0 of an accelerator
	Memory  int64        // bytes that the device has, 0 if unknown
}

func init() {
	backend.Public = func(d *backend.Device) any { return Device{d} }
	backend.Inside = func(public any) *backend.Device { return public.(Device).dev }
}

// String returns the name, "cpu".
func (d Device) String() string {
	if d.dev == nil {
		return "no device"
	}
	return d.dev.String()
}

// Info says what the device is and can do.
func (d Device) Info() Info {
	if d.dev == nil {
		return Info{}
	}
	i := d.dev.Backend().Info()
	return Info{Name: d.dev.String(), Detail: i.Detail, DTypes: i.DTypes, Threads: i.Threads, Memory: i.Memory}
}

// Sync waits until everything that was started on the device is done, as long as the caller's context allows
// (tensor.Within). It returns the errors that the device found late and of which nobody was told yet.
func (d Device) Sync() error {
	if d.dev == nil {
		return nil
	}
	if err := d.dev.Err(); err != nil {
		return err
	}
	return d.dev.Sync(scope.Context())
}

// Capture lets the device write what it does, until stop, into a file for the tools of its vendor: Metal's is
// a .gputrace, for Xcode. The file must not exist, and its folder must. Other devices write none, and macOS
// does for programs that were started with METAL_CAPTURE_ENABLED=1: the error says so.
func (d Device) Capture(path string) (stop func() error, err error) {
	if d.dev == nil {
		return nil, errors.New("device: got no device to capture")
	}
	c, ok := d.dev.Backend().(backend.Capturer)
	if !ok {
		return nil, fmt.Errorf("%s writes no such file: a .gputrace is Metal's", d)
	}
	return c.Capture(path)
}

// Queues says whether there is a device in use that may still be at work when an evaluation has returned.
func Queues() bool {
	return slices.ContainsFunc(backend.Opened(), func(d *backend.Device) bool { return !d.Host() && d.Err() == nil })
}

// Sync waits until everything that was started on any device is done.
func Sync() error {
	ctx := scope.Context()
	for _, d := range backend.Opened() {
		if d.Err() != nil {
			continue // it was lost, and has nothing to wait for
		}
		if err := d.Sync(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A Flight has the evaluations of a context that devices have not done yet. A device may find an error (an
// index out of range) after the evaluation has returned; then nothing that depends on it can be read, and
// Land tells of it. The zero Flight is ready.
type Flight struct{ flight backend.Flight }

// WithFlight returns a context whose evaluations f has.
func WithFlight(ctx context.Context, f *Flight) context.Context {
	return backend.WithFlight(ctx, &f.flight)
}

// Land waits for the evaluations, as long as ctx allows, and returns the errors of which nobody was told yet.
func (f *Flight) Land(ctx context.Context) error { return f.flight.Wait(ctx) }

// Forget forgets them: their errors are told only when a value is read.
func (f *Flight) Forget() { f.flight.Forget() }

// Memory is how a device's memory is used, in bytes.
type Memory struct {
	InUse int64 // tensors and plans that are running
	Peak  int64 // the most that was ever in use, since ResetPeak
	Plan  int64 // what the largest evaluation since ResetPeak took for its results and on the way to them
	Kept  int64 // kept for reuse
	Total int64 // what the device has, 0 if unknown
}

// Memory says how the device's memory is used.
func (d Device) Memory() Memory {
	if d.dev == nil {
		return Memory{}
	}
	inUse, peak, kept := d.dev.MemoryInUse()
	return Memory{InUse: inUse, Peak: peak, Plan: d.dev.LargestPlan(), Kept: kept, Total: d.dev.Backend().Info().Memory}
}

// ResetPeak lets Memory.Peak start again from what is in use.
func (d Device) ResetPeak() {
	if d.dev != nil {
		d.dev.ResetPeak()
	}
}

// FreeCache gives memory that is kept for reuse back to the system.
func (d Device) FreeCache() {
	if d.dev != nil {
		d.dev.FreeCache()
	}
}

// A Choice holds which device is the default. The zero Choice holds the process's, until [Use] makes another
// one.
type Choice struct {
	choice backend.Choice
}

// WithChoice returns a context with a default device of its own: within it (see tensor.Within) new tensors
// live on c's device, and [Use] changes c.
func WithChoice(ctx context.Context, c *Choice) context.Context {
	return backend.WithChoice(ctx, &c.choice)
}

// On returns a context with the default device d: within it (see tensor.Within) new tensors live there.
func On(ctx context.Context, d Device) context.Context {
	c := new(backend.Choice)
	c.Set(d.dev)
	return backend.WithChoice(ctx, c)
}

// Default returns the device on which new tensors live.
func Default() Device { return Device{backend.Default()} }

// Use makes the device with that name the default: of the code within a context that [WithChoice] gave a
// default of its own, or else of all other code of the process.
func Use(name string) error {
	d, err := Lookup(name)
	if err != nil {
		return err
	}
	backend.Use(d.dev)
	return nil
}

// Lookup opens the device with that name, as "cpu" or "cuda:1", or returns the one that is open already. The
// error lists the names that there are, and what is missing and why.
func Lookup(name string) (Device, error) {
	d, err := backend.Open(name)
	if err != nil {
		return Device{}, err
	}
	return Device{d}, nil
}

// Found is a device that [List] has found. Its name is for [Lookup] and [Use].
type Found struct {
	Name    string // "cpu", "cuda:1"
	Detail  string // "2 threads, avx512"
	Memory  int64  // bytes that the device has, 0 if unknown
	Missing string // why it cannot be used, "no driver: libcuda.so.1 is not found"; empty if it is there
	Open    bool   // it is open
}

// List lists the devices of this machine, the fastest first, and what is missing. It opens none. It includes
// devices with a number of threads ("cpu:4") as long as they are open.
func List() []Found {
	var list []Found
	for _, f := range backend.List() {
		list = append(list, Found(f))
	}
	return list
}

// Opened lists the devices that are open, the fastest first.
func Opened() []Device {
	var list []Device
	for _, d := range backend.Opened() {
		list = append(list, Device{d})
	}
	return list
}

// Close closes the device. Its memory goes back to the system; tensors that live there have no values any
// more, and whatever reads one fails with [ErrLost]. The next Lookup or Use of its name, or a new tensor if
// it is the default, opens it anew. A device that fails with ErrLost by itself need not be closed.
func (d Device) Close() error {
	if d.dev == nil {
		return nil
	}
	return backend.Close(d.dev)
}

// ErrLost is in each error about a device that was lost or closed.
var ErrLost = backend.ErrLost

// InUse is how many bytes tensors hold on all devices. It opens none.
func InUse() int64 {
	bytes, _ := backend.InUse()
	return bytes
}

// HostInUse is InUse without the devices that have memory of their own, as NVIDIA's GPUs do.
func HostInUse() int64 {
	_, bytes := backend.InUse()
	return bytes
}

// CPU returns the processor, which every machine has. Without a number, or with 0, it has as many threads as
// Go may use, else the first number's, of which it takes 1 to 1024.
func CPU(threads ...int) Device {
	name := backend.Host
	if len(threads) > 0 && threads[0] != 0 {
		name = fmt.Sprintf("%s:%d", name, min(max(threads[0], 1), backend.MaxThreads))
	}
	d, err := Lookup(name)
	if err != nil {
		panic(fmt.Sprintf("device: this build has no cpu backend: %v", err))
	}
	return d
}
