package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
)

// A Mark is a moment in the life of a [Ledger].
type Mark uint32

// Mark returns the present moment.
func (l *Ledger) Mark() Mark { return Mark(l.record.Mark()) }

// Limit makes the ledger hold n tensors at most. Once more have come together that have no value, it gives
// up, and knows of none any more: for code that may run for hours.
func (l *Ledger) Limit(n int) { l.record.Limit(n) }

// worthTime is how many operations take long enough to make a time wrong.
const worthTime = 100_000

// Unsettled returns the tensors that were made since a moment, that no other tensor reads, and that are not
// computed yet, where computing them takes a while: their operations and types, "matmul f32[512 512]", with
// the place of the code where that is known, "matmul f32[512 512] of In[3]:2". A clock that is read now does
// not have them in its time.
func (l *Ledger) Unsettled(since Mark) (list []string) {
	for _, n := range l.record.Since(uint32(since), worthTime) {
		list = append(list, workOf(n))
	}
	return list
}

// workOf names what computes a node.
func workOf(n *ir.Node) string {
	text := n.Op.String() + " " + n.Type().String()
	if n.Op == ir.Leaf {
		text = "data " + n.Type().String()
	}
	if line := n.Origin.Line(); line != "" {
		text += " of " + line
	}
	return text
}

// worthTelling is how many elements a tensor has that took a while: an evaluated one does not know any more
// what it took.
const worthTelling = 1000

// Older returns the work that the run which has ended did for tensors that were made before the ledger was
// opened, or elsewhere, and that are not among its results: its time has what others had left undone.
func (l *Ledger) Older(results ...Tensor) (list []string) {
	for _, n := range l.record.Older() {
		if ir.Size(n.Shape) >= worthTelling && !slices.ContainsFunc(reals(results...), func(t Tensor) bool { return t.node("eval") == n }) {
			list = append(list, workOf(n))
		}
	}
	return list
}

// Guarded says whether a [Guard] is on within the ledger's context: then each launch takes longer.
func (l *Ledger) Guarded() bool { return plan.Guarded(l.ctx) }

// Elsewhere returns the work for results of the run which has ended that it has not done itself: what was
// done before the run began, and what others did meanwhile. Its time does not have that work in it.
func (l *Ledger) Elsewhere(results ...Tensor) (before, meanwhile []string) {
	for _, t := range reals(results...) {
		n := t.node("eval")
		if n.Value() == nil || n.Op == ir.Const {
			continue
		}
		switch others, early := l.record.By(n); {
		case others && early:
			before = append(before, workOf(n))
		case others:
			meanwhile = append(meanwhile, workOf(n))
		}
	}
	return before, meanwhile
}
