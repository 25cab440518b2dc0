package tensor

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A number on the left takes the tensor's dtype, as one on the right does.
func TestNumberOnTheLeft(t *testing.T) {
	half := From([]float32{1, 2, 4}).Cast(dtype.BF16)
	ints := From([]int{1, 2, -4})
	for _, c := range []struct {
		name string
		got  Tensor
		dt   dtype.Type
		want []float32
	}{
		{"1 - x", Sub(1, half), dtype.BF16, []float32{0, -1, -3}},
		{"1 / x", Div(1, half), dtype.BF16, []float32{1, 0.5, 0.25}},
		{"1 / integers", Div(1, ints), dtype.F32, []float32{1, 0.5, -0.25}},
		{"7 % integers", Mod(7, ints), dtype.I64, []float32{0, 1, -1}},
		{"1.5 - integers", Sub(1.5, ints), dtype.F32, []float32{0.5, -0.5, 5.5}},
		{"2 ** x", Pow(2, half), dtype.BF16, []float32{2, 4, 16}},
		{"1 << integers", Shl(1, ints.Abs()), dtype.I64, []float32{2, 4, 16}},
		{"-16 >> integers", Shr(-16, ints.Abs()), dtype.I64, []float32{-8, -4, -1}},
		{"x - 1", Sub(half, 1), dtype.BF16, []float32{0, 1, 3}},
		{"x - y", Sub(half, half), dtype.BF16, []float32{0, 0, 0}},
	} {
		if c.got.DType() != c.dt || !slices.Equal(c.got.Cast(dtype.F32).Floats(), c.want) {
			t.Errorf("%s: got %v, want %v %v", c.name, c.got, c.dt, c.want)
		}
	}
	err := Try(func() { Div(1, 2) })
	if err == nil || !strings.Contains(err.Error(), "div: got operands of types int and int, want a Tensor among them") {
		t.Errorf("got %v", err)
	}
}

// Var and its family say what they divide by.
func TestVarianceCorrections(t *testing.T) {
	x := From([]float32{1, 2, 3, 6})
	for _, c := range []struct {
		name string
		got  Tensor
		want float64
	}{
		{"Var", x.Var(), 3.5},
		{"VarWith(0)", x.VarWith(0), 3.5},
		{"SampleVar", x.SampleVar(), 14.0 / 3},
		{"VarWith(1)", x.VarWith(1), 14.0 / 3},
		{"VarWith(1.5)", x.VarWith(1.5, 0), 14 / 2.5},
		{"StdWith(3)", x.StdWith(3).Square(), 14},
	} {
		if d := c.got.Item() - c.want; d > 1e-5 || d < -1e-5 {
			t.Errorf("%s: got %v, want %v", c.name, c.got.Item(), c.want)
		}
	}
}
