package tile

import (
	"maps"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// floatFuncs are the functions of float32 registers that package vec has.
var floatFuncs = map[ir.Op]vec.ID{
	ir.Neg: vec.Neg, ir.Abs: vec.Abs, ir.Sign: vec.Sign, ir.Floor: vec.Floor, ir.Ceil: vec.Ceil, ir.Round: vec.Round,
	ir.Exp: vec.Exp, ir.Expm1: vec.Expm1, ir.Log: vec.Log, ir.Log1p: vec.Log1p, ir.Sqrt: vec.Sqrt, ir.Rsqrt: vec.Rsqrt,
	ir.Recip: vec.Recip, ir.Sin: vec.Sin, ir.Cos: vec.Cos, ir.Tanh: vec.Tanh, ir.Erf: vec.Erf,
	ir.Sigmoid: vec.Sigmoid, ir.Silu: vec.Silu, ir.Gelu: vec.Gelu, ir.IsNaN: vec.IsNaN,
	ir.Add: vec.Add, ir.Sub: vec.Sub, ir.Mul: vec.Mul, ir.Div: vec.Div, ir.Pow: vec.Pow, ir.Max: vec.Max, ir.Min: vec.Min,
	ir.Eq: vec.Eq, ir.Ne: vec.Ne, ir.Lt: vec.Lt, ir.Le: vec.Le, ir.Gt: vec.Gt, ir.Ge: vec.Ge, ir.Where: vec.Where,
}

// funcOf returns the function of an elementwise op whose last operand has dtype arg and whose result has
// dtype result; nil if it does not exist.
func funcOf(op ir.Op, attr ir.Attr, arg, result dtype.Type) vec.Func {
	switch op {
	case ir.Cast:
		return castFunc(arg, result)
	case ir.Bitcast:
		return bitcastFunc(arg, result)
	}
	switch Register(arg) {
	case dtype.F32:
		return floatFunc(op, attr)
	case dtype.F64:
		return doubleFunc(op, attr)
	case dtype.Bool:
		return boolFunc(op)
	}
	return integers[arg].functions[op]
}

// Integer are the Go types of the integer dtypes.
type Integer interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64
}

// Number are the Go types of registers. Bool has uint8; F16 and BF16 have float32.
type Number interface{ Integer | float32 | float64 }

// integers are the functions of registers of integers and Bool.
var integers = [...]integerFuncs{
	dtype.Bool: integersOf[uint8](dtype.Bool),
	dtype.U8:   integersOf[uint8](dtype.U8), dtype.I8: integersOf[int8](dtype.I8),
	dtype.U16: integersOf[uint16](dtype.U16), dtype.I16: integersOf[int16](dtype.I16),
	dtype.U32: integersOf[uint32](dtype.U32), dtype.I32: integersOf[int32](dtype.I32),
	dtype.U64: integersOf[uint64](dtype.U64), dtype.I64: integersOf[int64](dtype.I64),
}

// integerFuncs are the functions of one integer type.
type integerFuncs struct {
	functions      map[ir.Op]vec.Func
	cast           func(to dtype.Type) vec.Func
	from32, from64 vec.Func // casts to it
}

func integersOf[T Integer](t dtype.Type) integerFuncs {
	return integerFuncs{intFuncs[T](), castInteger[T], truncate[float32, T](t), truncate[float64, T](t)}
}

// floatFunc returns the function of an op on F32, or nil. One that package vec does not have is that of F64,
// rounded.
func floatFunc(op ir.Op, attr ir.Attr) vec.Func {
	if op == ir.Gelu && attr.Flags&ir.TanhApprox != 0 {
		return vec.Of(vec.GeluTanh)
	}
	if id, ok := floatFuncs[op]; ok {
		return vec.Of(id)
	}
	if f := doubleFuncs[op]; f != nil {
		return unary(func(x float32) float32 { return float32(f(float64(x))) })
	}
	if f := doublePairs[op]; f != nil {
		return binary(func(a, b float32) float32 { return float32(f(float64(a), float64(b))) })
	}
	return nil
}

// intFuncs are the functions of ops on integers. Arithmetic wraps around.
func intFuncs[T Integer]() map[ir.Op]vec.Func {
	funcs, same := numberFuncs[T](), copyFunc(int(unsafe.Sizeof(T(0))))
	maps.Copy(funcs, map[ir.Op]vec.Func{
		ir.Neg: unary(func(a T) T { return -a }), ir.Abs: unary(absInt[T]), ir.Sign: unary(signInt[T]), ir.Not: unary(func(a T) T { return ^a }),
		ir.Floor: same, ir.Ceil: same, ir.Round: same, ir.Div: binary(divInt[T]), ir.Mod: binary(modInt[T]), ir.Pow: binary(powInt[T]),
		ir.And: andInts[T], ir.Or: orInts[T], ir.Xor: binary(func(a, b T) T { return a ^ b }), ir.Shl: binary(shiftUp[T]), ir.Shr: binary(shiftDown[T]),
	})
	return funcs
}

