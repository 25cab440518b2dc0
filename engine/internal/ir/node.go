// Package ir is the engine's graph: what is to be computed, before package plan decides how.
//
// A [Node] applies one op of the op table to other nodes. All that the engine knows of an op stands in its
// [Row]: the rules of shapes, types and gradients, its cost and its name. [New] builds a graph, [Grad] lets
// it grow backwards, its structural hash recognises it, and package plan runs it.
//
// Nodes are immutable with one exception: a node that was evaluated holds its [Data]. If no gradient can go
// through it any more, it forgets its sources, so that a long computation does not keep its past alive.
//
// Reading order: node.go, op.go, new.go, table*.go (the rows), layout.go, grad.go, rules.go, grad_*.go,
// walk.go.
package ir

import (
	"math"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/shared"
)

// A Node is one value (or, for a few ops, a tuple of values) of the graph.
type Node struct {
	Op    Op
	DType dtype.Type
	// Tracked says that a parameter is among the node or its ancestors. Tracked nodes keep their sources when
	// they are evaluated, because a gradient may still be asked for.
	Tracked bool
	counted bool    // whether the node is one of its sources' readers; settled before others get the node
	Shape   []int   // nil for a tuple; empty for a single element
	Outs    []Type  // of a tuple: its values, which Pick nodes select
	Attr    *Attr   // never changed, because nodes without settings share one: see Flag
	Src     []*Node // nil once an untracked node is evaluated; another goroutine may do that, so read it from a Graph
	Dev     Device
	// Name is what a person calls the tensor, "layers.0.attn.q.weight"; it appears in errors. It is often
	// empty, and may be given after the node was made.
	Name string
	// Frozen says why no gradient of the node may be asked for, "frozen"; it is empty if one may.
	Frozen string
	Origin Origin
	// Noted and Computed are when package events noted the node and a computation of it, by its count of
	// runs. As long as nothing is measured the former is 0, the latter 1 if the node was computed and its
	// value not kept.
	Noted, Computed atomic.Uint32

	lost    *record            // what the node has forgotten of how it was computed, nil for nothing
	self    weak.Pointer[Node] // see weakly
	data    shared.Pointer[Data]
	handles atomic.Int32 // of people: see Retain
	readers atomic.Int32 // how often the node became another one's source
}

// A Type is the dtype and shape of one value.
type Type struct {
	DType dtype.Type
	Shape []int
}

// A Device is where a node's value lives. Devices are compared by identity; package backend implements them.
type Device interface {
	String() string // "cpu", "cuda:1"
}

// A LimitedDevice is a Device that may lack dtypes: no node of one is made there.
type LimitedDevice interface {
	Device
	// Lacks returns what is wrong with a dtype that the device does not compute with, or nil.
	Lacks(dt dtype.Type) error
}

// lacks returns why the device of a node cannot have it, or nil.
func lacks(n *Node) error {
	if len(n.Src) > 0 && n.Outs == nil && n.Src[0].DType == n.DType && n.Src[0].Dev == n.Dev {
		return nil // its operand is there
	}
	d, ok := n.Dev.(LimitedDevice)
	if !ok {
		return nil
	}
	if n.Outs == nil {
		return d.Lacks(n.DType)
	}
	for _, o := range n.Outs {
		if err := d.Lacks(o.DType); err != nil {
			return err
		}
	}
	return nil
}

// Data is a node's value in memory: a buffer, and how the elements lie in it.
type Data struct {
	Buf    Buffer
	Layout *Layout
	Freed  bool // it was given back: there is no Buf, and no Layout
	Room   bool // of a matrix of which no element of the next Room columns and rows is anybody's
	Run    Run  // what writes it; nil if that is done
}

// Room is how many columns behind the last one of a matrix, and rows behind its last, are free for a launch
// to write to, where [Data] says that there is room: a frozen weight keeps it for the adapters beside it, so
// that both are one operand of a library's product, and neither is copied.
const Room = 64

// A Run is an evaluation that may still be under way when its values have their places in memory.
type Run interface {
	// Err returns the error of a run that is known to have failed: its values mean nothing.
	Err() error
}

// A Buffer is memory of a device; only its backend can look inside.
type Buffer interface {
	Bytes() int
}

// A Layout says where in a buffer the elements of a shape are: element (i, j, …) is at Offset + i·Stride[0] +
// j·Stride[1] + …, counted in elements. Strides may be 0 (broadcast) or negative (flip).
type Layout struct {
	Shape, Stride []int
	Offset        int
}

// Value returns the node's data, or nil if it has not been evaluated.
func (n *Node) Value() *Data { return n.data.Load() }

// links guards the Src of nodes that lose them on evaluation, against walks by other goroutines.
var links struct {
	sync.RWMutex
	seen numbering // of the node that loses them
}

// Succeed makes n, which a box holds after old, a parameter or frozen if old was.
func (n *Node) Succeed(old *Node) {
	n.Tracked, n.Frozen = old.Op == Leaf && old.Tracked, old.Frozen
}

// SetValue stores the result of an evaluation and lets go of the sources unless the node is tracked.
// Only package plan calls it.
func (n *Node) SetValue(d *Data) {
	if n.Tracked {
		n.data.Store(d)
		return
	}
	links.Lock()
	n.forget()
	n.data.Store(d) // who sees the value sees that the sources are gone
	links.Unlock()
}

