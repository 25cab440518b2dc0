package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
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
	groups  []*backend.Group // of the launches
	single  singles
	work    *events.Work // what each run counts as
	from    [][]int32    // the nodes that each launch comes from: places in the walk's Nodes
	known   atomic.Pointer[knownOrigins]
	scalars []expr
	blocks  []int    // bytes of the memory that outputs get, each for itself
	arena   int      // bytes that all values between launches share
	taken   []taking // the leaf in whose memory each block may lie
	least   int      // bytes of them that live at once at most: no arena could be smaller
	bytes   int64    // of the blocks and the arena
	steps   int      // that it took to make the plan
	outs    []output
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

// maxKernels bounds the kernels kept for groups that come again in other plans.
const maxKernels = 4096

// build compiles a draft and loads its program.
func (all *plans) build(dev *backend.Device, d *draft) (*plan, error) {
	p := &plan{dev: dev, work: &events.Work{Merged: d.merges()}, scalars: d.scalars, blocks: d.memory.blocks, taken: d.memory.taken}
	p.program = &backend.Program{Commit: d.memory.atOnce, Scalars: len(d.scalars)}
	for _, e := range d.launches {
		kernel, err := all.kernel(dev, e.group)
		if err != nil {
			return nil, err
		}
		launch := backend.Launch{Kernel: kernel}
		for _, b := range e.bufs {
			launch.Bufs = append(launch.Bufs, d.place(d.source(b)))
		}
		for _, k := range e.scalars {
			launch.Scalars = append(launch.Scalars, d.scalars[k].number(k))
		}
		p.program.Launches, p.groups = append(p.program.Launches, launch), append(p.groups, e.group)
		p.work.Launches = append(p.work.Launches, events.Launch{Kernel: e.group.Name, Bytes: e.group.Bytes, Flops: e.group.Flops, Detail: e.detail(kernel)})
		p.from = append(p.from, e.sources())
	}
	for _, out := range d.outs {
		b, ch := d.base(out)
		l, _ := ch.apply(d.layout(b))
		p.outs = append(p.outs, output{d.source(b), l})
	}
	p.bytes = int64(d.memory.arena)
	for i, n := range p.blocks {
		if p.taken[i].leaf < 0 {
			p.bytes += int64(n)
		}
	}
	p.arena, p.least, p.steps = d.memory.arena, d.most(d.identity()), d.steps
	p.program.Bufs = len(d.leaves) + len(p.blocks) + 1
	p.states.New = func() any { return p.newState() }
	return p, p.load()
}

// load gives the backend the program. What the backend has of it goes when the collector finds that nobody has
// the plan.
func (p *plan) load() (err error) {
	if p.loaded, err = p.dev.Backend().Load(p.program); err == nil {
		runtime.AddCleanup(p, backend.Loaded.Close, p.loaded)
	}
	return err
}

// place is where a source stands in the plan's table.
func (d *draft) place(from source) backend.Place {
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

// singles are programs of one launch each of a plan, with the plan's table, for runs that look at every result.
type singles struct {
	once   sync.Once
	loaded []backend.Loaded
	err    error
}

// one returns the program of launch i alone.
func (p *plan) one(i int) (backend.Loaded, error) {
	s := &p.single
	s.once.Do(func() {
		for i := range p.program.Launches {
			alone := *p.program
			alone.Launches, alone.Commit = p.program.Launches[i:i+1], 1
			loaded, err := p.dev.Backend().Load(&alone)
			if err != nil {
				s.err = err
				return
			}
			s.loaded = append(s.loaded, loaded)
			runtime.AddCleanup(p, backend.Loaded.Close, loaded)
		}
	})
	if s.err != nil {
		return nil, s.err
	}
	return s.loaded[i], nil
}

// kernel returns the compiled group, perhaps from another plan.
func (all *plans) kernel(dev *backend.Device, g *backend.Group) (backend.Kernel, error) {
	key := groupKey(g)
	cache.Lock()
	k := all.kernels[key]
	cache.Unlock()
	if k != nil {
		return k, nil
	}
	k, err := dev.Backend().Compile(g)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", g.Name, err)
	}
	cache.Lock()
	defer cache.Unlock()
	if len(all.kernels) >= maxKernels {
		clear(all.kernels)
	}
	all.kernels[key] = k
	return k, nil
}

// groupKey is equal for groups that are the same work.
func groupKey(g *backend.Group) string {
	b := append([]byte(g.Name), 0, byte(g.Kind))
	b = appendInts(b, []int{len(g.Inputs), len(g.Insts), len(g.Outputs)})
	for _, in := range g.Inputs {
		b = append(b, byte(in.DType))
		b = appendInts(b, in.Layout.Shape)
		b = appendInts(b, in.Layout.Stride)
		b = appendInts(b, []int{in.Layout.Offset, in.Buf, in.Scalar})
	}
	for _, in := range g.Insts {
		b = append(b, byte(in.Op), byte(in.DType), byte(in.Attr.DType))
		b = appendInts(b, in.Shape)
		for _, a := range in.Args {
			b = appendInts(b, []int{a.Index, a.Result})
		}
		for _, o := range in.Outs {
			b = appendInts(append(b, byte(o.DType)), o.Shape)
		}
		b = appendInts(b, in.Attr.Axes)
		b = appendInts(b, in.Attr.Ints)
		b = appendInts(b, in.Attr.Shape)
		b = appendInts(b, []int{in.Attr.Axis, in.Attr.Index, int(in.Attr.Flags), len(in.Args), len(in.Outs)})
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(in.Attr.Float))
	}
	for _, o := range g.Outputs {
		b = append(b, byte(o.DType))
		b = appendInts(b, o.Shape)
		b = appendInts(b, o.Stride)
		b = appendInts(b, []int{o.Value.Index, o.Value.Result, o.Buf})
		if o.Final {
			b = append(b, 1)
		}
	}
	if g.TF32 {
		b = append(b, 1)
	}
	return string(b)
}
