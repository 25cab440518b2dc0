package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// indexed declares what a lookup needs: the length of the axis, and the fault record, which it explains.
func (t *text) indexed(k *Kernel, op ir.Op, axis, length int) {
	t.member("long", "length", Field{Kind: Constant, Size: 8, Value: int64(length)})
	t.faulty()
	k.Fault = func(position uint32, value int64, known bool) error {
		if !known {
			return fmt.Errorf("%v: the index at position %d is out of range for axis %d of length %d", op, position, axis, length)
		}
		return ir.OutOfRange(op, value, int(position), axis, length)
	}
}

// lookup reads the index here: to is the place along the axis, counted from the end where it is below 0, and
// 0 where bad says that there is no such place. Named layouts "index" and "position" are walked through.
func (e *elementText) lookup(index backend.Ref, to string) {
	e.line("const long chosen = %s;", e.element("index", index))
	e.check(e.here("position"), to)
}

// check is lookup where the index was read: chosen, of that position.
func (e *elementText) check(position, to string) {
	e.line("const bool bad = chosen < -a.length || chosen >= a.length;")
	e.line("if (bad) report(a.fault, a.stop, uint(%s), chosen);", position)
	e.line("const %s %s = bad ? 0 : %s(chosen < 0 ? chosen + a.length : chosen);", e.index, to, e.index)
}

// nothing is what a bad index gives: NaN, or 0 of an integer.
func nothing(register string) string {
	if register == "float" {
		return "NAN"
	}
	return register + "(0)"
}

// gather takes slices of x: its axis is replaced by the axes of index.
func gather(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x, index := inputLayout(g, in.Args[0]), inputLayout(g, in.Args[1])
	axis, rank := in.Attr.Axis, len(index.Shape)
	rows := ir.Layout{Shape: o.Shape, Offset: x.Offset, Stride: slices.Concat(x.Stride[:axis], make([]int, rank), x.Stride[axis+1:])}
	gatherFrom(g, k, rows, over(index, o.Shape, axis), over(ir.Contiguous(index.Shape), o.Shape, axis), x)
}

// gatherAlong takes an element of x at each place of index.
func gatherAlong(g *backend.Group, k *Kernel) {
	in, o := &g.Insts[0], g.Outputs[0]
	x, index := inputLayout(g, in.Args[0]), inputLayout(g, in.Args[1])
	lines := ir.Layout{Shape: o.Shape, Offset: x.Offset, Stride: slices.Clone(x.Stride)}
	lines.Stride[in.Attr.Axis] = 0
	gatherFrom(g, k, lines, index, ir.Contiguous(index.Shape), x)
}

// gatherFrom walks over the output, over x without its axis, and over the index.
func gatherFrom(g *backend.Group, k *Kernel, from, index, position, x ir.Layout) {
	in, o := &g.Insts[0], g.Outputs[0]
	axis := in.Attr.Axis
	length, stride := x.Shape[axis], x.Stride[axis]
	e := newElements(g, k.limits, in.Op.String(), o.Shape, contiguous("y", o.Shape), named{name: "x", layout: from, reach: length * max(stride, -stride)},
		named{name: "index", layout: index}, named{name: "position", layout: position})
	e.writes(o)
	e.reads("x", in.Args[0])
	e.reads("index", in.Args[1])
	e.constant("x_axis", stride)
	e.indexed(k, in.Op, axis, length)
	k.Dispatches = e.dispatch(func() {
		e.lookup(in.Args[1], "to")
		reg := register(o.DType)
		e.line("%s v = %s;", reg, nothing(reg))
		e.line("if (!bad) v = %s(loaded(a.x[%s + to * a.x_axis]));", reg, e.here("x"))
		e.store(o.DType, "v")
	})
}
