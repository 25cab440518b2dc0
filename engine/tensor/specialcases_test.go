package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A sampled set of operands. All samples are exact in every floating-point dtype.
type operands []float64

var (
	nan    = math.NaN()
	inf    = math.Inf(1)
	minus0 = math.Copysign(0, -1)

	isNaN    = operands{nan}
	minusNaN = operands{math.Copysign(nan, -1)}
	plusInf  = operands{inf}
	minusInf = operands{-inf}
	anInf    = operands{inf, -inf}
	plusZero = operands{0}
	negZero  = operands{minus0}
	aZero    = operands{0, minus0}
	positive = operands{0.5, 1, 1.5, 2, 3, 100, 65280, 0x1p-14}
	negative = operands{-0.5, -1, -1.5, -2, -3, -100, -65280, -0x1p-14}
	finite   = join(positive, negative, aZero)
	nonzero  = join(positive, negative)
	above0   = join(positive, plusInf)
	below0   = join(negative, minusInf)
	anything = join(finite, anInf, isNaN)
	numeric  = join(finite, anInf)
	wholes   = operands{1, -1, 2, -2, 3, 100, -100, 32768}
	odd      = operands{1, 3, 5, 101}
	notOdd   = operands{2, 4, 100, 65280, 0.5, 1.5, inf}
	wide     = operands{1.5, -1.5, 2, -3, 65280, inf, -inf} // |x| > 1
	narrow   = operands{0.5, -0.5, 0x1p-14, 0, minus0}      // |x| < 1
	unit     = operands{1, -1}
)

func join(sets ...operands) (all operands) {
	for _, s := range sets {
		all = append(all, s...)
	}
	return all
}

func negated(set operands) operands {
	r := make(operands, len(set))
	for i, v := range set {
		r[i] = -v
	}
	return r
}

// A wanted result of x and y. NaN stands for any NaN; the sign of a zero counts.
type wanted func(x, y float64) float64

func value(v float64) wanted     { return func(_, _ float64) float64 { return v } }
func first(x, _ float64) float64 { return x }
func other(_, y float64) float64 { return y }

// signed has the magnitude v and the sign of x·y.
func signed(v float64) wanted {
	return func(x, y float64) float64 { return math.Copysign(v, math.Copysign(1, x)*math.Copysign(1, y)) }
}

// A specialCase is a rule of the array API standard: what a function gives for operands of two sets (y is nil
// for a function of one operand).
type specialCase struct {
	x, y operands
	want wanted
}

// A specialFunction is a function of the standard that the engine has, and all rules that the standard
// (2025.12, real operands) gives for its special values.
type specialFunction struct {
	name  string
	f     func(x tensor.Tensor, y tensor.Operand) tensor.Tensor
	cases []specialCase
}

func one(f func(tensor.Tensor) tensor.Tensor) func(tensor.Tensor, tensor.Operand) tensor.Tensor {
	return func(x tensor.Tensor, _ tensor.Operand) tensor.Tensor { return f(x) }
}

