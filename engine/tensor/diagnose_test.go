package tensor

import (
	"math"
	"testing"
)

func TestFirstNonFinite(t *testing.T) {
	w := From([][]float64{{1, 2}, {3, 4}}).Named("w").Param()
	zero := Zeros(2, 2).Named("zero").Param()
	mask := From([]float64{0, math.Inf(-1)})
	tests := []struct {
		name string
		t    Tensor
		want string
	}{
		{"sound", w.MatMul(w).Sum(), ""},
		{"a mask is no fault", w.Add(mask).Softmax(-1).Mul(w).Sum(), "add f32[2 2] of w: 2 Inf of 4 elements"},
		{"a mask on what is not trained", From([]float64{1, 2}).Add(mask).Softmax(-1).Add(w).Sum(), ""},
		{"logarithm", w.Transpose().Sub(9).Log().Mul(2).Sum(), "log f32[2 2] after w: 4 NaN of 4 elements"},
		{"division", w.Div(zero).Sum(), "div f32[2 2] of w, zero: 4 Inf of 4 elements"},
		{"through a view", zero.Transpose().Log().Sum(), "log f32[2 2] of zero: 4 Inf of 4 elements"},
		{"a leaf", From([]float64{1, math.NaN()}).Named("x").Add(w).Sum(), "x f32[2]: 1 NaN of 2 elements"},
	}
	for _, test := range tests {
		for _, when := range []string{"before", "after"} {
			if got := FirstNonFinite(test.t); got != test.want {
				t.Errorf("%s, %s evaluation: got %q, want %q", test.name, when, got, test.want)
			}
			test.t.Eval()
		}
	}
}
