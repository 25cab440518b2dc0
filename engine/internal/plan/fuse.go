package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Limits of what the rules gather in one group: registers for live values, and time to plan. A single op may
// have any number of operands.
const (
	maxInputs    = 24
	maxMembers   = 64
	mostTries    = 16      // how many of the launches that a product could share are tried
	mostChain    = 64      // products of a launch that need one another
	mostSearched = 1 << 11 // steps of a search for a way from one cluster to another
	mostRaised   = 128     // clusters that learn how late one is
)

// fuseAll applies the rules in order.
func (c *clustering) fuseAll() {
	if !c.fuse {
		return
	}
	c.joinGradients()
	c.mergeProducts()
	c.mergeReductions()
	if c.hints.Alike {
		c.mergeAlike()
	}
	c.setLate()
	for _, v := range c.list {
		if c.values[v].kind == mapped {
			c.join(v)
		}
	}
	c.chainProducts()
	c.joinNorms()
	c.prune()
	c.inline()
	c.prune()
}

func (c *clustering) prune() {
	c.all = slices.DeleteFunc(c.all, func(k *cluster) bool { return k.dead })
}

// A reductionKey is equal for reductions of one value over the same axes.
type reductionKey struct {
	base        int
	chain, axes string
}

// mergeReductions lets reductions of one value over the same axes stand in one launch.
func (c *clustering) mergeReductions() {
	alike := map[reductionKey][]int{}
	for _, v := range c.list {
		if x := &c.values[v]; x.kind == heavy && x.op.Family() == ir.FamilyReduce {
			b, ch := c.base(x.args[0])
			key := reductionKey{b, ch.key(), string(appendInts(nil, x.attr.Axes))}
			for _, u := range alike[key] {
				if c.owner[u] != c.owner[v] && !c.depends(c.owner[u], c.owner[v]) && !c.depends(c.owner[v], c.owner[u]) {
					c.merge(c.owner[u], c.owner[v])
				}
			}
			alike[key] = append(alike[key], v)
		}
	}
	c.prune()
}

// mergeAlike lets ropes of the same positions stand in one launch, and overwrites at the same places of an
// axis: queries and keys, and then keys and values, of one step.
func (c *clustering) mergeAlike() {
	type key struct {
		op           ir.Op
		base         int // of positions or places
		chain        string
		axis, length int
	}
	open := map[key]*cluster{}
	for _, v := range c.list {
		x := &c.values[v]
		if x.kind != heavy || x.op != ir.Rope && x.op != ir.Overwrite {
			continue
		}
		b, ch := c.base(x.args[1])
		k := key{op: x.op, base: b, chain: ch.key()}
		if x.op == ir.Overwrite {
			k.axis, k.length = x.attr.Axis, x.shape[x.attr.Axis]
		}
		own, other := c.owner[v], open[k]
		if other != nil && len(other.heavy) < mostTries && c.fits(other, own) && !c.depends(other, own) && !c.depends(own, other) {
			c.merge(other, own)
		} else {
			open[k] = own
		}
	}
	for _, v := range c.list {
		if c.turned(v) {
			c.joinStored(c.owner[v], c.owner[c.users[v][0]])
		}
	}
	c.prune()
}

// turned says whether v is turned to be stored: a rope of which nothing is read but in C order, by an
// overwrite of few places.
func (c *clustering) turned(v int) bool {
	x := &c.values[v]
	if x.op != ir.Rope || c.wanted[v] || len(c.users[v]) != 1 {
		return false
	}
	y := &c.values[c.users[v][0]]
	if y.op != ir.Overwrite || c.values[y.args[1]].size() > c.hints.Stored {
		return false
	}
	b, ch := c.base(y.args[2])
	l, ok := ch.apply(c.layout(v))
	last := len(l.Shape) - 1
	return b == v && ok && l.IsContiguous() && l.Size() == x.size() && y.attr.Axis < last && l.Shape[last] == x.shape[len(x.shape)-1]
}

