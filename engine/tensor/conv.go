package tensor

import (
	"cmp"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Conv says how the kernel of a convolution moves. The zero value: element by element, without padding.
type Conv struct {
	// Bias [out] is added to each channel of the result, unless it is none.
	Bias Tensor
	// Stride, Padding and Dilation are those of all spatial axes: the distance of neighbouring places (0
	// stands for 1), the zeros on both sides, and the distance of the kernel's elements (0 stands for 1).
	// PadReflect and the like pad otherwise.
	Stride, Padding, Dilation int
	// Same pads so that the result is as long as x (with a stride, as x divided by it, rounded up). If the
	// zeros are odd in number, one more is behind.
	Same bool
	// Groups is how many groups of channels are convolved apart from each other; 0 stands for 1.
	Groups int
	// OutputPadding is how much longer a transposed convolution's result is, at its end.
	OutputPadding int
	// Axes, if not nil, has the settings of each axis, instead of Stride, Padding and Dilation.
	Axes []Window
}

// A Window says how a kernel moves along one axis, as [Conv] and [Pool] do for all. Before and After are the
// zeros on both sides.
type Window struct{ Stride, Before, After, Dilation int }

// Conv1d convolves x [N C L], or [C L], with w [out C/groups K]: the result is [N out T] with
// T = (L + padding − dilation·(K−1) − 1)/stride + 1, rounded down. As in other libraries, the kernel is not
// turned around.
func (t Tensor) Conv1d(w Tensor, o ...Conv) Tensor { return convolve("conv1d", t, w, 1, o) }

// Conv2d is [Tensor.Conv1d] for images [N C H W], or [C H W], and w [out C/groups KH KW].
func (t Tensor) Conv2d(w Tensor, o ...Conv) Tensor { return convolve("conv2d", t, w, 2, o) }

// Conv3d is [Tensor.Conv1d] for volumes [N C D H W], or [C D H W], and w [out C/groups KD KH KW].
func (t Tensor) Conv3d(w Tensor, o ...Conv) Tensor { return convolve("conv3d", t, w, 3, o) }

// ConvTranspose1d is the transposed convolution of x [N C L], or [C L], with w [C out/groups K], the gradient
// of a convolution for its input: the result is [N out T] with T = (L−1)·stride − padding + dilation·(K−1) +
// 1 + OutputPadding.
func (t Tensor) ConvTranspose1d(w Tensor, o ...Conv) Tensor {
	return convTranspose("conv_transpose1d", t, w, 1, o)
}

// ConvTranspose2d is [Tensor.ConvTranspose1d] for images [N C H W], or [C H W], and w [C out/groups KH KW].
func (t Tensor) ConvTranspose2d(w Tensor, o ...Conv) Tensor {
	return convTranspose("conv_transpose2d", t, w, 2, o)
}

// ConvTranspose3d is [Tensor.ConvTranspose1d] for volumes [N C D H W], or [C D H W], and w [C out/groups KD
// KH KW].
func (t Tensor) ConvTranspose3d(w Tensor, o ...Conv) Tensor {
	return convTranspose("conv_transpose3d", t, w, 3, o)
}

// atMostOne returns the settings that a call has, or the zero value.
func atMostOne[T any](op string, o []T) (first T) {
	if len(o) > 1 {
		fail(op, "got %d structs of settings, want at most one", len(o))
	}
	if len(o) == 1 {
		first = o[0]
	}
	return first
}

// batched returns x with an axis for the images in front, and whether it had one.
func batched(op string, t Tensor, rank int) (x *ir.Node, had bool) {
	x = t.real(op)
	if len(x.Shape) == rank+1 {
		return reshape(x, append([]int{1}, x.Shape...)), false
	}
	if len(x.Shape) != rank+2 {
		fail(op, "got %v, want [N C …] or [C …] with %d spatial axes", x, rank)
	}
	return x, true
}

// unbatched takes the axis away that batched has put in front.
func unbatched(n *ir.Node, had bool) Tensor {
	if !had {
		n = reshape(n, n.Shape[1:])
	}
	return wrap(n)
}

// operands makes floats of one dtype of x and w, and checks their axes.
func convOperands(op string, t, w Tensor, rank int) (x, k *ir.Node, had bool) {
	x, had = batched(op, t, rank)
	k = w.node(op)
	if len(k.Shape) != rank+2 {
		fail(op, "got a weight %v, want [out in …] with %d spatial axes", k, rank)
	}
	dt := meet(op, floats(x), floats(k))
	return cast(x, dt), cast(k, dt), had
}

// settings returns the windows of kernels of these lengths over x, without padding that depends on Same.
func (o *Conv) settings(op string, kernel []int) []ir.Window {
	list := make([]ir.Window, len(kernel))
	if o.Axes != nil && len(o.Axes) != len(kernel) {
		fail(op, "got settings of %d axes, want %d", len(o.Axes), len(kernel))
	}
	for i, k := range kernel {
		a := Window{o.Stride, o.Padding, o.Padding, o.Dilation}
		if o.Axes != nil {
			a = o.Axes[i]
		}
		list[i] = ir.Window{Kernel: k, Stride: cmp.Or(a.Stride, 1), Before: a.Before, After: a.After, Dilation: cmp.Or(a.Dilation, 1)}
		if w := list[i]; w.Stride < 1 || w.Dilation < 1 || w.Before < 0 || w.After < 0 || k < 1 {
			fail(op, "got kernel %d, stride %d, dilation %d and padding %d and %d along spatial axis %d, want lengths of 1 or more and padding of 0 or more",
				k, w.Stride, w.Dilation, w.Before, w.After, i)
		}
	}
	return list
}

func convolve(op string, t, weight Tensor, rank int, options []Conv) Tensor {
	o := atMostOne(op, options)
	x, w, had := convOperands(op, t, weight, rank)
	list := o.settings(op, w.Shape[2:])
	if o.Same {
		for i := range list {
			same(&list[i], x.Shape[2+i])
		}
	}
	return o.finish(op, convNode(op, ir.Conv, ir.Attr{Ints: ir.Ints(list), Index: cmp.Or(o.Groups, 1)}, x, w), had)
}

// convNode is apply, whose errors have the name that the person has called.
func convNode(op string, row ir.Op, attr ir.Attr, src ...*ir.Node) *ir.Node {
	n, err := ir.New(row, attr, src...)
	if wrong, ok := err.(*ir.Error); ok {
		fail(op, "%s", wrong.Msg)
	}
	check(op, err)
	return n
}

// finish adds the bias.
func (o *Conv) finish(op string, n *ir.Node, had bool) Tensor {
	if !o.Bias.IsNone() {
		b := o.Bias.node(op)
		if len(b.Shape) != 1 || b.Shape[0] != n.Shape[1] {
			fail(op, "got a bias %v, want [%d], one number for each channel of the result", b, n.Shape[1])
		}
		shape := make([]int, len(n.Shape)-1)
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = n.Shape[1]
		n = apply(ir.Add, ir.Attr{}, n, expand(reshape(cast(b, n.DType), shape), n.Shape))
	}
	return unbatched(n, had)
}

func convTranspose(op string, t, weight Tensor, rank int, options []Conv) Tensor {
	o := atMostOne(op, options)
	y, w, had := convOperands(op, t, weight, rank)
	if o.Same {
		fail(op, "got Same, want the padding of a transposed convolution in numbers")
	}
	list := o.settings(op, w.Shape[2:])
	inner := make([]int, rank) // lengths of what the kernel reaches
	pads := make([]int, 2*(rank+2))
	for i, a := range list {
		if o.OutputPadding < 0 || o.OutputPadding >= max(a.Stride, a.Dilation) {
			fail(op, "got output padding %d, want 0 or more, and less than the stride %d or the dilation %d", o.OutputPadding, a.Stride, a.Dilation)
		}
		reached := (y.Shape[2+i]-1)*a.Stride + (a.Kernel-1)*a.Dilation + 1 - a.Before
		length := reached - a.After + o.OutputPadding
		if y.Shape[2+i] < 1 || min(length, reached) < 1 {
			fail(op, "got %v and a weight %v, of which spatial axis %d would have length %d", t.node(op), w, i, length)
		}
		inner[i] = min(length, reached)
		list[i].After = reached - inner[i]
		pads[2*(2+i)+1] = length - inner[i]
	}
	n := convNode(op, ir.ConvTranspose, ir.Attr{Ints: ir.Ints(list), Index: cmp.Or(o.Groups, 1), Shape: inner}, y, w)
	if slices.Max(pads) > 0 {
		n = apply(ir.Pad, ir.Attr{Ints: pads}, n, ir.Number(n.Dev, n.DType, 0))
	}
	return o.finish(op, n, had)
}

// same sets the padding of a window whose places are as many as an axis of that length has strides.
func same(w *ir.Window, length int) {
	total := max(0, ((length+w.Stride-1)/w.Stride-1)*w.Stride+(w.Kernel-1)*w.Dilation+1-length)
	w.Before, w.After = total/2, total-total/2
}
