package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.AdamW] = adamW
	ops[ir.AdamW8] = adamW8
}

// adamW steps every tensor (Loshchilov, Hutter: Decoupled weight decay regularization, ICLR 2019). The
// arguments are lr, β₁, β₂, ε, weight decay, 1−β₁ᵗ, 1−β₂ᵗ, a factor for the gradients and a guard, then all
// p, all g, all m, all v; the results are all p, all m, all v, unchanged if the guard is not finite.
func adamW(in *backend.Inst, a []value) []value {
	setting := func(i int) float64 { return a[i].f[0] }
	lr, beta1, beta2, eps, decay := setting(0), setting(1), setting(2), setting(3), setting(4)
	bias1, bias2, factor, guard := setting(5), setting(6), setting(7), setting(8)
	a = a[ir.AdamWSettings:]
	n := len(in.Outs) / 3
	out := make([]value, 3*n)
	for i := range out {
		out[i] = newValue(in.Outs[i].DType, in.Outs[i].Shape)
	}
	for t := range n {
		p, g, m, v := a[t], a[n+t], a[2*n+t], a[3*n+t]
		if math.IsInf(guard, 0) || math.IsNaN(guard) {
			copy(out[t].f, p.f)
			copy(out[n+t].f, m.f)
			copy(out[2*n+t].f, v.f)
			continue
		}
		for i := range p.f {
			grad := factor * g.f[i]
			m1 := beta1*m.f[i] + (1-beta1)*grad
			v1 := beta2*v.f[i] + (1-beta2)*grad*grad
			step := m1 / bias1 / (math.Sqrt(v1/bias2) + eps)
			out[t].f[i] = p.f[i] - lr*(step+decay*p.f[i])
			out[n+t].f[i] = m1
			out[2*n+t].f[i] = v1
		}
	}
	return out
}

// adamW8 is adamW with moments in 8 bits: the first one, and the root of the second. Both are decoded,
// stepped, and encoded again, a block of 256 at a time.
func adamW8(in *backend.Inst, a []value) []value {
	setting := func(i int) float64 { return a[i].f[0] }
	lr, beta1, beta2, eps, decay := setting(0), setting(1), setting(2), setting(3), setting(4)
	bias1, bias2, factor, guard := setting(5), setting(6), setting(7), setting(8)
	a = a[ir.AdamWSettings:]
	n := len(in.Outs) / 5
	out := make([]value, 5*n)
	for i := range out {
		out[i] = newValue(in.Outs[i].DType, in.Outs[i].Shape)
		was := a[ir.Replaced(in.Op, 5*n, i)-ir.AdamWSettings]
		copy(out[i].f, was.f)
		copy(out[i].i, was.i)
	}
	if math.IsInf(guard, 0) || math.IsNaN(guard) {
		return out
	}
	for t := range n {
		p, g := out[t], a[n+t]
		m := eight{ir.DynamicSigned, out[n+t].i, out[2*n+t].f}
		r := eight{ir.DynamicUnsigned, out[3*n+t].i, out[4*n+t].f}
		for block := range m.scales {
			first, root := m.decoded(block), r.decoded(block)
			for k := range first {
				i := block*ir.DynamicBlock + k
				if i >= len(p.f) {
					first[k], root[k] = 0, 0
					continue
				}
				grad := factor * g.f[i]
				first[k] = beta1*first[k] + (1-beta1)*grad
				root[k] = math.Sqrt(beta2*root[k]*root[k] + (1-beta2)*grad*grad)
				p.f[i] -= lr * (first[k]/bias1/(root[k]/math.Sqrt(bias2)+eps) + decay*p.f[i])
			}
			m.encode(block, first)
			r.encode(block, root)
		}
	}
	return out
}

// An eight is a list of numbers in 8 bits.
type eight struct {
	numbers *ir.DynamicMap
	codes   []int64
	scales  []float64
}

func (e eight) decoded(block int) []float64 {
	list := make([]float64, ir.DynamicBlock)
	for k := range list {
		list[k] = e.numbers.Values[e.codes[block*ir.DynamicBlock+k]] * e.scales[block]
	}
	return list
}

func (e eight) encode(block int, list []float64) {
	scale := 0.0
	for _, x := range list {
		if x-x != 0 {
			scale = math.NaN()
		}
		scale = max(scale, math.Abs(x))
	}
	e.scales[block] = scale
	for k, x := range list {
		e.codes[block*ir.DynamicBlock+k] = int64(e.numbers.Code(x / max(scale, leastScale)))
	}
}

// leastScale keeps a block of zeros from being divided by 0.
const leastScale = 1e-37
