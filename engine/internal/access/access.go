// Package access lets packages of the engine do with tensors what people need not: see their nodes, give
// memory back early, and keep something for as long as a tensor lives. Its functions panic with a
// *tensor.Error as those of package tensor do.
//
// Memory of tensors comes back when they are freed, or when the collector finds that nothing refers to it. An
// optimizer knows more than both: each step leaves old moments behind, to which only the optimizer refers.
// Their memory, given back at once, is what the next step writes to while the caches still hold it.
package access

import (
	"errors"
	"slices"
	"sync"
	"weak"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// check panics with err as a *tensor.Error.
func check(op string, err error) {
	if err == nil {
		return
	}
	e := &tensor.Error{Op: op, Msg: err.Error()}
	var wrong *ir.Error
	if errors.As(err, &wrong) {
		e.Op, e.Msg = wrong.Op, wrong.Msg
	}
	box.Because(e, err)
	panic(e)
}

// Node returns what t holds. The error that it panics with names op, the operation that asks.
func Node(t tensor.Tensor, op string) *ir.Node {
	n, err := box.Of(t).Node(op)
	check(op, err)
	return n
}

// Wrap returns a tensor that holds n.
func Wrap(n *ir.Node) tensor.Tensor { return on(box.New(n)) }

func on(b *box.Box) (t tensor.Tensor) {
	box.Fill(&t, b)
	return t
}

// Tracing says whether this goroutine is in a function that is being compiled.
func Tracing() bool { return box.Tracing() != nil }

// Value is what tells the value that t has now from any other one: it is another, by ==, after each Set. It
// keeps nothing alive.
func Value(t tensor.Tensor) weak.Pointer[ir.Node] { return weak.Make(Node(t, "value")) }

// Notes are what packages of the engine keep with t, each under a key of its own: they are there for all
// handles on t and are collected with it, also where a note refers to t.
func Notes(t tensor.Tensor) *sync.Map { return box.Of(t).Notes() }

// Unwritten returns a tensor on the default device whose elements mean nothing until they are written. On a
// device that is sparse (backend.Reserver) they take no room until then.
func Unwritten(dt dtype.Type, shape ...int) tensor.Tensor {
	d := backend.Default()
	check("tensor", d.Lacks(dt))
	buf, err := d.Reserve(ir.Size(shape) * dt.Size())
	check("tensor", err)
	return on(box.Holding(d, dt, &ir.Data{Buf: buf, Layout: new(ir.Contiguous(slices.Clone(shape)))}))
}

// Filled returns a new tensor on the default device whose bytes (C order, little endian) read gives: those
// from a place on. Several goroutines call it. An error of read is the error; a wrong shape panics.
func Filled(dt dtype.Type, shape []int, read func(at int, to []byte) error) (tensor.Tensor, error) {
	check("from", box.CheckShape("from", shape))
	if dt.Complex() { // whose parts lie elsewhere than in the file
		data := make([]byte, ir.Size(shape)*dt.Size())
		if err := read(0, data); err != nil {
			return tensor.Tensor{}, err
		}
		return tensor.FromBytes(dt, data, shape...), nil
	}
	check("from", box.CheckDType(dt))
	if by, ok := scope.Context().Value(inPartsBy).(backend.Parts); ok && len(shape) > 1 {
		return filledInParts(by, dt, shape, read)
	}
	return filled(dt, shape, false, read)
}

// Whole is Filled by one call, for all bytes of a tensor of a real dtype.
func Whole(dt dtype.Type, shape []int, write func(to []byte) error) (tensor.Tensor, error) {
	return filled(dt, shape, true, func(_ int, to []byte) error { return write(to) })
}

func filled(dt dtype.Type, shape []int, whole bool, read func(at int, to []byte) error) (tensor.Tensor, error) {
	d, n := backend.Default(), ir.Size(shape)*dt.Size()
	var failed error
	b, err := box.Leaf(d, dt, slices.Clone(shape), n, "", func(buf *backend.Block) error {
		failed = d.Fill(buf, n, whole, read)
		return nil
	})
	check("tensor", err)
	return on(b), failed
}

// Overwrite is t.Overwrite(axis, index, updates) for a tensor t whose value only the caller's data structure
// wants, and that after this: the result may lie in t's memory, unless another handle on the value, a view of
// it or an evaluation under way could see that. If it does, reading t or what was made from it is an error
// from then on.
func Overwrite(t tensor.Tensor, axis int, index, updates tensor.Tensor) tensor.Tensor {
	y := t.Overwrite(axis, index, updates)
	box.Of(y).Held().Flag(ir.InPlace)
	return y
}

// Freeze is t.Freeze() of a tensor t that is left out of training for a reason of its own, which completes
// "the weight is …".
func Freeze(t tensor.Tensor, why string) {
	if t.Frozen() == why && !t.IsParam() {
		return
	}
	t.Freeze()
	n := Node(t, "freeze")
	leaf, err := box.Share("freeze", n, n)
	check("freeze", err)
	leaf.Frozen = why
	box.Of(t).Replace(n, leaf)
}

// Move is t.Set(y) for a tensor y to which only the caller refers: y is freed. If only t held its former
// value, and readers operations at most read that, its memory is given back, too.
//
// In that case, and if y was computed where t's value lay, t keeps its node. A goroutine that reads the node
// or makes operations from it at the same time does so before or after the step: either the step has seen
// that and computed y elsewhere, or the goroutine gets the new value, and the next step sees it.
func Move(t, y tensor.Tensor, readers int) {
	if Tracing() {
		t.Set(y)
		return
	}
	tensor.Eval(y)
	old, n := Node(t, "set"), Node(y, "set")
	if box.InPlace(old, n) { // the value of t is that of its memory, also if the run that computes y fails
		y.Free()
		old.Unread() // the step itself
		events.Changed(old)
		return
	}
	d := backend.Hold(n)
	y.Free()
	box.Of(t).Succeed(old, d, readers)
}

// CanTake says whether t can take the value of y although the run that computes y is under way: no data can
// make the run fail, or y lies where the value of t lies, which it replaces as a whole or, if its run fails,
// not at all.
func CanTake(t, y tensor.Tensor) bool {
	if Tracing() {
		return false
	}
	old, n := Node(t, "set"), Node(y, "set")
	return box.InPlace(old, n) || n.Value() != nil && backend.WillSucceed(n.Value())
}

// Await waits until the evaluations that compute tensors have ended. If one of them failed, it fails as
// reading a tensor does.
func Await(ts []tensor.Tensor) {
	if Tracing() {
		return
	}
	for _, t := range ts {
		if n := Node(t, "eval"); n.Value() != nil && n.Value().Run != nil {
			check("eval", n.Dev.(*backend.Device).Await(scope.Context(), n.Value()))
		}
	}
}

// Prepare builds the plan with which an Eval of such tensors will run: these themselves are not computed, and
// are not to be.
func Prepare(ts []tensor.Tensor) {
	if Tracing() {
		return
	}
	nodes := make([]*ir.Node, len(ts))
	for i, t := range ts {
		nodes[i] = Node(t, "eval")
	}
	for _, list := range ir.ByDevice(nodes) {
		check("eval", plan.Prepare(scope.Context(), list))
	}
}

// Built is how many plans were built so far.
func Built() int {
	_, _, built := plan.CacheStats()
	return built
}

// Unwanted says that nobody will ask for t, nor for what it is made of beyond what is evaluated later: a
// measurement that computes what code has left does not compute it.
func Unwanted(t tensor.Tensor) {
	records := events.Here()
	if Tracing() || records == nil {
		return
	}
	nodes := []*ir.Node{Node(t, "eval")}
	ir.Pending(nodes[0], func(s *ir.Node) bool {
		nodes = append(nodes, s)
		return true
	})
	records.Spared(nodes)
}
