package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// sources lists the nodes that e's launch computes, as places in the walk's Nodes, in order.
func (e *emitter) sources() []int32 {
	var list []int32
	add := func(v int) { list = append(list, e.values[v].from...) }
	for _, own := range [][]int{e.k.heavy, e.k.members} {
		for _, v := range own {
			add(v)
		}
	}
	for at, r := range e.refs {
		if _, input := r.Input(); !input {
			add(at.value)
		}
	}
	for v := range e.insts {
		add(v)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// computes notes that v is the value of a node, which may have been there for another one. Views are nothing
// that is computed.
func (g *graph) computes(v int, n *ir.Node, place int32) {
	b, _ := g.base(v)
	x := &g.values[b]
	if n.Op.Family() != ir.FamilyView && n.Op != ir.Pick && len(x.from) > 0 && x.from[len(x.from)-1] != place && x.kind != leaf && x.kind != scalar {
		x.from = append(x.from, place)
	}
}

// origins says where e's launch comes from, each origin once; nothing if none of the nodes knows.
func (e *emitter) origins(w *ir.Graph) []ir.Origin { return originsOf(w, e.sources()) }

func originsOf(w *ir.Graph, nodes []int32) (list []ir.Origin) {
	for _, n := range nodes {
		if o := w.Nodes[n].Origin; o.Known() && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}
