package backendtest

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func attentionCases(op ir.Op) []Case {
	switch op {
	case ir.Rope:
		return ropeCases()
	case ir.PagedAttention:
		return pagedCases()
	}
	type geometry struct {
		B, Hq, Hk, Tq, Tk, D, Dv int
		flags                    ir.Flag
		mask                     string
		window                   int
		cap                      float64
	}
	var list []Case
	for n, g := range []geometry{
		{1, 1, 1, 1, 1, 1, 1, 0, "", 0, 0},
		{2, 3, 3, 5, 7, 8, 8, 0, "", 0, 0},
		{2, 4, 2, 9, 9, 16, 16, ir.Causal, "", 0, 0},
		{1, 6, 1, 1, 33, 32, 32, ir.Causal, "", 0, 0},
		{1, 2, 2, 70, 70, 24, 20, ir.Causal, "", 0, 0},
		{1, 2, 1, 5, 3, 8, 8, ir.Causal, "", 0, 0}, // the first queries see nothing
		{2, 2, 2, 6, 10, 8, 12, 0, "bool", 0, 0},
		{2, 4, 2, 40, 40, 64, 64, ir.Causal, "bool", 0, 0},
		{2, 2, 2, 6, 10, 8, 8, 0, "float", 0, 0},
		{1, 2, 2, 6, 10, 8, 8, 0, "shared", 0, 0},
		{1, 1, 1, 130, 200, 40, 40, 0, "", 0, 0},
		{0, 2, 2, 3, 3, 4, 4, 0, "", 0, 0},
		{1, 2, 1, 90, 90, 16, 16, ir.Causal, "", 20, 0}, // windows: of strips and tiles, narrower and wider
		{2, 2, 2, 70, 300, 16, 24, ir.Causal, "", 130, 0},
		{1, 4, 2, 150, 120, 16, 16, 0, "", 33, 0}, // on both sides; the first queries have their places before the keys
		{1, 4, 2, 3, 500, 16, 16, ir.Causal, "", 7, 0},
		{1, 2, 2, 5, 400, 16, 16, 0, "bool", 300, 0},
		{2, 4, 2, 40, 60, 16, 16, ir.Causal, "", 0, 0.8}, // capped scores
		{1, 2, 1, 9, 9, 8, 8, 0, "float", 4, 1.5},
		{1, 4, 4, 2, 40, 32, 32, ir.Causal, "bool", 30, 2},
		{2, 2, 1, 840, 840, 8, 16, ir.Causal, "", 40, 3}, // so many queries that a library's gradient is cut into chunks
	} {
		list = append(list, Case{Name: fmt.Sprintf("%+v", g), Build: func(b *B, dt dtype.Type) []*ir.Node {
			q, k, v := b.Normal(dt, g.B, g.Hq, g.Tq, g.D), b.Normal(dt, g.B, g.Hk, g.Tk, g.D), b.Normal(dt, g.B, g.Hk, g.Tk, g.Dv)
			if g.mask == "shared" { // as a layer makes them: heads cut out of rows
				q = b.New(ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, b.Normal(dt, g.B, g.Tq, g.Hq, g.D))
				k = b.New(ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, b.Normal(dt, g.B, g.Tk, g.Hk, g.D))
			}
			src := []*ir.Node{q, k, v}
			switch g.mask {
			case "bool":
				src = append(src, b.Normal(dtype.Bool, g.B, g.Hq, g.Tq, g.Tk))
			case "float":
				src = append(src, b.Normal(dt, 1, 1, g.Tq, g.Tk))
			case "shared":
				src = append(src, b.Normal(dtype.Bool, 1, g.Hq, g.Tq, g.Tk))
			}
			attr := ir.Sight{Window: g.window, Cap: g.cap}.Attr(0.3)
			attr.Flags = g.flags
			values := b.Picks(b.New(ir.Attention, attr, src...))
			read := values[:1]
			if op == ir.AttentionGrad {
				back := []*ir.Node{q, k, v, values[0], values[1], b.Normal(dt, values[0].Shape...)}
				values = b.Picks(b.New(op, attr, append(back, src[3:]...)...))
				read = append(read, values...)
			}
			if n%3 > 0 {
				values = append(values, b.rows(read)...)
			}
			return values
		}})
	}
	return list
}

