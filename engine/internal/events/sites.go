package events

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// A site is what many runs have in common: the plan, and, of a record that traces, where they come from.
type site struct {
	work    *Work
	stack   string
	origins [][]ir.Origin // a list that was read once is not changed: it is known by where it lies
	runs    int           // of the plan: a place in Counts.Runs
	next    int           // the site of the run that came after the last one here
}

// sites numbers the sites of a record from 0 on. Code runs the same plans again and again, mostly in the
// order of the first time: so it looks at the site of the last run, and at that which came next, before it
// asks the map.
type sites struct {
	list    []site
	last    int
	numbers map[siteKey]int
}

type siteKey struct {
	work    *Work
	stack   string
	origins *[]ir.Origin
}

// of returns the number of the site of a run.
func (in *sites) of(run *Run) (n int, known bool) {
	if in.last < len(in.list) {
		last := &in.list[in.last]
		if last.is(run) {
			return in.last, true
		}
		if next := &in.list[last.next]; next.is(run) {
			in.last = last.next
			return in.last, true
		}
	}
	key := siteKey{run.Work, run.Stack, firstOf(run.Origins)}
	if n, known = in.numbers[key]; !known {
		if n = len(in.list); n == 0 {
			in.numbers = map[siteKey]int{}
		}
		in.numbers[key] = n
		in.list = append(in.list, site{work: run.Work, stack: run.Stack, origins: run.Origins})
	}
	in.list[in.last].next, in.last = n, n
	return n, known
}

func (s *site) is(run *Run) bool {
	return s.work == run.Work && firstOf(s.origins) == firstOf(run.Origins) && s.stack == run.Stack
}

// firstOf is where a list lies, or nil if it is empty.
func firstOf(list [][]ir.Origin) *[]ir.Origin {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}
