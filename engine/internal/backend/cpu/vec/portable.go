package vec

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// portable holds each Func in plain Go. It computes in float64 where float32 would lose digits.
var portable = [NumIDs]Func{
	Neg:     unary(func(x float32) float32 { return -x }),
	Abs:     unary(func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }),
	Sign:    unary(sign),
	Floor:   wide(math.Floor),
	Ceil:    wide(math.Ceil),
	Round:   wide(math.RoundToEven),
	Exp:     wide(math.Exp),
	Expm1:   wide(math.Expm1),
	Log:     wide(math.Log),
	Log1p:   wide(math.Log1p),
	Sqrt:    wide(math.Sqrt),
	Rsqrt:   wide(func(x float64) float64 { return 1 / math.Sqrt(x) }),
	Recip:   unary(func(x float32) float32 { return 1 / x }),
	Sin:     wide(math.Sin),
	Cos:     wide(math.Cos),
	Tanh:    wide(math.Tanh),
	Erf:     wide(math.Erf),
	Sigmoid: wide(sigmoid),
	Silu:    wide(func(x float64) float64 { return x * sigmoid(x) }),
	Gelu:    wide(gelu),
	GeluTanh: wide(func(x float64) float64 {
		return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))
	}),
	Add:       addGo[float32],
	Sub:       binary(func(a, b float32) float32 { return a - b }),
	Mul:       binary(func(a, b float32) float32 { return a * b }),
	Div:       binary(func(a, b float32) float32 { return a / b }),
	Max:       binary(func(a, b float32) float32 { return max(a, b) }),
	Min:       binary(func(a, b float32) float32 { return min(a, b) }),
	Pow:       pow,
	FMA:       fma,
	Eq:        compare(func(a, b float32) bool { return a == b }),
	Ne:        compare(func(a, b float32) bool { return a != b }),
	Lt:        compare(func(a, b float32) bool { return a < b }),
	Le:        compare(func(a, b float32) bool { return a <= b }),
	Gt:        compare(func(a, b float32) bool { return a > b }),
	Ge:        compare(func(a, b float32) bool { return a >= b }),
	IsNaN:     convert(func(a float32) uint8 { return bit(a != a) }),
	Where:     where,
	FromF16:   convert(dtype.F16ToFloat32),
	FromBF16:  convert(dtype.BF16ToFloat32),
	FromI32:   convert(func(x int32) float32 { return float32(x) }),
	FromU8:    convert(func(x uint8) float32 { return float32(x) }),
	ToF16:     convert(dtype.Float32ToF16),
	ToBF16:    convert(dtype.Float32ToBF16),
	ToI32:     convert(toI32),
	ToBool:    convert(func(x float32) uint8 { return bit(x != 0) }),
	RoundF16:  unary(func(x float32) float32 { return dtype.F16ToFloat32(dtype.Float32ToF16(x)) }),
	RoundBF16: unary(func(x float32) float32 { return dtype.BF16ToFloat32(dtype.Float32ToBF16(x)) }),
}

func unary(f func(float32) float32) Func { return convert(f) }

func wide(f func(float64) float64) Func {
	return convert(func(x float32) float32 { return float32(f(float64(x))) })
}

func convert[A, D any](f func(A) D) Func {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		out := slice[D](d, n)
		for i, x := range slice[A](a, n) {
			out[i] = f(x)
		}
	}
}

func binary(f func(a, b float32) float32) Func {
	return func(d, a, b, _ unsafe.Pointer, n int) {
		out, y := slice[float32](d, n), slice[float32](b, n)
		for i, x := range slice[float32](a, n) {
			out[i] = f(x, y[i])
		}
	}
}

func addGo[T Float](d, a, b, _ unsafe.Pointer, n int) {
	out, y := slice[T](d, n), slice[T](b, n)
	for i, x := range slice[T](a, n) {
		out[i] = x + y[i]
	}
}

// pow multiplies if all elements have the same small integer exponent, as most powers have. It reads the
// exponent once, before it writes, because d may be b.
func pow(d, a, b, _ unsafe.Pointer, n int) {
	out, y := slice[float32](d, n), slice[float32](b, n)
	if n > 0 && constant(y) && y[0] == float32(int(y[0])) && y[0] >= -16 && y[0] <= 16 {
		exponent := int(y[0])
		for i, x := range slice[float32](a, n) {
			out[i] = float32(powInt(float64(x), exponent))
		}
		return
	}
	for i, x := range slice[float32](a, n) {
		out[i] = float32(power(float64(x), float64(y[i])))
	}
}

// power returns xʸ for numbers that were float32. If both are ordinary, a float64 logarithm and exponential
// have enough digits, in an eighth of the time of math.Pow.
func power(x, y float64) float64 {
	if x > 0 && x <= math.MaxFloat32 && y >= -math.MaxFloat32 && y <= math.MaxFloat32 {
		return math.Exp(y * math.Log(x))
	}
	return math.Pow(x, y)
}

// powInt returns xⁿ for small n. An intermediate product leaves the range of float64 only if the result
// leaves the range of float32.
func powInt(x float64, n int) float64 {
	if n < 0 {
		return 1 / powInt(x, -n)
	}
	p := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= x
		}
		x *= x
	}
	return p
}

func constant(x []float32) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

func compare(f func(a, b float32) bool) Func {
	return func(d, a, b, _ unsafe.Pointer, n int) {
		out, y := slice[uint8](d, n), slice[float32](b, n)
		for i, x := range slice[float32](a, n) {
			out[i] = bit(f(x, y[i]))
		}
	}
}

func fma(d, a, b, c unsafe.Pointer, n int) {
	out, y, z := slice[float32](d, n), slice[float32](b, n), slice[float32](c, n)
	for i, x := range slice[float32](a, n) {
		out[i] = float32(float64(x)*float64(y[i]) + float64(z[i]))
	}
}

func where(d, a, b, c unsafe.Pointer, n int) {
	out, y, z := slice[float32](d, n), slice[float32](b, n), slice[float32](c, n)
	for i, cond := range slice[uint8](a, n) {
		if cond != 0 {
			out[i] = y[i]
		} else {
			out[i] = z[i]
		}
	}
}

func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func sigmoid(x float64) float64 {
	e := math.Exp(-math.Abs(x))
	if x >= 0 {
		return 1 / (1 + e)
	}
	return e / (1 + e)
}

func gelu(x float64) float64 {
	return x * 0.5 * math.Erfc(-x/math.Sqrt2)
}

func toI32(x float32) int32 {
	if x >= -1<<31 && x < 1<<31 {
		return int32(x)
	}
	return math.MinInt32
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