// Of the 470 rules of the standard (2025.12, elementwise functions) these are all for real numbers but four
// of clip, of which three leave the behaviour open and one is for no bounds. The other 158 are for complex
// numbers; TestComplexPeers has those that the engine keeps. A rule for two operands that may change places
// is two here.
var specialFunctions = []specialFunction{
	{"acos", one(tensor.Tensor.Acos), []specialCase{
		{isNaN, nil, value(nan)}, {operands{1.5, 2, 65280, inf}, nil, value(nan)},
		{operands{-1.5, -2, -65280, -inf}, nil, value(nan)}, {operands{1}, nil, value(0)},
	}},
	{"acosh", one(tensor.Tensor.Acosh), []specialCase{
		{isNaN, nil, value(nan)}, {join(negative, minusInf, aZero, operands{0.5}), nil, value(nan)},
		{operands{1}, nil, value(0)}, {plusInf, nil, value(inf)},
	}},
	{"asin", one(tensor.Tensor.Asin), []specialCase{
		{isNaN, nil, value(nan)}, {operands{1.5, 2, 65280, inf}, nil, value(nan)},
		{operands{-1.5, -2, -65280, -inf}, nil, value(nan)}, {plusZero, nil, first}, {negZero, nil, first},
	}},
	{"asinh", one(tensor.Tensor.Asinh), odds(inf)},
	{"atan", one(tensor.Tensor.Atan), odds(math.Pi / 2)},
	{"atanh", one(tensor.Tensor.Atanh), []specialCase{
		{isNaN, nil, value(nan)}, {operands{-1.5, -2, -65280, -inf}, nil, value(nan)},
		{operands{1.5, 2, 65280, inf}, nil, value(nan)}, {operands{-1}, nil, value(-inf)},
		{operands{1}, nil, value(inf)}, {plusZero, nil, first}, {negZero, nil, first},
	}},
	{"ceil", one(tensor.Tensor.Ceil), wholeCases}, {"floor", one(tensor.Tensor.Floor), wholeCases},
	{"trunc", one(tensor.Tensor.Trunc), wholeCases},
	{"round", one(tensor.Tensor.Round), append(wholeCases[:len(wholeCases):len(wholeCases)],
		specialCase{operands{0.5, 1.5, 2.5, -0.5, -1.5, -2.5}, nil, func(x, _ float64) float64 { return math.RoundToEven(x) }})},
	{"clip of x", one(func(x tensor.Tensor) tensor.Tensor { return x.Clip(-1, 1) }), []specialCase{{isNaN, nil, value(nan)}}},
	{"clip below", func(x tensor.Tensor, y tensor.Operand) tensor.Tensor { return x.Maximum(y) }, []specialCase{{numeric, isNaN, value(nan)}}},
	{"clip above", func(x tensor.Tensor, y tensor.Operand) tensor.Tensor { return x.Minimum(y) }, []specialCase{{numeric, isNaN, value(nan)}}},
	{"cos", one(tensor.Tensor.Cos), []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, value(1)}, {negZero, nil, value(1)},
		{plusInf, nil, value(nan)}, {minusInf, nil, value(nan)},
	}},
	{"cosh", one(tensor.Tensor.Cosh), []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, value(1)}, {negZero, nil, value(1)},
		{plusInf, nil, value(inf)}, {minusInf, nil, value(inf)},
	}},
	{"exp", one(tensor.Tensor.Exp), []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, value(1)}, {negZero, nil, value(1)},
		{plusInf, nil, value(inf)}, {minusInf, nil, value(0)},
	}},
	{"expm1", one(tensor.Tensor.Expm1), []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, first}, {negZero, nil, first},
		{plusInf, nil, value(inf)}, {minusInf, nil, value(-1)},
	}},
	{"log", one(tensor.Tensor.Log), logarithms}, {"log2", one(tensor.Tensor.Log2), logarithms}, {"log10", one(tensor.Tensor.Log10), logarithms},
	{"log1p", one(tensor.Tensor.Log1p), []specialCase{
		{isNaN, nil, value(nan)}, {operands{-1.5, -2, -65280, -inf}, nil, value(nan)},
		{operands{-1}, nil, value(-inf)}, {plusZero, nil, first}, {negZero, nil, first}, {plusInf, nil, value(inf)},
	}},
	{"sign", one(tensor.Tensor.Sign), []specialCase{
		{below0, nil, value(-1)}, {aZero, nil, first}, {above0, nil, value(1)}, {isNaN, nil, value(nan)},
	}},
	{"sin", one(tensor.Tensor.Sin), odds(nan)}, {"sinh", one(tensor.Tensor.Sinh), odds(inf)},
	{"sqrt", one(tensor.Tensor.Sqrt), []specialCase{
		{isNaN, nil, value(nan)}, {below0, nil, value(nan)}, {plusZero, nil, first},
		{negZero, nil, first}, {plusInf, nil, value(inf)},
	}},
	{"tan", one(tensor.Tensor.Tan), odds(nan)}, {"tanh", one(tensor.Tensor.Tanh), odds(1)},
	{"abs", one(tensor.Tensor.Abs), []specialCase{
		{isNaN, nil, value(nan)}, {negZero, nil, value(0)}, {minusInf, nil, value(inf)},
	}},
	{"square", one(tensor.Tensor.Square), []specialCase{
		{isNaN, nil, value(nan)}, {aZero, nil, value(0)}, {anInf, nil, value(inf)},
	}},
	{"reciprocal", one(tensor.Tensor.Recip), []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, value(inf)}, {negZero, nil, value(-inf)},
		{plusInf, nil, value(0)}, {minusInf, nil, value(minus0)},
	}},
	{"isnan", truth(tensor.Tensor.IsNaN), []specialCase{{isNaN, nil, value(1)}, {numeric, nil, value(0)}}},
	{"isfinite", truth(tensor.Tensor.IsFinite), []specialCase{{anInf, nil, value(0)}, {isNaN, nil, value(0)}, {finite, nil, value(1)}}},
	{"signbit", truth(tensor.Tensor.Signbit), []specialCase{
		{plusZero, nil, value(0)}, {negZero, nil, value(1)}, {plusInf, nil, value(0)}, {minusInf, nil, value(1)},
		{positive, nil, value(0)}, {negative, nil, value(1)}, {isNaN, nil, value(0)}, {minusNaN, nil, value(1)},
	}},
	{"isinf", truth(tensor.Tensor.IsInf), []specialCase{{anInf, nil, value(1)}, {join(finite, isNaN), nil, value(0)}}},
	{"bool", truth(func(x tensor.Tensor) tensor.Tensor { return x.Cast(dtype.Bool) }), []specialCase{
		{isNaN, nil, value(1)}, {anInf, nil, value(1)}, {aZero, nil, value(0)},
	}},
	{"equal", comparison(tensor.Tensor.Eq), []specialCase{
		{isNaN, anything, value(0)}, {anything, isNaN, value(0)}, {plusInf, plusInf, value(1)},
		{minusInf, minusInf, value(1)}, {negZero, aZero, value(1)}, {plusZero, aZero, value(1)},
		{finite, finite, func(x, y float64) float64 { return truthOf(x == y) }},
	}},
	{"not_equal", comparison(tensor.Tensor.Ne), []specialCase{
		{isNaN, anything, value(1)}, {anything, isNaN, value(1)}, {plusInf, minusInf, value(1)}, {minusInf, plusInf, value(1)},
		{aZero, aZero, value(0)}, {finite, finite, func(x, y float64) float64 { return truthOf(x != y) }},
	}},
	{"less", comparison(tensor.Tensor.Lt), unordered}, {"less_equal", comparison(tensor.Tensor.Le), unordered},
	{"greater", comparison(tensor.Tensor.Gt), unordered}, {"greater_equal", comparison(tensor.Tensor.Ge), unordered},
	{"maximum", tensor.Tensor.Maximum, eitherNaN}, {"minimum", tensor.Tensor.Minimum, eitherNaN},
	{"hypot", tensor.Tensor.Hypot, []specialCase{
		{anInf, anything, value(inf)}, {anything, anInf, value(inf)},
		{aZero, finite, func(_, y float64) float64 { return math.Abs(y) }}, {finite, aZero, func(x, _ float64) float64 { return math.Abs(x) }},
		{join(finite, isNaN), isNaN, value(nan)}, {isNaN, join(finite, isNaN), value(nan)},
	}},
	{"copysign", tensor.Tensor.Copysign, []specialCase{
		{numeric, negative, magnitude(-1)}, {numeric, negZero, magnitude(-1)}, {numeric, plusZero, magnitude(1)},
		{numeric, positive, magnitude(1)}, {numeric, minusNaN, magnitude(-1)}, {numeric, isNaN, magnitude(1)},
	}},
	{"sign of copysign", signOf(tensor.Tensor.Copysign), []specialCase{
		{join(isNaN, minusNaN), negative, value(1)}, {join(isNaN, minusNaN), negZero, value(1)},
		{join(isNaN, minusNaN), plusZero, value(0)}, {join(isNaN, minusNaN), positive, value(0)},
		{join(isNaN, minusNaN), minusNaN, value(1)}, {join(isNaN, minusNaN), isNaN, value(0)},
	}},
	{"nextafter", tensor.Tensor.NextAfter, append(eitherNaN[:2:2],
		specialCase{negZero, plusZero, value(0)}, specialCase{plusZero, negZero, value(minus0)})},
	{"logaddexp", tensor.Tensor.LogAddExp, append(eitherNaN[:2:2], specialCase{plusInf, numeric, value(inf)}, specialCase{numeric, plusInf, value(inf)})},
	{"add", tensor.Tensor.Add, sums(func(y operands) operands { return y }, func(_, y float64) float64 { return y })},
	{"subtract", tensor.Tensor.Sub, sums(negated, func(_, y float64) float64 { return -y })},
	{"multiply", tensor.Tensor.Mul, []specialCase{
		{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)}, {anInf, aZero, value(nan)},
		{aZero, anInf, value(nan)}, {aZero, finite, signed(0)}, {finite, aZero, signed(0)},
		{anInf, anInf, signed(inf)}, {anInf, nonzero, signed(inf)}, {nonzero, anInf, signed(inf)},
	}},
	{"sign of multiply", signOf(tensor.Tensor.Mul), signs}, {"sign of divide", signOf(tensor.Tensor.Div), signs},
	{"sign of floor_divide", signOf(tensor.Tensor.FloorDiv), signs},
	{"divide", tensor.Tensor.Div, quotients},
	{"floor_divide", tensor.Tensor.FloorDiv, quotients},
	{"remainder", tensor.Tensor.Mod, []specialCase{
		{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)}, {anInf, anInf, value(nan)},
		{aZero, aZero, value(nan)}, {plusZero, above0, value(0)}, {negZero, above0, value(0)},
		{plusZero, below0, value(minus0)}, {negZero, below0, value(minus0)},
		{above0, plusZero, value(nan)}, {above0, negZero, value(nan)}, {below0, plusZero, value(nan)},
		{below0, negZero, value(nan)}, {plusInf, positive, value(nan)}, {plusInf, negative, value(nan)},
		{minusInf, positive, value(nan)}, {minusInf, negative, value(nan)}, {positive, plusInf, first},
		{positive, minusInf, other}, {negative, plusInf, other}, {negative, minusInf, first},
	}},
	{"pow", tensor.Tensor.Pow, powers},
	{"atan2", tensor.Tensor.Atan2, angles},
}

