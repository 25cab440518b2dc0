package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Record is what was done within its context. It may be used by several goroutines.
type Record struct {
	timed, notes, traces bool

	within Records // the record itself and those around it
	apart  Records // of a record that [Apart] made: those that it tells of launches

	mu     sync.Mutex
	closed bool
	counts Counts
	places map[*Work]int // in counts.Runs
	sums   []Amount      // of one run of each
	sites  sites
	tape   tape // of a record that traces

	// What a record that notes nodes has of the run under way.
	nodes []*ir.Node
	some  bool    // something was computed
	most  int     // how many nodes are held at most, or 0: see [Record.Limit]
	sweep int     // how many nodes to let come together before the computed ones are forgotten
	older []older // that were computed, and that the record's code has not made: see [Record.Older]
	since uint32  // when the run under way began
	last  uint32  // when the one before it began, or the record was opened
	first uint32  // when the record was opened
}

// Counts are what a record has counted.
type Counts struct {
	Runs        []Runs // in the order of the first run
	Copies      int
	CopiedBytes int64
	Made        int           // nodes that were noted
	Apart       int           // launches that are no part of the work: see [Apart]
	ApartTook   time.Duration // what those took, with all around them
	Left        int           // of those, how many were not computed because most of what they take was, for others
}

// Runs are those of one plan.
type Runs struct {
	*Work
	Count, Built int             // how often it ran, and how often it was built for that
	Times        []time.Duration // of each launch, the sum over all runs; nil unless the record is timed
}

// An Amount is of work that was done.
type Amount struct {
	Launches     int
	Bytes, Flops int64
}

// Amount is the sum over the launches.
func (w *Work) Amount() (sum Amount) {
	sum.Launches = w.Count()
	for i := range w.Launches {
		sum.Bytes += w.Launches[i].Bytes
		sum.Flops += w.Launches[i].Flops
	}
	return sum
}

// An Option says what a record has beside counts.
type Option int

const (
	Times Option = 1 << iota // of each launch
	Nodes                    // that code makes: see [Record.Left]
	Trace                    // each run by itself: see [Record.Traced]
)

// turns counts runs of code whose nodes are noted, so that a node can say in which it was made or computed.
var turns atomic.Uint32

// Open begins a record, and returns the context that it belongs to. What is done within that is told to the
// records of ctx as well, or to those of the calling goroutine's scope.
func Open(ctx context.Context, with Option) (context.Context, *Record) {
	r := &Record{timed: with&Times != 0, notes: with&Nodes != 0, traces: with&Trace != 0}
	r.within = Records{r}
	outer, ok := ctx.Value(key).(*Record)
	if !ok {
		outer, ok = scope.Context().Value(key).(*Record)
	}
	if ok {
		r.within = append(r.within, outer.within...)
	}
	if r.notes {
		r.first = turns.Add(1)
		r.since, r.last, r.sweep = r.first, r.first, minSweep
		noting.Add(1)
	}
	r.list(func(all Records) Records { return append(all, r) })
	return context.WithValue(ctx, key, r), r
}

// Apart calls f with a context whose work the records of ctx do not count, nor as that of others: it was left
// undone before.
func Apart(ctx context.Context, f func(context.Context) error) error {
	outer, ok := ctx.Value(key).(*Record)
	if !ok {
		return f(ctx)
	}
	began := Now()
	err := f(context.WithValue(ctx, key, &Record{closed: true, within: Records{{closed: true, apart: outer.within}}}))
	took := Now() - began
	for _, of := range outer.within {
		of.mu.Lock()
		of.counts.ApartTook += took
		of.mu.Unlock()
	}
	return err
}

// Close ends a record; nothing is added to it any more. It says whether the record was open.
func (r *Record) Close() bool {
	r.mu.Lock()
	was := !r.closed
	r.closed, r.nodes = true, nil
	r.mu.Unlock()
	if !was {
		return false
	}
	if r.notes {
		noting.Add(-1)
	}
	r.list(func(all Records) Records { return slices.DeleteFunc(all, func(o *Record) bool { return o == r }) })
	return true
}

// list changes the list of open records.
func (r *Record) list(change func(Records) Records) {
	opened.Lock()
	defer opened.Unlock()
	var all Records
	if old := opened.all.Load(); old != nil {
		all = slices.Clone(*old)
	}
	if all = change(all); len(all) == 0 {
		opened.all.Store(nil)
		return
	}
	opened.all.Store(&all)
}

// Counts returns what was counted so far.
func (r *Record) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Runs = slices.Clone(c.Runs)
	for i, runs := range c.Runs {
		c.Runs[i].Times = slices.Clone(runs.Times)
	}
	return c
}

// Amount is that of all runs so far. It takes a moment for each plan.
func (r *Record) Amount() (all Amount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, each := range r.sums {
		n := r.counts.Runs[i].Count
		all.Launches += n * each.Launches
		all.Bytes += int64(n) * each.Bytes
		all.Flops += int64(n) * each.Flops
	}
	return all
}

// ran adds the launches of one run of a plan. A plan that runs in a loop costs a comparison or two and two
// additions.
func (r *Record) ran(run *Run) {
	for _, of := range r.apart {
		of.mu.Lock()
		of.counts.Apart += run.Count()
		of.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	n, known := r.sites.of(run)
	at := &r.sites.list[n]
	if !known {
		at.runs = r.place(run.Work)
	}
	runs := &r.counts.Runs[at.runs]
	runs.Count++
	if !run.Reused {
		runs.Built++
	}
	if r.timed && run.Times != nil {
		for i, t := range run.Times {
			runs.Times[i] += t
		}
	}
	if r.traces {
		r.tape.run(n, run)
	}
}

// place is where counts.Runs has the runs of a plan. It is asked once for each site.
func (r *Record) place(w *Work) int {
	i, known := r.places[w]
	if !known {
		if i = len(r.counts.Runs); i == 0 {
			r.places = map[*Work]int{}
		}
		runs := Runs{Work: w}
		if r.timed {
			runs.Times = make([]time.Duration, len(w.Launches))
		}
		r.places[w], r.counts.Runs, r.sums = i, append(r.counts.Runs, runs), append(r.sums, w.Amount())
	}
	return i
}

func (r *Record) copied(bytes int64, began, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.counts.Copies++
		r.counts.CopiedBytes += bytes
		if r.traces {
			r.tape.copy(Copy{began, took, bytes})
		}
	}
}
