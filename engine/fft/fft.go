// Package fft has fast Fourier transforms of tensors, named as those of numpy.fft and torch.fft.
//
// A transform of n numbers is y[k] = Σₜ x[t]·e^(−2πi·kt/n), the inverse one x[t] = (1/n)·Σₖ
// y[k]·e^(2πi·kt/n). [FFT] and [IFFT] take complex or real numbers and give complex ones; [RFFT] takes real
// numbers and gives the half of the result that says all, [IRFFT] takes that half back. The axis is the last
// one unless [Options] says otherwise; those before are a batch. Results are c64, and c128 or f64 of operands
// of c128 or f64; other operands count as f32.
//
// Everything is lazy and has gradients of any order, which are transforms. A length may be any number: the
// work is n·log n, most quickly where n has small factors. Transforms compute on the processor, several rows
// at once, in float64 whatever the dtype, and round once at the end: of another device (a GPU) operands are
// copied to the processor and results back.
package fft

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Tensor is tensor.Tensor.
type Tensor = tensor.Tensor

// Options say what of the operand is transformed, and how results are scaled.
type Options struct {
	// N are the lengths to which the axes are cut or filled up with zeros before the transform; none: as long
	// as they are. Of IRFFT and its like the last one is that of the result, by default 2·(m−1) for m
	// numbers.
	N    []int
	Axes []int // one for each transform; default the last, the last two of FFT2, all of FFTN
	Norm Norm
}

// A Norm says which of a transform and its inverse is divided by n.
type Norm int

const (
	Backward Norm = iota // the inverse
	Ortho                // both, by √n
	Forward              // the transform
)

// scale is the factor of one transform of n numbers.
func (o Norm) scale(op string, n int, inverse bool) float64 {
	switch {
	case o < Backward || o > Forward:
		fail(op, "got Norm %d, want Backward, Ortho or Forward", o)
	case o == Ortho:
		return 1 / math.Sqrt(float64(n))
	case (o == Backward) == inverse:
		return 1 / float64(n)
	}
	return 1
}

// FFT is the transform along one axis.
func FFT(x Tensor, o ...Options) Tensor { return along("fft", x, o, 1, false, ofComplex) }

// IFFT is the inverse of FFT.
func IFFT(x Tensor, o ...Options) Tensor { return along("ifft", x, o, 1, true, ofComplex) }

// FFT2 is the transform along two axes.
func FFT2(x Tensor, o ...Options) Tensor { return along("fft2", x, o, 2, false, ofComplex) }

// IFFT2 is the inverse of FFT2.
func IFFT2(x Tensor, o ...Options) Tensor { return along("ifft2", x, o, 2, true, ofComplex) }

// FFTN is the transform along several axes, by default all.
func FFTN(x Tensor, o ...Options) Tensor { return along("fftn", x, o, 0, false, ofComplex) }

// IFFTN is the inverse of FFTN.
func IFFTN(x Tensor, o ...Options) Tensor { return along("ifftn", x, o, 0, true, ofComplex) }

// RFFT is the transform of n real numbers along one axis: its first n/2+1 numbers, of which the others are
// the conjugates.
func RFFT(x Tensor, o ...Options) Tensor { return along("rfft", x, o, 1, false, ofReal) }

// IRFFT is the inverse of RFFT: real numbers, of m complex ones 2·(m−1), or as many as Options.N says, which
// an odd number needs. What is imaginary in the first number, and in the last one of an even result, does not
// count.
func IRFFT(x Tensor, o ...Options) Tensor { return along("irfft", x, o, 1, true, ofHalf) }

// RFFT2 is the transform of real numbers along two axes; the last of them is halved as in RFFT.
func RFFT2(x Tensor, o ...Options) Tensor { return along("rfft2", x, o, 2, false, ofReal) }

// IRFFT2 is the inverse of RFFT2.
func IRFFT2(x Tensor, o ...Options) Tensor { return along("irfft2", x, o, 2, true, ofHalf) }

// RFFTN is the transform of real numbers along several axes, by default all; the last of them is halved as in
// RFFT.
func RFFTN(x Tensor, o ...Options) Tensor { return along("rfftn", x, o, 0, false, ofReal) }

// IRFFTN is the inverse of RFFTN.
func IRFFTN(x Tensor, o ...Options) Tensor { return along("irfftn", x, o, 0, true, ofHalf) }