// odds are the rules of an odd function that tends to the limit.
func odds(limit float64) []specialCase {
	return []specialCase{
		{isNaN, nil, value(nan)}, {plusZero, nil, first}, {negZero, nil, first},
		{plusInf, nil, value(limit)}, {minusInf, nil, value(-limit)},
	}
}

var logarithms = []specialCase{
	{isNaN, nil, value(nan)}, {below0, nil, value(nan)}, {aZero, nil, value(-inf)},
	{operands{1}, nil, value(0)}, {plusInf, nil, value(inf)},
}

// signs are the rules of the sign of a product or a quotient of numbers.
var signs = []specialCase{
	{positive, positive, value(0)}, {negative, negative, value(0)}, {positive, negative, value(1)}, {negative, positive, value(1)},
}

var wholeCases = []specialCase{
	{wholes, nil, first}, {plusInf, nil, first}, {minusInf, nil, first},
	{plusZero, nil, first}, {negZero, nil, first}, {isNaN, nil, value(nan)},
}

var unordered = []specialCase{{isNaN, anything, value(0)}, {anything, isNaN, value(0)}, {aZero, operands{nan}, value(0)}}

var eitherNaN = []specialCase{{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)}}

// sums are the rules of x + y; f and g make them those of x − y.
func sums(f func(operands) operands, g wanted) []specialCase {
	return []specialCase{
		{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)},
		{plusInf, f(minusInf), value(nan)}, {minusInf, f(plusInf), value(nan)},
		{plusInf, f(plusInf), value(inf)}, {minusInf, f(minusInf), value(-inf)},
		{plusInf, finite, value(inf)}, {minusInf, finite, value(-inf)},
		{finite, f(plusInf), value(inf)}, {finite, f(minusInf), value(-inf)},
		{negZero, f(negZero), value(minus0)}, {negZero, f(plusZero), value(0)},
		{plusZero, f(negZero), value(0)}, {plusZero, f(plusZero), value(0)},
		{aZero, nonzero, g}, {nonzero, aZero, first},
		{operands{0.5}, f(operands{-0.5}), value(0)}, {operands{-3}, f(operands{3}), value(0)},
	}
}

