package tensor

import (
	"cmp"
	"math"
	"slices"

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
	// Window lets query i see only the keys that are nearer to its place i + Tk − Tq than that: with Causal
	// the Window keys up to it; 0: all. Others cost no time.
	Window int
	// Cap makes the scores Cap·tanh(scores/Cap) before the mask (Gemma 2); 0: they stay as they are.
	Cap float64
	// Sinks are [H], a number of each head whose exponential joins the sum of the softmax, as if there were
	// one key more with that score and a value of 0 (gpt-oss); the zero Tensor: none.
	Sinks Tensor
}

// Attention is softmax(scale·q·kᵀ + mask)·v for q [B H Tq D], k [B G Tk D], v [B G Tk E], where H is a
// multiple of G: each key head serves H/G query heads. A query that sees no key gives 0.
func Attention(q, k, v Tensor, o AttentionOptions) Tensor {
	nq := floats(q.node("attention"))
	nk, nv := cast(k.node("attention"), nq.DType), cast(v.node("attention"), nq.DType)
	if o.Cap != 0 && !(o.Cap > 0) || math.IsInf(o.Cap, 0) {
		fail("attention", "got a cap of %v, want a positive finite number, or 0", o.Cap)
	}
	attr := ir.Sight{Window: o.Window, Cap: o.Cap}.Attr(o.Scale)
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
	both := apply(ir.Attention, attr, src...)
	if o.Sinks.IsNone() {
		return pick(both, 0)
	}
	return Sink(pick(both, 0), pick(both, 1), o.Sinks)
}

// Sink is y [B H T E], what attention gives, with [AttentionOptions.Sinks] [H] in the sums of its softmax,
// whose logarithms are logsumexp [B H T]: y·sigmoid(logsumexp − sink).
func Sink(y, logsumexp, sinks Tensor) Tensor {
	if sinks.Rank() != 1 || sinks.Len(0) != y.Len(1) {
		fail("attention", "got sinks %v, want [%d], one for each head", sinks.node("attention"), y.Len(1))
	}
	return y.Mul(logsumexp.Sub(sinks.Unsqueeze(1)).Sigmoid().Unsqueeze(-1).Cast(y.DType()))
}

// mask joins the kinds of mask into one of four axes, the last two as long as q and k.
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
	if !o.Documents.IsNone() {
		d := o.Documents
		if d.Rank() != 2 {
			fail("attention", "got documents %v, want [B T]", d.node("attention"))
		}
		mask = where(mask, d.Unsqueeze(2).Eq(d.Unsqueeze(1)).Unsqueeze(1))
	}
	return mask
}

// where narrows a mask, of any kind or none, to what a bool one of four axes lets through.
func where(mask, seen Tensor) Tensor {
	switch {
	case mask.IsNone():
		return seen
	case mask.DType() == dtype.Bool:
		return mask.And(seen)
	}
	return Where(seen, mask, math.Inf(-1))
}

// RopeOptions are the settings of Rope.
type RopeOptions struct {
	Base        float64 // θ; 0 means 10,000
	Interleaved bool    // rotate the pairs (2i, 2i+1) instead of (i, i + D/2)
	// Rates are the angles, in radians, by which the pairs go on from one position to the next, D/2 numbers,
	// in place of θ^(−2i/D).
	Rates []float64
	// Turns are such rates as data, f32 [D/2 2], in turns of 2π: the sum of both numbers of each pair. A plan
	// serves all of them. The zero Tensor: none.
	Turns Tensor
}

// Rope rotates x [… T D] by its positions (rotary embedding, Su et al. 2021): i64 [T], or [B T] for x [B … T
// D].
func (t Tensor) Rope(positions Tensor, o RopeOptions) Tensor {
	attr := ir.Attr{Float: cmp.Or(o.Base, 10000), Rates: slices.Clone(o.Rates)}
	if o.Interleaved {
		attr.Flags |= ir.Interleaved
	}
	src := []*ir.Node{floats(t.node("rope")), cast(positions.node("rope"), dtype.I64)}
	if !o.Turns.IsNone() {
		src = append(src, o.Turns.node("rope"))
	}
	return wrap(apply(ir.Rope, attr, src...))
}
