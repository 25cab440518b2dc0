package nn

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A GatedDelta is the recurrent layer of Qwen 3 Next and 3.5, a gated delta net (Yang and others 2024). Each
// head has a matrix S [KeyDim ValueDim] by which keys find values. A token lets it fade, and corrects what it
// gives for the token's key k by a share β: S ← e^g·S, S ← S + k·(β·(v − kᵀS))ᵀ; the token gets qᵀS.
type GatedDelta struct {
	QKVZ, BA    Layer // of each key head q, k and its heads' v and z; of each one its heads' b and a; or
	QKV, Z      Layer // q, k and v of all heads, and z
	B, A        Layer // of each value head
	Conv        *Conv // of the channels of q, k and v
	ALog, Bias  tensor.Tensor
	Norm, Out   Layer // of each head's values; of those of all heads
	Act         Func  // after the convolution; the zero Func is SiLU
	Keys        int   // heads of keys and queries
	Values      int   // heads of values, as many for each key head
	KeyDim, Dim int   // widths of keys and of values
}

// A deltaRule is what the heads of a gated delta net get: q and k [B heads T KeyDim], v [B heads T Dim], the
// decay's logarithm g and the share β [B heads T], all in f32.
type deltaRule struct{ q, k, v, g, beta tensor.Tensor }

// Forward maps x [B T width] to [B T width]: see [Recurrent].
func (d *GatedDelta) Forward(x, starts tensor.Tensor) tensor.Tensor {
	qkv, z, b, a := d.project(x)
	r := d.rule(d.Conv.causal(qkv.Pad(1, d.Conv.reach(), 0, 0), starts), b, a)
	y, _ := r.scan(tensor.Zeros(x.Len(0), d.Values, d.KeyDim, d.Dim).To(x.Device()), starts)
	return d.join(y, z, x.DType())
}

// Continue maps x [B T width] to [B T width]: see [Recurrent].
func (d *GatedDelta) Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	qkv, z, b, a := d.project(x)
	all := s.after(s.state(c.States[0]), qkv)
	r := d.rule(d.Conv.causal(all, tensor.Tensor{}), b, a)
	if t := x.Len(1); t > 1 { // copies of first tokens change nothing
		fresh := tensor.Range(t).To(x.Device()).Ge(s.copies()).Unsqueeze(1)
		r.g, r.beta = tensor.Where(fresh, r.g, 0), tensor.Where(fresh, r.beta, 0)
	}
	y, state := r.scan(s.state(c.States[1]), tensor.Tensor{})
	c.States = []tensor.Tensor{s.keep(c.States[0], all.Slice(1, x.Len(1), all.Len(1))), s.keep(c.States[1], state)}
	return s.alike(d.join(y, z, x.DType()))
}

// NewStates returns the last inputs of the convolution, f32 [texts kernel−1 channels], and the matrices of
// the heads, f32 [texts heads KeyDim Dim].
func (d *GatedDelta) NewStates(texts int) *Cache {
	return &Cache{States: []tensor.Tensor{
		tensor.Zeros(texts, d.Conv.reach(), d.Conv.Weight.Len(0)).Eval(),
		tensor.Zeros(texts, d.Values, d.KeyDim, d.Dim).Eval(),
	}}
}

// project maps x to q, k and v side by side [B T channels], in f32, z [B T heads Dim], b and a [B T heads].
func (d *GatedDelta) project(x tensor.Tensor) (qkv, z, b, a tensor.Tensor) {
	n, t := x.Len(0), x.Len(1)
	if d.QKVZ == nil {
		return d.QKV.Forward(x).Cast(dtype.F32), d.Z.Forward(x).Reshape(n, t, d.Values, d.Dim), d.B.Forward(x), d.A.Forward(x)
	}
	each := d.Values / d.Keys
	all, ba := d.QKVZ.Forward(x).Reshape(n, t, d.Keys, 2*d.KeyDim+2*each*d.Dim), d.BA.Forward(x).Reshape(n, t, d.Keys, 2*each)
	part := func(from tensor.Tensor, begin, end int) tensor.Tensor {
		return from.Slice(3, begin, end).Reshape(n, t, d.Keys*(end-begin))
	}
	k, v, end := d.KeyDim, 2*d.KeyDim, 2*d.KeyDim+each*d.Dim
	qkv = tensor.Concat([]tensor.Tensor{part(all, 0, k), part(all, k, v), part(all, v, end)}, 2).Cast(dtype.F32)
	return qkv, part(all, end, all.Len(3)).Reshape(n, t, d.Values, d.Dim), part(ba, 0, each), part(ba, each, 2*each)
}

// rule turns what was convolved, and b and a, into what the heads get.
func (d *GatedDelta) rule(qkv, b, a tensor.Tensor) deltaRule {
	if d.Act.Apply != nil {
		qkv = d.Act.Apply(qkv)
	} else {
		qkv = qkv.Silu()
	}
	keys := d.Keys * d.KeyDim
	unit := func(x tensor.Tensor) tensor.Tensor { // for each value head
		x = split(x, d.Keys)
		x = x.Div(x.Square().SumKeep(-1).Add(1e-6).Sqrt())
		each := d.Values / d.Keys
		x = x.Unsqueeze(2).Expand(x.Len(0), d.Keys, each, x.Len(2), d.KeyDim)
		return x.Reshape(x.Len(0), d.Values, x.Len(3), d.KeyDim)
	}
	return deltaRule{
		q:    unit(qkv.Slice(2, 0, keys)).Mul(1 / math.Sqrt(float64(d.KeyDim))),
		k:    unit(qkv.Slice(2, keys, 2*keys)),
		v:    split(qkv.Slice(2, 2*keys, qkv.Len(2)), d.Values),
		g:    a.Cast(dtype.F32).Add(d.Bias).Softplus().Mul(d.ALog.Cast(dtype.F32).Exp().Neg()).Permute(0, 2, 1),
		beta: b.Cast(dtype.F32).Sigmoid().Permute(0, 2, 1),
	}
}

