package ir

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

func attentionRows() []Row {
	return []Row{
		{Op: Rope, Name: "rope", Infer: inferRope, Grad: gradRope, Flops: flops(6), Tol: functions,
			Doc: "Rope turns each pair i of a row of length D at position p by the angle p·θ^(−2i/D), θ = Attr.Float, or by p·Attr.Rates[i]: x [… T D], positions i64 [T], or of x's axes " +
				"but the last, each equal or 1. With a third operand, f32 [D/2 2], the angle is 2π·p·(the sum of its row i), which so has twice the digits of one f32. Pairs are (i, i+D/2), or (2i, 2i+1) with Flags Interleaved; with Flags Reverse the angle is negative, " +
				"which is the gradient (Su and others: RoFormer, 2021)."},
		{Op: Attention, Name: "attention", Infer: inferAttention, Grad: gradAttention, Flops: attentionFlops(1), Tol: summation,
			Doc: "Attention is softmax(s·q·kᵀ + mask)·v with s = Attr.Float: q [B Hq Tq D], k [B Hk Tk D], v [B Hk Tk Dv], Hq a multiple of Hk: " +
				"query head h looks at key head h/(Hq/Hk). The optional mask [B or 1, Hq or 1, Tq, Tk] is Bool (true: may look) or floats to add. " +
				"With Flags Causal query i sees keys up to p = i + (Tk − Tq), with a window w = Attr.Index > 0 only those nearer to p than w. " +
				"With a number c in Attr.Rates the scores before the mask are c·tanh(s·q·kᵀ/c). Values: o [B Hq Tq Dv] and the logsumexp of the scores [B Hq Tq] in f32 (f64 for f64). " +
				"A query that may look nowhere gives 0. There is no gradient for the mask."},
		{Op: AttentionGrad, Name: "attention_grad", Infer: inferAttentionGrad, Grad: gradAttentionGrad, Flops: attentionFlops(3), Tol: reductions, Rounds: true,
			Doc: "AttentionGrad gives dq, dk and dv from q, k, v, o, logsumexp, do and the mask if there is one: with p the probabilities, ds = p·(do·vᵀ − do·o), " +
				"times 1 − tanh² where scores are capped, dq = s·ds·k, dk = s·dsᵀ·q, dv = pᵀ·do; dk and dv add up over the query heads that share them."},
		{Op: PagedAttention, Name: "paged_attention", Infer: inferPagedAttention, NoGrad: "its keys are a cache, which later steps write over", Flops: pagedFlops, Tol: summation,
			Doc: "PagedAttention is softmax(s·q·kᵀ)·v with s = Attr.Float: q [B H T D] in f16, bf16 or f32, k [G S D] and v [G S E] in these or in i8, H a multiple of G. " +
				"Key j of batch b lies in slot pages[b, j/n]·n + j%n, pages i64 [B P], where n = Attr.Ints[0] divides S. Query t of it sees keys up to last[b, t], i64 [B T], " +
				"which does not fall from one t to the next; with w = Attr.Index > 0 only the last w of them. Slots of keys behind the last are not read. A page and a last that do not exist stand for the nearest that does; " +
				"a query with a last below 0 gives 0. Vectors in i8 are multiplied by their scales, f32 [G S 1], one operand for k and one for v. With a number c in Attr.Rates scores are c·tanh(s·q·kᵀ/c). Values: o [B H T E] and the logsumexp of the scores, f32 [B H T]."},
	}
}

func inferRope(n *Node) error {
	if len(n.Src) != 2 && len(n.Src) != 3 {
		return wrong(n, "got %d operands, want x, positions and perhaps turns", len(n.Src))
	}
	x, pos := n.Src[0], n.Src[1]
	rank := len(x.Shape)
	if rank < 2 || x.Shape[rank-1]%2 != 0 || pos.DType != dtype.I64 {
		return got(n, "x [… T D] with D even, and i64 positions")
	}
	if r := len(n.Attr.Rates); r != 0 && r != x.Shape[rank-1]/2 {
		return got(n, "rates for %d pairs, not for %d", x.Shape[rank-1]/2, r)
	}
	for _, turns := range n.Src[2:] {
		if turns.DType != dtype.F32 || !slices.Equal(turns.Shape, []int{x.Shape[rank-1] / 2, 2}) {
			return got(n, "turns f32 [%d 2]", x.Shape[rank-1]/2)
		}
	}
	lead := x.Shape[:rank-1]
	fits := len(pos.Shape) == 1 && pos.Shape[0] == lead[rank-2]
	if !fits && len(pos.Shape) == len(lead) {
		fits = fitsOrOne(pos.Shape, lead)
	}
	if !fits {
		return got(n, "positions [%d], or of shape %v with some axes 1", lead[rank-2], lead)
	}
	if err := floats(n, x); err != nil {
		return err
	}
	return as(n, x)
}