// Retain counts one more handle on the node, Release one less. A program that forgets a handle does not
// release it: so the count may be too large, and is never too small.
func (n *Node) Retain() { n.handles.Add(1) }

// RetainFirst is Retain of a node that no other goroutine has, and that has no handle yet.
func (n *Node) RetainFirst() { shared.First(&n.handles, int32(1)) }

// Release returns whether it was the last handle.
func (n *Node) Release() bool { return n.handles.Add(-1) == 0 }

// Handles is how many handles are on the node; Readers is how often it became the source of another node.
func (n *Node) Handles() int { return int(n.handles.Load()) }
func (n *Node) Readers() int { return int(n.readers.Load()) }

// Unread counts one reader less: an operation that is done and that nothing can reach any more.
func (n *Node) Unread() { n.readers.Add(-1) }

// Free takes the node's value away and returns it, nil if there is none. An evaluation that reads the node
// later computes it again if the node knows its sources, as all that was computed from a parameter does; else
// it finds Data that says Freed.
func (n *Node) Free() *Data {
	d := n.data.Load()
	if d == nil || d.Freed {
		return nil
	}
	left := freed
	if n.Src != nil {
		left = nil
	}
	if !n.data.CompareAndSwap(d, left) { // another goroutine was faster
		return nil
	}
	return d
}

// Exchange gives the node the value d in place of was, unless it has another one meanwhile.
func (n *Node) Exchange(was, d *Data) bool { return n.data.CompareAndSwap(was, d) }

// freed stands for the value of a node that was freed.
var freed = &Data{Layout: &Layout{}, Freed: true}

// FreeLast is Free and Release in one of a node that has a single handle and cannot be computed again; else
// it does nothing and returns nil.
func (n *Node) FreeLast() *Data {
	d := n.data.Load()
	if d == nil || d.Freed || n.Src != nil || !n.handles.CompareAndSwap(1, 0) || !n.data.CompareAndSwap(d, freed) {
		return nil
	}
	return d
}

// Attr holds an op's settings. One struct serves all ops, so that hashing, comparing and printing are written
// once; the row of an op says which fields it reads.
type Attr struct {
	Axes  []int   // reduce, permute, flip, expand; sorted and non-negative where the op does not care for order
	Ints  []int   // slice: start, stop, step for each axis; pad: before, after for each axis
	Axis  int     // softmax, concat, gather, argmax, cumsum, topk …; non-negative
	Index int     // pick: which value of the tuple; topk: k
	Float float64 // eps, rope theta base, label smoothing, attention scale
	Flags Flag
	// Rates are for rope the angle, in radians, by which each pair goes on from one position to the next, D/2
	// numbers; none where Float says them.
	Rates []float64
	DType dtype.Type // cast, iota, rand; otherwise Invalid
	Shape []int      // reshape, expand, creation
	Dev   Device     // to
	// Value is a Const's value. It is not part of the structural hash (only its ConstClass is), so that a
	// learning rate or a step number that changes does not make a new plan. With Flags Fixed it is.
	Value  Scalar
	Kernel *Kernel // user_kernel
}

// none are the settings of nodes that have none, as most.
var none = &Attr{}

// empty says whether a is like none.
func (a *Attr) empty() bool {
	return a.Axes == nil && a.Ints == nil && a.Axis == 0 && a.Index == 0 && math.Float64bits(a.Float) == 0 && a.Flags == 0 &&
		a.Rates == nil && a.DType == dtype.Invalid && a.Shape == nil && a.Dev == nil &&
		math.Float64bits(a.Value.F) == 0 && a.Value.I == 0 && a.Kernel == nil
}

// newNode returns a node with a copy of the settings, in one object.
func newNode(op Op, attr *Attr) *Node {
	if attr.empty() {
		return &Node{Op: op, Attr: none}
	}
	both := &struct {
		Node
		attr Attr
	}{attr: *attr}
	both.Op, both.Attr = op, &both.attr
	return &both.Node
}

// Flag gives a node that nobody else has seen one more switch.
func (n *Node) Flag(f Flag) {
	a := *n.Attr
	a.Flags |= f
	n.Attr = &a
}

// Flag is a set of an op's switches.
type Flag uint32

const (
	Causal      Flag = 1 << iota // attention: query i sees keys up to i + (Tk − Tq)
	Reverse                      // cumsum: from the end; topk: smallest first; rope: turn back
	Exclusive                    // cumsum: without the element itself
	Interleaved                  // rope: pairs are (2i, 2i+1) instead of (i, i+d/2)
	TanhApprox                   // gelu: the tanh approximation
	Fixed                        // const: the value belongs to the formula and never changes, so a plan may rely on it
	Transposed                   // dequantize: the weight's axes in the other order
	Varies                       // const: another value in each run, so that a plan may not rely on any
	InPlace                      // adamw, overwrite: the values may have the memory of what they replace
	Loose                        // cast: a product that reads a number of f32 need not round it to the narrower type
	Masters                      // adamw, adamw8: parameters have masters of f32
	Bound                        // max, min: y is a bound of x, which has the whole gradient where they are equal
)
