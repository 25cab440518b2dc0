// Package box is what all handles on a tensor share: the box with the node that the tensor holds.
//
// The type tensor.Tensor embeds a [Handle], so [Of] leads packages of the engine from a tensor to its box,
// and the compiler refuses what is no tensor. Nodes count the boxes that hold them, and a device's blocks of
// memory count the values that lie in them: the last box that lets go of a node gives its memory back.
//
// Functions return errors where package tensor panics. Package access, above tensor, has what needs both.
package box

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/shared"
)

// Frozen is why a tensor is left out of training that somebody froze.
const Frozen = "frozen"

// A Cause is the error below a *tensor.Error, which embeds it.
type Cause struct{ err error }

func (c *Cause) because(err error) { c.err = err }

func (c Cause) cause() error { return c.err }

// Because gives a *tensor.Error the error below it.
func Because(e interface{ because(error) }, err error) { e.because(err) }

// CauseOf returns the error below a *tensor.Error, or nil.
func CauseOf(e interface{ cause() error }) error { return e.cause() }

// A Box holds a node, and what packages of the engine keep with a tensor. That of a complex tensor holds two
// boxes instead, of its real and its imaginary part.
type Box struct {
	node  shared.Pointer[ir.Node]
	parts *[2]*Box
	notes atomic.Pointer[sync.Map] // nil as long as nobody has any
}

// A Handle makes a tensor of the struct that embeds it. Its methods are not exported, so the tensor has no
// more of them.
type Handle struct{ box *Box }

// A Tensor is a tensor.Tensor.
type Tensor interface{ open() *Box }

func (h Handle) open() *Box { return h.box }

func (h *Handle) fill(b *Box) { h.box = b }

// Of returns the box of a tensor, nil for the zero Tensor.
func Of(t Tensor) *Box { return t.open() }

// On returns a handle on a box.
func On(b *Box) Handle { return Handle{b} }

// Fill makes a zero Tensor one on a box.
func Fill(t interface{ fill(*Box) }, b *Box) { t.fill(b) }

// Pair returns the box of a complex tensor with these parts.
func Pair(re, im *Box) *Box { return &Box{parts: &[2]*Box{re, im}} }

// Parts are the boxes of a complex tensor's real and imaginary part; nil of others.
func (b *Box) Parts() []*Box {
	if b == nil || b.parts == nil {
		return nil
	}
	return b.parts[:]
}

// New returns a box that holds n.
func New(n *ir.Node) *Box {
	if n.DType.Complex() {
		return Pair(New(n.Src[0]), New(n.Src[1]))
	}
	n.Retain()
	return new(Box).hold(n)
}

// hold gives a box that nobody has its first node, which counts it already.
func (b *Box) hold(n *ir.Node) *Box {
	b.node.First(n)
	if tr := Tracing(); tr != nil {
		tr.Made(b)
	} else if n.Handles() == 1 {
		events.Made(n)
	}
	return b
}

// Holding returns a box with a value that is there already.
func Holding(dev ir.Device, dt dtype.Type, d *ir.Data) *Box { return new(Box).Hold(dev, dt, d) }

// Hold makes a zero Box, which nobody has, one that Holding returns.
func (b *Box) Hold(dev ir.Device, dt dtype.Type, d *ir.Data) *Box {
	leaf := ir.NewLeaf(dev, dt, d, "")
	backend.Note(leaf)
	events.Given(leaf)
	leaf.RetainFirst()
	return b.hold(leaf)
}

// Leaf returns a box with a value of so many bytes, which write brings into new memory.
func Leaf(d *backend.Device, dt dtype.Type, shape []int, bytes int, name string, write func(*backend.Block) error) (*Box, error) {
	if err := d.Lacks(dt); err != nil {
		return nil, &ir.Error{Op: "from", Msg: err.Error()}
	}
	buf, err := d.Alloc(bytes)
	if err == nil && bytes > 0 {
		err = write(buf)
	}
	if err != nil {
		return nil, err
	}
	leaf := ir.NewLeaf(d, dt, &ir.Data{Buf: buf, Layout: new(ir.Contiguous(shape))}, name)
	backend.Note(leaf)
	events.Given(leaf)
	if tr := Tracing(); tr != nil {
		tr.Given(leaf)
	}
	return New(leaf), nil
}

