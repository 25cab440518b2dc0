package plan

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// findOverlays lets the gradient of logits take the logits' own memory: they are the largest values of a training step,
// and nothing reads them after their gradient was computed.
func (o *ordering) findOverlays() {
	o.over = map[int]int{}
	operands := o.operands()
	for i, k := range o.order {
		if k.kind != backend.Row || len(k.heavy) != 1 || len(o.exports[i]) != 1 || o.exports[i][0] != k.heavy[0] {
			continue
		}
		v := k.heavy[0]
		x := &o.values[v]
		if x.op != ir.CrossEntropyGrad || o.wanted[v] {
			continue
		}
		b, ch := o.base(x.args[0])
		logits := &o.values[b]
		if o.owner[b] != nil && !o.wanted[b] && ch.direct() && logits.dtype == x.dtype && logits.size() == x.size() && o.lastReader(b, i, operands) {
			o.over[v] = b
		}
	}
}

// lastReader says whether every other launch that reads v comes before launch i in any order.
func (o *ordering) lastReader(v, i int, operands [][]int) bool {
	before := make([]bool, len(o.order))
	var visit func(i int)
	visit = func(i int) {
		for _, w := range operands[i] {
			if !before[w] {
				before[w] = true
				visit(w)
			}
		}
	}
	visit(i)
	for j, k := range o.order {
		if j == i || before[j] {
			continue
		}
		for _, u := range o.uses[k] {
			if u.base == v {
				return false
			}
		}
	}
	return true
}

// home is the value in whose memory v lies: usually itself.
func (o *ordering) home(v int) int {
	if b, ok := o.over[v]; ok {
		return b
	}
	return v
}
