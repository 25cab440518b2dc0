package plan

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A plan is a program and what is needed to fill in its table: the leaves come first, then the blocks, then
// the arena; the numbers are those exprs that differ from run to run.
type plan struct {
	dev     *backend.Device
	program *backend.Program
	loaded  backend.Loaded
	kernels []*compiled      // of the launches: the plan keeps them open
	groups  []*backend.Group // of the launches
	single  singles
	work    *events.Work // what each run counts as
	from    [][]int32    // the nodes that each launch comes from: places in the walk's Nodes
	known   atomic.Pointer[knownOrigins]
	scalars []expr
	blocks  []int   // bytes of the memory that outputs get, each for itself
	arena   int     // bytes that all values between launches share
	reused  []reuse // the leaf in whose memory each block may lie
	least   int     // bytes of them that live at once at most: no arena could be smaller
	bytes   int64   // of the blocks and the arena
	steps   int     // that it took to make the plan
	outs    []output
	key     planKey
	used    uint64    // when, by the clock of the device's plans
	states  sync.Pool // of *state
}

// A source says where a value lies.
type source struct {
	kind  sourceKind
	index int // of the leaf or the block; byte offset into the arena
}

type sourceKind uint8

const (
	fromLeaf sourceKind = iota
	fromBlock
	fromArena
)

// An output says what an evaluated node will hold.
type output struct {
	source source // fromLeaf: a view of what is stored already
	layout ir.Layout
}

// build compiles a draft and loads its program.
func (all *plans) build(ctx context.Context, dev *backend.Device, d *draft) (*plan, error) {
	p := &plan{dev: dev, work: &events.Work{Device: dev.String()}, scalars: d.scalars, blocks: d.memory.blocks, reused: d.memory.taken}
	for _, op := range slices.Sorted(maps.Keys(d.merged)) { // equal work that is done once
		p.work.Merged = append(p.work.Merged, events.Merged{Op: op, Times: d.merged[op]})
	}
	for _, e := range d.launches {
		p.groups = append(p.groups, e.group)
	}
	var err error
	if p.kernels, err = all.compile(ctx, dev, p.groups); err != nil {
		return nil, err
	}
	scratch := d.memory.makeRoom(d.watch, p.kernels)
	p.program = &backend.Program{Commit: d.memory.atOnce, Bufs: len(d.leaves) + len(p.blocks) + 1, Scalars: len(d.scalars)}
	for i, e := range d.launches {
		launch := backend.Launch{Kernel: p.kernels[i].Kernel, Scratch: d.placeOf(source{fromArena, scratch[i]})}
		for _, b := range e.bufs {
			launch.Bufs = append(launch.Bufs, d.placeOf(d.source(b)))
		}
		for _, k := range e.scalars {
			launch.Scalars = append(launch.Scalars, d.scalars[k].number(k))
		}
		p.program.Launches = append(p.program.Launches, launch)
		g, k := e.group, p.kernels[i]
		p.work.Launches = append(p.work.Launches, events.Launch{Kernel: g.Name, More: max(0, k.Launches()-1),
			Bytes: g.Bytes, Flops: max(0, g.Flops), Uncounted: g.Flops < 0, Detail: e.detail(k)})
		p.from = append(p.from, e.sources())
	}
	for _, out := range d.outs {
		b, ch := d.base(out)
		l, _ := ch.apply(d.layout(b))
		p.outs = append(p.outs, output{d.source(b), l})
	}
	p.bytes = int64(d.memory.arena)
	for i, n := range p.blocks {
		if p.reused[i].leaf < 0 {
			p.bytes += int64(n)
		}
	}
	p.arena, p.least, p.steps = d.memory.arena, d.most(d.identity()), d.steps
	p.states.New = func() any { return p.newState() }
	// What the backend has of the program goes when the collector finds that nobody has the plan.
	if p.loaded, err = dev.Backend().Load(p.program); err == nil {
		runtime.AddCleanup(p, backend.Loaded.Close, p.loaded)
	}
	return p, dev.Seen(err)
}

// placeOf is where a source stands in the plan's table.
func (d *draft) placeOf(from source) backend.Place {
	switch from.kind {
	case fromLeaf:
		return backend.Place{Index: from.index}
	case fromBlock:
		return backend.Place{Index: len(d.leaves) + from.index}
	}
	return backend.Place{Index: len(d.leaves) + len(d.memory.blocks), Offset: from.index}
}

// number is expr k as the number of a launch.
func (e *expr) number(k int) backend.Scalar {
	if e.input == literal {
		return backend.Scalar{Index: -1, Value: e.value}
	}
	return backend.Scalar{Index: k}
}

// singles are programs of one launch each of a plan, with the plan's table, for runs that look at every
// result. Those of the first launches are loaded.
type singles struct {
	sync.Mutex
	loaded []backend.Loaded
}

// one returns the program of launch i alone.
func (p *plan) one(i int) (backend.Loaded, error) {
	s := &p.single
	s.Lock()
	defer s.Unlock()
	for k := len(s.loaded); k <= i; k++ {
		alone := *p.program
		alone.Launches, alone.Commit = p.program.Launches[k:k+1], 1
		loaded, err := p.dev.Backend().Load(&alone)
		if err != nil {
			return nil, err // perhaps there was too little memory: the next run tries again
		}
		s.loaded = append(s.loaded, loaded)
		runtime.AddCleanup(p, backend.Loaded.Close, loaded)
	}
	return s.loaded[i], nil
}
