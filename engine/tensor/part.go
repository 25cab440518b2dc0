package tensor

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A Part says what [Tensor.Index] and [Tensor.SetIndex] take of one axis, in the order of the axes. [All],
// [Span] and [At] choose by numbers, [Pick] by a tensor; [Rest] stands for as many All as there are axes
// left, and [NewAxis] takes no axis and makes one. The zero Part is All.
type Part struct {
	kind              partKind
	start, stop, step int
	index             Tensor
}

type partKind int

const (
	partAll partKind = iota
	partSpan
	partAt
	partPick
	partRest
	partNew
)

// The parts that need no numbers.
var (
	All     = Part{}               // the whole axis: ":"
	Rest    = Part{kind: partRest} // All for the axes that the other parts leave: "..."
	NewAxis = Part{kind: partNew}  // an axis of length 1 that the tensor does not have: "None"
)

// Open is a bound that is left out: the end of the axis on its side.
const Open = math.MinInt

// Span takes the elements start…stop−1, as Python's start:stop does: a bound below 0 counts from the end, and
// bounds are clipped to the axis.
func Span(start, stop int) Part { return SpanStep(start, stop, 1) }

// SpanStep takes each step-th element from start on and before stop. A negative step goes backwards:
// SpanStep(Open, Open, -1) reverses the axis.
func SpanStep(start, stop, step int) Part {
	return Part{kind: partSpan, start: start, stop: stop, step: step}
}

// At takes one element and drops the axis; an index below 0 counts from the end.
func At(index int) Part { return Part{kind: partAt, start: index} }

// Pick takes what a tensor names. Integers of any shape are indices on the axis, which their axes replace; an
// index below 0 counts from the end. Booleans are a mask for as many axes as they have: they become one axis,
// with the elements where the mask is true, in C order. A mask is evaluated, as their number depends on it.
func Pick(index Tensor) Part { return Part{kind: partPick, index: index} }

// Index takes parts of several axes at once, as NumPy's x[…] does. Axes without a Part stay whole. Several
// Picks go together, element by element, and broadcast: x.Index(Pick(i), Pick(j)) has the elements at (i, j),
// with the axes of i and j once, where the first of them stood, or in front if another part stands between
// them (an At beside a Pick counts as one). [Tensor.I] takes the parts as text. An index of a Pick that is
// out of range is an error when the result is evaluated. Gradients flow.
func (t Tensor) Index(parts ...Part) Tensor {
	return regionOf("index", t.node("index"), parts).of(t)
}

// SetIndex returns t with the elements that the parts name replaced by y, which broadcasts to their shape and
// is converted to t's dtype, which must have room for a number. T does not change: write x = x.SetIndex(y,
// …), or x.Set(x.SetIndex(y, …)) for a parameter that others hold. Of several elements for one place the last
// stays. Gradients flow to t, where it stays, and to y.
func (t Tensor) SetIndex(y Operand, parts ...Part) Tensor {
	return t.setIndex("set_index", y, parts)
}

func (t Tensor) setIndex(op string, y Operand, parts []Part) Tensor {
	n := t.node(op)
	r := regionOf(op, n, parts)
	var from *ir.Node
	if _, _, ok := number(y); ok && !n.DType.Complex() {
		from = ir.NewConst(n.Dev, n.DType, convert(op, y, n.DType, n))
	} else {
		from = operand(op, n, y)
	}
	u := cast(from, n.DType)
	if mask, ok := r.onlyMask(); ok && len(u.Shape) == 0 {
		whole := mask.Reshape(append(mask.Shape(), slices.Repeat([]int{1}, len(n.Shape)-mask.Rank())...)...)
		return Where(whole, wrap(u), t)
	}
	if len(r.picks) == 0 && r.dense() {
		return r.write(t, r.boxed(r.fit(u, from, r.shape())), 0)
	}
	places := r.of(rangeOn(n, ir.Size(n.Shape)).Reshape(n.Shape...))
	updates := r.fit(u, from, places.Shape())
	return t.Flatten().Put(0, places.Flatten(), updates.Flatten(), Replace).Reshape(n.Shape...)
}

// A region is what parts take of a tensor's axes.
type region struct {
	op    string
	n     *ir.Node
	parts []Part   // one or more for each axis of n, but NewAxis, in order
	spans []extent // what is taken of each axis of n before the Picks
	picks []picked
	front bool // the axes of the picks come first
}

// An extent is count elements of an axis.
type extent struct{ start, count, step int }

// A picked is an index on an axis of the tensor.
type picked struct {
	axis  int
	index Tensor // i64
	sure  bool   // no element is out of range or below 0
	more  bool   // the next pick is of the same mask
}

// regionOf resolves parts for a node.
func regionOf(op string, n *ir.Node, parts []Part) *region {
	r := &region{op: op, n: n, parts: whole(op, n, parts)}
	separated, last := false, -1 // of the Picks and Ats
	for i, p := range r.parts {
		axis := len(r.spans)
		switch p.kind {
		case partNew, partRest:
			continue
		case partAll:
			r.spans = append(r.spans, extent{0, n.Shape[axis], 1})
			continue
		case partSpan:
			r.spans = append(r.spans, spanOf(op, n, axis, p))
			continue
		case partAt:
			_, at := placeOf(op, n, axis, p.start)
			r.spans = append(r.spans, extent{at, 1, 1})
		case partPick:
			r.pick(p.index)
		}
		separated = separated || last >= 0 && last < i-1
		last = i
	}
	r.front = separated && len(r.picks) > 0
	return r
}

