package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// unaryRows apply a function to each element.
func unaryRows() []Row {
	const nearest = "piecewise constant: its derivative is 0 almost everywhere"
	return []Row{
		{Op: Cast, Name: "cast", Sources: 1, Infer: inferCast, Grad: gradCast, Flops: free, Tol: exact,
			Doc: "Cast converts to Attr.DType. Floats round to nearest, ties to even; float to integer truncates towards zero and saturates, " +
				"NaN becomes 0; integer to a narrower integer wraps; anything but 0 is true; true is 1."},
		{Op: Bitcast, Name: "bitcast", Sources: 1, Infer: inferBitcast, Flops: free, Tol: exact,
			Doc:    "Bitcast reads the bits of each element as Attr.DType, a type of the same size; neither is Bool (NumPy's view).",
			NoGrad: "its result is made of bits"},
		{Op: Neg, Name: "neg", Sources: 1, Infer: inferNumber, Grad: gradNeg, Flops: flops(1), Tol: exact, Doc: "Neg is -x; integers wrap."},
		{Op: Abs, Name: "abs", Sources: 1, Infer: inferNumber, Grad: gradAbs, Flops: flops(1), Tol: exact,
			Doc: "Abs is |x|; the least integer stays as it is. The gradient at 0 is 0."},
		{Op: Sign, Name: "sign", Sources: 1, Infer: inferNumber, Flops: flops(1), Tol: exact,
			Doc:    "Sign is -1, 0 or 1 by the sign of x; NaN stays, and so does -0.",
			NoGrad: nearest},
		{Op: Floor, Name: "floor", Sources: 1, Infer: inferNumber, Flops: flops(1), Tol: exact,
			Doc:    "Floor is the greatest whole number not above x; integers stay.",
			NoGrad: nearest},
		{Op: Ceil, Name: "ceil", Sources: 1, Infer: inferNumber, Flops: flops(1), Tol: exact, Doc: "Ceil is the least whole number not below x; integers stay.", NoGrad: nearest},
		{Op: Round, Name: "round", Sources: 1, Infer: inferNumber, Flops: flops(1), Tol: exact,
			Doc:    "Round is the nearest whole number, ties to even; integers stay.",
			NoGrad: nearest},
		floatRow(Exp, "exp", 10, "Exp is eˣ.", gradExp),
		floatRow(Expm1, "expm1", 12, "Expm1 is eˣ−1, precise near 0.", gradExpm1),
		floatRow(Log, "log", 10, "Log is the natural logarithm: -Inf for 0, NaN below.", gradLog),
		floatRow(Log1p, "log1p", 12, "Log1p is ln(1+x), precise near 0: -Inf for -1, NaN below.", gradLog1p),
		floatRow(Sqrt, "sqrt", 1, "Sqrt is the square root; NaN for negative numbers.", gradSqrt),
		floatRow(Rsqrt, "rsqrt", 2, "Rsqrt is 1/√x; Inf for 0, NaN for negative numbers.", gradRsqrt),
		floatRow(Recip, "recip", 1, "Recip is 1/x.", gradRecip),
		floatRow(Sin, "sin", 12, "Sin is the sine of x in radians; NaN for ±Inf.", gradSin),
		floatRow(Cos, "cos", 12, "Cos is the cosine of x in radians; NaN for ±Inf.", gradCos),
		floatRow(Tanh, "tanh", 14, "Tanh is the hyperbolic tangent.", gradTanh),
		floatRow(Erf, "erf", 16, "Erf is the error function 2/√π·∫₀ˣ exp(−t²) dt.", gradErf),
		floatRow(Sigmoid, "sigmoid", 12, "Sigmoid is 1/(1+e⁻ˣ).", gradSigmoid),
		floatRow(Silu, "silu", 13, "Silu is x/(1+e⁻ˣ), also called swish.", gradSilu),
		floatRow(Gelu, "gelu", 18, "Gelu is x·Φ(x), with Φ the normal distribution function; with Flags TanhApprox "+
			"x/2·(1+tanh(√(2/π)·(x+0.044715·x³))) (Hendrycks, Gimpel: Gaussian error linear units, 2016).", gradGelu),
		{Op: Not, Name: "not", Sources: 1, Infer: inferNot, Flops: flops(1), Tol: exact,
			Doc:    "Not is the logical complement of Bool, and the bitwise one of an integer.",
			NoGrad: "not defined on floating-point types"},
		{Op: IsNaN, Name: "is_nan", Sources: 1, Infer: inferIsNaN, Flops: flops(1), Tol: exact, Doc: "IsNaN says where x is no number; Bool.", NoGrad: "its result is Bool"},
	}
}

