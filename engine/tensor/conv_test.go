package tensor

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Shapes as PyTorch has them, images alone included.
func TestConvShapes(t *testing.T) {
	image := Ones(2, 3, 9, 8)
	for _, c := range []struct {
		name string
		got  Tensor
		want []int
	}{
		{"plain", image.Conv2d(Ones(5, 3, 3, 3)), []int{2, 5, 7, 6}},
		{"stride and padding", image.Conv2d(Ones(5, 3, 3, 3), Conv{Stride: 2, Padding: 1}), []int{2, 5, 5, 4}},
		{"same", image.Conv2d(Ones(5, 3, 4, 3), Conv{Same: true}), []int{2, 5, 9, 8}},
		{"same, strides", image.Conv2d(Ones(5, 3, 3, 3), Conv{Same: true, Stride: 2}), []int{2, 5, 5, 4}},
		{"groups", image.Conv2d(Ones(6, 1, 3, 3), Conv{Groups: 3}), []int{2, 6, 7, 6}},
		{"one image", Ones(3, 9, 8).Conv2d(Ones(5, 3, 3, 3)), []int{5, 7, 6}},
		{"line", Ones(2, 3, 9).Conv1d(Ones(5, 3, 3), Conv{Bias: Ones(5)}), []int{2, 5, 7}},
		{"transposed", Ones(2, 3, 5, 4).ConvTranspose2d(Ones(3, 5, 3, 3), Conv{Stride: 2, Padding: 1, OutputPadding: 1}), []int{2, 5, 10, 8}},
		{"more output padding than stride", Ones(2, 3, 5).ConvTranspose1d(Ones(3, 5, 2), Conv{Stride: 2, Dilation: 4, OutputPadding: 3}), []int{2, 5, 16}},
		{"pool", image.MaxPool2d(2), []int{2, 3, 4, 4}},
		{"pool of one image", Ones(3, 9, 8).AvgPool2d(2), []int{3, 4, 4}},
		{"pool, ceil", image.AvgPool2d(2, Pool{Ceil: true}), []int{2, 3, 5, 4}},
		{"each axis", image.AvgPool([]int{3, 2}, Pool{Axes: []Window{{Stride: 3}, {}}}), []int{2, 3, 3, 4}},
		{"adaptive", image.AdaptiveAvgPool2d(3, 5), []int{2, 3, 3, 5}},
		{"adaptive, a line", Ones(3, 7).AdaptiveMaxPool1d(2), []int{3, 2}},
		{"no images", Zeros(0, 3, 9, 8).Conv2d(Ones(5, 3, 3, 3)).MaxPool2d(2), []int{0, 5, 3, 3}},
		{"integers count as f32", Ones(1, 1, 3).Cast(dtype.I32).Conv1d(Ones(1, 1, 2)), []int{1, 1, 2}},
	} {
		if got := c.got.Shape(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		c.got.Eval()
	}
}

// The texts that a person sees name what was called.
func TestConvErrors(t *testing.T) {
	image := Ones(2, 3, 9, 8)
	for _, c := range []struct {
		f    func() Tensor
		want string
	}{
		{func() Tensor { return image.Conv1d(Ones(5, 3, 3)) }, "conv1d: got f32[2 3 9 8], want [N C …] or [C …] with 1 spatial axes"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 3)) }, "conv2d: got a weight f32[5 3 3], want [out in …] with 2 spatial axes"},
		{func() Tensor { return image.Conv2d(Ones(5, 4, 3, 3)) }, "conv2d: got f32[2 3 9 8] and f32[5 4 3 3], want 4 channels (4 in each of 1 groups), not 3"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 10, 3)) },
			"conv2d: got f32[2 3 9 8] and f32[5 3 10 3], want spatial axis 0, of 9 with 0 around it, at least as long as the kernel (10)"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 3, 3), Conv{Stride: -1}) },
			"conv2d: got kernel 3, stride -1, dilation 1 and padding 0 and 0 along spatial axis 0, want lengths of 1 or more and padding of 0 or more"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 3, 3), Conv{Bias: Ones(4)}) }, "conv2d: got a bias f32[4], want [5], one number for each channel of the result"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 3, 3), Conv{Axes: []Window{{}}}) }, "conv2d: got settings of 1 axes, want 2"},
		{func() Tensor { return image.Conv2d(Ones(5, 3, 3, 3), Conv{}, Conv{}) }, "conv2d: got 2 structs of settings, want at most one"},
		{func() Tensor { return image.ConvTranspose2d(Ones(3, 5, 3, 3), Conv{OutputPadding: 1}) },
			"conv_transpose2d: got output padding 1, want 0 or more, and less than the stride 1 or the dilation 1"},
		{func() Tensor { return image.MaxPool2d(0) },
			"max_pool2d: got kernel 0, stride 1, dilation 1 and padding 0 and 0 along spatial axis 0, want lengths of 1 or more and padding of 0 or more"},
		{func() Tensor { return image.MaxPool2d(2, Pool{Padding: 2}) },
			"max_pool2d: got f32[2 3 9 8], want less around spatial axis 0 than 2 before and 2 after: a window of 2 would hold no element"},
		{func() Tensor { return image.AdaptiveAvgPool2d(0, 1) }, "adaptive_avg_pool2d: got 0 windows along spatial axis 0 of f32[2 3 9 8], want at least one, and elements"},
		{func() Tensor { return image.LpPool(0, []int{2, 2}) }, "lp_pool: got p = 0, want a finite number above 0"},
	} {
		err := Try(func() { c.f() })
		var wrong *Error
		if !errors.As(err, &wrong) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A mean of f16 is rounded once, and its sum may be larger than any f16.
func TestAvgPoolOfHalf(t *testing.T) {
	x := Full(60000, 1, 1, 5).Cast(dtype.F16)
	for _, y := range []Tensor{x.AvgPool1d(3, Pool{Stride: 1}), x.AvgPool1d(3)} {
		if got := y.Cast(dtype.F32).Float64s()[0]; y.DType() != dtype.F16 || got != 60000 {
			t.Errorf("got %v %v, want f16 60000", y.DType(), got)
		}
	}
	if got := x.Cast(dtype.F32).Mul(math.Inf(1)).AdaptiveAvgPool1d(2).Float64s(); !math.IsInf(got[0], 1) {
		t.Errorf("got %v, want Inf", got)
	}
}

// A whole training step of a small network: gradients reach each weight, whatever the order of the layers.
func TestConvTrains(t *testing.T) {
	w := From([]float64{0.5, -0.2, 0.1, 0.3}, 1, 1, 2, 2).Param()
	v := Full(0.1, 1, 1, 3, 3).Param()
	x := Range(36).Reshape(1, 1, 6, 6).Mul(0.1)
	loss := func() Tensor {
		return x.Conv2d(w, Conv{Padding: 1}).Relu().MaxPool2d(2).Conv2d(v, Conv{Same: true}).AvgPool2d(3).Sub(1).Square().Mean()
	}
	first := loss().Item()
	for range 20 {
		g := Grad(loss(), w, v)
		w.Set(w.Sub(g[0].Mul(0.01)))
		v.Set(v.Sub(g[1].Mul(0.01)))
	}
	if last := loss().Item(); !(last < first/4) {
		t.Errorf("the loss went from %v to %v, want less than a quarter", first, last)
	}
}