// pagedCases are steps of a decoder. What lies in slots that no query sees is NaN: it must not be read.
func pagedCases() []Case {
	type geometry struct {
		B, H, G, T, D, E, page, pages, slots int
		last                                 []int      // of each batch's last query; those before it see one key less each
		kept                                 dtype.Type // Invalid: the type of q
		window                               int
		cap                                  float64
	}
	var list []Case
	for n, g := range []geometry{
		{1, 1, 1, 1, 4, 4, 4, 2, 8, []int{0}, 0, 0, 0},
		{1, 4, 2, 1, 16, 16, 64, 8, 1024, []int{299}, 0, 0, 0}, // a token in a long room
		{1, 4, 2, 1, 16, 16, 64, 8, 1024, []int{40}, 0, 0, 0},  // the same kernel: what is left of the first run
		{1, 4, 2, 1, 16, 16, 64, 8, 1024, []int{511}, 0, 0, 0},
		{1, 14, 2, 1, 64, 64, 64, 16, 1024, []int{700}, 0, 0, 0}, // of Qwen 2.5 0.5B
		{1, 7, 1, 1, 128, 128, 64, 16, 1024, []int{901}, 0, 300, 0},
		{3, 6, 2, 1, 32, 24, 16, 5, 320, []int{7, 79, 33}, 0, 0, 0},
		{2, 2, 1, 5, 8, 8, 4, 10, 96, []int{4, 31}, dtype.BF16, 0, 0}, // some guesses
		{1, 4, 4, 32, 20, 12, 64, 4, 512, []int{70}, 0, 0, 0},         // a block of a prompt
		{2, 4, 2, 33, 64, 64, 64, 6, 1024, []int{32, 300}, dtype.F16, 0, 0},
		{1, 2, 1, 96, 64, 64, 64, 8, 512, []int{400}, dtype.F32, 0, 0},
		{1, 2, 1, 40, 64, 64, 16, 8, 256, []int{90}, 0, 24, 0},      // a window
		{2, 3, 1, 1, 16, 16, 8, 6, 96, []int{44, 3}, 0, 5, 0},       // of a token
		{2, 2, 2, 17, 16, 16, 8, 6, 96, []int{40, 21}, 0, 0, 2},     // capped scores
		{1, 2, 1, 1, 16, 16, 8, 6, 96, []int{40}, dtype.I8, 7, 1.5}, // all at once
		{2, 4, 2, 1, 32, 32, 64, 3, 512, []int{150, 2}, dtype.I8, 0, 0},
		{1, 4, 2, 50, 32, 40, 16, 8, 256, []int{100}, dtype.I8, 0, 0},
		{2, 2, 1, 3, 8, 8, 4, 4, 32, []int{-1, 9}, 0, 0, 0}, // a row that sees nothing
		{0, 2, 1, 3, 8, 8, 4, 4, 32, nil, 0, 0, 0},
	} {
		list = append(list, Case{Name: fmt.Sprintf("%+v", g), Build: func(b *B, dt dtype.Type) []*ir.Node {
			kept := g.kept
			if kept == dtype.Invalid {
				kept = dt
			}
			b.wantType(kept)
			pages, last, seen := make([]int64, g.B*g.pages), make([]int64, g.B*g.T), make([]bool, g.slots)
			free := b.rng.Perm(g.slots / g.page)
			for i := range g.B {
				for j := 0; j <= g.last[i]; j++ {
					if j%g.page == 0 {
						pages[i*g.pages+j/g.page] = int64(free[0])
						free = free[1:]
					}
					seen[int(pages[i*g.pages+j/g.page])*g.page+j%g.page] = true
				}
				for t := range g.T {
					last[i*g.T+t] = int64(max(-1, g.last[i]-g.T+1+t))
				}
			}
			if len(last) > 3 {
				last[0] = last[1] // the first token stands there twice
			}
			vectors := func(width int) (x, scale *ir.Node) {
				if kept == dtype.I8 {
					return b.Leaf(kept, []int{g.G, g.slots, width}, func(int) float64 { return float64(b.rng.IntN(255) - 127) }),
						b.Leaf(dtype.F32, []int{g.G, g.slots, 1}, func(i int) float64 { return unseen(seen[i%g.slots], 0.01+0.02*b.rng.Float64()) })
				}
				return b.Leaf(kept, []int{g.G, g.slots, width}, func(i int) float64 {
					return unseen(seen[i/width%g.slots], b.rng.NormFloat64())
				}), nil
			}
			k, ks := vectors(g.D)
			v, vs := vectors(g.E)
			q := b.New(ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, b.Normal(dt, g.B, g.T, g.H, g.D)) // as a layer makes them
			src := []*ir.Node{q, k, v, b.Ints(dtype.I64, []int{g.B, g.pages}, pages...), b.Ints(dtype.I64, []int{g.B, g.T}, last...)}
			if kept == dtype.I8 {
				src = append(src, ks, vs)
			}
			attr := ir.Sight{Window: g.window, Cap: g.cap}.Attr(0.3, g.page)
			values := b.Picks(b.New(ir.PagedAttention, attr, src...))
			if n%3 > 0 {
				values = append(values, b.rows(values[:1])...)
			}
			return values
		}})
	}
	return list
}

