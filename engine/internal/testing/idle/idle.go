// Package idle is a gpu.Driver whose device does nothing: kernels compile at once, and work is over as soon
// as it is committed, or some time after the work before. What is left of a run is what the host does for it.
package idle

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// A Driver has one device, of the size of an H200. Its memory has addresses and no bytes, but for what the
// host sees, which nobody but the host writes.
type Driver struct {
	// Takes is how long the device works on a commit with dispatches.
	Takes time.Duration
	Counts

	next atomic.Uint64
}

// Counts are what the device was asked for.
type Counts struct{ Commits, Dispatches, Copies, Records, Replays atomic.Int64 }

// Register makes the device known, as "idle", and returns its driver. To do so again returns another one,
// which no device has.
func Register() *Driver {
	d := &Driver{}
	if !slices.Contains(backend.Names(), d.Name()) {
		backend.Register(backend.Driver{
			Name:  d.Name(),
			Probe: func() []backend.Found { return []backend.Found{{Name: d.Name(), Detail: "does nothing"}} },
			Open:  func(int) (backend.Backend, error) { return gpu.Open(d, 0, d.Name()) },
		})
	}
	return d
}

// Name is "idle".
func (d *Driver) Name() string { return "idle" }

// Present is nil.
func (d *Driver) Present() error { return nil }

// Devices describes the device.
func (d *Driver) Devices() ([]gpu.Info, error) {
	return []gpu.Info{{Name: "Idle", Driver: "idle 1.0", Family: "sm_90", Memory: 140 << 30, Language: gpu.CUDA, Limits: gpu.Limits{
		Threads: 1024, ThreadgroupMemory: 227 << 10, Simdgroup: 32, Processors: 132, Groups: gpu.Size{X: 1<<31 - 1, Y: 65535, Z: 65535},
		Args: 31, InlineBytes: 4096, Alignment: 256, Buffer: 140 << 30}}}, nil
}

// Open opens the device.
func (d *Driver) Open(int) (gpu.Device, error) {
	infos, _ := d.Devices()
	return &device{Owner: gpu.Owner{Name: d.Name()}, driver: d, info: infos[0]}, nil
}

type device struct {
	gpu.Owner
	driver *Driver
	info   gpu.Info
}

func (d *device) Info() gpu.Info { return d.info }

func (d *device) Alloc(bytes int, m gpu.Memory) (gpu.Buffer, error) {
	h := &gpu.Held{Owner: &d.Owner, Bytes: bytes, At: d.driver.next.Add(uint64(bytes+255)&^255 + 256), Release: func() {}}
	if m == gpu.SharedMemory {
		h.Memory = make([]byte, bytes)
	}
	return h, nil
}

func (d *device) Usage() (gpu.Usage, error) {
	return gpu.Usage{Free: d.info.Memory, Total: d.info.Memory}, nil
}

func (d *device) Compile(context.Context, gpu.Source) (gpu.Library, error) { return library{}, nil }
func (d *device) Load(string, []byte) (gpu.Library, error)                 { return library{}, nil }
func (d *device) Stream() (gpu.Stream, error)                              { return &stream{device: d}, nil }
func (d *device) Close() error                                             { return nil }

type library struct{}

func (library) Pipeline(name string, _ ...gpu.Constant) (gpu.Pipeline, error) {
	return pipeline(name), nil
}
func (library) Close() {}

type pipeline string

func (p pipeline) Name() string { return string(p) }
func (p pipeline) Limits() gpu.PipelineLimits {
	return gpu.PipelineLimits{Threads: 1024, Simdgroup: 32, ThreadgroupMemory: 1024, Registers: 32}
}
func (p pipeline) Close() {}

// A stream counts what is encoded.
type stream struct {
	device    *device
	recording bool
	recorded  int
	works     bool      // a dispatch was encoded since the last commit
	ends      time.Time // of what was committed
}

func (s *stream) Dispatch(d *gpu.Dispatch) error {
	if err := s.device.CheckDispatch(d, s.device.info.Limits, func(gpu.Pipeline) error { return nil }); err != nil {
		return err
	}
	s.device.driver.Dispatches.Add(1)
	if s.recording {
		s.recorded++
	} else {
		s.works = true
	}
	return nil
}

func (s *stream) Copy(gpu.Buffer, int, gpu.Buffer, int, int) error {
	s.device.driver.Copies.Add(1)
	return nil
}
func (s *stream) Fill(gpu.Buffer, int, int, byte) error { return nil }
func (s *stream) Barrier() error                        { return nil }
func (s *stream) Stamp() (gpu.Stamp, error)             { return stamp{}, nil }
func (s *stream) Free(b gpu.Buffer)                     { b.Free() }
func (s *stream) Close() error                          { return nil }

func (s *stream) After(e gpu.Event) error {
	if ends := time.Time(e.(event)); ends.After(s.ends) {
		s.ends = ends
	}
	return nil
}

func (s *stream) Commit() (gpu.Event, error) {
	s.device.driver.Commits.Add(1)
	if takes := s.device.driver.Takes; takes > 0 && s.works {
		now := time.Now()
		if s.ends.Before(now) {
			s.ends = now
		}
		s.ends = s.ends.Add(takes)
	}
	s.works = false
	return event(s.ends), nil
}

func (s *stream) Record() error {
	s.device.driver.Records.Add(1)
	s.recording, s.recorded = true, 0
	return nil
}

func (s *stream) Finish() (gpu.Graph, error) {
	s.recording = false
	return graph(s.recorded), nil
}

type graph int

func (g graph) Replay(s gpu.Stream) error {
	to := s.(*stream)
	to.works = true
	to.device.driver.Replays.Add(1)
	return nil
}
func (g graph) Bind(int, []gpu.Arg) error { return nil }
func (g graph) Launches() int             { return int(g) }
func (g graph) Close()                    {}

// An event is when the work is over.
type event time.Time

func (e event) Done() (bool, error) { return !time.Now().Before(time.Time(e)), nil }

func (e event) Wait(ctx context.Context, limit time.Duration) error {
	return gpu.Poll(ctx, limit, e.Done, func() error { return context.DeadlineExceeded })
}
func (e event) Close() {}

type stamp struct{}

func (stamp) Since(gpu.Stamp) (time.Duration, error) { return time.Microsecond, nil }
func (stamp) Close()                                 {}