// quotients are the rules of x/y, and of x/y rounded down, for which the standard allows Python's answers
// beside these.
var quotients = []specialCase{
	{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)}, {anInf, anInf, value(nan)},
	{aZero, aZero, value(nan)}, {plusZero, above0, value(0)}, {negZero, above0, value(minus0)},
	{plusZero, below0, value(minus0)}, {negZero, below0, value(0)}, {above0, plusZero, value(inf)},
	{above0, negZero, value(-inf)}, {below0, plusZero, value(-inf)}, {below0, negZero, value(inf)},
	{plusInf, positive, value(inf)}, {plusInf, negative, value(-inf)}, {minusInf, positive, value(-inf)},
	{minusInf, negative, value(inf)}, {positive, plusInf, value(0)}, {positive, minusInf, value(minus0)},
	{negative, plusInf, value(minus0)}, {negative, minusInf, value(0)},
}

var powers = []specialCase{
	{join(narrow, wide, operands{-1, nan}), isNaN, value(nan)}, {anything, plusZero, value(1)},
	{anything, negZero, value(1)}, {isNaN, join(nonzero, anInf), value(nan)}, {wide, plusInf, value(inf)},
	{wide, minusInf, value(0)}, {unit, plusInf, value(1)}, {unit, minusInf, value(1)},
	{operands{1}, numeric, value(1)}, {narrow, plusInf, value(0)}, {narrow, minusInf, value(inf)},
	{plusInf, above0, value(inf)}, {plusInf, below0, value(0)}, {minusInf, odd, value(-inf)},
	{minusInf, notOdd, value(inf)}, {minusInf, negated(odd), value(minus0)}, {minusInf, negated(notOdd), value(0)},
	{plusZero, above0, value(0)}, {plusZero, below0, value(inf)}, {negZero, odd, value(minus0)},
	{negZero, notOdd, value(0)}, {negZero, negated(odd), value(-inf)}, {negZero, negated(notOdd), value(inf)},
	{negative, operands{0.5, -0.5, 1.5, -2.5}, value(nan)},
}

