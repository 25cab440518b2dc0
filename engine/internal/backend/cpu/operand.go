package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An operand is an input of an instruction that stands alone, read as elements of a chosen dtype in C order.
type operand struct {
	states perWorker
	n      int
	size   int
}

// newOperand broadcasts input r to shape and converts it to t; Register(dtype) and the input's own dtype are
// always possible.
func newOperand(g *backend.Group, r backend.Ref, shape []int, t dtype.Type) (*operand, error) {
	i, _ := r.Input()
	in := g.Inputs[i]
	alone := &backend.Group{Inputs: []backend.Input{in}}
	spec := tile.Spec{Group: alone, Shape: shape, Outs: []tile.Out{{Value: backend.In(0), DType: t}}}
	if t != in.DType && t != tile.Register(in.DType) {
		alone.Insts = []backend.Inst{{Op: ir.Cast, Attr: ir.Attr{DType: t}, DType: t, Shape: shape, Args: []backend.Ref{backend.In(0)}}}
		spec.Insts = []int{0}
		spec.Outs[0].Value = backend.Ref{Index: 0}
	}
	p, err := tile.Compile(spec)
	if err != nil {
		return nil, err
	}
	return &operand{states: perWorker{prog: p}, n: ir.Size(shape), size: t.Size()}, nil
}

// reserve says that fetch will be asked for up to n elements.
func (o *operand) reserve(n int) *operand {
	o.states.reserve = n
	return o
}

func (o *operand) bind(l *launch) { o.states.bind(l) }

func (o *operand) release() { o.states.release() }

// fetch returns elements start to start+n, valid until the worker's next call.
func (o *operand) fetch(worker, start, n int) unsafe.Pointer {
	return o.states.at(worker).Fetch(start, n)[0]
}

// copyTo writes elements start to start+n to p.
func (o *operand) copyTo(worker int, p unsafe.Pointer, start, n int) {
	s := o.states.at(worker)
	s.SetOut(0, p, start)
	s.Run(start, n)
}

// all returns all elements: where they are, if they lie in one piece, else gathered by all threads into
// scratch. It must be called outside of loops.
func (o *operand) all(l *launch) unsafe.Pointer {
	if o.states.launch != l {
		o.bind(l)
	}
	if o.n == 0 {
		return nil
	}
	if p := o.states.at(0).View(0, 0, o.n); p != nil {
		return p
	}
	p := unsafe.Pointer(unsafe.SliceData(l.scratch.bytes(o.n * o.size)))
	o.copyAll(l, p)
	return p
}

// copyAll writes all elements to p. It must be called outside of loops.
func (o *operand) copyAll(l *launch, p unsafe.Pointer) {
	l.pool.Range(o.n, mapGrain, func(worker, lo, hi int) { o.copyTo(worker, unsafe.Add(p, lo*o.size), lo, hi-lo) })
}

// narrowAll stores n numbers, as they are computed, as those of an output.
func (l *launch) narrowAll(out *backend.Output, from unsafe.Pointer, n int) {
	to, size := l.pointer(out.Buf), tile.Register(out.DType).Size()
	l.pool.Range(n, mapGrain, func(_, lo, hi int) {
		narrowTo(out.DType, unsafe.Add(to, lo*out.DType.Size()), unsafe.Add(from, lo*size), hi-lo)
	})
}

// numberOf returns a scalar operand: a number of the command, or one element of memory.
func numberOf(l *launch, in *backend.Input) ir.Scalar {
	if in.Buf < 0 {
		return l.scalars[in.Scalar]
	}
	return ir.Load(in.DType, l.bufs[in.Buf][in.Layout.Offset*in.DType.Size():])
}

// inputOf is the input that an operand of the instruction is.
func inputOf(g *backend.Group, r backend.Ref) *backend.Input {
	i, _ := r.Input()
	return &g.Inputs[i]
}

// outputOf is where a result is stored, or nil if it is not wanted.
func outputOf(g *backend.Group, result int) *backend.Output {
	for i := range g.Outputs {
		if g.Outputs[i].Value.Result == result {
			return &g.Outputs[i]
		}
	}
	return nil
}