// rows are values with axes of batches, heads and tokens as a layer reads them: the heads of a token beside
// each other. Devices may store them so.
func (b *B) rows(values []*ir.Node) (list []*ir.Node) {
	for _, v := range values {
		s := v.Shape
		turned := b.New(ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, v)
		list = append(list, b.New(ir.Reshape, ir.Attr{Shape: []int{s[0] * s[2], s[1] * s[3]}}, turned))
	}
	return list
}

// unseen is x where somebody looks, and else NaN.
func unseen(seen bool, x float64) float64 {
	if seen {
		return x
	}
	return math.NaN()
}

func ropeCases() []Case {
	var list []Case
	for _, flags := range []ir.Flag{0, ir.Reverse, ir.Interleaved, ir.Interleaved | ir.Reverse} {
		attr := ir.Attr{Float: 10000, Flags: flags}
		for _, shape := range [][]int{{1, 2}, {5, 8}, {2, 3, 7, 16}, {2, 4, 33, 64}, {2, 0, 8}} {
			tokens := shape[len(shape)-2]
			list = append(list, Case{Name: fmt.Sprint(flags, shape), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				return b.New(ir.Rope, attr, b.Normal(dt, shape...), b.Index(2000, tokens))
			})})
		}
		list = append(list,
			Case{Name: fmt.Sprint(flags, " positions of each batch"), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				return b.New(ir.Rope, attr, b.Normal(dt, 3, 2, 5, 8), b.Index(100, 3, 1, 5))
			})},
			Case{Name: fmt.Sprint(flags, " queries and keys, at other rates"), Build: func(b *B, dt dtype.Type) []*ir.Node {
				positions, slow := b.Index(100, 5), attr
				slow.Float = 100
				return []*ir.Node{b.New(ir.Rope, attr, b.Normal(dt, 2, 6, 5, 8), positions), b.New(ir.Rope, slow, b.Normal(dt, 2, 1, 5, 8), positions),
					b.New(ir.Rope, attr, b.Normal(dt, 5, 8), positions)}
			}},
			Case{Name: fmt.Sprint(flags, " heads cut out of rows"), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				x := b.New(ir.Permute, ir.Attr{Axes: []int{0, 2, 1, 3}}, b.Normal(dt, 2, 5, 3, 8))
				return b.New(ir.Rope, attr, x, b.Index(100, 5))
			})},
			Case{Name: fmt.Sprint(flags, " rates of each pair"), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				scaled := attr
				scaled.Rates = []float64{1, 0.2, 0.025, 0}
				return b.New(ir.Rope, scaled, b.Normal(dt, 2, 3, 5, 8), b.Index(2000, 5))
			})},
			Case{Name: fmt.Sprint(flags, " turns of each pair"), Build: single(func(b *B, dt dtype.Type) *ir.Node {
				turns := b.Leaf(dtype.F32, []int{4, 2}, func(i int) float64 { return []float64{0.16, 1e-9, 0.031, -2e-10, 0.004, 1e-11, 0, 0}[i] })
				return b.New(ir.Rope, attr, b.Normal(dt, 2, 3, 5, 8), b.Index(30000, 5), turns)
			})},
		)
	}
	return list
}

