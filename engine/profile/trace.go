package profile

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Trace is what was done, one by one, in its order in time. All times count from the start of the
// recording.
type Trace struct {
	Launches []Launch
	Evals    []Eval
	Copies   []Copy
	Dropped  int // launches that were too many to keep; the counts of the recording have them
}

// A Launch is one command to a device.
type Launch struct {
	Kernel string
	Device string // its name
	Kind   string // "map", "reduce", "matmul", "row", "single"
	Eval   int    // the evaluation that it belongs to: a place in Trace.Evals
	Ops    []Op   // what was fused into it, in the order in which it is computed
	Reads  []Value
	Writes []Value
	Bytes  int64         // inputs and outputs, each once
	Flops  int64         // what the mathematics needs
	Start  time.Duration // the launches of an evaluation are taken to follow each other without a gap
	Time   time.Duration // on the device
	From   []Origin

	origins []ir.Origin
	source  func() string
}

// An Op is one instruction of a kernel.
type Op struct {
	Name  string
	DType dtype.Type
	Shape []int
}

// A Value is memory that a launch reads or writes.
type Value struct {
	Launch int // of a value that is read: the launch that has made it, a place in Trace.Launches; -1 if it was there before
	Write  int // which of that one's Writes
	DType  dtype.Type
	Shape  []int
	Bytes  int64
	Result bool // somebody holds it after the evaluation
}

// An Origin says where a launch comes from.
type Origin struct {
	Place string   // "In[3]:2", or what else WithPlaces was told; empty if that is not known
	Op    string   // what was called: "matmul"; of a gradient, the operation whose gradient it is
	Pass  string   // "forward", "backward", "optimizer"
	Stack []string `json:",omitempty"` // the places that were under way, the outermost first: Place is the last one
	// Heavy says that the operation does more for each number than others: a product, an attention, a
	// convolution.
	Heavy bool `json:",omitempty"`
}

// An Eval is one evaluation: a plan that was made or found, and its launches.
type Eval struct {
	Launches int           // as Recording.Launches counts them: a Launch whose kernel is several counts as so many
	Stack    []string      // the places that were under way (WithPlaces), the outermost first
	Reused   bool          // the plan was there; if not, it was made and its kernels compiled, before Planned
	Start    time.Duration // when it was asked for
	Planned  time.Duration // when its plan was there
	End      time.Duration // when its launches were done
	Busy     time.Duration // that the device computed
}

// A Copy is a copy between host and device.
type Copy struct {
	Start, Time time.Duration
	Bytes       int64
}

// RecordTraced is RecordTimed, and keeps each launch by itself.
func RecordTraced(ctx context.Context, f func(ctx context.Context)) *Recording {
	return record(ctx, events.Times|events.Trace, f)
}

// Evaluating is how many evaluations RecordTraced has recorded so far, of which ctx is the context, and how
// long they have taken. Any goroutine may ask.
func Evaluating(ctx context.Context) (n int, took time.Duration) { return events.Evaluating(ctx) }

// Pause keeps what is done until resume is called out of the recording by RecordTraced that ctx is within: it
// is neither part of it nor work of others, and its time is not that of the recording. Ledgers within the
// recording do not see it either.
func Pause(ctx context.Context) (resume func()) { return events.Pause(ctx) }

// newTrace is what a record has traced since start.
func newTrace(t events.Traced, start time.Duration) *Trace {
	launches := 0
	for _, run := range t.Runs {
		launches += len(run.Launches)
	}
	out := &Trace{Dropped: t.Dropped, Launches: make([]Launch, 0, launches), Evals: make([]Eval, 0, len(t.Runs))}
	stacks := map[string][]string{"": nil}
	for _, run := range t.Runs {
		stack, known := stacks[run.Stack]
		if !known {
			stack = strings.Split(run.Stack, "\n")
			stacks[run.Stack] = stack
		}
		out.addRun(run, stack, start)
	}
	for _, c := range t.Copies {
		out.Copies = append(out.Copies, Copy{c.Began - start, c.Took, c.Bytes})
	}
	return out
}

