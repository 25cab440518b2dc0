package conformance

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A smallFloat is a floating-point format of 8 bits or less: a sign (not in E8M0), an exponent, a mantissa.
type smallFloat struct {
	exponent, mantissa, bias int
	finite                   int  // the number of codes from 0 up that are finite
	noZeroSign               bool // FNUZ: the code of −0 is the only NaN
	infinite                 bool // the first code that is not finite is an infinity
	unsigned                 bool // E8M0: a power of two, no zero
}

// The formats: Micikevicius and others, FP8 formats for deep learning, 2022 (E4M3FN, E5M2); Noune and others,
// 8-bit numerical formats for deep neural networks, 2022 (FNUZ); OCP Microscaling formats, 2023 (E2M1, E8M0).
var smallFloats = map[kind]smallFloat{
	kE4M3FN:   {exponent: 4, mantissa: 3, bias: 7, finite: 0x7f},
	kE4M3FNUZ: {exponent: 4, mantissa: 3, bias: 8, finite: 0x80, noZeroSign: true},
	kE5M2:     {exponent: 5, mantissa: 2, bias: 15, finite: 0x7c, infinite: true},
	kE5M2FNUZ: {exponent: 5, mantissa: 2, bias: 16, finite: 0x80, noZeroSign: true},
	kE2M1:     {exponent: 2, mantissa: 1, bias: 1, finite: 8},
	kE8M0:     {exponent: 8, bias: 127, finite: 0xff, unsigned: true},
}

// magnitude is the value of a code without its sign, as if all codes were finite.
func (f smallFloat) magnitude(code int) float64 {
	if f.unsigned {
		return math.Exp2(float64(code - f.bias))
	}
	e, m := code>>f.mantissa, code&(1<<f.mantissa-1)
	if e == 0 {
		return math.Ldexp(float64(m), 1-f.bias-f.mantissa)
	}
	return math.Ldexp(float64(1<<f.mantissa+m), e-f.bias-f.mantissa)
}

// table is the value of every code.
func (f smallFloat) table() []float64 {
	sign := 1 << (f.exponent + f.mantissa)
	codes := 2 * sign
	if f.unsigned {
		codes = sign
	}
	values := make([]float64, codes)
	for code := range values {
		size := code % sign
		v := f.magnitude(size)
		switch {
		case size >= f.finite && f.infinite && size == f.finite:
			v = math.Inf(1)
		case size >= f.finite, f.noZeroSign && code == sign:
			v = math.NaN()
		}
		if code >= sign {
			v = -v
		}
		values[code] = v
	}
	return values
}

// decode makes floats (f32) of codes; other kinds stay as they are.
func (c *call) decode(x value) tensor.Tensor {
	if !x.kind.coded() {
		return x.Tensor
	}
	return tensor.From(smallFloats[x.kind].table()).Take(x.Cast(dtype.I64), 0)
}

// encode rounds floats to the nearest code, ties to even: the code of |x| is the number of boundaries
// below it. A value that is too large becomes the largest number, or, without saturate, the code after it:
// infinity or NaN.
func (c *call) encode(t tensor.Tensor, to kind, saturate bool, round string) value {
	f := smallFloats[to]
	x := t.Cast(dtype.F32)
	if f.unsigned {
		return value{f.encodePower(x, saturate, round), to}
	}
	size := x.Abs()
	if largest := f.magnitude(f.finite - 1); saturate || to == kE2M1 {
		size = size.Minimum(largest)
	}
	var reached, passed []float64 // boundaries that belong to the code above, and to the code below
	for code := range f.finite {
		between := (f.magnitude(code) + f.magnitude(code+1)) / 2
		if code%2 == 1 {
			reached = append(reached, between)
		} else {
			passed = append(passed, between)
		}
	}
	rows := size.Unsqueeze(-1)
	code := rows.Ge(tensor.From(reached)).Sum(-1).Add(rows.Gt(tensor.From(passed)).Sum(-1))
	sign := 1 << (f.exponent + f.mantissa)
	negative := x.Lt(0).Or(x.Eq(0).And(x.Recip().Lt(0)))
	signed := tensor.Where(negative, code.Add(sign), code)
	nan := sign - 1
	switch {
	case f.noZeroSign:
		nan = sign
		signed = tensor.Where(code.Eq(0), 0, tensor.Where(code.Eq(sign), sign, signed))
	case to == kE2M1:
		nan = sign // there is no NaN: it becomes −0
	}
	return value{tensor.Where(x.IsNaN(), nan, signed).Cast(dtype.U8), to}
}

// encodePower rounds to a power of two: up, down, or to the nearest with ties up.
func (f smallFloat) encodePower(x tensor.Tensor, saturate bool, round string) tensor.Tensor {
	var boundaries []float64
	last := f.finite
	if saturate {
		last-- // no boundary to the code after the largest number, which is NaN
	}
	for code := range last {
		switch low := f.magnitude(code); round {
		case "up":
			boundaries = append(boundaries, low)
		case "down":
			boundaries = append(boundaries, 2*low)
		case "nearest":
			boundaries = append(boundaries, 1.5*low)
		default:
			refuse("got round_mode %q", round)
		}
	}
	rows, limits := x.Unsqueeze(-1), tensor.From(boundaries)
	above := rows.Ge(limits)
	if round == "up" {
		above = rows.Gt(limits)
	}
	nan := x.IsNaN()
	if !saturate {
		nan = nan.Or(x.Lt(f.magnitude(0)))
	}
	return tensor.Where(nan, f.finite, above.Sum(-1)).Cast(dtype.U8)
}
