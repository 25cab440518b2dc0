package backendtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func productCases(op ir.Op) []Case {
	switch op {
	case ir.LoRALinear:
		return loraCases()
	case ir.LinearCrossEntropy, ir.LinearCrossEntropyGrad:
		return linearLossCases(op)
	case ir.GroupedMatMul, ir.GroupedWeight:
		return groupedCases(op)
	}
	var list []Case
	add := func(name string, f func(b *B, dt dtype.Type) []*ir.Node) {
		list = append(list, Case{Name: name, Build: single(func(b *B, dt dtype.Type) *ir.Node { return b.New(op, ir.Attr{}, f(b, dt)...) })})
	}
	for _, s := range [][3]int{
		{1, 1, 1}, {1, 7, 5}, {1, 300, 70}, {2, 9, 33}, {5, 64, 48}, {8, 130, 17}, {9, 16, 16}, {33, 17, 65}, {130, 70, 90}, {64, 300, 64},
		{0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {200, 3, 1},
	} {
		m, k, n := s[0], s[1], s[2]
		add(fmt.Sprint(s), func(b *B, dt dtype.Type) []*ir.Node { return []*ir.Node{b.Normal(dt, m, k), b.Normal(dt, k, n)} })
		add(fmt.Sprint(s, " transposed left"), func(b *B, dt dtype.Type) []*ir.Node {
			return []*ir.Node{b.Transposed(dt, m, k), b.Normal(dt, k, n)}
		})
		add(fmt.Sprint(s, " transposed right"), func(b *B, dt dtype.Type) []*ir.Node {
			return []*ir.Node{b.Normal(dt, m, k), b.Transposed(dt, k, n)}
		})
	}
	add("both transposed", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Transposed(dt, 20, 33), b.Transposed(dt, 33, 40)}
	})
	add("strided", func(b *B, dt dtype.Type) []*ir.Node { return []*ir.Node{b.Sparse(dt, 20, 33), b.Flipped(dt, 33, 17)} })
	add("repeated", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Repeated(dt, 0, 20, 33), b.Repeated(dt, 1, 33, 17)}
	})
	add("batches", func(b *B, dt dtype.Type) []*ir.Node { return []*ir.Node{b.Normal(dt, 3, 5, 9), b.Normal(dt, 3, 9, 17)} })
	add("two batch axes", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Transposed(dt, 2, 3, 10, 9), b.Normal(dt, 2, 3, 9, 33)}
	})
	add("one right-hand side for all batches", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Normal(dt, 4, 5, 9), b.Repeated(dt, 0, 4, 9, 17)}
	})
	add("one left-hand side for all batches", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Repeated(dt, 0, 4, 5, 9), b.Normal(dt, 4, 9, 17)}
	})
	add("two pairs", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Normal(dt, 33, 20), b.Normal(dt, 20, 40), b.Normal(dt, 33, 3), b.Transposed(dt, 3, 40)}
	})
	add("two pairs, turned", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Transposed(dt, 33, 20), b.Transposed(dt, 20, 40), b.Normal(dt, 33, 3), b.Normal(dt, 3, 40)}
	})
	add("two pairs, few rows", func(b *B, dt dtype.Type) []*ir.Node {
		return []*ir.Node{b.Normal(dt, 3, 20), b.Normal(dt, 20, 40), b.Normal(dt, 3, 2), b.Normal(dt, 2, 40)}
	})
	for _, stored := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
		for _, m := range []int{1, 5, 40} {
			add(fmt.Sprintf("weights stored in %v, %d rows", stored, m), func(b *B, dt dtype.Type) []*ir.Node {
				as := func(n *ir.Node) *ir.Node { return b.New(ir.Cast, ir.Attr{DType: dt}, n) }
				return []*ir.Node{b.Normal(dt, m, 70), as(b.Normal(stored, 70, 40)), as(b.Transposed(stored, m, 33)), b.Swap(as(b.Normal(stored, 40, 33)))}
			})
		}
	}
	return append(append(list, fusedProducts()...), decoderProducts()...)
}

