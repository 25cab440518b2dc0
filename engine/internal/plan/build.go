package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A plan is a list of commands with places to fill in.
type plan struct {
	dev     *backend.Device
	cmds    []command
	work    *events.Work // what each run counts as
	from    [][]int32    // the nodes that each launch comes from: places in the walk's Nodes
	known   atomic.Pointer[knownOrigins]
	scalars []expr
	blocks  []int    // bytes of the memory that outputs get, each for itself
	arena   int      // bytes that all values between launches share
	taken   []taking // the leaf in whose memory each block may lie
	atOnce  int      // the first of the commands that must all run or none
	least   int      // bytes of them that live at once at most: no arena could be smaller
	bytes   int64    // of the blocks and the arena
	steps   int      // that it took to make the plan
	outs    []output
	used    uint64    // when, by the clock of the device's plans
	states  sync.Pool // of *state
}

// A command is a launch without its memory.
type command struct {
	kernel  backend.Kernel
	group   *backend.Group
	bufs    []source
	scalars []int // exprs
}

// A source says where a command's buffer comes from.
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

// build compiles a draft.
func (all *plans) build(dev *backend.Device, d *draft) (*plan, error) {
	p := &plan{dev: dev, work: &events.Work{Merged: d.merges()}, scalars: d.scalars, blocks: d.memory.blocks, taken: d.memory.taken, atOnce: d.memory.atOnce}
	for _, e := range d.launches {
		kernel, err := all.kernel(dev, e.group)
		if err != nil {
			return nil, err
		}
		cmd := command{kernel: kernel, group: e.group, scalars: e.scalars}
		for _, b := range e.bufs {
			cmd.bufs = append(cmd.bufs, d.source(b))
		}
		p.cmds = append(p.cmds, cmd)
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
	p.states.New = func() any { return p.newState() }
	return p, nil
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
		b = appendInts(b, []int{o.Value.Index, o.Value.Result, o.Buf})
		if o.Final {
			b = append(b, 1)
		}
	}
	return string(b)
}
