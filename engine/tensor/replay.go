package tensor

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
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

	plan    *plan.Captured // nil if there is nothing to compute
	leaves  []origin
	layouts []ir.Layout                   // of the leaves
	kept    []bool                        // whether an output becomes the value of the leaf's box
	numbers []func(*invocation) ir.Scalar // nil for a constant that stays
	draws   []*RNG                        // nil for the default one
	drawn   []RNGState
	outs    []output // results, then what is set, then what callbacks get
	results int
	sets    []*value
	after   []callback

	// What a run fills in.
	data    []*ir.Data
	nodes   []*ir.Node
	scalars []ir.Scalar
	keep    []int
	got     []*ir.Data
}

// An argument says what an argument has to be; layout has no shape for a number.
type argument struct {
	dev    ir.Device
	dtype  dtype.Type
	layout ir.Layout
}

func argumentOf(n *ir.Node) argument {
	a := argument{dev: n.Dev, dtype: n.DType}
	if d := n.Value(); d != nil {
		a.layout = d.Layout
	}
	return a
}

// An output is a value that the plan computes, or a leaf as it is.
type output struct {
	ir.Type
	dev   ir.Device
	index int    // in the plan, or -1
	leaf  origin // otherwise
}

// newReplay traces f.
func newReplay(f func(...Tensor) []Tensor, args []*ir.Node) *replay {
	tr := &trace{
		generator: DefaultRNG(), inside: map[*value]bool{}, now: map[*value]*ir.Node{}, origin: map[*ir.Node]origin{},
		numbers: map[*ir.Node]func(*invocation) ir.Scalar{},
	}
	p := &replay{fusion: plan.Fused(scope.Context()), tf32: plan.TF32(scope.Context())}
	for _, n := range args {
		p.args = append(p.args, argumentOf(n))
	}
	wanted := tr.run(f, args)
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
		o := output{Type: n.Type(), dev: n.Dev, index: -1}
		var stored bool
		if o.leaf, stored = tr.origin[n]; !stored {
			o.index, compute = len(compute), append(compute, n)
		}
		if n.Dev != wanted[0].Dev {
			fail("compile", "got results on %v and %v, want one device", wanted[0].Dev, n.Dev)
		}
		p.outs = append(p.outs, o)
	}
	if len(compute) == 0 {
		return
	}
	c, err := plan.Capture(scope.Context(), compute)
	check("compile", err)
	for _, n := range c.Leaves {
		from, ok := tr.origin[n]
		if !ok {
			fail("compile", "got a function that computes with %v, which it got neither as an argument nor by a handle", n)
		}
		p.leaves, p.layouts = append(p.leaves, from), append(p.layouts, n.Value().Layout)
	}
	for _, n := range c.Consts {
		p.numbers, p.scalars = append(p.numbers, tr.numbers[n]), append(p.scalars, n.Attr.Value)
	}
	c.Leaves, c.Consts = nil, nil // they hold today's values
	p.plan = c
	p.data, p.nodes, p.got = make([]*ir.Data, len(p.leaves)), make([]*ir.Node, len(p.leaves)), make([]*ir.Data, len(compute))
	p.keep = slices.Repeat([]int{-1}, len(compute))
	for i, v := range p.sets {
		if o := p.outs[p.results+i]; o.index >= 0 {
			p.keep[o.index] = slices.IndexFunc(p.leaves, func(from origin) bool { return from.box == v })
		}
	}
	p.kept = make([]bool, len(p.leaves))
	for _, leaf := range p.keep {
		if leaf >= 0 {
			p.kept[leaf] = true
		}
	}
}

// takes says whether the replay can be used for these arguments.
func (p *replay) takes(args []*ir.Node) bool {
	return p.fusion == plan.Fused(scope.Context()) && p.tf32 == plan.TF32(scope.Context()) && slices.EqualFunc(p.args, args, func(a argument, n *ir.Node) bool {
		b := argumentOf(n)
		return a.dev == b.dev && a.dtype == b.dtype && sameLayout(a.layout, b.layout)
	})
}

func sameLayout(a, b ir.Layout) bool {
	return a.Offset == b.Offset && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Stride, b.Stride) && (a.Shape == nil) == (b.Shape == nil)
}