// decoderProducts are those of a decoder's layer for few rows: norms before them, gates between them.
func decoderProducts() (list []Case) {
	for _, s := range [][3]int{{1, 72, 40}, {1, 33, 70}, {3, 160, 65}, {8, 36, 130}, {2, 1096, 36}, {13, 72, 40}} {
		rows, k, n := s[0], s[1], s[2]
		norm := func(b *B, dt dtype.Type) (x, y *ir.Node) {
			x = b.Normal(dt, 1, rows, k)
			y = b.New(ir.RMSNorm, ir.Attr{Float: 1e-5}, x, b.Positive(dtype.F32, k))
			return x, b.New(ir.Reshape, ir.Attr{Shape: []int{rows, k}}, y)
		}
		times := func(b *B, x, w *ir.Node) *ir.Node { return b.New(ir.MatMul, ir.Attr{}, x, w) }
		silu := func(b *B, gate, up *ir.Node) *ir.Node {
			return b.New(ir.Mul, ir.Attr{}, b.New(ir.Silu, ir.Attr{}, gate), up)
		}
		add := func(name string, build func(b *B, dt dtype.Type) []*ir.Node) {
			list = append(list, Case{Name: fmt.Sprint(name, " ", s), Narrowed: true, Build: func(b *B, dt dtype.Type) []*ir.Node {
				if !dt.Float() || dt == dtype.F64 {
					panic(stop{errNotForDType})
				}
				return build(b, dt)
			}})
		}
		add("norm, q, k and v", func(b *B, dt dtype.Type) []*ir.Node {
			_, x := norm(b, dt)
			return []*ir.Node{times(b, x, b.Normal(dt, k, n)), times(b, x, b.Transposed(dt, k, 12)), times(b, x, b.Normal(dt, k, 12))}
		})
		add("norm, which others read", func(b *B, dt dtype.Type) []*ir.Node {
			_, x := norm(b, dt)
			return []*ir.Node{times(b, x, b.Normal(dt, k, n)), b.New(ir.Neg, ir.Attr{}, x)}
		})
		add("norm, gate and up", func(b *B, dt dtype.Type) []*ir.Node {
			_, x := norm(b, dt)
			return []*ir.Node{silu(b, times(b, x, b.Normal(dt, k, n)), times(b, x, b.Normal(dt, k, n)))}
		})
		add("gate and up, which lie in other ways, and down", func(b *B, dt dtype.Type) []*ir.Node {
			x := b.Normal(dt, rows, k)
			gate := b.New(ir.Add, ir.Attr{}, times(b, x, b.Normal(dt, k, n)), b.Repeated(dt, 0, rows, n))
			y := silu(b, gate, times(b, x, b.Transposed(dt, k, n)))
			return []*ir.Node{b.New(ir.Add, ir.Attr{}, times(b, y, b.Normal(dt, n, k)), x), gate}
		})
		add("norm, adapted gate and up", func(b *B, dt dtype.Type) []*ir.Node {
			_, x := norm(b, dt)
			adapted := func() *ir.Node {
				return b.New(ir.LoRALinear, ir.Attr{Float: 0.5}, x, b.Normal(dt, k, n), b.Normal(dt, k, 4), b.Normal(dt, 4, n))
			}
			return []*ir.Node{silu(b, adapted(), adapted())}
		})
		add("norm, gate and up in codes", func(b *B, dt dtype.Type) []*ir.Node {
			_, x := norm(b, dt)
			return []*ir.Node{silu(b, times(b, x, b.quantised(quantKinds[0], dt, k, n)), times(b, x, b.quantised(quantKinds[0], dt, k, n)))}
		})
	}
	return list
}

