package nn

import (
	"cmp"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Latent is what latent attention has in place of Q, K and V: a short vector of each token, of which the
// keys and values of all heads are made, and a turning part of the keys that all heads share (DeepSeek-AI
// 2024: DeepSeek-V2). Heads are as wide in queries and keys as a part that does not turn and one that does,
// which comes first here; values have a width of their own. A [Cache] without values has short vectors
// and turning parts; others have keys and values as heads see them.
type Latent struct {
	QA, QNorm, QB    Layer // width to a short vector, its norm, and that to queries; nil: Attention.Q makes these
	KVA, KVNorm, KVB Layer // width to the short vector and the turning part; the norm; to keys and values of heads
	Turning          int   // numbers of a head that turn: Rope.Rotary of the Attention
	Value            int   // width of a head's values
}

// queries maps x [B T width] to those of heads [B Heads T D].
func (l *Latent) queries(x tensor.Tensor, direct Layer, heads int) tensor.Tensor {
	if l.QA != nil {
		direct, x = l.QB, l.QNorm.Forward(l.QA.Forward(x))
	}
	q := split(direct.Forward(x), heads)
	still := q.Len(-1) - l.Turning
	return tensor.Concat([]tensor.Tensor{q.Slice(-1, still, q.Len(-1)), q.Slice(-1, 0, still)}, -1)
}

// short maps x [B T width] to the turning part [B 1 T Turning] and the short vector [B T KV].
func (l *Latent) short(x tensor.Tensor) (shared, short tensor.Tensor) {
	both := l.KVA.Forward(x)
	rank := both.Len(-1) - l.Turning
	return split(both.Slice(-1, rank, rank+l.Turning), 1), l.KVNorm.Forward(both.Slice(-1, 0, rank))
}

// project maps x [B T width] to queries and keys [B Heads T D], and to values [B Heads T Value].
func (l *Latent) project(x tensor.Tensor, direct Layer, heads int) (q, k, v tensor.Tensor) {
	q = l.queries(x, direct, heads)
	still := q.Len(-1) - l.Turning
	shared, short := l.short(x)
	made := split(l.KVB.Forward(short), heads)
	shared = shared.Expand(shared.Len(0), heads, shared.Len(2), l.Turning)
	k = tensor.Concat([]tensor.Tensor{shared, made.Slice(-1, 0, still)}, -1)
	return q, k, made.Slice(-1, still, made.Len(-1))
}

// continued is [Attention.Continue] with a cache of one row for all heads: the turning part and the short
// vector, which are key and value in one. What makes keys of short vectors is multiplied with the queries
// instead, and what makes values with what attention gives.
func (l *Latent) continued(a *Attention, x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	q := l.queries(x, a.Q, a.Heads)
	shared, short := l.short(x)
	at := s.Positions.Unsqueeze(1)
	q, shared = a.turned(q, shared, at, func(x tensor.Tensor) tensor.Tensor { return a.Rope.turn(x, at, s.Turns) })
	c.Keys.add(tensor.Concat([]tensor.Tensor{shared, short.Unsqueeze(1)}, -1), s)
	d, rank := q.Len(-1), short.Len(-1)
	still := d - l.Turning
	w := l.matrix(x.Len(0), rank, x.DType()).Reshape(-1, rank, a.Heads, still+l.Value).Permute(0, 2, 1, 3) // [B or 1, Heads KV still+Value]
	q = tensor.Concat([]tensor.Tensor{q.Slice(-1, 0, l.Turning), q.Slice(-1, l.Turning, d).MatMul(w.Slice(-1, 0, still).Transpose())}, -1)
	o := a.options(0)
	o.Scale = cmp.Or(o.Scale, 1/math.Sqrt(float64(d)))
	y := c.attend(q, s, a.Window, o).Cast(x.DType()).Slice(-1, l.Turning, l.Turning+rank)
	return a.join(y.MatMul(w.Slice(-1, still, still+l.Value)), tensor.Tensor{})
}

// matrix is that of KVB, [KV out], or with adapters, which may differ from row to row, [rows KV out].
func (l *Latent) matrix(rows, rank int, dt dtype.Type) tensor.Tensor {
	if m, ok := l.KVB.(interface{ Matrix() (tensor.Tensor, bool) }); ok {
		if w, ok := m.Matrix(); ok {
			return w
		}
	}
	return l.KVB.Forward(tensor.Eye(rank).Cast(dt).Unsqueeze(0).Expand(rows, rank, rank))
}

// members lists the projections.
func (l *Latent) members(direct *Layer) []Member {
	return []Member{
		{Name: "q_proj", Slot: direct}, {Name: "q_a_proj", Slot: &l.QA}, {Name: "q_a_layernorm", Part: l.QNorm}, {Name: "q_b_proj", Slot: &l.QB},
		{Name: "kv_a_proj_with_mqa", Slot: &l.KVA}, {Name: "kv_a_layernorm", Part: l.KVNorm}, {Name: "kv_b_proj", Slot: &l.KVB},
	}
}
