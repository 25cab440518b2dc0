package events

import (
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// A Detail is what one launch of a plan does. It is the same in each run of the plan, and holds no tensor.
type Detail struct {
	Kind    string // "map", "reduce", "matmul", "row", "single"
	Ops     []Op   // what is computed, in the order in which it is
	In, Out []Value
	Source  func() string // the text of what runs
}

// An Op is one instruction of a kernel.
type Op struct {
	Name  string
	DType dtype.Type
	Shape []int
}

// A Value is memory that a launch reads or writes. Launches of one plan that name the same ID mean the same
// value.
type Value struct {
	ID     int
	DType  dtype.Type
	Shape  []int
	Bytes  int64
	Stored bool // it was there before the run
	Wanted bool // it is a result of the run
}

// A Run is one run of a plan, of a record that traces.
type Run struct {
	*Work
	Began   time.Duration   // when the evaluation was asked for: see Now
	Planned time.Duration   // when its plan was there
	Ended   time.Duration   // when its launches were done
	Stack   []string        // the places that were under way: see ir.Stack
	Reused  bool            // the plan was built earlier; if not, kernels were compiled before Planned
	Times   []time.Duration // of each launch
	Origins [][]ir.Origin   // where each launch comes from; nil if that is not known
}

// A Copy is a copy between host and device, of a record that traces.
type Copy struct {
	Began, Took time.Duration
	Bytes       int64
}

// A Traced is all that a record has traced, in its order in time.
type Traced struct {
	Runs    []Run
	Copies  []Copy
	Dropped int // launches that were too many to keep
}

// Now is the time since the process began.
func Now() time.Duration { return machine.Now() }

// mostTraced is how many launches and copies a record keeps one by one.
const mostTraced = 1 << 16

// Tracing says whether one of the records keeps each run.
func (rs Records) Tracing() bool {
	for _, r := range rs {
		if r.traces {
			return true
		}
	}
	return false
}

// Traced tells of one run of a plan in full, besides [Records.Ran]. The times may be changed afterwards.
func (rs Records) Traced(run Run) {
	for _, r := range rs {
		if r.traces {
			r.trace(run)
		}
	}
}

// block is for how many runs, or times, memory is taken at once if there are n already: to keep a run must
// cost little, and a list that grows is copied.
func block(n int) int { return min(max(n, 32), 1<<10) }

func (r *Record) trace(run Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.kept+len(run.Launches) > mostTraced {
		r.dropped += len(run.Launches)
		return
	}
	r.kept += len(run.Launches)
	if cap(r.times)-len(r.times) < len(run.Times) {
		r.times = make([]time.Duration, 0, max(block(r.kept), len(run.Times)))
	}
	from := len(r.times)
	r.times = append(r.times, run.Times...)
	run.Times = r.times[from:len(r.times):len(r.times)]
	last := len(r.runs) - 1
	if last < 0 || len(r.runs[last]) == cap(r.runs[last]) {
		r.runs = append(r.runs, make([]Run, 0, block(r.kept)))
		last++
	}
	r.runs[last] = append(r.runs[last], run)
}

// Traced returns what was traced so far.
func (r *Record) Traced() Traced {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Traced{slices.Concat(r.runs...), slices.Clone(r.copies), r.dropped}
}