// fusedProducts are groups with epilogues, several products, and phases.
func fusedProducts() []Case {
	// The gradients of adapters: products that share a launch, and of which some need others.
	list := []Case{{Name: "side by side", Build: func(b *B, dt dtype.Type) []*ir.Node {
		var list []*ir.Node
		for i, s := range [][3]int{{40, 33, 8}, {70, 33, 8}, {33, 700, 8}, {8, 900, 33}, {3, 40, 20}, {40, 9, 65}, {40, 33, 8}} {
			y := b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, s[0], s[1]), b.Transposed(dt, s[1], s[2]))
			if i%2 == 0 {
				y = b.New(ir.Mul, ir.Attr{}, y, b.Number(dt, 0.5))
			}
			list = append(list, y)
		}
		return append(list, b.New(ir.MatMul, ir.Attr{}, list[0], b.Normal(dt, 8, 30)), b.New(ir.MatMul, ir.Attr{}, b.Swap(list[1]), b.Normal(dt, 70, 30)))
	}}}
	for _, rows := range []int{1, 3, 8, 40} {
		list = append(list,
			Case{Name: fmt.Sprintf("bias, silu, residual, %d rows", rows), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				y := b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, rows, 33), b.Normal(dt, 33, 70))
				y = b.New(ir.Add, ir.Attr{}, y, b.Repeated(dt, 0, rows, 70))
				y = b.New(ir.Silu, ir.Attr{}, y)
				return b.New(ir.Add, ir.Attr{}, y, b.Transposed(dt, rows, 70))
			})},
			Case{Name: fmt.Sprintf("residual, bias, gelu, %d rows", rows), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				y := b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, rows, 33), b.Normal(dt, 33, 70))
				y = b.New(ir.Add, ir.Attr{}, b.Normal(dt, rows, 70), y)
				y = b.New(ir.Add, ir.Attr{}, y, b.Repeated(dt, 0, rows, 70))
				return b.New(ir.Gelu, ir.Attr{Flags: ir.TanhApprox}, y)
			})},
			Case{Name: fmt.Sprintf("three products, %d rows", rows), Build: func(b *B, dt dtype.Type) []*ir.Node {
				x := b.Normal(dt, rows, 33)
				var list []*ir.Node
				for i := range 3 {
					y := b.New(ir.MatMul, ir.Attr{}, x, b.Normal(dt, 33, 10+30*i))
					list = append(list, b.New(ir.Mul, ir.Attr{}, y, b.Number(dt, 0.5)), y)
				}
				return list
			}},
			Case{Name: fmt.Sprintf("a chain, %d rows", rows), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				h := b.New(ir.MatMul, ir.Attr{}, b.Normal(dt, rows, 33), b.Normal(dt, 33, 20))
				h = b.New(ir.Tanh, ir.Attr{}, h)
				return b.New(ir.MatMul, ir.Attr{}, h, b.Normal(dt, 20, 40))
			})},
			Case{Name: fmt.Sprintf("weight gradient, %d rows", rows), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				x, dy := b.Normal(dt, 2, rows, 9), b.Normal(dt, 2, rows, 17)
				return b.New(ir.Sum, ir.Attr{Axes: []int{0}}, b.New(ir.MatMul, ir.Attr{}, b.Swap(x), dy))
			})},
		)
	}
	return list
}

func loraCases() []Case {
	var list []Case
	for _, s := range [][4]int{{1, 64, 64, 8}, {3, 33, 17, 2}, {8, 20, 30, 1}, {9, 20, 30, 4}, {64, 100, 70, 8}} {
		m, k, n, r := s[0], s[1], s[2], s[3]
		list = append(list, Case{Name: fmt.Sprint(s), Build: func(b *B, dt dtype.Type) []*ir.Node {
			x := b.Normal(dt, m, k)
			var list []*ir.Node
			for range 2 { // two projections of one input
				list = append(list, b.New(ir.LoRALinear, ir.Attr{Float: 2}, x, b.Normal(dt, k, n), b.Normal(dt, k, r), b.Normal(dt, r, n)))
			}
			return list
		}})
	}
	return list
}

