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
