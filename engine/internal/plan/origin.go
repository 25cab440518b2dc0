package plan

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
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

// originsOf says where nodes come from, each origin once; nothing if none of the nodes knows.
func originsOf(w *ir.Graph, nodes []int32) (list []ir.Origin) {
	for _, n := range nodes {
		if o := w.Nodes[n].Origin; o.Known() && !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	return list
}

// originsIn says where each launch of the plan of w comes from; it is nil if none of the nodes knows. A plan
// that runs in a loop mostly comes from the same lines, which are remembered.
func (p *plan) originsIn(w *ir.Graph) [][]ir.Origin {
	if k := p.known.Load(); k != nil && k.of(w.Nodes) {
		return k.launches
	}
	k := &knownOrigins{nodes: make([]ir.Origin, len(w.Nodes))}
	known := false
	for i, n := range w.Nodes {
		k.nodes[i] = n.Origin
		known = known || n.Origin.Known()
	}
	if known {
		k.launches = make([][]ir.Origin, len(p.from))
		for i, nodes := range p.from {
			k.launches[i] = originsOf(w, nodes)
		}
	}
	p.known.Store(k)
	return k.launches
}

// knownOrigins are those of the nodes of a walk and of the launches that these came to. They do not change.
type knownOrigins struct {
	nodes    []ir.Origin
	launches [][]ir.Origin // nil if no node knows
}

// of says whether the nodes have these origins.
func (k *knownOrigins) of(nodes []*ir.Node) bool {
	if len(nodes) != len(k.nodes) {
		return false
	}
	for i, n := range nodes {
		if n.Origin != k.nodes[i] {
			return false
		}
	}
	return true
}

// originsOf says where each launch of a run comes from.
func (p *plan) originsOf(in *inputs) [][]ir.Origin {
	if in.graph == nil {
		return in.origins
	}
	return p.originsIn(in.graph)
}

// sourceOf returns a function that writes down what a kernel runs: the group that it was compiled from, and
// the backend's own text, if it has one.
func sourceOf(k *compiled, g *backend.Group) func() string {
	return func() string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s (%v)", g.Name, g.Kind)
		describeGroup(&b, g)
		if s, ok := k.Kernel.(backend.SourceKernel); ok {
			defer runtime.KeepAlive(k)
			b.WriteString("\n" + s.Source())
		}
		return b.String()
	}
}

// detail says what e's launch does.
func (e *emitter) detail(kernel *compiled) *events.Detail {
	d := &events.Detail{Kind: e.group.Kind.String(), Source: sourceOf(kernel, e.group)}
	for i := range e.group.Insts {
		in := &e.group.Insts[i]
		op := events.Op{Name: fmt.Sprint(in.Op), DType: in.DType, Shape: in.Shape}
		if in.Outs != nil {
			op.DType, op.Shape = in.Outs[0].DType, in.Outs[0].Shape
		}
		d.Ops = append(d.Ops, op)
	}
	seen := map[int]bool{}
	for i, in := range e.group.Inputs {
		if in.Buf < 0 || seen[in.Buf] {
			continue
		}
		seen[in.Buf] = true
		id := e.bufs[in.Buf]
		bytes := int64(touched(in.Layout) * in.DType.Size())
		if e.inParts(i) {
			bytes = 0 // no more than it writes, where it is counted
		}
		d.In = append(d.In, events.Value{ID: id, DType: in.DType, Shape: in.Layout.Shape, Bytes: bytes, Stored: e.values[id].kind == leaf})
	}
	for _, o := range e.group.Outputs {
		id := e.bufs[o.Buf]
		d.Out = append(d.Out, events.Value{ID: id, DType: o.DType, Shape: o.Shape, Bytes: e.written(o), Wanted: e.wanted[id]})
	}
	return d
}