// numberFuncs are the functions of ops that are the same for integers and float64.
func numberFuncs[T Number]() map[ir.Op]vec.Func {
	return map[ir.Op]vec.Func{
		ir.Add: addNumbers[T], ir.Sub: subNumbers[T], ir.Mul: mulNumbers[T], ir.Where: where[T],
		ir.Max: binary(func(a, b T) T { return max(a, b) }), ir.Min: binary(func(a, b T) T { return min(a, b) }),
		ir.Eq: equalNumbers[T], ir.Ne: binary(func(a, b T) bool { return a != b }),
		ir.Lt: lessNumbers[T], ir.Le: binary(func(a, b T) bool { return a <= b }),
		ir.Gt: binary(func(a, b T) bool { return a > b }), ir.Ge: binary(func(a, b T) bool { return a >= b }),
	}
}

// boolFunc returns the function of an op on Bool, whose registers hold 0 or 1.
func boolFunc(op ir.Op) vec.Func {
	switch op {
	case ir.Not:
		return unary(func(a uint8) uint8 { return a ^ 1 })
	case ir.Add:
		return integers[dtype.Bool].functions[ir.Or]
	case ir.Mul:
		return integers[dtype.Bool].functions[ir.And]
	case ir.And, ir.Or, ir.Xor, ir.Max, ir.Min, ir.Where, ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return integers[dtype.Bool].functions[op]
	}
	return nil
}

func absInt[T Integer](a T) T {
	if a < 0 {
		return -a
	}
	return a
}

func signInt[T Integer](a T) T {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return ^T(0) // -1
	}
	return 0
}

// divInt rounds down, as NumPy's floor_divide. Division by zero gives 0.
func divInt[T Integer](a, b T) T {
	if b == 0 {
		return 0
	}
	q := a / b
	if r := a % b; r != 0 && (r < 0) != (b < 0) {
		q--
	}
	return q
}

// modInt returns the remainder with the sign of the divisor. The remainder by zero is 0.
func modInt[T Integer](a, b T) T {
	if b == 0 {
		return 0
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// powInt wraps around. A negative exponent gives the exact value, truncated: 1 and -1 stay, other bases
// give 0.
func powInt[T Integer](a, b T) T {
	if b < 0 {
		switch {
		case a == 1:
			return 1
		case a+1 == 0:
			if b&1 == 0 {
				return 1
			}
			return a
		}
		return 0
	}
	p := T(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			p *= a
		}
		a *= a
	}
	return p
}

func unary[A, D any](f func(A) D) vec.Func {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		out := unsafe.Slice((*D)(d), n)
		for i, x := range unsafe.Slice((*A)(a), n) {
			out[i] = f(x)
		}
	}
}

func binary[A, D any](f func(a, b A) D) vec.Func {
	return func(d, a, b, _ unsafe.Pointer, n int) {
		out, y := unsafe.Slice((*D)(d), n), unsafe.Slice((*A)(b), n)
		for i, x := range unsafe.Slice((*A)(a), n) {
			out[i] = f(x, y[i])
		}
	}
}

// The most frequent functions are written as loops, because a call for each element would cost several
// times their work.

func addNumbers[T Number](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x + y[i]
	}
}

func subNumbers[T Number](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x - y[i]
	}
}

func mulNumbers[T Number](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x * y[i]
	}
}

func andInts[T Integer](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x & y[i]
	}
}

func orInts[T Integer](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x | y[i]
	}
}

func equalNumbers[T Number](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*bool)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x == y[i]
	}
}

func lessNumbers[T Number](d, a, b, _ unsafe.Pointer, n int) {
	out, y := unsafe.Slice((*bool)(d), n), unsafe.Slice((*T)(b), n)
	for i, x := range unsafe.Slice((*T)(a), n) {
		out[i] = x < y[i]
	}
}

func where[T any](d, a, b, c unsafe.Pointer, n int) {
	out, y, z := unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(b), n), unsafe.Slice((*T)(c), n)
	for i, cond := range unsafe.Slice((*uint8)(a), n) {
		if cond != 0 {
			out[i] = y[i]
		} else {
			out[i] = z[i]
		}
	}
}

func copyFunc(size int) vec.Func {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		copy(unsafe.Slice((*byte)(d), n*size), unsafe.Slice((*byte)(a), n*size))
	}
}
