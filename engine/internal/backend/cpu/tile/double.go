package tile

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// doubleFuncs are the functions of float64 that exist in package math, or are composed of its functions.
var doubleFuncs = map[ir.Op]func(float64) float64{
	ir.Neg: func(x float64) float64 { return -x }, ir.Abs: math.Abs, ir.Sign: signFloat,
	ir.Floor: math.Floor, ir.Ceil: math.Ceil, ir.Round: math.RoundToEven,
	ir.Exp: math.Exp, ir.Expm1: math.Expm1, ir.Log: math.Log, ir.Log1p: math.Log1p, ir.Sqrt: math.Sqrt,
	ir.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) },
	ir.Recip: func(x float64) float64 { return 1 / x },
	ir.Sin:   math.Sin, ir.Cos: math.Cos, ir.Tanh: math.Tanh, ir.Erf: math.Erf,
	ir.Sigmoid: sigmoid,
	ir.Silu:    func(x float64) float64 { return x * sigmoid(x) },
	ir.Gelu:    func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) },
}

// doublePairs are those of two numbers.
var doublePairs = map[ir.Op]func(a, b float64) float64{
	ir.Div: func(a, b float64) float64 { return a / b },
	ir.Mod: modFloat, ir.Pow: math.Pow, ir.Atan2: math.Atan2,
}

// modFloat returns the remainder with the sign of the divisor, as NumPy does.
func modFloat(a, b float64) float64 {
	m := math.Mod(a, b)
	switch {
	case m == 0:
		return math.Copysign(0, b)
	case (m < 0) != (b < 0):
		m += b
	}
	return m
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// signFloat returns the sign of x; zeros and NaN are returned unchanged.
func signFloat(x float64) float64 {
	if x == 0 || x != x {
		return x
	}
	return math.Copysign(1, x)
}

var doubleNumbers = numberFuncs[float64]()

// doubleFunc returns the function of an op on F64, or nil.
func doubleFunc(op ir.Op, attr ir.Attr) vec.Func {
	if f := doubleFuncs[op]; f != nil {
		if op == ir.Gelu && attr.Flags&ir.TanhApprox != 0 {
			f = geluTanh
		}
		return unary(f)
	}
	if f := doublePairs[op]; f != nil {
		return binary(f)
	}
	if op == ir.IsNaN {
		return unary(func(x float64) bool { return x != x })
	}
	return doubleNumbers[op]
}
