package conformance

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// linear has products of matrices and the parts of attention.
var linear = map[string]operator{
	"MatMul":          binary2(func(x, y tensor.Tensor) tensor.Tensor { return x.MatMul(y) }),
	"Gemm":            gemm,
	"Einsum":          einsum,
	"MatMulInteger":   matMulInteger,
	"QLinearMatMul":   qLinearMatMul,
	"RotaryEmbedding": rotaryEmbedding,
	"Attention":       attention,
	"FlexAttention":   attention,
	"LinearAttention": linearAttention,

	"CausalConvWithState": causalConv,
}

// gemm is alpha·A·B + beta·C.
func gemm(c *call) []value {
	a, b := c.x(0).Tensor, c.x(1).Tensor
	if c.flag("transA", 0) {
		a = a.Transpose()
	}
	if c.flag("transB", 0) {
		b = b.Transpose()
	}
	y := a.MatMul(b)
	if alpha := c.number("alpha", 1); alpha != 1 {
		y = y.Mul(alpha)
	}
	if c.has(2) {
		bias := c.in[2].Tensor
		if beta := c.number("beta", 1); beta != 1 {
			bias = bias.Mul(beta)
		}
		y = y.Add(bias)
	}
	return c.result(y, c.x(0).kind)
}

func einsum(c *call) []value {
	ts := make([]tensor.Tensor, len(c.in))
	for i := range c.in {
		ts[i] = c.x(i).Tensor
	}
	return c.result(tensor.Einsum(c.text("equation", ""), ts), c.x(0).kind)
}

// centred is x less its zero point as i64. A list of zero points has one for each row of a left operand (axis
// −2) and for each column of a right one (axis −1).
func (c *call) centred(x value, zero int, axis int) tensor.Tensor {
	t := x.Cast(dtype.I64)
	if !c.has(zero) {
		return t
	}
	z := c.in[zero].Cast(dtype.I64)
	if z.Rank() == 1 && z.Size() > 1 && axis == -2 {
		z = z.Unsqueeze(-1)
	}
	return t.Sub(z)
}

func matMulInteger(c *call) []value {
	return c.result(c.centred(c.x(0), 2, -2).MatMul(c.centred(c.x(1), 3, -1)), kInt32)
}

func qLinearMatMul(c *call) []value {
	scale := func(i int, column bool) tensor.Tensor {
		s := c.x(i).Cast(dtype.F32)
		if s.Rank() == 1 && s.Size() > 1 && column {
			s = s.Unsqueeze(-1)
		}
		return s
	}
	product := c.centred(c.x(0), 2, -2).MatMul(c.centred(c.x(3), 5, -1)).Cast(dtype.F32)
	y := product.Mul(scale(1, true)).Mul(scale(4, false)).Div(scale(6, true)).Round()
	zero := c.x(7)
	return []value{c.saturate(y.Add(zero.Cast(dtype.F32)), zero.kind)}
}

// rotaryEmbedding rotates by the angles whose cosines and sines are given [positions D/2], or [B T D/2]
// without positions. Only the first rotary_embedding_dim elements of a head turn.
func rotaryEmbedding(c *call) []value {
	x := c.x(0)
	t := c.real(x)
	packed := x.Rank() == 3
	if packed {
		t = heads(t, c.integer("num_heads", 1))
	}
	turn := c.integer("rotary_embedding_dim", 0)
	if turn == 0 {
		turn = t.Len(3)
	}
	angle := func(i int) tensor.Tensor {
		table := c.real(c.x(i))
		if c.has(3) {
			table = table.Take(c.in[3].Tensor, 0)
		}
		return table.Unsqueeze(1)
	}
	cos, sin := angle(1), angle(2)
	head, rest := t.Slice(3, 0, turn), t.Slice(3, turn, t.Len(3))
	var a, b tensor.Tensor
	if c.flag("interleaved", 0) {
		a, b = head.SliceStep(3, 0, turn, 2), head.SliceStep(3, 1, turn, 2)
	} else {
		a, b = head.Slice(3, 0, turn/2), head.Slice(3, turn/2, turn)
	}
	re, im := a.Mul(cos).Sub(b.Mul(sin)), a.Mul(sin).Add(b.Mul(cos))
	if c.flag("interleaved", 0) {
		head = tensor.Stack([]tensor.Tensor{re, im}, -1).Reshape(head.Shape()...)
	} else {
		head = tensor.Concat([]tensor.Tensor{re, im}, 3)
	}
	y := tensor.Concat([]tensor.Tensor{head, rest}, 3)
	if packed {
		y = joined(y)
	}
	return c.result(y, x.kind)
}

