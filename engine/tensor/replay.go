package tensor

import (
	"context"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A replay is what a compiled function computes for arguments of certain types. It holds no node of the
// trace, only where values come from.
type replay struct {
	args   []argument
	fusion bool
	tf32   bool
	calls  int

	stages  []*stage // in the order in which they run
	last    int      // the first of those that compute outputs, one for each device; none is stopped after it
	moves   []*moved
	draws   []*RNG // nil for the default one
	drawn   []RNGState
	outs    []output // results, then what is set, then what callbacks get
	results int
	sets    []*box.Box
	after   []callback
	stored  []*ir.Data // what a run holds of outputs that are leaves as they are
}

// An argument says what an argument has to be: a stored value that lies so, or a number.
type argument struct {
	dev    ir.Device
	dtype  dtype.Type
	stored bool
	layout *ir.Layout
}

func argumentOf(n *ir.Node) argument {
	a := argument{dev: n.Dev, dtype: n.DType}
	if d := n.Value(); d != nil {
		a.stored, a.layout = true, d.Layout
	}
	return a
}

// is says whether n is such an argument.
func (a argument) is(n *ir.Node) bool {
	d := n.Value()
	return a.dev == n.Dev && a.dtype == n.DType && a.stored == (d != nil) && (d == nil || sameLayout(a.layout, d.Layout))
}

// An output is a value that the plan computes, or a leaf as it is.
type output struct {
	ir.Type
	dev   ir.Device
	stage int    // that computes it, counted from replay.last on
	index int    // there, or -1
	leaf  origin // otherwise
}

// newReplay traces f.
func newReplay(f func(...Tensor) []Tensor, args []*ir.Node) *replay {
	tr := &trace{
		generator: DefaultRNG(), inside: map[*box.Box]bool{}, now: map[*box.Box]*ir.Node{}, origin: map[*ir.Node]origin{},
		numbers: map[*ir.Node]func(*invocation) ir.Scalar{},
	}
	p := &replay{fusion: plan.Fused(scope.Context()), tf32: plan.TF32(scope.Context())}
	for _, n := range args {
		p.args = append(p.args, argumentOf(n))
	}
	wanted := tr.record(f, args)
	p.results = len(wanted)
	for _, v := range tr.sets {
		wanted = append(wanted, tr.now[v])
	}
	for i, c := range tr.after {
		wanted = append(wanted, c.ts...)
		tr.after[i].ts, tr.after[i].count = nil, len(c.ts)
	}
	p.sets, p.after, p.draws, p.drawn = tr.sets, tr.after, tr.draws, tr.drawn
	p.capture(tr, wanted)
	return p
}

// capture plans what is wanted.
func (p *replay) capture(tr *trace, wanted []*ir.Node) {
	var compute []*ir.Node
	for _, n := range wanted {
		if _, stored := tr.origin[n]; !stored {
			compute = append(compute, n)
		}
	}
	var last []*stage
	lists := ir.ByDevice(compute)
	for _, list := range lists {
		last = append(last, p.stageOf(tr, list))
	}
	p.last, p.stages = len(p.stages), append(p.stages, last...)
	place := make([]int, len(lists)) // how many of each were given to an output
	for _, n := range wanted {
		o := output{Type: n.Type(), dev: n.Dev, index: -1}
		if from, stored := tr.origin[n]; stored && from.moved == nil {
			o.leaf = from
		} else {
			o.stage = slices.IndexFunc(lists, func(list []*ir.Node) bool { return list[0].Dev == n.Dev })
			o.index = place[o.stage]
			place[o.stage]++
		}
		p.outs = append(p.outs, o)
	}
	for i, v := range p.sets {
		o := p.outs[p.results+i]
		if o.index < 0 {
			continue
		}
		s := last[o.stage]
		if leaf := slices.IndexFunc(s.leaves, func(from origin) bool { return from.box == v }); leaf >= 0 {
			s.keep[o.index], s.kept[leaf] = leaf, true
		}
	}
}

// takes says whether the replay can be used for these arguments.
func (p *replay) takes(args []*ir.Node) bool {
	ctx := scope.Context()
	return p.fusion == plan.Fused(ctx) && p.tf32 == plan.TF32(ctx) && slices.EqualFunc(p.args, args, argument.is)
}

func sameLayout(a, b *ir.Layout) bool {
	return a == b || a.Offset == b.Offset && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Stride, b.Stride)
}

// bind looks up the leaves' values. It returns false if the layout of one of them is not that of the trace.
func (p *replay) bind(args []*ir.Node) bool {
	for _, s := range p.stages {
		if !s.bind(args) {
			return false
		}
	}
	return true
}

