package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A layer with an adapter is x·W + h·B. Where h lies in the room behind the rows of x, [x h] is one matrix as
// it lies, and [W; B] is one when B is written to the room of W, which takes a copy of B alone. So a library
// computes both with sums that are rounded once. What lies in x's room before or between its own h belongs to
// other layers, and meets rows of zeros. All that the products of a group write to rooms is one dispatch.

// lodge makes pair n one with later pairs whose left operands lie in its left one's room, if its right one
// has room for theirs, and notes them as lodged.
func (s *split) lodge(n int, p *pair, lodged []bool) {
	if !s.roomy(n, p) {
		return
	}
	x, w, next := s.operandPlace(2*n), s.operandPlace(2*n+1), s.along(2*n+1)
	to := backend.Output{Buf: p.sides[1].at.Index, DType: s.inst.DType, Stride: []int{next, 1}}
	deep := next == 1 // so rows of the buffer are columns
	if deep {
		to.Stride[0] = w.strides[0]
	}
	end := 0 // of the room, as far as rows are written
	for i := n + 1; i < len(s.inner); i++ {
		h := s.operandPlace(2 * i)
		at := h.offset - x.offset - s.inner[n]
		if !s.lodges(i, p.sides[0].at.Index) || h.strides[1] != x.strides[1] || at < end || at+s.inner[i] > min(ir.Room, x.strides[1]-s.inner[n]) {
			continue
		}
		if at > end {
			to.Offset, to.Shape = w.offset+(s.inner[n]+end)*next, []int{at - end, s.space.lens[0]}
			if deep {
				slices.Reverse(to.Shape)
			}
			s.rooms = append(s.rooms, zeros(s.g, s.limits, to)[0].piece)
		}
		to.Offset = w.offset + (s.inner[n]+at)*next
		s.rooms = append(s.rooms, mapPiece(s.copy(2*i+1, deep, to), s.limits))
		end, lodged[i] = at+s.inner[i], true
	}
	p.inner += end
}

// roomy says whether pair n is multiplied where it lies, in 16 bits, and the weight has room that no other
// product of the group could want for itself.
func (s *split) roomy(n int, p *pair) bool {
	x, w, ok := s.inputs(n)
	m := p.sides[0].matrix
	if !ok || !w.Room || s.batches() > 1 || m.DType != s.inst.DType || m.DType.Size() != 2 || m.Transposed {
		return false
	}
	readers := 0
	for _, in := range s.g.Insts {
		for _, v := range in.Args {
			if i, input := v.Input(); input && s.g.Inputs[i].Buf == w.Buf {
				readers++
			}
		}
	}
	return readers == 1 && p.sides[0].at.Index == x.Buf && p.sides[1].at.Index == w.Buf
}

// lodges says whether the left operand of pair n has rows in a buffer, and the right one can be copied.
func (s *split) lodges(n, buf int) bool {
	h, b, ok := s.inputs(n)
	dt := s.inst.DType
	return ok && h.Buf == buf && h.DType == dt && s.along(2*n) == 1 && (b.DType == dt || b.DType == dtype.F32)
}
