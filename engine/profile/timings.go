package profile

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A Roof is how fast a device can be. bench.Ceilings is one.
type Roof interface {
	Flops(t dtype.Type) float64 // operations a second in a type
	Read(bytes int64) float64   // bytes a second, of work on so many bytes
}

// A Limit is what one device can do. Without a Roof nothing is held against it.
type Limit struct {
	Roof  Roof
	Start time.Duration // of the shortest launch
}

// A Bound is what a launch cannot be faster than.
type Bound string

const (
	Compute Bound = "comp"   // its arithmetic
	Memory  Bound = "mem"    // its bytes
	Start   Bound = "launch" // that it is a launch at all
)

// A Timing is what a trace says of the launches of one kernel on one device.
type Timing struct {
	Kernel string
	Device string
	DType  dtype.Type
	Type   string // what it reads and makes, where launches are told apart by that: "f32[4 6] → f32[4]"
	Calls  int
	Total  time.Duration
	Share  float64 // of the device's time
	Mean   time.Duration
	Median time.Duration
	Min    time.Duration
	Max    time.Duration
	Bytes  int64 // of all launches
	Flops  int64
	// Least is how long the launches would take if each reached the ceiling that it is nearest to; Bound is
	// which one that is, for most of that time. Roof is Least over Total: above 1 the figure does not measure
	// the device. All three are zero without a roof.
	Least time.Duration
	Bound Bound
	Roof  float64
	From  []string // see Origins
}

// Impossible says that launches were faster than the device can be, beyond what two measurements differ by
// (bench.Share) and by how much the ceilings may be too low: trust is 1 where nothing speaks against them.
func (t *Timing) Impossible(trust float64) bool { return t.Roof > 1.05*trust }

// Intensity is operations a byte.
func (t *Timing) Intensity() float64 { return float64(t.Flops) / float64(t.Bytes) }

// A gathering is the launches of one kernel on one device.
type gathering struct {
	Timing
	took     []time.Duration
	launches []*Launch
	bounds   map[Bound]float64 // seconds at least, by what bounds them
}

// Timings gathers the launches by kernel and device, and with shapes by what they write, the longest first.
// Limits has what each device can do, by its name; nothing is held against one that is not there.
func (t *Trace) Timings(limits map[string]Limit, shapes bool) []Timing {
	at := map[string]*gathering{}
	var order []*gathering
	var all time.Duration
	for i := range t.Launches {
		l := &t.Launches[i]
		g := &gathering{Timing: Timing{Kernel: l.Kernel, Device: l.Device, DType: l.DType()}, bounds: map[Bound]float64{}}
		if shapes {
			g.Type = l.shape()
		}
		key := l.Kernel + " " + l.Device + " " + g.Type
		if at[key] == nil {
			at[key], order = g, append(order, g)
		}
		g = at[key]
		all += l.Time
		g.took, g.launches = append(g.took, l.Time), append(g.launches, l)
		g.Bytes, g.Flops, g.Total = g.Bytes+l.Bytes, g.Flops+l.Flops, g.Total+l.Time
		if limit := limits[l.Device]; limit.Roof != nil {
			least, bound := l.Least(limit.Roof, limit.Start)
			g.Least += least
			g.bounds[bound] += least.Seconds()
		}
	}
	var list []Timing
	for _, g := range order {
		slices.Sort(g.took)
		g.Calls = len(g.took)
		g.Mean, g.Median = g.Total/time.Duration(g.Calls), (g.took[(g.Calls-1)/2]+g.took[g.Calls/2])/2
		g.Min, g.Max = g.took[0], g.took[g.Calls-1]
		g.From = Origins(g.launches...)
		if all > 0 {
			g.Share = g.Total.Seconds() / all.Seconds()
		}
		if limits[g.Device].Roof != nil && g.Total > 0 {
			g.Roof = g.Least.Seconds() / g.Total.Seconds()
			for _, b := range []Bound{Compute, Memory, Start} {
				if g.Bound == "" || g.bounds[b] > g.bounds[g.Bound] {
					g.Bound = b
				}
			}
		}
		list = append(list, g.Timing)
	}
	slices.SortStableFunc(list, func(a, b Timing) int { return int(b.Total - a.Total) })
	return list
}

// Least is how long a launch would take if it reached the ceiling that it is nearest to.
func (l *Launch) Least(roof Roof, start time.Duration) (time.Duration, Bound) {
	seconds, bound := start.Seconds(), Start
	if rate := roof.Flops(l.DType()); rate > 0 && float64(l.Flops)/rate > seconds {
		seconds, bound = float64(l.Flops)/rate, Compute
	}
	if rate := roof.Read(l.Bytes); rate > 0 && float64(l.Bytes)/rate > seconds {
		seconds, bound = float64(l.Bytes)/rate, Memory
	}
	return time.Duration(math.Round(seconds * 1e9)), bound
}

// DType is the type that a launch computes in: half precision where it reads nothing wider, or else the
// widest that it reads. So a product of f32 is never held against what the device can do in bf16.
func (l *Launch) DType() dtype.Type {
	widest := dtype.Invalid
	consider := func(t dtype.Type) {
		if t.Float() && (widest == dtype.Invalid || t.Size() > widest.Size()) {
			widest = t
		}
	}
	for _, v := range l.Reads {
		consider(v.DType)
	}
	if widest != dtype.Invalid {
		return widest
	}
	for _, op := range l.Ops {
		consider(op.DType)
	}
	if widest == dtype.Invalid && len(l.Writes) > 0 {
		return l.Writes[0].DType
	}
	return widest
}

// shape writes what a launch reads and makes: "f32[4 5] f32[5 6] → f32[4 6]".
func (l *Launch) shape() string {
	texts := func(list []Value) string {
		parts := make([]string, len(list))
		for i, v := range list {
			parts[i] = fmt.Sprintf("%v%v", v.DType, v.Shape)
		}
		return strings.Join(parts, " ")
	}
	return strings.TrimSpace(texts(l.Reads) + " → " + texts(l.Writes))
}

// A Usage is how the time of a recording was spent.
type Usage struct {
	Wall     time.Duration
	Busy     time.Duration // the device computed
	Gaps     time.Duration // between and around the launches of evaluations: the device waited for its turn, or for memory
	Planning time.Duration // plans were looked for, made and compiled
	Copying  time.Duration
	Compiled int // evaluations whose plan was made
}

// Usage adds up how the time of a traced recording was spent.
func (r *Recording) Usage() Usage {
	u := Usage{Wall: r.Wall}
	for _, e := range r.Trace.Evals {
		u.Busy += e.Busy
		u.Planning += e.Planned - e.Start
		u.Gaps += e.End - e.Planned - e.Busy
		if !e.Reused {
			u.Compiled++
		}
	}
	for _, c := range r.Trace.Copies {
		u.Copying += c.Time
	}
	return u
}
