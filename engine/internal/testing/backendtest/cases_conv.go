package backendtest

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A convolution is what the cases of the family are made of: x [N C S…], a kernel, and O results in groups.
type convolution struct {
	name    string
	x       []int
	o       int
	groups  int
	windows []ir.Window
}

// weight and result are the shapes of w and y.
func (c *convolution) weight() []int {
	w := []int{c.o, c.x[1] / c.groups}
	for _, d := range c.windows {
		w = append(w, d.Kernel)
	}
	return w
}

func (c *convolution) result() []int {
	y := []int{c.x[0], c.o}
	for i, d := range c.windows {
		y = append(y, d.Count(c.x[2+i]))
	}
	return y
}

// square is a window of a kernel that is as long along both axes.
func square(kernel, stride, pad, dilation int) []ir.Window {
	w := ir.Window{Kernel: kernel, Stride: stride, Before: pad, After: pad, Dilation: dilation}
	return []ir.Window{w, w}
}

func line(kernel, stride, before, after, dilation int) []ir.Window {
	return []ir.Window{{Kernel: kernel, Stride: stride, Before: before, After: after, Dilation: dilation}}
}

var convolutions = []convolution{
	{"one element", []int{1, 1, 1}, 1, 1, line(1, 1, 0, 0, 1)},
	{"a line", []int{2, 3, 9}, 4, 1, line(3, 1, 1, 1, 1)},
	{"a line with strides, uneven zeros", []int{2, 4, 20}, 6, 2, line(4, 3, 2, 1, 2)},
	{"more zeros than elements", []int{1, 2, 2}, 3, 1, line(2, 2, 5, 3, 1)},
	{"pixels", []int{2, 40, 7, 6}, 33, 1, square(1, 1, 0, 1)},
	{"pixels apart", []int{2, 5, 7, 6}, 3, 1, square(1, 2, 0, 1)},
	{"3×3", []int{3, 5, 9, 11}, 20, 1, square(3, 1, 1, 1)},
	{"3×3, many columns", []int{2, 3, 30, 33}, 17, 1, square(3, 1, 1, 1)},
	{"3×3, many channels", []int{1, 70, 5, 5}, 40, 1, square(3, 1, 1, 1)},
	{"3×3, stride 2", []int{2, 8, 12, 13}, 9, 1, square(3, 2, 1, 1)},
	{"5×5, stride 3, dilation 2", []int{2, 3, 23, 22}, 18, 1, square(5, 3, 4, 2)},
	{"7×7, stride 2", []int{1, 3, 30, 31}, 19, 1, square(7, 2, 3, 1)},
	{"stride beyond the kernel", []int{2, 3, 13, 14}, 4, 1, square(2, 3, 0, 1)},
	{"groups", []int{2, 12, 8, 9}, 24, 3, square(3, 1, 1, 1)},
	{"each channel alone", []int{2, 6, 9, 40}, 6, 6, square(3, 1, 1, 1)},
	{"each channel alone, stride 2", []int{2, 6, 9, 10}, 6, 6, square(3, 2, 1, 1)},
	{"two results of each channel", []int{2, 3, 9, 10}, 6, 3, square(3, 1, 2, 2)},
	{"uneven kernel", []int{2, 4, 9, 10}, 6, 1, []ir.Window{{Kernel: 1, Stride: 1, Dilation: 1}, {Kernel: 5, Stride: 1, Before: 2, After: 2, Dilation: 1}}},
	{"three axes", []int{2, 3, 4, 5, 6}, 18, 1, []ir.Window{
		{Kernel: 2, Stride: 1, Dilation: 1}, {Kernel: 3, Stride: 2, Before: 1, After: 1, Dilation: 1}, {Kernel: 3, Stride: 1, Before: 0, After: 2, Dilation: 1}}},
	{"each channel alone, many places", []int{3, 4, 90, 50}, 4, 4, square(3, 1, 1, 1)},
	{"a channel, a long line", []int{2, 1, 9000}, 2, 1, line(3, 2, 0, 1, 1)},
	{"no images", []int{0, 3, 4, 5}, 2, 1, square(3, 1, 1, 1)},
	{"no channels", []int{2, 0, 4, 5}, 2, 1, square(3, 1, 1, 1)},
	{"no results", []int{2, 3, 4, 5}, 0, 1, square(3, 1, 1, 1)},
}

