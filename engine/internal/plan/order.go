package plan

import "slices"

// An ordering says which launch comes when. Any order in which launches follow what they read computes the same; they
// differ in how much memory lives at once.
type ordering struct {
	*clustering
	order   []*cluster
	exports [][]int // of order[i]
	uses    map[*cluster][]use
	over    map[int]int // values that lie in the memory of another one, which nobody reads any more: see findOverlays
}

// best returns the order that needs the least memory of those tried: the one that follows the outputs depth first, the
// one that does so with the most demanding operands first, and the one that always takes the launch after which the
// least memory lives.
func (o *ordering) best() *ordering {
	best, least := o, o.most(o.identity())
	for _, list := range [][]int{o.demandingFirst(), o.greedy()} {
		if n := o.most(list); n < least {
			best, least = o.permuted(list), n
		}
	}
	return best
}

func (o *ordering) identity() []int {
	list := make([]int, len(o.order))
	for i := range list {
		list[i] = i
	}
	return list
}

func (o *ordering) permuted(list []int) *ordering {
	r := &ordering{clustering: o.clustering, uses: o.uses, over: o.over}
	for _, i := range list {
		r.order, r.exports = append(r.order, o.order[i]), append(r.exports, o.exports[i])
	}
	return r
}

// bytes is how much of the arena a value takes; outputs have memory of their own.
func (o *ordering) bytes(v int) int {
	if o.wanted[v] || o.values[v].kind == leaf || o.home(v) != v {
		return 0
	}
	return (o.values[v].size()*o.values[v].dtype.Size() + alignment - 1) &^ (alignment - 1)
}

// readers counts for each value how many launches read its memory.
func (o *ordering) readers() map[int]int {
	n := map[int]int{}
	for _, k := range o.order {
		o.read(k, func(v int) { n[o.home(v)]++ })
	}
	return n
}

// read calls f once for each value that a launch reads and that another one wrote.
func (o *ordering) read(k *cluster, f func(v int)) {
	list := o.uses[k]
	for i, u := range list {
		first := true
		for _, earlier := range list[:i] {
			first = first && earlier.base != u.base
		}
		if first && o.values[u.base].kind != leaf {
			f(u.base)
		}
	}
}

// most returns the largest number of bytes that live at once when the launches run in the order of list.
func (o *ordering) most(list []int) int {
	left, live, most := o.readers(), 0, 0
	for _, i := range list {
		for _, v := range o.exports[i] {
			live += o.bytes(v)
		}
		most = max(most, live)
		live -= o.freed(i, left, true)
	}
	return most
}

// freed returns how much memory nobody needs after launch i; with done, the launch counts as made.
func (o *ordering) freed(i int, left map[int]int, done bool) (bytes int) {
	o.read(o.order[i], func(v int) {
		v = o.home(v)
		if left[v] == 1 {
			bytes += o.bytes(v)
		}
		if done {
			left[v]--
		}
	})
	for _, v := range o.exports[i] {
		if left[v] == 0 {
			bytes += o.bytes(v)
		}
	}
	return bytes
}

// operands lists for each launch those that write what it reads.
func (o *ordering) operands() [][]int {
	writer, operands := map[int]int{}, make([][]int, len(o.order))
	for i := range o.order {
		for _, v := range o.exports[i] {
			writer[v] = i
		}
	}
	for i, k := range o.order {
		o.read(k, func(v int) {
			if w, ok := writer[v]; ok && w != i && !slices.Contains(operands[i], w) {
				operands[i] = append(operands[i], w)
			}
		})
	}
	return operands
}

// demandingFirst follows the outputs depth first, and of several operands computes that one first which needs the most
// memory beyond what stays of it (Sethi and Ullman 1970, The generation of optimal code for arithmetic expressions). A
// value with several users counts for each.
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
	var list []int
	done := make([]bool, len(o.order))
	var visit func(i int)
	visit = func(i int) {
		if done[i] {
			return
		}
		done[i] = true
		for _, c := range operands[i] {
			visit(c)
		}
		list = append(list, i)
	}
	for i := range o.order {
		if o.last(i) {
			visit(i)
		}
	}
	return list
}

// last says whether a launch writes an output.
func (o *ordering) last(i int) bool {
	return slices.ContainsFunc(o.exports[i], func(v int) bool { return o.wanted[v] })
}

// greedy takes, of the launches that could be next, the one after which the least memory lives; of equal ones, that
// which comes first in the given order.
func (o *ordering) greedy() []int {
	operands := o.operands()
	waits, users := make([]int, len(o.order)), make([][]int, len(o.order))
	var ready, list []int
	for i, list := range operands {
		for _, w := range list {
			users[w] = append(users[w], i)
		}
		if waits[i] = len(list); waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	left := o.readers()
	for len(ready) > 0 {
		at, least := 0, 0
		for j, i := range ready {
			grows := -o.freed(i, left, false)
			for _, v := range o.exports[i] {
				grows += o.bytes(v)
			}
			if j == 0 || grows < least || grows == least && i < ready[at] {
				at, least = j, grows
			}
		}
		i := ready[at]
		ready[at] = ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		list = append(list, i)
		o.freed(i, left, true)
		for _, u := range users[i] {
			if waits[u]--; waits[u] == 0 {
				ready = append(ready, u)
			}
		}
	}
	return list
}
