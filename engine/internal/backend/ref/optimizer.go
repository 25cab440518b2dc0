package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	ops[ir.AdamW] = adamW
	ops[ir.AdamW8] = adamW8
}

// adamW steps every tensor (Loshchilov, Hutter: Decoupled weight decay regularization, ICLR 2019). The
// arguments are lr, β₁, β₂, ε, weight decay, 1−β₁ᵗ, 1−β₂ᵗ, a factor for the gradients and a guard, then all
// p, all g, all m, all v; the results are all p, all m, all v, unchanged if the guard is not finite. Masters
// are a list more.
func adamW(in *backend.Inst, a []value) []value {
	return steps(in, a, func(s *settings, p, g value, state func(list int) value) {
		m, v := state(1), state(2)
		for i := range p.f {
			grad := s.factor * g.f[i]
			m.f[i] = s.beta1*m.f[i] + (1-s.beta1)*grad
			v.f[i] = s.beta2*v.f[i] + (1-s.beta2)*grad*grad
			step := m.f[i] / s.bias1 / (math.Sqrt(v.f[i]/s.bias2) + s.eps)
			p.f[i] -= s.lr * (step + s.decay*p.f[i])
		}
	})
}

type settings struct{ lr, beta1, beta2, eps, decay, bias1, bias2, factor float64 }

// steps makes a step for each parameter p with the gradient g, if the guard is finite: state is what a list
// of the results has for it, as it was.
func steps(in *backend.Inst, a []value, step func(s *settings, p, g value, state func(list int) value)) []value {
	number := func(i int) float64 { return a[i].f[0] }
	s := &settings{number(0), number(1), number(2), number(3), number(4), number(5), number(6), number(7)}
	guard := number(8)
	a = a[ir.AdamWSettings:]
	out, n := unchanged(in, a)
	if math.IsInf(guard, 0) || math.IsNaN(guard) {
		return out
	}
	for t := range n {
		step(s, counting(in, out, t), a[n+t], func(list int) value { return out[list*n+t] })
		settle(in, out, t)
	}
	return out
}

// unchanged are the results of a step that is not made, of n parameters. The sources are those behind the
// settings.
func unchanged(in *backend.Inst, sources []value) (out []value, n int) {
	out = results(in)
	for i := range out {
		was := sources[ir.Replaced(in.Op, in.Attr.Flags, len(out), i)-ir.AdamWSettings]
		copy(out[i].f, was.f)
		copy(out[i].i, was.i)
	}
	return out, len(out) / ir.StepLists(in.Op, in.Attr.Flags)
}

// counting is what is stepped of parameter t, which is still as it was: itself, or its master, which is made
// equal to it where it does not round to it.
func counting(in *backend.Inst, out []value, t int) value {
	if in.Attr.Flags&ir.Masters == 0 {
		return out[t]
	}
	p, w := out[t], masterOf(in, out, t)
	for i, x := range p.f {
		if narrowed(p.dtype, w.f[i]) != x {
			w.f[i] = x
		}
	}
	return w
}

// settle makes parameter t its master, rounded.
func settle(in *backend.Inst, out []value, t int) {
	if in.Attr.Flags&ir.Masters == 0 {
		return
	}
	p, w := out[t], masterOf(in, out, t)
	w.round()
	for i, x := range w.f {
		p.f[i] = narrowed(p.dtype, x)
	}
}

// narrowed is x, rounded to a narrower type.
func narrowed(to dtype.Type, x float64) float64 {
	return ir.Convert(ir.Scalar{F: x}, dtype.F32, to).F
}

// masterOf is the master of parameter t.
func masterOf(in *backend.Inst, out []value, t int) value {
	n := len(out) / ir.StepLists(in.Op, in.Attr.Flags)
	return out[len(out)-n+t]
}

// adamW8 is adamW with moments in 8 bits: the first one, and the root of the second. Both are decoded,
// stepped, and encoded again, a block of 256 at a time.
func adamW8(in *backend.Inst, a []value) []value {
	return steps(in, a, func(s *settings, p, g value, state func(list int) value) {
		m := eight{ir.DynamicSigned, state(1).i, state(2).f}
		r := eight{ir.DynamicUnsigned, state(3).i, state(4).f}
		for block := range m.scales {
			first, root := m.decoded(block), r.decoded(block)
			for k := range first {
				i := block*ir.DynamicBlock + k
				if i >= len(p.f) {
					first[k], root[k] = 0, 0
					continue
				}
				grad := s.factor * g.f[i]
				first[k] = s.beta1*first[k] + (1-s.beta1)*grad
				root[k] = math.Sqrt(s.beta2*root[k]*root[k] + (1-s.beta2)*grad*grad)
				p.f[i] -= s.lr * (first[k]/s.bias1/(root[k]/math.Sqrt(s.bias2)+s.eps) + s.decay*p.f[i])
			}
			m.encode(block, first)
			r.encode(block, root)
		}
	})
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
