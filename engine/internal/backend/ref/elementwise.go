package ref

import (
	"cmp"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() {
	for op, f := range floatUnary {
		ops[op] = numeric(f, nil)
	}
	ops[ir.Gelu] = one(func(in *backend.Inst, a []value) value {
		if in.Attr.Flags&ir.TanhApprox != 0 {
			return mapped(in, a[0], geluTanh, nil)
		}
		return mapped(in, a[0], gelu, nil)
	})
	ops[ir.Cast] = one(func(in *backend.Inst, a []value) value { return cast(in, a[0]) })
	ops[ir.Neg] = numeric(func(x float64) float64 { return -x }, func(x int64) int64 { return -x })
	ops[ir.Abs] = signed(math.Abs, func(x int64) int64 { return max(x, -x) }, identity)
	ops[ir.Sign] = signed(sign, func(x int64) int64 { return boolean(x > 0) - boolean(x < 0) },
		func(x int64) int64 { return boolean(x != 0) })
	ops[ir.Floor] = numeric(math.Floor, identity)
	ops[ir.Ceil] = numeric(math.Ceil, identity)
	ops[ir.Round] = numeric(math.RoundToEven, identity)
	ops[ir.Not] = one(func(in *backend.Inst, a []value) value {
		return mapped(in, a[0], nil, func(x int64) int64 {
			if in.DType == dtype.Bool {
				return 1 - x
			}
			return ^x
		})
	})
	ops[ir.IsNaN] = one(func(in *backend.Inst, a []value) value {
		r := newValue(dtype.Bool, in.Shape)
		x := expand(a[0], in.Shape)
		for i := range r.i {
			r.i[i] = boolean(math.IsNaN(x.at(i)))
		}
		return r
	})
	for op, b := range arithmetic {
		ops[op] = one(func(in *backend.Inst, a []value) value { return zip(in, a[0], a[1], b.f, b.of(in.DType)) })
	}
	for op, c := range comparison {
		ops[op] = one(func(in *backend.Inst, a []value) value { return compare(in, a[0], a[1], c) })
	}
	ops[ir.Where] = one(where)
}

func identity(x int64) int64 { return x }

// floatUnary holds the ops that are defined on floating-point types only.
var floatUnary = map[ir.Op]func(float64) float64{
	ir.Exp: math.Exp, ir.Expm1: math.Expm1, ir.Log: math.Log, ir.Log1p: math.Log1p, ir.Sqrt: math.Sqrt,
	ir.Rsqrt:   func(x float64) float64 { return 1 / math.Sqrt(x) },
	ir.Recip:   func(x float64) float64 { return 1 / x },
	ir.Sin:     math.Sin,
	ir.Cos:     math.Cos,
	ir.Tanh:    math.Tanh,
	ir.Erf:     math.Erf,
	ir.Sigmoid: sigmoid,
	ir.Silu:    func(x float64) float64 { return x * sigmoid(x) },
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func gelu(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) }

func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, -0, NaN
}

// mapped applies f to each float, or i to each integer.
func mapped(in *backend.Inst, x value, f func(float64) float64, i func(int64) int64) value {
	r := newValue(in.DType, in.Shape)
	x = expand(x, in.Shape)
	for n := range r.f {
		r.f[n] = f(x.f[n])
	}
	for n := range r.i {
		r.i[n] = i(x.i[n])
	}
	return r
}

// numeric makes an op of one operand from its meaning on floats and on integers.
func numeric(f func(float64) float64, i func(int64) int64) func(*backend.Inst, []value) []value {
	return signed(f, i, i)
}

// signed is numeric for an op that means something else on integers without a sign.
func signed(f func(float64) float64, i, u func(int64) int64) func(*backend.Inst, []value) []value {
	return one(func(in *backend.Inst, a []value) value {
		if in.DType.Signed() {
			return mapped(in, a[0], f, i)
		}
		return mapped(in, a[0], f, u)
	})
}

// cast rounds to the type at once. From float to integer it truncates towards zero and saturates; NaN becomes
// 0.
func cast(in *backend.Inst, x value) value {
	x = expand(x, in.Shape)
	r := newValue(in.DType, in.Shape)
	for i := range x.len() {
		r.put(i, ir.Convert(x.get(i), x.dtype, in.DType))
	}
	return r
}

// An arith is an op on floats, on integers, and on those of U64 where it makes a difference that they have no
// sign.
type arith struct {
	f func(x, y float64) float64
	i func(x, y int64) int64
	u func(x, y uint64) uint64
}

