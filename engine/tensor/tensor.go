// Package tensor is the n-dimensional array that people compute with.
//
// A [Tensor] is lazy: an operation only notes what is to be computed. Reading values, printing or [Eval]
// computes, and whatever can be one kernel then becomes one kernel. So there is no difference in cost between
// a long expression and the same expression in steps.
//
// Operations on one tensor are methods (x.MatMul(w), x.Sum(-1)). Operations that make a tensor (Zeros, Randn)
// or treat several alike (Concat, Where, Grad) are functions. Operands of arithmetic may be tensors or
// plain Go numbers; shapes broadcast as in NumPy. Two dtypes meet in the one that [dtype.Promote] gives; a
// number takes the tensor's, which must have it, but a fraction makes f32 of integers. Quotients, means and
// roots of integers are f32; their sums and products along axes have 64 bits.
//
// A wrong shape or dtype is the caller's mistake: the operation panics with an [*Error] that names it and
// both shapes. A session shows that at the cell's line; [Try] turns it into an error for compiled programs.
//
// Reading order: tensor.go (handles, evaluation, parameters), within.go, ledger.go, free.go, compile.go,
// trace.go, create.go, math.go, reversed.go, trig.go, functions.go, bits.go, shape.go, arrange.go, reduce.go,
// order.go, linear.go, einsum.go, attention.go, index.go, part.go, parttext.go, random.go, grad.go,
// functional.go, read.go, print.go, format.go.
package tensor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A Tensor is a handle on an n-dimensional array. Copies of a Tensor are the same tensor: [Tensor.Set]
// changes what all of them hold. The zero Tensor is no tensor; [Tensor.IsNone] is true for it alone.
type Tensor struct {
	handle // on the box that all copies share
}

type handle = box.Handle

func on(b *box.Box) Tensor { return Tensor{box.On(b)} }

func wrap(n *ir.Node) Tensor { return on(box.New(n)) }

// node returns what the tensor holds. The error that it panics with names op, the operation that asks.
func (t Tensor) node(op string) *ir.Node {
	n, err := box.Of(t).Node(op)
	check(op, err)
	return n
}

// share returns a leaf that holds n's value, too, with the name of old, a parameter or frozen if old is.
func share(op string, n, old *ir.Node) *ir.Node {
	leaf, err := box.Share(op, n, old)
	check(op, err)
	return leaf
}

// An Error is a caller's mistake: an operation was given what it cannot take. Its text is "op: got X, want
// Y".
type Error struct {
	Op  string // "matmul"
	Msg string // "got f32[2 3] and f32[4 5], want inner dimensions equal (3 and 5)"
	cause
}

type cause = box.Cause

func (e *Error) Error() string { return e.Op + ": " + e.Msg }

// Unwrap returns the error below, for a failed evaluation.
func (e *Error) Unwrap() error { return box.CauseOf(e.cause) }

// TensorOp names the operation; a session uses it to find the call in the cell.
func (e *Error) TensorOp() string { return e.Op }

// fail panics with an *Error.
func fail(op, format string, args ...any) {
	panic(&Error{Op: op, Msg: fmt.Sprintf(format, args...)})
}

// check panics with err as an *Error.
func check(op string, err error) {
	if err == nil {
		return
	}
	e := &Error{Op: op, Msg: err.Error()}
	var wrong *ir.Error
	if errors.As(err, &wrong) {
		e.Op, e.Msg = wrong.Op, wrong.Msg
	}
	box.Because(e, err)
	panic(e)
}

// Try runs f and returns the *Error that it panicked with, or nil. Other panics go on.
func Try(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	f()
	return nil
}

// apply makes a node and panics if the op does not take these operands.
func apply(op ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
	if attr.DType.Complex() || slices.ContainsFunc(src, func(n *ir.Node) bool { return n.DType.Complex() }) {
		return ofParts(op, attr, src)
	}
	n, err := ir.New(op, attr, src...)
	check(op.String(), err)
	return n
}

// pick selects a value of a tuple.
func pick(tuple *ir.Node, index int) Tensor {
	return wrap(apply(ir.Pick, ir.Attr{Index: index}, tuple))
}

// IsNone says whether t is the zero Tensor, which holds nothing.
func (t Tensor) IsNone() bool { return box.Of(t) == nil }

// Shape returns the lengths of the axes; empty for a single number.
func (t Tensor) Shape() []int { return slices.Clone(t.node("shape").Shape) }

// DType is the type of the elements.
func (t Tensor) DType() dtype.Type { return t.node("dtype").DType }

// Device is where the tensor lives.
func (t Tensor) Device() device.Device {
	return backend.Public(t.node("device").Dev.(*backend.Device)).(device.Device)
}

// Rank is the number of axes.
func (t Tensor) Rank() int { return len(t.node("rank").Shape) }