// fitsOrOne says whether each length of a is that of b, or 1.
func fitsOrOne(a, b []int) bool {
	for i, d := range a {
		if d != b[i] && d != 1 {
			return false
		}
	}
	return true
}

// heads checks q, k, v and the mask.
func heads(n *Node, mask []*Node) error {
	q, k, v := n.Src[0], n.Src[1], n.Src[2]
	if err := floats(n, q, k, v); err != nil {
		return err
	}
	if len(q.Shape) != 4 || len(k.Shape) != 4 || len(v.Shape) != 4 {
		return got(n, "q [B Hq Tq D], k [B Hk Tk D], v [B Hk Tk Dv]")
	}
	switch {
	case q.Shape[0] != k.Shape[0] || q.Shape[3] != k.Shape[3] || !slices.Equal(k.Shape[:3], v.Shape[:3]):
		return got(n, "q [B Hq Tq D], k [B Hk Tk D], v [B Hk Tk Dv]")
	case k.Shape[1] == 0 && q.Shape[1] != 0 || k.Shape[1] != 0 && q.Shape[1]%k.Shape[1] != 0:
		return got(n, "a multiple of the %d key heads, not %d query heads", k.Shape[1], q.Shape[1])
	}
	if a := n.Attr; a.Index < 0 || len(a.Rates) > 1 || len(a.Rates) == 1 && !(a.Rates[0] > 0) {
		return got(n, "a window of 0 or more and at most one cap, above 0")
	}
	for _, m := range mask {
		full := []int{q.Shape[0], q.Shape[1], q.Shape[2], k.Shape[2]}
		ok := len(m.Shape) == 4 && fitsOrOne(m.Shape, full) && slices.Equal(m.Shape[2:], full[2:])
		if !ok || m.DType != dtype.Bool && !m.DType.Float() {
			return got(n, "a mask, bool or float, of shape %v where the first two axes may be 1", full)
		}
	}
	return nil
}

func inferAttention(n *Node) error {
	if len(n.Src) < 3 || len(n.Src) > 4 {
		return wrong(n, "got %d operands, want q, k, v and perhaps a mask", len(n.Src))
	}
	if err := heads(n, n.Src[3:]); err != nil {
		return err
	}
	q, v := n.Src[0], n.Src[2]
	n.tuple(Type{q.DType, with(q.Shape, 3, v.Shape[3])}, Type{accumulator(q.DType), q.Shape[:3]})
	return nil
}

func inferAttentionGrad(n *Node) error {
	if len(n.Src) < 6 || len(n.Src) > 7 {
		return wrong(n, "got %d operands, want q, k, v, o, logsumexp, do and perhaps a mask", len(n.Src))
	}
	if err := heads(n, n.Src[6:]); err != nil {
		return err
	}
	q, k, v, o, lse, do := n.Src[0], n.Src[1], n.Src[2], n.Src[3], n.Src[4], n.Src[5]
	if !slices.Equal(o.Shape, with(q.Shape, 3, v.Shape[3])) || !slices.Equal(do.Shape, o.Shape) || !slices.Equal(lse.Shape, q.Shape[:3]) {
		return got(n, "o, logsumexp and do as attention gives them")
	}
	n.tuple(q.Type(), k.Type(), v.Type())
	return nil
}

// attentionFlops counts k times the two products of attention, half of them when it is causal, and at most a
// window of keys for each query.
func attentionFlops(k int64) func(*Node) int64 {
	return func(n *Node) int64 {
		q, v := n.Src[0].Shape, n.Src[2].Shape
		scores := int64(Size(q[:3])) * int64(v[2])
		if n.Attr.Flags&Causal != 0 {
			scores /= 2
		}
		if w := n.Attr.Index; w > 0 {
			scores = min(scores, int64(Size(q[:3]))*int64(w))
		}
		return k * scores * int64(2*q[3]+2*v[3]+12)
	}
}

