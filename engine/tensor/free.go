package tensor

import (
	"slices"
	"sync"
	"weak"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/owned"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// freed is the op of the node that a freed tensor is left with: it says what the tensor was.
const freed = ir.Invalid

// Free gives the memory of tensors back at once: the next result gets it while the caches still hold it. A
// program that does not call Free gets memory back only when Go's collector has run, so that a loop works on
// memory that the caches have forgotten.
//
// After that it is an error to use the tensor by any copy of its handle; [Tensor.Freed] is true. To free it
// again, or to free the zero Tensor, does nothing. Other tensors keep their values: while a view, a
// [Tensor.Snapshot], a parameter that was Set to t, or an evaluation under way needs the memory, they hold
// it. A tensor that was made from t and not yet evaluated cannot be evaluated any more: that is an error. The
// exception is a t that was computed from a parameter, which is computed again.
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

// letGo drops a handle on n. With the last handle it gives n's value back.
func letGo(n *ir.Node) {
	if !n.Drop() {
		return
	}
	if d := n.Free(); d != nil {
		d.Buf.(*backend.Block).Release()
	}
}

// settle waits for the run that computes a value, and fails with its error.
func settle(dev ir.Device, d *ir.Data) {
	if d.Run != nil {
		check("eval", dev.(*backend.Device).Settle(scope.Context(), d))
	}
}

// share returns a leaf that holds n's value, too, with the name of old, a parameter or frozen if old is.
func share(op string, n, old *ir.Node) *ir.Node {
	d := n.Value()
	if d.Freed || !d.Buf.(*backend.Block).Hold() {
		fail(op, "got %v, which was freed", n)
	}
	leaf := ir.NewLeaf(n.Dev, n.DType, d, old.Name)
	leaf.Succeed(old)
	events.Given(leaf)
	return leaf
}

// replace gives the box another node. The old one's value stays for the graphs that were built with it.
func (v *value) replace(old, n *ir.Node) {
	n.Hold()
	v.node.Store(n)
	old.Drop()
}

// inPlace says whether n was computed where the value of old lies.
func inPlace(old, n *ir.Node) bool {
	before, now := old.Value(), n.Value()
	return before != nil && now != nil && before.Buf == now.Buf
}

// move gives t the value of y and frees y. It also gives the memory of t's old value back, if t was the only
// handle on it and at most so many operations read it.
//
// If y was computed where t's value lay, t keeps its node. A goroutine that reads the node or makes
// operations from it at the same time does so before or after the step: either the step has seen that and
// computed y elsewhere, or the goroutine gets the new value, and the next step sees it.
func move(t, y Tensor, readers int) {
	if tracing() != nil {
		t.Set(y)
		return
	}
	Eval(y)
	old, n := t.node("set"), y.node("set")
	if inPlace(old, n) { // the value of t is that of its memory, also if the run that computes y fails
		y.Free()
		old.Unread() // the step itself
		events.Given(old)
		return
	}
	leaf := share("set", n, old)
	y.Free()
	leaf.Hold()
	t.v.node.Store(leaf)
	if old.Readers() > readers {
		old.Drop()
		return
	}
	letGo(old)
}

func init() {
	owned.Move = func(t, y any, readers int) { move(t.(Tensor), y.(Tensor), readers) }
	owned.Tracing = func() bool { return tracing() != nil }
	owned.Sure = func(t, y any) bool {
		if tracing() != nil {
			return false
		}
		old, n := t.(Tensor).node("set"), y.(Tensor).node("set")
		return inPlace(old, n) || n.Value() != nil && backend.Certain(n.Value())
	}
	owned.Overwrite = func(t any, axis int, index, updates any) any {
		return overwrite(t.(Tensor), axis, index.(Tensor), updates.(Tensor), ir.InPlace)
	}
	owned.Unwritten = func(dt dtype.Type, shape ...int) any { return unwritten(backend.Default(), dt, slices.Clone(shape)) }
	owned.Prepare = func(ts []any) {
		if tracing() != nil {
			return
		}
		nodes := make([]*ir.Node, len(ts))
		for i, t := range ts {
			nodes[i] = t.(Tensor).node("eval")
		}
		for _, list := range onDevices(nodes) {
			check("eval", plan.Prepare(scope.Context(), list))
		}
	}
	owned.Spare = func(t any) {
		records := events.Here()
		if tracing() != nil || records == nil {
			return
		}
		nodes := []*ir.Node{t.(Tensor).node("eval")}
		ir.Pending(nodes[0], func(s *ir.Node) bool {
			nodes = append(nodes, s)
			return true
		})
		records.Spared(nodes)
	}
	owned.Built = func() int {
		_, _, built := plan.CacheStats()
		return built
	}
	owned.Settle = func(ts []any) {
		if tracing() != nil {
			return
		}
		for _, t := range ts {
			if n := t.(Tensor).node("eval"); n.Value() != nil {
				settle(n.Dev, n.Value())
			}
		}
	}
	owned.Value = func(t any) any { return weak.Make(t.(Tensor).node("value")) }
	owned.Notes = func(t any) *sync.Map {
		v := t.(Tensor).v
		v.notes.CompareAndSwap(nil, &sync.Map{})
		return v.notes.Load()
	}
}