// whole replaces Rest, and adds the parts that are left out, so that each axis has one. A Rest stays behind
// its Alls, because it separates Picks even where no axis is left for it.
func whole(op string, n *ir.Node, parts []Part) []Part {
	rest, axes := -1, 0
	for i, p := range parts {
		switch p.kind {
		case partRest:
			if rest >= 0 {
				fail(op, "got two Rest (...) for %v, want one at most", n)
			}
			rest = i
		case partNew:
		case partPick:
			axes += axesOfPick(op, n, axes, p.index)
		default:
			axes++
		}
	}
	missing := len(n.Shape) - axes
	if missing < 0 {
		fail(op, "got parts of %d axes for %v, want %d at most", axes, n, len(n.Shape))
	}
	list := slices.Clone(parts)
	if rest < 0 {
		return append(list, make([]Part, missing)...)
	}
	return slices.Insert(list, rest, make([]Part, missing)...)
}

// axesOfPick is the number of axes that a Pick takes.
func axesOfPick(op string, n *ir.Node, axis int, index Tensor) int {
	ix := index.node(op)
	switch {
	case ix.DType.Int():
		return 1
	case ix.DType != dtype.Bool:
		fail(op, "got index %v for %v, want integers or a mask of booleans", ix, n)
	case len(ix.Shape) == 0:
		fail(op, "got a mask without axes for %v, want one axis at least", n)
	}
	return len(ix.Shape)
}

// pick adds an index tensor, or a mask.
func (r *region) pick(index Tensor) {
	axis, n := len(r.spans), r.n
	ix := index.node(r.op)
	if ix.DType != dtype.Bool {
		r.spans = append(r.spans, extent{0, n.Shape[axis], 1})
		r.picks = append(r.picks, picked{axis: axis, index: wrap(cast(ix, dtype.I64))})
		return
	}
	if want := n.Shape[axis : axis+len(ix.Shape)]; !slices.Equal(ix.Shape, want) {
		fail(r.op, "got mask %v from axis %d of %v on, want bool%v", ix, axis, n, want)
	}
	for i, d := range ix.Shape {
		r.spans = append(r.spans, extent{0, d, 1})
		r.picks = append(r.picks, picked{axis: axis + i, index: index, sure: true, more: i < len(ix.Shape)-1})
	}
}

// onlyMask returns the mask if it is all that is asked for, from the first axis on.
func (r *region) onlyMask() (mask Tensor, ok bool) {
	if len(r.parts) == 0 || r.parts[0].kind != partPick || r.parts[0].index.DType() != dtype.Bool {
		return mask, false
	}
	for _, p := range r.parts[1:] {
		if p.kind != partAll && p.kind != partRest {
			return mask, false
		}
	}
	return r.parts[0].index, true
}

// spanOf resolves the bounds of a span.
func spanOf(op string, n *ir.Node, axis int, p Part) extent {
	d := n.Shape[axis]
	low, high, first, last := 0, d, 0, d
	switch {
	case p.step == 0:
		fail(op, "got step 0 on axis %d of %v, want any other", axis, n)
	case p.step < 0:
		low, high, first, last = -1, d-1, d-1, -1
	}
	start, stop := first, last
	if p.start != Open {
		start = bound(p.start, d, low, high)
	}
	if p.stop != Open {
		stop = bound(p.stop, d, low, high)
	}
	if p.step > 0 {
		step := min(p.step, d+1) // so that nothing overflows
		return extent{start, max(0, (stop-start+step-1)/step), step}
	}
	step := min(max(p.step, -d-1), -1)
	return extent{start, max(0, (start-stop-step-1)/-step), step}
}

// of takes the region of a tensor of the node's shape.
func (r *region) of(t Tensor) Tensor {
	y := r.cut(t).Reshape(r.shape()...)
	if len(r.picks) == 0 {
		return y
	}
	axes := r.pickAxes()
	at := axes[0]
	if r.front {
		order := slices.Clone(axes)
		for a := range y.Rank() {
			if !slices.Contains(axes, a) {
				order = append(order, a)
			}
		}
		y, at = y.Permute(order...), 0
	}
	if len(r.picks) == 1 {
		p := r.picks[0]
		return y.Take(r.checked(p, at != p.axis), at)
	}
	shape := y.Shape()
	joined := slices.Concat(shape[:at], []int{ir.Size(shape[at : at+len(axes)])}, shape[at+len(axes):])
	return y.Reshape(joined...).Take(r.joined(), at)
}

