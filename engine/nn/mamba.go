package nn

import (
	"cmp"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Mamba is the recurrent layer of Mamba-2, a state space dual (Dao and Gu 2024). Each head has a matrix S
// [State Dim], which fades by e^(Δ·A) with each token and gets B·(Δ·x)ᵀ; the token gets Cᵀ·S + D·x. A, which
// is negative, and D are numbers of a head, Δ, x, B and C are those of a token.
type Mamba struct {
	In            Layer         // width to the gates z, to x, to B and C of each group, and to a Δ of each head
	Conv          *Conv         // of the channels of x, B and C
	ALog, Bias, D tensor.Tensor // [Heads]: ln −A, what is added to Δ before its softplus, and D
	Norm          *RMSNorm      // of what all heads give; nil: none
	Out           Layer
	Act           Func       // after the convolution; the zero Func is SiLU
	Heads, Dim    int        // of x, and their width
	Groups, State int        // of B and C, which as many heads share, and their width
	Limits        [2]float64 // least and greatest Δ; a second number of 0: there is no greatest
	NormFirst     bool       // the norm comes before the gate
	Factors       [5]float64 // of z, x, B, C and Δ as In gives them (Falcon-H1); 0 means 1
}

// Forward maps x [B T width] to [B T width]: see [Recurrent].
func (m *Mamba) Forward(x, starts tensor.Tensor) tensor.Tensor {
	z, xbc, dt := m.project(x)
	r, in := m.scan(m.Conv.causal(xbc.Pad(1, m.Conv.reach(), 0, 0), starts), dt)
	y, _ := r.run(tensor.Zeros(x.Len(0), m.Heads, m.State, m.Dim).To(x.Device()), starts)
	return m.join(y, in, z, x.DType())
}

// Continue maps x [B T width] to [B T width]: see [Recurrent].
func (m *Mamba) Continue(x tensor.Tensor, s Step, c *Cache) tensor.Tensor {
	z, xbc, dt := m.project(x)
	all := s.after(s.state(c.States[0]), xbc)
	r, in := m.scan(m.Conv.causal(all, tensor.Tensor{}), dt)
	return s.alike(m.join(r.follow(s, c, all), in, z, x.DType()))
}

// NewStates returns the last inputs of the convolution, f32 [texts kernel−1 channels], and the matrices of
// the heads, f32 [texts heads State Dim].
func (m *Mamba) NewStates(texts int) *Cache {
	return &Cache{States: []tensor.Tensor{
		tensor.Zeros(texts, m.Conv.reach(), m.Conv.Weight.Len(0)).Eval(),
		tensor.Zeros(texts, m.Heads, m.State, m.Dim).Eval(),
	}}
}

// project maps x to the gates z [B T Heads·Dim], to x, B and C side by side [B T channels], and to Δ before
// its softplus [B T Heads], all in f32.
func (m *Mamba) project(x tensor.Tensor) (z, xbc, dt tensor.Tensor) {
	all := m.In.Forward(x).Cast(dtype.F32)
	inner, group := m.Heads*m.Dim, m.Groups*m.State
	var parts []tensor.Tensor
	for i, width := range []int{inner, inner, group, group, m.Heads} {
		parts = append(parts, all.Slice(2, 0, width).Mul(cmp.Or(m.Factors[i], 1)))
		if i < 4 {
			all = all.Slice(2, width, all.Len(2))
		}
	}
	return parts[0], tensor.Concat(parts[1:4], 2), parts[4]
}

// scan turns what was convolved, and Δ, into what the heads get, and x [B T Heads Dim].
func (m *Mamba) scan(xbc, dt tensor.Tensor) (r scan, x tensor.Tensor) {
	xbc = m.Act.orSiLU(xbc)
	inner, group := m.Heads*m.Dim, m.Groups*m.State
	x = xbc.Slice(2, 0, inner).Reshape(xbc.Len(0), xbc.Len(1), m.Heads, m.Dim)
	dt = dt.Add(m.Bias.Cast(dtype.F32)).Softplus().Clip(m.Limits[0], cmp.Or(m.Limits[1], math.Inf(1)))
	return scan{
		q: split(xbc.Slice(2, inner+group, inner+2*group), m.Groups).Unsqueeze(2),
		k: split(xbc.Slice(2, inner, inner+group), m.Groups).Unsqueeze(2),
		v: grouped(x.Mul(dt.Unsqueeze(3)), m.Groups),
		g: grouped(dt.Mul(m.ALog.Cast(dtype.F32).Exp().Neg()), m.Groups),
	}, x
}

// join makes the layer's result of what the heads give [B T Heads Dim] for x.
func (m *Mamba) join(y, x, z tensor.Tensor, dt dtype.Type) tensor.Tensor {
	y = y.Add(x.Mul(m.D.Cast(dtype.F32).Unsqueeze(1)))
	y = y.Reshape(z.Shape()...)
	norm := func(y tensor.Tensor) tensor.Tensor {
		if m.Norm == nil {
			return y
		}
		return m.Norm.Forward(y)
	}
	if m.NormFirst {
		y = norm(y).Mul(z.Silu())
	} else {
		y = norm(y.Mul(z.Silu()))
	}
	return m.Out.Forward(y.Cast(dt))
}

// Members lists projections, convolution, the numbers of heads, and the norm if there is one.
func (m *Mamba) Members() []Member {
	return Present([]Member{
		{Name: "in_proj", Slot: &m.In}, {Name: "conv1d", Part: m.Conv}, {Name: "dt_bias", Weight: &m.Bias}, {Name: "A_log", Weight: &m.ALog},
		{Name: "D", Weight: &m.D}, {Name: "norm", Part: m.Norm}, {Name: "out_proj", Slot: &m.Out},
	}...)
}