func (t *Trace) addRun(run events.Run, stack []string, start time.Duration) {
	e := Eval{Launches: run.Work.Count(), Stack: stack, Reused: run.Reused, Start: run.Began - start, Planned: run.Planned - start, End: run.Ended - start}
	for _, took := range run.Times {
		e.Busy += took
	}
	at := e.End - e.Busy
	makers := map[int]Value{}
	for i, l := range run.Launches {
		launch := Launch{Kernel: l.Kernel, Device: run.Device, Eval: len(t.Evals), Bytes: l.Bytes, Flops: l.Flops, Start: at}
		if run.Times != nil {
			launch.Time = run.Times[i]
			at += launch.Time
		}
		if run.Origins != nil {
			launch.origins = run.Origins[i]
			launch.From = originsOf(run.Origins[i])
		}
		if l.Detail != nil {
			launch.detail(l.Detail, len(t.Launches), makers)
		}
		t.Launches = append(t.Launches, launch)
	}
	t.Evals = append(t.Evals, e)
}

// detail fills in what the launch at place at does. Makers has who has made each value of the evaluation.
func (l *Launch) detail(d *events.Detail, at int, makers map[int]Value) {
	l.Kind = d.Kind
	for _, op := range d.Ops {
		l.Ops = append(l.Ops, Op(op))
	}
	for _, in := range d.In {
		v := Value{Launch: -1, DType: in.DType, Shape: in.Shape, Bytes: in.Bytes}
		if m, ok := makers[in.ID]; ok && !in.Stored {
			v.Launch, v.Write = m.Launch, m.Write
		}
		l.Reads = append(l.Reads, v)
	}
	for i, out := range d.Out {
		v := Value{Launch: at, Write: i, DType: out.DType, Shape: out.Shape, Bytes: out.Bytes, Result: out.Wanted}
		makers[out.ID] = v
		l.Writes = append(l.Writes, v)
	}
	l.source = d.Source
}

// heavy are the families of operations that do more than a little for each number.
var heavy = []ir.Family{ir.FamilyMatMul, ir.FamilyAttention, ir.FamilyConv}

func originsOf(list []ir.Origin) []Origin {
	out := make([]Origin, len(list))
	for i, o := range list {
		out[i] = Origin{Place: o.Line(), Op: o.Op.String(), Pass: o.Pass.String(), Heavy: slices.Contains(heavy, o.Op.Family())}
		if o.Place != "" {
			out[i].Stack = strings.Split(o.Place, "\n")
		}
	}
	return out
}

// Makers are the stacks of places (Origin.Stack) whose work a launch is: one for each place, none if no place
// is known. Of several the launch does not tell how much of its time each took. One that does most of its
// arithmetic in products is the work of those who asked for them.
func (l *Launch) Makers() (stacks [][]string) {
	written := int64(1)
	for _, w := range l.Writes {
		written += w.Bytes / int64(max(1, w.DType.Size()))
	}
	const much = 64 // operations for each number written
	products := l.Flops >= much*written && slices.ContainsFunc(l.From, func(o Origin) bool { return o.Heavy })
	var places []string
	for _, o := range l.From {
		if o.Place != "" && (o.Heavy || !products) && !slices.Contains(places, o.Place) {
			places, stacks = append(places, o.Place), append(stacks, o.Stack)
		}
	}
	return stacks
}

// Source is the program that ran: the device's text or assembly if it has such, else the instructions that
// the device's kernel was compiled from.
func (l *Launch) Source() string {
	if l.source == nil {
		return ""
	}
	return l.source()
}

// Origins writes down where launches come from: "In[3]:2 matmul, silu", "In[3]:2 backward of matmul". It is
// one text for each place and pass.
func Origins(launches ...*Launch) []string {
	var all []ir.Origin
	for _, l := range launches {
		for _, o := range l.origins {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return ir.Origins(all)
}

// WithPlaces returns a context within which (tensor.Within) tensors remember where they were made. place is
// called with the name of each operation, "layer_norm", by the goroutine that calls it, and says where the
// program is: "In[3]:2". It must be quick, and empty where nothing is known. What was made so says in plans
// and profiles where it comes from; a gradient names the place of the operation whose gradient it is.
// Without an operation it is all places under way, the outermost first, a line each: those of an evaluation.
func WithPlaces(ctx context.Context, place func(op string) string) context.Context {
	return ir.WithPlaces(ctx, place)
}
