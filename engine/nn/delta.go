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

// Forward maps x [B T width] to [B T width]: see [Recurrent].
func (d *GatedDelta) Forward(x, starts tensor.Tensor) tensor.Tensor {
	qkv, z, b, a := d.project(x)
	r := d.rule(d.Conv.causal(qkv.Pad(1, d.Conv.reach(), 0, 0), starts), b, a)
	y, _ := r.run(tensor.Zeros(x.Len(0), d.Values, d.KeyDim, d.Dim).To(x.Device()), starts)
	return d.join(y, z, x.DType())
}

// Continue maps x [B T width] to [B T width]: see [Recurrent].
func (d *GatedDelta) Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	qkv, z, b, a := d.project(x)
	all := s.after(s.state(c.States[0]), qkv)
	y := d.rule(d.Conv.causal(all, tensor.Tensor{}), b, a).follow(s, c, all)
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
func (d *GatedDelta) rule(qkv, b, a tensor.Tensor) scan {
	qkv = d.Act.orSiLU(qkv)
	keys := d.Keys * d.KeyDim
	unit := func(x tensor.Tensor) tensor.Tensor {
		x = split(x, d.Keys).Unsqueeze(2)
		return x.Div(x.Square().SumKeep(-1).Add(1e-6).Sqrt())
	}
	return scan{
		q:    unit(qkv.Slice(2, 0, keys)).Mul(1 / math.Sqrt(float64(d.KeyDim))),
		k:    unit(qkv.Slice(2, keys, 2*keys)),
		v:    grouped(qkv.Slice(2, 2*keys, qkv.Len(2)).Reshape(qkv.Len(0), qkv.Len(1), d.Values, d.Dim), d.Keys),
		g:    grouped(a.Cast(dtype.F32).Add(d.Bias).Softplus().Mul(d.ALog.Cast(dtype.F32).Exp().Neg()), d.Keys),
		beta: grouped(b.Cast(dtype.F32).Sigmoid(), d.Keys),
	}
}

// join makes the layer's result of what the heads give [B T heads Dim], in f32.
func (d *GatedDelta) join(y, z tensor.Tensor, dt dtype.Type) tensor.Tensor {
	y = d.Norm.Forward(y).Mul(z.Cast(dtype.F32).Silu()).Cast(dt)
	return d.Out.Forward(y.Reshape(y.Len(0), y.Len(1), d.Values*d.Dim))
}

// Members lists projections, convolution, decay, norm and output.
func (d *GatedDelta) Members() []Member {
	return Present([]Member{
		{Name: "in_proj_qkvz", Slot: &d.QKVZ}, {Name: "in_proj_ba", Slot: &d.BA},
		{Name: "in_proj_qkv", Slot: &d.QKV}, {Name: "in_proj_z", Slot: &d.Z}, {Name: "in_proj_b", Slot: &d.B}, {Name: "in_proj_a", Slot: &d.A},
		{Name: "conv1d", Part: d.Conv}, {Name: "dt_bias", Weight: &d.Bias}, {Name: "A_log", Weight: &d.ALog}, {Name: "norm", Part: d.Norm}, {Name: "out_proj", Slot: &d.Out},
	}...)
}
