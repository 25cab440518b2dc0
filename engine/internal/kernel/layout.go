package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A space is what the threads of a dispatch walk over: its axes, the innermost first, as few as the inputs
// and outputs allow.
type space struct {
	lens   []int
	axes   []int   // of the shape: of each of lens, one that it is made of
	places []place // of the inputs, then of the outputs
	wide   bool    // indices need 64 bits
}

// A place is how a buffer is walked through: a stride in elements for each axis of the space.
type place struct {
	strides []int
	offset  int // elements
}

// layoutsOf are those of a group's inputs, and then of its outputs.
func layoutsOf(g *backend.Group) []ir.Layout {
	list := make([]ir.Layout, 0, len(g.Inputs)+len(g.Outputs))
	for _, in := range g.Inputs {
		list = append(list, in.Layout)
	}
	for i := range g.Outputs {
		list = append(list, g.Outputs[i].Layout())
	}
	return list
}

// spaceOf joins the axes of a shape along which all layouts go on in the same way. Axes of which join says
// that they differ are not joined: a reduction's own and those that stay. Axes of length 1 are left out,
// but for the last of keep.
func spaceOf(shape []int, layouts []ir.Layout, keep int, join func(a, b int) bool) *space {
	s := &space{places: make([]place, len(layouts))}
	for i, l := range layouts {
		s.places[i].offset = l.Offset
	}
	last := -1 // the axis of shape that was taken last
	for axis := len(shape) - 1; axis >= 0; axis-- {
		n := shape[axis]
		if n == 1 && axis < len(shape)-keep {
			continue
		}
		if last >= 0 && join(axis, last) && s.continues(layouts, axis) {
			s.lens[len(s.lens)-1] *= n
			last = axis
			continue
		}
		s.lens, s.axes = append(s.lens, n), append(s.axes, axis)
		for i, l := range layouts {
			s.places[i].strides = append(s.places[i].strides, strideOf(l, axis))
		}
		last = axis
	}
	if len(s.lens) == 0 {
		s.lens = []int{1}
		for i := range s.places {
			s.places[i].strides = []int{0}
		}
	}
	for i := range s.places {
		s.wide = s.wide || s.reach(&s.places[i]) > most32
	}
	return s
}

// continues says whether axis goes on where the outermost axis of s ends, in all layouts.
func (s *space) continues(layouts []ir.Layout, axis int) bool {
	top := len(s.lens) - 1
	for i, l := range layouts {
		if strideOf(l, axis) != s.places[i].strides[top]*s.lens[top] {
			return false
		}
	}
	return true
}

// reach is the distance, in elements, between the two ends of the memory that a walk reads, and at least the
// number of its steps.
func (s *space) reach(p *place) int {
	span, steps := 1, 1
	for i, n := range s.lens {
		span += (n - 1) * max(p.strides[i], -p.strides[i])
		steps *= n
	}
	return max(span, steps)
}

// strideOf is the stride of a layout along an axis of the instructions' shape: 0 for a layout of shape [] and
// along axes of length 1.
func strideOf(l ir.Layout, axis int) int {
	if len(l.Shape) == 0 || l.Shape[axis] == 1 {
		return 0
	}
	return l.Stride[axis]
}

// size is the number of elements of the space.
func (s *space) size() int { return ir.Size(s.lens) }

// vectors says whether each thread can take so many elements at once: all walk through them one after the
// other, from aligned places, or stay where they are.
func (s *space) vectors(each int) bool {
	if s.lens[0]%each != 0 {
		return false
	}
	for _, p := range s.places {
		if p.strides[0] == 0 {
			continue
		}
		if p.strides[0] != 1 || p.offset%each != 0 || slices.ContainsFunc(p.strides[1:], func(s int) bool { return s%each != 0 }) {
			return false
		}
	}
	return true
}

// counting is a layout over a shape in which the place along an axis counts, in steps, and no other does.
func counting(shape []int, axis, step int) ir.Layout {
	l := ir.Layout{Shape: shape, Stride: make([]int, len(shape))}
	l.Stride[axis] = step
	return l
}
