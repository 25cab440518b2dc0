package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// ending is the epilogue as the library computes it, if it can: a matrix of the result's type is added, then
// a row, then comes gelu. The only result is then what the calls store.
func (s *split) ending(fits func(dtype.Type) bool) (e ending, whole bool) {
	if len(s.results) != 1 {
		return e, false
	}
	r := &s.results[0]
	var ok bool
	e.scale = -1
	if e.d, ok = s.stores(0); !ok || !fits(r.dtype) {
		return e, false
	}
	at := backend.Ref{Index: s.number}
	for at != r.value {
		i := s.next(at)
		if i < 0 {
			return e, false
		}
		in := &s.g.Insts[i]
		to := backend.Ref{Index: i}
		switch {
		case e.gelu:
			return e, false
		case in.Op == ir.Cast && in.DType.Float() && (in.DType == dtype.F32 || to == r.value): // rounded at the end
		case in.Op == ir.Gelu && in.Attr.Flags&ir.TanhApprox != 0:
			e.gelu = true
		case in.Op == ir.Mul && e.scale < 0 && e.c == nil && e.bias == nil && len(s.thin) == 0:
			i, input := besides(in, at).Input()
			if !input || !isNumber(s.g.Inputs[i]) {
				return e, false
			}
			e.scale = s.g.Inputs[i].Scalar
		case in.Op == ir.Add:
			if !s.added(besides(in, at), r.dtype, &e) {
				return e, false
			}
		default:
			return e, false
		}
		at = to
	}
	return e, true
}

// besides is the other operand of an instruction that has two.
func besides(in *backend.Inst, v backend.Ref) backend.Ref {
	if in.Args[0] == v {
		return in.Args[1]
	}
	return in.Args[0]
}

// next is the only instruction of the epilogue that reads a value, or -1.
func (s *split) next(v backend.Ref) int {
	next := -1
	for i := range s.g.Insts {
		if s.after[i] && slices.Contains(s.g.Insts[i].Args, v) {
			if next >= 0 {
				return -1
			}
			next = i
		}
	}
	return next
}

// added notes an input that is added: a matrix as C, or a row as the bias.
func (s *split) added(v backend.Ref, dt dtype.Type, e *ending) bool {
	i, input := v.Input()
	if !input || isNumber(s.g.Inputs[i]) || s.g.Inputs[i].DType != dt {
		return false
	}
	p := &s.space.places[i]
	at := Field{Kind: Pointer, Size: 8, Index: s.g.Inputs[i].Buf, At: p.offset * dt.Size()}
	rows, columns := s.space.lens[1], s.space.lens[0]
	if p.strides[0] == 1 && p.strides[1] == 0 && s.batch(p) == 0 && e.bias == nil {
		e.bias = &operand{Matrix{DType: dt}, at}
		return true
	}
	m, ok := matrixOf(dt, rows, columns, p.strides[1], p.strides[0], s.batch(p))
	if !ok || m.Transposed || e.c != nil {
		return false
	}
	e.c, e.added = &operand{m, at}, i
	return true
}

// stores is the memory of result i as the matrix D.
func (s *split) stores(i int) (operand, bool) {
	r, p := &s.results[i], &s.space.places[len(s.g.Inputs)+len(s.inst.Args)+i]
	m, ok := matrixOf(r.dtype, s.space.lens[1], s.space.lens[0], p.strides[1], p.strides[0], s.batch(p))
	return operand{m, r.from(p)}, ok && !m.Transposed
}

// outputOf stores a value of a group that is made here as a result.
func (s *split) outputOf(r *result, v backend.Ref) backend.Output {
	return backend.Output{Value: v, Buf: s.lend(field(r.buf, r.at)), DType: r.dtype, Shape: s.inst.Shape, Stride: r.lies.Stride, Offset: r.lies.Offset}
}

// raw is the ending of calls that store the sums, and leave the epilogue to a dispatch: where the product
// itself is a result, or in the workspace.
func (s *split) raw(fits func(dtype.Type) bool) ending {
	for i, r := range s.results {
		if r.value == (backend.Ref{Index: s.number}) && fits(r.dtype) && s.way != stacked {
			if d, ok := s.stores(i); ok {
				return ending{d: d, result: i, scale: -1}
			}
		}
	}
	dt := s.inst.DType
	if !fits(dt) {
		dt = dtype.F32
	}
	rows, columns := s.space.lens[1], s.space.lens[0]
	size := s.stack() * ir.Size(s.inst.Shape)
	s.bytes += size * dt.Size()
	return ending{result: -1, scale: -1, d: operand{Matrix{DType: dt, Stride: columns, Batch: rows * columns}, field(s.borrow(size, dt), 0)}}
}