func indexCases(op ir.Op) []Case {
	var list []Case
	add := func(name string, f func(b *B, dt dtype.Type) []*ir.Node) {
		list = append(list, Case{Name: name, Build: f})
	}
	switch op {
	case ir.ArgMax, ir.ArgMin, ir.CumSum:
		flags := []ir.Flag{0}
		if op == ir.CumSum {
			flags = []ir.Flag{0, ir.Reverse, ir.Exclusive, ir.Reverse | ir.Exclusive}
		}
		for _, f := range flags {
			for _, shape := range [][]int{{1}, {9}, {3, 70}, {5, 6, 7}, {300, 40}, {3, 20011}} {
				for axis := range shape {
					add(fmt.Sprint(f, shape, axis), func(b *B, dt dtype.Type) []*ir.Node {
						return []*ir.Node{b.New(op, ir.Attr{Axis: axis, Flags: f}, b.Normal(dt, shape...))}
					})
				}
			}
			add(fmt.Sprint(f, " transposed"), func(b *B, dt dtype.Type) []*ir.Node {
				return []*ir.Node{b.New(op, ir.Attr{Axis: 1, Flags: f}, b.Transposed(dt, 20, 33))}
			})
		}
		if op != ir.CumSum {
			list = append(list, Case{Name: "special values", Build: single(func(b *B, dt dtype.Type) *ir.Node {
				n := len(specials(dt))
				x := b.New(ir.Reshape, ir.Attr{Shape: []int{n, n}}, b.Special(dt, true))
				return b.New(op, ir.Attr{Axis: 1}, b.New(ir.Add, ir.Attr{}, x, b.Normal(dt, n, n)))
			})})
		}
	case ir.TopK:
		for _, s := range [][3]int{{1, 1, 1}, {3, 9, 4}, {2, 70, 70}, {5, 300, 10}, {1, 20011, 5}, {2, 5000, 5000}, {3, 5, 0}} {
			for _, f := range []ir.Flag{0, ir.Reverse} {
				add(fmt.Sprint(s, f), func(b *B, dt dtype.Type) []*ir.Node {
					return b.Picks(b.New(op, ir.Attr{Index: s[2], Flags: f}, b.Normal(dt, s[0], s[1])))
				})
			}
		}
		add("special values", func(b *B, dt dtype.Type) []*ir.Node {
			return b.Picks(b.New(op, ir.Attr{Index: 9}, b.Special(dt, true)))
		})
	case ir.ScatterWith:
		for _, how := range []ir.Combination{ir.Replace, ir.Multiply, ir.Least, ir.Greatest} {
			for _, c := range gatherCases(op, int(how)) {
				c.Name = fmt.Sprintf("combination %d, %s", how, c.Name)
				list = append(list, c)
			}
		}
	default:
		list = gatherCases(op, 0)
	}
	return list
}

