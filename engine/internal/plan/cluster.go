package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A cluster is what will be one group: values that are computed in one launch. The fusion rules (fuse.go)
// merge clusters; inlined values belong to other clusters and are computed again in this one, so that they
// need no memory (inline.go).
type cluster struct {
	kind    backend.Kind
	shape   []int        // of its elementwise instructions; of a MatMul cluster with several problems, of the first
	heavy   []int        // its values that are no elementwise ones, in order
	members []int        // its elementwise values, in order
	problem map[int]int  // MatMul: of each member, to which of heavy it belongs
	inlined map[int]bool // elementwise values of other clusters
	first   int          // least depth of its values
	reach   int          // greatest depth of its values and of everything that it needs
	late    int          // the same of ranks, while mapped values are joined
	dead    bool
	place   int // in clustering.all, while products are chained
	search  int // the last search by clustering.depends or walk by clustering.sorted that came here
}

// A clustering assigns every value that needs a launch to a cluster.
type clustering struct {
	*graph
	list   []int      // the values that are needed, arguments first
	rank   []int      // place in list, -1 if not needed
	level  []int      // the products on the longest way to each value
	depth  []int      // place among all values by level, then rank: a value is deeper than what it needs
	owner  []*cluster // of a heavy or mapped value
	users  [][]int    // of each base: the values that use it, not counting views
	wanted []bool     // bases of outputs
	all    []*cluster

	// Memory of functions that are called often.
	searches                 int // by depends and sorted so far
	stack                    []*cluster
	counted, reached, passed marks // of values: see fits, combined and follow
	at                       []int // of values: see emitter.buffer
}

// newClustering puts each value into a cluster of its own.
func newClustering(g *graph) *clustering {
	n := len(g.values)
	c := &clustering{
		graph: g, list: g.order(), rank: make([]int, n), owner: make([]*cluster, n),
		users: make([][]int, n), wanted: make([]bool, n), counted: newMarks(n), reached: newMarks(n), passed: newMarks(n), at: make([]int, n),
	}
	for i := range c.rank {
		c.rank[i] = -1
	}
	c.level = c.levels()
	c.depth = c.depths()
	for r, v := range c.list {
		c.rank[v] = r
		depth := c.depth[v]
		x := &g.values[v]
		if x.kind == view {
			continue
		}
		for _, a := range x.args {
			b, _ := g.base(a)
			if list := c.users[b]; len(list) == 0 || list[len(list)-1] != v {
				c.users[b] = append(list, v)
			}
		}
		switch x.kind {
		case mapped:
			c.own(v, &cluster{kind: backend.Map, shape: x.shape, members: []int{v}, first: depth, reach: depth})
		case heavy:
			k := &cluster{kind: kindOf(x), shape: x.shape, heavy: []int{v}, first: depth, reach: depth}
			if x.outs != nil {
				k.shape = x.outs[0].Shape
			}
			c.own(v, k)
		case result:
			c.owner[v] = c.owner[x.args[0]]
			c.owner[v].reach = max(c.owner[v].reach, depth)
		}
	}
	for _, o := range g.outs {
		b, _ := g.base(o)
		c.wanted[b] = true
	}
	return c
}

// levels counts, for each value, the products on the longest way to it. Those that can wait go up to the next
// multiple of Hints.Together, where they are of one level.
func (c *clustering) levels() []int {
	level := make([]int, len(c.values))
	count := func(waits func(v int) bool) {
		for _, v := range c.list {
			x := &c.values[v]
			level[v] = 0
			for _, a := range x.args {
				level[v] = max(level[v], level[a])
			}
			if c.isProduct(v) {
				level[v]++
			}
			if waits(v) {
				level[v] += (-level[v]%c.hints.Together + c.hints.Together) % c.hints.Together
			}
		}
	}
	count(func(int) bool { return false })
	if c.fuse && c.hints.Together > 1 {
		count(c.waiting(level))
	}
	return level
}

func (c *clustering) isProduct(v int) bool {
	return c.values[v].kind == heavy && c.values[v].op == ir.MatMul
}

// waiting finds the products that can wait for others to share a launch: small ones that no other product
// needs, as the gradients of weights are. One that shares an operand with a small product of its level that
// is needed is computed beside that, while the operand is in a cache.
func (c *clustering) waiting(level []int) func(v int) bool {
	needed, small := make([]bool, len(c.values)), func(v int) bool {
		return c.isProduct(v) && !c.values[v].apart && c.flops(&c.values[v]) <= c.hints.SmallFlops
	}
	type place struct{ base, level int }
	read := map[place]bool{}
	for _, v := range slices.Backward(c.list) {
		for _, a := range c.values[v].args {
			needed[a] = needed[a] || needed[v] || c.isProduct(v)
			if b, _ := c.base(a); needed[v] && small(v) {
				read[place{b, level[v]}] = true
			}
		}
	}
	list := map[int]bool{}
	for _, v := range c.list {
		if needed[v] || !small(v) {
			continue
		}
		list[v] = !slices.ContainsFunc(c.values[v].args, func(a int) bool {
			b, _ := c.base(a)
			return read[place{b, level[v]}]
		})
	}
	return func(v int) bool { return list[v] }
}

