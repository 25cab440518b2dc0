package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() { ops[ir.AdamW] = adamW }

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