// Size is the number of elements.
func (t Tensor) Size() int { return ir.Size(t.node("size").Shape) }

// Len is the length of an axis; a negative axis counts from the end.
func (t Tensor) Len(axis int) int {
	n := t.node("len")
	return n.Shape[axisOf("len", n, axis)]
}

// Name is what Named gave the tensor, or "".
func (t Tensor) Name() string { return t.node("name").Name }

// Named gives the tensor a name that errors and tables use, and returns it. What was computed from it before
// stays connected to it. Names are for people, and many come from files: control characters are escaped in
// it, and a long one is cut.
func (t Tensor) Named(name string) Tensor {
	const limit = 300
	if name = visible.Line(name); len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "…"
	}
	for _, x := range reals(t) {
		x.node("named").Name = name
	}
	return t
}

// Eval computes tensors together, so that they share what they have in common. In a function that is being
// compiled ([Compile]) it does nothing.
func Eval(ts ...Tensor) {
	if tracing() != nil {
		return
	}
	ts = reals(ts...)
	if len(ts) == 1 {
		if n := ts[0].node("eval"); n.Value() == nil {
			check("eval", plan.Run(scope.Context(), []*ir.Node{n}))
		}
		return
	}
	var nodes []*ir.Node
	for _, t := range ts {
		if n := t.node("eval"); n.Value() == nil {
			nodes = append(nodes, n)
		}
	}
	for _, list := range ir.ByDevice(nodes) {
		check("eval", plan.Run(scope.Context(), list))
	}
}

// Eval computes the tensor now, and returns it.
func (t Tensor) Eval() Tensor {
	Eval(t)
	return t
}

// Evaluated says whether the tensor was computed already.
func (t Tensor) Evaluated() bool {
	return !slices.ContainsFunc(reals(t), func(x Tensor) bool { return x.node("evaluated").Value() == nil })
}

// Plan describes what evaluating the tensor would launch: for each launch its kernel, what it reads, the
// instructions that are fused into it, and what it writes. Nothing is computed. It is empty for a tensor that
// has its values.
func (t Tensor) Plan() string {
	var nodes []*ir.Node
	for _, x := range reals(t) {
		nodes = append(nodes, x.node("plan"))
	}
	text, err := plan.Describe(scope.Context(), nodes)
	check("plan", err)
	return text
}

// Set gives all handles on t the value of y; y is evaluated and its history is not kept. Shape,
// dtype and device must agree. A parameter stays one. A view that was not evaluated by itself (x.At(0),
// x.Transpose()) is refused, because x would stay as it is: Overwrite and Put replace elements.
func (t Tensor) Set(y Tensor) {
	old, n := t.node("set"), y.node("set")
	if of := viewed(old); of != nil {
		fail("set", "got a view of %v, which would stay as it is, want that itself: x.Set(x.Overwrite(0, index, rows)) or "+
			"x.Set(x.Put(0, index, rows, tensor.Replace)) changes elements (Detach makes a tensor of its own)", of)
	}
	if old.DType != n.DType || !slices.Equal(old.Shape, n.Shape) || old.Dev != n.Dev {
		fail("set", "got %v on %v for %v on %v, want one type, shape and device", n, n.Dev, old, old.Dev)
	}
	if parts := t.parts(); parts != nil {
		Eval(y)
		parts[0].Set(y.Real())
		parts[1].Set(y.Imag())
		return
	}
	if backend.InParts(old.Value()) {
		fail("set", "got %v, which several processes hold together, and none can change", old)
	}
	if tr := tracing(); tr != nil {
		tr.set(box.Of(t), old, n)
		return
	}
	Eval(y)
	box.Of(t).Replace(old, share("set", n, old))
}

// viewed returns what a node that has no value of its own is a view of, or nil. A number that fills a shape
// is no view.
func viewed(n *ir.Node) *ir.Node {
	if n.Op.Family() != ir.FamilyView || n.Op == ir.Detach || n.Op == ir.Checkpoint {
		return nil
	}
	if n.Value() == nil && len(n.Src) > 0 && (n.Op != ir.Expand || n.Src[0].Op != ir.Const) {
		return n.Src[0]
	}
	return nil
}

// Param makes the tensor a parameter and returns it: it is evaluated, and everything computed from it keeps
// its history, so that [Grad] works even after the result was printed. Its dtype has to be one of floats.
func (t Tensor) Param() Tensor {
	if n := t.node("param"); !n.DType.Float() && !n.DType.Complex() {
		fail("param", "got %v, want floats, which can have a gradient: Cast(dtype.F32) makes some", n)
	}
	return t.mark("param", true, "")
}

// Freeze takes the tensor out of training, and returns it: it is evaluated and no parameter any more, [Grad]
// refuses it, and optimizers leave it as it is. Param lets it be trained again.
func (t Tensor) Freeze() Tensor { return t.mark("freeze", false, box.Frozen) }

