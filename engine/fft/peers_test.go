package fft_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/fft"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A peerCase is a call, with an operand in quarters, and projections of what NumPy or PyTorch answers: a
// shape, whether it is complex, and two sums of each part (tests/peers/complex_cases.py).
type peerCase struct {
	Op   string
	Args []struct {
		Shape []int
		Parts [][]int
	}
	N, Axes []int
	Norm    fft.Norm
	Want    [6]any
}

func (c *peerCase) operand(dt dtype.Type) tensor.Tensor {
	a := c.Args[0]
	x := tensor.From(a.Parts[0], a.Shape...).Cast(dt).Div(4)
	if len(a.Parts) == 2 {
		return tensor.Complex(x, tensor.From(a.Parts[1], a.Shape...).Cast(dt).Div(4))
	}
	return x
}

// agrees compares a result with projections, in units of what the elements add up to.
func (c *peerCase) agrees(got tensor.Tensor, limit float64) error {
	var shape []int
	for _, n := range c.Want[0].([]any) {
		shape = append(shape, int(n.(float64)))
	}
	if complex := c.Want[1].(bool); !slices.Equal(got.Shape(), shape) || got.DType().Complex() != complex {
		return fmt.Errorf("got %s, want %v, complex: %v", got.Brief(), shape, complex)
	}
	var sums [4]float64
	size := 1.
	for i, z := range got.Complex128s() {
		wave := math.Cos(float64(i)*0.7 + 0.3)
		for k, x := range []float64{real(z), real(z) * wave, imag(z), imag(z) * wave} {
			sums[k] += x
		}
		size += math.Abs(real(z)) + math.Abs(imag(z))
	}
	for k, have := range sums {
		if want := c.Want[k+2].(float64); math.Abs(have-want) > limit*size {
			return fmt.Errorf("got the sums %v, want %v", sums, c.Want[2:])
		}
	}
	return nil
}

var transforms = map[string]func(x tensor.Tensor, o ...fft.Options) tensor.Tensor{
	"fft": fft.FFT, "ifft": fft.IFFT, "rfft": fft.RFFT, "irfft": fft.IRFFT, "fft2": fft.FFT2, "ifft2": fft.IFFT2, "rfft2": fft.RFFT2, "irfft2": fft.IRFFT2,
	"fftn": fft.FFTN, "ifftn": fft.IFFTN, "rfftn": fft.RFFTN, "irfftn": fft.IRFFTN,
}

func (c *peerCase) call(x tensor.Tensor) tensor.Tensor {
	o := fft.Options{N: c.N, Axes: c.Axes, Norm: c.Norm}
	if c.N == nil && c.Axes == nil && c.Norm == fft.Backward {
		return transforms[c.Op](x)
	}
	return transforms[c.Op](x, o)
}

// TestPeers holds values against NumPy and gradients against PyTorch.
func TestPeers(t *testing.T) {
	f, err := os.Open("testdata/peers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var cases struct{ Values, Gradients, Frequencies, Shifts []*peerCase }
	if err := json.NewDecoder(z).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Values) < 600 || len(cases.Gradients) < 100 || len(cases.Frequencies) < 20 || len(cases.Shifts) < 16 {
		t.Fatalf("got %d, %d, %d and %d cases, want 600, 100, 20 and 16", len(cases.Values), len(cases.Gradients), len(cases.Frequencies), len(cases.Shifts))
	}
	for i, c := range cases.Values {
		for dt, limit := range map[dtype.Type]float64{dtype.F64: 1e-13, dtype.F32: 1e-6} {
			y := c.call(c.operand(dt))
			if err := c.agrees(y, limit); err != nil || y.DType().Part() != dt {
				t.Errorf("case %d, %s of %s %v %v %v: got %v, %v", i, c.Op, c.operand(dt).Brief(), c.N, c.Axes, c.Norm, y.DType(), err)
			}
		}
	}
	for i, c := range cases.Gradients {
		x := c.operand(dtype.F64)
		y := c.call(x)
		wave := tensor.Range(y.Size()).Cast(dtype.F64).Mul(0.7).Add(0.3).Cos().Reshape(y.Shape()...)
		loss := y.Square().Mul(wave).Sum()
		if y.DType().Complex() {
			loss = y.Real().Mul(wave).Sum().Add(y.Imag().Square().Mul(wave).Sum())
		}
		if err := c.agrees(tensor.Grad(loss, x)[0], 1e-12); err != nil {
			t.Errorf("gradient %d, %s of %s %v %v %v: %v", i, c.Op, x.Brief(), c.N, c.Axes, c.Norm, err)
		}
	}
	for _, c := range cases.Frequencies {
		freq := map[string]func(int, float64) tensor.Tensor{"fftfreq": fft.Freq, "rfftfreq": fft.RFreq}[c.Op]
		if err := c.agrees(freq(c.N[0], 0.25), 1e-6); err != nil {
			t.Errorf("%s of %d: %v", c.Op, c.N[0], err)
		}
	}
	for _, c := range cases.Shifts {
		shift := map[string]func(tensor.Tensor, ...int) tensor.Tensor{"fftshift": fft.Shift, "ifftshift": fft.IShift}[c.Op]
		if err := c.agrees(shift(c.operand(dtype.F64), c.Axes...), 1e-15); err != nil {
			t.Errorf("%s along %v: %v", c.Op, c.Axes, err)
		}
	}
}
