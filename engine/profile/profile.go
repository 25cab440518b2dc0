// Package profile counts what the engine does: kernels launched, by name, with the bytes and flops that they
// need; copies between host and device; plans built and plans used again; and, when asked, the time that each
// kernel took.
//
//	r := profile.Start()
//	y.Eval()
//	fmt.Println(r.Stop())
//
// Nothing is recorded, and nothing costs more than an atomic addition, unless a [Recording] is open.
// Recordings may overlap; each sees everything that the process does while it is open.
package profile

import (
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/events"
)

// A Kernel is what was recorded of all launches of one name.
type Kernel struct {
	Name     string
	Launches int
	Bytes    int64         // inputs and outputs, each once: what the work needs, not what caches moved
	Flops    int64         // what the mathematics needs
	Time     time.Duration // on the device; 0 unless the recording is timed
}

// A Recording is what was done between Start and Stop. Its fields are complete after Stop.
type Recording struct {
	Kernels     []Kernel // in the order of their first launch
	Launches    int
	Copies      int // between host and device, in either direction
	CopiedBytes int64
	PlansBuilt  int
	PlansReused int
	Wall        time.Duration // from Start to Stop
	Timed       bool

	start time.Time
	index map[string]int // name -> place in Kernels
}

// Start begins a recording of counts.
func Start() *Recording { return begin(false) }

// StartTimed begins a recording with the time of each kernel. To measure it, devices run one kernel after the
// other and wait for each: the whole then takes longer than without.
func StartTimed() *Recording { return begin(true) }

func begin(withTimes bool) *Recording {
	r := &Recording{Timed: withTimes, start: time.Now(), index: map[string]int{}}
	events.Listen((*recorder)(r))
	return r
}

// Stop ends the recording and returns it. A second Stop changes nothing.
func (r *Recording) Stop() *Recording {
	if events.Ignore((*recorder)(r)) {
		r.Wall = time.Since(r.start)
	}
	return r
}

// Total returns the number of launches since the process began.
func Total() int64 { return events.Total() }

// A recorder is a Recording as the engine sees it.
type recorder Recording

// WantsTimes says whether the recording is timed.
func (r *recorder) WantsTimes() bool { return r.Timed }

// Launched adds launches.
func (r *recorder) Launched(launches []events.Launch, times []time.Duration, reused bool) {
	if reused {
		r.PlansReused++
	} else {
		r.PlansBuilt++
	}
	for i, l := range launches {
		var took time.Duration
		if r.Timed && i < len(times) {
			took = times[i]
		}
		r.add(l, took)
	}
}

func (r *recorder) add(l events.Launch, took time.Duration) {
	i, ok := r.index[l.Kernel]
	if !ok {
		i = len(r.Kernels)
		r.index[l.Kernel] = i
		r.Kernels = append(r.Kernels, Kernel{Name: l.Kernel})
	}
	k := &r.Kernels[i]
	k.Launches++
	k.Bytes += l.Bytes
	k.Flops += l.Flops
	k.Time += took
	r.Launches++
}

// Copied adds a copy between host and device.
func (r *recorder) Copied(bytes int64) {
	r.Copies++
	r.CopiedBytes += bytes
}

// Bytes is the sum over all kernels.
func (r *Recording) Bytes() int64 {
	return sum(r, func(k Kernel) int64 { return k.Bytes })
}

// Flops is the sum over all kernels.
func (r *Recording) Flops() int64 {
	return sum(r, func(k Kernel) int64 { return k.Flops })
}

// DeviceTime is the sum over all kernels; 0 unless the recording is timed.
func (r *Recording) DeviceTime() time.Duration {
	return time.Duration(sum(r, func(k Kernel) int64 { return int64(k.Time) }))
}

func sum(r *Recording, of func(Kernel) int64) (n int64) {
	for _, k := range r.Kernels {
		n += of(k)
	}
	return n
}
