package events

import (
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A site is what many runs have in common: the plan, and, of a record that traces, where they come from.
type site struct {
	number  int // in Record.sites
	work    *Work
	stack   string
	origins [][]ir.Origin // a list that was read once is not changed: it is known by where it lies

	each        Amount // of one run
	runs, built atomic.Int64
	times       []time.Duration      // of each launch, the sum over all runs, if the record is timed
	next        atomic.Pointer[site] // that of the run which came after the last one here
}

type siteKey struct {
	work    *Work
	stack   string
	origins *[]ir.Origin
}

// site returns the site of a run. Code runs the same plans again and again, mostly in the order of the first
// time: so it looks at the site of the last run, and at that which came next, before it takes the lock and
// asks the map.
func (r *Record) site(run *Run) *site {
	if last := r.last.Load(); last != nil {
		if r.isAt(last, run) {
			return last
		}
		if next := last.next.Load(); next != nil && r.isAt(next, run) {
			r.last.Store(next)
			return next
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := siteKey{work: run.Work}
	if r.with&Trace != 0 {
		key.stack, key.origins = run.Stack, firstOf(run.Origins)
	}
	s := r.byKey[key]
	if s == nil {
		s = &site{number: len(r.sites), work: run.Work, stack: run.Stack, origins: run.Origins, each: run.Work.Amount()}
		if r.with&Times != 0 {
			s.times = make([]time.Duration, len(run.Launches))
		}
		if r.byKey == nil {
			r.byKey = map[siteKey]*site{}
		}
		r.byKey[key], r.sites = s, append(r.sites, s)
	}
	if last := r.last.Swap(s); last != nil {
		last.next.Store(s)
	}
	return s
}

// isAt says whether a run belongs to a site.
func (r *Record) isAt(s *site, run *Run) bool {
	return s.work == run.Work && (r.with&Trace == 0 || firstOf(s.origins) == firstOf(run.Origins) && s.stack == run.Stack)
}

// firstOf is where a list lies, or nil if it is empty.
func firstOf(list [][]ir.Origin) *[]ir.Origin {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}
