package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// reduceRows fold over Attr.Axes, which stay with length 1.
func reduceRows() []Row {
	return []Row{
		{Op: Sum, Name: "sum", Sources: 1, Infer: inferReduce, Grad: gradSum, Flops: flopsOfSource(1), Tol: summation,
			Doc: "Sum adds up over Attr.Axes; 0 for no elements; integers wrap. Narrow floats are added up in f32."},
		{Op: Prod, Name: "prod", Sources: 1, Infer: inferReduce, Grad: gradProd, Flops: flopsOfSource(1), Tol: summation,
			Doc: "Prod multiplies over Attr.Axes; 1 for no elements; integers wrap. The gradient is right when elements are 0, too."},
		{Op: ReduceMax, Name: "reduce_max", Sources: 1, Infer: all(hasAxes, keepAxes, haveElements), Grad: gradExtreme, Flops: flopsOfSource(1), Tol: exact,
			Doc: "ReduceMax is the greatest element over Attr.Axes (any, for Bool); NaN if there is one. Elements that tie share the gradient evenly. " +
				"An axis of length 0 is refused, but for Bool."},
		{Op: ReduceMin, Name: "reduce_min", Sources: 1, Infer: all(hasAxes, keepAxes, haveElements), Grad: gradExtreme, Flops: flopsOfSource(1), Tol: exact,
			Doc: "ReduceMin is the least element over Attr.Axes (all, for Bool); NaN if there is one. Elements that tie share the gradient evenly. " +
				"An axis of length 0 is refused, but for Bool."},
		{Op: Mean, Name: "mean", Sources: 1, Infer: all(inferReduce, areFloats), Grad: gradMean, Flops: flopsOfSource(1), Tol: summation,
			Doc: "Mean is the sum over Attr.Axes divided by the number of elements; NaN for none."},
		{
			Op: SumSquares, Name: "sum_squares", Family: FamilyOptimizer, Infer: inferSumSquares, Grad: gradSumSquares, Tol: summation,
			Doc: "SumSquares adds up the squares of all elements of all its sources, in f32 (f64 for f64): the square of the global norm in one launch.",
			Flops: func(n *Node) int64 {
				var total int64
				for _, s := range n.Src {
					total += 2 * int64(Size(s.Shape))
				}
				return total
			},
		},
	}
}

// scanRows go along one axis, Attr.Axis.
func scanRows() []Row {
	return []Row{
		{Op: ArgMax, Name: "arg_max", Sources: 1, Infer: inferArg, Flops: flopsOfSource(1), Tol: exact,
			Doc:    "ArgMax is the index of the greatest element along Attr.Axis, which stays with length 1; i64. The first one wins a tie; NaN beats every number.",
			NoGrad: "its result is an index"},
		{Op: ArgMin, Name: "arg_min", Sources: 1, Infer: inferArg, Flops: flopsOfSource(1), Tol: exact,
			Doc:    "ArgMin is the index of the least element along Attr.Axis, which stays with length 1; i64. The first one wins a tie; NaN beats every number.",
			NoGrad: "its result is an index"},
		{Op: CumSum, Name: "cum_sum", Sources: 1, Infer: all(inferNumber, hasAxis), Grad: gradCumSum, Flops: flops(1), Tol: summation,
			Doc: "CumSum is the running sum along Attr.Axis; from the end with Flags Reverse, without the element itself with Flags Exclusive."},
	}
}

var inferReduce = all(areNumbers, hasAxes, keepAxes)

// keepAxes sets the type of a reduction.
func keepAxes(n *Node) error {
	s := n.Src[0]
	n.DType, n.Shape = s.DType, slices.Clone(s.Shape)
	for _, a := range n.Attr.Axes {
		n.Shape[a] = 1
	}
	return nil
}

// haveElements checks that there is a greatest element along each axis.
func haveElements(n *Node) error {
	for _, a := range n.Attr.Axes {
		if s := n.Src[0]; s.Shape[a] == 0 && s.DType != dtype.Bool {
			return got(n, "at least one element along axis %d", a)
		}
	}
	return nil
}

func inferSumSquares(n *Node) error {
	n.DType, n.Shape = dtype.F32, []int{}
	for _, s := range n.Src {
		if !s.DType.Float() {
			return got(n, "a floating-point dtype")
		}
		if accumulator(s.DType) != accumulator(n.Src[0].DType) {
			return got(n, "either all f64 or none")
		}
		n.DType = accumulator(s.DType)
	}
	return nil
}

func inferArg(n *Node) error {
	s := n.Src[0]
	if err := axis(n, s); err != nil {
		return err
	}
	if s.Shape[n.Attr.Axis] == 0 {
		return got(n, "at least one element along axis %d", n.Attr.Axis)
	}
	n.DType, n.Shape = dtype.I64, with(s.Shape, n.Attr.Axis, 1)
	return nil
}
