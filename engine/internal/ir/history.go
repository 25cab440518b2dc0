package ir

import (
	"slices"
	"weak"
)

// History lists n's ancestors and n itself, sources before users. It goes on through nodes that were
// evaluated, as far as they still know their sources: everything that was computed from a parameter does.
func History(n *Node) []*Node {
	links.RLock()
	defer links.RUnlock()
	var order []*Node
	seen := map[*Node]bool{n: true}
	stack := []frame{{n: n}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next < len(f.n.Src) {
			s := f.n.Src[f.next]
			f.next++
			if !seen[s] {
				seen[s] = true
				stack = append(stack, frame{n: s})
			}
			continue
		}
		order = append(order, f.n)
		stack = stack[:len(stack)-1]
	}
	return order
}

// Pending calls visit once for each of n's ancestors that has no value, and goes on to the ancestors of those
// for which visit returns true. Until it returns no evaluation can end, so visit must not start one.
func Pending(n *Node, visit func(*Node) bool) {
	links.RLock()
	defer links.RUnlock()
	seen := map[*Node]bool{}
	list := append([]*Node(nil), n.Src...)
	for len(list) > 0 {
		s := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[s] || s.Value() != nil {
			continue
		}
		seen[s] = true
		if visit(s) {
			list = append(list, s.Src...)
		}
	}
}

// forget lets go of n's sources. It notes which of the nodes that n was computed from a handle holds: a
// gradient for one of these would lack what flowed through n, so [Grad] refuses it. The pointers are weak,
// and what is gone is not noted again, so that a loop that goes on from its last value keeps no others.
func (n *Node) forget() {
	seen, list := map[*Node]bool{n: true}, []*Node{n}
	note := func(s *Node, w weak.Pointer[Node]) {
		if !seen[s] && s.Outs == nil && s.DType.Float() && s.Frozen == "" && s.Handles() > 0 {
			n.lost = append(n.lost, w)
		}
		seen[s] = true
	}
	for len(list) > 0 {
		m := list[len(list)-1]
		list = list[:len(list)-1]
		for _, w := range m.lost {
			if s := w.Value(); m != n && s != nil {
				note(s, w)
			}
		}
		if !differentiable(m) {
			continue
		}
		for _, s := range flowing(m) {
			if !seen[s] {
				note(s, weak.Make(s))
				list = append(list, s)
			}
		}
	}
	n.Src = nil
}

// Depends says whether a gradient flows from n to p, or would if n's ancestors still knew their sources.
func Depends(n, p *Node) bool {
	links.RLock()
	defer links.RUnlock()
	seen, list := map[*Node]bool{n: true}, []*Node{n}
	for len(list) > 0 {
		m := list[len(list)-1]
		list = list[:len(list)-1]
		if m == p || slices.Contains(m.lost, weak.Make(p)) {
			return true
		}
		if !differentiable(m) {
			continue
		}
		for _, s := range flowing(m) {
			if !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	return false
}