// Freq returns the frequencies of the n numbers of an FFT, in cycles for each unit of the spacing of its
// samples: 0, 1, … −1 times 1/(n·spacing), f32 [n].
func Freq(n int, spacing float64) Tensor {
	k := places("freq", n)
	return tensor.Where(k.Ge((n+1)/2), k.Sub(n), k).Cast(dtype.F32).Mul(1 / (float64(n) * spacing))
}

// RFreq returns the frequencies of the n/2+1 numbers of an RFFT of n: as [Freq], f32 [n/2+1].
func RFreq(n int, spacing float64) Tensor {
	return places("rfreq", n).Slice(0, 0, n/2+1).Cast(dtype.F32).Mul(1 / (float64(n) * spacing))
}

func places(op string, n int) Tensor {
	if n < 1 {
		fail(op, "got length %d, want 1 at least", n)
	}
	return tensor.Range(n+1).Slice(0, 0, n)
}

// Shift moves frequency 0 from the first place of axes to the middle, none means all axes: n/2 places.
func Shift(x Tensor, axes ...int) Tensor { return shifted(x, axes, func(n int) int { return n / 2 }) }

// IShift is the inverse of Shift.
func IShift(x Tensor, axes ...int) Tensor {
	return shifted(x, axes, func(n int) int { return -(n / 2) })
}

func shifted(x Tensor, axes []int, places func(n int) int) Tensor {
	if len(axes) == 0 {
		axes = all(x)
	}
	for _, a := range axes {
		x = x.Roll(a, places(x.Len(a)))
	}
	return x
}

func fail(op, format string, args ...any) {
	panic(&tensor.Error{Op: op, Msg: fmt.Sprintf(format, args...)})
}

func all(x Tensor) []int {
	axes := make([]int, x.Rank())
	for i := range axes {
		axes[i] = i
	}
	return axes
}

// A kind is what a transform takes and gives.
type kind int

const (
	ofComplex kind = iota // complex numbers to complex ones
	ofReal                // real numbers to the first half of complex ones
	ofHalf                // that half to real numbers
)

// along transforms so many axes, 0 for any number. Of the last of them it is a transform of that kind, of the
// others one of complex numbers.
func along(op string, x Tensor, options []Options, count int, inverse bool, last kind) Tensor {
	var o Options
	switch len(options) {
	case 0:
	case 1:
		o = options[0]
	default:
		fail(op, "got %d Options, want one at most", len(options))
	}
	axes := axesOf(op, x, o, count)
	n := o.N
	if n == nil {
		for i, a := range axes {
			if n = append(n, x.Len(a)); i == len(axes)-1 && last == ofHalf {
				n[i] = 2 * (n[i] - 1)
			}
		}
	}
	for i, d := range n {
		if d < 1 {
			fail(op, "got length %d along axis %d of %s, want 1 at least", d, axes[i], describe(x))
		}
	}
	if last == ofReal && x.DType().Complex() {
		fail(op, "got %s, want real numbers: %s takes complex ones", describe(x), strings.ToUpper(op[1:]))
	}
	for k := range axes {
		i := k // an inverse has the real side at its end, and so the last axis
		if !inverse {
			i = len(axes) - 1 - k
		}
		of := ofComplex
		if i == len(axes)-1 {
			of = last
		}
		y := of.transform(op, precise(x.MoveAxis(axes[i], -1)), n[i], inverse, o.Norm.scale(op, n[i], inverse))
		x = y.MoveAxis(-1, axes[i])
	}
	return x
}

// axesOf are the axes that are transformed.
func axesOf(op string, x Tensor, o Options, count int) []int {
	if x.IsNone() {
		fail(op, "got no tensor (a zero Tensor)")
	}
	axes := slices.Clone(o.Axes)
	rank := x.Rank()
	switch {
	case rank == 0:
		fail(op, "got %s, want one axis at least", describe(x))
	case axes == nil && count == 0 && o.N != nil:
		count = len(o.N)
		fallthrough
	case axes == nil && count > 0:
		for i := range count {
			axes = append(axes, i-count)
		}
	case axes == nil:
		axes = all(x)
	case count > 0 && len(axes) != count:
		fail(op, "got axes %v, want %d", axes, count)
	}
	if o.N != nil && len(o.N) != len(axes) {
		fail(op, "got lengths %v for axes %v, want one for each", o.N, axes)
	}
	if len(axes) == 0 {
		fail(op, "got no axes, want one at least")
	}
	for i, a := range axes {
		if a < 0 {
			axes[i] += rank
		}
		if axes[i] < 0 || axes[i] >= rank {
			fail(op, "got axis %d of %s, want one in %d…%d", a, describe(x), -rank, rank-1)
		}
		if slices.Contains(axes[:i], axes[i]) {
			fail(op, "got axis %d of %s twice, want each axis once", axes[i], describe(x))
		}
	}
	return axes
}

