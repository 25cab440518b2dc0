package ir

import (
	"cmp"
	"slices"
)

// again hands the gradient of a checkpoint on: what lies between its x and its y is written down a second
// time, from a copy of x that is made when dy is there, and dy flows through that. So the backward pass needs
// nothing of the first time, and the planner cannot take the second time for the first and compute it early.
func (r *reverse) again(n, dy *Node) error {
	y, x := n.Src[0], n.Src[1]
	from := build(Again, Attr{}, x, dy)
	r.blame.on(n, from)
	r.on[from] = r.on[x]
	copies := map[*Node]*Node{x: from}
	order := copyBetween(y, copies, nil, func(n, c *Node) {
		r.on[c] = r.on[n]
		r.blame.on(n, c)
	})
	if copies[y] == nil { // x has no part in y
		r.flow(y, 0, dy)
		return nil
	}
	r.flow(copies[y], 0, dy)
	for i := len(order) - 1; i >= 0; i-- {
		if err := r.step(order[i]); err != nil {
			return err
		}
	}
	return r.step(from)
}

// Nearby returns y, which was computed from x, computed from copies of the leaves that are far, which are
// made when x is there. So they need no memory before, and a checkpoint copies them a second time.
func Nearby(y, x *Node, far func(leaf *Node) bool) *Node {
	copies := map[*Node]*Node{x: x}
	copyBetween(y, copies, func(n *Node) *Node {
		if n.Op != Leaf || !far(n) {
			return nil
		}
		return copyOf(n, x)
	}, func(n, c *Node) { c.Origin = n.Origin })
	near := cmp.Or(copies[y], y)
	countFrom(near)
	return near
}

// copyOf copies the value of a leaf when x is there. It lies in memory as that does: of a view of a matrix
// that was transposed the elements follow one another as before.
func copyOf(leaf, x *Node) *Node {
	order, _ := leaf.Value().Layout.InMemory()
	if slices.IsSorted(order) {
		return build(Again, Attr{}, leaf, x)
	}
	turned := build(Permute, Attr{Axes: order}, leaf)
	return build(Permute, Attr{Axes: Inverse(order)}, build(Again, Attr{}, turned, x))
}

// copyBetween copies y and whatever it is computed from, down to nodes that have a copy, or get one of first.
// Nodes that do not depend on one of those (weights, masks, random numbers) are shared. It returns the new
// nodes, sources first, and tells made of each.
func copyBetween(y *Node, copies map[*Node]*Node, first func(n *Node) *Node, made func(n, c *Node)) (order []*Node) {
	done := map[*Node]bool{}
	stack := []frame{{n: y}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		n := f.n
		if f.next == 0 && first != nil && copies[n] == nil && !done[n] {
			if c := first(n); c != nil {
				copies[n] = c
			}
		}
		if f.next < len(n.Src) && copies[n] == nil && !done[n] {
			f.next++
			stack = append(stack, frame{n: n.Src[f.next-1]})
			continue
		}
		stack = stack[:len(stack)-1]
		if copies[n] != nil || done[n] {
			continue
		}
		done[n] = true
		if c := copyOver(n, copies); c != nil {
			copies[n] = c
			made(n, c)
			order = append(order, c)
		}
	}
	return order
}

// copyOver returns a copy of n over the copies of its sources, or nil if none of them has one.
func copyOver(n *Node, copies map[*Node]*Node) *Node {
	var src []*Node
	for i, s := range n.Src {
		c := copies[s]
		if c == nil || c == s {
			continue
		}
		if src == nil {
			src = append(src, n.Src...)
		}
		src[i] = c
	}
	if src == nil {
		return nil
	}
	return &Node{
		Op: n.Op, DType: n.DType, Shape: n.Shape, Outs: n.Outs, Attr: n.Attr, Src: src, Dev: n.Dev, Name: n.Name, Tracked: n.Tracked,
	}
}
