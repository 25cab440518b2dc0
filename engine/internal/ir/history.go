package ir

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