// heads makes [B H T D] of [B T H·D], joined the reverse.
func heads(t tensor.Tensor, n int) tensor.Tensor {
	s := t.Shape()
	if n < 1 || s[2]%n != 0 {
		refuse("got %d heads for width %d", n, s[2])
	}
	return t.Reshape(s[0], s[1], n, s[2]/n).Permute(0, 2, 1, 3)
}

func joined(t tensor.Tensor) tensor.Tensor {
	s := t.Shape()
	return t.Permute(0, 2, 1, 3).Reshape(s[0], s[2], s[1]*s[3])
}

// linearAttention runs the recurrence S ← exp(g)·S + β·k⊗(v − …) token by token.
func linearAttention(c *call) []value {
	nq, nk := c.integer("q_num_heads", 1), c.integer("kv_num_heads", 1)
	q, k, v := heads(c.real(c.x(0)), nq), heads(c.real(c.x(1)), nk), heads(c.real(c.x(2)), nk)
	rule := c.text("update_rule", "gated_delta")
	gated, delta := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	b, steps, dk, dv := q.Len(0), q.Len(2), k.Len(3), v.Len(3)
	state := tensor.Zeros(b, nk, dk, dv).Cast(q.DType())
	stateKind := c.x(0).kind
	if c.has(3) {
		state, stateKind = c.real(c.in[3]), c.in[3].kind
	}
	scale := c.number("scale", 0)
	if scale == 0 {
		scale = 1 / sqrt(dk)
	}
	gate := func(i int) tensor.Tensor { // [B H T 1 or D]
		g := c.real(c.x(i))
		if g.Len(2) < nk {
			return g.Unsqueeze(1)
		}
		return heads(g, nk)
	}
	var out []tensor.Tensor
	for i := range steps {
		at := func(t tensor.Tensor) tensor.Tensor { return t.Select(2, i) }
		key, val := at(k).Unsqueeze(3), at(v).Unsqueeze(2)
		if gated {
			state = state.Mul(at(gate(4)).Exp().Unsqueeze(3))
		}
		if delta {
			val = val.Sub(key.Transpose().MatMul(state)).Mul(at(gate(5)).Unsqueeze(3))
		}
		state = state.Add(key.Mul(val))
		shared := state.Unsqueeze(2).Expand(b, nk, nq/nk, dk, dv).Reshape(b, nq, dk, dv)
		out = append(out, at(q).Unsqueeze(2).MatMul(shared).Mul(scale))
	}
	y := tensor.Concat(append(out, tensor.Zeros(b, nq, 0, dv).Cast(q.DType())), 2)
	return []value{c.fit(joined(y), c.x(0).kind), c.fit(state, stateKind)}
}

// repeatHeads gives each query head its key head.
func repeatHeads(t tensor.Tensor, n int) tensor.Tensor {
	s := t.Shape()
	if s[1] == n {
		return t
	}
	shape := slices.Clone(s)
	shape[1] = n
	return t.Unsqueeze(2).Expand(s[0], s[1], n/s[1], s[2], s[3]).Reshape(shape...)
}

// causalConv convolves each channel [B C T] with its own kernel [C 1 K], looking back only; the last K−1
// places are kept for the next call.
func causalConv(c *call) []value {
	x, weight := c.real(c.x(0)), c.real(c.x(1))
	k, steps := weight.Len(2), x.Len(2)
	if c.has(3) {
		x = tensor.Concat([]tensor.Tensor{c.real(c.in[3]), x}, 2)
	} else {
		x = x.Pad(2, k-1, 0, 0)
	}
	y := tensor.ZerosLike(x.Slice(2, 0, steps))
	for i := range k {
		y = y.Add(x.Slice(2, i, i+steps).Mul(weight.Select(2, i)))
	}
	if c.has(2) {
		y = y.Add(c.real(c.in[2]).Unsqueeze(-1))
	}
	if how := c.text("activation", "none"); how == "silu" || how == "swish" {
		y = y.Silu()
	}
	return []value{c.fit(y, c.x(0).kind), c.fit(x.Slice(2, steps, steps+k-1), c.x(0).kind)}
}