// value returns what the leaf holds now, and the node unless the function has made it of Go's numbers.
func (from *origin) value(args []*ir.Node) (*ir.Data, *ir.Node) {
	switch {
	case from.box != nil:
		t := on(from.box)
		n := t.node("compile")
		if n.Value() == nil {
			t.Eval()
		}
		return n.Value(), n
	case from.arg >= 0:
		return args[from.arg].Value(), args[from.arg]
	}
	return from.made, nil
}

// differs says what another trace of the same function does differently, or "".
func (p *replay) differs(q *replay) string {
	switch {
	case p.results != q.results || !slices.Equal(p.sets, q.sets) || len(p.after) != len(q.after):
		return "returns or sets other tensors"
	case !slices.Equal(p.draws, q.draws):
		return "draws other random tensors"
	case len(p.stages) != len(q.stages) || p.last != q.last:
		return "builds another graph"
	}
	for i := range p.outs {
		if a, b := p.outs[i], q.outs[i]; a.stage != b.stage || a.index != b.index || !a.leaf.same(b.leaf) {
			return "returns or sets other tensors"
		}
	}
	for i, s := range p.stages {
		if what := s.differs(q.stages[i]); what != "" {
			return what
		}
	}
	return ""
}

// run computes, sets what is to be set, calls callbacks and returns the results. The leaves are bound.
func (p *replay) run(now *invocation) []Tensor {
	failed := true
	defer func() { p.forget(failed) }() // nothing must keep memory alive
	p.retain(now)
	err := p.compute(now)
	if err == nil {
		err = p.await()
	}
	check("eval", err)
	failed = false
	stored := p.stored
	made, b := handles(len(p.outs) - len(p.sets))
	for i := range p.outs {
		o := &p.outs[i]
		var d *ir.Data
		if o.index >= 0 {
			d = p.stages[p.last+o.stage].got[o.index]
		} else {
			d, stored = stored[0], stored[1:]
		}
		to := i
		if i >= p.results {
			if to -= len(p.sets); to < p.results {
				p.sets[i-p.results].Become(d)
				continue
			}
		}
		if to > 0 {
			b = new(box.Box)
		}
		made[to] = on(b.Hold(o.dev, o.DType, d))
	}
	rest := made[p.results:]
	for _, c := range p.after {
		c.f(rest[:c.count:c.count])
		Free(rest[:c.count]...)
		rest = rest[c.count:]
	}
	return made[:p.results:p.results]
}

// handles returns a list of n tensors, and the box for the first: one object if it is the only one, as
// mostly.
func handles(n int) (list []Tensor, first *box.Box) {
	if n == 1 {
		one := new(struct {
			list [1]Tensor
			box  box.Box
		})
		return one.list[:], &one.box
	}
	return make([]Tensor, n), new(box.Box)
}

// compute runs the stages. The last ones change parameters: after the first of them none is stopped.
func (p *replay) compute(now *invocation) error {
	ctx := scope.Context()
	for i, s := range p.stages {
		if i > p.last {
			ctx = context.WithoutCancel(ctx)
		}
		if err := s.run(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// forget lets go of what a run has filled in.
func (p *replay) forget(failed bool) {
	for i, d := range p.stored {
		if p.stored[i] = nil; failed {
			d.Buf.(*backend.Block).Release()
		}
	}
	p.stored = p.stored[:0]
	for i, s := range p.stages {
		s.forget(failed || i < p.last)
	}
	for _, m := range p.moves {
		if m.data != nil {
			m.data.Buf.(*backend.Block).Release()
			m.data = nil
		}
	}
}

// await waits for the runs that compute what is to be set: a tensor from outside keeps its value if a run
// fails. But where the new value lies in the memory of the old one, there is nothing to keep, and it has the
// outcome of its run.
func (p *replay) await() error {
	for i := range p.sets {
		o := p.outs[p.results+i]
		if o.index < 0 {
			continue
		}
		s := p.stages[p.last+o.stage]
		d, leaf := s.got[o.index], s.keep[o.index]
		if inPlace := leaf >= 0 && d.Buf == s.data[leaf].Buf; d.Run != nil && !inPlace {
			if err := o.dev.(*backend.Device).Await(scope.Context(), d); err != nil {
				return err
			}
		}
	}
	return nil
}

// retain holds the memory of the outputs that are leaves as they are, so that no launch replaces it, and
// lists what it holds.
func (p *replay) retain(now *invocation) {
	for i := range p.outs {
		o := &p.outs[i]
		if o.index >= 0 {
			continue
		}
		d, n := o.leaf.value(now.args)
		if n != nil {
			d, _ = hold("compile", n)
		} else {
			d.Buf.(*backend.Block).Retain() // which the trace has made, and the replay keeps
		}
		p.stored = append(p.stored, d)
	}
}
