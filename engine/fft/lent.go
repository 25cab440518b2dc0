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
	l := &host.Lent{Routine: ir.Routine{Rows: 1, Columns: n}, Before: pairs}
	shape := []int{n, 2}
	switch {
	case k == ofReal:
		l.Routine.Name, l.Before, shape = ir.RFFTRoutine, nil, []int{n/2 + 1, 2}
	case k == ofHalf:
		l.Routine.Name, shape = ir.IRFFTRoutine, []int{n}
		l.Before = func(in []Tensor) []Tensor {
			return pairs([]Tensor{in[0], tensor.Where(single(in[1], n), 0, in[1])})
		}
	case inverse:
		l.Routine.Name = ir.IFFTRoutine
	default:
		l.Routine.Name = ir.FFTRoutine
	}
	if len(at) == 2 {
		l.Routine.Rows, shape = at[0].n, append([]int{at[0].n}, shape...)
	}
	for _, a := range at {
		scale *= a.scale
	}
	l.Outs = []ir.Type{{DType: dtype.F32, Shape: shape}}
	l.After = func(out []Tensor) []Tensor {
		if k != ofHalf {
			out = []Tensor{out[0].Select(-1, 0), out[0].Select(-1, 1)}
		}
		for i, y := range out {
			if scale != 1 {
				out[i] = y.Mul(scale)
			}
		}
		return out
	}
	return l
}

// pairs are complex numbers, of their parts.
func pairs(in []Tensor) []Tensor {
	first := tensor.Range(2).To(in[0].Device()).Eq(0)
	return []Tensor{tensor.Where(first, in[0].Unsqueeze(-1), in[1].Unsqueeze(-1))}
}