var angles = []specialCase{
	{isNaN, anything, value(nan)}, {anything, isNaN, value(nan)},
	{above0, plusZero, value(math.Pi / 2)}, {above0, negZero, value(math.Pi / 2)}, {plusZero, above0, value(0)},
	{plusZero, plusZero, value(0)}, {plusZero, negZero, value(math.Pi)}, {plusZero, below0, value(math.Pi)},
	{negZero, above0, value(minus0)}, {negZero, plusZero, value(minus0)}, {negZero, negZero, value(-math.Pi)},
	{negZero, below0, value(-math.Pi)}, {below0, plusZero, value(-math.Pi / 2)}, {below0, negZero, value(-math.Pi / 2)},
	{positive, plusInf, value(0)}, {positive, minusInf, value(math.Pi)}, {negative, plusInf, value(minus0)},
	{negative, minusInf, value(-math.Pi)}, {plusInf, finite, value(math.Pi / 2)}, {minusInf, finite, value(-math.Pi / 2)},
	{plusInf, plusInf, value(math.Pi / 4)}, {plusInf, minusInf, value(3 * math.Pi / 4)},
	{minusInf, plusInf, value(-math.Pi / 4)}, {minusInf, minusInf, value(-3 * math.Pi / 4)},
}

// truth and comparison are functions whose results, 0 or 1, are read as the operand's dtype.
func truth(f func(tensor.Tensor) tensor.Tensor) func(tensor.Tensor, tensor.Operand) tensor.Tensor {
	return func(x tensor.Tensor, _ tensor.Operand) tensor.Tensor { return f(x).Cast(x.DType()) }
}

