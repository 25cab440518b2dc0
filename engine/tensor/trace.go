package tensor

import (
	"bytes"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A trace watches a function that is being compiled: it notes where leaves come from, which numbers vary, and
// which boxes the function sets. Within the function a box from outside holds a placeholder: a leaf of the
// trace's own that has the box's value of today.
type trace struct {
	inside    map[*box.Box]bool                        // boxes that the function made
	now       map[*box.Box]*ir.Node                    // what boxes from outside hold within the function
	origin    map[*ir.Node]origin                      // of leaves
	numbers   map[*ir.Node]func(*invocation) ir.Scalar // of constants that vary
	sets      []*box.Box                               // boxes that were set, in the order of the first time
	generator *RNG                                     // the default one
	draws     []*RNG                                   // of random tensors, in their order; nil for the default one
	drawn     []RNGState                               // what they drew in the trace
	after     []callback
}

// An origin says where a leaf's value comes from when the function is replayed.
type origin struct {
	arg  int      // the argument, or -1
	box  *box.Box // the box
	made *ir.Data // the value itself, which the function made of Go's numbers

	moved *moved // a copy of a value of another device
}

// A callback is a function that gets values after each call.
type callback struct {
	f     func([]Tensor)
	ts    []*ir.Node
	count int // of ts, which are forgotten after the trace
}

// An invocation is what a replay gets its numbers from.
type invocation struct {
	args  []*ir.Node
	drawn []RNGState
}

// tracing returns the trace that this goroutine is in, or nil.
func tracing() *trace {
	tr, _ := box.Tracing().(*trace)
	return tr
}

// outsideOnly refuses, in a function that is being compiled, an operation that needs a value.
func outsideOnly(op string) {
	if tracing() != nil {
		fail(op, "got a tensor of a function that is being compiled, where nothing has its value yet: take it as a result, or with Callback")
	}
}

// record calls f with placeholders for args, in a trace, and returns what its results hold.
func (tr *trace) record(f func(...Tensor) []Tensor, args []*ir.Node) (results []*ir.Node) {
	box.Traced(tr, func() {
		inner := make([]Tensor, len(args))
		for i, n := range args {
			inner[i] = wrap(tr.argument(i, n))
		}
		for _, t := range f(inner...) {
			results = append(results, t.real("compile"))
		}
	})
	return results
}

func (tr *trace) argument(i int, n *ir.Node) *ir.Node {
	if n.Value() == nil { // a number
		return tr.vary(ir.NewConst(n.Dev, n.DType, n.Attr.Value), func(c *invocation) ir.Scalar { return c.args[i].Attr.Value })
	}
	return tr.placeholder(n, origin{arg: i})
}

func (tr *trace) placeholder(n *ir.Node, from origin) *ir.Node {
	leaf := ir.NewLeaf(n.Dev, n.DType, n.Value(), n.Name)
	leaf.Succeed(n)
	tr.origin[leaf] = from
	return leaf
}

// vary lets the constant n have its number from f in each call.
func (tr *trace) vary(n *ir.Node, f func(*invocation) ir.Scalar) *ir.Node {
	n.Flag(ir.Varies)
	tr.numbers[n] = f
	return n
}

// Made notes a box that the function has made.
func (tr *trace) Made(v *box.Box) { tr.inside[v] = true }

// Given notes a value that the function has made of Go's numbers.
func (tr *trace) Given(leaf *ir.Node) { tr.origin[leaf] = origin{arg: -1, made: leaf.Value()} }

// Node is what the box v holds within the function.
func (tr *trace) Node(v *box.Box, n *ir.Node) *ir.Node {
	if tr.inside[v] {
		return n
	}
	if m := tr.now[v]; m != nil {
		return m
	}
	if n.Value() == nil {
		box.Traced(nil, func() { on(v).Eval() }) // what waits outside of the function is no part of it
	}
	leaf := tr.placeholder(n, origin{arg: -1, box: v})
	tr.now[v] = leaf
	return leaf
}

// set gives the box the value of y from here on, and after each call.
func (tr *trace) set(v *box.Box, old, y *ir.Node) {
	n := apply(ir.Detach, ir.Attr{}, y)
	n.Succeed(old)
	n.Tracked = n.Tracked || tr.now[v] != nil && tr.now[v].Tracked
	if tr.inside[v] {
		if _, ok := tr.origin[old]; ok {
			fail("set", "got an argument or a constant of a function that is being compiled, want a tensor from outside")
		}
		v.Put(n)
		return
	}
	for _, w := range tr.sets {
		if w == v {
			tr.now[v] = n
			return
		}
	}
	tr.sets, tr.now[v] = append(tr.sets, v), n
}

// free forgets a box of the function's own; the plan gives its memory back by itself.
func (tr *trace) free(v *box.Box) {
	if !tr.inside[v] {
		fail("free", "got a tensor from outside of the function that is being compiled")
	}
	v.Forget()
}

// draw notes that the function draws a random tensor from r, which stands at s: in each call the constants
// key and counter have the numbers of that call.
func (tr *trace) draw(r *RNG, s RNGState, key, counter *ir.Node) {
	k := len(tr.draws)
	if r == tr.generator {
		r = nil // a call draws from the default generator of its own scope
	}
	tr.draws, tr.drawn = append(tr.draws, r), append(tr.drawn, s)
	tr.vary(key, func(c *invocation) ir.Scalar { return ir.Scalar{I: int64(c.drawn[k].Seed)} })
	tr.vary(counter, func(c *invocation) ir.Scalar { return ir.Scalar{I: int64(c.drawn[k].Counter)} })
}

// sameBytes says whether two values that a function made are equal.
func sameBytes(x, y *ir.Data) bool {
	a, b := make([]byte, x.Buf.Bytes()), make([]byte, y.Buf.Bytes())
	for _, d := range []struct {
		to []byte
		of *ir.Data
	}{{a, x}, {b, y}} {
		check("compile", d.of.Buf.(*backend.Block).Device().Download(scope.Context(), d.to, d.of, 0))
	}
	return bytes.Equal(a, b)
}
