package events

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Record is what was done within its context. It may be used by several goroutines.
type Record struct {
	with   Option
	within *Records // the record itself and those around it
	apart  *Records // of a record that [Apart] made: those that it tells of launches
	closed atomic.Bool
	paused atomic.Pointer[Records] // who is told instead; nil while the record is not paused

	last atomic.Pointer[site] // of the last run

	mu     sync.Mutex
	counts Counts // without its Runs, which the sites have
	sites  []*site
	byKey  map[siteKey]*site
	tape   tape // of a record that traces

	evaluations int // of a record that traces, the runs so far
	evaluating  time.Duration

	noted
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

// Open begins a record, and returns the context that it belongs to. What is done within that is told to the
// records of ctx as well, or to those of the calling goroutine's scope.
func Open(ctx context.Context, with Option) (context.Context, *Record) {
	r := &Record{with: with}
	outer, ok := ctx.Value(key).(*Record)
	if !ok {
		outer, ok = scope.Context().Value(key).(*Record)
	}
	if r.within = recordsOf(r); ok {
		r.within = recordsOf(append([]*Record{r}, outer.within.list...)...)
	}
	if with&Nodes != 0 {
		r.first = turns.Add(1)
		r.since, r.past, r.sweep = r.first, r.first, minSweep
		noting.Add(1)
	}
	if with&Trace != 0 {
		r.tape.ended = Now()
	}
	list(func(all []*Record) []*Record { return append(all, r) })
	return context.WithValue(ctx, key, r), r
}

// Apart calls f with a context whose work the records of ctx do not count, nor as that of others: it was left
// undone before.
func Apart(ctx context.Context, f func(context.Context) error) error {
	outer, ok := ctx.Value(key).(*Record)
	if !ok {
		return f(ctx)
	}
	inner := &Record{within: recordsOf(&Record{apart: outer.within})}
	for _, r := range []*Record{inner, inner.within.list[0]} {
		r.closed.Store(true)
	}
	began := Now()
	err := f(context.WithValue(ctx, key, inner))
	took := Now() - began
	for _, of := range outer.within.list {
		of.mu.Lock()
		of.counts.ApartTook += took
		of.mu.Unlock()
	}
	return err
}

// Close ends a record; nothing is added to it any more. It says whether the record was open.
func (r *Record) Close() bool {
	if r.closed.Swap(true) {
		return false
	}
	r.mu.Lock()
	r.nodes = nil
	r.mu.Unlock()
	if r.with&Nodes != 0 {
		noting.Add(-1)
	}
	list(func(all []*Record) []*Record { return slices.DeleteFunc(all, func(o *Record) bool { return o == r }) })
	return true
}

// list changes the list of open records.
func list(change func([]*Record) []*Record) {
	opened.Lock()
	defer opened.Unlock()
	all := change(slices.Clone(opened.all.Load().each()))
	if len(all) == 0 {
		opened.all.Store(nil)
		return
	}
	opened.all.Store(recordsOf(all...))
}

// Counts returns what was counted so far.
func (r *Record) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, places := r.counts, map[*Work]int{}
	for _, s := range r.sites {
		i, known := places[s.work]
		if !known {
			i = len(c.Runs)
			places[s.work], c.Runs = i, append(c.Runs, Runs{Work: s.work})
			if r.with&Times != 0 {
				c.Runs[i].Times = make([]time.Duration, len(s.times))
			}
		}
		runs := &c.Runs[i]
		runs.Count += int(s.runs.Load())
		runs.Built += int(s.built.Load())
		for i, t := range s.times {
			runs.Times[i] += t
		}
	}
	return c
}

// Amount is that of all runs so far. It takes a moment for each plan.
func (r *Record) Amount() (all Amount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sites {
		n := s.runs.Load()
		all.Launches += int(n) * s.each.Launches
		all.Bytes += n * s.each.Bytes
		all.Flops += n * s.each.Flops
	}
	return all
}

// ran adds the launches of one run of a plan. A plan that runs in a loop costs a comparison or two and an
// addition.
func (r *Record) ran(run *Run) {
	for _, of := range r.apart.each() {
		of.mu.Lock()
		of.counts.Apart += run.Count()
		of.mu.Unlock()
	}
	if r.deaf() {
		return
	}
	s := r.site(run)
	s.runs.Add(1)
	if !run.Reused {
		s.built.Add(1)
	}
	if r.with&(Times|Trace) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.with&Times != 0 {
		for i, t := range run.Times {
			s.times[i] += t
		}
	}
	if r.with&Trace != 0 {
		r.tape.run(s.number, run)
		r.evaluations++
		r.evaluating += run.Ended - run.Began
	}
}

// deaf says whether the record is told of nothing: it was closed, or is paused.
func (r *Record) deaf() bool { return r.closed.Load() || r.paused.Load() != nil }

// copied adds a copy. One that nobody has timed has no beginning.
func (r *Record) copied(bytes int64, began, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.deaf() {
		r.counts.Copies++
		r.counts.CopiedBytes += bytes
		if r.with&Trace != 0 {
			r.tape.copy(Copy{began, took, bytes})
		}
	}
}
