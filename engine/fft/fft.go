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
// copied to the processor and results back. But of f32 and c64 on an NVIDIA GPU they compute there, in
// float32, by cuFFT where that is installed.
//
// Reading order: fft.go, transform.go for the code on the processor, lent.go for that of a device's library.
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
		axes = ir.Indices(len(x.Shape()))
	}
	for _, a := range axes {
		x = x.Roll(a, places(x.Len(a)))
	}
	return x
}

func fail(op, format string, args ...any) {
	panic(&tensor.Error{Op: op, Msg: fmt.Sprintf(format, args...)})
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
	order := ir.Indices(len(axes)) // an inverse has the real side at its end, and so the last axis
	if !inverse {
		slices.Reverse(order)
	}
	for len(order) > 0 {
		these := order[:min(2, len(order))] // which a device's library may transform at once
		if last == ofHalf && slices.Index(these, len(axes)-1) > 0 {
			these = these[:1]
		}
		order = order[len(these):]
		of, at, moved := ofComplex, []span{}, []int{}
		for _, i := range slices.Sorted(slices.Values(these)) {
			at, moved = append(at, span{n[i], o.Norm.scale(op, n[i], inverse)}), append(moved, axes[i])
			if i == len(axes)-1 {
				of = last
			}
		}
		to := append(slices.DeleteFunc(ir.Indices(len(x.Shape())), func(a int) bool { return slices.Contains(moved, a) }), moved...)
		x = of.transform(op, precise(x.Permute(to...)), at, inverse).Permute(ir.Inverse(to)...)
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
		axes = ir.Indices(len(x.Shape()))
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

// fit cuts an axis to n, or fills it up with zeros.
func fit(x Tensor, axis, n int) Tensor {
	switch have := x.Len(axis); {
	case have < n:
		return x.Pad(axis, 0, n-have, 0)
	case have > n:
		return x.Slice(axis, 0, n)
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

// A span is an axis that is transformed: its length in real space, and the factor of the results.
type span struct {
	n     int
	scale float64
}

// A routine transforms one row of each part, on one thread.
type routine func(in, out [][]float64) error

// transform is one along the last axis, or along the last two: then it is one of that kind along the last
// one, and one of complex numbers along the other.
func (k kind) transform(op string, x Tensor, at []span, inverse bool) Tensor {
	last := at[len(at)-1]
	n, scale := last.n, last.scale
	from, to, out := n, n, 2
	var code func() routine
	var back func(dy Tensor) Tensor
	switch k {
	case ofComplex:
		code = func() routine { return complexRows(n, inverse, scale) }
		back = func(dy Tensor) Tensor { return k.transform(op, dy, at, !inverse) }
	case ofReal:
		to = n/2 + 1
		code = func() routine { return realRows(n, scale) }
		back = func(dy Tensor) Tensor {
			if len(at) == 2 {
				dy = across(op, dy, at[0], true)
			}
			return ofHalf.transform(op, dy.Mul(weights(dy, n, 0.5)), []span{last}, true)
		}
	case ofHalf:
		from, out = n/2+1, 1
		code = func() routine { return halfRows(n, scale) }
		back = func(dy Tensor) Tensor {
			dx := ofReal.transform(op, dy, at, false)
			return dx.Mul(weights(dx, n, 2))
		}
	}
	in := []Tensor{fit(x, -1, from)}
	if len(at) == 2 {
		in[0] = fit(in[0], -2, at[0].n)
	}
	if k != ofReal {
		in = parts(in[0])
	}
	ready := sync.OnceValue(code) // when it runs for the first time
	c := host.Code{Op: op, Key: fmt.Sprint(k, at, inverse), Outs: slices.Repeat([]ir.Type{{Shape: []int{to}}}, out), Lent: k.lent(at, inverse),
		Run:  func(_ int, in, out [][]float64) error { return ready()(in, out) },
		Grad: func(in, _, dout []Tensor) []Tensor { return parts(back(join(dout)))[:len(in)] }}
	shape := in[0].Shape()
	batch := shape[:len(shape)-len(at)]
	if _, ok := c.Lends(batch, in); !ok && len(at) == 2 {
		return across(op, k.transform(op, x, at[1:], inverse), at[0], inverse)
	}
	result := c.Call(batch, in...)
	results := make([]Tensor, out)
	for i := range results {
		results[i] = result(i)
	}
	return join(results)
}

// across transforms along the last axis but one.
func across(op string, x Tensor, at span, inverse bool) Tensor {
	return ofComplex.transform(op, x.SwapAxes(-1, -2), []span{at}, inverse).SwapAxes(-1, -2)
}

// weights are v for the numbers of a half that stand for two, and 1 for the others.
func weights(x Tensor, n int, v float64) Tensor { return tensor.Where(single(x, n), 1, v) }

// single says which numbers of a half stand for themselves alone: their imaginary parts are 0.
func single(x Tensor, n int) Tensor {
	k := tensor.Range(n/2 + 1).To(x.Device())
	if n%2 == 0 {
		return k.Eq(0).Or(k.Eq(n / 2))
	}
	return k.Eq(0)
}

// parts are the real and the imaginary part.
func parts(x Tensor) []Tensor { return []Tensor{x.Real(), x.Imag()} }

// join makes a tensor of a real part and, if it is complex, an imaginary one.
func join(parts []Tensor) Tensor {
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Complex(parts[0], parts[1])
}
