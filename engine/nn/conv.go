package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Conv is a convolution along one to three spatial axes, or a transposed one. Weight and bias have
// PyTorch's names and layouts.
type Conv struct {
	Weight tensor.Tensor // [out in/groups K…]; of a transposed convolution [in out/groups K…]
	Bias   tensor.Tensor // [out], or none
	// Settings say how the kernel moves; their Bias is not used.
	Settings   tensor.Conv
	Transposed bool
}

// NewConv1d returns a convolution of [N in L] with kernels of that length. Weight and bias are uniform in
// ±1/√(in·kernel/groups), from the session's generator. It panics with a *tensor.Error for lengths below 1
// and channels that the groups do not divide.
func NewConv1d(in, out, kernel int, o ...tensor.Conv) *Conv {
	return newConv("nn.NewConv1d", 1, false, in, out, kernel, o)
}

// NewConv2d is [NewConv1d] for images [N in H W] and square kernels.
func NewConv2d(in, out, kernel int, o ...tensor.Conv) *Conv {
	return newConv("nn.NewConv2d", 2, false, in, out, kernel, o)
}

// NewConv3d is [NewConv1d] for volumes [N in D H W] and cubes as kernels.
func NewConv3d(in, out, kernel int, o ...tensor.Conv) *Conv {
	return newConv("nn.NewConv3d", 3, false, in, out, kernel, o)
}

// NewConvTranspose1d returns a transposed convolution of [N in L], as [NewConv1d] does a convolution.
func NewConvTranspose1d(in, out, kernel int, o ...tensor.Conv) *Conv {
	return newConv("nn.NewConvTranspose1d", 1, true, in, out, kernel, o)
}

// NewConvTranspose2d returns a transposed convolution of [N in H W], as [NewConv2d] does a convolution.
func NewConvTranspose2d(in, out, kernel int, o ...tensor.Conv) *Conv {
	return newConv("nn.NewConvTranspose2d", 2, true, in, out, kernel, o)
}

func newConv(op string, rank int, transposed bool, in, out, kernel int, o []tensor.Conv) *Conv {
	positive(op, length{"in", in}, length{"out", out}, length{"kernel", kernel})
	c := &Conv{Transposed: transposed}
	if len(o) > 1 || len(o) == 1 && !o[0].Bias.IsNone() {
		panic(&tensor.Error{Op: op, Msg: "got settings twice or with a bias, want them once and the bias in the layer"})
	}
	if len(o) == 1 {
		c.Settings = o[0]
	}
	groups := max(1, c.Settings.Groups)
	if c.Settings.Groups < 0 || in%groups != 0 || out%groups != 0 {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got %d channels in and %d out in %d groups, want groups that divide both", in, out, c.Settings.Groups)})
	}
	first, second := out, in/groups
	if transposed {
		first, second = in, out/groups
	}
	shape := append([]int{first, second}, slices.Repeat([]int{kernel}, rank)...)
	bound := 1 / math.Sqrt(float64(second)*math.Pow(float64(kernel), float64(rank)))
	c.Weight = tensor.Rand(shape...).Sub(0.5).Mul(2 * bound).Named("weight").Param()
	c.Bias = tensor.Rand(out).Sub(0.5).Mul(2 * bound).Named("bias").Param()
	return c
}

// Forward convolves x [N in …], or [in …].
func (c *Conv) Forward(x tensor.Tensor) tensor.Tensor {
	o := c.Settings
	o.Bias = c.Bias
	convolve := [2][3]func(tensor.Tensor, tensor.Tensor, ...tensor.Conv) tensor.Tensor{
		{tensor.Tensor.Conv1d, tensor.Tensor.Conv2d, tensor.Tensor.Conv3d},
		{tensor.Tensor.ConvTranspose1d, tensor.Tensor.ConvTranspose2d, tensor.Tensor.ConvTranspose3d},
	}
	kind := 0
	if c.Transposed {
		kind = 1
	}
	return convolve[kind][c.Weight.Rank()-3](x, c.Weight, o)
}

