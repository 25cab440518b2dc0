package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// A productKey is equal for products that may share a launch.
type productKey struct {
	base  int // of the left-hand side, or of either side of thin products; -1 for small ones
	chain string
	level int
	thin  bool
}

// mostThin is the number of rows, or of columns, up to which memory limits a product.
const mostThin = 32

// mergeProducts lets products of one left-hand side stand in one launch: q, k and v; gate and up; the h = x·A
// of their adapters. Thin ones may share any operand: a device can read it once for both. Products that are
// too small to fill a device, as the gradients of adapters are, need not share one. Only products of one
// level are merged: those of the next may need all of this one. Products whose results are combined by
// elementwise work, silu(gate)·up, stay apart: then that work is the epilogue of the second, and reads one
// result from memory instead of two. A device may hint that it is faster otherwise.
func (c *clustering) mergeProducts() {
	open := map[productKey][]*cluster{}
	place := func(k *cluster, key productKey) { // products of one level do not need one another
		list := open[key]
		for _, other := range list[max(0, len(list)-mostTries):] {
			if other != k && !other.dead && c.fits(other, k) && (c.gated(other.heavy[0], k.heavy[0]) || !c.combined(other, k)) {
				c.merge(other, k)
				return
			}
		}
		open[key] = append(list, k)
	}
	for _, v := range c.list {
		if x := &c.values[v]; c.isProduct(v) && !x.apart {
			b, ch := c.base(x.args[0])
			place(c.owner[v], productKey{b, ch.key(), c.level[v], false})
		}
	}
	for _, k := range slices.Clone(c.all) {
		if k.kind == backend.MatMul && !k.dead && c.small(k) {
			place(k, productKey{-1, "", c.level[k.heavy[0]], false})
		}
	}
	for _, v := range c.list {
		if x := &c.values[v]; c.isProduct(v) && !x.apart && len(x.shape) == 2 && min(x.shape[0], x.shape[1]) <= mostThin {
			for _, a := range x.args {
				b, ch := c.base(a)
				place(c.owner[v], productKey{b, ch.key(), c.level[v], true})
			}
		}
	}
	c.prune()
}

// gated says whether an epilogue may read both of two products.
func (c *clustering) gated(a, b int) bool {
	s := c.values[a].shape
	return c.hints.Absorbing && len(s) == 2 && slices.Equal(s, c.values[b].shape) && c.values[a].dtype.Float() && c.few(a) && c.few(b)
}

// combined says whether an elementwise value is computed from products of both a and b, element by element.
func (c *clustering) combined(a, b *cluster) bool {
	c.reached.clear()
	for _, v := range a.heavy {
		c.follow(v, func(u int) bool { c.reached.add(u); return true })
	}
	found := false
	for _, v := range b.heavy {
		c.follow(v, func(u int) bool { found = found || c.reached.has(u); return !found })
	}
	return found
}

// follow visits the elementwise values that are computed from v at v's own places, while f returns true.
func (c *clustering) follow(v int, f func(u int) bool) {
	c.passed.clear()
	count := 0
	var visit func(v int)
	visit = func(v int) {
		for _, u := range c.users[v] {
			c.step(1)
			x := &c.values[u]
			if c.passed.has(u) || x.kind != mapped || x.op == copied || x.size() != c.values[v].size() {
				continue
			}
			c.passed.add(u)
			if count++; count > maxMembers || !f(u) {
				return
			}
			visit(u)
		}
	}
	visit(v)
}

// small says whether all products of a cluster together are little work.
func (c *clustering) small(k *cluster) bool {
	var n int64
	if c.apart(k) {
		return false
	}
	for _, v := range k.heavy {
		n += c.flops(&c.values[v])
	}
	return n <= c.hints.SmallFlops
}
