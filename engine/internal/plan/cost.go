package plan

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Cost is what an evaluation takes.
type Cost struct {
	Launches     int
	Bytes, Flops int64 // that the launches move and compute
	Memory       int64 // new: for results and for what lies between launches
	Replaced     int64 // of results that may lie where what they replace lies; not part of Memory
}

// CostOf plans the evaluation of nodes of one device, as Run will, and says what it takes. What other devices
// compute for it is left out. Nothing is computed.
func CostOf(ctx context.Context, outs []*ir.Node) (c Cost, err error) {
	defer caught(&err)
	todo := waiting(outs)
	if len(todo) == 0 {
		return Cost{}, nil
	}
	dev, w, err := walk(ctx, todo)
	if err != nil {
		return Cost{}, err
	}
	defer w.Release()
	p, _, err := find(ctx, dev, w)
	if err != nil {
		return Cost{}, err
	}
	c = Cost{Launches: len(p.work.Launches), Memory: p.bytes}
	for _, g := range p.groups {
		c.Bytes, c.Flops = c.Bytes+g.Bytes, c.Flops+max(0, g.Flops)
	}
	for i, n := range p.blocks {
		if p.reused[i].leaf >= 0 {
			c.Replaced += int64(n)
		}
	}
	return c, nil
}
