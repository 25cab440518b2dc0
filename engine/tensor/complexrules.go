package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An operandParts is an operand of an operation of which at least one operand is complex: im is nil if it is
// real.
type operandParts struct{ re, im *ir.Node }

// A complexRule makes an operation on complex numbers of operations on their parts.
type complexRule func(op ir.Op, attr ir.Attr, z []operandParts) *ir.Node

// complexRules has the operations that take complex numbers. [TestComplexMethods] lists the methods of
// tensors that do because these do.
var complexRules map[ir.Op]complexRule

func init() { // the rules make operations, which look up their rule
	complexRules = map[ir.Op]complexRule{
		ir.Reshape: eachPart, ir.Permute: eachPart, ir.Expand: eachPart, ir.Slice: eachPart, ir.Flip: eachPart, ir.Detach: eachPart,
		ir.Pad: eachPart, ir.Concat: eachPart, ir.Where: eachPart, ir.Neg: eachPart,
		ir.Sum: eachPart, ir.Mean: eachPart, ir.CumSum: eachPart, ir.Gather: eachPart, ir.GatherAlong: eachPart,
		ir.ScatterAdd: eachPart, ir.ScatterAlong: eachPart, ir.Overwrite: eachPart, ir.ScatterWith: replacePart,

		ir.Add: addComplex, ir.Sub: addComplex, ir.Mul: mulComplex, ir.MatMul: mulComplex, ir.Div: divComplex, ir.Pow: powComplex,
		ir.Eq: equalComplex, ir.Ne: equalComplex, ir.Cast: castComplex, ir.SumSquares: sumSquares, ir.Prod: prodComplex,

		ir.Abs:   function(func(re, im Tensor) Tensor { return re.Hypot(im) }),
		ir.IsNaN: function(func(re, im Tensor) Tensor { return re.IsNaN().Or(im.IsNaN()) }),
		ir.Sign: function(func(re, im Tensor) Tensor {
			size := re.Hypot(im)
			size = Where(size.Eq(0), 1, size)
			return Complex(re.Div(size), im.Div(size))
		}),
		ir.Recip: function(func(re, im Tensor) Tensor { return Div(1, Complex(re, im)) }),
		ir.Exp:   function(exp), ir.Log: function(log), ir.Sqrt: function(sqrt),
		ir.Rsqrt: function(func(re, im Tensor) Tensor { return sqrt(re, im).Recip() }),
		ir.Sin: function(func(re, im Tensor) Tensor {
			return Complex(re.Sin().Mul(im.Cosh()), re.Cos().Mul(im.Sinh()))
		}),
		ir.Cos: function(func(re, im Tensor) Tensor {
			return Complex(re.Cos().Mul(im.Cosh()), re.Sin().Mul(im.Sinh()).Neg())
		}),
	}
}

// ofParts makes an operation with complex operands, or whose result is complex.
func ofParts(op ir.Op, attr ir.Attr, src []*ir.Node) *ir.Node {
	z := make([]operandParts, len(src))
	complex := src[0]
	for i, n := range src {
		z[i].re = n
		if n.DType.Complex() {
			z[i], complex = operandParts{n.Src[0], n.Src[1]}, n
		}
	}
	rule := complexRules[op]
	if rule == nil {
		fail(op.String(), "%s", ir.NotReal(complex))
	}
	return rule(op, attr, z)
}

// eachPart does to the real and to the imaginary parts what is done to real numbers; an operand that is not
// complex, as an index, is the same for both.
func eachPart(op ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	re, im := make([]*ir.Node, len(z)), make([]*ir.Node, len(z))
	for i, x := range z {
		if re[i], im[i] = x.re, x.im; x.im == nil {
			im[i] = x.re
		}
	}
	return ir.Pair(apply(op, attr, re...), apply(op, attr, im...))
}

// replacePart is eachPart for the one combination that works part by part.
func replacePart(op ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	if attr.Index != int(ir.Replace) {
		fail("put", "got complex numbers, want them to Replace or Accumulate: the other combinations are of real numbers")
	}
	return eachPart(op, attr, z)
}

// do makes an elementwise operation.
func do(op ir.Op, src ...*ir.Node) *ir.Node { return apply(op, ir.Attr{}, src...) }

func addComplex(op ir.Op, _ ir.Attr, z []operandParts) *ir.Node {
	x, y := z[0], z[1]
	re, im := do(op, x.re, y.re), x.im
	switch {
	case x.im != nil && y.im != nil:
		im = do(op, x.im, y.im)
	case x.im == nil && op == ir.Sub:
		im = do(ir.Neg, y.im)
	case x.im == nil:
		im = y.im
	}
	return ir.Pair(re, expand(im, re.Shape))
}

// mulComplex is for products element by element and of matrices. Of matrices the two products of a part are
// one launch.
func mulComplex(op ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	x, y := z[0], z[1]
	both := func(second ir.Op, a, b, c, d *ir.Node) *ir.Node {
		if op == ir.Mul {
			return do(second, do(op, a, b), do(op, c, d))
		}
		if second == ir.Sub {
			c = do(ir.Neg, c)
		}
		return apply(op, attr, a, b, c, d)
	}
	switch {
	case y.im == nil:
		return ir.Pair(apply(op, attr, x.re, y.re), apply(op, attr, x.im, y.re))
	case x.im == nil:
		return ir.Pair(apply(op, attr, x.re, y.re), apply(op, attr, x.re, y.im))
	}
	return ir.Pair(both(ir.Sub, x.re, y.re, x.im, y.im), both(ir.Add, x.re, y.im, x.im, y.re))
}

