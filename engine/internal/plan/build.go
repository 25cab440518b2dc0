package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A plan is a list of commands with places to fill in.
type plan struct {
	dev      *backend.Device
	cmds     []command
	launches []events.Launch // what each command counts as
	scalars  []expr
	blocks   []int    // bytes of the memory that outputs get, each for itself
	arena    int      // bytes that all values between launches share
	taken    []taking // the leaf in whose memory each block may lie
	unseen   []int    // those that nobody may see
	atOnce   int      // the first of the commands that must all run or none
	least    int      // bytes of them that live at once at most: no arena could be smaller
	bytes    int64    // of the blocks and the arena
	steps    int      // that it took to make the plan
	outs     []output
	used     uint64    // when, by the clock of the device's plans
	states   sync.Pool // of *state
}

// A command is a launch without its memory.
type command struct {
	kernel  backend.Kernel
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

// build makes the plan of a graph.
func (all *plans) build(dev *backend.Device, g *graph) (*plan, error) {
	c := newClustering(g)
	c.fuseAll()
	o := c.schedule().best().replacingLast()
	m := o.place()
	p := &plan{dev: dev, scalars: g.scalars, blocks: m.blocks, taken: m.taken, atOnce: m.atOnce}
	for i, k := range o.order {
		e := c.emit(k, o.exports[i])
		for j, v := range o.exports[i] {
			e.group.Outputs[j].Final = m.final(v)
		}
		e.check()
		e.finish()
		kernel, err := all.kernel(dev, e.group)
		if err != nil {
			return nil, err
		}
		cmd := command{kernel: kernel, scalars: e.scalars}
		for _, b := range e.bufs {
			cmd.bufs = append(cmd.bufs, m.source(g, b))
		}
		p.cmds = append(p.cmds, cmd)
		p.launches = append(p.launches, events.Launch{Kernel: e.group.Name, Bytes: e.group.Bytes, Flops: e.group.Flops})
	}
	for _, out := range g.outs {
		b, ch := g.base(out)
		l, _ := ch.apply(g.layout(b))
		p.outs = append(p.outs, output{m.source(g, b), l})
	}
	p.bytes = int64(m.arena)
	for i, n := range m.blocks {
		switch t := m.taken[i]; {
		case t.leaf < 0:
			p.bytes += int64(n)
		case t.unseen:
			p.unseen = append(p.unseen, t.leaf)
		}
	}
	p.arena, p.least, p.steps = m.arena, o.most(o.identity()), g.steps
	p.states.New = func() any { return p.newState() }
	return p, nil
}

// schedule puts the clusters that are needed in order, and says what each writes and reads.
func (c *clustering) schedule() *ordering {
	uses := map[*cluster][]use{}
	read := &inlining{clustering: c}
	for _, k := range c.all {
		uses[k] = read.read(k)
	}
	order := c.sorted(uses)
	values := map[*cluster][]int{} // that could be asked for
	for _, v := range c.list {
		if k := c.owner[v]; k != nil && c.values[v].outs == nil {
			values[k] = append(values[k], v)
		}
	}
	o := &ordering{clustering: c, order: order, exports: make([][]int, len(order)), uses: make([][]use, len(order)), reads: make([][]int, len(order))}
	needed := slices.Clone(c.wanted)
	for i := len(order) - 1; i >= 0; i-- {
		k := order[i]
		for _, v := range values[k] {
			if needed[v] {
				o.exports[i] = append(o.exports[i], v)
			}
		}
		// What a value nobody needs would read is not read.
		o.uses[i] = c.emit(k, o.exports[i]).uses
		c.counted.clear()
		for _, u := range o.uses[i] {
			needed[u.base] = true
			if c.counted.add(u.base) && c.values[u.base].kind != leaf {
				o.reads[i] = append(o.reads[i], u.base)
			}
		}
	}
	if c.fuse {
		o.findOverlays()
	}
	return o
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
