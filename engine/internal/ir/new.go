package ir

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// New applies op to src: it looks up the row, infers dtype and shape, and checks everything that can be
// checked without looking at elements. The error is an *Error. Ops without sources are made by NewLeaf,
// NewConst and NewIota.
func New(op Op, attr Attr, src ...*Node) (*Node, error) {
	n, err := uncounted(op, &attr, src)
	if err != nil {
		return nil, err
	}
	n.count()
	n.note()
	return n, nil
}

// uncounted is New for nodes that may turn out to be of no use: they are not yet counted as readers of their
// sources.
func uncounted(op Op, attr *Attr, src []*Node) (*Node, error) {
	if len(src) == 0 {
		return nil, &Error{op.String(), "got no operands, want at least one"}
	}
	n := newNode(op, attr)
	n.Src, n.Dev = src, src[0].Dev
	for _, s := range src {
		if s.Dev != n.Dev {
			if s.Dev.String() == n.Dev.String() {
				return nil, wrong(n, "got a tensor of %v and one of a %v that was closed or lost meanwhile", n.Dev, n.Dev)
			}
			return nil, wrong(n, "got tensors on %v and %v, want one device (To copies)", n.Dev, s.Dev)
		}
		if s.Outs != nil && op != Pick {
			return nil, wrong(n, "got a tuple %v, want a single value", s)
		}
		if s.DType.Complex() {
			return nil, &Error{op.String(), NotReal(s)}
		}
	}
	row := RowOf(op)
	if row.Sources > 0 && len(src) != row.Sources {
		return nil, wrong(n, "got %d operands, want %d", len(src), row.Sources)
	}
	if err := row.Infer(n); err != nil {
		return nil, err
	}
	if unsafe.SliceData(n.Shape) != unsafe.SliceData(src[0].Shape) { // which has been looked at
		if err := checkShape(n.Shape); err != nil {
			return nil, &Error{op.String(), err.Error()}
		}
	}
	if err := lacks(n); err != nil {
		return nil, &Error{op.String(), err.Error()}
	}
	n.Tracked = tracked(n)
	return n, nil
}

// count makes n a reader of its sources.
func (n *Node) count() {
	n.counted = true
	for _, s := range n.Src {
		s.readers.Add(1)
	}
}

// countFrom counts n and the nodes that it is computed from. Gradient rules write down more nodes than are
// wanted; only those that a gradient came to consist of count as readers.
func countFrom(n *Node) {
	list := []*Node{n}
	for len(list) > 0 {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		if !n.counted {
			n.count()
			list = append(list, n.Src...)
		}
	}
}

// tracked says whether a gradient could be asked through n: nothing flows through integers.
func tracked(n *Node) bool {
	return n.Op != Detach && (n.Outs != nil || n.DType.Float()) && slices.ContainsFunc(n.Src, func(s *Node) bool { return s.Tracked })
}

// Pair returns what stands for complex numbers where an operation is made: Src are their real and their
// imaginary part, nodes of one shape and dtype. It has no op and is in no graph: package tensor makes the
// operation of the parts, and [New] refuses a Pair.
func Pair(re, im *Node) *Node {
	return &Node{
		Attr: none, DType: dtype.ComplexOf(re.DType), Shape: re.Shape, Dev: re.Dev, Src: []*Node{re, im},
		Name: re.Name, Frozen: re.Frozen, Tracked: re.Tracked || im.Tracked,
	}
}

// NotReal is how an operation refuses complex numbers.
func NotReal(n *Node) string {
	return fmt.Sprintf("got %v, want real numbers: Real, Imag, Abs and Angle give some", n)
}

// NewConst returns a node of shape [] with that value.
func NewConst(dev Device, dt dtype.Type, v Scalar) *Node {
	n := newNode(Const, &Attr{Value: v})
	n.DType, n.Shape, n.Dev, n.counted = dt, []int{}, dev, true
	return n
}

// Number returns a Const of any dtype from a float64.
func Number(dev Device, dt dtype.Type, v float64) *Node {
	s := Scalar{F: v}
	if dt.Int() {
		s = Scalar{I: Saturate(dt, v)}
	}
	return NewConst(dev, dt, s)
}

// NewLeaf returns a node for data that is there already.
func NewLeaf(dev Device, dt dtype.Type, data *Data, name string) *Node {
	n := &Node{Op: Leaf, Attr: none, DType: dt, Shape: data.Layout.Shape, Dev: dev, Name: name, counted: true}
	n.data.First(data)
	n.note()
	return n
}

// NewIota returns a node that holds at each place its index along axis.
func NewIota(dev Device, dt dtype.Type, shape []int, axis int) (*Node, error) {
	n := newNode(Iota, &Attr{DType: dt, Shape: slices.Clone(shape), Axis: axis})
	n.Dev, n.counted = dev, true
	if err := RowOf(Iota).Infer(n); err != nil {
		return nil, err
	}
	if err := lacks(n); err != nil {
		return nil, &Error{"iota", err.Error()}
	}
	n.note()
	return n, nil
}

// fixed is a number that belongs to a formula.
func fixed(dev Device, dt dtype.Type, v float64) *Node {
	n := Number(dev, dt, v)
	n.Flag(Fixed)
	return n
}

// build makes a node for rules that cannot fail: gradients and lowering. See countFrom.
func build(op Op, attr Attr, src ...*Node) *Node {
	n, err := uncounted(op, &attr, src)
	if err != nil {
		panic(fmt.Sprintf("ir: rule built a wrong node: %v", err))
	}
	return n
}