// joinStored lets overwrites share the launch of ropes whose results they store, if they read nothing else of
// it.
func (c *clustering) joinStored(ropes, overwrites *cluster) {
	if ropes == overwrites || !c.fits(ropes, overwrites) || !c.independent(ropes, overwrites) {
		return
	}
	only := true
	c.needsArgs(overwrites, func(user, arg int) bool {
		b, _ := c.base(arg)
		only = only && (c.owner[b] != ropes || c.turned(b) && arg == c.values[user].args[2])
		return only
	})
	if only {
		c.merge(ropes, overwrites)
	}
}

// join moves the mapped value v into the cluster that computes one of its operands, as its epilogue; a heavy
// cluster is better than an elementwise one, because its result need not be written and read again.
// Elementwise clusters of further operands then come along.
func (c *clustering) join(v int) {
	x := &c.values[v]
	if x.op == copied {
		return
	}
	var best *cluster
	for _, a := range x.args {
		b, ch := c.base(a)
		k := c.owner[b]
		if k == nil || k == c.owner[v] || k == best || !ch.direct() || !c.mayJoin(v, k) {
			continue
		}
		if best == nil || heavier(k, best) {
			best = k
		}
	}
	if best == nil {
		return
	}
	c.merge(best, c.owner[v])
	switch best.kind {
	case backend.MatMul:
		best.setProblem(v, c.problemOf(v, best))
	case backend.Reduce:
		c.uniteReductions(v, best)
	}
	if best.kind != backend.Map {
		return
	}
	for _, a := range x.args {
		b, ch := c.base(a)
		k := c.owner[b]
		if k != nil && k != best && k.kind == backend.Map && ch.direct() && c.mayUnite(best, k) {
			c.merge(best, k)
		}
	}
}

// uniteReductions brings the other reductions that v, a member of k, reads into k, if they are over the same
// axes of the same shape: a sum of losses is divided by the sum of what counts in one launch.
func (c *clustering) uniteReductions(v int, k *cluster) {
	for _, a := range c.values[v].args {
		b, ch := c.base(a)
		o := c.owner[b]
		if o == nil || o == k || o.kind != backend.Reduce || c.apart(o) || c.apart(k) || !ch.direct() || !c.alike(o, k) || len(o.members)+len(k.members) > maxMembers {
			continue
		}
		if c.fits(k, o) && c.endsOf(k, o) && c.endsOf(o, k) && c.independent(k, o) {
			c.merge(k, o)
		}
	}
}

// apart says whether a cluster has a value that stays apart.
func (c *clustering) apart(k *cluster) bool {
	return slices.ContainsFunc(k.heavy, func(v int) bool { return c.values[v].apart })
}

// alike says whether two clusters of reductions go through the same axes of one shape.
func (c *clustering) alike(a, b *cluster) bool {
	x, y := &c.values[a.heavy[0]], &c.values[b.heavy[0]]
	return slices.Equal(x.attr.Axes, y.attr.Axes) && slices.Equal(c.values[x.args[0]].shape, c.values[y.args[0]].shape)
}

// endsOf says whether a needs values of b after its reductions only, at their own places.
func (c *clustering) endsOf(a, b *cluster) bool {
	for _, v := range a.heavy {
		if base, _ := c.base(c.values[v].args[0]); c.owner[base] == b {
			return false
		}
	}
	for _, v := range a.members {
		for _, arg := range c.values[v].args {
			if base, ch := c.base(arg); c.owner[base] == b && !ch.direct() {
				return false
			}
		}
	}
	return true
}

// heavier prefers other clusters to plain maps, and of two alike the one whose values come last.
func heavier(a, b *cluster) bool {
	if (a.kind == backend.Map) != (b.kind == backend.Map) {
		return b.kind == backend.Map
	}
	return a.late > b.late
}

// mayJoin says whether v, which reads a value of k at its own places, can be computed by k.
func (c *clustering) mayJoin(v int, k *cluster) bool {
	x := &c.values[v]
	if k.kind == backend.Single || len(k.members) >= maxMembers {
		return false
	}
	shape := k.shape
	if k.kind == backend.MatMul {
		p := c.problemOf(v, k)
		if p < 0 {
			return false
		}
		shape = c.values[k.heavy[p]].shape
	}
	return x.size() == ir.Size(shape) && (k.kind != backend.Row || c.joinsRow(v, k)) && c.readable(v, k, shape) && c.fits(k, c.owner[v]) && c.independent(k, c.owner[v])
}