// arithmetic holds the ops of two operands whose result has the operands' type. Bool uses the integer form,
// whose result is brought back to 0 or 1: Add is or, Mul is and.
var arithmetic = map[ir.Op]arith{
	ir.Add:   {f: plus[float64], i: plus[int64]},
	ir.Sub:   {f: func(x, y float64) float64 { return x - y }, i: func(x, y int64) int64 { return x - y }},
	ir.Mul:   {f: func(x, y float64) float64 { return x * y }, i: func(x, y int64) int64 { return x * y }},
	ir.Div:   {func(x, y float64) float64 { return x / y }, floorDiv, divUnsigned},
	ir.Mod:   {floatMod, intMod, modUnsigned},
	ir.Pow:   {math.Pow, intPow, powUnsigned},
	ir.Max:   {larger[float64], larger[int64], larger[uint64]},
	ir.Min:   {smaller[float64], smaller[int64], smaller[uint64]},
	ir.Atan2: {f: math.Atan2},
	ir.And:   {i: func(x, y int64) int64 { return x & y }},
	ir.Or:    {i: func(x, y int64) int64 { return x | y }},
	ir.Xor:   {i: func(x, y int64) int64 { return x ^ y }},
	ir.Shl:   {i: shiftUp},
	ir.Shr:   {i: shiftDown, u: func(x, y uint64) uint64 { return x >> y }},
}

// of returns the meaning on integers of that type.
func (a arith) of(dt dtype.Type) func(x, y int64) int64 {
	if dt != dtype.U64 || a.u == nil {
		return a.i
	}
	return func(x, y int64) int64 { return int64(a.u(uint64(x), uint64(y))) }
}

func plus[T cmp.Ordered](x, y T) T { return x + y }

// larger and smaller are NumPy's maximum and minimum: a NaN on either side wins.
func larger[T cmp.Ordered](x, y T) T  { return max(x, y) }
func smaller[T cmp.Ordered](x, y T) T { return min(x, y) }

func divUnsigned(x, y uint64) uint64 {
	if y == 0 {
		return 0
	}
	return x / y
}

func modUnsigned(x, y uint64) uint64 {
	if y == 0 {
		return 0
	}
	return x % y
}

// floorDiv rounds towards minus infinity; x/0 is 0, as NumPy has it.
func floorDiv(x, y int64) int64 {
	switch {
	case y == 0:
		return 0
	case y == -1:
		return -x // also for the least integer, which wraps
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// intMod has the sign of the divisor; x mod 0 is 0.
func intMod(x, y int64) int64 {
	if y == 0 || y == -1 {
		return 0
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}

// floatMod has the sign of the divisor, as NumPy's remainder and Python's % have it.
func floatMod(x, y float64) float64 {
	r := math.Mod(x, y)
	switch {
	case r == 0:
		return math.Copysign(0, y)
	case (r < 0) != (y < 0):
		return r + y
	}
	return r
}

// intPow wraps; a negative exponent gives the true result truncated: 1 for 1, ±1 for -1, else 0.
func intPow(x, y int64) int64 {
	if y < 0 {
		switch {
		case x == 1 || x == -1 && y%2 == 0:
			return 1
		case x == -1:
			return -1
		}
		return 0
	}
	return int64(powUnsigned(uint64(x), uint64(y)))
}

func powUnsigned(x, y uint64) uint64 {
	r := uint64(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			r *= x
		}
		x *= x
	}
	return r
}

func zip(in *backend.Inst, x, y value, f func(x, y float64) float64, g func(x, y int64) int64) value {
	r := newValue(in.DType, in.Shape)
	x, y = expand(x, in.Shape), expand(y, in.Shape)
	for i := range r.f {
		r.f[i] = f(x.f[i], y.f[i])
	}
	for i := range r.i {
		r.i[i] = g(x.i[i], y.i[i])
	}
	return r
}

// ordered maps the bits of an integer to one with a sign that orders as it does.
func ordered(dt dtype.Type, i int64) int64 {
	if dt == dtype.U64 {
		return i ^ math.MinInt64
	}
	return i
}

// comparison says for which orders of the operands an op is true. A NaN is unordered: only Ne is true.
var comparison = map[ir.Op]struct{ less, equal, greater, unordered bool }{
	ir.Eq: {equal: true},
	ir.Ne: {less: true, greater: true, unordered: true},
	ir.Lt: {less: true},
	ir.Le: {less: true, equal: true},
	ir.Gt: {greater: true},
	ir.Ge: {equal: true, greater: true},
}

func compare(in *backend.Inst, x, y value, c struct{ less, equal, greater, unordered bool }) value {
	r := newValue(dtype.Bool, in.Shape)
	x, y = expand(x, in.Shape), expand(y, in.Shape)
	for i := range r.i {
		var less, equal, greater bool
		if x.f != nil {
			less, equal, greater = x.f[i] < y.f[i], x.f[i] == y.f[i], x.f[i] > y.f[i]
		} else {
			p, q := ordered(x.dtype, x.i[i]), ordered(x.dtype, y.i[i])
			less, equal, greater = p < q, p == q, p > q
		}
		unordered := !less && !equal && !greater
		r.i[i] = boolean(less && c.less || equal && c.equal || greater && c.greater || unordered && c.unordered)
	}
	return r
}

func where(in *backend.Inst, a []value) value {
	r := newValue(in.DType, in.Shape)
	cond, x, y := expand(a[0], in.Shape), expand(a[1], in.Shape), expand(a[2], in.Shape)
	for i := range cond.i {
		from := y
		if cond.i[i] != 0 {
			from = x
		}
		copyElement(r, i, from, i)
	}
	return r
}