// join makes the layer's result of what the heads give [B heads T Dim], in f32.
func (d *GatedDelta) join(y, z tensor.Tensor, dt dtype.Type) tensor.Tensor {
	y = d.Norm.Forward(y.Permute(0, 2, 1, 3)).Mul(z.Cast(dtype.F32).Silu()).Cast(dt)
	return d.Out.Forward(y.Reshape(y.Len(0), y.Len(1), d.Values*d.Dim))
}

// scanned is how many tokens a scan computes at once: within them all is products of matrices.
const scanned = 64

// scan goes through the tokens from a state [B heads KeyDim Dim] on: what they get [B heads T Dim], and the
// state after the last. Starts is that of [Recurrent].
func (r deltaRule) scan(state, starts tensor.Tensor) (tensor.Tensor, tensor.Tensor) {
	t := r.g.Len(2)
	var parts []tensor.Tensor
	for at := 0; at < t; at += scanned {
		end := min(at+scanned, t)
		part := deltaRule{r.q.Slice(2, at, end), r.k.Slice(2, at, end), r.v.Slice(2, at, end), r.g.Slice(2, at, end), r.beta.Slice(2, at, end)}
		var of tensor.Tensor
		if !starts.IsNone() {
			of = starts.Slice(1, at, end).Sub(at).Unsqueeze(1)
		}
		var y tensor.Tensor
		y, state = part.chunk(state, of)
		parts = append(parts, y)
	}
	if len(parts) == 1 {
		return parts[0], state
	}
	return tensor.Concat(parts, 2), state
}

// chunk is scan of a few tokens at once. Starts is i64 [B 1 T], counted from the first of them.
func (r deltaRule) chunk(state, starts tensor.Tensor) (y, after tensor.Tensor) {
	n := r.g.Len(2)
	at := tensor.Range(n).To(state.Device())
	seen := at.Unsqueeze(1).Ge(at) // [T T], which tokens a token knows
	fade := r.g.CumSum(2)          // the logarithm, from the first token on
	last := fade.Slice(2, n-1, n)
	before, left := fade.Exp(), last.Sub(fade).Exp() // of the state at each token; of each token at the end
	whole := last.Exp()
	if !starts.IsNone() {
		seen = seen.And(at.Ge(starts.Unsqueeze(3)))
		end := starts.Slice(2, n-1, n)
		before = tensor.Where(starts.Lt(0), before, 0)
		left, whole = tensor.Where(at.Ge(end), left, 0), tensor.Where(end.Lt(0), whole, 0)
	}
	between := tensor.Where(seen, fade.Unsqueeze(3).Sub(fade.Unsqueeze(2)), math.Inf(-1)).Exp()
	shares := r.k.Mul(r.beta.Unsqueeze(3))
	solve := unitInverse(tensor.Where(at.Unsqueeze(1).Gt(at), shares.MatMul(r.k.Transpose()).Mul(between), 0))
	known := shares.Mul(before.Unsqueeze(3)).MatMul(state)
	fresh := solve.MatMul(r.v.Mul(r.beta.Unsqueeze(3)).Sub(known)) // what each token adds to the state for its key
	y = r.q.Mul(before.Unsqueeze(3)).MatMul(state).Add(r.q.MatMul(r.k.Transpose()).Mul(between).MatMul(fresh))
	after = state.Mul(whole.Unsqueeze(3)).Add(r.k.Mul(left.Unsqueeze(3)).Transpose().MatMul(fresh))
	return y, after
}

// unitInverse is (1 + a)⁻¹ of matrices a [… n n] that have numbers below their diagonal only. It joins the
// inverses of blocks along the diagonal to those of blocks twice as large, and has no powers of a, which
// could be large.
func unitInverse(a tensor.Tensor) tensor.Tensor {
	n := a.Len(-1)
	at := tensor.Range(n).To(a.Device())
	y := tensor.Eye(n).To(a.Device())
	for size := 1; size < n; size *= 2 {
		block, pair := at.FloorDiv(size), at.FloorDiv(2*size)
		beside := pair.Unsqueeze(1).Eq(pair).And(block.Unsqueeze(1).Gt(block))
		x := tensor.Where(beside, a, 0)
		if size == 1 {
			y = y.Sub(x)
		} else {
			y = y.Sub(y.MatMul(x).MatMul(y))
		}
	}
	return y
}

// Members lists projections, convolution, decay, norm and output.
func (d *GatedDelta) Members() []Member {
	list := []Member{{Name: "in_proj_qkvz", Slot: &d.QKVZ}, {Name: "in_proj_ba", Slot: &d.BA}}
	if d.QKVZ == nil {
		list = []Member{{Name: "in_proj_qkv", Slot: &d.QKV}, {Name: "in_proj_z", Slot: &d.Z}, {Name: "in_proj_b", Slot: &d.B}, {Name: "in_proj_a", Slot: &d.A}}
	}
	return append(list, Member{Name: "conv1d", Part: d.Conv}, Member{Name: "dt_bias", Weight: &d.Bias}, Member{Name: "A_log", Weight: &d.ALog},
		Member{Name: "norm", Part: d.Norm}, Member{Name: "out_proj", Slot: &d.Out})
}
