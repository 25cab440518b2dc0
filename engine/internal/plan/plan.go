// Package plan evaluates graphs.
//
// [Run] walks from the wanted nodes down to stored data. If a walk of that shape was seen before, its plan is
// used again; otherwise a plan is built: the walk becomes a [graph] with constants folded and views resolved
// (graph.go, scalar.go, view.go, rewrite.go), values are gathered into clusters (cluster.go, fuse.go,
// products.go, inline.go), the clusters are put in order (order.go), what lies between launches gets its
// place in one arena (memory.go), and each cluster is written down as a [backend.Group] (emit.go, name.go).
// That is a [draft] (draft.go), which [Describe] prints and Run compiles (build.go). Running a plan (exec.go)
// is then filling a table with leaves, numbers and fresh memory, and one Run of the loaded program.
//
// Planning takes time in proportion to the number of nodes, and stops with the context of the evaluation
// (watch.go): a rule that would have to look at everything for each value looks at a bounded part of it.
//
// A plan holds no tensor: leaves and constants come from each walk anew. So the second step of a training
// builds no plan.
package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

var fusion = &scope.Key{Name: "fusion"}

// WithFusion returns a context in which all fusion rules are on or off. They are on in one that does not say.
func WithFusion(ctx context.Context, on bool) context.Context {
	return context.WithValue(ctx, fusion, on)
}

// Fused says whether the fusion rules are on.
func Fused(ctx context.Context) bool {
	on, said := ctx.Value(fusion).(bool)
	return on || !said
}

// tf32 is a switch whether products may round their operands to TF32.
var tf32 = &scope.Key{Name: "tf32"}

// sharedTF32 is the switch of all code that WithTF32 gave none.
var sharedTF32 atomic.Bool

// WithTF32 returns a context whose switch is on: see Group.TF32.
func WithTF32(ctx context.Context, on *atomic.Bool) context.Context {
	return context.WithValue(ctx, tf32, on)
}

// SwitchTF32 returns the switch of ctx.
func SwitchTF32(ctx context.Context) *atomic.Bool {
	if on, ok := ctx.Value(tf32).(*atomic.Bool); ok {
		return on
	}
	return &sharedTF32
}

// TF32 says whether the switch of ctx is on.
func TF32(ctx context.Context) bool { return SwitchTF32(ctx).Load() }

// maxPlans is how many plans are kept for a device. The plan that was used least recently makes room for
// more.
const maxPlans = 256

// plans holds the plans of a device.
type plans struct {
	byKey   map[planKey]*plan
	kernels map[string]*compiled // by group key
	clock   uint64
}

type planKey struct {
	walk       [16]byte
	fuse, tf32 bool
}

var cache struct {
	sync.Mutex
	devices map[*backend.Device]*plans
	built   int
	reused  atomic.Int64
	last    atomic.Pointer[plan] // the one that was used last, which a loop finds without the lock
}

// CacheStats returns how many plans there are, how often one was used again, and how many were built.
func CacheStats() (kept, reused, built int) {
	cache.Lock()
	defer cache.Unlock()
	for _, p := range cache.devices {
		kept += len(p.byKey)
	}
	return kept, int(cache.reused.Load()), cache.built
}

// Run evaluates the nodes, all of one device: afterwards each has its Data. Nodes that have it already cost
// nothing. Concurrent calls are safe. When ctx is done first, Run returns its cause (backend.ErrInterrupted
// if it has none), and the nodes stay as they were.
func Run(ctx context.Context, outs []*ir.Node) error {
	return run(ctx, outs, false, func(n *ir.Node, d *ir.Data) {
		if n.Value() != nil { // it stands in the list twice, or another goroutine was faster
			d.Buf.(*backend.Block).Release()
			return
		}
		n.SetValue(d)
		backend.Note(n)
	})
}

// RunAndDiscard computes what Run would compute, and gives the memory back: the nodes stay without values,
// for others that may read them, and nothing is computed in the memory of a leaf.
func RunAndDiscard(ctx context.Context, outs []*ir.Node) error {
	return run(ctx, outs, true, func(_ *ir.Node, d *ir.Data) { d.Buf.(*backend.Block).Release() })
}