func convCases(op ir.Op) []Case {
	if op == ir.MaxPool {
		return poolCases()
	}
	var list []Case
	for _, c := range convolutions {
		attr := ir.Attr{Ints: ir.Ints(c.windows), Index: c.groups}
		list = append(list, Case{Name: c.name, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return c.node(b, op, attr, b.Normal(dt, c.x...), b.Normal(dt, c.weight()...), b.Normal(dt, c.result()...))
		})})
	}
	turned := convolution{x: []int{3, 4, 6, 7}, o: 5, groups: 1, windows: square(3, 1, 1, 1)}
	list = append(list, Case{Name: "channels last", Build: single(func(b *B, dt dtype.Type) *ir.Node {
		last := func(n, c, h, w int) *ir.Node {
			return b.New(ir.Permute, ir.Attr{Axes: []int{0, 3, 1, 2}}, b.Normal(dt, n, h, w, c))
		}
		return turned.node(b, op, ir.Attr{Ints: ir.Ints(turned.windows), Index: 1}, last(3, 4, 6, 7), last(5, 4, 3, 3), last(3, 5, 6, 7))
	})})
	return list
}

// node is the product that gives one of x, w and y from the others.
func (c *convolution) node(b *B, op ir.Op, attr ir.Attr, x, w, y *ir.Node) *ir.Node {
	switch op {
	case ir.ConvTranspose:
		attr.Shape = c.x[2:]
		return b.New(op, attr, y, w)
	case ir.ConvWeight:
		return b.New(op, attr, x, y)
	}
	return b.New(op, attr, x, w)
}

func poolCases() []Case {
	var list []Case
	add := func(shape []int, windows []ir.Window) {
		list = append(list, Case{Name: fmt.Sprint(shape, windows), Build: func(b *B, dt dtype.Type) []*ir.Node {
			return b.Picks(b.New(ir.MaxPool, ir.Attr{Ints: ir.Ints(windows)}, b.Normal(dt, shape...)))
		}})
	}
	add([]int{1, 1, 1}, line(1, 1, 0, 0, 1))
	add([]int{2, 3, 9}, line(2, 2, 0, 0, 1))
	add([]int{2, 3, 9}, line(3, 2, 1, 2, 2))
	add([]int{2, 3, 8, 10}, square(2, 2, 0, 1))
	add([]int{2, 3, 9, 70}, square(3, 2, 1, 1))
	add([]int{1, 2, 9, 11}, square(3, 1, 1, 2))
	add([]int{1, 2, 4, 5, 6}, append(square(2, 2, 1, 1), line(3, 1, 0, 0, 1)...))
	add([]int{0, 2, 9, 11}, square(3, 1, 1, 1))
	return append(list,
		Case{Name: "channels last", Build: func(b *B, dt dtype.Type) []*ir.Node {
			x := b.New(ir.Permute, ir.Attr{Axes: []int{0, 3, 1, 2}}, b.Normal(dt, 2, 6, 7, 3))
			return b.Picks(b.New(ir.MaxPool, ir.Attr{Ints: ir.Ints(square(2, 2, 0, 1))}, x))
		}},
		Case{Name: "special values", Build: func(b *B, dt dtype.Type) []*ir.Node {
			n := len(specials(dt))
			x := b.New(ir.Reshape, ir.Attr{Shape: []int{1, 1, n, n}}, b.Special(dt, true))
			return b.Picks(b.New(ir.MaxPool, ir.Attr{Ints: ir.Ints(square(2, 1, 1, 1))}, x))
		}})
}
