package yaegi

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/mcs-notebook/mcs/internal/goroutine"
)

// The interpreter makes a step of each node, and each step contains the next ones. This package makes the
// steps instead, in the same way, for two reasons. Each turn of a loop needs two extras that must cost
// nothing. And some steps are made faster (quick.go).
//
// At the end of a loop, the first step cannot be contained in the last one, because it is made later: the
// last one reads it from the node. A call reads the first step of its function in the same way. So code
// can be made to check for a stop at these points: while something has to stop, the node has another step.
//
// A mark is the assignment of a number to a variable. It is one store here, not a step of the interpreter
// with its reflection.

// Hooks are functions that interpreted code calls.
type Hooks struct {
	Plain bool              // the interpreter works alone, see [New]
	Trace func(line string) // a line about a panic that passes through an interpreted function, in its goroutine
	// Look is called at the start of each function and in each turn of a loop while looking is on
	// ([Interp.Look]). It may panic.
	Look func()
	// Deep is called at the start of each function while the stack takes more than MaxStack bytes. If it
	// returns, the interpreter is halted.
	Deep     func()
	MaxStack uintptr
	// Mark returns the variable that the marks with this name set. It is nil if the name is not a mark's,
	// or the variable does not exist yet.
	Mark func(name string) *int
	// Grown is called where a sum of strings has become long.
	Grown func()
	// IsMark says whether a name is that of a variable for marks.
	IsMark func(name string) bool
	// IsTemporary says whether a name is that of a variable whose declaration need not run.
	IsTemporary func(name string) bool
}

// points are where code can be made to look.
type points struct {
	mu        sync.Mutex
	list      []point
	sweepAt   int  // length of the list at which points of code that is gone are dropped
	looking   bool // code looks
	following bool // functions are followed: see follow.go
	fence     atomic.Int32

	wish struct {
		sync.Mutex
		looking  bool // code is to look
		granting bool // a goroutine makes it so
	}
}

// A point is a node that is looked into each time.
type point struct {
	node     weak.Pointer[node]
	function bool // it is the start of a function
	again    Step // it is the start of a loop: the step that comes back to it
	plain    step // the node's own step; set only while the node has another one
	other    step // that one, before the node gets it
}

// Look makes all code call Hooks.Look, or stops it doing so. It does not wait until all code does: reading a
// weak pointer can wait for the end of a collection, and Ctrl-C must not.
func (in *Interp) Look(on bool) {
	w := &in.points.wish
	w.Lock()
	defer w.Unlock()
	w.looking = on
	if !w.granting {
		w.granting = true
		go in.grant()
	}
}

// Looks reports whether all code looks, as Look(true) has asked.
func (in *Interp) Looks() bool {
	w := &in.points.wish
	w.Lock()
	defer w.Unlock()
	return w.looking && !w.granting
}

// grant makes code look or not look until that is the wish.
func (in *Interp) grant() {
	p := &in.points
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.wish.Lock()
		on := p.wish.looking
		p.wish.granting = p.looking != on
		p.wish.Unlock()
		if p.looking == on {
			return
		}
		p.looking = on
		p.sweep()
		in.divert(p.list)
	}
}

// divert gives nodes the steps that they need now. All steps are made before the first is stored, and
// goroutines see each one complete.
func (in *Interp) divert(list []point) {
	p := &in.points
	for i := range list {
		one := &list[i]
		n := one.node.Value()
		if n == nil {
			continue
		}
		if one.plain == nil {
			one.plain = n.exec
		}
		one.other = one.plain
		if p.following && one.function {
			one.other = in.followed(one.plain)
		}
		if then := one.other; p.looking {
			one.other = func(*frame) step { in.hooks.Look(); return then }
		}
	}
	p.fence.Add(1)
	for i := range list {
		one := &list[i]
		if n := one.node.Value(); n != nil && one.other != nil {
			put(n, one.other)
		}
		if one.other = nil; !p.looking && !p.following {
			one.plain = nil
		}
	}
}

// put sets the step of a node that code may be looking into, hidden from the race detector: the interpreter
// knows no atomic read. A step is one word, and code that misses it sees it in the next turn.
//
//go:norace
func put(n *node, s step) { n.exec = s }

// sweep drops the points of code that is gone.
func (p *points) sweep() {
	p.list = slices.DeleteFunc(p.list, func(one point) bool { return one.node.Value() == nil })
	p.sweepAt = 2*len(p.list) + 100
}

// add notes the points of new code.
func (in *Interp) add(points []point) {
	if len(points) == 0 {
		return
	}
	p := &in.points
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) > p.sweepAt && !p.looking && !p.following {
		p.sweep()
	}
	from := len(p.list)
	p.list = append(p.list, points...)
	if p.looking || p.following {
		in.divert(p.list[from:])
	}
}