func gatherCases(op ir.Op, combination int) []Case {
	var list []Case
	add := func(name string, f func(b *B, dt dtype.Type) *ir.Node) {
		list = append(list, Case{Name: name, Build: single(f)})
	}
	for axis := range 3 {
		for _, index := range [][]int{{4}, {}, {2, 3}, {0}, {50}} {
			attr, shape := ir.Attr{Axis: axis, Index: combination}, []int{5, 6, 7}
			taken := append(append(append([]int{}, shape[:axis]...), index...), shape[axis+1:]...)
			along := append([]int{}, shape...)
			along[axis] = ir.Size(index)
			add(fmt.Sprintf("axis %d, index %v", axis, index), func(b *B, dt dtype.Type) *ir.Node {
				x := b.Normal(dt, shape...)
				switch op {
				case ir.Gather:
					return b.New(op, attr, x, b.Places(shape[axis], index...))
				case ir.GatherAlong:
					return b.New(op, attr, x, b.Places(shape[axis], along...))
				case ir.ScatterAdd, ir.Overwrite:
					return b.New(op, attr, x, b.Places(shape[axis], index...), b.Normal(dt, taken...))
				}
				return b.New(op, attr, x, b.Places(shape[axis], along...), b.Normal(dt, along...))
			})
			if op == ir.Overwrite {
				add(fmt.Sprintf("axis %d, index %v, in place", axis, index), func(b *B, dt dtype.Type) *ir.Node {
					return b.New(op, ir.Attr{Axis: axis, Flags: ir.InPlace}, b.Normal(dt, shape...), b.Places(shape[axis], index...), b.Normal(dt, taken...))
				})
			}
		}
	}
	if op == ir.Overwrite {
		for _, count := range []int{1, 6, 70} {
			list = append(list, Case{Name: fmt.Sprintf("several at %d places, in place", count), Build: func(b *B, dt dtype.Type) []*ir.Node {
				attr, places := ir.Attr{Axis: 1, Flags: ir.InPlace}, b.Places(9, count)
				put := func(heads, width int) *ir.Node {
					return b.New(op, attr, b.Normal(dt, heads, 9, width), places, b.Normal(dt, heads, count, width))
				}
				return []*ir.Node{put(2, 8), put(3, 1), put(1, 300)}
			}})
		}
	}
	add("many rows, strided", func(b *B, dt dtype.Type) *ir.Node {
		x := b.Transposed(dt, 100, 33)
		switch op {
		case ir.Gather:
			return b.New(op, ir.Attr{}, x, b.Places(100, 700))
		case ir.GatherAlong:
			return b.New(op, ir.Attr{}, x, b.Places(100, 70, 33))
		case ir.ScatterAdd, ir.Overwrite:
			return b.New(op, ir.Attr{}, x, b.Places(100, 700), b.Transposed(dt, 700, 33))
		}
		return b.New(op, ir.Attr{Index: combination}, x, b.Places(100, 70, 33), b.Transposed(dt, 70, 33))
	})
	if op == ir.ScatterWith || op == ir.ScatterAlong {
		for _, shape := range [][]int{{4, 50, 70}, {1, 300, 20}, {60, 50, 1}} { // one index for a slice, of which some come twice
			add(fmt.Sprint("slices ", shape), func(b *B, dt dtype.Type) *ir.Node {
				index := b.New(ir.Expand, ir.Attr{Shape: shape}, b.Places(40, 1, shape[1], 1))
				return b.New(op, ir.Attr{Axis: 1, Index: combination}, b.Normal(dt, shape[0], 40, shape[2]), index, b.Normal(dt, shape...))
			})
		}
	}
	for _, l := range []struct{ places, count int }{{3, 1400}, {300, 3000}} { // of a place many updates, and of a line more than are sorted at once
		switch {
		case op == ir.ScatterAdd || op == ir.Overwrite:
			add(fmt.Sprint("long ", l), func(b *B, dt dtype.Type) *ir.Node {
				return b.New(op, ir.Attr{}, b.Normal(dt, l.places, 3), b.Places(l.places, l.count/10, 10), b.Normal(dt, l.count/10, 10, 3))
			})
		case op == ir.ScatterAlong || op == ir.ScatterWith && (l.places > 3 || ir.Combination(combination) != ir.Multiply):
			add(fmt.Sprint("long lines ", l), func(b *B, dt dtype.Type) *ir.Node {
				return b.New(op, ir.Attr{Axis: 1, Index: combination}, b.Normal(dt, 2, l.places), b.Places(l.places, 2, l.count), b.Transposed(dt, 2, l.count))
			})
			add(fmt.Sprint("long columns ", l), func(b *B, dt dtype.Type) *ir.Node {
				index := b.New(ir.Expand, ir.Attr{Shape: []int{2, l.count, 3}}, b.Places(l.places, 2, l.count, 1))
				return b.New(op, ir.Attr{Axis: 1, Index: combination}, b.Normal(dt, 2, l.places, 3), index, b.Normal(dt, 2, l.count, 3))
			})
		}
	}
	if op == ir.ScatterWith {
		add("special values", func(b *B, dt dtype.Type) *ir.Node {
			x := b.Special(dt, false)
			return b.New(op, ir.Attr{Index: combination}, x, b.Ints(dtype.I64, x.Shape, upTo(ir.Size(x.Shape))...), b.Special(dt, true))
		})
	}
	return list
}