// run computes those of the nodes that have no value, and gives result what each has come to.
func run(ctx context.Context, outs []*ir.Node, spend bool, result func(*ir.Node, *ir.Data)) error {
	records := events.Of(ctx)
	asked := records.Now()
	todo := waiting(outs)
	if len(todo) == 0 {
		return nil
	}
	dev, w, err := walk(ctx, todo)
	if err != nil {
		return err
	}
	if len(w.Moves) > 0 {
		if err := moveAll(ctx, w); err != nil {
			return err
		}
		return run(ctx, todo, spend, result)
	}
	defer w.Release()
	p, reused, err := find(ctx, dev, w)
	if err != nil {
		return err
	}
	in := &inputs{records: records, asked: asked, graph: w, leaves: w.Leaves, consts: w.Consts, nodes: w.Holders, readers: 1, discard: spend}
	err = p.execute(ctx, in, reused, func(i int, d *ir.Data) { result(todo[i], d) })
	if err == errMoved {
		return run(ctx, todo, spend, result)
	}
	if err != nil {
		return err
	}
	records.Computed(w.Nodes, w.Holders)
	return nil
}

// waiting lists the nodes that have no value yet.
func waiting(outs []*ir.Node) []*ir.Node {
	if !slices.ContainsFunc(outs, func(n *ir.Node) bool { return n.Value() != nil }) {
		return outs
	}
	return slices.DeleteFunc(slices.Clone(outs), func(n *ir.Node) bool { return n.Value() != nil })
}

// walk collects the graph of outs, and returns the device that they are on.
func walk(ctx context.Context, outs []*ir.Node) (*backend.Device, *ir.Graph, error) {
	dev, ok := outs[0].Dev.(*backend.Device)
	if !ok {
		return nil, nil, fmt.Errorf("plan: %v is on %v, want a device", outs[0], outs[0].Dev)
	}
	w := ir.Walk(ctx, outs)
	if w == nil {
		return nil, nil, backend.Interrupted(ctx)
	}
	return dev, w, nil
}

// find returns the plan of a walk. While it builds a new one it does not lock the cache, because long graphs
// take long.
func find(ctx context.Context, dev *backend.Device, w *ir.Graph) (p *plan, reused bool, err error) {
	key := planKey{w.Key, Fused(ctx), TF32(ctx)}
	if p := cache.last.Load(); p != nil && p.dev == dev && p.key == key {
		cache.reused.Add(1)
		return p, true, nil
	}
	all, p := plansOf(dev, key)
	if p != nil {
		return p, true, nil
	}
	if p, err = all.make(ctx, dev, w); err != nil {
		return nil, false, err
	}
	all.keep(key, p)
	return p, false, nil
}

// plansOf returns the plans of a device, and the one that is kept under key, or nil.
func plansOf(dev *backend.Device, key planKey) (*plans, *plan) {
	cache.Lock()
	defer cache.Unlock()
	all := cache.devices[dev]
	if all == nil {
		maps.DeleteFunc(cache.devices, func(d *backend.Device, _ *plans) bool { return d.Err() != nil }) // lost
		all = &plans{byKey: map[planKey]*plan{}, kernels: map[string]*compiled{}}
		if cache.devices == nil {
			cache.devices = map[*backend.Device]*plans{}
		}
		cache.devices[dev] = all
	}
	all.clock++
	p := all.byKey[key]
	if p != nil {
		p.used = all.clock
		cache.last.Store(p)
		cache.reused.Add(1)
	}
	return all, p
}

// make builds a plan. A mistake of the planner costs an evaluation, not the session.
func (all *plans) make(ctx context.Context, dev *backend.Device, w *ir.Graph) (p *plan, err error) {
	defer caught(&err)
	return all.build(ctx, dev, draftOf(ctx, dev, w))
}

// caught turns a panic of the planner into an error.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case stopped:
		*err = r.err
	default:
		*err = fmt.Errorf("plan: %v (a mistake of the planner; it may work with fusion off)", r)
	}
}

// keep stores a plan, in place of the oldest when there are too many.
func (all *plans) keep(key planKey, p *plan) {
	cache.Lock()
	defer cache.Unlock()
	cache.built++
	if len(all.byKey) >= maxPlans {
		var oldest planKey
		used := all.clock + 1
		for k, q := range all.byKey {
			if q.used < used {
				oldest, used = k, q.used
			}
		}
		delete(all.byKey, oldest)
	}
	p.used, p.key = all.clock, key
	all.byKey[key] = p
	cache.last.Store(p)
}