// generate makes the steps of a program's functions, before it runs for the first time.
func (in *Interp) generate(p *Program) {
	if p.generated || in.hooks.Plain {
		return
	}
	p.generated = true
	root := *(**node)(unsafe.Pointer(reflect.ValueOf(p.p).Elem().FieldByName("root").UnsafeAddr()))
	g := generator{in: in, seen: map[*node]bool{}}
	g.find(root)
	for _, f := range g.bodies {
		reset(f.start)
		if f.start = in.reorder(f.start); repeats(f.start) {
			f.start = in.entry(f.start)
		}
	}
	for _, f := range g.bodies {
		g.set(f.start)
		in.bound(f.start)
		if f.anc.child[1].ident != "init" {
			g.points = append(g.points, point{node: weak.Make(f.start), function: true})
		}
	}
	in.add(g.points)
}

// bound has a function look how deep the stack is before its first step. Only the goroutine itself can know
// in time: a stack doubles at once.
func (in *Interp) bound(start *node) {
	first := start.exec
	if first == nil || in.hooks.Deep == nil {
		return
	}
	start.exec = func(f *frame) step {
		if goroutine.Depth() > in.hooks.MaxStack {
			in.hooks.Deep()
			return nil
		}
		return first(f)
	}
}

type generator struct {
	in     *Interp
	bodies []*node // of the functions
	seen   map[*node]bool
	points []point
}

// find finds the functions in a tree.
func (g *generator) find(n *node) {
	if f := n.anc; n.kind == g.in.function && f != nil && len(f.child) == 4 && f.child[3].start != nil {
		g.bodies = append(g.bodies, f.child[3])
	}
	for _, c := range n.child {
		g.find(c)
	}
}

// repeats says whether a function comes back to its first node. Then a call and a turn of a loop would begin
// in the same way.
func repeats(start *node) bool {
	return slices.ContainsFunc(reachable(start), func(n *node) bool { return n.tnext == start || n.fnext == start })
}

// entry makes a node that goes on to another one, of which it is a copy in all else.
func (in *Interp) entry(to *node) *node {
	made := reflect.New(in.node)
	made.Elem().Set(reflect.NewAt(in.node, unsafe.Pointer(to)).Elem())
	n := (*node)(made.UnsafePointer())
	n.child, n.tnext, n.fnext, n.kind, n.action, n.exec = nil, to, nil, 0, 0, nil
	n.gen = func(n *node) {
		next := n.tnext.exec
		n.exec = func(*frame) step { return next }
	}
	return n
}

// reset drops the steps of a function literal, which the interpreter makes when it compiles it.
func reset(n *node) {
	for n != nil && n.exec != nil {
		n.exec = nil
		reset(n.fnext)
		n = n.tnext
	}
}

// set makes the step of a node, after the steps that follow it. A following step that is being made itself
// contains this one: there a loop ends.
func (g *generator) set(n *node) {
	if n == nil || n.exec != nil {
		return
	}
	g.seen[n] = true
	for _, next := range []*node{n.tnext, n.fnext} {
		switch {
		case next == nil || next.exec != nil:
		case g.seen[next]:
			next.exec = next.again
			g.points = append(g.points, point{node: weak.Make(next), again: stepOf(next.exec)})
		default:
			g.set(next)
		}
	}
	g.in.passesClosures(n)
	n.gen(n)
	switch n.kind {
	case g.in.assignment:
		g.in.mark(n)
	case g.in.variable:
		g.in.passes(n)
	}
	g.in.quicken(n)
}

// mark makes the step of an assignment that is a mark.
func (in *Interp) mark(n *node) {
	if len(n.child) != 2 || in.hooks.IsMark == nil || !in.hooks.IsMark(n.child[0].ident) || !n.child[1].rval.CanInt() {
		return
	}
	if n.tnext == nil || n.tnext.exec == nil { // nothing comes next
		return
	}
	plain, next, name, number := n.exec, n.tnext.exec, n.child[0].ident, int(n.child[1].rval.Int())
	var known atomic.Pointer[int]
	n.exec = func(f *frame) step {
		place := known.Load()
		if place == nil {
			if place = in.hooks.Mark(name); place == nil {
				return plain(f)
			}
			known.Store(place)
		}
		note(place, number)
		return next(f)
	}
}

// passes skips the declaration of a temporary variable, which has a place in the frame already.
func (in *Interp) passes(n *node) {
	if in.hooks.IsTemporary != nil && n.nright == 0 && in.hooks.IsTemporary(n.child[0].ident) && exec(n.tnext) != nil {
		n.exec = n.tnext.exec
	}
}

// note sets a mark, hidden from the race detector: see package rt.
//
//go:norace
func note(place *int, number int) { *place = number }
