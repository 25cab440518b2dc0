package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A cluster is what will be one group: values that are computed in one launch. The fusion rules (fuse.go) merge clusters;
// inlined values belong to other clusters and are computed again in this one, so that they need no memory (inline.go).
type cluster struct {
	kind    backend.Kind
	shape   []int        // of its elementwise instructions; of a MatMul cluster with several problems, of the first
	heavy   []int        // its values that are no elementwise ones, in order
	members []int        // its elementwise values, in order
	problem map[int]int  // MatMul: of each member, to which of heavy it belongs
	inlined map[int]bool // elementwise values of other clusters
	first   int          // least rank of its values in the graph's order
	reach   int          // greatest rank of its values and of everything that it needs
	dead    bool
}

// A clustering assigns every value that needs a launch to a cluster.
type clustering struct {
	*graph
	list    []int      // the values that are needed, arguments first
	rank    []int      // place in list, -1 if not needed
	owner   []*cluster // of a heavy or mapped value
	users   [][]int    // of each base: the values that use it, not counting views
	wanted  []bool     // bases of outputs
	all     []*cluster
	visited map[*cluster]bool // scratch of depends
}

// newClustering puts each value into a cluster of its own.
func newClustering(g *graph) *clustering {
	n := len(g.values)
	c := &clustering{
		graph: g, list: g.order(), rank: make([]int, n), owner: make([]*cluster, n),
		users: make([][]int, n), wanted: make([]bool, n), visited: map[*cluster]bool{},
	}
	for i := range c.rank {
		c.rank[i] = -1
	}
	for r, v := range c.list {
		c.rank[v] = r
		x := &g.values[v]
		if x.kind == view {
			continue
		}
		for _, a := range x.args {
			b, _ := g.base(a)
			if !slices.Contains(c.users[b], v) {
				c.users[b] = append(c.users[b], v)
			}
		}
		switch x.kind {
		case mapped:
			c.own(v, &cluster{kind: backend.Map, shape: x.shape, members: []int{v}, first: r, reach: r})
		case heavy:
			k := &cluster{kind: kindOf(x), shape: x.shape, heavy: []int{v}, first: r, reach: r}
			if x.outs != nil {
				k.shape = x.outs[0].Shape
			}
			c.own(v, k)
		case result:
			c.owner[v] = c.owner[x.args[0]]
			c.owner[v].reach = r
		}
	}
	for _, o := range g.outs {
		b, _ := g.base(o)
		c.wanted[b] = true
	}
	return c
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

// needs calls f for the base of each argument of k's own values.
func (c *clustering) needs(k *cluster, f func(base int)) {
	c.needsArgs(k, func(_, arg int) {
		b, _ := c.base(arg)
		f(b)
	})
}

// needsArgs calls f for each argument of k's own values.
func (c *clustering) needsArgs(k *cluster, f func(user, arg int)) {
	for _, list := range [][]int{k.heavy, k.members} {
		for _, v := range list {
			for _, a := range c.values[v].args {
				f(v, a)
			}
		}
	}
}

// depends says whether k needs, directly or through others, something that target computes.
func (c *clustering) depends(k, target *cluster) bool {
	clear(c.visited)
	return c.search(k, target)
}

func (c *clustering) search(k, target *cluster) bool {
	if k == target {
		return true
	}
	if k == nil || c.visited[k] || k.reach < target.first {
		return false
	}
	c.visited[k] = true
	found := false
	c.needs(k, func(b int) {
		if o := c.owner[b]; !found && o != nil && o != k {
			found = c.search(o, target)
		}
	})
	return found
}

// independent says whether a and b can become one cluster: neither needs the other through a third. Direct needs are
// for the caller to judge.
func (c *clustering) independent(a, b *cluster) bool {
	through := func(k, target *cluster) bool {
		found := false
		c.needs(k, func(base int) {
			if o := c.owner[base]; !found && o != nil && o != k && o != target {
				found = c.depends(o, target)
			}
		})
		return found
	}
	return !through(a, b) && !through(b, a)
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
	reach := max(a.reach, b.reach)
	a.reach = -1
	c.raise(a, reach)
}

// raise sets how far k reaches, and with it whatever uses k's values.
func (c *clustering) raise(k *cluster, reach int) {
	if k.reach >= reach {
		return
	}
	k.reach = reach
	var users func(v int)
	users = func(v int) {
		for _, u := range c.users[v] {
			if c.values[u].kind == result {
				users(u)
				continue
			}
			c.raise(c.owner[u], reach)
		}
	}
	for _, list := range [][]int{k.heavy, k.members} {
		for _, v := range list {
			users(v)
		}
	}
}

func (k *cluster) setProblem(v, p int) {
	if k.problem == nil {
		k.problem = map[int]int{}
	}
	k.problem[v] = p
}