// depths numbers the values by level, then rank. Products of one level may become one cluster, however far
// they are apart in rank: so few values lie between what a cluster computes.
func (c *clustering) depths() []int {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(u, v int) int { return c.level[u] - c.level[v] })
	depth := make([]int, len(c.values))
	for i, v := range list {
		depth[v] = i
	}
	return depth
}

func (c *clustering) own(v int, k *cluster) {
	c.owner[v] = k
	c.all = append(c.all, k)
}

func kindOf(v *value) backend.Kind {
	switch {
	case v.op == ir.MatMul:
		return backend.MatMul
	case v.op.Family() == ir.FamilyReduce:
		return backend.Reduce
	case v.op.Family() == ir.FamilyRow:
		return backend.Row
	}
	return backend.Single
}

// needs calls f for the base of each argument of k's own values, until f returns false.
func (c *clustering) needs(k *cluster, f func(base int) bool) {
	c.needsArgs(k, func(_, arg int) bool {
		b, _ := c.base(arg)
		return f(b)
	})
}

// needsArgs calls f for each argument of k's own values, until f returns false.
func (c *clustering) needsArgs(k *cluster, f func(user, arg int) bool) {
	for _, list := range [][]int{k.heavy, k.members} {
		for _, v := range list {
			for _, a := range c.values[v].args {
				c.step(1)
				if !f(v, a) {
					return
				}
			}
		}
	}
}

// independent says whether neither of a and b needs the other through a third cluster. Only then can they
// become one; the caller looks at what they need of each other directly.
func (c *clustering) independent(a, b *cluster) bool { return !c.through(a, b) && !c.through(b, a) }

// depends says whether k needs, directly or through others, something that target computes.
func (c *clustering) depends(k, target *cluster) bool {
	direct := false
	c.needs(k, func(b int) bool {
		direct = direct || c.owner[b] == target
		return !direct
	})
	return direct || c.through(k, target)
}

// through says whether k needs, by way of other clusters, something that target computes. When the search
// takes long it says yes: then so much lies between the two that they may as well stay apart.
func (c *clustering) through(k, target *cluster) bool {
	enough := c.steps + mostSearched
	c.searches++
	list := c.stack[:0]
	push := func(k *cluster) {
		c.needs(k, func(b int) bool {
			if o := c.owner[b]; o != nil && o.search != c.searches && o.reach >= target.first {
				list = append(list, o)
			}
			return true
		})
	}
	// What the two need directly says nothing, so k is not searched again, and target is only where another
	// one needs it.
	k.search = c.searches
	target.search = c.searches
	push(k)
	target.search = 0
	for len(list) > 0 {
		o := list[len(list)-1]
		list = list[:len(list)-1]
		if o == target || c.steps > enough {
			return true
		}
		if o.search != c.searches {
			o.search = c.searches
			push(o)
		}
	}
	c.stack = list
	return false
}

// merge moves everything of b into a.
func (c *clustering) merge(a, b *cluster) {
	for _, list := range [][]int{b.heavy, b.members} {
		for _, v := range list {
			c.owner[v] = a
			for _, u := range c.users[v] {
				if c.values[u].kind == result {
					c.owner[u] = a
				}
			}
		}
	}
	byRank := func(x, y int) int { return c.rank[x] - c.rank[y] }
	offset := len(a.heavy)
	for v, p := range b.problem {
		a.setProblem(v, p+offset)
	}
	a.heavy = append(a.heavy, b.heavy...)
	a.members = append(a.members, b.members...)
	slices.SortFunc(a.members, byRank)
	b.dead = true
	a.first = min(a.first, b.first)
	a.reach, a.late = max(a.reach, b.reach), max(a.late, b.late)
	c.raise(a)
}

// raise hands on how far k reaches to all clusters that use k's values. How late k is it hands on to some of
// them only: lateness is a hint, and an early cluster that a late value joins would make everything between
// the two late, again and again.
func (c *clustering) raise(k *cluster) {
	list := append(c.stack[:0], k)
	for hint := mostRaised; len(list) > 0; hint-- {
		k := list[len(list)-1]
		list = list[:len(list)-1]
		c.usersOf(k, func(o *cluster) {
			if o.reach < k.reach || o.late < k.late && hint > 0 {
				o.reach, o.late = max(o.reach, k.reach), max(o.late, k.late)
				list = append(list, o)
			}
		})
	}
	c.stack = list
}

// usersOf calls f with the cluster of each value that uses one of k's own.
func (c *clustering) usersOf(k *cluster, f func(o *cluster)) {
	for _, own := range [][]int{k.heavy, k.members} {
		for _, v := range own {
			c.step(1 + len(c.users[v]))
			for _, u := range c.users[v] {
				if c.values[u].kind != result {
					f(c.owner[u])
					continue
				}
				for _, user := range c.users[u] { // of a tuple's value
					f(c.owner[user])
				}
			}
		}
	}
}

// setLate finds how late clusters are, which merge and raise keep up to date from then on.
func (c *clustering) setLate() {
	for r, v := range c.list {
		if k := c.owner[v]; k != nil {
			k.late = r
		}
	}
	byReach := slices.Clone(c.all)
	slices.SortFunc(byReach, func(a, b *cluster) int { return a.reach - b.reach })
	for _, k := range byReach {
		c.raise(k)
	}
}

func (k *cluster) setProblem(v, p int) {
	if k.problem == nil {
		k.problem = map[int]int{}
	}
	k.problem[v] = p
}
