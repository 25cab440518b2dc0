package box

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// freed is the op of the node that a freed box is left with: it says what the tensor was.
const freed = ir.Invalid

// gone says whether a box that holds n has no value any more.
func gone(n *ir.Node) bool {
	d := n.Value()
	return n.Op == freed || d != nil && d.Freed
}

// Freed says whether Free was called, or something else has taken the value's memory that says so.
func (b *Box) Freed() bool { return gone(b.node.Load()) }

// Free makes the box one without a value, and lets go of its node.
func (b *Box) Free() {
	for {
		n := b.node.Load()
		if n.Op == freed {
			return
		}
		if d := n.FreeLast(); d != nil { // n says by itself that it is gone
			d.Buf.(*backend.Block).Release()
			return
		}
		if b.node.CompareAndSwap(n, withoutValue(n)) {
			release(n)
			return
		}
	}
}

// Forget is Free of a box that a function made which is being compiled: the plan gives memory back by itself.
func (b *Box) Forget() { b.node.Store(withoutValue(b.node.Load())) }

// withoutValue is what a box is left with that held n.
func withoutValue(n *ir.Node) *ir.Node {
	return &ir.Node{Op: freed, Attr: n.Attr, DType: n.DType, Shape: n.Shape, Name: n.Name, Dev: n.Dev}
}

// release drops a reference to n. With the last one it gives the memory of n's value back.
func release(n *ir.Node) {
	if !n.Release() {
		return
	}
	if d := n.Free(); d != nil {
		d.Buf.(*backend.Block).Release()
	}
}

// Share returns a leaf that holds n's value, too, with the name of old, a parameter or frozen if old is.
func Share(op string, n, old *ir.Node) (*ir.Node, error) {
	d := n.Value()
	if d.Freed || !d.Buf.(*backend.Block).Retain() {
		return nil, wasFreed(op, n)
	}
	leaf := ir.NewLeaf(n.Dev, n.DType, d, old.Name)
	leaf.Succeed(old)
	events.Given(leaf)
	return leaf, nil
}

// Put gives the box a node and nothing else: the function that is being compiled has made both.
func (b *Box) Put(n *ir.Node) { b.node.Store(n) }

// Replace gives the box another node. The old one's value stays for the graphs that were built with it.
func (b *Box) Replace(old, n *ir.Node) {
	n.Retain()
	b.node.Store(n)
	old.Release()
}

// Succeed is Replace that gives the memory of the old value back, if no other box holds it and at most so
// many operations read it.
func (b *Box) Succeed(old, n *ir.Node, readers int) {
	n.Retain()
	b.node.Store(n)
	if old.Readers() > readers {
		old.Release()
		return
	}
	release(old)
}

// Become gives the box a value that was computed in its place. Its old memory is given back if no operation
// and no other handle can see it.
func (b *Box) Become(d *ir.Data) {
	old := b.node.Load()
	if old.Value() == d { // changed in place
		events.Changed(old)
		return
	}
	leaf := ir.NewLeaf(old.Dev, old.DType, d, old.Name)
	events.Given(leaf)
	leaf.Succeed(old)
	b.Succeed(old, leaf, 0)
}

// InPlace says whether n was computed where the value of old lies.
func InPlace(old, n *ir.Node) bool {
	before, now := old.Value(), n.Value()
	return before != nil && now != nil && before.Buf == now.Buf
}
