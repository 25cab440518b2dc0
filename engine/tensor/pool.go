package tensor

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Pool says how the windows of a pooling move. The zero value: they lie side by side, without padding.
type Pool struct {
	// Stride, Padding and Dilation are those of all spatial axes: the distance of neighbouring windows (0
	// stands for the kernel's length), what stands on both sides and never counts as an element, and the
	// distance of a window's elements (0 stands for 1).
	Stride, Padding, Dilation int
	// Ceil adds a last window that reaches beyond the padding, if it begins before that.
	Ceil bool
	// WithoutPadding divides an average by the number of elements in a window. Otherwise padding counts as
	// zeros.
	WithoutPadding bool
	// Axes, if not nil, has the settings of each axis, instead of Stride, Padding and Dilation.
	Axes []Window
}

// MaxPool1d gives the greatest element of each window of that length in x [N C L], or [C L].
func (t Tensor) MaxPool1d(kernel int, o ...Pool) Tensor {
	return t.maxPool("max_pool1d", []int{kernel}, o)
}

// MaxPool2d gives the greatest element of each square window of x [N C H W], or [C H W].
func (t Tensor) MaxPool2d(kernel int, o ...Pool) Tensor {
	return t.maxPool("max_pool2d", []int{kernel, kernel}, o)
}

// MaxPool3d gives the greatest element of each cube of x [N C D H W], or [C D H W].
func (t Tensor) MaxPool3d(kernel int, o ...Pool) Tensor {
	return t.maxPool("max_pool3d", []int{kernel, kernel, kernel}, o)
}

func (t Tensor) maxPool(op string, kernel []int, o []Pool) Tensor {
	values, _ := t.pooled(op, kernel, atMostOne(op, o))
	return values
}

// MaxPoolPlaces is MaxPool1d, 2d or 3d for a kernel with a length for each axis. It also gives the place of
// each greatest element among the spatial axes, as one number in C order (i64). Of equal elements the first
// counts; the gradient goes to it.
func (t Tensor) MaxPoolPlaces(kernel []int, o ...Pool) (values, places Tensor) {
	return t.pooled("max_pool", kernel, atMostOne("max_pool", o))
}

func (t Tensor) pooled(op string, kernel []int, o Pool) (values, places Tensor) {
	x, had := batched(op, t, len(kernel))
	list, _ := o.windows(op, kernel, x.Shape[2:])
	n := convNode(op, ir.MaxPool, ir.Attr{Ints: ir.Ints(list)}, numbers(x))
	return unbatched(pick(n, 0).node(op), had), unbatched(pick(n, 1).node(op), had)
}

// windows returns the windows over axes of these lengths, and which elements count where padding does: end[i]
// is behind the padding of axis i, which is not behind the last window.
func (o *Pool) windows(op string, kernel, lengths []int) (list []ir.Window, end []int) {
	c := Conv{Stride: o.Stride, Padding: o.Padding, Dilation: o.Dilation, Axes: slices.Clone(o.Axes)}
	if c.Axes == nil {
		c.Axes = slices.Repeat([]Window{{o.Stride, o.Padding, o.Padding, o.Dilation}}, len(kernel))
	}
	for i := range min(len(c.Axes), len(kernel)) {
		c.Axes[i].Stride = cmp.Or(c.Axes[i].Stride, kernel[i])
	}
	list = c.settings(op, kernel)
	for i, w := range list {
		end = append(end, lengths[i]+w.After)
		if o.Ceil {
			reach := (w.Kernel-1)*w.Dilation + 1
			last := max(0, lengths[i]+w.Before+w.After-reach+w.Stride-1) / w.Stride
			if last*w.Stride >= lengths[i]+w.Before { // it would begin in the padding
				last--
			}
			list[i].After = max(0, last*w.Stride+reach-lengths[i]-w.Before)
		}
	}
	return list, end
}

// AvgPool1d gives the mean of each window of that length in x [N C L], or [C L].
func (t Tensor) AvgPool1d(kernel int, o ...Pool) Tensor {
	return t.avgPool("avg_pool1d", []int{kernel}, o)
}

