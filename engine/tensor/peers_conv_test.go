package tensor

import "maps"

// Convolutions and pooling, as tests/peers/tensor_conv.py asks for them.
func init() {
	maps.Copy(peerOps, map[string]func(c peerCase, a []Tensor) Tensor{
		"conv1d":           func(c peerCase, a []Tensor) Tensor { return a[0].Conv1d(a[1], c.conv(a)) },
		"conv2d":           func(c peerCase, a []Tensor) Tensor { return a[0].Conv2d(a[1], c.conv(a)) },
		"conv3d":           func(c peerCase, a []Tensor) Tensor { return a[0].Conv3d(a[1], c.conv(a)) },
		"conv_transpose1d": func(c peerCase, a []Tensor) Tensor { return a[0].ConvTranspose1d(a[1], c.conv(a)) },
		"conv_transpose2d": func(c peerCase, a []Tensor) Tensor { return a[0].ConvTranspose2d(a[1], c.conv(a)) },
		"conv_transpose3d": func(c peerCase, a []Tensor) Tensor { return a[0].ConvTranspose3d(a[1], c.conv(a)) },
		"conv2d_same": func(c peerCase, a []Tensor) Tensor {
			return a[0].Conv2d(a[1], Conv{Same: true, Dilation: c.int("dilation")})
		},
		"conv2d_axes": func(c peerCase, a []Tensor) Tensor {
			return a[0].Conv2d(a[1], Conv{Axes: []Window{{Stride: 2}, {Before: 2, After: 2, Dilation: 2}}})
		},
		"max_pool1d": func(c peerCase, a []Tensor) Tensor { return a[0].MaxPool1d(c.int("kernel"), c.pool()) },
		"max_pool2d": func(c peerCase, a []Tensor) Tensor { return a[0].MaxPool2d(c.int("kernel"), c.pool()) },
		"max_pool3d": func(c peerCase, a []Tensor) Tensor { return a[0].MaxPool3d(c.int("kernel"), c.pool()) },
		"avg_pool1d": func(c peerCase, a []Tensor) Tensor { return a[0].AvgPool1d(c.int("kernel"), c.pool()) },
		"avg_pool2d": func(c peerCase, a []Tensor) Tensor { return a[0].AvgPool2d(c.int("kernel"), c.pool()) },
		"avg_pool3d": func(c peerCase, a []Tensor) Tensor { return a[0].AvgPool3d(c.int("kernel"), c.pool()) },
		"max_pool_places": func(c peerCase, a []Tensor) Tensor {
			_, places := a[0].MaxPoolPlaces([]int{c.int("kernel"), c.int("kernel")}, c.pool())
			return places
		},
		"lp_pool2d": func(c peerCase, a []Tensor) Tensor {
			return a[0].LpPool(c.number("p"), []int{c.int("kernel"), c.int("kernel")}, c.pool())
		},
		"adaptive_avg_pool2d": func(c peerCase, a []Tensor) Tensor { return a[0].AdaptiveAvgPool2d(c.int("height"), c.int("width")) },
		"adaptive_max_pool2d": func(c peerCase, a []Tensor) Tensor { return a[0].AdaptiveMaxPool2d(c.int("height"), c.int("width")) },
	})
}

func (c peerCase) int(name string) int { return int(c.number(name)) }

func (c peerCase) conv(a []Tensor) Conv {
	return Conv{Bias: a[2], Stride: c.int("stride"), Padding: c.int("padding"), Dilation: c.int("dilation"), Groups: c.int("groups"), OutputPadding: c.int("output_padding")}
}

func (c peerCase) pool() Pool {
	return Pool{Stride: c.int("stride"), Padding: c.int("padding"), Dilation: c.int("dilation"), Ceil: c.int("ceil") != 0, WithoutPadding: c.int("without") != 0}
}
