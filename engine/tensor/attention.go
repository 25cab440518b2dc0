package tensor

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// AttentionOptions are the settings of Attention.
type AttentionOptions struct {
	Causal bool    // query i sees keys up to i + Tk − Tq
	Scale  float64 // 0 means 1/√D
	// Mask says what may be seen (bool), or is added to the scores (floats). Its shape broadcasts to [B H Tq
	// Tk].
	Mask Tensor
	// Documents numbers the documents that were packed into one row: i64 [B T] with T = Tq = Tk. A query sees
	// only keys of its own document.
	Documents Tensor
}

// Attention is softmax(scale·q·kᵀ + mask)·v for q [B H Tq D], k [B G Tk D], v [B G Tk E], where H is a
// multiple of G: each key head serves H/G query heads. A query that sees no key gives 0.
func Attention(q, k, v Tensor, o AttentionOptions) Tensor {
	nq := floats(q.node("attention"))
	nk, nv := cast(k.node("attention"), nq.DType), cast(v.node("attention"), nq.DType)
	attr := ir.Attr{Float: o.Scale}
	if attr.Float == 0 && len(nq.Shape) == 4 {
		attr.Float = 1 / math.Sqrt(float64(nq.Shape[3]))
	}
	if o.Causal {
		attr.Flags |= ir.Causal
	}
	src := []*ir.Node{nq, nk, nv}
	if mask := o.mask(nq, nk); !mask.IsNone() {
		src = append(src, mask.node("attention"))
	}
	return pick(apply(ir.Attention, attr, src...), 0)
}

// mask joins the two kinds of mask into one of four axes, the last two as long as q and k.
func (o AttentionOptions) mask(q, k *ir.Node) Tensor {
	mask := o.Mask
	if !mask.IsNone() {
		for mask.Rank() < 4 {
			mask = mask.Unsqueeze(0)
		}
		if mask.DType() != dtype.Bool {
			mask = mask.Cast(q.DType)
		}
		// What does not fit is left as it is, so that the op says what it wants.
		if s := mask.Shape(); len(s) == 4 && len(q.Shape) == 4 && len(k.Shape) == 4 {
			if tq := q.Shape[2]; s[2] == 1 {
				s[2] = tq
			}
			if tk := k.Shape[2]; s[3] == 1 {
				s[3] = tk
			}
			mask = mask.Expand(s...)
		}
	}
	if o.Documents.IsNone() {
		return mask
	}
	d := o.Documents
	if d.Rank() != 2 {
		fail("attention", "got documents %v, want [B T]", d.node("attention"))
	}
	same := d.Unsqueeze(2).Eq(d.Unsqueeze(1)).Unsqueeze(1)
	switch {
	case mask.IsNone():
		return same
	case mask.DType() == dtype.Bool:
		return mask.And(same)
	}
	return Where(same, mask, math.Inf(-1))
}

// RopeOptions are the settings of Rope.
type RopeOptions struct {
	Base        float64 // θ; 0 means 10,000
	Interleaved bool    // rotate the pairs (2i, 2i+1) instead of (i, i + D/2)
}

// Rope rotates x [… T D] by its positions (rotary embedding, Su et al. 2021): i64 [T], or [B T] for x [B … T
// D].
func (t Tensor) Rope(positions Tensor, o RopeOptions) Tensor {
	attr := ir.Attr{Float: o.Base}
	if attr.Float == 0 {
		attr.Float = 10000
	}
	if o.Interleaved {
		attr.Flags |= ir.Interleaved
	}
	return wrap(apply(ir.Rope, attr, floats(t.node("rope")), cast(positions.node("rope"), dtype.I64)))
}
