package fft

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// lent is a transform as a routine of a device's library (cuFFT), which has complex numbers as pairs and
// does not scale.
func (k kind) lent(at []span, inverse bool) *host.Lent {
	n, scale := at[len(at)-1].n, 1.
	for _, a := range at {
		scale *= a.scale
	}
	r, shape := ir.Routine{Name: ir.FFTRoutine, Rows: 1, Columns: n}, []int{n, 2}
	switch {
	case k == ofReal:
		r.Name, shape = ir.RFFTRoutine, []int{n/2 + 1, 2}
	case k == ofHalf:
		r.Name, shape = ir.IRFFTRoutine, []int{n}
	case inverse:
		r.Name = ir.IFFTRoutine
	}
	if len(at) == 2 {
		r.Rows, shape = at[0].n, append([]int{at[0].n}, shape...)
	}
	return &host.Lent{Routine: r, Outs: []ir.Type{{DType: dtype.F32, Shape: shape}},
		Before: func(in []Tensor) []Tensor {
			x := in[0]
			if k != ofReal {
				first := tensor.Range(2).To(x.Device()).Eq(0)
				x = tensor.Where(first, x.Unsqueeze(-1), in[1].Unsqueeze(-1))
				if k == ofHalf {
					x = tensor.Where(first.Not().And(single(x, n).Unsqueeze(-1)), 0, x)
				}
			}
			if scale != 1 { // here it fuses with the pairs
				x = x.Mul(scale)
			}
			return []Tensor{x}
		},
		After: func(out []Tensor) []Tensor {
			if k == ofHalf {
				return out
			}
			return []Tensor{out[0].Select(-1, 0), out[0].Select(-1, 1)}
		}}
}
