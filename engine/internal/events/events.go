// Package events notes what the engine does: launches with the plans that they belong to, copies between host
// and device, and the nodes that code makes. Packages profile and tensor show it to people.
//
// A [Record] belongs to a context: it has the events within that context ([scope.Within]) and no others. The
// events of a goroutine that is within no scope stand in all open records, because code within one of these
// may have started the goroutine.
//
// Without an open record an event costs an atomic operation.
package events

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/shared"
)

// A Launch is one kernel that the engine gave to a device.
type Launch struct {
	Kernel string
	More   int   // how many launches the device makes for it beyond one
	Bytes  int64 // inputs and outputs, each once: what the work needs, not what caches moved
	Flops  int64 // what the mathematics needs
	// Uncounted says that nobody knows Flops, which is 0 then: those of a kernel that a person wrote.
	Uncounted bool
	Detail    *Detail
}

// Merged is equal work that a plan does once: Times is how often the graph asked for it beyond that.
type Merged struct {
	Op    string // with its result, "matmul f32[512 512]"
	Times int
}

// Work is what one run of a plan does. It is the same in each run.
type Work struct {
	Device   string // its name
	Launches []Launch
	Merged   []Merged
}

// Count is how many launches the device makes.
func (w *Work) Count() (n int) {
	for i := range w.Launches {
		n += 1 + w.Launches[i].More
	}
	return n
}

// Records are told of the same events. There are none in a nil *Records, as mostly.
type Records struct {
	list []*Record
	with Option // what one or another of them has
}

func recordsOf(list ...*Record) *Records {
	rs := &Records{list: list}
	for _, r := range list {
		rs.with |= r.with
	}
	return rs
}

// each returns the records.
func (rs *Records) each() []*Record {
	if rs == nil {
		return nil
	}
	return rs.list
}

// have says whether one of the records has what an option says.
func (rs *Records) have(what Option) bool { return rs != nil && rs.with&what != 0 }

var (
	key    = &scope.Key{Name: "record"}
	total  atomic.Int64 // launches since the process began
	noting atomic.Int32 // open records that note nodes
	opened struct {
		sync.Mutex
		all atomic.Pointer[Records] // nil if there are none; never changed in place
	}
)

// Total returns the number of launches since the process began.
func Total() int64 { return total.Load() }

// Of returns the records of what is done within ctx.
func Of(ctx context.Context) *Records {
	all := opened.all.Load()
	if all == nil {
		return nil
	}
	if r, ok := ctx.Value(key).(*Record); ok {
		if around := r.paused.Load(); around != nil {
			return around
		}
		return r.within
	}
	if ctx == context.Background() { // of a goroutine without a scope
		return all
	}
	return nil
}

// Here returns the records of what the calling goroutine does.
func Here() *Records {
	if opened.all.Load() == nil {
		return nil
	}
	return Of(scope.Context())
}

// Timed says whether one of the records wants the time of each launch.
func (rs *Records) Timed() bool { return rs.have(Times) }

// Ran tells of one run of a plan, and counts its launches. Nobody keeps what run points to: it may be changed
// afterwards.
func (rs *Records) Ran(run *Run) {
	total.Add(int64(run.Count()))
	for _, r := range rs.each() {
		r.ran(run)
	}
}

// Computed tells that nodes were computed, whether or not they have their values now: those of a graph
// without its leaves, which have the same order.
func (rs *Records) Computed(nodes, leaves []*ir.Node) {
	if rs.have(Nodes) {
		for _, r := range rs.list {
			if r.with&Nodes != 0 {
				r.computed(nodes, leaves)
			}
		}
	}
	now, all := max(1, turns.Load()), noting.Load() > 0
	for _, n := range nodes {
		if len(leaves) > 0 && leaves[0] == n {
			leaves = leaves[1:]
		} else if all || n.Value() == nil { // a value says by itself that there was a computation
			n.Computed.Store(now)
		}
	}
}

// Spared tells that the nodes will not be computed, because nobody waits for them.
func (rs *Records) Spared(nodes []*ir.Node) {
	if !rs.have(Nodes) {
		return
	}
	now := turns.Load()
	for _, n := range nodes {
		n.Computed.Store(now)
	}
}

// A Transfer is a copy between host and device that is under way.
type Transfer struct {
	records *Records
	bytes   int64
	began   time.Duration // if somebody traces it
}

// Copying begins a copy that the records are told of.
func (rs *Records) Copying(bytes int64) Transfer { return Transfer{rs, bytes, rs.Now()} }

// Done tells of the copy, which has ended.
func (t Transfer) Done() {
	ended := t.records.Now()
	for _, r := range t.records.each() {
		r.copied(t.bytes, t.began, ended-t.began)
	}
}

// Given tells that a node has got a value now without being computed itself: data, or what was computed for
// another node. Whoever asks later when that was learns it; see [Record.By]. No other goroutine has the node.
func Given(n *ir.Node) { shared.First(&n.Noted, max(1, turns.Load())) }

// Changed is Given of a node that others may have, whose value was changed where it lies.
func Changed(n *ir.Node) { n.Noted.Store(max(1, turns.Load())) }

// Copied tells of a copy that took no time that is worth to be looked at. It came after what the records were
// told of last.
func (rs *Records) Copied(bytes int64) {
	for _, r := range rs.each() {
		r.copied(bytes, 0, 0)
	}
}

// Made tells of a node that code has a handle on.
func Made(n *ir.Node) {
	if noting.Load() == 0 {
		return
	}
	rs := Of(scope.Context())
	if !rs.have(Nodes) {
		return
	}
	for _, r := range rs.list {
		if r.with&Nodes != 0 {
			r.note(n)
		}
	}
}