// signOf makes a function of the sign bit of f's results, 0 or 1.
func signOf(f func(tensor.Tensor, tensor.Operand) tensor.Tensor) func(tensor.Tensor, tensor.Operand) tensor.Tensor {
	return func(x tensor.Tensor, y tensor.Operand) tensor.Tensor { return f(x, y).Signbit().Cast(x.DType()) }
}

// magnitude is |x| with that sign.
func magnitude(sign float64) wanted {
	return func(x, _ float64) float64 { return math.Copysign(x, sign) }
}

func truthOf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func comparison(f func(tensor.Tensor, tensor.Operand) tensor.Tensor) func(tensor.Tensor, tensor.Operand) tensor.Tensor {
	return func(x tensor.Tensor, y tensor.Operand) tensor.Tensor { return f(x, y).Cast(x.DType()) }
}

// A sample is a case of a rule with values. For a function of one operand y is 0.
type sample struct{ x, y, want float64 }

// samples are the products of the rules' sets.
func (f specialFunction) samples() (list []sample) {
	for _, c := range f.cases {
		second := c.y
		if second == nil {
			second = plusZero
		}
		for _, x := range c.x {
			for _, y := range second {
				list = append(list, sample{x, y, c.want(x, y)})
			}
		}
	}
	return list
}

// The elementwise functions follow the special cases of the array API standard on every device and in every
// floating-point dtype that it has, fused and not: for tensors of many elements, and where one operand is a
// number.
func TestArrayAPISpecialCases(t *testing.T) {
	before := device.Default().String()
	defer device.Use(before)
	for _, found := range device.List() {
		if found.Missing != "" {
			continue
		}
		if err := device.Use(found.Name); err != nil {
			t.Fatal(err)
		}
		dev := device.Default()
		for _, dt := range []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16} {
			if !slices.Contains(dev.Info().DTypes, dt) {
				t.Logf("%v has no %v", dev, dt)
				continue
			}
			if dt.Size() == 2 && !long.CI() {
				continue // computed as f32
			}
			rules, values := 0, 0
			for _, f := range specialFunctions {
				list := f.samples()
				rules, values = rules+len(f.cases), values+len(list)
				for _, fused := range []bool{true, false} {
					if !fused && dt.Size() == 2 && !long.Tests() {
						continue // computed as f32
					}
					tensor.Within(tensor.WithFusion(t.Context(), fused), func() {
						f.check(t, fmt.Sprintf("%s of %v on %v, fused: %v", f.name, dt, dev, fused), dt, list)
					})
				}
			}
			t.Logf("%v %v: %d rules of %d functions, for %d operands", dev, dt, rules, len(specialFunctions), values)
		}
	}
}

