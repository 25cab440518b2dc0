package tensor

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An Operand is the other side of an operation: a Tensor or a Go number (a bool for logical operations). A
// number takes the tensor's dtype, but a Go float beside integers makes both f32, whatever its value: 2.0 is
// a float, 2 is not. An integer tensor's dtype must have the number. docs/dtypes.md has the rule.
type Operand = any

// spread is expand for elementwise ops, which take one number (shape []) beside any shape.
func spread(n *ir.Node, shape []int) *ir.Node {
	if len(n.Shape) == 0 {
		return n
	}
	return expand(n, shape)
}

// expand broadcasts a node; it is the node itself where nothing changes.
func expand(n *ir.Node, shape []int) *ir.Node {
	if slices.Equal(n.Shape, shape) {
		return n
	}
	return apply(ir.Expand, ir.Attr{Shape: shape}, n)
}

func cast(n *ir.Node, dt dtype.Type) *ir.Node {
	if n.DType == dt {
		return n
	}
	if n.Op == ir.Const && !dt.Complex() && n.Attr.Flags&ir.Varies == 0 {
		return ir.NewConst(n.Dev, dt, ir.Convert(n.Attr.Value, n.DType, dt))
	}
	return apply(ir.Cast, ir.Attr{DType: dt}, n)
}

// beneath is n in a dtype for an elementwise operation or a product; beside complex numbers real ones stay
// real, in the precision of the parts.
func beneath(n *ir.Node, dt dtype.Type) *ir.Node {
	if !n.DType.Complex() {
		dt = dt.Part()
	}
	return cast(n, dt)
}

// loosely is n in another dtype for a product, which may read n as it is where it is wider: the numbers of a
// weight in f32 need not be rounded beside an input of half precision.
func loosely(n *ir.Node, dt dtype.Type) *ir.Node {
	if n.DType == dt || n.Op == ir.Const {
		return cast(n, dt)
	}
	return apply(ir.Cast, ir.Attr{DType: dt, Flags: ir.Loose}, n)
}

// broadcast returns the shape that shapes have in common, as NumPy does.
func broadcast(op string, nodes ...*ir.Node) []int {
	shapes := make([][]int, len(nodes))
	for i, n := range nodes {
		shapes[i] = n.Shape
	}
	shape, ok := ir.Broadcast(shapes...)
	if !ok {
		fail(op, "got %v and %v, want shapes that broadcast (lengths equal or 1, aligned at the end)", nodes[0], nodes[1])
	}
	return shape
}

// operand makes a node of the other side of an operation on n.
func operand(op string, n *ir.Node, y Operand) *ir.Node {
	switch v := y.(type) {
	case Tensor:
		return v.node(op)
	case *Tensor:
		if v != nil {
			return v.node(op)
		}
	case bool:
		f := 0.0
		if v {
			f = 1
		}
		return ir.Number(n.Dev, dtype.Bool, f)
	}
	if z, ok := complexNumber(n, y); ok {
		return z
	}
	v, from, ok := number(y)
	if !ok {
		fail(op, "got an operand of type %T, want a Tensor or a number", y)
	}
	dt := n.DType.Part()
	switch {
	case dt.Float():
	case from == dtype.F64:
		dt = dtype.F32
	case dt == dtype.Bool:
		dt = dtype.I64
	}
	if dt.Int() {
		v = convert(op, y, dt, n)
	}
	return ir.NewConst(n.Dev, dt, v)
}

// pair brings two operands to one dtype and shape.
func pair(op string, t Tensor, y Operand) (a, b *ir.Node) {
	a = t.node(op)
	b = operand(op, a, y)
	dt := meet(op, a, b)
	if a.DType == b.DType && slices.Equal(a.Shape, b.Shape) {
		return a, b
	}
	shape := broadcast(op, a, b)
	return spread(beneath(a, dt), shape), spread(beneath(b, dt), shape)
}

// meet is the dtype in which an op computes with a and b, which their device must have.
func meet(op string, a, b *ir.Node) dtype.Type {
	if a.DType == b.DType {
		return a.DType
	}
	dt := dtype.Promote(a.DType, b.DType)
	if d, ok := a.Dev.(ir.LimitedDevice); ok {
		if err := d.Lacks(dt.Part()); err != nil {
			fail(op, "%v with %v: %v", a.DType, b.DType, err)
		}
	}
	return dt
}

func combine(op ir.Op, t Tensor, y Operand) Tensor {
	a, b := pair(op.String(), t, y)
	return wrap(apply(op, ir.Attr{}, a, b))
}

// comparison is combine for comparisons, which give bool in any dtype: so a whole Go float stays an integer
// beside integers, which f32 would round.
func comparison(op ir.Op, t Tensor, y Operand) Tensor {
	n := t.node(op.String())
	if v, from, ok := number(y); ok && from == dtype.F64 && n.DType.Int() && v.F == math.Trunc(v.F) && fits(v, from, n.DType) {
		y = wrap(ir.NewConst(n.Dev, n.DType, ir.Convert(v, from, n.DType)))
	}
	return combine(op, t, y)
}

