package nn

import "github.com/mcs-notebook/mcs/engine/tensor"

// A Latent is what latent attention has in place of Q, K and V: a short vector of each token, of which the
// keys and values of all heads are made, and a turning part of the keys that all heads share (DeepSeek-AI
// 2024: DeepSeek-V2). Heads are as wide in queries and keys as a part that does not turn and one that does,
// which comes first here; values have a width of their own. A [Cache] has keys and values as heads see them.
type Latent struct {
	QA, QNorm, QB    Layer // width to a short vector, its norm, and that to queries; nil: Attention.Q makes these
	KVA, KVNorm, KVB Layer // width to the short vector and the turning part; the norm; to keys and values of heads
	Turning          int   // numbers of a head that turn: Rope.Rotary of the Attention
	Value            int   // width of a head's values
}

// project maps x [B T width] to queries and keys [B Heads T D], and to values [B Heads T Value].
func (l *Latent) project(x tensor.Tensor, direct Layer, heads int) (q, k, v tensor.Tensor) {
	if l.QA != nil {
		q = l.QB.Forward(l.QNorm.Forward(l.QA.Forward(x)))
	} else {
		q = direct.Forward(x)
	}
	q = split(q, heads)
	still := q.Len(-1) - l.Turning
	q = tensor.Concat([]tensor.Tensor{q.Slice(-1, still, q.Len(-1)), q.Slice(-1, 0, still)}, -1)
	both := l.KVA.Forward(x)
	rank := both.Len(-1) - l.Turning
	shared := split(both.Slice(-1, rank, rank+l.Turning), 1)
	made := split(l.KVB.Forward(l.KVNorm.Forward(both.Slice(-1, 0, rank))), heads)
	shared = shared.Expand(shared.Len(0), heads, shared.Len(2), l.Turning)
	k = tensor.Concat([]tensor.Tensor{shared, made.Slice(-1, 0, still)}, -1)
	return q, k, made.Slice(-1, still, made.Len(-1))
}

// members lists the projections.
func (l *Latent) members(direct *Layer) []Member {
	list := []Member{{Name: "q_proj", Slot: direct}}
	if l.QA != nil {
		list = []Member{{Name: "q_a_proj", Slot: &l.QA}, {Name: "q_a_layernorm", Part: l.QNorm}, {Name: "q_b_proj", Slot: &l.QB}}
	}
	return append(list, Member{Name: "kv_a_proj_with_mqa", Slot: &l.KVA}, Member{Name: "kv_a_layernorm", Part: l.KVNorm}, Member{Name: "kv_b_proj", Slot: &l.KVB})
}
