package tensor_test

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// spread holds (37·i mod 23)/10 − 1.1 at its place i, as a parameter.
func spread(shape ...int) tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(37*i%23)/10 - 1.1
	}
	return tensor.From(x, shape...).Param()
}

// The gradient of the sum of squares of the gradients of a loss, held against what torch.autograd.grad of
// PyTorch 2.15 gives in float64, with create_graph=True the first time.
func TestSecondDerivativesAgainstPyTorch(t *testing.T) {
	for _, c := range []struct {
		name   string
		params []tensor.Tensor
		loss   func(p []tensor.Tensor) tensor.Tensor
		want   [][]float64
	}{
		{
			"layer norm", []tensor.Tensor{spread(2, 4), spread(4), spread(4)},
			func(p []tensor.Tensor) tensor.Tensor { return p[0].LayerNorm(p[1], p[2], 1e-5).Exp().Sum() },
			[][]float64{
				{56.494377, -148.881233, -11.212252, 103.599108, -24.224476, -27.744228, -14.380933, 66.349636},
				{-7.635698, -15.874507, -0.563413, 329.25757}, {8.709137, 8.903053, 2.2361, 259.544715},
			},
		},
		{
			"rms norm", []tensor.Tensor{spread(2, 4), spread(4)},
			func(p []tensor.Tensor) tensor.Tensor { return p[0].RMSNorm(p[1], 1e-5).Exp().Sum() },
			[][]float64{
				{-103.645303, -39.09668, 75.221322, -93.844913, -54.912673, 10.136646, -6.596427, 7.860651},
				{-232.323222, -5.493379, 6.754687, -2.270842},
			},
		},
		{
			"cross entropy, smoothed, with an ignored row", []tensor.Tensor{spread(3, 4)},
			func(p []tensor.Tensor) tensor.Tensor {
				targets := tensor.From([]int{1, -100, 3})
				return tensor.CrossEntropy(p[0], targets, tensor.CrossEntropyOptions{Smoothing: 0.1, PerRow: true}).Sum().Exp()
			},
			[][]float64{{17.130213, -278.228319, 35.653167, 225.444938, 0, 0, 0, 0, 197.648437, 61.340714, 17.448285, -276.437436}},
		},
		{
			"causal attention", []tensor.Tensor{spread(1, 2, 3, 2), spread(1, 2, 3, 2), spread(1, 2, 3, 2)},
			func(p []tensor.Tensor) tensor.Tensor {
				return tensor.Attention(p[0], p[1], p[2], tensor.AttentionOptions{Causal: true}).Exp().Sum()
			},
			[][]float64{
				{0, 0, -0.252438, -0.07211, -0.623422, 1.007213, 0, 0, 0.039371, -0.086868, 0.762192, -0.409618},
				{-0.280467, -0.280815, 0.201799, -0.393486, 0.078668, 0.674301, -0.160476, 0.110015, -0.283358, 0.138754, 0.443835, -0.248769},
				{0.826987, 9.456147, 0.418613, 3.634167, 0.195846, 0.781278, 10.444776, 2.430864, 4.702584, 1.326907, 0.8823, 1.256974},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			penalty := tensor.Scalar(0)
			for _, g := range tensor.Grad(c.loss(c.params), c.params...) {
				penalty = penalty.Add(g.Mul(g).Sum())
			}
			for i, g := range tensor.Grad(penalty, c.params...) {
				largest := 0.0
				for _, w := range c.want[i] {
					largest = max(largest, math.Abs(w))
				}
				for k, got := range g.Floats() {
					if want := c.want[i][k]; !(math.Abs(float64(got)-want) <= 2e-5*largest) {
						t.Errorf("parameter %d, element %d: got %g, want %g", i, k, got, want)
					}
				}
			}
		})
	}
}