// floatRow is the row of a function on floating-point types.
func floatRow(op Op, name string, cost int64, doc string, grad func(n *Node, dy []*Node) []*Node) Row {
	return Row{
		Op: op, Name: name, Sources: 1, Doc: doc, Grad: grad, Flops: flops(cost), Tol: functions, Infer: all(areFloats, asFirst),
	}
}

func inferCast(n *Node) error {
	n.DType, n.Shape = n.Attr.DType, n.Src[0].Shape
	if n.DType == dtype.Invalid || n.DType > dtype.F64 {
		return wrong(n, "got %v, want a dtype", n.DType)
	}
	return nil
}

func inferBitcast(n *Node) error {
	if err := inferCast(n); err != nil {
		return err
	}
	if s := n.Src[0].DType; !number(s) || !number(n.DType) || s.Size() != n.DType.Size() {
		return got(n, "types of one size and not bool (%v was asked for)", n.DType)
	}
	return nil
}

// inferNumber is for one operand that is a number; the result has its type.
var inferNumber = all(areNumbers, asFirst)

func inferNot(n *Node) error {
	if n.Src[0].DType.Float() {
		return got(n, "bool or an integer dtype")
	}
	return asFirst(n)
}

func inferIsNaN(n *Node) error {
	n.DType, n.Shape = dtype.Bool, n.Src[0].Shape
	return areFloats(n)
}

// binaryRows take two operands of one dtype; a shape [] stands for its one number everywhere.
func binaryRows() []Row {
	return []Row{
		{Op: Add, Name: "add", Sources: 2, Infer: inferArithmetic, Grad: gradAdd, Flops: flops(1), Tol: rounding, Doc: "Add is x+y; integers wrap."},
		{Op: Sub, Name: "sub", Sources: 2, Infer: inferArithmetic, Grad: gradSub, Flops: flops(1), Tol: rounding, Doc: "Sub is x−y; integers wrap."},
		{Op: Mul, Name: "mul", Sources: 2, Infer: inferArithmetic, Grad: gradMul, Flops: flops(1), Tol: rounding, Doc: "Mul is x·y; integers wrap."},
		{Op: Div, Name: "div", Sources: 2, Infer: inferArithmetic, Grad: gradDiv, Flops: flops(1), Tol: rounding,
			Doc: "Div is x/y: ±Inf or NaN for a float divided by 0. Integers round towards minus infinity, and x/0 is 0, as NumPy's floor_divide."},
		{Op: Mod, Name: "mod", Sources: 2, Infer: inferArithmetic, Grad: gradMod, Flops: flops(4), Tol: functions,
			Doc: "Mod is the remainder with the sign of the divisor, as NumPy's remainder and Python's %; x mod 0 is NaN for floats and 0 for integers."},
		{Op: Pow, Name: "pow", Sources: 2, Infer: inferArithmetic, Grad: gradPow, Flops: flops(20), Tol: 1e-5,
			Doc: "Pow is xʸ; x⁰ is 1 for every x. Integers wrap; a negative integer exponent gives the true result truncated: 1 for 1, ±1 for -1, else 0. " +
				"The gradient of x is 0 where y is 0; that of y is 0 where x is 0 and y is not negative."},
		{Op: Max, Name: "max", Sources: 2, Infer: inferArithmetic, Grad: gradChoice(Gt, Ge), Flops: flops(1), Tol: exact,
			Doc: "Max is the greater of x and y; a NaN on either side wins, as NumPy's maximum. Where both are equal each gets half of the gradient; with Flags Bound x gets all of it, and y none anywhere."},
		{Op: Min, Name: "min", Sources: 2, Infer: inferArithmetic, Grad: gradChoice(Lt, Le), Flops: flops(1), Tol: exact,
			Doc: "Min is the smaller of x and y; a NaN on either side wins, as NumPy's minimum. Where both are equal each gets half of the gradient; with Flags Bound x gets all of it, and y none anywhere."},
		{Op: Atan2, Name: "atan2", Sources: 2, Infer: all(inferPair, areFloats), Grad: gradAtan2, Flops: flops(20), Tol: functions,
			Doc: "Atan2 is the angle of the point whose y is Src[0] and whose x is Src[1], in (−π, π]."},
	}
}

