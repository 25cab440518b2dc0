package plan

import (
	"context"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Captured is the plan of a graph that was thrown away: it runs with other leaves and constants of the same
// structure.
type Captured struct {
	Leaves []*ir.Node // whose values a run needs, in this order
	Consts []*ir.Node // and whose numbers
	key    [16]byte   // that of the walk
	plan   *plan
	reused bool // the plan was there before, or has run
	in     inputs
}

// Prepare builds the plan of an evaluation of outs, all of one device, which will not be asked for itself:
// one of the same structure will.
func Prepare(ctx context.Context, outs []*ir.Node) error {
	dev, w, err := walk(ctx, outs)
	if err != nil {
		return err
	}
	defer w.Release()
	events.Of(ctx).Spared(w.Nodes)
	if len(w.Moves) > 0 {
		return nil // it is not one plan
	}
	_, _, err = find(ctx, dev, w)
	return err
}

// Capture plans the evaluation of outs, which all live on one device and have no value yet. Nothing is
// computed.
func Capture(ctx context.Context, outs []*ir.Node) (*Captured, error) {
	dev, w, err := walk(ctx, outs)
	if err != nil {
		return nil, err
	}
	defer w.Release()
	p, reused, err := find(ctx, dev, w)
	if err != nil {
		return nil, err
	}
	in := inputs{origins: p.originsIn(w), state: p.newState()}
	return &Captured{reused: reused, key: w.Key, plan: p, in: in, Leaves: slices.Clone(w.Holders), Consts: slices.Clone(w.Numbers)}, nil
}

// Same says whether the graphs were the same work, on the same device.
func (c *Captured) Same(as *Captured) bool { return c.key == as.key && c.plan.dev == as.plan.dev }

// Bind says where each Run finds its leaves and numbers. nodes has the node that holds each leaf, or nil;
// keep says for each output which leaf it replaces, or -1, and kept which leaves are replaced. The value of
// an output that lies in the memory of that leaf is the leaf's own Data. Where a node has another value by
// the time of the Run, leaves has that afterwards.
func (c *Captured) Bind(leaves []*ir.Data, consts []ir.Scalar, nodes []*ir.Node, keep []int, kept []bool) {
	c.in.leaves, c.in.consts, c.in.nodes, c.in.keep, c.in.kept = leaves, consts, nodes, keep, kept
}

// Run runs the plan; only one goroutine at a time may call it.
func (c *Captured) Run(ctx context.Context, result func(i int, d *ir.Data)) error {
	c.in.records = events.Of(ctx)
	c.in.asked = c.in.records.Now()
	reused := c.reused
	c.reused = true
	return c.plan.execute(ctx, &c.in, reused, result)
}