// bind looks up the leaves' values. It returns false if the layout of one of them is not that of the trace.
func (p *replay) bind(args []*ir.Node) bool {
	for i, from := range p.leaves {
		d, n := from.value(args)
		if p.data[i] = d; p.kept[i] {
			p.nodes[i] = n
		}
		if !sameLayout(p.data[i].Layout, p.layouts[i]) {
			return false
		}
	}
	return true
}

// value returns what the leaf holds now, and the node if it is a box's.
func (from origin) value(args []*ir.Node) (*ir.Data, *ir.Node) {
	switch {
	case from.box != nil:
		t := Tensor{from.box}
		n := t.node("compile")
		if n.Value() == nil {
			t.Eval()
		}
		return n.Value(), n
	case from.arg >= 0:
		return args[from.arg].Value(), nil
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
	case (p.plan == nil) != (q.plan == nil) || p.plan != nil && p.plan.Key != q.plan.Key:
		return "builds another graph"
	}
	for i := range p.outs {
		if a, b := p.outs[i], q.outs[i]; a.index != b.index || a.leaf.arg != b.leaf.arg || a.leaf.box != b.leaf.box {
			return "returns or sets other tensors"
		}
	}
	for i, f := range p.numbers {
		if x, y := p.scalars[i], q.scalars[i]; f == nil && x != y {
			return fmt.Sprintf("computes with the number %v instead of %v", max(y.F, float64(y.I)), max(x.F, float64(x.I)))
		}
	}
	for i, a := range p.leaves {
		b := q.leaves[i]
		if a.arg != b.arg || a.box != b.box {
			return "reads other tensors"
		}
		if a.made != nil && !sameBytes(a.made, b.made) {
			return fmt.Sprintf("makes another %v of Go's numbers", a.made.Layout.Shape)
		}
	}
	return ""
}

// run computes, sets what is to be set, calls callbacks and returns the results. The leaves are bound.
func (p *replay) run(now *invocation) []Tensor {
	defer func() { // nothing must keep memory alive
		clear(p.data)
		clear(p.nodes)
		clear(p.got)
	}()
	stored := p.hold(now)
	if p.plan != nil {
		for i, f := range p.numbers {
			if f != nil {
				p.scalars[i] = f(now)
			}
		}
		err := p.plan.Run(scope.Context(), p.data, p.scalars, p.nodes, p.keep, func(i int, d *ir.Data) { p.got[i] = d })
		if err != nil {
			for _, d := range stored {
				d.Buf.(*backend.Block).Release()
			}
			check("eval", err)
		}
	}
	value := func(i int) *ir.Data {
		if k := p.outs[i].index; k >= 0 {
			return p.got[k]
		}
		d := stored[0]
		stored = stored[1:]
		return d
	}
	made := make([]Tensor, len(p.outs)-len(p.sets))
	for i, o := range p.outs {
		switch {
		case i < p.results:
			made[i] = holding(o.dev, o.DType, value(i))
		case i < p.results+len(p.sets):
			p.sets[i-p.results].become(value(i))
		default:
			made[i-len(p.sets)] = holding(o.dev, o.DType, value(i))
		}
	}
	rest := made[p.results:]
	for _, c := range p.after {
		c.f(rest[:c.count:c.count])
		Free(rest[:c.count]...)
		rest = rest[c.count:]
	}
	return made[:p.results:p.results]
}

// hold holds the memory of the outputs that are leaves as they are, so that no launch replaces it, and lists
// them.
func (p *replay) hold(now *invocation) (stored []*ir.Data) {
	for _, o := range p.outs {
		if o.index >= 0 {
			continue
		}
		d, n := o.leaf.value(now.args)
		if !d.Buf.(*backend.Block).Hold() {
			fail("compile", "got %v, which was freed", n)
		}
		stored = append(stored, d)
	}
	return stored
}

// become gives the box a value that was computed in its place. Its old memory is given back if no operation
// and no other handle can see it.
func (v *value) become(d *ir.Data) {
	old := v.node.Load()
	if old.Value() == d { // changed in place
		return
	}
	leaf := ir.NewLeaf(old.Dev, old.DType, d, old.Name)
	leaf.Tracked = old.Op == ir.Leaf && old.Tracked
	leaf.Hold()
	v.node.Store(leaf)
	if old.Readers() > 0 {
		old.Drop()
		return
	}
	letGo(old)
}
