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
	d := backend.Hold(n)
	if d == nil {
		return nil, wasFreed(op, n)
	}
	return after(old, d), nil
}

// after returns a leaf with a value, which a box is to hold after old.
func after(old *ir.Node, d *ir.Data) *ir.Node {
	leaf := ir.NewLeaf(old.Dev, old.DType, d, old.Name)
	leaf.Succeed(old)
	events.Given(leaf)
	return leaf
}

// Put gives the box a node and nothing else: the function that is being compiled has made both.
func (b *Box) Put(n *ir.Node) { b.node.Store(n) }

// Replace gives the box another node. The old one's value stays for the graphs that were built with it.
func (b *Box) Replace(old, n *ir.Node) {
	n.Retain()
	b.node.Store(n)
	old.Release()
}

// Succeed gives the box, which holds old, the value d, with the caller's hold on its memory. If no other box
// holds old, and at most so many operations read it, which are done, its former memory is given back. Then
// old itself takes the value, as if d had been computed where the former one lies: a goroutine that has
// looked old up to build on it, and has not been counted yet, gets the new value.
func (b *Box) Succeed(old *ir.Node, d *ir.Data, readers int) {
	if exchange(old, d, readers) {
		events.Changed(old)
		return
	}
	b.Replace(old, after(old, d))
}

// exchange gives n the value d if only its box, and so many operations at most, can see the one it has. A
// goroutine that reads the value meanwhile waits.
func exchange(n *ir.Node, d *ir.Data, readers int) (done bool) {
	was, seen := n.Value(), 0
	if was == nil || was.Freed || n.Tracked && n.Op != ir.Leaf { // its history is that of the former value
		return false
	}
	b, c := was.Buf.(*backend.Block), backend.NewClaim()
	defer c.End()
	if !b.Claim(c, b.References(), func() bool { seen = n.Readers(); return n.Handles() <= 1 && seen <= readers }) {
		return false
	}
	if done = n.Exchange(was, d); done {
		b.Release()
	}
	b.EndClaim()
	b.Release()
	for ; done && seen > 0; seen-- {
		n.Unread()
	}
	return done
}

// Become gives the box a value that was computed in its place. Its old memory is given back if no operation
// and no other handle can see it.
func (b *Box) Become(d *ir.Data) {
	old := b.node.Load()
	if old.Value() == d { // changed in place
		events.Changed(old)
		return
	}
	b.Succeed(old, d, 0)
}

// InPlace says whether n was computed where the value of old lies.
func InPlace(old, n *ir.Node) bool {
	before, now := old.Value(), n.Value()
	return before != nil && now != nil && before.Buf == now.Buf
}
