package conformance

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// windowed are the operators whose kernels move along spatial axes.
var windowed = map[string]operator{
	"Conv":          conv,
	"ConvTranspose": convTranspose,
	"ConvInteger":   convInteger,
	"QLinearConv":   qLinearConv,
	"Col2Im":        colToImage,
	"MaxPool":       maxPool,
	"MaxUnpool":     maxUnpool,
	"AveragePool":   averagePool,
	"LpPool":        lpPool,
}

// list is an attribute with a number for each spatial axis, or the same number for all.
func (c *call) list(name string, n, otherwise int) []int {
	if list := c.integers(len(c.in), name); list != nil {
		return list
	}
	return slices.Repeat([]int{otherwise}, n)
}

// windows reads how a kernel of these lengths moves over axes of these lengths.
func (c *call) windows(kernel, lengths []int) []tensor.Window {
	n := len(kernel)
	strides, dilations, pads := c.list("strides", n, 1), c.list("dilations", n, 1), c.list("pads", 2*n, 0)
	list := make([]tensor.Window, n)
	for i := range list {
		list[i] = tensor.Window{Stride: strides[i], Dilation: dilations[i], Before: pads[i], After: pads[n+i]}
		total := max(0, ((lengths[i]+strides[i]-1)/strides[i]-1)*strides[i]+(kernel[i]-1)*dilations[i]+1-lengths[i])
		list[i].Before, list[i].After = autoPadding(c.text("auto_pad", "NOTSET"), total, list[i])
	}
	return list
}

var convs = [...]func(tensor.Tensor, tensor.Tensor, ...tensor.Conv) tensor.Tensor{
	tensor.Tensor.Conv1d, tensor.Tensor.Conv2d, tensor.Tensor.Conv3d,
}

var transposed = [...]func(tensor.Tensor, tensor.Tensor, ...tensor.Conv) tensor.Tensor{
	tensor.Tensor.ConvTranspose1d, tensor.Tensor.ConvTranspose2d, tensor.Tensor.ConvTranspose3d,
}

// convolved is x convolved with w as the attributes say.
func (c *call) convolved(x, w, bias tensor.Tensor) tensor.Tensor {
	s := w.Shape()[2:]
	return convs[len(s)-1](x, w, tensor.Conv{Bias: bias, Axes: c.windows(s, x.Shape()[2:]), Groups: c.integer("group", 1)})
}

func conv(c *call) []value {
	var bias tensor.Tensor
	if c.has(2) {
		bias = c.real(c.in[2])
	}
	return c.result(c.convolved(c.real(c.x(0)), c.real(c.x(1)), bias), c.x(0).kind)
}

func convInteger(c *call) []value {
	x, w := c.centred(c.x(0), 2, 0), c.x(1).Cast(dtype.I64)
	if c.has(3) {
		w = w.Sub(c.in[3].Cast(dtype.I64).Reshape(-1, 1, 1, 1))
	}
	return c.result(c.convolved(x.Cast(dtype.F32), w.Cast(dtype.F32), tensor.Tensor{}), kInt32)
}

func qLinearConv(c *call) []value {
	each := func(i int) tensor.Tensor { return c.x(i).Cast(dtype.F32).Reshape(-1, 1, 1, 1) }
	x, w := c.x(0).Cast(dtype.F32).Sub(each(2)), c.x(3).Cast(dtype.F32).Sub(each(5))
	var bias tensor.Tensor
	if c.has(8) {
		bias = c.in[8].Cast(dtype.F32)
	}
	scale := each(1).Mul(each(4)).Div(each(6)).Reshape(1, -1, 1, 1)
	y := c.convolved(x, w, bias).Mul(scale).Round().Add(each(7))
	return []value{c.saturate(y, c.x(7).kind)}
}