// joinsRow says whether v can be part of the epilogue of the row cluster k: an epilogue sees a row op's first
// result only, and only if that has the row's shape.
func (c *clustering) joinsRow(v int, k *cluster) bool {
	h := &c.values[k.heavy[0]]
	if h.op == ir.CrossEntropy || h.op == ir.CrossEntropyGrad {
		return false
	}
	for _, a := range c.values[v].args {
		b, _ := c.base(a)
		if x := &c.values[b]; x.kind == result && x.index != 0 && c.owner[b] == k {
			return false
		}
	}
	return true
}

// problemOf returns the product of k that v reads, directly or through members: the last one of several if an
// epilogue may read them all, else -1.
func (c *clustering) problemOf(v int, k *cluster) int {
	found := -1
	for _, a := range c.values[v].args {
		b, _ := c.base(a)
		if c.owner[b] != k || b == v {
			continue
		}
		p, ok := k.problem[b]
		if !ok {
			p = slices.Index(k.heavy, b)
		}
		if found >= 0 && p != found && !c.gated(k.heavy[p], k.heavy[found]) {
			return -1
		}
		found = max(found, p)
	}
	return found
}

// readable says whether every operand of v can be read at the places of shape: those of k straight from its
// instructions, the others from memory.
func (c *clustering) readable(v int, k *cluster, shape []int) bool {
	for _, a := range c.values[v].args {
		b, ch := c.base(a)
		switch {
		case c.values[b].kind == scalar:
		case c.owner[b] == k:
			if !ch.direct() {
				return false
			}
		default:
			if _, ok := ch.then(c.values[b].shape, reshape(shape)).apply(c.layout(b)); !ok {
				return false
			}
		}
	}
	return true
}

// fits says whether a and b together read at most as many values as one group may.
func (c *clustering) fits(a, b *cluster) bool {
	c.counted.clear()
	n := 0
	count := func(base int) bool {
		x := &c.values[base]
		if o := c.owner[base]; o == a || o == b || x.kind == scalar || !c.counted.add(base) {
			return true
		}
		if x.op == ir.Dequantize {
			n += len(x.args)
		} else {
			n++
		}
		return n <= maxInputs
	}
	c.needs(a, count)
	c.needs(b, count)
	return n <= maxInputs
}

// mayUnite says whether the elementwise cluster b, of which a reads values at its own places, can become part
// of a.
func (c *clustering) mayUnite(a, b *cluster) bool {
	if len(a.members)+len(b.members) > maxMembers || ir.Size(a.shape) != ir.Size(b.shape) {
		return false
	}
	for _, pair := range [][2]*cluster{{a, b}, {b, a}} {
		for _, v := range pair[0].members {
			for _, arg := range c.values[v].args {
				base, ch := c.base(arg)
				if c.owner[base] == pair[1] && !ch.direct() {
					return false
				}
			}
		}
	}
	for _, v := range b.members {
		if c.values[v].op == copied || !c.readable(v, b, a.shape) {
			return false
		}
	}
	return c.fits(a, b) && c.independent(a, b)
}

// chainProducts puts products that need one another into one launch when they have few rows: then a launch
// costs more than the work between two of its phases.
func (c *clustering) chainProducts() {
	few := func(k *cluster) bool { return k.kind == backend.MatMul && c.allFew(k) }
	for i, k := range c.all {
		k.place = i
	}
	for changed := true; changed; {
		changed = false
		for _, b := range c.all {
			if b.dead || !few(b) {
				continue
			}
			for _, a := range c.beside(b) {
				if few(a) && c.feeds(a, b) {
					c.merge(a, b)
					changed = true
					break
				}
			}
		}
	}
}

// allFew says whether all products of a cluster have few rows.
func (c *clustering) allFew(k *cluster) bool {
	return !slices.ContainsFunc(k.heavy, func(v int) bool { return c.values[v].op == ir.MatMul && !c.few(v) })
}