// AvgPool2d gives the mean of each square window of x [N C H W], or [C H W].
func (t Tensor) AvgPool2d(kernel int, o ...Pool) Tensor {
	return t.avgPool("avg_pool2d", []int{kernel, kernel}, o)
}

// AvgPool3d gives the mean of each cube of x [N C D H W], or [C D H W].
func (t Tensor) AvgPool3d(kernel int, o ...Pool) Tensor {
	return t.avgPool("avg_pool3d", []int{kernel, kernel, kernel}, o)
}

// AvgPool is AvgPool1d, 2d or 3d for a kernel with a length for each axis.
func (t Tensor) AvgPool(kernel []int, o ...Pool) Tensor { return t.avgPool("avg_pool", kernel, o) }

func (t Tensor) avgPool(op string, kernel []int, options []Pool) Tensor {
	o := atMostOne(op, options)
	x, had := batched(op, t, len(kernel))
	x = floats(x)
	list, end := o.windows(op, kernel, x.Shape[2:])
	if n := meanOfBlocks(x, list); n != nil {
		return unbatched(n, had)
	}
	return unbatched(o.means(op, x, list, end), had)
}

// meanOfBlocks is the average over windows that lie side by side without padding, as a mean over axes; nil
// for others.
func meanOfBlocks(x *ir.Node, list []ir.Window) *ir.Node {
	ints, apart, result := []int{0, x.Shape[0], 1, 0, x.Shape[1], 1}, slices.Clone(x.Shape[:2]), slices.Clone(x.Shape[:2])
	var axes []int
	for i, w := range list {
		n := x.Shape[2+i] / w.Kernel
		if w.Stride != w.Kernel || w.Dilation != 1 || w.Before > 0 || w.After > 0 || n == 0 {
			return nil
		}
		ints = append(ints, 0, n*w.Kernel, 1)
		axes = append(axes, len(apart)+1)
		apart, result = append(apart, n, w.Kernel), append(result, n)
	}
	whole := apply(ir.Slice, ir.Attr{Ints: ints}, x)
	return reshape(apply(ir.Mean, ir.Attr{Axes: axes}, reshape(whole, apart)), result)
}

// windowSums adds up the windows, each channel alone, in f32 or f64.
func windowSums(op string, x *ir.Node, list []ir.Window) *ir.Node {
	one, kernel := []int{x.Shape[0] * x.Shape[1], 1}, []int{1, 1}
	for i, w := range list {
		one, kernel = append(one, x.Shape[2+i]), append(kernel, w.Kernel)
	}
	ones := expand(ir.Number(x.Dev, x.DType, 1), kernel)
	n := convNode(op, ir.Conv, ir.Attr{Ints: ir.Ints(list), Index: 1}, reshape(x, one), ones)
	return reshape(n, slices.Concat(x.Shape[:2], n.Shape[2:]))
}

// means divides the sums of windows by what counts in each.
func (o *Pool) means(op string, x *ir.Node, list []ir.Window, end []int) *ir.Node {
	dt := x.DType
	if dt != dtype.F64 { // sums of f16 would be rounded twice, and may be too large
		x = cast(x, dtype.F32)
	}
	y := wrap(windowSums(op, x, list))
	for i, w := range list {
		first, last := -w.Before, end[i]
		if o.WithoutPadding {
			first, last = 0, x.Shape[2+i]
		}
		share := make([]float64, y.Len(2+i))
		for t := range share {
			count := 0
			for k := range w.Kernel {
				if at := w.At(t, k); at >= first && at < last {
					count++
				}
			}
			share[t] = 1 / float64(max(1, count))
		}
		if slices.Min(share) == slices.Max(share) {
			y = y.Mul(share[0])
			continue
		}
		shape := slices.Repeat([]int{1}, y.Rank())
		shape[2+i] = len(share)
		y = y.Mul(from(x.Dev.(*backend.Device), x.DType, share, shape))
	}
	return cast(y.node(op), dt)
}

