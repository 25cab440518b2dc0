package tensor

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/few"
)

// A stage is the part of a replay that one device computes in one run of a plan.
type stage struct {
	plan    *plan.Captured
	leaves  []origin
	layouts []*ir.Layout                  // of the leaves
	kept    []bool                        // whether an output becomes the value of the leaf's box
	numbers []func(*invocation) ir.Scalar // nil for a constant that stays
	moves   []*moved                      // of what it computes

	// What a run fills in.
	data    []*ir.Data
	nodes   []*ir.Node
	scalars []ir.Scalar
	keep    []int
	got     []*ir.Data
	result  func(i int, d *ir.Data) // notes what got has
}

// moved is a value that is copied to another device, where later stages read it.
type moved struct {
	ir.Type
	to    ir.Device
	place int    // among the replay's
	index int    // of what its stage computes, or -1
	leaf  origin // otherwise

	data *ir.Data // what a run fills in
}

// stageOf plans what computes nodes of one device. The stages that compute what it reads from other devices
// are the replay's first.
func (p *replay) stageOf(tr *trace, compute []*ir.Node) *stage {
	c, err := plan.Capture(scope.Context(), compute)
	check("compile", err)
	p.moveIn(tr, c.Leaves)
	s := &stage{plan: c}
	for _, n := range c.Leaves {
		from, ok := tr.origin[n]
		if !ok {
			fail("compile", "got a function that computes with %v, which it got neither as an argument nor by a handle", n)
		}
		layout := new(ir.Contiguous(n.Shape))
		if from.moved == nil {
			layout = n.Value().Layout
		}
		s.leaves, s.layouts = append(s.leaves, from), append(s.layouts, layout)
	}
	for _, n := range c.Consts {
		s.numbers, s.scalars = append(s.numbers, tr.numbers[n]), append(s.scalars, n.Attr.Value)
	}
	c.Leaves, c.Consts = nil, nil // they hold today's values
	s.data, s.nodes, s.got = make([]*ir.Data, len(s.leaves)), make([]*ir.Node, len(s.leaves)), make([]*ir.Data, len(compute))
	s.result = func(i int, d *ir.Data) { s.got[i] = d }
	s.keep, s.kept = slices.Repeat([]int{-1}, len(compute)), make([]bool, len(s.leaves))
	c.Bind(s.data, s.scalars, s.nodes, s.keep, s.kept)
	return s
}

// moveIn gives those of the leaves that come from other devices an origin, and the replay the stages that
// compute them.
func (p *replay) moveIn(tr *trace, leaves []*ir.Node) {
	var sources []*ir.Node
	waiting := map[*ir.Node][]*moved{}
	for _, n := range leaves {
		if _, known := tr.origin[n]; known || n.Op != ir.To || len(n.Src) == 0 {
			continue
		}
		from := n.Src[0]
		m := &moved{Type: n.Type(), to: n.Dev, place: len(p.moves), index: -1}
		p.moves, tr.origin[n] = append(p.moves, m), origin{arg: -1, moved: m}
		if stored, ok := tr.origin[from]; ok {
			m.leaf = stored
			continue
		}
		if waiting[from] == nil {
			sources = append(sources, from)
		}
		waiting[from] = append(waiting[from], m)
	}
	levels := map[int][]*ir.Node{}
	for _, n := range sources {
		level := hops(n)
		levels[level] = append(levels[level], n)
	}
	for _, level := range slices.Sorted(maps.Keys(levels)) { // what goes to and fro may need what does so less often
		for _, list := range ir.ByDevice(levels[level]) {
			s := p.stageOf(tr, list)
			for i, n := range list {
				for _, m := range waiting[n] {
					m.index = i
					s.moves = append(s.moves, m)
				}
			}
			p.stages = append(p.stages, s)
		}
	}
}

// hops is how often values are copied between devices, at most, on the way to n.
func hops(n *ir.Node) int {
	most := map[*ir.Node]int{}
	for _, m := range ir.History(n) { // sources come first
		for _, s := range m.Src {
			most[m] = max(most[m], most[s])
		}
		if m.Op == ir.To {
			most[m]++
		}
	}
	return most[n]
}

// bind looks up the leaves' values. It returns false if the layout of one of them is not that of the trace.
func (s *stage) bind(args []*ir.Node) bool {
	for i := range s.leaves {
		from := &s.leaves[i]
		if from.moved != nil {
			continue
		}
		d, n := from.value(args)
		s.data[i], s.nodes[i] = d, n
		if from.box != nil && !sameLayout(d.Layout, s.layouts[i]) { // takes has looked at arguments
			return false
		}
	}
	return true
}

// run computes the stage and copies what other devices need of it.
func (s *stage) run(ctx context.Context, now *invocation) error {
	for i := range s.leaves {
		from := &s.leaves[i]
		if from.moved == nil {
			continue
		}
		if from.moved.index < 0 {
			if err := from.moved.copy(ctx, now, nil); err != nil {
				return err
			}
		}
		s.data[i] = from.moved.data
	}
	for i, f := range s.numbers {
		if f != nil {
			s.scalars[i] = f(now)
		}
	}
	err := s.plan.Run(ctx, s.result)
	for _, m := range s.moves {
		if err == nil {
			err = m.copy(ctx, now, s.got[m.index])
		}
	}
	return err
}

// copy copies the value: that of its leaf, or one that a stage has computed.
func (m *moved) copy(ctx context.Context, now *invocation, computed *ir.Data) (err error) {
	switch {
	case m.data != nil:
		return nil
	case computed == nil:
		var n *ir.Node
		if computed, n = m.leaf.value(now.args); n != nil {
			held, end := hold("compile", n)
			defer end()
			computed = held
		}
	}
	if m.data, err = plan.Move(ctx, m.to, m.Type, computed); err != nil {
		return fmt.Errorf("to %v: %w", m.to, err)
	}
	return nil
}

// forget lets go of all memory, and gives back what was computed but for values that were changed where they
// lie.
func (s *stage) forget(giveBack bool) {
	for i, d := range s.got {
		if inPlace := s.keep[i] >= 0 && d == s.data[s.keep[i]]; giveBack && d != nil && !inPlace {
			d.Buf.(*backend.Block).Release()
		}
	}
	few.Clear(s.data)
	few.Clear(s.nodes)
	few.Clear(s.got)
}

// differs says what another trace's stage does differently, or "".
func (s *stage) differs(other *stage) string {
	if !s.plan.Same(other.plan) || len(s.leaves) != len(other.leaves) {
		return "builds another graph"
	}
	for i, f := range s.numbers {
		if x, y := s.scalars[i], other.scalars[i]; f == nil && x != y && !(math.IsNaN(x.F) && math.IsNaN(y.F)) {
			return fmt.Sprintf("computes with the number %v instead of %v", max(y.F, float64(y.I)), max(x.F, float64(x.I)))
		}
	}
	for i, a := range s.leaves {
		b := other.leaves[i]
		if !a.same(b) {
			return "reads other tensors"
		}
		if a.made != nil && !sameBytes(a.made, b.made) {
			return fmt.Sprintf("makes another %v of Go's numbers", a.made.Layout.Shape)
		}
	}
	return ""
}

// same says whether two origins are the same argument, box or copy; what is made of Go's numbers is another
// matter.
func (from origin) same(as origin) bool {
	if from.moved != nil && as.moved != nil {
		a, b := from.moved, as.moved
		return a.place == b.place && a.index == b.index && a.to == b.to && a.leaf.same(b.leaf)
	}
	return from.moved == as.moved && from.arg == as.arg && from.box == as.box
}