// Members lists weight and bias.
func (c *Conv) Members() []Member {
	return Present(Member{Name: "weight", Weight: &c.Weight}, Member{Name: "bias", Weight: &c.Bias})
}

// String describes the layer.
func (c *Conv) String() string {
	rank, o := c.Weight.Rank()-2, c.Settings
	groups := max(1, o.Groups)
	name, in, out := "Conv", c.Weight.Len(1)*groups, c.Weight.Len(0)
	if c.Transposed {
		name, in, out = "ConvTranspose", c.Weight.Len(0), c.Weight.Len(1)*groups
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%dd: in %d, out %d, kernel %d", name, rank, in, out, c.Weight.Len(2))
	for _, n := range c.Weight.Shape()[3:] {
		fmt.Fprintf(&b, "×%d", n)
	}
	for _, s := range []struct {
		name     string
		n, plain int
	}{{"stride", max(1, o.Stride), 1}, {"padding", o.Padding, 0}, {"dilation", max(1, o.Dilation), 1}, {"groups", groups, 1}, {"output padding", o.OutputPadding, 0}} {
		if s.n != s.plain {
			fmt.Fprintf(&b, ", %s %d", s.name, s.n)
		}
	}
	if o.Same {
		b.WriteString(", same")
	}
	if c.Bias.IsNone() {
		b.WriteString(", no bias")
	}
	return b.String()
}

// MaxPool1d gives the greatest element of each window of [N C L].
func MaxPool1d(kernel int, o ...tensor.Pool) Func {
	return pool("MaxPool1d", kernel, func(x tensor.Tensor) tensor.Tensor { return x.MaxPool1d(kernel, o...) })
}

// MaxPool2d gives the greatest element of each square window of [N C H W].
func MaxPool2d(kernel int, o ...tensor.Pool) Func {
	return pool("MaxPool2d", kernel, func(x tensor.Tensor) tensor.Tensor { return x.MaxPool2d(kernel, o...) })
}

// AvgPool1d gives the mean of each window of [N C L].
func AvgPool1d(kernel int, o ...tensor.Pool) Func {
	return pool("AvgPool1d", kernel, func(x tensor.Tensor) tensor.Tensor { return x.AvgPool1d(kernel, o...) })
}

// AvgPool2d gives the mean of each square window of [N C H W].
func AvgPool2d(kernel int, o ...tensor.Pool) Func {
	return pool("AvgPool2d", kernel, func(x tensor.Tensor) tensor.Tensor { return x.AvgPool2d(kernel, o...) })
}

func pool(name string, kernel int, f func(x tensor.Tensor) tensor.Tensor) Func {
	positive("nn."+name, length{"kernel", kernel})
	return Func{fmt.Sprintf("%s: kernel %d", name, kernel), f}
}

// AdaptiveAvgPool2d gives the means of height × width windows of [N C H W].
func AdaptiveAvgPool2d(height, width int) Func {
	positive("nn.AdaptiveAvgPool2d", length{"height", height}, length{"width", width})
	return Func{fmt.Sprintf("AdaptiveAvgPool2d: %d×%d", height, width), func(x tensor.Tensor) tensor.Tensor { return x.AdaptiveAvgPool2d(height, width) }}
}

// GlobalAvgPool gives the mean of each channel: [N C …] becomes [N C].
func GlobalAvgPool() Func {
	return Func{"GlobalAvgPool", func(x tensor.Tensor) tensor.Tensor {
		if x.Rank() < 3 {
			panic(&tensor.Error{Op: "nn.GlobalAvgPool", Msg: fmt.Sprintf("got %v%v, want [N C …] with spatial axes", x.DType(), x.Shape())})
		}
		return x.Reshape(x.Len(0), x.Len(1), -1).Mean(2)
	}}
}