// Node returns what the box holds. The error names op, the operation that asks.
func (b *Box) Node(op string) (*ir.Node, error) {
	if b == nil {
		return nil, &ir.Error{Op: op, Msg: "got no tensor (a zero Tensor)"}
	}
	if b.parts != nil {
		re, err := b.parts[0].Node(op)
		if err != nil {
			return nil, err
		}
		im, err := b.parts[1].Node(op)
		if err != nil {
			return nil, err
		}
		return ir.Pair(re, im), nil
	}
	n := b.node.Load()
	if gone(n) {
		return nil, wasFreed(op, n)
	}
	if tr := Tracing(); tr != nil {
		return tr.Node(b, n), nil
	}
	return n, nil
}

// Held returns what the box holds outside of a function that is being compiled, also if it was freed.
func (b *Box) Held() *ir.Node {
	if b.parts != nil {
		return ir.Pair(b.parts[0].Held(), b.parts[1].Held())
	}
	return b.node.Load()
}

// Notes are what packages of the engine keep with the tensor, each under a key of its own: they are there for
// all handles on it and are collected with it, also where a note refers to it.
func (b *Box) Notes() *sync.Map {
	b.notes.CompareAndSwap(nil, &sync.Map{})
	return b.notes.Load()
}

// CheckShape is the error of an operation that is to make a tensor of a shape that none has.
func CheckShape(op string, shape []int) error {
	size := 1
	for _, d := range shape {
		if d < 0 {
			return &ir.Error{Op: op, Msg: fmt.Sprintf("got shape %v, want no negative length", shape)}
		}
		if d > 0 && size > 1<<ir.MostElements/d {
			return &ir.Error{Op: op, Msg: fmt.Sprintf("got shape %v, want fewer elements than 2^%d", shape, ir.MostElements)}
		}
		size *= max(1, d)
	}
	return nil
}

// CheckDType is the error of making a tensor of what is no type.
func CheckDType(dt dtype.Type) error {
	if slices.Contains(dtype.All(), dt) {
		return nil
	}
	return &ir.Error{Op: "from", Msg: fmt.Sprintf("got %v, want one of %v", dt, dtype.All())}
}

func wasFreed(op string, n *ir.Node) error {
	return &ir.Error{Op: op, Msg: fmt.Sprintf("got %v, which was freed", n)}
}

// A Tracer watches a function that is being compiled.
type Tracer interface {
	// Node returns what a box holds within the function, where it holds n outside.
	Node(b *Box, n *ir.Node) *ir.Node
	// Made says that the function has made a box, Given that a value comes from Go's numbers.
	Made(b *Box)
	Given(leaf *ir.Node)
}

// A tracer is a Tracer, or nil.
type tracer struct{ Tracer }

// tracedBy is the setting by which a goroutine's scope has the Tracer that watches it.
var tracedBy = &scope.Key{Name: "trace"}

// traces is how many traces are under way: without any no scope need be looked up.
var traces atomic.Int64

// Traces is how many functions are being compiled, in all goroutines.
func Traces() int { return int(traces.Load()) }

// Tracing returns the Tracer of the function that is being compiled in this goroutine, or nil.
func Tracing() Tracer {
	if Traces() == 0 {
		return nil
	}
	return here()
}

// here is Tracing while a function is being compiled somewhere: apart, so that the compiler inlines Tracing.
func here() Tracer {
	tr, _ := scope.Context().Value(tracedBy).(tracer)
	return tr.Tracer
}

// Traced calls f, which a Tracer watches; nil keeps any other from watching it.
func Traced(tr Tracer, f func()) {
	traces.Add(1)
	defer traces.Add(-1)
	scope.Within(context.WithValue(scope.Context(), tracedBy, tracer{tr}), f)
}
