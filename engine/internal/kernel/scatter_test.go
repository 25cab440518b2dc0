package kernel

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// overwrites stores rows in two matrices, at the same places, of which some come twice.
func overwrites(m, n, rows int) *backend.Group {
	g := &backend.Group{Name: "overwrites", Kind: backend.Single, Inputs: []backend.Input{tensorInput(0, dtype.I64, rows)}}
	for i := range 2 {
		g.Inputs = append(g.Inputs, tensorInput(3*i+1, dtype.F32, m, n), tensorInput(3*i+2, dtype.F32, rows, n))
		g.Insts = append(g.Insts, backend.Inst{Op: ir.Overwrite, DType: dtype.F32, Shape: []int{m, n}, Args: []backend.Ref{backend.In(2*i + 1), backend.In(0), backend.In(2*i + 2)}})
		g.Outputs = append(g.Outputs, backend.Output{Value: backend.Ref{Index: i}, Buf: 3*i + 3, DType: dtype.F32, Shape: []int{m, n}})
	}
	return g
}

// keptGroup turns queries and keys of some texts, and stores keys and values in places of caches, some twice.
func keptGroup(texts, tokens, d int, flags ir.Flag) *backend.Group {
	const heads, slots = 3, 6
	x, cache, rows := []int{texts, heads, tokens, d}, []int{heads, slots, d}, []int{heads, texts * tokens, d}
	g := &backend.Group{Name: "kept", Kind: backend.Single, Inputs: []backend.Input{
		tensorInput(0, dtype.F32, x...), tensorInput(1, dtype.F32, x...), tensorInput(2, dtype.I64, texts, 1, tokens), tensorInput(3, dtype.I64, texts*tokens),
		tensorInput(4, dtype.F32, cache...), tensorInput(5, dtype.F32, cache...), tensorInput(6, dtype.F32, rows...), tensorInput(8, dtype.F32, rows...)}}
	for i, args := range [][]int{{0, 2}, {1, 2}, {4, 3, 7}, {5, 3, 6}} {
		in := backend.Inst{Op: ir.Rope, Attr: ir.Attr{Float: 100, Flags: flags}, DType: dtype.F32, Shape: x}
		o := backend.Output{Value: backend.Ref{Index: i}, Buf: 7 + i, DType: dtype.F32, Shape: x, Stride: []int{tokens * d, texts * tokens * d, d, 1}}
		if i > 1 {
			in.Op, in.Attr, in.Shape = ir.Overwrite, ir.Attr{Axis: 1}, cache
			o.Shape, o.Stride = cache, nil
		}
		for _, a := range args {
			in.Args = append(in.Args, backend.In(a))
		}
		g.Insts, g.Outputs = append(g.Insts, in), append(g.Outputs, o)
	}
	return g
}
