// Package profile counts what the engine does: kernels launched, by name, with the bytes and flops that they
// need; copies between host and device; plans built and plans used again; and, when asked, the time that each
// kernel took.
//
//	r := profile.Record(ctx, func(context.Context) { y.Eval() })
//	fmt.Println(r)
//
// A [Recording] belongs to a context. It has what is done within that, by the function or by goroutines that
// work within the function's context; and what is done by goroutines without any context, because the
// function may have started them. What others launched meanwhile is counted apart. Recordings may overlap,
// and stand in each other.
//
// Nothing is recorded, and nothing costs more than an atomic addition, unless a Recording is open.
package profile

import (
	"context"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/ticks"
)

// A Kernel is what was recorded of all launches of one name.
type Kernel struct {
	Name     string
	Device   string
	Launches int
	Bytes    int64 // inputs and outputs, each once: what the work needs, not what caches moved
	Flops    int64 // what the mathematics needs
	// Uncounted says that Flops are not known: those of a kernel that a person wrote (package kernel), who
	// did not say them.
	Uncounted bool
	Time      time.Duration // on the device; 0 unless the recording is timed
}

// A Merged is equal work that was asked for several times and done once.
type Merged struct {
	Op    string // with its result, "matmul f32[512 512]"
	Times int    // how often it was asked for beyond the one time
}

// A Recording is what was done while a function ran.
type Recording struct {
	Kernels     []Kernel // in the order of their first launch
	Launches    int
	Others      int // launches that were made meanwhile within other contexts
	Copies      int // between host and device, in either direction
	CopiedBytes int64
	PlansBuilt  int
	PlansReused int
	Merged      []Merged
	Devices     []string      // on which the launches were, in the order of their first ones
	Working     map[int64]int `json:"-"` // launches by the bytes that each works on
	DType       dtype.Type    // in which arithmetic was done: of several the narrowest; Invalid: there was none
	Wall        time.Duration // that the function took, without what others had left undone
	Trace       *Trace        `json:",omitempty"` // nil unless each launch was kept: see RecordTraced
	Timed       bool
	Remarks     []string `json:",omitempty"` // what is to be said of the work, by those who had it recorded
	Unsound     bool     `json:",omitempty"` // the clock that times were taken by turned out wrong meanwhile
}

// Record calls f within a context that is made from ctx, and returns what was done within it.
func Record(ctx context.Context, f func(ctx context.Context)) *Recording { return record(ctx, 0, f) }

// RecordTimed is Record with the time of each kernel. To measure it, devices run one kernel after the other
// and wait for each: the whole then takes longer than without.
func RecordTimed(ctx context.Context, f func(ctx context.Context)) *Recording {
	return record(ctx, events.Times, f)
}

func record(ctx context.Context, with events.Option, f func(context.Context)) *Recording {
	ctx, counting := events.Open(ctx, with)
	defer counting.Close()
	sound := with&events.Times != 0 && ticks.Sound()
	start, before := events.Now(), events.Total()
	scope.Within(ctx, func() { f(ctx) })
	wall, all := events.Now()-start, int(events.Total()-before)
	counts := counting.Counts()
	r := collect(counts)
	r.Unsound = sound && !ticks.Sound()
	r.Wall, r.Timed, r.Others = wall-counts.ApartTook, with&events.Times != 0, max(0, all-r.Launches-counts.Apart)
	if with&events.Trace != 0 {
		r.Trace = newTrace(counting.Traced(), start)
	}
	return r
}

// Total returns the number of launches since the process began.
func Total() int64 { return events.Total() }

// collect gathers what was counted by kernel.
func collect(c events.Counts) *Recording {
	r := &Recording{Copies: c.Copies, CopiedBytes: c.CopiedBytes, Working: map[int64]int{}}
	kernels, merged := map[string]int{}, map[string]int{}
	for _, runs := range c.Runs {
		r.PlansBuilt += runs.Built
		if len(runs.Launches) > 0 && !slices.Contains(r.Devices, runs.Device) {
			r.Devices = append(r.Devices, runs.Device)
		}
		r.PlansReused += runs.Count - runs.Built
		r.Launches += runs.Count * runs.Work.Count()
		for i, l := range runs.Launches {
			k := &r.Kernels[placeOf(kernels, l.Kernel+" on "+runs.Device, &r.Kernels)]
			k.Name, k.Device = l.Kernel, runs.Device
			k.Launches += runs.Count * (1 + l.More)
			r.Working[l.Bytes] += runs.Count
			k.Bytes += int64(runs.Count) * l.Bytes
			k.Flops += int64(runs.Count) * l.Flops
			k.Uncounted = k.Uncounted || l.Uncounted
			if t := typeOf(l); l.Flops > 0 && t.Float() && (r.DType == dtype.Invalid || t.Size() < r.DType.Size()) {
				r.DType = t
			}
			if runs.Times != nil {
				k.Time += runs.Times[i]
			}
		}
		for _, m := range runs.Merged {
			all := &r.Merged[placeOf(merged, m.Op, &r.Merged)]
			all.Op = m.Op
			all.Times += runs.Count * m.Times
		}
	}
	return r
}

// typeOf is the type that a launch computes in.
func typeOf(of events.Launch) dtype.Type {
	var l Launch
	if of.Detail != nil {
		for _, v := range of.Detail.In {
			l.Reads = append(l.Reads, Value{DType: v.DType})
		}
		for _, op := range of.Detail.Ops {
			l.Ops = append(l.Ops, Op{DType: op.DType})
		}
	}
	return l.DType()
}

// placeOf returns where in list the element with a name stands, which is a new one at first.
func placeOf[T any](places map[string]int, name string, list *[]T) int {
	i, ok := places[name]
	if !ok {
		i = len(*list)
		places[name] = i
		*list = append(*list, *new(T))
	}
	return i
}

// Bytes is the sum over all kernels.
func (r *Recording) Bytes() int64 {
	return sum(r, func(k Kernel) int64 { return k.Bytes })
}

// Uncounted says that the Flops of some kernels are not known.
func (r *Recording) Uncounted() bool {
	return slices.ContainsFunc(r.Kernels, func(k Kernel) bool { return k.Uncounted })
}

// Flops is the sum over all kernels of which they are known.
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