// arithmetic is combine on numbers: booleans count as i64.
func arithmetic(op ir.Op, t Tensor, y Operand) Tensor {
	a, b := pair(op.String(), t, y)
	if a.DType == dtype.Bool {
		a, b = cast(a, dtype.I64), cast(b, dtype.I64)
	}
	return wrap(apply(op, ir.Attr{}, a, b))
}

// fraction is combine on floats: integers become f32.
func fraction(op ir.Op, t Tensor, y Operand) Tensor {
	a, b := pair(op.String(), t, y)
	return wrap(apply(op, ir.Attr{}, floats(a), floats(b)))
}

func unary(op ir.Op, t Tensor) Tensor {
	return wrap(apply(op, ir.Attr{}, t.node(op.String())))
}

// smooth is unary on floats: integers become f32.
func smooth(op ir.Op, t Tensor, attr ir.Attr) Tensor {
	return wrap(apply(op, attr, floats(t.node(op.String()))))
}

// Add returns x + y.
func (t Tensor) Add(y Operand) Tensor { return arithmetic(ir.Add, t, y) }

// Sub returns x − y.
func (t Tensor) Sub(y Operand) Tensor { return arithmetic(ir.Sub, t, y) }

// Mul returns x·y, element by element.
func (t Tensor) Mul(y Operand) Tensor { return arithmetic(ir.Mul, t, y) }

// Div returns x/y; integers become f32. [Tensor.FloorDiv] divides integers.
func (t Tensor) Div(y Operand) Tensor { return fraction(ir.Div, t, y) }

// FloorDiv returns x/y rounded down. The number 0 is refused beside integers; where a tensor of integers has
// a 0 the result is 0, as in NumPy.
func (t Tensor) FloorDiv(y Operand) Tensor {
	t.wantDivisor("floor_div", y)
	q := arithmetic(ir.Div, t, y)
	q.real("floor_div")
	if q.DType().Float() {
		q = q.Floor()
	}
	return q
}

// Mod returns the remainder with the sign of y, as NumPy does. Of integers by 0 it is as in
// [Tensor.FloorDiv].
func (t Tensor) Mod(y Operand) Tensor {
	t.wantDivisor("mod", y)
	return arithmetic(ir.Mod, t, y)
}

// wantDivisor refuses an integer 0 beside integers.
func (t Tensor) wantDivisor(op string, y Operand) {
	if v, dt, ok := number(y); ok && v.F == 0 && dt.Int() && !t.DType().Float() {
		fail(op, "got 0 beside %v, want another divisor of integers; 0.0 divides floats", t.node(op))
	}
}

// Pow returns x to the power of y. An integer below 0 is refused beside integers; where a tensor of integers
// has one the result is cut off to an integer. x.Pow(-1.0) is 1/x.
func (t Tensor) Pow(y Operand) Tensor {
	v, dt, ok := number(y)
	switch {
	case ok && v.F < 0 && dt.Int() && t.DType() < dtype.F16:
		fail("pow", "got %v beside %v, want an exponent of integers that is 0 or more; %v.0 gives floats", y, t.node("pow"), y)
	case ok && v.F == 2:
		a, _ := pair("pow", t, y)
		return wrap(a).Square() // also for its gradient
	}
	return arithmetic(ir.Pow, t, y)
}

// Maximum returns the larger of x and y; NaN if either is.
func (t Tensor) Maximum(y Operand) Tensor { return combine(ir.Max, t, y) }

// Minimum returns the smaller of x and y; NaN if either is.
func (t Tensor) Minimum(y Operand) Tensor { return combine(ir.Min, t, y) }

// Clip keeps x within low and high, which get no gradient. That of x is 1 from low to high, the ends too, and
// 0 outside.
func (t Tensor) Clip(low, high Operand) Tensor {
	return t.bounded(ir.Max, low).bounded(ir.Min, high)
}

// bounded is Maximum or Minimum with the whole gradient of a tie for t.
func (t Tensor) bounded(op ir.Op, by Operand) Tensor {
	a, b := pair(op.String(), t, by)
	return wrap(apply(op, ir.Attr{Flags: ir.Bound}, a, b))
}

// Atan2 returns the angle of the point (y, x) in radians, where x is the operand.
func (t Tensor) Atan2(x Operand) Tensor { return fraction(ir.Atan2, t, x) }

// Eq says where x = y. The results of comparisons are bool.
func (t Tensor) Eq(y Operand) Tensor { return comparison(ir.Eq, t, y) }

// Ne says where x ≠ y.
func (t Tensor) Ne(y Operand) Tensor { return comparison(ir.Ne, t, y) }

// Lt says where x < y.
func (t Tensor) Lt(y Operand) Tensor { return comparison(ir.Lt, t, y) }

// Le says where x ≤ y.
func (t Tensor) Le(y Operand) Tensor { return comparison(ir.Le, t, y) }

