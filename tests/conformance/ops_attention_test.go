package conformance

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }

// attention is scaled dot-product attention. Without a soft cap, and when the scores are not asked for, it is
// [tensor.Attention]; otherwise it is written out.
func attention(c *call) []value {
	k := c.x(0).kind
	q, key, val := c.x(0).Tensor, c.x(1).Tensor, c.x(2).Tensor
	packed := q.Rank() == 3
	if packed {
		nq, nk := c.integer("q_num_heads", 0), c.integer("kv_num_heads", 0)
		q, key, val = heads(q, nq), heads(key, nk), heads(val, nk)
	}
	past := 0
	if c.has(4) {
		past = c.in[4].Len(2)
		key = tensor.Concat([]tensor.Tensor{c.in[4].Tensor, key}, 2)
		val = tensor.Concat([]tensor.Tensor{c.in[5].Tensor, val}, 2)
	}
	seen, bias := c.visible(q.Len(2), key.Len(2), past), tensor.Tensor{}
	if c.has(3) {
		mask := c.in[3].Tensor
		if missing := key.Len(2) - mask.Len(-1); missing > 0 {
			hidden := math.Inf(-1)
			if mask.DType() == dtype.Bool {
				hidden = 0
			}
			mask = mask.Pad(-1, 0, missing, hidden)
		}
		if mask.DType() == dtype.Bool {
			seen = both(seen, mask)
		} else {
			bias = mask
		}
	}
	scale := c.number("scale", 1/sqrt(q.Len(3)))
	var y, scores tensor.Tensor
	if wanted := len(c.outputs) > 3 && c.outputs[3] != ""; wanted || c.number("softcap", 0) > 0 || c.set("softmax_precision") {
		y, scores = c.attentionScores(q, key, val, seen, bias, scale)
	} else {
		y = tensor.Attention(q, key, val, tensor.AttentionOptions{Scale: scale, Mask: joinMasks(seen, bias)})
	}
	if packed {
		y = joined(y)
	}
	out := []value{c.fit(y, k), {key, c.x(1).kind}, {val, c.x(2).kind}, {}}
	if !scores.IsNone() {
		out[3] = c.fit(scores, k)
	}
	return out
}

// both combines two masks; one of them may be missing.
func both(a, b tensor.Tensor) tensor.Tensor {
	switch {
	case a.IsNone():
		return b
	case b.IsNone():
		return a
	}
	return a.And(b)
}

// joinMasks makes one mask of the visible keys and the added bias.
func joinMasks(seen, bias tensor.Tensor) tensor.Tensor {
	switch {
	case bias.IsNone():
		return seen
	case seen.IsNone():
		return bias
	}
	return tensor.Where(seen, bias, math.Inf(-1))
}

// visible returns the keys that a query may see by its place: bool, broadcast to [B 1 Tq Tk], or no tensor
// if it may see all. The place of the first query is the number of keys before it: the keys of the cache,
// or, if the number of real keys is given for each batch (input 6), that number less Tq.
func (c *call) visible(tq, tk, past int) (seen tensor.Tensor) {
	query, key := tensor.Range(tq).Unsqueeze(1).Add(past), tensor.Range(tk).Unsqueeze(0)
	if c.has(6) {
		real := c.in[6].Cast(dtype.I64).Reshape(-1, 1, 1, 1)
		seen = key.Lt(real)
		if !c.has(4) {
			query = query.Add(real).Sub(tq)
		}
	}
	if c.flag("is_causal", 0) {
		seen = both(seen, key.Le(query))
	}
	if left := c.integer("left_window_size", -1); left >= 0 {
		seen = both(seen, key.Ge(query.Sub(left)))
	}
	if right := c.integer("right_window_size", -1); right >= 0 {
		seen = both(seen, key.Le(query.Add(right)))
	}
	return seen
}

// attentionScores also gives the scores as they are after the step that qk_matmul_output_mode names.
func (c *call) attentionScores(q, key, val, seen, bias tensor.Tensor, scale float64) (y, scores tensor.Tensor) {
	k := c.x(0).kind
	wide := func(t tensor.Tensor) tensor.Tensor { return c.real(value{t, k}) }
	q, key, val = wide(q), repeatHeads(wide(key), q.Len(1)), repeatHeads(wide(val), q.Len(1))
	s := q.Mul(math.Sqrt(scale)).MatMul(key.Mul(math.Sqrt(scale)).Transpose())
	steps := []tensor.Tensor{s}
	if soft := c.number("softcap", 0); soft > 0 {
		s = s.Div(soft).Tanh().Mul(soft)
	}
	steps = append(steps, s)
	if !bias.IsNone() {
		s = s.Add(wide(bias))
	}
	if !seen.IsNone() {
		s = tensor.Where(seen, s, math.Inf(-1))
	}
	steps = append(steps, s)
	if c.set("softmax_precision") {
		s = c.fit(s, kind(c.integer("softmax_precision", 0))).Tensor
	}
	p := s.Softmax(-1)
	if mask := joinMasks(seen, bias); !mask.IsNone() { // a query that may see no key gets 0, whatever its scores are
		may := mask
		if mask.DType() != dtype.Bool {
			may = mask.Ne(math.Inf(-1))
		}
		p = tensor.Where(may.Any(-1).Unsqueeze(-1), p, 0)
	}
	steps = append(steps, p)
	mode := c.integer("qk_matmul_output_mode", 0)
	if mode < 0 || mode >= len(steps) {
		refuse("got qk_matmul_output_mode %d", mode)
	}
	return wide(p).MatMul(val), steps[mode]
}
