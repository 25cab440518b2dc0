package events

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// turns counts runs of code whose nodes are noted, so that a node can say in which it was made or computed.
var turns atomic.Uint32

// A record that notes nodes has the nodes that code made in the run under way and that are not computed. It
// holds them until the end of the run, because nodes that code drops count, too. Now and then it forgets the
// nodes that were computed, so that a long run does not hold its past.
const minSweep = 256

// noted is what a record that notes nodes has of the run under way. Record.mu guards what is not atomic.
type noted struct {
	nodes []*ir.Node
	most  int         // how many nodes are held at most, or 0: see [Record.Limit]
	sweep int         // how many nodes to let come together before the computed ones are forgotten
	due   atomic.Bool // so many have come together
	some  atomic.Bool // something was computed
	older []older     // that were computed, and that the record's code has not made: see [Record.Older]
	since uint32      // when the run under way began
	past  uint32      // when the one before it began, or the record was opened
	first uint32      // when the record was opened, which does not change
}

// note adds a node that code has a handle on.
func (r *Record) note(n *ir.Node) {
	if n.Op == ir.Const || n.Value() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf() || r.most < 0 {
		return
	}
	n.Noted.Store(turns.Load())
	r.counts.Made++
	r.nodes = append(r.nodes, n)
	if len(r.nodes) == r.most {
		if r.forget(); len(r.nodes) > r.most/2 {
			r.nodes, r.most = nil, -1
		}
	}
	if len(r.nodes) == r.sweep {
		r.due.Store(true)
	}
}

// Limit makes the record hold n nodes at most. Once more come together that are not computed, it gives up: it
// knows of none any more.
func (r *Record) Limit(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = n
}

// Mark returns a moment, for [Record.Since].
func (r *Record) Mark() (moment uint32) { return turns.Add(1) }

// Since returns those of the nodes that [Record.Left] lists that were made after a moment, and that take more
// than a number of operations to compute.
func (r *Record) Since(moment uint32, operations int64) (left []*ir.Node) {
	for _, n := range r.Left() {
		all := flops(n)
		ir.Pending(n, func(s *ir.Node) bool {
			all += flops(s)
			return all <= operations
		})
		if n.Noted.Load() >= moment && all > operations {
			left = append(left, n)
		}
	}
	return left
}

// An older node was made before the record was opened, or by others.
type older struct {
	*ir.Node
	undone bool // it had never been computed
}

// computes says whether the record's code has computed an older node. The caller holds mu.
func (r *Record) computes(n *ir.Node) bool {
	return slices.ContainsFunc(r.older, func(o older) bool { return o.Node == n })
}

// mostOlder is how many nodes that others have made a record names.
const mostOlder = 64

// computed notes the nodes that others have made, and forgets what has piled up. Mostly it finds neither, and
// takes no lock.
func (r *Record) computed(nodes, leaves []*ir.Node) {
	if r.deaf() {
		return
	}
	if !r.some.Load() {
		r.some.Store(true)
	}
	for _, n := range nodes {
		if len(leaves) > 0 && leaves[0] == n {
			leaves = leaves[1:]
		} else if n.Noted.Load() < r.first && n.Handles() > 0 && n.Op != ir.Const {
			r.addOlder(n)
		}
	}
	if r.due.Load() {
		r.mu.Lock()
		r.forget()
		r.sweep = max(minSweep, 2*len(r.nodes))
		r.due.Store(false)
		r.mu.Unlock()
	}
}

func (r *Record) addOlder(n *ir.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.older) < mostOlder && !r.computes(n) {
		r.older = append(r.older, older{n, n.Computed.Load() == 0})
	}
}

// forget drops the nodes that were computed in this run, and those that [Record.Left] does not return because
// a part was. The caller holds mu.
func (r *Record) forget() {
	r.nodes = slices.DeleteFunc(r.nodes, func(n *ir.Node) bool {
		done := r.done(n)
		left := !done && n.Readers() == 0 && r.begun(n)
		if left {
			r.counts.Left++
		}
		return done || left
	})
}

// done says whether a node was computed in the run under way.
func (r *Record) done(n *ir.Node) bool { return n.Value() != nil || n.Computed.Load() >= r.since }

// Left returns the nodes that were made in the run under way, are not computed, and are read by no other such
// node. When these are computed it is asked again, until there are none.
//
// A node is left out, and counted in [Counts], if most of its work was done already for other nodes: a loss
// whose gradient was evaluated, and which nobody reads. To compute it would do the work of the run twice.
func (r *Record) Left() []*ir.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	var roots []*ir.Node
	for _, n := range r.nodes {
		if n.Readers() == 0 {
			roots = append(roots, n)
		}
	}
	for i := len(r.nodes) - 1; i >= 0 && len(roots) == 0; i-- {
		if n := r.nodes[i]; !r.begun(n) { // the node that would read it was never made
			roots = append(roots, n)
		}
	}
	return roots
}

// begun says whether most of the work to compute n was already done in the run under way, in launches that
// did not keep the values.
func (r *Record) begun(n *ir.Node) bool {
	if !r.some.Load() {
		return false
	}
	missing, again := flops(n), int64(0)
	ir.Pending(n, func(s *ir.Node) bool {
		if s.Computed.Load() >= r.since {
			again += flops(s)
		} else {
			missing += flops(s)
		}
		return true
	})
	return again > missing
}

// flops is what a node takes; a copy counts as little.
func flops(n *ir.Node) int64 { return 1 + max(0, ir.RowOf(n.Op).Flops(n)) }

// Turn ends the run under way: what is noted from now on belongs to the next.
func (r *Record) Turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.nodes)
	r.nodes, r.sweep = r.nodes[:0], minSweep
	if r.some.Load() {
		r.some.Store(false)
	}
	if r.due.Load() {
		r.due.Store(false)
	}
	r.past, r.since = r.since, turns.Add(1)
}

// Older returns what code holds, was made before the record was opened or by others, and was computed for the
// first time in the run that has ended, or in the first run.
func (r *Record) Older() (list []*ir.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.older {
		if n.undone && n.Computed.Load() >= r.past {
			list = append(list, n.Node)
		}
	}
	return list
}

// By says who computed a node that has a value: the code of the run that has ended or of the first one, or
// others, while that run went on or before it.
func (r *Record) By(n *ir.Node) (others, before bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before = n.Computed.Load() < r.past
	own := n.Noted.Load() >= r.past || !before && r.computes(n)
	return !own, before
}

// Inputs returns what the nodes of the run under way read, was never computed, and was made before the record
// was opened: to compute it is no part of the run. To compute once more what was not kept is. Carried says
// whether they read what an earlier run of the record has made and left without a value: then each run does
// the work of those before it, too.
func (r *Record) Inputs() (inputs []*ir.Node, carried bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.nodes {
		ir.Pending(n, func(s *ir.Node) (deeper bool) {
			noted := s.Noted.Load()
			switch {
			case noted >= r.first && noted < r.since:
				carried = true
				return false
			case noted < r.first && s.Computed.Load() == 0 && s.Handles() > 0 && s.Op != ir.Const:
				inputs = append(inputs, s)
				return false
			}
			return true
		})
	}
	return inputs, carried
}

// Of says whether what is done within ctx is the record's.
func (r *Record) Of(ctx context.Context) bool {
	in, ok := ctx.Value(key).(*Record)
	return ok && slices.Contains(in.within.list, r)
}

// Held returns how many nodes the record holds.
func (r *Record) Held() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes)
}
