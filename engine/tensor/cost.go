package tensor

import (
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Cost is what the evaluation of tensors takes.
type Cost struct {
	Launches int
	Bytes    int64 // that the launches read and write
	Flops    int64
	Memory   int64 // bytes of new memory, for results and for what lies between launches
	Replaced int64 // bytes of results that may lie where what they replace lies; if they cannot, Memory is as much more
}

// CostOf says what it takes to evaluate tensors together. They are planned, as their evaluation then finds
// them; nothing is computed. Tensors that have their values cost nothing.
func CostOf(ts ...Tensor) Cost {
	var nodes []*ir.Node
	for _, t := range ts {
		nodes = append(nodes, t.node("cost"))
	}
	var sum Cost
	for _, list := range ir.ByDevice(nodes) {
		c, err := plan.CostOf(scope.Context(), list)
		check("cost", err)
		sum.Launches, sum.Bytes, sum.Flops = sum.Launches+c.Launches, sum.Bytes+c.Bytes, sum.Flops+c.Flops
		sum.Memory, sum.Replaced = sum.Memory+c.Memory, sum.Replaced+c.Replaced
	}
	return sum
}
