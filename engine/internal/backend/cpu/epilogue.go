package cpu

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// epilogues sorts the elementwise instructions of a MatMul group by the product after which they can run: the
// last one that they need.
type epilogues struct {
	g     *backend.Group
	level []int // for each instruction the index of that product, or -1 if it needs none
}

// An epilogue is what is computed after a product and before the next.
type epilogue struct {
	insts  []int                // elementwise, in order
	values []backend.Ref        // that others need: outputs of the group, operands of later instructions
	inner  map[backend.Ref]bool // which of them instructions of later epilogues, or later products, read
	given  []backend.Ref        // results of earlier products that the instructions read
}

func newEpilogues(g *backend.Group) *epilogues {
	e := &epilogues{g: g, level: make([]int, len(g.Insts))}
	for i := range g.Insts {
		e.level[i] = -1
		if g.Insts[i].Op == ir.MatMul {
			e.level[i] = i
			continue
		}
		for _, a := range g.Insts[i].Args {
			if _, ok := a.Input(); !ok {
				e.level[i] = max(e.level[i], e.level[a.Index])
			}
		}
	}
	return e
}

// after returns what follows product p.
func (e *epilogues) after(p int) epilogue {
	r := epilogue{inner: map[backend.Ref]bool{}}
	g := e.g
	want := func(v backend.Ref, inner bool) {
		if _, ok := v.Input(); ok || e.level[v.Index] != p {
			return
		}
		if _, seen := r.inner[v]; !seen {
			r.values = append(r.values, v)
		}
		r.inner[v] = r.inner[v] || inner
	}
	for _, o := range g.Outputs {
		want(o.Value, false)
	}
	for i := range g.Insts {
		for _, a := range g.Insts[i].Args {
			if i > p && e.level[i] != p {
				want(a, true)
			}
		}
	}
	given := map[backend.Ref]bool{}
	stop := func(i int) bool {
		own := g.Insts[i].Op != ir.MatMul && (e.level[i] == p || e.level[i] < 0)
		if !own && i != p && !given[backend.Ref{Index: i}] {
			given[backend.Ref{Index: i}] = true
			r.given = append(r.given, backend.Ref{Index: i})
		}
		return !own
	}
	insts := needed(g, r.values, stop)
	r.insts = instructions(g, func(i int) bool { return insts[i] })
	return r
}
