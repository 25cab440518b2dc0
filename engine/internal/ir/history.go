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

// A record is what evaluated values have forgotten of how they were computed: the nodes with handles among
// their sources, to which no gradient flows any more, and the records of those sources that have one. The
// pointers are weak, so that a record keeps no value.
type record struct {
	held []weak.Pointer[Node]
	few  [2]weak.Pointer[Node] // the memory of the first ones
	from []*record
	age  int // how many records follow each other
}

// maxAge is how many records may follow each other before they become one: a loop that goes on from its last
// value makes one in each step, and those of values that are gone tell nothing.
const maxAge = 1000

// forget, under links, lets go of n's sources. It records which of the nodes that n was computed from a
// handle holds: a gradient for one of these would lack what flowed through n, so [Grad] refuses it.
func (n *Node) forget() {
	if len(n.Src) == 0 || !differentiable(n) {
		n.Src = nil
		return
	}
	r := &record{}
	r.held = r.few[:0]
	seen := &links.seen
	seen.add(n)
	for i := 0; i < len(seen.list); i++ {
		m := seen.list[i]
		if m != n && m.lost != nil && !slices.Contains(r.from, m.lost) {
			r.from, r.age = append(r.from, m.lost), max(r.age, m.lost.age+1)
		}
		if len(m.Src) == 0 || !differentiable(m) {
			continue
		}
		for _, s := range flowing(m) {
			if seen.of(s) >= 0 {
				continue
			}
			seen.add(s)
			if s.Outs == nil && s.DType.Float() && s.Frozen == "" && s.Handles() > 0 {
				r.held = append(r.held, s.weakly())
			}
		}
	}
	seen.reset()
	n.Src, n.lost = nil, r.short()
}

// weakly returns n's weak pointer, which costs more to ask the runtime for than to keep. The caller holds
// links.
func (n *Node) weakly() weak.Pointer[Node] {
	if n.self == (weak.Pointer[Node]{}) {
		n.self = weak.Make(n)
	}
	return n.self
}

// short returns a record that says the same in fewer words; nil if r says nothing.
func (r *record) short() *record {
	switch {
	case len(r.held) == 0 && len(r.from) == 0:
		return nil
	case len(r.held) == 0 && len(r.from) == 1:
		return r.from[0]
	case r.age < maxAge:
		return r
	}
	one, noted := &record{}, map[weak.Pointer[Node]]bool{}
	r.each(func(w weak.Pointer[Node]) bool {
		if s := w.Value(); s != nil && s.Handles() > 0 && !noted[w] {
			noted[w] = true
			one.held = append(one.held, w)
		}
		return true
	})
	return one
}

// each calls visit for the nodes of r and of the records before it, until it returns false.
func (r *record) each(visit func(weak.Pointer[Node]) bool) {
	seen, list := map[*record]bool{r: true}, []*record{r}
	for len(list) > 0 {
		r := list[len(list)-1]
		list = list[:len(list)-1]
		for _, w := range r.held {
			if !visit(w) {
				return
			}
		}
		for _, f := range r.from {
			if !seen[f] {
				seen[f], list = true, append(list, f)
			}
		}
	}
}

// has says whether p is among the nodes of r.
func (r *record) has(p weak.Pointer[Node]) (found bool) {
	if r != nil {
		r.each(func(w weak.Pointer[Node]) bool { found = w == p; return !found })
	}
	return found
}

// Depends says whether a gradient flows from n to p, or would if n's ancestors still knew their sources.
func Depends(n, p *Node) bool {
	links.RLock()
	defer links.RUnlock()
	held, seen, list := weak.Make(p), map[*Node]bool{n: true}, []*Node{n}
	for len(list) > 0 {
		m := list[len(list)-1]
		list = list[:len(list)-1]
		if m == p || m.lost.has(held) {
			return true
		}
		if !differentiable(m) {
			continue
		}
		for _, s := range flowing(m) {
			if !seen[s] {
				seen[s], list = true, append(list, s)
			}
		}
	}
	return false
}