// compareRows give Bool or work on bits.
func compareRows() []Row {
	row := func(op Op, name, doc string) Row {
		return Row{
			Op: op, Name: name, Sources: 2, Infer: inferCompare, Flops: flops(1), Tol: exact, Doc: doc,
			NoGrad: "its result is Bool",
		}
	}
	bits := func(op Op, name, doc string) Row {
		return Row{
			Op: op, Name: name, Sources: 2, Infer: all(inferPair, areBits), Flops: flops(1), Tol: exact, Doc: doc,
			NoGrad: "not defined on floating-point types",
		}
	}
	shift := func(op Op, name, doc string) Row {
		r := bits(op, name, doc)
		r.Infer = all(inferPair, areIntegers)
		return r
	}
	return []Row{
		row(Eq, "eq", "Eq is x = y, as Bool; NaN equals nothing."),
		row(Ne, "ne", "Ne is x ≠ y, as Bool; true for NaN."),
		row(Lt, "lt", "Lt is x < y, as Bool; false for NaN."),
		row(Le, "le", "Le is x ≤ y, as Bool; false for NaN."),
		row(Gt, "gt", "Gt is x > y, as Bool; false for NaN."),
		row(Ge, "ge", "Ge is x ≥ y, as Bool; false for NaN."),
		bits(And, "and", "And is the logical and of Bool, and the bitwise one of integers."),
		bits(Or, "or", "Or is the logical or of Bool, and the bitwise one of integers."),
		bits(Xor, "xor", "Xor is the logical exclusive or of Bool, and the bitwise one of integers."),
		shift(Shl, "shl", "Shl is x·2ʸ: the bits of integers moved up, those that leave the type lost. A count below 0 or beyond the type moves all of them out, as in NumPy."),
		shift(Shr, "shr", "Shr is x/2ʸ rounded down: the bits of integers moved down, the sign kept. A count below 0 or beyond the type leaves only the sign: 0 or -1, as in NumPy."),
		{Op: Where, Name: "where", Sources: 3, Infer: inferWhere, Grad: gradWhere, Flops: flops(1), Tol: exact,
			Doc: "Where is y where the condition Src[0] (Bool) holds and z elsewhere. The gradient of the side that was not taken is 0."},
	}
}

// joinShape is the shape of an elementwise op: that of its sources, of which some may be [].
func joinShape(n *Node, list ...*Node) error {
	n.Shape = list[0].Shape
	for _, s := range list[1:] {
		switch {
		case len(s.Shape) == 0:
		case len(n.Shape) == 0:
			n.Shape = s.Shape
		case !slices.Equal(s.Shape, n.Shape):
			return got(n, "one shape")
		}
	}
	return nil
}

// inferPair checks two operands of one dtype.
func inferPair(n *Node) error {
	n.DType = n.Src[0].DType
	if n.Src[1].DType != n.DType {
		return got(n, "one dtype")
	}
	return joinShape(n, n.Src...)
}

var inferArithmetic = all(inferPair, areNumbers)

func inferCompare(n *Node) error {
	err := inferPair(n)
	n.DType = dtype.Bool
	return err
}

// areBits checks that the operands have bits that go together one by one.
func areBits(n *Node) error {
	if n.DType.Float() && n.Op == Xor {
		return got(n, "bool or an integer dtype; x.Pow(2) is a power, x.Square() the square")
	}
	if n.DType.Float() {
		return got(n, "bool or an integer dtype")
	}
	return nil
}

func areIntegers(n *Node) error {
	if !n.DType.Int() {
		return got(n, "an integer dtype")
	}
	return nil
}

func inferWhere(n *Node) error {
	if n.Src[0].DType != dtype.Bool {
		return got(n, "a bool condition")
	}
	n.DType = n.Src[1].DType
	if n.Src[2].DType != n.DType {
		return got(n, "one dtype for both sides")
	}
	return joinShape(n, n.Src...)
}
