package plan

import (
	"container/heap"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An ordering says which launch comes when. Any order in which launches follow what they read computes the
// same; they differ in how much memory lives at once.
type ordering struct {
	*clustering
	order   []*cluster
	exports [][]int // of order[i]
	uses    [][]use
	reads   [][]int     // the values that order[i] reads and that another one writes, each once
	over    map[int]int // values that lie in the memory of another one, which nobody reads any more: see findOverlays
}

// best returns the order that needs the least memory of those tried: the one that follows the outputs depth
// first, the one that does so with the most demanding operands first, and the one that always takes the
// launch after which the least memory lives. Where a plan has pieces, sums over which are made in their
// order, the last one is tried once more with that order among equal launches.
func (o *ordering) best() *ordering {
	best, least := o, o.most(o.identity())
	lists := [][]int{o.demandingFirst(), o.greedy(o.identity())}
	if len(o.pieces) > 0 {
		lists = append(lists, o.greedy(o.made()))
	}
	for _, list := range lists {
		if n := o.most(list); n < least {
			best, least = o.permuted(list), n
		}
	}
	return best
}

func (o *ordering) identity() []int { return ir.Indices(len(o.order)) }

// made lists for each launch when the first of its values was made, while the graph was built.
func (o *ordering) made() []int {
	list := make([]int, len(o.order))
	for i, k := range o.order {
		list[i] = len(o.values)
		for _, v := range slices.Concat(k.heavy, k.members) {
			list[i] = min(list[i], v)
		}
	}
	return list
}

func (o *ordering) permuted(list []int) *ordering {
	r := &ordering{clustering: o.clustering, over: o.over}
	for _, i := range list {
		r.order, r.exports = append(r.order, o.order[i]), append(r.exports, o.exports[i])
		r.uses, r.reads = append(r.uses, o.uses[i]), append(r.reads, o.reads[i])
	}
	return r
}

// bytes is how much of the arena a value takes; outputs have memory of their own.
func (o *ordering) bytes(v int) int {
	if o.wanted[v] || o.values[v].kind == leaf || o.home(v) != v {
		return 0
	}
	return (o.values[v].bytes() + alignment - 1) &^ (alignment - 1)
}

// readers counts for each value how many launches read its memory.
func (o *ordering) readers() []int {
	n := make([]int, len(o.values))
	for _, reads := range o.reads {
		for _, v := range reads {
			n[o.home(v)]++
		}
	}
	return n
}

// most returns the largest number of bytes that live at once when the launches run in the order of list.
func (o *ordering) most(list []int) int {
	left, live, most := o.readers(), 0, 0
	for _, i := range list {
		o.step(1 + len(o.reads[i]))
		for _, v := range o.exports[i] {
			live += o.bytes(v)
		}
		most = max(most, live)
		live -= o.freed(i, left, true)
	}
	return most
}

// freed returns how much memory no launch needs after launch i; left is how many launches have yet to read
// each value. With done, launch i counts as made.
func (o *ordering) freed(i int, left []int, done bool) (bytes int) {
	for _, v := range o.reads[i] {
		v = o.home(v)
		if left[v] == 1 {
			bytes += o.bytes(v)
		}
		if done {
			left[v]--
		}
	}
	for _, v := range o.exports[i] {
		if left[v] == 0 {
			bytes += o.bytes(v)
		}
	}
	return bytes
}

// operands lists for each launch those that write what it reads.
func (o *ordering) operands() [][]int {
	writer, operands := make([]int, len(o.values)), make([][]int, len(o.order))
	for i := range o.order {
		for _, v := range o.exports[i] {
			writer[v] = i + 1
		}
	}
	listed := newMarks(len(o.order))
	for i, reads := range o.reads {
		listed.clear()
		listed.add(i)
		for _, v := range reads {
			if w := writer[v] - 1; w >= 0 && listed.add(w) {
				operands[i] = append(operands[i], w)
			}
		}
	}
	return operands
}

// demandingFirst follows the outputs depth first, and of several operands computes that one first which needs
// the most memory beyond what stays of it (Sethi and Ullman 1970, The generation of optimal code for
// arithmetic expressions). A value with several users counts for each.
func (o *ordering) demandingFirst() []int {
	operands := o.operands()
	peak, stays := make([]int, len(o.order)), make([]int, len(o.order))
	for i := range o.order { // operands come before their users
		for _, v := range o.exports[i] {
			stays[i] += o.bytes(v)
		}
		slices.SortStableFunc(operands[i], func(a, b int) int { return (peak[b] - stays[b]) - (peak[a] - stays[a]) })
		held := 0
		for _, c := range operands[i] {
			peak[i] = max(peak[i], held+peak[c])
			held += stays[c]
		}
		peak[i] = max(peak[i], held+stays[i])
	}
	var list, stack []int
	next := make([]int, len(o.order)) // of the operands to visit; −1: done
	for i := range o.order {
		if !o.last(i) {
			continue
		}
		stack = append(stack, i)
		for len(stack) > 0 {
			o.step(1)
			at := stack[len(stack)-1]
			if n := next[at]; n >= 0 && n < len(operands[at]) {
				next[at]++
				if c := operands[at][n]; next[c] == 0 {
					stack = append(stack, c)
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if next[at] >= 0 {
				next[at] = -1
				list = append(list, at)
			}
		}
	}
	return list
}

// last says whether a launch writes an output.
func (o *ordering) last(i int) bool {
	return slices.ContainsFunc(o.exports[i], func(v int) bool { return o.wanted[v] })
}

// greedy takes, of the launches that could be next, the one after which the least memory lives; of equal
// ones, that with the least rank.
func (o *ordering) greedy(rank []int) []int {
	operands := o.operands()
	n := len(o.order)
	waits, users, grows := make([]int, n), make([][]int, n), make([]int, n)
	readers := make([][]int, len(o.values)) // of each value's memory
	for i, list := range operands {
		for _, w := range list {
			users[w] = append(users[w], i)
		}
		waits[i] = len(list)
		for _, v := range o.reads[i] {
			readers[o.home(v)] = append(readers[o.home(v)], i)
		}
	}
	left, made := o.readers(), make([]bool, n)
	var ready choices
	offer := func(i int) {
		o.step(1 + len(o.reads[i]))
		grows[i] = -o.freed(i, left, false)
		for _, v := range o.exports[i] {
			grows[i] += o.bytes(v)
		}
		heap.Push(&ready, choice{i, grows[i], rank[i]})
	}
	for i := range o.order {
		if waits[i] == 0 {
			offer(i)
		}
	}
	var list []int
	for len(ready) > 0 {
		next := heap.Pop(&ready).(choice)
		i := next.launch
		if made[i] || next.grows != grows[i] { // it was offered again since
			continue
		}
		list, made[i] = append(list, i), true
		o.freed(i, left, true)
		for _, v := range o.reads[i] {
			if v = o.home(v); left[v] != 1 {
				continue
			}
			o.step(len(readers[v]))
			for _, r := range readers[v] { // the last reader of v frees it now
				if !made[r] && waits[r] == 0 {
					offer(r)
				}
			}
		}
		for _, u := range users[i] {
			if waits[u]--; waits[u] == 0 {
				offer(u)
			}
		}
	}
	return list
}

// A choice is a launch that could be next, and by how much memory grows with it.
type choice struct{ launch, grows, rank int }

// choices is a heap, the best first.
type choices []choice

func (c choices) Len() int      { return len(c) }
func (c choices) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c choices) Less(i, j int) bool {
	return c[i].grows < c[j].grows || c[i].grows == c[j].grows && c[i].rank < c[j].rank
}
func (c *choices) Push(x any) { *c = append(*c, x.(choice)) }
func (c *choices) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