// groupedCases are rows in some order, in few and in many groups, beside weights of the rows' dtype and of
// others.
func groupedCases(op ir.Op) []Case {
	var list []Case
	add := func(name string, build func(b *B, dt dtype.Type) *ir.Node) {
		list = append(list, Case{Name: name, Build: single(func(b *B, dt dtype.Type) *ir.Node {
			if !dt.Float() {
				panic(stop{errNotForDType})
			}
			return build(b, dt)
		})})
	}
	grouped := func(b *B, dt, weight dtype.Type, x, w *ir.Node, index *ir.Node) *ir.Node {
		if op == ir.GroupedMatMul {
			return b.New(op, ir.Attr{}, x, w, index)
		}
		return b.New(op, ir.Attr{Index: w.Shape[0], DType: weight}, x, b.Normal(dt, x.Shape[0], w.Shape[2]), index)
	}
	for _, s := range [][4]int{{1, 1, 1, 1}, {1, 7, 5, 3}, {8, 72, 40, 16}, {5, 33, 70, 2}, {70, 20, 65, 3}, {300, 64, 33, 5}, {40, 130, 17, 64}, {400, 72, 136, 3}, {0, 3, 4, 2}, {3, 0, 4, 2}, {3, 4, 0, 2}} {
		m, k, n, g := s[0], s[1], s[2], s[3]
		add(fmt.Sprint(s), func(b *B, dt dtype.Type) *ir.Node {
			return grouped(b, dt, dt, b.Normal(dt, m, k), b.Normal(dt, g, k, n), b.Index(g, m))
		})
		add(fmt.Sprint(s, " transposed"), func(b *B, dt dtype.Type) *ir.Node {
			return grouped(b, dt, dt, b.Transposed(dt, m, k), b.Swap(b.Normal(dt, g, n, k)), b.Index(g, m))
		})
	}
	for _, stored := range []dtype.Type{dtype.BF16, dtype.F16, dtype.F32} {
		for _, m := range []int{1, 40} {
			add(fmt.Sprintf("weights stored in %v, %d rows", stored, m), func(b *B, dt dtype.Type) *ir.Node {
				if dt == dtype.F64 {
					panic(stop{errNotForDType})
				}
				return grouped(b, dt, stored, b.Normal(dt, m, 70), b.Swap(b.Normal(stored, 4, 33, 70)), b.Index(4, m))
			})
		}
	}
	for _, kind := range quantKinds {
		for _, s := range [][4]int{{1, 72, 40, 3}, {40, 130, 33, 4}, {300, 64, 100, 3}} {
			m, k, n, g := s[0], s[1], s[2], s[3]
			if op != ir.GroupedMatMul {
				break
			}
			for _, halves := range []bool{false, true} { // whose weights may be rounded to 16 bits
				codes := func(name string, build func(b *B, dt dtype.Type) *ir.Node) {
					add(fmt.Sprint(kind, s, name), func(b *B, dt dtype.Type) *ir.Node {
						if (dt.Size() == 2) != halves {
							panic(stop{errNotForDType})
						}
						return build(b, dt)
					})
					if halves {
						list[len(list)-1].Tol = 1e-3
					}
				}
				codes("", func(b *B, dt dtype.Type) *ir.Node {
					return grouped(b, dt, dt, b.Normal(dt, m, k), b.stack(kind, dt, g, k, n), b.Index(g, m))
				})
				codes(" transposed", func(b *B, dt dtype.Type) *ir.Node {
					return grouped(b, dt, dt, b.Normal(dt, m, n), b.Swap(b.stack(kind, dt, g, k, n)), b.Index(g, m))
				})
			}
		}
	}
	add("all rows of the last group", func(b *B, dt dtype.Type) *ir.Node {
		return grouped(b, dt, dt, b.Normal(dt, 9, 20), b.Normal(dt, 3, 20, 30), b.Ints(dtype.I64, []int{9}, 2, -1, 2, -1, 2, 2, 2, 2, 2))
	})
	return list
}