// few says whether a product has few rows, by its longest pair.
func (c *clustering) few(v int) bool {
	x := &c.values[v]
	inner, main := 0, 0
	for i := 0; i < len(x.args); i += 2 {
		if s := c.values[x.args[i]].shape; s[len(s)-1] > inner {
			inner, main = s[len(s)-1], i
		}
	}
	columns := x.shape[len(x.shape)-1]
	return c.hints.Few(x.size()/max(1, columns), inner, columns, c.stored(x.args[main]), c.stored(x.args[main+1]))
}

// stored is the type in which an operand of a product lies in memory: U8 if it is in codes.
func (c *clustering) stored(v int) dtype.Type {
	b, _ := c.base(v)
	switch x := &c.values[b]; x.op {
	case ir.Cast:
		return c.stored(x.args[0])
	case ir.Dequantize:
		return dtype.U8
	default:
		return x.dtype
	}
}

// joinNorms brings norms of few rows into the launch of the products that read them, if these are of one
// launch: each threadgroup finds the scale of the rows for itself, which costs less than a launch even where
// the columns are a vocabulary's.
func (c *clustering) joinNorms() {
	for _, k := range c.all {
		if k.dead || k.kind != backend.Row || len(k.members) > 0 || len(k.heavy) != 1 || c.wanted[k.heavy[0]] {
			continue
		}
		n := k.heavy[0]
		if !c.hints.Absorbing || c.values[n].op != ir.RMSNorm {
			continue
		}
		if m := c.readsNorm(n); m != nil && c.allFew(m) && !c.normed(m) && c.fits(m, k) && c.independent(m, k) {
			c.merge(m, k)
		}
	}
}

// normed says whether a MatMul cluster has a norm.
func (c *clustering) normed(k *cluster) bool {
	return slices.ContainsFunc(k.heavy, func(v int) bool { return c.values[v].op == ir.RMSNorm })
}

// readsNorm returns the cluster whose products are all that reads the norm n, each as a matrix that is its
// left operand; nil if there is none.
func (c *clustering) readsNorm(n int) *cluster {
	var m *cluster
	x := &c.values[n]
	rows := []int{x.size() / max(1, x.shape[len(x.shape)-1]), x.shape[len(x.shape)-1]}
	for _, u := range c.users[n] {
		k, product := c.owner[u], &c.values[u]
		if product.op != ir.MatMul || !product.dtype.Float() || m != nil && k != m {
			return nil
		}
		m = k
		for i, a := range product.args {
			if b, _ := c.base(a); b == n && (i%2 == 1 || !slices.Equal(c.values[a].shape, rows)) {
				return nil
			}
		}
	}
	return m
}

// beside lists the clusters that compute the operands of k's products, or use its results, in their order.
func (c *clustering) beside(k *cluster) []*cluster {
	c.searches++
	k.search = c.searches
	var list []*cluster
	add := func(o *cluster) {
		if o != nil && o.search != c.searches {
			o.search = c.searches
			list = append(list, o)
		}
	}
	c.needs(k, func(b int) bool { add(c.owner[b]); return true })
	c.usersOf(k, add)
	slices.SortFunc(list, func(a, b *cluster) int { return a.place - b.place })
	return list
}

// feeds says whether one of a and b needs results of the other as operands of its products, as they are, and
// neither needs the other in any other way.
func (c *clustering) feeds(a, b *cluster) bool {
	fed := false
	for _, pair := range [][2]*cluster{{a, b}, {b, a}} {
		from, to := pair[0], pair[1]
		ok := true
		c.needsArgs(to, func(v, arg int) bool {
			base, ch := c.base(arg)
			if c.owner[base] == from {
				fed = true
				ok = c.values[v].kind == heavy && len(ch) == 0 && slices.Equal(c.values[base].shape, c.instructionShape(from, base))
			}
			return ok
		})
		if !ok {
			return false
		}
	}
	return fed && len(a.heavy)+len(b.heavy) <= mostChain && c.fits(a, b) && c.independent(a, b)
}

// instructionShape is the shape that v has among the instructions of its MatMul cluster k.
func (c *clustering) instructionShape(k *cluster, v int) []int {
	if p, ok := k.problem[v]; ok {
		return c.values[k.heavy[p]].shape
	}
	return c.values[v].shape
}