// describe is a tensor in a message: c64[3 4].
func describe(x Tensor) string { return fmt.Sprintf("%v%v", x.DType(), x.Shape()) }

// fit cuts the last axis to n, or fills it up with zeros.
func fit(x Tensor, n int) Tensor {
	switch have := x.Len(-1); {
	case have < n:
		return x.Pad(-1, 0, n-have, 0)
	case have > n:
		return x.Slice(-1, 0, n)
	}
	return x
}

// precise is x in a dtype in which transforms have results: f32 or f64, or complex with such parts.
func precise(x Tensor) Tensor {
	if dt := x.DType(); !dt.Complex() && dt != dtype.F64 {
		return x.Cast(dtype.F32)
	}
	return x
}

// transform is one along the last axis, of n numbers in real space.
func (k kind) transform(op string, x Tensor, n int, inverse bool, scale float64) Tensor {
	switch k {
	case ofReal:
		return realRow(op, fit(x, n), n, scale)
	case ofHalf:
		return halfRow(op, fit(x, n/2+1), n, scale)
	}
	return complexRow(op, fit(x, n), n, inverse, scale)
}

func complexRow(op string, x Tensor, n int, inverse bool, scale float64) Tensor {
	return row(op, fmt.Sprint("complex ", n, inverse, scale), parts(x), []int{n, n},
		func() routine { return complexRows(n, inverse, scale) },
		func(dy Tensor) Tensor { return complexRow(op, dy, n, !inverse, scale) })
}

func realRow(op string, x Tensor, n int, scale float64) Tensor {
	return row(op, fmt.Sprint("real ", n, scale), []Tensor{x}, []int{n/2 + 1, n/2 + 1},
		func() routine { return realRows(n, scale) },
		func(dy Tensor) Tensor { return halfRow(op, dy.Mul(weights(dy, n, 0.5)), n, scale) })
}

func halfRow(op string, x Tensor, n int, scale float64) Tensor {
	return row(op, fmt.Sprint("half ", n, scale), parts(x), []int{n},
		func() routine { return halfRows(n, scale) },
		func(dy Tensor) Tensor {
			dx := realRow(op, dy, n, scale)
			return dx.Mul(weights(dx, n, 2))
		})
}

// weights are v for the numbers of a half that stand for two, and 1 for the others.
func weights(x Tensor, n int, v float64) Tensor {
	k := tensor.Range(n/2 + 1).To(x.Device())
	single := k.Eq(0)
	if n%2 == 0 {
		single = single.Or(k.Eq(n / 2))
	}
	return tensor.Where(single, 1, v)
}

func parts(x Tensor) []Tensor { return []Tensor{x.Real(), x.Imag()} }

// A routine transforms one row of each part, on one thread.
type routine func(in, out [][]float64) error

// row is the node of a transform of rows: one part of numbers that are real, two of complex ones. The code is
// made ready when it runs for the first time.
func row(op, key string, in []Tensor, lengths []int, code func() routine, grad func(dy Tensor) Tensor) Tensor {
	ready := sync.OnceValue(code)
	join := func(parts []Tensor) Tensor {
		if len(parts) == 1 {
			return parts[0]
		}
		return tensor.Complex(parts[0], parts[1])
	}
	c := host.Code{Op: op, Key: key,
		Run: func(_ int, in, out [][]float64) error { return ready()(in, out) },
		Grad: func(_, _, dout []Tensor) []Tensor {
			if dx := grad(join(dout)); len(in) == 2 {
				return parts(dx)
			} else {
				return []Tensor{dx}
			}
		}}
	for _, n := range lengths {
		c.Outs = append(c.Outs, ir.Type{Shape: []int{n}})
	}
	shape := in[0].Shape()
	result := c.Call(shape[:len(shape)-1], in...)
	out := make([]Tensor, len(lengths))
	for i := range out {
		out[i] = result(i)
	}
	return join(out)
}
