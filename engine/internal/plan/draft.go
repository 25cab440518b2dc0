package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A draft is a plan before anything is compiled: its launches in the order in which they run, each with its
// group, and the place of what lies between them.
type draft struct {
	*ordering
	memory   *placement
	launches []*emitter
}

// draftOf drafts the evaluation of a walk. It panics with a mistake of the planner, and with stopped when ctx
// is done: see caught.
func draftOf(ctx context.Context, dev *backend.Device, w *ir.Graph) *draft {
	c := newClustering(buildGraph(&watch{ctx: ctx}, w, settings{fuse: Fused(ctx), tf32: TF32(ctx), hints: dev.Hints()}))
	c.fuseAll()
	o := c.schedule().best().replacingLast()
	o.fillFirst()
	d := &draft{ordering: o, memory: o.allocate()}
	for i, k := range o.order {
		e := c.emit(k, o.exports[i])
		for j, v := range o.exports[i] {
			_, read := d.memory.last[v]
			e.group.Outputs[j].Final = !read
		}
		if e.failed { // which is a mistake of the planner
			panic(fmt.Sprintf("plan: group %s reads a view that no layout expresses", e.group.Name))
		}
		e.finish()
		d.launches = append(d.launches, e)
	}
	return d
}

// source returns where base b lies.
func (d *draft) source(b int) source { return d.memory.source(d.graph, b) }

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
			if needed[v] || c.turned(v) && c.owner[c.users[v][0]] == k {
				o.exports[i] = append(o.exports[i], v)
			}
		}
		// A launch does not read what only values that no other launch needs would read.
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
		o.findRooms()
	}
	return o
}
