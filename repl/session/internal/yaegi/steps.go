package yaegi

import (
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"
)

// The interpreter makes a step of each node, and a step has the next ones in it. They are made here, as it
// would make them, because two things that each turn of a loop needs are to cost nothing there, and some are
// made quicker (quick.go).
//
// Where a loop comes round, a step is not in the one before it, since it is made later: that one looks into
// the node. So does a call, for the first step of the function. These are the points at which code can be
// made to look whether it has to stop, as long as something has to, by another step in the node.
//
// A mark, which is the assignment of a number to a variable, is one store instead of a step of the
// interpreter with its reflection.

// Hooks are what code calls.
type Hooks struct {
	Trace func(line string) // a line about a panic that passes through an interpreted function, in its goroutine
	// Look is called at the start of each function and in each turn of a loop while the interpreter is told
	// to look ([Interp.Look]). It may panic.
	Look func()
	// Mark is where the variable is that marks with this name assign; nil: the name is none of a mark's, or
	// the variable is not known yet.
	Mark func(name string) *int
	// Grown is called where a sum of strings has become long.
	Grown func()
	// IsMark says whether a name is that of a variable for marks.
	IsMark func(name string) bool
}

// points are where code can be made to look.
type points struct {
	mu      sync.Mutex
	list    []point
	sweepAt int  // how long the list may get until those are dropped whose code is gone
	looking bool // code looks
	fence   atomic.Int32
}

// A point is a node that is looked into each time.
type point struct {
	node  weak.Pointer[node]
	exec  step // what the node does; only while code looks
	looks step // and looks before
}

// Look makes all code look, or lets it run on.
func (in *Interp) Look(on bool) {
	p := &in.points
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looking == on {
		return
	}
	p.looking = on
	p.sweep()
	in.divert(p.list)
}

// divert has nodes do what they should from now on. Goroutines see each step as a whole: all are made before
// the first of them is in its place.
func (in *Interp) divert(list []point) {
	p := &in.points
	for i := range list {
		if n := list[i].node.Value(); n != nil && p.looking {
			then := n.exec
			list[i].exec, list[i].looks = then, func(*frame) step { in.hooks.Look(); return then }
		}
	}
	p.fence.Add(1)
	for i := range list {
		n := list[i].node.Value()
		switch {
		case n == nil:
		case p.looking:
			put(n, list[i].looks)
		default:
			put(n, list[i].exec)
			list[i].exec, list[i].looks = nil, nil
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
	kept := p.list[:0]
	for _, one := range p.list {
		if one.node.Value() != nil {
			kept = append(kept, one)
		}
	}
	clear(p.list[len(kept):])
	p.list = kept
	p.sweepAt = 2*len(kept) + 100
}

// add notes the points of new code.
func (in *Interp) add(nodes []*node) {
	if len(nodes) == 0 {
		return
	}
	p := &in.points
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) > p.sweepAt && !p.looking {
		p.sweep()
	}
	from := len(p.list)
	for _, n := range nodes {
		p.list = append(p.list, point{node: weak.Make(n)})
	}
	if p.looking {
		in.divert(p.list[from:])
	}
}

// generate makes the steps of a program's functions, before it runs for the first time.
func (in *Interp) generate(p *Program) {
	if p.generated {
		return
	}
	p.generated = true
	root := *(**node)(unsafe.Pointer(reflect.ValueOf(p.p).Elem().FieldByName("root").UnsafeAddr()))
	g := generator{in: in, seen: map[*node]bool{}}
	g.walk(root)
	in.add(g.points)
}

type generator struct {
	in     *Interp
	seen   map[*node]bool
	points []*node
}

// walk makes the steps of the functions in a tree.
func (g *generator) walk(n *node) {
	if f := n.anc; n.kind == g.in.function && f != nil && len(f.child) == 4 && f.child[3].start != nil {
		start := f.child[3].start
		reset(start)
		if g.set(start); f.child[1].ident != "init" {
			g.points = append(g.points, start)
		}
	}
	for _, c := range n.child {
		g.walk(c)
	}
}

// reset drops the steps of a function literal, which the interpreter makes when it compiles it.
func reset(n *node) {
	for n != nil && n.exec != nil {
		n.exec = nil
		reset(n.fnext)
		n = n.tnext
	}
}

// set makes the step of a node, after those that it goes on with. One of those that is being made itself, of
// which this one is a part, is where a loop comes round.
func (g *generator) set(n *node) {
	if n == nil || n.exec != nil {
		return
	}
	g.seen[n] = true
	for _, next := range []*node{n.tnext, n.fnext} {
		switch {
		case next == nil || next.exec != nil:
		case g.seen[next]:
			next.exec = func(f *frame) step { return next.exec(f) }
			g.points = append(g.points, next)
		default:
			g.set(next)
		}
	}
	n.gen(n)
	if n.kind == g.in.assignment {
		g.in.mark(n)
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

// note sets a mark, hidden from the race detector: see package rt.
//
//go:norace
func note(place *int, number int) { *place = number }
