package kernel

// A layer with an adapter is x·W + h·B. Where h lies in the room behind the rows of x, and B in that of W,
// [x h] and [W; B] are matrices as they lie, so a library computes both with sums that are rounded once. What
// lies in x's room before or between its own h belongs to other layers, and meets zeros.

// adjoin makes pair n one with later pairs whose operands lie in the rooms of its own, and notes them as
// adjoined.
func (s *split) adjoin(n int, p *pair, adjoined []bool) {
	x, w, ok := s.inputs(n)
	m := p.sides[0].matrix
	if !ok || s.batches() > 1 || m.DType != s.inst.DType || m.DType.Size() != 2 || m.Transposed || p.sides[0].at.Index != x.Buf || p.sides[1].at.Index != w.Buf {
		return
	}
	left, right, next := s.operandPlace(2*n), s.operandPlace(2*n+1), s.along(2*n+1)
	end := s.inner[n]
	for i := n + 1; i < len(s.inner); i++ {
		h, b, ok := s.inputs(i)
		if !ok || !b.Room || h.Buf != x.Buf || b.Buf != w.Buf {
			continue
		}
		l, r := s.operandPlace(2*i), s.operandPlace(2*i+1)
		at := l.offset - left.offset
		if at >= end && r.offset-right.offset == at*next && s.along(2*i) == 1 && s.along(2*i+1) == next && l.strides[1] == left.strides[1] && r.strides[0] == right.strides[0] {
			end, adjoined[i] = at+s.inner[i], true
		}
	}
	p.inner = end
}
