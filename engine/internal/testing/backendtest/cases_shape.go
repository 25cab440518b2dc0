package backendtest

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// shapeCases are views and copies. A view of stored data launches nothing, so each is also read by a copy.
func shapeCases(op ir.Op) []Case {
	var list []Case
	add := func(name string, f func(b *B, dt dtype.Type) *ir.Node) {
		list = append(list, Case{Name: name, Build: func(b *B, dt dtype.Type) []*ir.Node {
			v := f(b, dt)
			r := len(v.Shape)
			axes := make([]int, r)
			for i := range axes {
				axes[i] = r - 1 - i
			}
			turned := b.New(ir.Permute, ir.Attr{Axes: axes}, v)
			return []*ir.Node{v, b.New(ir.Reshape, ir.Attr{Shape: []int{ir.Size(v.Shape)}}, turned)}
		}})
	}
	view := func(name string, attr ir.Attr, shape ...int) {
		add(name, func(b *B, dt dtype.Type) *ir.Node { return b.New(op, attr, b.Normal(dt, shape...)) })
	}
	switch op {
	case ir.Reshape:
		view("split", ir.Attr{Shape: []int{3, 4, 2}}, 12, 2)
		view("empty", ir.Attr{Shape: []int{5, 0}}, 0, 3)
		view("rank 0", ir.Attr{Shape: []int{}}, 1, 1)
		add("of a transposed matrix", func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{Shape: []int{60}}, b.Transposed(dt, 4, 15))
		})
	case ir.Permute:
		view("matrix", ir.Attr{Axes: []int{1, 0}}, 70, 33)
		view("rank 4", ir.Attr{Axes: []int{0, 2, 1, 3}}, 2, 3, 5, 8)
		view("empty", ir.Attr{Axes: []int{1, 0}}, 0, 3)
	case ir.Expand:
		view("rows", ir.Attr{Shape: []int{9, 17}}, 1, 17)
		view("columns", ir.Attr{Shape: []int{9, 17}}, 9, 1)
		view("new axes", ir.Attr{Shape: []int{4, 3, 5}}, 5)
		view("to nothing", ir.Attr{Shape: []int{0, 5}}, 1, 5)
	case ir.Slice:
		view("steps", ir.Attr{Ints: []int{1, 8, 3, 2, 30, 1}}, 9, 33)
		view("backwards", ir.Attr{Ints: []int{8, -1, -2, 0, 33, 1}}, 9, 33)
		view("nothing", ir.Attr{Ints: []int{4, 4, 1}}, 9)
	case ir.Flip:
		view("one axis", ir.Attr{Axes: []int{0}}, 9, 33)
		view("all axes", ir.Attr{Axes: []int{0, 1}}, 9, 33)
	case ir.Pad:
		pads := []struct{ ints, shape []int }{
			{[]int{1, 2}, []int{5}}, {[]int{0, 0, 3, 1}, []int{4, 70}}, {[]int{1, 0, 0, 2, 2, 2}, []int{2, 3, 5}}, {[]int{2, 3}, []int{0}},
		}
		for _, p := range pads {
			add(fmt.Sprint(p.ints), func(b *B, dt dtype.Type) *ir.Node {
				return b.New(op, ir.Attr{Ints: p.ints}, b.Normal(dt, p.shape...), b.Number(dt, 7))
			})
		}
		add("strided", func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{Ints: []int{1, 1, 0, 3}}, b.Transposed(dt, 20, 9), b.Number(dt, 0))
		})
	case ir.Again:
		add("matrix", func(b *B, dt dtype.Type) *ir.Node { return b.New(op, ir.Attr{}, b.Normal(dt, 9, 70), b.Normal(dt, 3)) })
		add("transposed", func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{}, b.Transposed(dt, 20, 9), b.Normal(dt, 2))
		})
		add("nothing", func(b *B, dt dtype.Type) *ir.Node { return b.New(op, ir.Attr{}, b.Normal(dt, 0, 4), b.Normal(dt, 1)) })
	case ir.Concat:
		for axis := range 3 {
			add(fmt.Sprintf("axis %d", axis), func(b *B, dt dtype.Type) *ir.Node {
				var parts []*ir.Node
				for i := range 3 {
					shape := []int{3, 4, 5}
					shape[axis] = 2 * i // the first has no elements
					parts = append(parts, b.Normal(dt, shape...))
				}
				return b.New(op, ir.Attr{Axis: axis}, parts...)
			})
		}
		add("many", func(b *B, dt dtype.Type) *ir.Node {
			var parts []*ir.Node
			for i := range 300 {
				parts = append(parts, b.Normal(dt, 1, i%7*(1+i/280*200), 3)) // some have no elements, the last ones several blocks
			}
			return b.New(op, ir.Attr{Axis: 1}, parts...)
		})
		add("views", func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{Axis: 1}, b.Transposed(dt, 9, 33), b.Repeated(dt, 0, 9, 4), b.Flipped(dt, 9, 1))
		})
	}
	return list
}