func linearLossCases(op ir.Op) []Case {
	var list []Case
	for _, s := range [][3]int{{1, 8, 5}, {20, 9, 70}, {70, 4, 300}} {
		for name, attr := range map[string]ir.Attr{"": {Index: -100}, ", smoothing, ignored rows": {Float: 0.1, Index: 3}, ", capped": {Index: -100, Rates: []float64{3}}} {
			list = append(list, Case{Name: fmt.Sprint(s, name), Build: func(b *B, dt dtype.Type) []*ir.Node {
				if !dt.Float() {
					panic(stop{errNotForDType})
				}
				x, w, targets := b.Normal(dt, s[0], s[1]), b.Transposed(dt, s[1], s[2]), b.Index(s[2], s[0])
				results := b.Picks(b.New(ir.LinearCrossEntropy, attr, x, w, targets))
				if op == ir.LinearCrossEntropyGrad {
					return b.Picks(b.New(op, attr, x, w, targets, results[1], b.Normal(results[0].DType, s[0])))
				}
				return results
			}})
		}
	}
	slices.SortFunc(list, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func rowCases(op ir.Op) []Case {
	var list []Case
	for _, shape := range [][]int{{1}, {5}, {3, 1}, {4, 17}, {2, 3, 64}, {300, 33}, {7, 1000}, {2, 20011}, {0, 5}} {
		list = append(list, Case{Name: fmt.Sprint(shape), Build: func(b *B, dt dtype.Type) []*ir.Node {
			eps := 1e-5
			if shape[len(shape)-1] == 1 {
				eps = 0.1 // the gradient is a difference of almost equal numbers otherwise
			}
			return rowOp(b, op, dt, b.Normal(dt, shape...), ir.Attr{Float: eps})
		}})
	}
	list = append(list,
		Case{Name: "transposed", Build: func(b *B, dt dtype.Type) []*ir.Node {
			return rowOp(b, op, dt, b.Transposed(dt, 20, 33), ir.Attr{Float: 1e-5})
		}},
		Case{Name: "one row for all", Build: func(b *B, dt dtype.Type) []*ir.Node {
			return rowOp(b, op, dt, b.Repeated(dt, 0, 20, 33), ir.Attr{Float: 1e-5})
		}},
	)
	if strings.Contains(ir.RowOf(op).Operands, "w") {
		for _, half := range []dtype.Type{dtype.BF16, dtype.F16} {
			for _, shape := range [][]int{{4, 17}, {300, 64}, {7, 1000}} {
				list = append(list, Case{Name: fmt.Sprintf("%v of %v, weights of f32", shape, half), Build: func(b *B, dt dtype.Type) []*ir.Node {
					if dt != dtype.F32 {
						panic(stop{errNotForDType})
					}
					return rowOp(b, op, dt, b.Normal(half, shape...), ir.Attr{Float: 1e-5})
				}})
			}
		}
	}
	switch op {
	case ir.CrossEntropy, ir.CrossEntropyGrad:
		list = append(list, Case{Name: "label smoothing, ignored rows", Build: func(b *B, dt dtype.Type) []*ir.Node {
			return rowOp(b, op, dt, b.Normal(dt, 20, 33), ir.Attr{Float: 0.1, Index: 3})
		}})
		for _, shape := range [][]int{{20, 33}, {3, 5000}, {2, 40004}} {
			list = append(list, Case{Name: fmt.Sprintf("loss, logsumexp and gradient %v", shape), Build: func(b *B, dt dtype.Type) []*ir.Node {
				return lossAndGradient(b, dt, shape, func(loss *ir.Node) *ir.Node { return b.Normal(loss.DType, loss.Shape...) })
			}}, Case{Name: fmt.Sprintf("a gradient that depends on the loss %v", shape), Build: func(b *B, dt dtype.Type) []*ir.Node {
				return lossAndGradient(b, dt, shape, func(loss *ir.Node) *ir.Node { return b.New(ir.Mul, ir.Attr{}, loss, loss) })
			}})
		}
	default:
		list = append(list, Case{Name: "prologue and epilogue", Build: func(b *B, dt dtype.Type) []*ir.Node {
			x := b.New(ir.Mul, ir.Attr{}, b.Normal(dt, 20, 33), b.Repeated(dt, 0, 20, 33))
			results := rowOp(b, op, dt, x, ir.Attr{Float: 1e-5})
			results[0] = b.New(ir.Add, ir.Attr{}, b.New(ir.Tanh, ir.Attr{}, results[0]), b.Normal(dt, 20, 33))
			return results
		}})
	}
	return list
}

// rowOp applies a row op to x and to further operands of the kinds that its row names, weights of dt.
func rowOp(b *B, op ir.Op, dt dtype.Type, x *ir.Node, attr ir.Attr) []*ir.Node {
	switch op {
	case ir.SoftmaxGrad:
		x = b.New(ir.Softmax, ir.Attr{}, x)
	case ir.LogSoftmaxGrad:
		x = b.New(ir.LogSoftmax, ir.Attr{}, x)
	case ir.CrossEntropy, ir.CrossEntropyGrad:
		return rowLoss(b, op, x, attr)
	}
	src := []*ir.Node{x}
	for _, kind := range ir.RowOf(op).Operands[1:] {
		if kind == 'w' {
			src = append(src, b.Normal(dt, x.Shape[len(x.Shape)-1]))
		} else {
			src = append(src, b.Transposed(x.DType, x.Shape...))
		}
	}
	n := b.New(op, attr, src...)
	if n.Outs != nil {
		return b.Picks(n)
	}
	return []*ir.Node{n}
}

// rowLoss is a cross entropy of logits x, or its gradient.
func rowLoss(b *B, op ir.Op, x *ir.Node, attr ir.Attr) []*ir.Node {
	if len(x.Shape) != 2 {
		panic(stop{errNotForDType})
	}
	if attr.Index == 0 {
		attr.Index, attr.Float = -100, 0
	}
	targets := b.Index(x.Shape[1], x.Shape[0])
	loss := b.New(ir.CrossEntropy, attr, x, targets)
	results := b.Picks(loss)
	if op == ir.CrossEntropy {
		return results
	}
	return []*ir.Node{b.New(op, attr, x, targets, results[1], b.Normal(results[0].DType, x.Shape[0]))}
}

// lossAndGradient is a cross entropy and its gradient, of which upstream is that of the losses.
func lossAndGradient(b *B, dt dtype.Type, shape []int, upstream func(loss *ir.Node) *ir.Node) []*ir.Node {
	if !dt.Float() {
		panic(stop{errNotForDType})
	}
	attr := ir.Attr{Index: -100}
	x, targets := b.Normal(dt, shape...), b.Index(shape[1], shape[0])
	results := b.Picks(b.New(ir.CrossEntropy, attr, x, targets))
	return append(results, b.New(ir.CrossEntropyGrad, attr, x, targets, results[1], upstream(results[0])))
}