// cut takes the spans, with all axes.
func (r *region) cut(t Tensor) Tensor {
	var flips []int
	bounds := make([]int, 0, 3*len(r.spans))
	part := false
	for a, s := range r.spans {
		start := s.start
		if s.step < 0 {
			flips = append(flips, a)
			start = r.n.Shape[a] - 1 - s.start
		}
		step := max(s.step, -s.step)
		if s.count == 0 {
			start = 0
		}
		stop := start
		if s.count > 0 {
			stop = start + (s.count-1)*step + 1
		}
		bounds = append(bounds, start, stop, step)
		part = part || s.count != r.n.Shape[a]
	}
	if len(flips) > 0 {
		t = t.Flip(flips...)
	}
	if !part {
		return t
	}
	return wrap(apply(ir.Slice, ir.Attr{Ints: bounds}, t.node(r.op)))
}

// shape is that of the region before the Picks: without the axes of At, with those of NewAxis.
func (r *region) shape() []int {
	shape := make([]int, 0, len(r.parts))
	r.each(func(p Part, axis int) {
		switch p.kind {
		case partNew:
			shape = append(shape, 1)
		case partAt:
		default:
			shape = append(shape, r.spans[axis].count)
		}
	})
	return shape
}

// pickAxes are the places of the Picks in that shape.
func (r *region) pickAxes() (axes []int) {
	place := 0
	r.each(func(p Part, _ int) {
		switch p.kind {
		case partPick:
			axes = append(axes, place)
			place++
		case partAt:
		default:
			place++
		}
	})
	return axes
}

// each calls f for each part and its axis, several times for a mask of several axes, and not for Rest.
func (r *region) each(f func(p Part, axis int)) {
	axis := 0
	for _, p := range r.parts {
		n := 1
		switch {
		case p.kind == partRest:
			n = 0
		case p.kind == partNew:
			f(p, axis)
			n = 0
		case p.kind == partPick && p.index.DType() == dtype.Bool:
			n = p.index.Rank()
		}
		for range n {
			f(p, axis)
			axis++
		}
	}
}

// checked is the index of a Pick. With plain set it is taken from the numbers of the axis, which makes
// indices below 0 plain, and names the tensor's axis in the error for one that is out of range.
func (r *region) checked(p picked, plain bool) Tensor {
	if p.sure {
		return p.index.nonZero()
	}
	if !plain {
		return p.index
	}
	numbers := rangeOn(r.n, r.n.Shape[p.axis]).Reshape(append(slices.Repeat([]int{1}, p.axis), -1)...)
	return numbers.Take(p.index, p.axis).Reshape(p.index.Shape()...)
}

// joined is the index of all Picks in their axes joined to one.
func (r *region) joined() Tensor {
	var list []Tensor
	var lengths []int // of their axes; a mask has several
	for i := 0; i < len(r.picks); i++ {
		list, lengths = append(list, r.checked(r.picks[i], true)), append(lengths, r.n.Shape[r.picks[i].axis])
		for r.picks[i].more {
			i++
			lengths[len(lengths)-1] *= r.n.Shape[r.picks[i].axis]
		}
	}
	nodes := make([]*ir.Node, len(list))
	for i, x := range list {
		nodes[i] = x.node(r.op)
	}
	broadcast(r.op, nodes...)
	joined := list[0]
	for i, x := range list[1:] {
		joined = joined.Mul(lengths[i+1]).Add(x)
	}
	return joined
}

// fit brings updates, which were made from another node, to a shape: they broadcast, and lengths of 1 in
// front of it are dropped.
func (r *region) fit(u, from *ir.Node, shape []int) Tensor {
	have := u.Shape
	for len(have) > len(shape) && have[0] == 1 {
		have = have[1:]
	}
	ok := len(have) <= len(shape)
	for i := range have {
		d := have[len(have)-1-i]
		ok = ok && (d == 1 || d == shape[len(shape)-1-i])
	}
	if !ok {
		fail(r.op, "got %v for a part of shape %v of %v, want a shape that broadcasts to it", from, shape, r.n)
	}
	return wrap(expand(reshape(u, have), shape))
}

// dense says whether the spans leave out no elements between those that they take.
func (r *region) dense() bool {
	return !slices.ContainsFunc(r.spans, func(s extent) bool { return s.count > 1 && s.step != 1 && s.step != -1 })
}

// boxed gives updates of a region without Picks the axes of the tensor, in their direction.
func (r *region) boxed(y Tensor) Tensor {
	shape := make([]int, len(r.spans))
	var flips []int
	for a, s := range r.spans {
		if shape[a] = s.count; s.step < 0 {
			flips = append(flips, a)
		}
	}
	if y = y.Reshape(shape...); len(flips) > 0 {
		y = y.Flip(flips...)
	}
	return y
}

// write puts a box of updates into t, from an axis on.
func (r *region) write(t, box Tensor, axis int) Tensor {
	if axis == len(r.spans) {
		return box
	}
	s, d := r.spans[axis], r.n.Shape[axis]
	first := s.start
	if s.step < 0 && s.count > 0 {
		first = s.start + (s.count-1)*s.step
	}
	last := first + s.count
	if s.count == d {
		return r.write(t, box, axis+1)
	}
	return Concat([]Tensor{t.Slice(axis, 0, first), r.write(t.Slice(axis, first, last), box, axis+1), t.Slice(axis, last, d)}, axis)
}
