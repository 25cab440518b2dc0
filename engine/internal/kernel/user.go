package kernel

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// userKernel is the text of a person: only the struct is filled in. A result that is to begin as zeros is
// filled before, and one that nobody reads lies in the workspace.
func userKernel(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	own := in.Attr.Kernel
	if own.Routine != nil {
		routine(g, k, own)
		return
	}
	t := newText(g, false)
	for _, a := range own.Args {
		switch a.Kind {
		case ir.KernelSource:
			t.input("x", in.Args[a.Index])
		case ir.KernelResult:
			o := own.Outs[a.Index]
			buf, offset := resultPlace(g, k, a.Index, o)
			t.pointer("", "y", o.DType, buf, offset)
			if a.Zero {
				k.Dispatches = append(k.Dispatches, zeros(g, k.limits, backend.Output{Buf: buf, DType: o.DType, Shape: o.Shape, Offset: offset})...)
			}
		case ir.KernelNumber:
			t.element(Field{Kind: Constant, Size: a.Size, Value: int64(a.Bits)})
		}
	}
	t.args.Size = (t.args.Size + 7) / 8 * 8
	k.Dispatches = append(k.Dispatches, Dispatch{Function: own.Function, Text: own.Text, Args: t.args, Groups: own.Groups, Threads: own.Threads})
}

// resultPlace is the buffer of a result, and the element of it at which the result begins.
func resultPlace(g *backend.Group, k *Kernel, result int, t ir.Type) (buf, offset int) {
	for _, o := range g.Outputs {
		if o.Value.Result == result {
			return o.Buf, 0
		}
	}
	const aligned = 64
	offset = k.Scratch / t.DType.Size()
	k.Scratch += (t.Bytes() + aligned - 1) / aligned * aligned
	return workspace, offset
}

// zeros fills an output.
func zeros(g *backend.Group, limits Limits, o backend.Output) []Dispatch {
	e := newElements(g, limits, "zero", o.Shape, named{name: "y", layout: o.Layout()})
	e.writes(o)
	return e.dispatch(func() { e.store(o.DType, "0") })
}
