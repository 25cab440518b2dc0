package cpu

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A problem is a product as package gemm sees it, and where its operands are.
type problem struct {
	m, n    int // of a matrix of the batch, as it is computed
	batch   int
	terms   []gemm.Term
	left    []place
	right   []place         // of a quantised weight: its codes
	scales  []place         // of a quantised weight; nowhere otherwise
	extra   []place         // likewise, of its third part
	weights []writtenWeight // what a product of float64 reads instead of codes
}

// size is the number of elements of the result.
func (p *problem) size() int { return p.m * p.n * p.batch }

// read reads the product that instruction inst is, and how its operands lie.
func (m *matMul) read(p *problem, inst int) error {
	in := &m.g.Insts[inst]
	rank := len(in.Shape)
	p.m, p.n = in.Shape[rank-2], in.Shape[rank-1]
	batch := slices.Clone(in.Shape[:rank-2])
	var lays []ir.Layout // left and right of each term, with all batch axes
	for i := 0; i < len(in.Args); i += 2 {
		var t gemm.Term
		for side, arg := range in.Args[i : i+2] {
			read := m.operand
			if side == 1 {
				read = func(r backend.Ref) (ir.Layout, place, error) { return m.rightOperand(p, &t, r) }
			}
			lay, at, err := read(arg)
			if err != nil {
				return err
			}
			lay = withBatch(lay, batch)
			lays = append(lays, lay)
			if side == 0 {
				t.K, t.A.Elem = lay.Shape[rank-1], elemOf(at.dtype)
				p.left = append(p.left, at)
			} else {
				t.B.Elem = elemOf(at.dtype)
				p.right = append(p.right, at)
			}
		}
		if t.K == 0 { // adds nothing, and need not have an address
			n := len(p.left) - 1
			p.left, p.right, p.scales, p.extra, lays = p.left[:n], p.right[:n], p.scales[:n], p.extra[:n], lays[:2*n]
			continue
		}
		p.terms = append(p.terms, t)
	}
	batch = p.joinRows(batch, lays)
	p.batch = ir.Size(batch)
	for i := range p.terms {
		a, b, matrix := lays[2*i], lays[2*i+1], len(batch)
		t := &p.terms[i]
		t.A.Line, t.A.Step, t.A.Batch = a.Stride[matrix], a.Stride[matrix+1], offsets(a, batch)
		t.B.Line, t.B.Step, t.B.Batch = b.Stride[matrix+1], b.Stride[matrix], offsets(b, batch)
	}
	if tile.Register(in.DType) == dtype.F32 {
		p.asRow()
	}
	return nil
}

// operand returns the layout of an argument and where its first element is.
func (m *matMul) operand(r backend.Ref) (ir.Layout, place, error) {
	i, ok := r.Input()
	if !ok {
		at, ok := m.places[r]
		if !ok {
			return ir.Layout{}, at, fmt.Errorf("operand %v is not an input or the result of an earlier product", r)
		}
		return ir.Contiguous(m.g.Type(r).Shape), at, nil
	}
	in := &m.g.Inputs[i]
	return in.Layout, place{buf: in.Buf, offset: in.Layout.Offset * in.DType.Size(), dtype: in.DType}, nil
}

// withBatch returns the layout with the batch axes that it lacks, or has with length 1, repeated.
func withBatch(l ir.Layout, batch []int) ir.Layout {
	r := ir.Layout{Shape: slices.Clone(batch), Stride: make([]int, len(batch)), Offset: l.Offset}
	own := len(l.Shape) - 2
	for i := range own {
		if to := len(batch) - own + i; l.Shape[i] != 1 {
			r.Stride[to] = l.Stride[i]
		}
	}
	r.Shape = append(r.Shape, l.Shape[own:]...)
	r.Stride = append(r.Stride, l.Stride[own:]...)
	return r
}

// joinRows makes as many of the last batch axes rows of the left operands as all terms allow, and returns
// those that stay.
func (p *problem) joinRows(batch []int, lays []ir.Layout) []int {
	for from := range batch {
		joined := slices.Clone(lays)
		ok := true
		for i := 0; i < len(lays) && ok; i += 2 {
			joined[i], joined[i+1], ok = ir.JoinRows(lays[i], lays[i+1], from)
		}
		if ok {
			copy(lays, joined)
			p.m *= ir.Size(batch[from:])
			return batch[:from]
		}
	}
	return batch
}

// asRow turns a product with one column around: c is then a row, and the left operand can be read as it lies.
func (p *problem) asRow() {
	if p.n != 1 || p.m <= gemm.Few || slices.ContainsFunc(p.terms, func(t gemm.Term) bool { return t.Codes != nil }) {
		return
	}
	p.m, p.n = p.n, p.m
	p.left, p.right = p.right, p.left
	for i := range p.terms {
		t := &p.terms[i]
		t.A, t.B = t.B, t.A
	}
}

// offsets lists the offset of each matrix of a batch, nil when there is one.
func offsets(l ir.Layout, batch []int) []int {
	n := ir.Size(batch)
	if n <= 1 {
		return nil
	}
	r := make([]int, n)
	for i := range r {
		for axis, rest := len(batch)-1, i; axis >= 0; axis-- {
			r[i] += rest % batch[axis] * l.Stride[axis]
			rest /= batch[axis]
		}
	}
	return r
}

func elemOf(t dtype.Type) micro.Elem {
	switch t {
	case dtype.F16:
		return micro.F16
	case dtype.BF16:
		return micro.BF16
	}
	return micro.F32
}