func creationCases(op ir.Op) []Case {
	var list []Case
	if op == ir.Iota {
		for _, shape := range [][]int{{1}, {0}, {70}, {3, 50}, {4, 2, 3}} {
			for axis := range shape {
				list = append(list, Case{Name: fmt.Sprintf("%v axis %d", shape, axis), Build: single(func(b *B, dt dtype.Type) *ir.Node {
					n, err := ir.NewIota(b.dev, dt, shape, axis)
					if err != nil {
						panic(stop{errNotForDType})
					}
					return n
				})})
			}
		}
		return list
	}
	for _, shape := range [][]int{{}, {0}, {1}, {5}, {1023}, {3, 20001}} {
		for _, key := range []ir.Scalar{{I: 0}, {I: 42}, {I: -1 << 40}} {
			list = append(list, Case{Name: fmt.Sprint(shape, key.I), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				k, counter := ir.NewConst(b.dev, dtype.I64, key), ir.NewConst(b.dev, dtype.I64, ir.Scalar{I: key.I + 1<<33})
				return b.New(op, ir.Attr{DType: dt, Shape: shape}, k, counter)
			})})
		}
	}
	return list
}

func reduceCases(op ir.Op) []Case {
	type reduction struct {
		shape, axes []int
	}
	reductions := []reduction{
		{[]int{7}, []int{0}}, {[]int{5, 9}, []int{0}}, {[]int{5, 9}, []int{1}}, {[]int{5, 9}, []int{0, 1}}, {[]int{3, 4, 70}, []int{1}},
		{[]int{3, 4, 70}, []int{0, 2}}, {[]int{2, 3, 4, 5}, []int{1, 3}}, {[]int{300, 70}, []int{0}}, {[]int{70, 300}, []int{1}},
		{[]int{2, 20011}, []int{1}}, {[]int{20011, 2}, []int{0}}, {[]int{40022}, []int{0}}, {[]int{0, 3}, []int{1}}, {[]int{1, 1}, []int{0}},
		{[]int{}, []int{}}, {[]int{3}, []int{}}, {[]int{0, 3}, []int{0}},
	}
	var list []Case
	for _, r := range reductions {
		if op == ir.Prod && ir.Size(r.shape) > 1000 {
			continue // overflows
		}
		list = append(list, Case{Name: fmt.Sprint(r.shape, r.axes), Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{Axes: r.axes}, b.Normal(dt, r.shape...))
		})})
	}
	strided := func(name string, axes []int, f func(b *B, dt dtype.Type) *ir.Node) {
		list = append(list, Case{Name: name, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{Axes: axes}, f(b, dt))
		})})
	}
	strided("transposed rows", []int{1}, func(b *B, dt dtype.Type) *ir.Node { return b.Transposed(dt, 20, 33) })
	strided("transposed columns", []int{0}, func(b *B, dt dtype.Type) *ir.Node { return b.Transposed(dt, 20, 33) })
	strided("repeated", []int{0, 1}, func(b *B, dt dtype.Type) *ir.Node { return b.Repeated(dt, 0, 4, 33) })
	strided("flipped", []int{1}, func(b *B, dt dtype.Type) *ir.Node { return b.Flipped(dt, 5, 33) })
	for i := range 3 {
		if i == 1 && op == ir.Mean {
			continue // the sum of the greatest numbers overflows, though their mean would not
		}
		list = append(list, Case{Name: fmt.Sprintf("special values %d", i), Elementwise: true, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			x := b.Special(dt, i == 1)
			n := len(specials(dt))
			x = b.New(ir.Reshape, ir.Attr{Shape: []int{n, n}}, x)
			if i == 2 { // without NaN
				x = b.New(ir.Slice, ir.Attr{Ints: []int{1, n, 1, 0, n, 1}}, x)
			}
			if op == ir.Sum || op == ir.Prod || op == ir.Mean {
				x = b.New(ir.Slice, ir.Attr{Ints: []int{0, min(6, x.Shape[0]), 1, 0, n, 1}}, x) // no sums beyond the greatest number
			}
			return b.New(op, ir.Attr{Axes: []int{0}}, x)
		})})
	}
	return list
}
