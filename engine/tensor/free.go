package tensor

import (
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/owned"
)

// freed is the op of the node that a freed tensor is left with: it says what the tensor was.
const freed = ir.Invalid

// Free says that nobody needs these tensors any more: their memory is the next result's, which finds it in
// the caches. Without it memory comes back as well, but only when Go's collector has run, so that a loop
// works on memory that the caches have forgotten.
//
// A tensor that was freed is an error to use, by all copies of its handle; [Tensor.Freed] tells. To free it
// again, or to free the zero Tensor, is none. Other tensors stay as they are: memory that a view, a
// [Tensor.Snapshot], a parameter that was Set to t, or an evaluation under way still needs is given back when
// they are done with it. What was made from t and not yet evaluated cannot be evaluated any more, which an
// error says then, unless t itself was computed from a parameter: then it is computed again.
func Free(ts ...Tensor) {
	for _, t := range ts {
		t.Free()
	}
}

// Free gives the tensor's memory back; see the function [Free].
func (t Tensor) Free() {
	if t.v == nil {
		return
	}
	if tr := tracing(); tr != nil {
		tr.free(t.v)
		return
	}
	for {
		n := t.v.node.Load()
		if n.Op == freed {
			return
		}
		if t.v.node.CompareAndSwap(n, gravestone(n)) {
			letGo(n)
			return
		}
	}
}

func gravestone(n *ir.Node) *ir.Node {
	return &ir.Node{Op: freed, DType: n.DType, Shape: n.Shape, Name: n.Name, Dev: n.Dev}
}

// Freed says whether Free was called, or something else has taken the tensor's memory that says so.
func (t Tensor) Freed() bool { return t.v != nil && gone(t.v.node.Load()) }

// gone says whether a box that holds n has no value any more.
func gone(n *ir.Node) bool {
	d := n.Value()
	return n.Op == freed || d != nil && d.Freed
}

// letGo drops a handle on n, and the value with the last one.
func letGo(n *ir.Node) {
	if !n.Drop() {
		return
	}
	if d := n.Free(); d != nil {
		d.Buf.(*backend.Block).Release()
	}
}

// share returns a leaf that holds n's value, too.
func share(op string, n *ir.Node, name string, tracked bool) *ir.Node {
	d := n.Value()
	if d.Freed || !d.Buf.(*backend.Block).Hold() {
		fail(op, "got %v, which was freed", n)
	}
	leaf := ir.NewLeaf(n.Dev, n.DType, d, name)
	leaf.Tracked = tracked
	return leaf
}

// replace gives the box another node. The old one's value stays for the graphs that were built with it.
func (v *value) replace(old, n *ir.Node) {
	n.Hold()
	v.node.Store(n)
	old.Drop()
}

// move gives t the value of y, which is freed. What t held before is given back, too, if t was the only
// handle on it and no more than so many operations read it, or if y took its memory.
func move(t, y Tensor, readers int) {
	if tracing() != nil {
		t.Set(y)
		return
	}
	Eval(y)
	old, n := t.node("set"), y.node("set")
	leaf := share("set", n, old.Name, old.Op == ir.Leaf && old.Tracked)
	y.Free()
	leaf.Hold()
	t.v.node.Store(leaf)
	if d := old.Value(); old.Readers() > readers && (d == nil || d.Buf != leaf.Value().Buf) {
		old.Drop()
		return
	}
	letGo(old) // also where y took the memory: what still reads it must say so
}

func init() {
	owned.Move = func(t, y any, readers int) { move(t.(Tensor), y.(Tensor), readers) }
	owned.Overwrite = func(t any, axis int, index, updates any) any {
		return overwrite(t.(Tensor), axis, index.(Tensor), updates.(Tensor), ir.InPlace)
	}
	owned.Notes = func(t any) *sync.Map {
		v := t.(Tensor).v
		v.notes.CompareAndSwap(nil, &sync.Map{})
		return v.notes.Load()
	}
}