// divComplex divides as R. L. Smith does (1962), without overflow on the way: by the larger part of the
// divisor first.
func divComplex(op ir.Op, _ ir.Attr, z []operandParts) *ir.Node {
	x, y := z[0], z[1]
	if y.im == nil {
		return ir.Pair(do(op, x.re, y.re), do(op, x.im, y.re))
	}
	a, c, d := wrap(x.re), wrap(y.re), wrap(y.im)
	b := ZerosLike(a)
	if x.im != nil {
		b = wrap(x.im)
	}
	wide := c.Abs().Ge(d.Abs())
	large, small := Where(wide, c, d), Where(wide, d, c)
	ratio := small.Div(Where(large.Eq(0), 1, large))
	by := large.Add(small.Mul(ratio))
	re := Where(wide, a, b).Add(Where(wide, b, a).Mul(ratio)).Div(by)
	im := Where(wide, b, a.Neg()).Sub(Where(wide, a, b.Neg()).Mul(ratio)).Div(by)
	return Complex(re, im).node("div")
}

func equalComplex(op ir.Op, _ ir.Attr, z []operandParts) *ir.Node {
	x, y := z[0], z[1]
	for _, p := range []*operandParts{&x, &y} {
		if p.im == nil {
			p.im = ir.Number(p.re.Dev, p.re.DType, 0)
		}
	}
	join := ir.And
	if op == ir.Ne {
		join = ir.Or
	}
	re := do(op, x.re, y.re)
	return do(join, re, expand(do(op, x.im, y.im), re.Shape))
}

// castComplex makes complex numbers of real ones, or of another precision; of complex ones only booleans,
// which say what is not 0.
func castComplex(_ ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	x, to := z[0], attr.DType
	switch {
	case to.Complex() && x.im == nil:
		re := cast(x.re, to.Part())
		return ir.Pair(re, expand(ir.Number(re.Dev, re.DType, 0), re.Shape))
	case to.Complex():
		return ir.Pair(cast(x.re, to.Part()), cast(x.im, to.Part()))
	case to == dtype.Bool:
		return do(ir.Or, cast(x.re, to), cast(x.im, to))
	}
	fail("cast", "%s", ir.NotReal(ir.Pair(x.re, x.im)))
	return nil
}

func sumSquares(op ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	var src []*ir.Node
	for _, x := range z {
		if src = append(src, x.re); x.im != nil {
			src = append(src, x.im)
		}
	}
	return apply(op, attr, src...)
}

// prodComplex multiplies the halves of what is left until one is.
func prodComplex(_ ir.Op, attr ir.Attr, z []operandParts) *ir.Node {
	x := wrap(ir.Pair(z[0].re, z[0].im))
	shape, order, kept := x.Shape(), []int{}, []int{}
	for a, d := range shape {
		if !slices.Contains(attr.Axes, a) {
			order, kept = append(order, a), append(kept, d)
		}
	}
	size := 1
	for _, a := range attr.Axes {
		size, shape[a] = size*shape[a], 1
	}
	x = x.Permute(append(order, attr.Axes...)...).Reshape(append(kept, size)...)
	if size == 0 {
		x = x.Pad(-1, 0, 1, 1)
	}
	for n := x.Len(-1); n > 1; n = x.Len(-1) {
		half := (n + 1) / 2
		x = x.Slice(-1, 0, half).Mul(x.Slice(-1, half, n).Pad(-1, 0, n%2, 1))
	}
	return x.Reshape(shape...).node("prod")
}

// function makes a rule of a formula.
func function(f func(re, im Tensor) Tensor) complexRule {
	return func(op ir.Op, _ ir.Attr, z []operandParts) *ir.Node {
		return f(wrap(z[0].re), wrap(z[0].im)).node(op.String())
	}
}

func exp(re, im Tensor) Tensor {
	size := re.Exp()
	return Complex(size.Mul(im.Cos()), size.Mul(im.Sin()))
}

func log(re, im Tensor) Tensor { return Complex(re.Hypot(im).Log(), im.Atan2(re)) }

// sqrt is the root with a real part of 0 or more. Its larger part is computed first, which loses no digits.
func sqrt(re, im Tensor) Tensor {
	large := re.Hypot(im).Mul(0.5).Add(re.Abs().Mul(0.5)).Sqrt()
	zero := large.Eq(0)
	small := im.Mul(0.5).Div(Where(zero, 1, large))
	left, far := re.Lt(0), im.IsInf()
	y, x := Where(left, large.Copysign(im), Where(zero, im, small)), Where(left, small.Abs(), large)
	return Complex(Where(far, math.Inf(1), x), Where(far, im, y))
}

// powComplex is e to the power of y·ln x. 0 to the power of 0 is 1, to others 0, and NaN if their real part
// is not above 0.
func powComplex(_ ir.Op, _ ir.Attr, z []operandParts) *ir.Node {
	x, y := wrapParts(z[0]), wrapParts(z[1])
	zero := x.Eq(0)
	power := Where(zero, 1, x).Cast(dtype.ComplexOf(x.DType())).Log().Mul(y).Exp()
	of0 := Where(y.Real().Gt(0), 0, Where(y.Eq(0), 1, math.NaN()))
	return Where(zero, Complex(of0, of0.Sub(1).Mul(of0)), power).node("pow")
}

func wrapParts(z operandParts) Tensor {
	if z.im == nil {
		return wrap(z.re)
	}
	return wrap(ir.Pair(z.re, z.im))
}

// formatComplex writes complex numbers, all parts alike.
func formatComplex(re, im []float64) []string {
	format := formatOf(slices.Concat(re, im))
	list := make([]string, len(re))
	for i := range list {
		sign := "+"
		if math.Signbit(im[i]) && im[i] == im[i] {
			sign = "" // it is in the text
		}
		list[i] = fmt.Sprintf("%s%s%si", formatFloat(re[i], format), sign, formatFloat(im[i], format))
	}
	return list
}