// check evaluates the list as one tensor, then for each x, and each y, as a number beside a tensor.
func (f specialFunction) check(t *testing.T, name string, dt dtype.Type, list []sample) {
	column := func(list []sample, of func(sample) float64) tensor.Tensor {
		v := make([]float64, len(list))
		for i, s := range list {
			v[i] = of(s)
		}
		return tensor.FromAs(dt, v)
	}
	x, y := func(s sample) float64 { return s.x }, func(s sample) float64 { return s.y }
	compare := func(form string, list []sample, got tensor.Tensor) {
		for i, v := range got.Float64s() {
			if s := list[i]; !s.gives(v, dt) {
				t.Errorf("%s, %s: got %v for %v and %v, want %v", name, form, v, s.x, s.y, s.want)
			}
		}
	}
	compare("tensors", list, f.f(column(list, x), column(list, y)))
	for _, same := range groups(list, x) {
		numbers := column(same, y)
		compare("x a number", same, f.f(tensor.FullLike(numbers, same[0].x), numbers))
	}
	if f.cases[0].y == nil {
		return
	}
	for _, same := range groups(list, y) {
		compare("y a number", same, f.f(column(same, x), same[0].y))
	}
}

// groups are the samples that have the same value, bit for bit.
func groups(list []sample, of func(sample) float64) map[uint64][]sample {
	g := map[uint64][]sample{}
	for _, s := range list {
		bits := math.Float64bits(of(s))
		g[bits] = append(g[bits], s)
	}
	return g
}

// gives says whether got is what s wants. Multiples of π/4 may be off by the rounding of the dtype.
func (s sample) gives(got float64, dt dtype.Type) bool {
	if math.IsNaN(s.want) {
		return math.IsNaN(got)
	}
	if exact := dtype.BF16ToFloat32(dtype.Float32ToBF16(float32(s.want))); float64(exact) == s.want {
		return got == s.want && math.Signbit(got) == math.Signbit(s.want)
	}
	digits := map[dtype.Type]int{dtype.F64: 52, dtype.F32: 23, dtype.F16: 10, dtype.BF16: 7}[dt]
	return math.Abs(got-s.want) <= math.Ldexp(math.Abs(s.want), -digits)
}

// Reductions of nothing and of what holds a NaN are what the standard says; the largest and the smallest of
// nothing, which it leaves open, are refused.
func TestArrayAPIReductions(t *testing.T) {
	before := device.Default().String()
	defer device.Use(before)
	for _, found := range device.List() {
		if found.Missing != "" {
			continue
		}
		if err := device.Use(found.Name); err != nil {
			t.Fatal(err)
		}
		dev, most := device.Default(), 40
		if !long.CI() {
			most = 9
		}
		for _, c := range []struct {
			name    string
			f       func(x tensor.Tensor, axes ...int) tensor.Tensor
			nothing float64
		}{
			{"sum", tensor.Tensor.Sum, 0}, {"prod", tensor.Tensor.Prod, 1}, {"mean", tensor.Tensor.Mean, nan},
			{"var", tensor.Tensor.Var, nan}, {"std", tensor.Tensor.Std, nan},
			{"max", tensor.Tensor.Max, 0}, {"min", tensor.Tensor.Min, 0},
		} {
			for _, dt := range []dtype.Type{dtype.F64, dtype.F32, dtype.F16, dtype.BF16} {
				name := fmt.Sprintf("%s of %v on %v", c.name, dt, dev)
				for _, n := range []int{1, 7, 700} {
					for at := range min(n, most) {
						x := tensor.Concat([]tensor.Tensor{tensor.Full(-inf, at), tensor.Full(nan, 1), tensor.Full(inf, n-at-1)}, 0).Cast(dt)
						if got := c.f(x).Item(); !math.IsNaN(got) {
							t.Errorf("%s: got %v where element %d of %d is NaN", name, got, at, n)
						}
					}
				}
				var got []float64
				err := tensor.Try(func() { got = c.f(tensor.Zeros(2, 0).Cast(dt), 1).Float64s() })
				if refused := c.name == "max" || c.name == "min"; refused != (err != nil) {
					t.Errorf("%s of nothing: got error %v", name, err)
				} else if !refused && (len(got) != 2 || !(sample{want: c.nothing}).gives(got[1], dt)) {
					t.Errorf("%s of nothing: got %v, want %v", name, got, c.nothing)
				}
			}
		}
	}
}