// LpPool is (Σ |x|ᵖ)^(1/p) over each window of x [N C …], or [C …], for a kernel with a length for each axis.
func (t Tensor) LpPool(p float64, kernel []int, o ...Pool) Tensor {
	const op = "lp_pool"
	if !(p > 0) || math.IsInf(p, 0) {
		fail(op, "got p = %v, want a finite number above 0", p)
	}
	settings := atMostOne(op, o)
	x, had := batched(op, t, len(kernel))
	x = floats(x)
	list, _ := settings.windows(op, kernel, x.Shape[2:])
	powers := wrap(x).Abs().Pow(p).node(op)
	if powers.DType != dtype.F64 {
		powers = cast(powers, dtype.F32)
	}
	y := wrap(windowSums(op, powers, list)).Pow(1 / p).Cast(x.DType)
	return unbatched(y.node(op), had)
}

// AdaptiveAvgPool1d gives the means of so many windows of x [N C L], or [C L], which are as equally long as
// possible.
func (t Tensor) AdaptiveAvgPool1d(length int) Tensor {
	return t.adaptive("adaptive_avg_pool1d", averageOf, length)
}

// AdaptiveAvgPool2d gives the means of height × width windows of x [N C H W], or [C H W], which are as
// equally long as possible: window i of n along an axis of length L begins at ⌊i·L/n⌋ and ends before
// ⌈(i+1)·L/n⌉.
func (t Tensor) AdaptiveAvgPool2d(height, width int) Tensor {
	return t.adaptive("adaptive_avg_pool2d", averageOf, height, width)
}

// AdaptiveMaxPool1d is [Tensor.AdaptiveAvgPool1d] with the greatest element of each window.
func (t Tensor) AdaptiveMaxPool1d(length int) Tensor {
	return t.adaptive("adaptive_max_pool1d", greatestOf, length)
}

// AdaptiveMaxPool2d is [Tensor.AdaptiveAvgPool2d] with the greatest element of each window.
func (t Tensor) AdaptiveMaxPool2d(height, width int) Tensor {
	return t.adaptive("adaptive_max_pool2d", greatestOf, height, width)
}

// maxWindows bounds the lists of places that adaptive makes, which have less than the sum of both lengths.
const maxWindows = 1 << 22

// adaptive cuts the last axes into windows, one axis after the other, and folds each.
func (t Tensor) adaptive(op string, fold func(x Tensor, axis int, inside Tensor) Tensor, counts ...int) Tensor {
	n, had := batched(op, t, len(counts))
	x := wrap(n)
	for i, count := range counts {
		axis := 2 + i
		length := x.Len(axis)
		if count < 1 || length < 1 {
			fail(op, "got %d windows along spatial axis %d of %v, want at least one, and elements", count, i, t.node(op))
		}
		if length%count == 0 {
			x = fold(x.Reshape(slices.Replace(x.Shape(), axis, axis+1, count, length/count)...), axis+1, Tensor{})
			continue
		}
		if count > maxWindows || length > maxWindows {
			fail(op, "got %d windows along spatial axis %d of %v, want at most %d windows, and elements", count, i, t.node(op), maxWindows)
		}
		places, inside, most := adaptiveWindows(length, count)
		shape := slices.Repeat([]int{1}, x.Rank()+1)
		shape[axis], shape[axis+1] = count, most
		x = fold(x.Take(fromBeside(x, places, count, most), axis), axis+1, fromBeside(x, inside, shape...))
	}
	return unbatched(x.node(op), had)
}

// adaptiveWindows lists the elements of each window, with the first again where it is shorter than the
// longest, and which of them count.
func adaptiveWindows(length, count int) (places []int, inside []bool, most int) {
	first := func(i int) int { return i * length / count }
	end := func(i int) int { return ((i+1)*length + count - 1) / count }
	for i := range count {
		most = max(most, end(i)-first(i))
	}
	for i := range count {
		for j := range most {
			at := first(i) + j
			ok := at < end(i)
			if !ok {
				at = first(i)
			}
			places, inside = append(places, at), append(inside, ok)
		}
	}
	return places, inside, most
}

func averageOf(x Tensor, axis int, inside Tensor) Tensor {
	if inside.IsNone() {
		return x.Mean(axis)
	}
	return Where(inside, x, 0).Sum(axis).Div(inside.Cast(x.DType()).Sum(axis))
}

// greatestOf need not leave out the elements that stand for none: they are in the window, too.
func greatestOf(x Tensor, axis int, _ Tensor) Tensor { return x.Max(axis) }
