package backendtest

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Quantised returns the parts of a quantised weight with random codes, scales, and what its form needs.
func (b *B) Quantised(q ir.Quant, scale dtype.Type) []*ir.Node {
	codes, shape := q.Shapes()
	parts := []*ir.Node{
		b.Leaf(dtype.U8, codes, func(int) float64 { return float64(b.rng.IntN(256)) }),
		b.Leaf(scale, shape, func(int) float64 { return b.rng.NormFloat64() / float64(int(1)<<(q.Bits-1)) }),
	}
	switch q.Form {
	case ir.Zeros:
		parts = append(parts, b.Leaf(dtype.U8, shape, func(int) float64 { return float64(b.rng.IntN(1 << q.Bits)) }))
	case ir.Minimums:
		parts = append(parts, b.Leaf(scale, shape, func(int) float64 { return b.rng.NormFloat64() }))
	case ir.Table:
		parts = append(parts, b.Leaf(dtype.F32, []int{1 << q.Bits}, func(int) float64 { return b.rng.NormFloat64() * float64(int(1)<<(q.Bits-1)) }))
	}
	return parts
}

// A quantKind is a way to quantise.
type quantKind struct {
	bits, group int
	scale       dtype.Type
	form        ir.Form
}

var quantKinds = []quantKind{
	{8, 32, dtype.F32, ir.Middle}, {4, 64, dtype.F32, ir.Middle}, {4, 32, dtype.BF16, ir.Zeros}, {8, 128, dtype.F32, ir.Zeros}, {4, 128, dtype.BF16, ir.Middle},
	{8, 16, dtype.F32, ir.Middle}, {4, 32, dtype.F32, ir.Minimums}, {8, 64, dtype.BF16, ir.Minimums}, {4, 16, dtype.BF16, ir.Table}, {8, 128, dtype.F32, ir.Table},
}

func (k quantKind) String() string {
	return fmt.Sprintf("int%d in %d, %v, %s", k.bits, k.group, k.scale, [...]string{"symmetric", "affine", "minimums", "table"}[k.form])
}

// quantised returns a lazy weight [k n].
func (b *B) quantised(kind quantKind, dt dtype.Type, k, n int) *ir.Node {
	q := ir.Quant{K: k, N: n, Bits: kind.bits, Group: kind.group, Form: kind.form, DType: dt}
	return b.New(ir.Dequantize, q.Attr(), b.Quantised(q, kind.scale)...)
}

// stack returns a lazy stack of weights [g k n].
func (b *B) stack(kind quantKind, dt dtype.Type, g, k, n int) *ir.Node {
	q := ir.Quant{Matrices: g, K: k, N: n, Bits: kind.bits, Group: kind.group, Form: kind.form, DType: dt}
	return b.New(ir.Dequantize, q.Attr(), b.Quantised(q, kind.scale)...)
}

// dequantizeCases are weights alone, and products with them: with the weight as stored and transposed, with
// few rows and with many, beside plain products, with adapters and epilogues.
func dequantizeCases() []Case {
	var list []Case
	add := func(name string, tol float64, build func(b *B, dt dtype.Type) []*ir.Node) {
		list = append(list, Case{Name: name, Tol: tol, Narrowed: tol > 0, Build: build})
	}
	const products = 1e-5
	for _, kind := range quantKinds {
		for _, turned := range []bool{false, true} {
			for _, k := range []int{70, 72} {
				add(fmt.Sprint(kind, " stack ", k, turned), 0, single(func(b *B, dt dtype.Type) *ir.Node {
					w := b.stack(kind, dt, 3, k, 40)
					if turned {
						w = b.Swap(w)
					}
					return w
				}))
			}
		}
		for _, s := range [][2]int{{1, 1}, {33, 17}, {130, 40}, {256, 64}, {72, 20}, {0, 3}, {3, 0}} {
			k, n := s[0], s[1]
			for _, turned := range []bool{false, true} {
				add(fmt.Sprint(kind, s, turned), 0, single(func(b *B, dt dtype.Type) *ir.Node {
					q := ir.Quant{K: k, N: n, Bits: kind.bits, Group: kind.group, Form: kind.form, DType: dt, Transposed: turned}
					return b.New(ir.Dequantize, q.Attr(), b.Quantised(q, kind.scale)...)
				}))
			}
		}
		for _, s := range [][3]int{{1, 1, 1}, {1, 300, 70}, {3, 129, 33}, {5, 64, 130}, {8, 600, 17}, {20, 70, 90}, {40, 300, 64}, {130, 70, 90}, {33, 1100, 100}} {
			m, k, n := s[0], s[1], s[2]
			add(fmt.Sprint(kind, s), products, single(func(b *B, dt dtype.Type) *ir.Node {
				return b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, m, k), b.quantised(kind, dt, k, n))
			}))
			add(fmt.Sprint(kind, s, " turned"), products, single(func(b *B, dt dtype.Type) *ir.Node {
				return b.New(ir.MatMul, ir.Attr{}, b.Transposed(dt, m, n), b.Swap(b.quantised(kind, dt, k, n)))
			}))
		}
		for _, m := range []int{1, 3, 9, 40} {
			add(fmt.Sprint(kind, " beside others, ", m, " rows"), products, func(b *B, dt dtype.Type) []*ir.Node {
				x := b.Normal(dt, m, 70)
				y := b.New(ir.MatMul, ir.Attr{}, x, b.quantised(kind, dt, 70, 40))
				y = b.New(ir.Silu, ir.Attr{}, b.New(ir.Add, ir.Attr{}, y, b.Repeated(dt, 0, m, 40)))
				return []*ir.Node{y, b.New(ir.MatMul, ir.Attr{}, x, b.Normal(dt, 70, 33)), b.New(ir.MatMul, ir.Attr{}, x, b.quantised(kind, dt, 70, 20))}
			})
			// The adapter adds little, as adapters do: beside a library that part is rounded by itself.
			add(fmt.Sprint(kind, " adapted, ", m, " rows"), products, single(func(b *B, dt dtype.Type) *ir.Node {
				return b.New(ir.LoRALinear, ir.Attr{Float: 0.125}, b.Normal(dt, m, 70), b.quantised(kind, dt, 70, 40), b.Normal(dt, 70, 4), b.Normal(dt, 4, 40))
			}))
		}
		add(fmt.Sprint(kind, " both written and multiplied"), products, func(b *B, dt dtype.Type) []*ir.Node {
			w := b.quantised(kind, dt, 70, 40)
			return []*ir.Node{w, b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, 5, 70), w), b.New(ir.MatMul, ir.Attr{}, w, b.Normal(dt, 40, 3))}
		})
		add(fmt.Sprint(kind, " in batches"), products, single(func(b *B, dt dtype.Type) *ir.Node {
			w := b.New(ir.Expand, ir.Attr{Shape: []int{3, 70, 40}}, b.quantised(kind, dt, 70, 40))
			return b.New(ir.MatMul, ir.Attr{}, b.Transposed(dt, 3, 5, 70), w)
		}))
	}
	return list
}

func dequantizeTakeCases() []Case {
	var list []Case
	for _, kind := range quantKinds {
		for _, index := range [][]int{{}, {7}, {2, 3}, {0}} {
			list = append(list, Case{Name: fmt.Sprint(kind, index), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				q := ir.Quant{K: 133, N: 50, Bits: kind.bits, Group: kind.group, Form: kind.form, DType: dt}
				return b.New(ir.DequantizeTake, q.Attr(), append([]*ir.Node{b.Places(50, index...)}, b.Quantised(q, kind.scale)...)...)
			})})
		}
	}
	return list
}