// stack is how many products of the result's shape a call stores one below the other.
func (s *split) stack() int {
	if s.way == stacked {
		return terms
	}
	return 1
}

// call writes the call of pair n.
func (s *split) call(pairs []pair, n int, e ending) bool {
	a, b := &pairs[n].sides[0], &pairs[n].sides[1]
	p := Product{
		Rows: s.stack() * s.space.lens[1], Columns: s.space.lens[0], Inner: pairs[n].inner, Batches: s.batches(),
		A: a.matrix, B: b.matrix, D: e.d.matrix, TF32: s.g.TF32 && a.matrix.DType == dtype.F32,
	}
	if p.Batches == 1 {
		p.A.Batch, p.B.Batch, p.D.Batch = 0, 0, 0
	}
	c := Call{Placement: placement(a.at, b.at, e.d.at), Scale: e.scale}
	p.Scaled = e.scale >= 0
	switch {
	case n > 0 || len(s.thin) > 0:
		p.C, c.Operands[ProductC] = p.D, e.d.at
		s.bytes += 2 * ir.Size(s.inst.Shape) * p.D.DType.Size()
	case e.c != nil:
		p.C, c.Operands[ProductC] = e.c.matrix, e.c.at
		if p.Batches == 1 {
			p.C.Batch = 0
		}
	}
	if n == len(pairs)-1 {
		p.Gelu = e.gelu
		if e.bias != nil {
			p.Bias, c.Operands[ProductBias] = true, e.bias.at
		}
	}
	var ok bool
	c.Work = p
	if c.WorkspaceBytes, ok = s.limits.Library.Offer(p); !ok {
		return false
	}
	s.steps = append(s.steps, Dispatch{Library: &c})
	s.calls = append(s.calls, s.steps[len(s.steps)-1])
	return true
}

// epilogue writes a dispatch that computes the other results from the sums.
func (s *split) epilogue(e ending) bool {
	g := &backend.Group{Name: s.g.Name, Kind: backend.Map}
	lies := ir.Contiguous(s.inst.Shape)
	buf, offset := e.d.at.Index, 0
	if e.result >= 0 {
		lies = s.results[e.result].lies
		if e.d.at.Kind == Scratch {
			buf, offset = workspace, e.d.at.At/e.d.matrix.DType.Size()
		}
	}
	lies.Offset += offset
	sum := backend.In(0)
	for i := range s.stack() { // the smallest term first
		term := lies
		term.Offset += (s.stack() - 1 - i) * ir.Size(s.inst.Shape)
		g.Inputs = append(g.Inputs, backend.Input{DType: e.d.matrix.DType, Layout: term, Buf: buf})
		if i > 0 {
			g.Insts = append(g.Insts, backend.Inst{Op: ir.Add, DType: s.inst.DType, Shape: s.inst.Shape, Args: []backend.Ref{sum, backend.In(i)}})
			sum = backend.Ref{Index: i - 1}
		}
	}
	refs := map[backend.Ref]backend.Ref{{Index: s.number}: sum}
	for i, need := range s.needed() {
		if need {
			refs[backend.In(i)] = backend.In(len(g.Inputs))
			g.Inputs = append(g.Inputs, s.g.Inputs[i])
		}
	}
	for i, in := range s.g.Insts {
		if !s.after[i] {
			continue
		}
		if in.Op == ir.Bitcast { // the sums may have another type than the product
			return false
		}
		args := make([]backend.Ref, len(in.Args))
		for n, a := range in.Args {
			args[n] = refs[a]
		}
		in.Args = args
		refs[backend.Ref{Index: i}] = backend.Ref{Index: len(g.Insts)}
		g.Insts = append(g.Insts, in)
	}
	for i, r := range s.results {
		if i == e.result {
			continue
		}
		g.Outputs = append(g.Outputs, s.outputOf(&r, refs[r.value]))
	}
	if len(g.Outputs) == 0 {
		return true
	}
	s.bytes += s.stack() * ir.Size(s.inst.Shape) * e.d.matrix.DType.Size()
	return s.render(g)
}
