package tensor

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// keep reduces over axes (none: all), which stay with length 1.
func keep(op ir.Op, n *ir.Node, axes []int) *ir.Node {
	return apply(op, ir.Attr{Axes: axesOf(op.String(), n, axes)}, n)
}

// drop removes reduced axes.
func drop(op ir.Op, n *ir.Node, axes []int) Tensor {
	list := axesOf(op.String(), n, axes)
	shape := []int{}
	for a, d := range n.Shape {
		if !slices.Contains(list, a) {
			shape = append(shape, d)
		}
	}
	return wrap(reshape(keep(op, n, axes), shape))
}

// numbers makes i64 of booleans.
func numbers(n *ir.Node) *ir.Node {
	if n.DType == dtype.Bool {
		return cast(n, dtype.I64)
	}
	return n
}

// wide makes 64-bit integers of narrower ones and of booleans, in which sums are less likely to wrap.
func wide(n *ir.Node) *ir.Node {
	switch {
	case n.DType.Float() || n.DType.Complex():
		return n
	case n.DType.Signed() || n.DType == dtype.Bool:
		return cast(n, dtype.I64)
	}
	return cast(n, dtype.U64)
}

// floats makes f32 of integers and booleans.
func floats(n *ir.Node) *ir.Node {
	if n.DType.Float() || n.DType.Complex() {
		return n
	}
	return cast(n, dtype.F32)
}

// Sum adds over axes; none means all. Integers are added up in 64 bits, i64 or u64, and booleans counted as
// i64.
func (t Tensor) Sum(axes ...int) Tensor { return drop(ir.Sum, wide(t.node("sum")), axes) }

// SumKeep is Sum; the axes stay with length 1.
func (t Tensor) SumKeep(axes ...int) Tensor { return wrap(keep(ir.Sum, wide(t.node("sum")), axes)) }

// Prod multiplies over axes; none means all. Integers are multiplied in 64 bits.
func (t Tensor) Prod(axes ...int) Tensor { return drop(ir.Prod, wide(t.node("prod")), axes) }

// Mean is the average over axes; none means all. Integers become f32.
func (t Tensor) Mean(axes ...int) Tensor { return drop(ir.Mean, floats(t.node("mean")), axes) }

// MeanKeep is Mean; the axes stay with length 1.
func (t Tensor) MeanKeep(axes ...int) Tensor {
	return wrap(keep(ir.Mean, floats(t.node("mean")), axes))
}

// Max is the largest over axes; none means all.
func (t Tensor) Max(axes ...int) Tensor { return drop(ir.ReduceMax, t.node("max"), axes) }

// MaxKeep is Max; the axes stay with length 1.
func (t Tensor) MaxKeep(axes ...int) Tensor { return wrap(keep(ir.ReduceMax, t.node("max"), axes)) }

// Min is the smallest over axes; none means all.
func (t Tensor) Min(axes ...int) Tensor { return drop(ir.ReduceMin, t.node("min"), axes) }

// MinKeep is Min; the axes stay with length 1.
func (t Tensor) MinKeep(axes ...int) Tensor { return wrap(keep(ir.ReduceMin, t.node("min"), axes)) }

// Var is the variance with the divisor n, as NumPy's var: the mean of the squared distance from the mean over
// axes; none means all. PyTorch's var divides by n − 1, as [Tensor.SampleVar] does.
func (t Tensor) Var(axes ...int) Tensor {
	return t.Sub(t.MeanKeep(axes...)).squares().Mean(axes...)
}

// Std is √Var, with the divisor n as NumPy's std; that of PyTorch is [Tensor.SampleStd].
func (t Tensor) Std(axes ...int) Tensor { return root(t.Var(axes...)) }

// VarWith is the variance with the divisor n − correction over axes; none means all. Correction is NumPy's
// ddof.
func (t Tensor) VarWith(correction float64, axes ...int) Tensor {
	sum := t.Sub(t.MeanKeep(axes...)).squares().Sum(axes...)
	return sum.Div(max(0, float64(t.Size()/max(1, sum.Size()))-correction))
}

// StdWith is √VarWith.
func (t Tensor) StdWith(correction float64, axes ...int) Tensor {
	return root(t.VarWith(correction, axes...))
}

// SampleVar is the variance with the divisor n − 1, as PyTorch's var: that of what the elements are a sample
// of.
func (t Tensor) SampleVar(axes ...int) Tensor { return t.VarWith(1, axes...) }

// SampleStd is √SampleVar, with the divisor n − 1 as PyTorch's std.
func (t Tensor) SampleStd(axes ...int) Tensor { return root(t.SampleVar(axes...)) }

// Norm is the square root of the sum of squares over axes; none means all. The gradient of zeros is 0.
func (t Tensor) Norm(axes ...int) Tensor {
	if len(axes) == 0 {
		return root(SumSquares([]Tensor{t}))
	}
	return root(wrap(floats(t.node("norm"))).squares().Sum(axes...))
}

// squares are |x|².
func (t Tensor) squares() Tensor {
	if p := t.parts(); p != nil {
		return p[0].Square().Add(p[1].Square())
	}
	return t.Square()
}

// root is √t of sums of squares, whose gradient is 0 where they are: a square's is, and 0·∞ would be NaN.
func root(t Tensor) Tensor {
	zero := t.Eq(0)
	return Where(zero, 0, Where(zero, 1, t).Sqrt())
}

// Any says whether anything is true (not 0) over axes; none means all.
func (t Tensor) Any(axes ...int) Tensor {
	return drop(ir.ReduceMax, cast(t.node("any"), dtype.Bool), axes)
}

// All says whether everything is true (not 0) over axes; none means all.
func (t Tensor) All(axes ...int) Tensor {
	return drop(ir.ReduceMin, cast(t.node("all"), dtype.Bool), axes)
}

func (t Tensor) arg(op ir.Op, axis []int) Tensor {
	t, a := t.along(op.String(), axis)
	return wrap(apply(op, ir.Attr{Axis: a}, t.node(op.String()))).Squeeze(a)
}

// ArgMax is the index (i64) of the first largest element of an axis; without one its place among all
// elements, in C order.
func (t Tensor) ArgMax(axis ...int) Tensor { return t.arg(ir.ArgMax, axis) }

// ArgMin is the index (i64) of the first smallest element of an axis; without one its place among all
// elements, in C order.
func (t Tensor) ArgMin(axis ...int) Tensor { return t.arg(ir.ArgMin, axis) }

// CumSum adds up along an axis, without one all elements as one axis; integers in 64 bits.
func (t Tensor) CumSum(axis ...int) Tensor {
	t, a := t.along("cumsum", axis)
	n := wide(t.node("cumsum"))
	return wrap(apply(ir.CumSum, ir.Attr{Axis: a}, n))
}

// SumSquares adds the squares of all elements of all tensors: an f32 number, in one launch.
func SumSquares(ts []Tensor) Tensor {
	nodes := make([]*ir.Node, len(ts))
	for i, t := range ts {
		nodes[i] = floats(t.node("sum_squares"))
	}
	return wrap(apply(ir.SumSquares, ir.Attr{}, nodes...))
}