// Gt says where x > y.
func (t Tensor) Gt(y Operand) Tensor { return comparison(ir.Gt, t, y) }

// Ge says where x ≥ y.
func (t Tensor) Ge(y Operand) Tensor { return comparison(ir.Ge, t, y) }

// And joins booleans, or the bits of integers.
func (t Tensor) And(y Operand) Tensor { return combine(ir.And, t, y) }

// Or joins booleans, or the bits of integers.
func (t Tensor) Or(y Operand) Tensor { return combine(ir.Or, t, y) }

// Xor joins booleans, or the bits of integers.
func (t Tensor) Xor(y Operand) Tensor { return combine(ir.Xor, t, y) }

// Not negates booleans, or the bits of integers.
func (t Tensor) Not() Tensor { return unary(ir.Not, t) }

// IsNaN says where x is not a number.
func (t Tensor) IsNaN() Tensor { return smooth(ir.IsNaN, t, ir.Attr{}) }

// Neg returns −x.
func (t Tensor) Neg() Tensor { return unary(ir.Neg, t) }

// Abs returns |x|.
func (t Tensor) Abs() Tensor { return unary(ir.Abs, t) }

// Sign returns −1, 0 or 1.
func (t Tensor) Sign() Tensor { return unary(ir.Sign, t) }

// Floor rounds down.
func (t Tensor) Floor() Tensor { return unary(ir.Floor, t) }

// Ceil rounds up.
func (t Tensor) Ceil() Tensor { return unary(ir.Ceil, t) }

// Round rounds to the nearest integer, halves to even.
func (t Tensor) Round() Tensor { return unary(ir.Round, t) }

// Exp returns eˣ.
func (t Tensor) Exp() Tensor { return smooth(ir.Exp, t, ir.Attr{}) }

// Expm1 returns eˣ − 1, exact for small x.
func (t Tensor) Expm1() Tensor { return smooth(ir.Expm1, t, ir.Attr{}) }

// Log returns the natural logarithm.
func (t Tensor) Log() Tensor { return smooth(ir.Log, t, ir.Attr{}) }

// Log1p returns log(1 + x), exact for small x.
func (t Tensor) Log1p() Tensor { return smooth(ir.Log1p, t, ir.Attr{}) }

// Sqrt returns √x.
func (t Tensor) Sqrt() Tensor { return smooth(ir.Sqrt, t, ir.Attr{}) }

// Rsqrt returns 1/√x.
func (t Tensor) Rsqrt() Tensor { return smooth(ir.Rsqrt, t, ir.Attr{}) }

// Recip returns 1/x.
func (t Tensor) Recip() Tensor { return smooth(ir.Recip, t, ir.Attr{}) }

// Sin of radians.
func (t Tensor) Sin() Tensor { return smooth(ir.Sin, t, ir.Attr{}) }

// Cos of radians.
func (t Tensor) Cos() Tensor { return smooth(ir.Cos, t, ir.Attr{}) }

// Tanh is the hyperbolic tangent.
func (t Tensor) Tanh() Tensor { return smooth(ir.Tanh, t, ir.Attr{}) }

// Erf is the error function.
func (t Tensor) Erf() Tensor { return smooth(ir.Erf, t, ir.Attr{}) }

// Sigmoid is 1/(1 + e⁻ˣ).
func (t Tensor) Sigmoid() Tensor { return smooth(ir.Sigmoid, t, ir.Attr{}) }

// Silu is x·sigmoid(x).
func (t Tensor) Silu() Tensor { return smooth(ir.Silu, t, ir.Attr{}) }

// Gelu is x·Φ(x), Φ the normal distribution function.
func (t Tensor) Gelu() Tensor { return smooth(ir.Gelu, t, ir.Attr{}) }

// GeluTanh is Gelu's usual approximation by tanh.
func (t Tensor) GeluTanh() Tensor { return smooth(ir.Gelu, t, ir.Attr{Flags: ir.TanhApprox}) }

// Relu is max(x, 0); its gradient at 0 is 0, as everywhere else in the field.
func (t Tensor) Relu() Tensor { return Where(t.Le(0), 0, t) }

// Square is x².
func (t Tensor) Square() Tensor { return t.Mul(t) }

// Cast converts the elements to another dtype.
func (t Tensor) Cast(dt dtype.Type) Tensor { return wrap(cast(t.node("cast"), dt)) }

// Where takes a's element where the condition (bool) is true and b's elsewhere; a and b may be numbers: i64
// if both are integers, f32 if one is a Go float.
func Where(condition Tensor, a, b Operand) Tensor {
	c := condition.node("where")
	like := c
	for _, o := range []Operand{b, a} {
		if t, ok := o.(Tensor); ok {
			like = t.node("where")
		}
	}
	x, y := operand("where", like, a), operand("where", like, b)
	dt := meet("where", x, y)
	shape := broadcast("where", c, x, y)
	return wrap(apply(ir.Where, ir.Attr{}, spread(c, shape), spread(cast(x, dt), shape), spread(cast(y, dt), shape)))
}