// upTo lists 0 … n−1.
func upTo(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

func optimizerCases(op ir.Op) []Case {
	sizes := [][]int{{5}, {}, {33, 7}, {0, 3}, {20011}, {1, 1}}
	if op == ir.SumSquares {
		return []Case{
			{Name: "one", Build: single(func(b *B, dt dtype.Type) *ir.Node { return b.New(op, ir.Attr{}, b.Normal(dt, 300)) })},
			{Name: "many", Build: single(func(b *B, dt dtype.Type) *ir.Node {
				list := []*ir.Node{b.Transposed(dt, 9, 33)}
				for _, s := range sizes {
					list = append(list, b.Normal(dt, s...))
				}
				return b.New(op, ir.Attr{}, list...)
			})},
		}
	}
	var list []Case
	for _, c := range []struct {
		n            int
		decay, guard float64
		flags        ir.Flag
	}{
		{1, 0, 1, 0}, {1, 0.1, -1, 0}, {len(sizes), 0, 0, 0}, {len(sizes), 0.1, 1, ir.InPlace},
		{len(sizes), 0, math.NaN(), 0}, {len(sizes), 0, math.Inf(-1), ir.InPlace},
		{1, 0.1, 0, ir.Masters}, {len(sizes), 0.1, 0, ir.Masters | ir.InPlace}, {len(sizes), 0, math.NaN(), ir.Masters},
	} {
		list = append(list, Case{Name: fmt.Sprintf("%d tensors, decay %v, guard %v, flags %d", c.n, c.decay, c.guard, c.flags), Tol: 1e-6, Rounded: true, Build: func(b *B, dt dtype.Type) []*ir.Node {
			state := dtype.F32
			if dt == dtype.F64 {
				state = dt
			}
			var src []*ir.Node
			for _, s := range []float64{0.01, 0.875, 1 - 0x1p-10, 1e-8, c.decay, 0.19, 0.002} { // β in f32 are β
				src = append(src, b.Number(state, s))
			}
			src = append(src, b.Leaf(state, nil, func(int) float64 { return 0.7 }), b.Leaf(state, nil, func(int) float64 { return c.guard }))
			params, masters := b.mastered(dt, sizes[:c.n])
			src = append(src, params...)
			for _, s := range sizes[:c.n] { // gradients
				src = append(src, b.Normal(dt, s...))
			}
			moments := b.moments
			if op == ir.AdamW8 {
				moments = b.moments8
			}
			src = append(src, moments(state, sizes[:c.n])...)
			if c.flags&ir.Masters != 0 {
				src = append(src, masters...)
			}
			return b.Picks(b.New(op, ir.Attr{Flags: c.flags}, src...))
		}})
	}
	return list
}

// mastered are parameters of these shapes, and numbers of f32 that round to them, but for every seventh.
func (b *B) mastered(dt dtype.Type, shapes [][]int) (params, masters []*ir.Node) {
	for _, s := range shapes {
		var list []float64
		params = append(params, b.Leaf(dt, s, func(int) float64 {
			list = append(list, float64(float32(b.rng.NormFloat64())))
			return list[len(list)-1]
		}))
		masters = append(masters, b.Leaf(dtype.F32, s, func(i int) float64 {
			if i%7 == 3 {
				return list[i] + 1
			}
			return list[i]
		}))
	}
	return params, masters
}

// moments are the first and then the second moments of parameters of these shapes.
func (b *B) moments(dt dtype.Type, shapes [][]int) (list []*ir.Node) {
	for _, s := range shapes {
		list = append(list, b.Normal(dt, s...))
	}
	for _, s := range shapes {
		list = append(list, b.Positive(dt, s...))
	}
	return list
}

// moments8 are moments in 8 bits: codes and scales of the first ones, then of the roots of the second ones.
func (b *B) moments8(_ dtype.Type, shapes [][]int) (list []*ir.Node) {
	for range 2 {
		for _, s := range shapes {
			list = append(list, b.Leaf(dtype.U8, []int{blocksOf(s), ir.DynamicBlock}, func(int) float64 { return float64(b.rng.IntN(256)) }))
		}
		for _, s := range shapes {
			list = append(list, b.Positive(dtype.F32, blocksOf(s), 1))
		}
	}
	return list
}

func blocksOf(shape []int) int { return (ir.Size(shape) + ir.DynamicBlock - 1) / ir.DynamicBlock }
