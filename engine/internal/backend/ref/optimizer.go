package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() { ops[ir.AdamW] = adamW }

// adamW steps every tensor (Loshchilov, Hutter: Decoupled weight decay regularization, ICLR 2019). The arguments are
// lr, β₁, β₂, ε, weight decay, 1−β₁ᵗ, 1−β₂ᵗ and a factor for the gradients, then all p, all g, all m, all v; the
// results are all p, all m, all v.
func adamW(in *backend.Inst, a []value) []value {
	setting := func(i int) float64 { return a[i].f[0] }
	lr, beta1, beta2, eps, decay := setting(0), setting(1), setting(2), setting(3), setting(4)
	bias1, bias2, factor := setting(5), setting(6), setting(7)
	n := len(in.Outs) / 3
	out := make([]value, 3*n)
	for i := range out {
		out[i] = newValue(in.Outs[i].DType, in.Outs[i].Shape)
	}
	for t := range n {
		p, g, m, v := a[8+t], a[8+n+t], a[8+2*n+t], a[8+3*n+t]
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
