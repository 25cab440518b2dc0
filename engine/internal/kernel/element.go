package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An elementText writes an op of which each thread computes one element by itself: the elements of a shape,
// and named places that are walked through with it.
type elementText struct {
	*walker
	kind   string
	named  []string // the names of the space's places
	limits Limits
	fours  bool // a thread has four elements that follow one another
}

// newElements draws the space of a shape and of layouts over it, by name. Inputs and outputs are declared by
// the op.
func newElements(g *backend.Group, limits Limits, kind string, shape []int, layouts ...named) *elementText {
	e := &elementText{kind: kind, limits: limits}
	var lays []ir.Layout
	for _, l := range layouts {
		e.named, lays = append(e.named, l.name), append(lays, l.layout)
	}
	s := spaceOf(shape, lays, 0, func(int, int) bool { return true })
	for _, l := range layouts {
		s.wide = s.wide || l.reach > most32
	}
	e.walker = newWalker(newText(g, s.wide), s)
	return e
}

// A named layout is walked through over the shape; reach is how many elements more its buffer has, along an
// axis that an index chooses.
type named struct {
	name   string
	layout ir.Layout
	reach  int
}

// place is how the layout with that name is walked through.
func (e *elementText) place(name string) *place { return &e.space.places[slices.Index(e.named, name)] }

// here is the index expression of a named layout.
func (e *elementText) here(name string) string { return e.at(name, e.place(name)) }

// reads declares an input under a name that has a layout; a number of the command is read as it is.
func (e *elementText) reads(name string, v backend.Ref) {
	in := inputOf(e.g, v)
	if isNumber(*in) {
		e.number(name, in.DType, in.Scalar)
		return
	}
	e.pointer("const ", name, in.DType, in.Buf, e.place(name).offset)
}

// element is the register expression of a named input here.
func (e *elementText) element(name string, v backend.Ref) string {
	in := inputOf(e.g, v)
	if isNumber(*in) {
		return fmt.Sprintf("convert<%s>::from(a.%s)", register(in.DType), name)
	}
	return fmt.Sprintf("%s(loaded(a.%s[%s]))", register(in.DType), name, e.here(name))
}

// writes declares the output y.
func (e *elementText) writes(o backend.Output) {
	e.pointer("", "y", o.DType, o.Buf, e.place("y").offset)
}

// store stores a register as the element of y here.
func (e *elementText) store(dt dtype.Type, value string) {
	e.line("a.y[%s] = %s(%s);", e.here("y"), memoryTypes[dt], value)
}

// dispatch finishes the text: body writes down what a thread does at its place.
func (e *elementText) dispatch(body func()) []Dispatch {
	if e.space.size() == 0 {
		return nil
	}
	e.declareSpace()
	opened := e.loops(e.fours)
	body()
	e.close(opened)
	width := e.space.lens[0]
	if e.fours {
		width /= 4
	}
	c := walking(e.text, e.kind, width, e.space.lens[1:], e.limits)
	d := c.alone(e.g)
	d.piece = c
	return []Dispatch{d}
}

// inGrid are the parameters of a text whose threads go through the elements by themselves.
const inGrid = ", uint3 at [[thread_position_in_grid]], uint3 all [[threads_per_grid]]"

// inGroup are those of a text whose threads know their place in a threadgroup, and its size.
const inGroup = ", uint3 group [[threadgroup_position_in_grid]], uint3 at [[thread_position_in_threadgroup]], uint3 size [[threads_per_threadgroup]]"

// declareSpace declares the lengths of the axes, and the strides of the named layouts.
func (e *elementText) declareSpace() {
	e.declareLengths()
	for i, name := range e.named {
		e.declareStrides(name, &e.space.places[i])
	}
}

// allCoordinates takes a flat place apart into those along the axes.
func (e *elementText) allCoordinates(flat string) {
	e.coordinates(flat, "left", e.space.axesFrom(0))
}

// contiguous is the named layout of an output.
func contiguous(name string, shape []int) named {
	return named{name: name, layout: ir.Contiguous(shape)}
}

// inputLayout is the layout of an argument that is an input; a number of the command has none.
func inputLayout(g *backend.Group, v backend.Ref) ir.Layout {
	if in := inputOf(g, v); !isNumber(*in) {
		return in.Layout
	}
	return ir.Layout{}
}