// Frozen says why the tensor is left out of training, "frozen" after Freeze. It is empty if it is not.
func (t Tensor) Frozen() string { return t.node("frozen").Frozen }

// mark gives all handles on t a value that is a parameter, or is frozen for a reason.
func (t Tensor) mark(op string, tracked bool, frozen string) Tensor {
	if parts := t.parts(); parts != nil {
		Eval(t)
		for _, x := range parts {
			x.mark(op, tracked, frozen)
		}
		return t
	}
	if n := t.node(op); n.Op == ir.Leaf && n.Tracked == tracked && n.Frozen == frozen {
		return t
	}
	outsideOnly(op)
	n := t.Eval().node(op)
	leaf := share(op, n, n)
	leaf.Tracked, leaf.Frozen = tracked, frozen
	box.Of(t).Replace(n, leaf)
	return t
}

// Snapshot returns another handle on today's value: it stays when t is Set to something else.
func (t Tensor) Snapshot() Tensor { return wrap(t.node("snapshot")) }

// Restore gives t, for all code that holds it, the value that it had when was was made by Snapshot, with its
// history. It says whether t had another value before.
func (t Tensor) Restore(was Tensor) (changed bool) {
	outsideOnly("restore")
	if parts, before := t.parts(), was.parts(); parts != nil && before != nil {
		re, im := parts[0].Restore(before[0]), parts[1].Restore(before[1])
		return re || im
	}
	old, n := t.node("restore"), was.node("restore")
	if old != n {
		box.Of(t).Replace(old, n)
	}
	return old != n
}

// IsParam says whether the tensor is a parameter.
func (t Tensor) IsParam() bool {
	n := reals(t)[0].node("param")
	return n.Op == ir.Leaf && n.Tracked
}

// Detach returns a tensor with t's value through which no gradient flows.
func (t Tensor) Detach() Tensor { return unary(ir.Detach, t) }

// To returns the tensor on another device; t itself if it is there. Like everything it is computed when it is
// needed: t on its device, and then the copy. Gradients flow back to t's device. What is made of numbers
// alone (Zeros, Range, a cast or a view of them) is not copied but made over there.
func (t Tensor) To(d device.Device) Tensor {
	if p := t.parts(); p != nil {
		return pairOf(p[0].To(d), p[1].To(d))
	}
	n, to := t.node("to"), backend.Inside(d)
	switch {
	case to == nil:
		fail("to", "got no device (a zero Device)")
	case n.Dev == ir.Device(to):
		return t
	}
	if made := madeOn(to, n); made != nil {
		return wrap(made)
	}
	if tracing() == nil && isViewOfStored(n) {
		Eval(t) // to know how it lies in memory; it costs no launch
	}
	axes, permuted := inMemory(n)
	if permuted {
		n = apply(ir.Permute, ir.Attr{Axes: axes}, n)
	}
	m := apply(ir.To, ir.Attr{Dev: to}, n)
	if permuted {
		m = apply(ir.Permute, ir.Attr{Axes: ir.Inverse(axes)}, m)
	}
	m.Name = t.Name()
	return wrap(m)
}

// isViewOfStored says whether n is a view of a value that is there.
func isViewOfStored(n *ir.Node) bool {
	for of := viewed(n); of != nil; of = viewed(of) {
		if of.Value() != nil {
			return true
		}
	}
	return false
}

// inMemory returns the order in which n's axes lie in memory, if that is another one than theirs and nothing
// lies between the elements: then a copy can leave them as they are.
func inMemory(n *ir.Node) (axes []int, permuted bool) {
	d := n.Value()
	if d == nil || d.Layout.IsContiguous() {
		return nil, false
	}
	return d.Layout.InMemory()
}

// madeOn makes n on another device if it is a number, an index, or a cast or view of one, which every device
// computes alike; else it returns nil.
func madeOn(to *backend.Device, n *ir.Node) *ir.Node {
	src := n.Src
	switch {
	case n.Value() != nil:
		return nil
	case n.Op == ir.Const:
		c := ir.NewConst(to, n.DType, n.Attr.Value)
		c.Flag(n.Attr.Flags)
		if tr := tracing(); tr != nil && tr.numbers[n] != nil {
			tr.numbers[c] = tr.numbers[n]
		}
		return c
	case n.Op == ir.Iota:
		i, err := ir.NewIota(to, n.DType, n.Shape, n.Attr.Axis)
		check("to", err)
		return i
	case len(src) != 1 || n.Op != ir.Cast && n.Op.Family() != ir.FamilyView:
		return nil
	}
	made := madeOn(to, src[0])
	if made == nil {
		return nil
	}
	return apply(n.Op, *n.Attr, made)
}
