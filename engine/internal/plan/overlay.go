package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// findOverlays lets the gradient of logits take the logits' own memory: they are the largest values of a
// training step, and nothing reads them after their gradient was computed.
func (o *ordering) findOverlays() {
	o.over = map[int]int{}
	var operands, readers [][]int
	for i, k := range o.order {
		at := slices.IndexFunc(k.heavy, func(v int) bool { return o.values[v].op == ir.CrossEntropyGrad })
		if at < 0 || !slices.Contains(o.exports[i], k.heavy[at]) {
			continue
		}
		v := k.heavy[at]
		x := &o.values[v]
		if o.wanted[v] || x.order != nil {
			continue
		}
		b, ch := o.base(x.args[0])
		logits := &o.values[b]
		if o.owner[b] == nil || o.wanted[b] || !ch.direct() || logits.dtype != x.dtype || logits.size() != x.size() || logits.order != nil {
			continue
		}
		if operands == nil {
			operands, readers = o.operands(), o.readersOf()
		}
		if o.lastReader(readers[b], i, operands) {
			o.over[v] = b
		}
	}
}

// readersOf lists for each value the launches that read it.
func (o *ordering) readersOf() [][]int {
	list := make([][]int, len(o.values))
	for i, reads := range o.reads {
		for _, v := range reads {
			list[v] = append(list[v], i)
		}
	}
	return list
}

// lastReader says whether launch i comes after all other readers of a value in any order.
func (o *ordering) lastReader(readers []int, i int, operands [][]int) bool {
	before := map[int]bool{i: true}
	for stack := []int{i}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, w := range operands[at] {
			o.step(1)
			if w >= readers[0] && !before[w] { // launches come after their operands in the given order, too
				before[w] = true
				stack = append(stack, w)
			}
		}
	}
	return !slices.ContainsFunc(readers, func(r int) bool { return !before[r] })
}

// home is the value in whose memory v lies: usually itself.
func (o *ordering) home(v int) int {
	if b, ok := o.over[v]; ok {
		return b
	}
	return v
}
