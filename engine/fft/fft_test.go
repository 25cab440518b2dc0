package fft_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/fft"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func TestMain(m *testing.M) { devicetest.Main(m) }

func near(t *testing.T, what string, got, want tensor.Tensor) {
	t.Helper()
	if !tensor.AllClose(got, want, 1e-10, 1e-10) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Every length, in stages of all kinds and Bluestein's way, is the sum that defines a transform; the inverse
// and the halves belong to it.
func TestLengths(t *testing.T) {
	lengths := []int{256, 343, 1000, 1009, 2 * 1009, 53 * 59, 4096}
	for n := 1; n < 130; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(math.Sin(float64(i*i)), math.Cos(float64(3*i)))
		}
		some := make([]int, 0, 8) // of the results
		for k := 0; k < n; k += max(1, n/7) {
			some = append(some, k)
		}
		in := tensor.FromAs(dtype.C128, x)
		got := fft.FFT(in).Complex128s()
		for _, k := range some {
			var want complex128
			for i, v := range x {
				want += v * cmplx.Exp(complex(0, -2*math.Pi*float64(i*k%n)/float64(n)))
			}
			if cmplx.Abs(got[k]-want) > 1e-13*float64(n) {
				t.Errorf("length %d: got %v at %d, want %v", n, got[k], k, want)
			}
		}
		near(t, fmt.Sprint("the inverse of length ", n), fft.IFFT(fft.FFT(in)), in)
		re := in.Real()
		near(t, fmt.Sprint("half of length ", n), fft.RFFT(re), fft.FFT(re).Slice(0, 0, n/2+1))
		near(t, fmt.Sprint("the inverse of a half of length ", n), fft.IRFFT(fft.RFFT(re), fft.Options{N: []int{n}}), re)
	}
}

// TestDevices: another device computes by way of the processor, or by a library, and has the results and the
// gradients, also of the second order; a replayed step transforms again.
func TestDevices(t *testing.T) {
	devicetest.Register("late64")
	devicetest.Register("rehearsal")
	for name, dt := range map[string]dtype.Type{"cpu": dtype.F64, "ref": dtype.F64, "late64": dtype.F64, "rehearsal": dtype.F32} {
		d, err := device.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		limit := 1e-10
		if dt == dtype.F32 {
			limit = 1e-5
		}
		tensor.Within(device.On(t.Context(), d), func() {
			power := func(x tensor.Tensor) tensor.Tensor { return fft.RFFT(x).Mul(2i).Abs().Square().Sum() }
			step := tensor.Compile(func(x ...tensor.Tensor) []tensor.Tensor {
				return append(tensor.Grad(power(x[0]), x[0]), fft.IRFFT(fft.RFFT(x[0])), tensor.Hessian(power)(x[0]).Sum())
			})
			for i := range 4 {
				x := tensor.FromAs(dt, []float64{1, -2, 3, float64(i), 0.5, 7})
				got := step(x)
				if got[1].Device() != d {
					t.Errorf("%s: got a result on %v", name, got[1].Device())
				}
				// |RFFT|² counts all but the first and the last number once, where Parseval's sum has them
				// twice.
				sign := tensor.FromAs(dt, []float64{1, -1, 1, -1, 1, -1})
				gradient := x.Mul(6).Add(x.Sum()).Add(sign.Mul(x.Mul(sign).Sum())).Mul(4)
				for k, want := range []tensor.Tensor{gradient, x, tensor.FromAs(dt, 4*(6*6+36.))} {
					if !tensor.AllClose(got[k], want, limit, limit) {
						t.Errorf("%s, result %d: got %v, want %v", name, k, got[k], want)
					}
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	x, z := tensor.Zeros(2, 3), tensor.Complex(tensor.Zeros(3), tensor.Zeros(3))
	for _, c := range []struct {
		f    func()
		want string
	}{
		{func() { fft.RFFT(z) }, "rfft: got c64[3], want real numbers: FFT takes complex ones"},
		{func() { fft.FFT(x, fft.Options{Axes: []int{2}}) }, "fft: got axis 2 of f32[2 3], want one in -2…1"},
		{func() { fft.FFT(x, fft.Options{Axes: []int{0, 1}}) }, "fft: got axes [0 1], want 1"},
		{func() { fft.FFT2(x, fft.Options{N: []int{3}}) }, "fft2: got lengths [3] for axes [-2 -1], want one for each"},
		{func() { fft.FFT(x, fft.Options{N: []int{0}}) }, "fft: got length 0 along axis 1 of f32[2 3], want 1 at least"},
		{func() { fft.FFT(tensor.Scalar(1)) }, "fft: got f32[], want one axis at least"},
		{func() { fft.FFTN(tensor.Scalar(1)) }, "fftn: got f32[], want one axis at least"},
		{func() { fft.IRFFT(z.Slice(0, 0, 1)) }, "irfft: got length 0 along axis 0 of c64[1], want 1 at least"},
		{func() { fft.IFFT(x, fft.Options{Norm: 7}) }, "ifft: got Norm 7, want Backward, Ortho or Forward"},
		{func() { fft.FFT(x, fft.Options{}, fft.Options{}) }, "fft: got 2 Options, want one at most"},
		{func() { fft.FFTN(x, fft.Options{Axes: []int{0, -2}}) }, "fftn: got axis 0 of f32[2 3] twice, want each axis once"},
		{func() { fft.Freq(0, 1) }, "freq: got length 0, want 1 at least"},
		{func() { fft.FFT(tensor.Tensor{}) }, "fft: got no tensor (a zero Tensor)"},
	} {
		if err := tensor.Try(c.f); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	for _, shape := range [][]int{{1000, 512}, {1000, 1000}, {1, 1 << 20}, {100, 1009}} {
		x := tensor.Randn(shape...).Eval()
		z := tensor.Complex(x, x).Eval()
		b.Run(fmt.Sprint("complex", shape), func(b *testing.B) {
			for b.Loop() {
				y := fft.FFT(z).Eval()
				y.Free()
			}
		})
		b.Run(fmt.Sprint("real", shape), func(b *testing.B) {
			for b.Loop() {
				y := fft.RFFT(x).Eval()
				y.Free()
			}
		})
	}
}
