package cpu

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// isJoined says whether a MatMul group has what only other devices hint that they join: a norm before its
// products, or elementwise work on several of them.
func isJoined(g *backend.Group) bool {
	root := make([]int, len(g.Insts)) // the product that an instruction is computed from; -1: none
	for i, in := range g.Insts {
		root[i] = -1
		switch {
		case in.Op == ir.RMSNorm:
			return true
		case in.Op == ir.MatMul:
			root[i] = i
			continue
		}
		for _, a := range in.Args {
			if _, input := a.Input(); input || root[a.Index] < 0 {
				continue
			}
			if root[i] >= 0 && root[i] != root[a.Index] {
				return true
			}
			root[i] = root[a.Index]
		}
	}
	return false
}

// compileApart computes each instruction of a joined group by itself, with results in memory between them.
// No plan for this backend has such groups; those of a GPU are rehearsed here.
func compileApart(g *backend.Group, ls *listing) (func(*launch), error) {
	bufs := 0
	for _, in := range g.Inputs {
		bufs = max(bufs, in.Buf+1)
	}
	for _, o := range g.Outputs {
		bufs = max(bufs, o.Buf+1)
	}
	inputs := slices.Clone(g.Inputs)
	var runs []func(*launch)
	var room []int // bytes of each result
	add := func(kind backend.Kind, insts []backend.Inst, o backend.Output) error {
		own := &backend.Group{Name: g.Name, Kind: kind, Inputs: slices.Clone(inputs), Insts: insts, Outputs: []backend.Output{o}}
		if kind == backend.Map && len(insts) > 0 {
			for _, a := range insts[0].Args {
				if i, _ := a.Input(); len(inputs[i].Layout.Shape) > 0 {
					own.Inputs[i].Layout = inputs[i].Layout.Expand(o.Shape)
				}
			}
		}
		run, err := compilerOf(own)(own, ls)
		ls.quick = nil // that of a part
		runs = append(runs, run)
		return err
	}
	at := make([]backend.Ref, len(g.Insts)) // where the result of an instruction is read
	seen := func(args []backend.Ref) []backend.Ref {
		args = slices.Clone(args)
		for i, a := range args {
			if _, input := a.Input(); !input {
				args[i] = at[a.Index]
			}
		}
		return args
	}
	for i, in := range g.Insts {
		if in.Op == ir.Dequantize {
			continue
		}
		kind, insts := backend.Map, []backend.Inst(nil)
		switch in.Op {
		case ir.RMSNorm:
			kind = backend.Row
		case ir.MatMul:
			kind = backend.MatMul
			in.Args = slices.Clone(in.Args)
			for _, a := range in.Args {
				if _, input := a.Input(); !input && g.Insts[a.Index].Op == ir.Dequantize {
					at[a.Index] = backend.Ref{Index: len(insts)}
					insts = append(insts, g.Insts[a.Index])
				}
			}
		}
		in.Args = seen(in.Args)
		o := backend.Output{Value: backend.Ref{Index: len(insts)}, Buf: bufs + len(room), DType: in.DType, Shape: in.Shape}
		if err := add(kind, append(insts, in), o); err != nil {
			return nil, err
		}
		at[i] = backend.In(len(inputs))
		inputs = append(slices.Clone(inputs), backend.Input{DType: in.DType, Layout: ir.Contiguous(in.Shape), Buf: o.Buf})
		room = append(room, max(1, ir.Size(in.Shape)*in.DType.Size()))
	}
	for _, o := range g.Outputs {
		o.Value = seen([]backend.Ref{o.Value})[0]
		if err := add(backend.Map, nil, o); err != nil {
			return nil, err
		}
	}
	return func(l *launch) {
		for len(l.bufs) < bufs {
			l.bufs = append(l.bufs, nil)
		}
		l.bufs = l.bufs[:bufs]
		for _, n := range room {
			l.bufs = append(l.bufs, alignedBytes(n))
		}
		for _, run := range runs {
			run(l)
		}
	}, nil
}