// RopeRates are the angles, in radians, by which each pair of a row of length d goes on from one position to
// the next.
func RopeRates(a *Attr, d int) []float64 {
	if len(a.Rates) > 0 {
		return a.Rates
	}
	rates := make([]float64, d/2)
	for i := range rates {
		rates[i] = math.Pow(a.Float, -2*float64(i)/float64(d))
	}
	return rates
}

// A Sight is what the queries of an attention see, and how sharply.
type Sight struct {
	Window int     // keys nearer than that to a query's place; 0: all
	Cap    float64 // scores are Cap·tanh(scores/Cap); 0: they stay as they are
}

// SightOf reads it from an attention's settings.
func SightOf(a *Attr) Sight {
	s := Sight{Window: a.Index}
	if len(a.Rates) > 0 {
		s.Cap = a.Rates[0]
	}
	return s
}

// Attr returns the settings with a scale of the scores, and for a PagedAttention the slots of a page.
func (s Sight) Attr(scale float64, page ...int) Attr {
	a := Attr{Ints: page, Index: s.Window, Float: scale}
	if s.Cap != 0 {
		a.Rates = []float64{s.Cap}
	}
	return a
}

func inferPagedAttention(n *Node) error {
	if len(n.Src) != 5 && len(n.Src) != 7 {
		return wrong(n, "got %d operands, want q, k, v, pages, last and perhaps two scales", len(n.Src))
	}
	q, k, v, pages, last := n.Src[0], n.Src[1], n.Src[2], n.Src[3], n.Src[4]
	const want = "q [B H T D], k [G S D], v [G S E], pages i64 [B P] and last i64 [B T]"
	if len(q.Shape) != 4 || len(k.Shape) != 3 || len(v.Shape) != 3 || pages.DType != dtype.I64 || last.DType != dtype.I64 {
		return got(n, want)
	}
	if q.Shape[3] != k.Shape[2] || !slices.Equal(k.Shape[:2], v.Shape[:2]) || len(pages.Shape) != 2 || pages.Shape[0] != q.Shape[0] ||
		!slices.Equal(last.Shape, []int{q.Shape[0], q.Shape[2]}) {
		return got(n, want)
	}
	if q.Shape[1] != 0 && (k.Shape[0] == 0 || q.Shape[1]%k.Shape[0] != 0) {
		return got(n, "a multiple of the %d key heads, not %d query heads", k.Shape[0], q.Shape[1])
	}
	if !q.DType.Float() || q.DType == dtype.F64 {
		return got(n, "q in f16, bf16 or f32")
	}
	kept := k.DType
	if v.DType != kept || kept != dtype.I8 && (!kept.Float() || kept == dtype.F64) || (kept == dtype.I8) != (len(n.Src) == 7) {
		return got(n, "k and v in f16, bf16 or f32, or in i8 with scales")
	}
	for _, s := range n.Src[5:] {
		if s.DType != dtype.F32 || !slices.Equal(s.Shape, []int{k.Shape[0], k.Shape[1], 1}) {
			return got(n, "scales f32 [%d %d 1]", k.Shape[0], k.Shape[1])
		}
	}
	if a := n.Attr; len(a.Ints) != 1 || a.Ints[0] < 1 || a.Index < 0 || k.Shape[1]%a.Ints[0] != 0 || k.Shape[1] == 0 || pages.Shape[1] == 0 || len(a.Rates) > 1 {
		return got(n, "pages of one length, at least one, that divide the %d slots, and a window of 0 or more", k.Shape[1])
	}
	n.tuple(Type{q.DType, with(q.Shape, 3, v.Shape[2])}, Type{dtype.F32, q.Shape[:3]})
	return nil
}

// pagedFlops counts one key for each query: how many there are is data.
func pagedFlops(n *Node) int64 {
	q, v := n.Src[0].Shape, n.Src[2].Shape
	return int64(Size(q[:3])) * int64(2*q[3]+2*v[2]+12)
}
