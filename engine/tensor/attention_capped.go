package tensor

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// capped is attention by operations that store the scores, in f32.
func (o AttentionOptions) capped(q, k, v *ir.Node, attr ir.Attr, mask Tensor) Tensor {
	if !(o.Cap > 0) || math.IsInf(o.Cap, 0) {
		fail("attention", "got a cap of %v, want a positive finite number, or 0", o.Cap)
	}
	src := []*ir.Node{q, k, v}
	if !mask.IsNone() {
		src = append(src, mask.node("attention"))
	}
	check("attention", ir.Check(ir.Attention, attr, src...))
	b, h, tq, tk := q.Shape[0], q.Shape[1], q.Shape[2], k.Shape[2]
	group := func(n *ir.Node) Tensor { // keys and values serve all heads of their group
		t := wrap(n)
		if h == 0 || n.Shape[1] == 0 {
			return t
		}
		return t.Unsqueeze(2).Expand(b, n.Shape[1], h/n.Shape[1], tk, n.Shape[3]).Reshape(b, h, tk, n.Shape[3])
	}
	scores := wrap(q).Cast(dtype.F32).MatMul(group(k).Cast(dtype.F32).Transpose()).Mul(attr.Float)
	scores = scores.Div(o.Cap).Tanh().Mul(o.Cap)
	causal := Range(tk).To(wrap(q).Device()).Le(Range(tq).To(wrap(q).Device()).Add(tk - tq).Unsqueeze(1))
	switch {
	case mask.IsNone():
	case mask.DType() == dtype.Bool:
		scores = Where(mask, scores, math.Inf(-1))
	default:
		scores = scores.Add(mask)
	}
	if o.Causal {
		scores = Where(causal, scores, math.Inf(-1))
	}
	if !o.Sinks.IsNone() {
		sinks := o.Sinks.Cast(dtype.F32).Unsqueeze(1).Unsqueeze(2).Expand(b, h, tq, 1)
		weights := Concat([]Tensor{scores, sinks}, -1).Softmax(-1).Slice(-1, 0, tk)
		return weights.MatMul(group(v).Cast(dtype.F32)).Cast(q.DType)
	}
	none := scores.Max(-1).Unsqueeze(-1).Eq(math.Inf(-1)) // such a query gives 0
	weights := Where(none, 0, Where(none, 0, scores).Softmax(-1))
	return weights.MatMul(group(v).Cast(dtype.F32)).Cast(q.DType)
}
