package backendtest

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// single makes a Build function of a function that returns one node.
func single(f func(b *B, dt dtype.Type) *ir.Node) func(*B, dtype.Type) []*ir.Node {
	return func(b *B, dt dtype.Type) []*ir.Node { return []*ir.Node{f(b, dt)} }
}

// shapes are those that every elementwise op runs on.
var shapes = [][]int{{}, {0}, {1}, {7}, {3, 0, 5}, {5, 3, 2}, {2, 1, 3, 4}, {257}, {33, 65}, {20011}}

// casesOf returns the cases of an op.
func casesOf(op ir.Op) []Case {
	switch r := ir.RowOf(op); {
	case op == ir.Cast:
		return castCases()
	case op == ir.Bitcast:
		return bitcastCases()
	case op == ir.Where:
		return whereCases()
	case op == ir.Dequantize:
		return dequantizeCases()
	case op == ir.DequantizeTake:
		return dequantizeTakeCases()
	case r.Family == ir.FamilyElementwise && r.Sources == 1:
		return unaryCases(op, ir.Attr{})
	case r.Family == ir.FamilyElementwise:
		return binaryCases(op)
	case r.Family == ir.FamilyView || r.Family == ir.FamilyCopy:
		return shapeCases(op)
	case op == ir.Iota || r.Family == ir.FamilyRandom:
		return creationCases(op)
	case r.Family == ir.FamilyReduce:
		return reduceCases(op)
	case r.Family == ir.FamilyMatMul:
		return productCases(op)
	case r.Family == ir.FamilyRow:
		return rowCases(op)
	case r.Family == ir.FamilyAttention:
		return attentionCases(op)
	case r.Family == ir.FamilyConv:
		return convCases(op)
	case r.Family == ir.FamilyIndex:
		return indexCases(op)
	case r.Family == ir.FamilyOptimizer:
		return optimizerCases(op)
	}
	return nil
}

func unaryCases(op ir.Op, attr ir.Attr) []Case {
	operand := (*B).Normal
	if op == ir.Log || op == ir.Log1p || op == ir.Sqrt || op == ir.Rsqrt {
		operand = (*B).Positive
	}
	var list []Case
	for _, shape := range shapes {
		list = append(list, Case{Name: fmt.Sprint(shape), Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, attr, operand(b, dt, shape...))
		})})
	}
	list = append(list,
		Case{Name: "special values", Elementwise: true, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, attr, b.Special(dt, false))
		})},
		Case{Name: "transposed", Build: single(func(b *B, dt dtype.Type) *ir.Node {
			x := b.New(ir.Permute, ir.Attr{Axes: []int{1, 0}}, operand(b, dt, 33, 17))
			return b.New(op, attr, x)
		})},
		Case{Name: "a number", Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, attr, b.New(ir.Expand, ir.Attr{Shape: []int{3, 4}}, b.Number(dt, 1)))
		})},
	)
	if op == ir.Gelu && attr.Flags == 0 {
		list = append(list, unaryCases(op, ir.Attr{Flags: ir.TanhApprox})...)
	}
	return list
}

func binaryCases(op ir.Op) []Case {
	var list []Case
	add := func(name string, x, y func(b *B, dt dtype.Type) *ir.Node) {
		list = append(list, Case{Name: name, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(op, ir.Attr{}, x(b, dt), y(b, dt))
		})})
	}
	of := func(f func(*B, dtype.Type, ...int) *ir.Node, shape ...int) func(*B, dtype.Type) *ir.Node {
		return func(b *B, dt dtype.Type) *ir.Node { return f(b, dt, shape...) }
	}
	first := (*B).Normal
	if op == ir.Pow {
		first = (*B).Positive
	}
	for _, shape := range shapes {
		add(fmt.Sprint(shape), of(first, shape...), of((*B).Normal, shape...))
	}
	add("transposed", of((*B).Normal, 20, 33), of((*B).Transposed, 20, 33))
	add("every second", of((*B).Sparse, 5, 70), of((*B).Normal, 5, 70))
	add("flipped", of((*B).Normal, 3, 70), of((*B).Flipped, 3, 70))
	add("one row", of((*B).Normal, 40, 70), func(b *B, dt dtype.Type) *ir.Node { return b.Repeated(dt, 0, 40, 70) })
	add("one column", func(b *B, dt dtype.Type) *ir.Node { return b.Repeated(dt, 1, 40, 70) }, of((*B).Normal, 40, 70))
	add("a number", of((*B).Normal, 33), func(b *B, dt dtype.Type) *ir.Node { return b.Number(dt, 2) })
	add("a number first", func(b *B, dt dtype.Type) *ir.Node { return b.Number(dt, 3) }, of((*B).Normal, 33))
	if op == ir.Pow { // a negative base to a fractional power is NaN: nothing to compare
		list = list[:len(shapes)]
	}
	return append(list, Case{Name: "special values", Elementwise: true, Build: single(func(b *B, dt dtype.Type) *ir.Node {
		return b.New(op, ir.Attr{}, b.Special(dt, false), b.Special(dt, true))
	})})
}