// convTranspose lets the result be as long as output_shape says, if it is there: that changes the padding.
func convTranspose(c *call) []value {
	x, w := c.real(c.x(0)), c.real(c.x(1))
	s := w.Shape()[2:]
	n := len(s)
	strides, dilations, pads, extra := c.list("strides", n, 1), c.list("dilations", n, 1), c.list("pads", 2*n, 0), c.list("output_padding", n, 0)
	axes, longer := make([]tensor.Window, n), make([]int, n)
	for i := range axes {
		full := (x.Len(2+i)-1)*strides[i] + (s[i]-1)*dilations[i] + 1 + extra[i]
		a := tensor.Window{Stride: strides[i], Dilation: dilations[i], Before: pads[i], After: pads[n+i]}
		auto := c.text("auto_pad", "NOTSET")
		want := x.Len(2+i) * strides[i]
		if shape := c.integers(len(c.in), "output_shape"); shape != nil {
			want = shape[i]
			if auto == "NOTSET" {
				auto = "SAME_UPPER"
			}
		}
		a.Before, a.After = autoPadding(auto, full-want, a)
		a.After -= extra[i]
		longer[i] = max(0, -a.After)
		a.After = max(0, a.After)
		axes[i] = a
	}
	y := transposed[n-1](x, w, tensor.Conv{Axes: axes, Groups: c.integer("group", 1)})
	for i, k := range longer {
		y = y.Pad(2+i, 0, k, 0)
	}
	if c.has(2) {
		y = y.Add(c.perChannel(2, n+2))
	}
	return c.result(y, c.x(0).kind)
}

// colToImage adds up blocks where they lie in the image: a transposed convolution whose kernels have one 1.
func colToImage(c *call) []value {
	x := c.real(c.x(0))
	image, block := c.x(1).Ints(), c.x(2).Ints()
	size := product(block)
	channels := x.Len(1) / size
	var axes, places = c.windows(block, image), []int{x.Len(0), x.Len(1)}
	for i, a := range axes {
		places = append(places, (image[i]+a.Before+a.After-(block[i]-1)*a.Dilation-1)/a.Stride+1)
	}
	w := tensor.Eye(size).Tile(channels, 1).Reshape(append([]int{channels * size, 1}, block...)...)
	y := transposed[len(block)-1](x.Reshape(places...), w, tensor.Conv{Axes: axes, Groups: channels})
	return c.result(y, c.x(0).kind)
}

func (c *call) pool(x tensor.Tensor) (kernel []int, o tensor.Pool) {
	kernel = c.integers(len(c.in), "kernel_shape")
	return kernel, tensor.Pool{Axes: c.windows(kernel, x.Shape()[2:]), Ceil: c.flag("ceil_mode", 0), WithoutPadding: !c.flag("count_include_pad", 0)}
}

// maxPool counts places through all images and channels, and along the first spatial axis first if that is
// the storage order.
func maxPool(c *call) []value {
	x := c.x(0)
	kernel, o := c.pool(x.Tensor)
	y, places := x.MaxPoolPlaces(kernel, o)
	s := x.Shape()[2:]
	if c.flag("storage_order", 0) && len(s) == 2 {
		places = places.Mod(s[1]).Mul(s[0]).Add(places.FloorDiv(s[1]))
	}
	channel := tensor.Range(x.Len(0) * x.Len(1)).Mul(product(s))
	channel = channel.Reshape(append([]int{x.Len(0), x.Len(1)}, slices.Repeat([]int{1}, len(s))...)...)
	return []value{c.fit(y, x.kind), c.fit(places.Add(channel.Cast(dtype.I64)), kInt64)}
}

// maxUnpool puts each element where maxPool found it, between zeros.
func maxUnpool(c *call) []value {
	x, places := c.x(0), c.x(1)
	kernel := c.integers(len(c.in), "kernel_shape")
	n := len(kernel)
	strides, pads := c.list("strides", n, 1), c.list("pads", 2*n, 0)
	shape := slices.Clone(x.Shape())
	for i := range n {
		shape[2+i] = (shape[2+i]-1)*strides[i] - pads[i] - pads[n+i] + kernel[i]
	}
	y := tensor.Zeros(product(shape)).Cast(x.DType()).ScatterAdd(0, places.Flatten(), x.Flatten()).Reshape(shape...)
	if c.has(2) {
		for i, want := range c.in[2].Ints() {
			y = y.Pad(i, 0, want-shape[i], 0)
		}
	}
	return c.result(y, x.kind)
}

func averagePool(c *call) []value {
	x := c.real(c.x(0))
	kernel, o := c.pool(x)
	return c.result(x.AvgPool(kernel, o), c.x(0).kind)
}

func lpPool(c *call) []value {
	x := c.real(c.x(0))
	kernel, o := c.pool(x)
	return c.result(x.LpPool(float64(c.integer("p", 2)), kernel, o), c.x(0).kind)
}

// autoPadding divides padding as auto_pad says: the larger half behind, or before, or none, or as given.
func autoPadding(auto string, total int, given tensor.Window) (before, after int) {
	switch auto {
	case "SAME_UPPER":
		return total / 2, total - total/2
	case "SAME_LOWER":
		return total - total/2, total / 2
	case "VALID":
		return 0, 0
	}
	return given.Before, given.After
}
