package events

import (
	"context"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/ticks"
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

// A Run is one run of a plan. Only records that trace ask for more than Work, Times and Reused.
type Run struct {
	*Work
	Began   time.Duration   // when the evaluation was asked for: see Now
	Planned time.Duration   // when its plan was there
	Ended   time.Duration   // when its launches were done
	Stack   string          // the places that were under way: see ir.Stack
	Reused  bool            // the plan was built earlier; if not, kernels were compiled before Planned
	Times   []time.Duration // of each launch; nil if no record is timed
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
func Now() time.Duration { return ticks.Now() }

// Now is the time if one of the records traces, else 0.
func (rs *Records) Now() time.Duration {
	if !rs.Tracing() {
		return 0
	}
	return Now()
}

// Tracing says whether one of the records keeps each run.
func (rs *Records) Tracing() bool { return rs.have(Trace) }

// Traced returns what was traced so far.
func (r *Record) Traced() Traced {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tape.read(r.sites)
}

// Evaluating is how many runs the innermost record of ctx has traced so far, and how long they have taken.
func Evaluating(ctx context.Context) (runs int, took time.Duration) {
	r, ok := ctx.Value(key).(*Record)
	if !ok {
		return 0, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evaluations, r.evaluating
}
