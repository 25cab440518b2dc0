package plan

import (
	"maps"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// inlining decides which elementwise values are never written to memory: a cluster that only one other
// cluster reads becomes part of it (the prologue of a reduction, a transposed operand), and what is cheap is
// computed again by each of its readers. It knows the readers of each value.
type inlining struct {
	*clustering
	uses    map[*cluster][]use
	readers []map[*cluster]bool // of each value
	fixed   []int               // how often each value is read in a way that needs it in memory
}

func (c *clustering) inline() {
	n := len(c.values)
	in := &inlining{clustering: c, uses: map[*cluster][]use{}, readers: make([]map[*cluster]bool, n), fixed: make([]int, n)}
	for _, k := range c.all {
		in.set(k, in.read(k))
	}
	list := in.sorted(in.uses)
	for _, k := range list {
		for in.next(k) {
		}
	}
	for _, k := range list {
		if k.kind == backend.MatMul && !k.dead {
			in.derive(k)
		}
	}
}

// read returns what k reads, and nothing if k cannot be written down.
func (in *inlining) read(k *cluster) []use {
	e := in.emit(k, in.own(k))
	if e.failed {
		return nil
	}
	return e.uses
}

// own lists the values of k that could be asked for.
func (in *inlining) own(k *cluster) []int {
	list := slices.Clone(k.members)
	for _, h := range k.heavy {
		if in.values[h].outs == nil {
			list = append(list, h)
		}
	}
	return list
}

// set notes that k reads these uses and no others.
func (in *inlining) set(k *cluster, uses []use) {
	for _, u := range in.uses[k] {
		delete(in.readers[u.base], k)
		if !u.inlinable {
			in.fixed[u.base]--
		}
	}
	in.uses[k] = uses
	for _, u := range uses {
		if !u.inlinable {
			in.fixed[u.base]++
		}
		if in.readers[u.base] == nil {
			in.readers[u.base] = map[*cluster]bool{}
		}
		in.readers[u.base][k] = true
	}
}

// next inlines one value into k, or reports that there is none left to inline.
func (in *inlining) next(k *cluster) bool {
	for _, u := range in.uses[k] {
		in.step(1)
		from := in.owner[u.base]
		if from == nil || from == k || from.kind != backend.Map || k.inlined[u.base] || !in.allInlinable(u.base) {
			continue
		}
		exclusive := in.exclusive(from, k)
		part := in.part(u.base)
		if !exclusive && !in.worthTwice(u.base, part) || u.chain.repeats() && in.cost(part) > in.hints.Cheap {
			continue
		}
		if in.try(k, from, part) {
			return true
		}
	}
	return false
}

// try inlines part of from into k, unless that gives a group that cannot be written down or reads too much.
func (in *inlining) try(k, from *cluster, part []int) bool {
	old := k.inlined
	k.inlined = map[int]bool{}
	for v := range old {
		k.inlined[v] = true
	}
	for _, v := range part {
		k.inlined[v] = true
	}
	e := in.emit(k, in.own(k))
	if e.failed || len(e.bufs) > maxInputs+len(in.own(k)) || len(e.group.Insts) > maxMembers {
		k.inlined = old
		return false
	}
	in.set(k, e.uses)
	if from.kind == backend.Map && len(in.exported(from)) == 0 {
		from.dead = true
		in.set(from, nil)
	}
	return true
}

// derive lets the readers of a cluster's elementwise values compute these themselves, from its products, if
// so fewer bytes wait in memory, and none of them reads more. Of silu(g)·u a gradient wants silu(g) and
// silu'(g): g is enough. Products that read as many bytes do so, too: a library that computes the cluster's
// product leaves its epilogue to a launch, and theirs is one anyway.
func (in *inlining) derive(from *cluster) {
	var list []int
	for _, v := range in.exported(from) {
		if in.allInlinable(v) {
			list = append(list, v)
		}
	}
	saved := 0
	in.roots(list, func(b int) {
		if in.owner[b] == from && !in.wanted[b] && len(in.readers[b]) == 0 {
			saved -= in.values[b].bytes()
		}
	})
	read := map[*cluster][]int{}
	for _, v := range list {
		saved += in.values[v].bytes()
		for k := range in.readers[v] {
			read[k] = append(read[k], v)
		}
	}
	others := func(k *cluster) bool { return k.kind != backend.MatMul }
	if len(list) == 0 || saved < 0 || saved == 0 && slices.ContainsFunc(slices.Collect(maps.Keys(read)), others) || in.readMore(read) {
		return
	}
	type state struct {
		inlined map[int]bool
		uses    []use
	}
	old := map[*cluster]state{}
	for k, values := range read {
		old[k] = state{k.inlined, in.uses[k]}
		if !in.try(k, from, in.roots(values, func(int) {})) {
			for k, s := range old {
				k.inlined = s.inlined
				in.set(k, s.uses)
			}
			return
		}
	}
}

// readMore says whether a cluster would read more if it computed the values listed for it, or often.
func (in *inlining) readMore(lists map[*cluster][]int) bool {
	for k, list := range lists {
		more := 0
		in.roots(list, func(b int) {
			if !in.readers[b][k] {
				more += in.values[b].bytes()
			}
		})
		for _, v := range list {
			more -= in.values[v].bytes()
		}
		if more > 0 || slices.ContainsFunc(in.uses[k], func(u use) bool { return u.chain.repeats() && slices.Contains(list, u.base) }) {
			return true
		}
	}
	return false
}

// roots lists the values of a cluster with those that they are computed from, and calls f for what these
// read.
func (in *inlining) roots(list []int, f func(base int)) (part []int) {
	for _, v := range list {
		for _, p := range in.part(v) {
			if !slices.Contains(part, p) {
				part = append(part, p)
			}
		}
	}
	read := slices.Clone(part)
	for _, v := range part {
		for _, a := range in.values[v].args {
			in.step(1)
			if b, _ := in.base(a); in.values[b].kind != scalar && !slices.Contains(read, b) {
				read = append(read, b)
				f(b)
			}
		}
	}
	return part
}

// exported lists the values of a cluster that others need in memory.
func (in *inlining) exported(k *cluster) []int {
	var list []int
	for _, v := range k.members {
		if in.wanted[v] || len(in.readers[v]) > 0 {
			list = append(list, v)
		}
	}
	return list
}

// exclusive says whether only k reads from.
func (in *inlining) exclusive(from, k *cluster) bool {
	for _, v := range in.exported(from) {
		if in.wanted[v] || len(in.readers[v]) != 1 || !in.readers[v][k] || !in.allInlinable(v) {
			return false
		}
	}
	return true
}

// allInlinable says whether v can do without memory.
func (in *inlining) allInlinable(v int) bool { return !in.wanted[v] && in.fixed[v] == 0 }

// part lists v and the elementwise values that it is computed from within its cluster.
func (in *inlining) part(v int) []int {
	k := in.owner[v]
	var list []int
	var visit func(v int)
	visit = func(v int) {
		if slices.Contains(list, v) {
			return
		}
		list = append(list, v)
		for _, a := range in.values[v].args {
			if b, _ := in.base(a); in.values[b].kind == mapped && (in.owner[b] == k || k.inlined[b]) {
				visit(b)
			}
		}
	}
	visit(v)
	return list
}

// slow is the number of operations from which an op counts as slow: a series, or a division and more, instead
// of a vector instruction.
const slow = 4

// cost estimates the work for one element.
func (in *inlining) cost(part []int) int {
	n := 0
	for _, v := range part {
		switch op := in.values[v].op; {
		case op == copied:
		case op.Operations() >= slow:
			n += 2 * max(1, in.hints.Cheap)
		default:
			n++
		}
	}
	return n
}

// worthTwice says whether computing part again costs less than memory: few operations on one input, or on two
// if there are few readers.
func (in *inlining) worthTwice(v int, part []int) bool {
	if in.cost(part) > in.hints.Cheap {
		return false
	}
	inputs := map[int]bool{}
	for _, p := range part {
		for _, a := range in.values[p].args {
			if b, _ := in.base(a); in.values[b].kind != scalar && !slices.Contains(part, b) {
				inputs[b] = true
			}
		}
	}
	return len(inputs) <= 1 || len(inputs) == 2 && len(in.readers[v]) <= 3
}

// sorted lists the clusters that the outputs need, each after those that it reads.
func (c *clustering) sorted(uses map[*cluster][]use) []*cluster {
	c.searches++
	var list []*cluster
	type visit struct {
		k    *cluster
		next int // of its uses
	}
	var stack []visit
	enter := func(v int) {
		if k := c.owner[v]; k != nil && k.search != c.searches {
			k.search = c.searches
			stack = append(stack, visit{k: k})
		}
	}
	for _, o := range c.outs {
		b, _ := c.base(o)
		enter(b)
		for len(stack) > 0 {
			c.step(1)
			at := &stack[len(stack)-1]
			if list := uses[at.k]; at.next < len(list) {
				at.next++
				enter(list[at.next-1].base)
				continue
			}
			list = append(list, at.k)
			stack = stack[:len(stack)-1]
		}
	}
	return list
}