// castCases go from the dtype under test to every other that the backend knows.
func castCases() []Case {
	var list []Case
	for _, to := range dtype.All() {
		list = append(list,
			Case{Name: fmt.Sprintf("to %v, special values", to), Elementwise: true, Build: single(func(b *B, dt dtype.Type) *ir.Node {
				b.wantType(to)
				return b.New(ir.Cast, ir.Attr{DType: to}, b.Special(dt, false))
			})},
			Case{Name: fmt.Sprintf("to %v", to), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				b.wantType(to)
				return b.New(ir.Cast, ir.Attr{DType: to}, b.Normal(dt, 3001))
			})},
			Case{Name: fmt.Sprintf("to %v and back", to), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				b.wantType(to)
				there := b.New(ir.Cast, ir.Attr{DType: to}, b.Normal(dt, 301))
				return b.New(ir.Cast, ir.Attr{DType: dt}, there)
			})},
		)
	}
	return list
}

// bitcastCases read every type of the backend as every other one of its size, and back.
func bitcastCases() []Case {
	var list []Case
	for _, to := range dtype.All() {
		add := func(name string, f func(b *B, dt dtype.Type) *ir.Node) {
			list = append(list, Case{Name: fmt.Sprintf("to %v and back, %s", to, name), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				b.wantType(to)
				x := f(b, dt)
				bits := b.New(ir.Bitcast, ir.Attr{DType: to}, x)
				return b.New(ir.Bitcast, ir.Attr{DType: dt}, bits)
			})})
		}
		for _, shape := range shapes[:8] { // the functions go element by element
			add(fmt.Sprint(shape), func(b *B, dt dtype.Type) *ir.Node { return b.Normal(dt, shape...) })
		}
		add("transposed", func(b *B, dt dtype.Type) *ir.Node { return b.Transposed(dt, 33, 17) })
		list = append(list, Case{Name: fmt.Sprintf("to %v", to), Build: single(func(b *B, dt dtype.Type) *ir.Node {
			b.wantType(to)
			return b.New(ir.Bitcast, ir.Attr{DType: to}, b.Normal(dt, 3001))
		})})
	}
	return list
}

func whereCases() []Case {
	var list []Case
	for _, shape := range shapes {
		list = append(list, Case{Name: fmt.Sprint(shape), Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(ir.Where, ir.Attr{}, b.Normal(dtype.Bool, shape...), b.Normal(dt, shape...), b.Normal(dt, shape...))
		})})
	}
	return append(list,
		Case{Name: "broadcast", Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(ir.Where, ir.Attr{}, b.Repeated(dtype.Bool, 0, 9, 40), b.Repeated(dt, 1, 9, 40), b.Transposed(dt, 9, 40))
		})},
		Case{Name: "numbers", Build: single(func(b *B, dt dtype.Type) *ir.Node {
			return b.New(ir.Where, ir.Attr{}, b.Normal(dtype.Bool, 9, 40), b.Number(dt, 1), b.Normal(dt, 9, 40))
		})},
		Case{Name: "special values", Elementwise: true, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			x, y := b.Special(dt, false), b.Special(dt, true)
			return b.New(ir.Where, ir.Attr{}, b.Normal(dtype.Bool, x.Shape...), x, y)
		})},
	)
}
