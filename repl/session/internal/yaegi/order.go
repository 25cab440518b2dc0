package yaegi

// The interpreter finds a place before it computes the value that goes there, and a function before the
// arguments of its call. Compiled code does so afterwards. That shows only where both panic: each has an
// index that is out of range, say. So these steps change their order, before they are made.

// A move puts the steps of a node, which are those from its first one on, behind another and before a third.
type move struct{ steps, behind, before *node }

// reorder changes the order of the steps of a function, and returns the first.
func (in *Interp) reorder(start *node) *node {
	var moves []move
	nodes := reachable(start)
	first := map[*node]*node{} // what comes first in the place of a node that moves
	for _, n := range nodes {
		if m, ok := in.moves(n); ok && first[m.steps.start] == nil {
			first[m.steps.start] = m.steps.tnext
			moves = append(moves, m)
		}
	}
	now := func(n *node) *node {
		for n != nil && first[n] != nil {
			n = first[n]
		}
		return n
	}
	for _, n := range nodes {
		n.tnext, n.fnext = now(n.tnext), now(n.fnext)
	}
	start = now(start)
	for _, m := range moves {
		m.behind.tnext, m.steps.tnext = m.steps.start, m.before
	}
	return start
}

// moves says where the steps of the place that a node assigns to, or of the function that it calls, have to
// go.
func (in *Interp) moves(n *node) (m move, ok bool) {
	if len(n.child) < 2 || n.action >= uint(len(in.actions)) {
		return m, false
	}
	m.steps, m.before = n.child[0], n
	switch sign := in.actions[n.action]; {
	case sign == "=" && n.kind == in.assignment && len(n.child) == 2:
		if to := n.child[1]; to.findex == m.steps.findex && to.level == m.steps.level {
			m.before = to // it stores its value in the place itself
		}
	case sign == "call" && m.steps.kind == in.index:
	default:
		return m, false
	}
	for _, c := range m.before.child {
		if c != m.steps && c.tnext == m.before {
			m.behind = c
		}
	}
	return m, m.behind != nil && m.steps.tnext != m.before && n.start == m.steps.start
}

// reachable returns the nodes of a function.
func reachable(start *node) (list []*node) {
	seen := map[*node]bool{nil: true}
	for todo := []*node{start}; len(todo) > 0; {
		n := todo[len(todo)-1]
		if todo = todo[:len(todo)-1]; !seen[n] {
			seen[n] = true
			list, todo = append(list, n), append(todo, n.tnext, n.fnext)
		}
	}
	return list
}
