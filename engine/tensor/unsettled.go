package tensor

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// A Mark is a moment in the life of a [Ledger].
type Mark uint32

// Mark returns the present moment.
func (l *Ledger) Mark() Mark { return Mark(l.record.Mark()) }

// Limit makes the ledger hold n tensors at most. Once more have come together that have no value, it gives up,
// and knows of none any more: for code that may run for hours.
func (l *Ledger) Limit(n int) { l.record.Limit(n) }

// worthTime is how many operations take long enough to make a time wrong.
const worthTime = 100_000

// Unsettled returns the tensors that were made since a moment, that no other tensor reads, and that are not
// computed yet, where computing them takes a while: their operations and types, "matmul f32[512 512]", with the
// place of the code where that is known, "matmul f32[512 512] of In[3]:2". A clock that is read now does not
// have them in its time.
func (l *Ledger) Unsettled(since Mark) (list []string) {
	for _, n := range l.record.Since(uint32(since), worthTime) {
		list = append(list, workOf(n))
	}
	return list
}

// workOf names what computes a node.
func workOf(n *ir.Node) string {
	text := n.Op.String() + " " + n.Type().String()
	if n.Origin.Place != "" {
		text += " of " + n.Origin.Place
	}
	return text
}
