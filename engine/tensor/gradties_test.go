package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// TestGradientsAtEdges: where a function has no slope, its gradient is PyTorch's, as the formulas of torch's
// FunctionsManual.cpp have it: clamp_backward masks by self >= min and self <= max, norm_backward and
// std_backward fill with 0 where the norm is 0, elu_backward takes the branch of x <= 0 at 0.
func TestGradientsAtEdges(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name  string
		f     func(x tensor.Tensor) tensor.Tensor
		x     []float64
		value []float64
		want  []float64
	}{
		{"clamp(-1, 2)", func(x tensor.Tensor) tensor.Tensor { return x.Clip(-1, 2) }, []float64{-3, -1, 0, 2, 5, nan}, []float64{-1, -1, 0, 2, 2, nan}, []float64{0, 1, 1, 1, 0, 0}},
		{"clamp(2, -1)", func(x tensor.Tensor) tensor.Tensor { return x.Clip(2, -1) }, []float64{-3, 2}, []float64{-1, -1}, []float64{0, 0}},
		{"norm", func(x tensor.Tensor) tensor.Tensor { return x.Norm() }, []float64{0, 0}, []float64{0}, []float64{0, 0}},
		{"norm", func(x tensor.Tensor) tensor.Tensor { return x.Norm() }, []float64{3, 4}, []float64{5}, []float64{0.6, 0.8}},
		{"norm(dim=0)", func(x tensor.Tensor) tensor.Tensor { return x.Reshape(2, 2).Norm(0) }, []float64{0, 3, 0, 4}, []float64{0, 5}, []float64{0, 0.6, 0, 0.8}},
		{"norm", func(x tensor.Tensor) tensor.Tensor { return x.Norm() }, []float64{nan, 1}, []float64{nan}, []float64{nan, nan}},
		{"std", func(x tensor.Tensor) tensor.Tensor { return x.SampleStd() }, []float64{2, 2}, []float64{0}, []float64{0, 0}},
		{"std(correction=0)", func(x tensor.Tensor) tensor.Tensor { return x.Std() }, []float64{1, 1, 1}, []float64{0}, []float64{0, 0, 0}},
		{"elu", func(x tensor.Tensor) tensor.Tensor { return x.Elu(0.5) }, []float64{math.Copysign(0, -1), 0, 1}, []float64{0, 0, 1}, []float64{0.5, 0.5, 1}},
		{"relu", tensor.Tensor.Relu, []float64{-1, 0, 1}, []float64{0, 0, 1}, []float64{0, 0, 1}},
		{"abs", tensor.Tensor.Abs, []float64{-1, 0, 1}, []float64{1, 0, 1}, []float64{-1, 0, 1}},
		{"softplus", tensor.Tensor.Softplus, []float64{0}, []float64{math.Ln2}, []float64{0.5}},
		{"maximum(x, 0)", func(x tensor.Tensor) tensor.Tensor { return x.Maximum(0) }, []float64{-1, 0, 1}, []float64{0, 0, 1}, []float64{0, 0.5, 1}},
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
	for _, test := range tests {
		x := tensor.FromAs(dtype.F64, test.x)
		y := test.f(x)
		grad := tensor.Grad(y.Sum(), x)[0].Float64s()
		if got := y.Float64s(); !slices.EqualFunc(got, test.value, near) {
			t.Errorf("%s of %v: got %v, want %v", test.name, test.x, got, test.value)
		}
		if !slices.EqualFunc(grad, test.want, near) {
			t.Errorf("%s at %v: got the gradient %v, want %v", test.name, test.x, grad, test.want)
		}
	}
}
