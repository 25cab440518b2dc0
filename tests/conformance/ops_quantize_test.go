package conformance

import (
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// quantizing are conversions between kinds, with and without a scale.
var quantizing = map[string]operator{
	"Cast":                  func(c *call) []value { return []value{c.convert(c.x(0), c.target())} },
	"CastLike":              func(c *call) []value { return []value{c.convert(c.x(0), c.x(1).kind)} },
	"BitCast":               bitCast,
	"QuantizeLinear":        quantize,
	"DequantizeLinear":      dequantize,
	"DynamicQuantizeLinear": dynamicQuantize,
}

// target returns the type that Cast makes; before version 6 it is a name.
func (c *call) target() kind {
	if name := c.text("to", ""); name != "" {
		for k, n := range kindNames {
			if strings.EqualFold(n, name) {
				return k
			}
		}
		refuse("got type %q", name)
	}
	return kind(c.integer("to", 0))
}

// convert casts. From float to integer it truncates; integers that do not fit are cut to their low bits.
func (c *call) convert(x value, to kind) value {
	if x.kind == kString || to == kString {
		refuse("got a conversion between %v and %v, want numbers", x.kind, to)
	}
	t := c.decode(x)
	if to.coded() {
		return c.encode(t, to, c.flag("saturate", 1), c.text("round_mode", "up"))
	}
	return c.fit(t, to)
}

// quantize is x/scale, rounded to even, plus the zero point, saturated.
func quantize(c *call) []value {
	x := c.x(0)
	to := kind(c.integer("output_dtype", int(kUint8)))
	if to == 0 {
		to = kUint8
	}
	if c.has(2) {
		to = c.in[2].kind
	}
	t := c.real(x).Div(c.real(value{c.blocks(c.x(1).Tensor, x.Shape()), c.x(1).kind}))
	var zero tensor.Tensor
	if c.has(2) {
		zero = c.blocks(c.decode(c.in[2]), x.Shape())
	}
	if to.coded() {
		if !zero.IsNone() {
			t = t.Add(zero.Cast(t.DType()))
		}
		return []value{c.encode(t, to, c.flag("saturate", 1), "up")}
	}
	t = t.Round()
	if !zero.IsNone() {
		t = t.Add(zero.Cast(t.DType()))
	}
	return []value{c.saturate(t, to)}
}

// saturate makes integers of floats that are whole, clipped to their range.
func (c *call) saturate(t tensor.Tensor, to kind) value {
	bits, signed, ok := to.integer()
	if !ok || bits > 32 {
		refuse("got %v, want integers of at most 32 bits", to)
	}
	low, high := 0.0, math.Exp2(float64(bits))-1
	if signed {
		low, high = -math.Exp2(float64(bits-1)), math.Exp2(float64(bits-1))-1
	}
	i := t.Cast(dtype.I64) // saturates at 64 bits
	return c.fit(i.Maximum(int(low)).Minimum(int(high)), to)
}

// dequantize is (x − zero point)·scale in the kind of the scale.
func dequantize(c *call) []value {
	x, scale := c.x(0), c.x(1)
	t := c.decode(x)
	if c.has(2) && !x.kind.coded() {
		t = t.Cast(dtype.I64).Sub(c.blocks(c.in[2].Cast(dtype.I64), x.Shape()))
	}
	s := c.real(value{c.blocks(scale.Tensor, x.Shape()), scale.kind})
	to := kind(c.integer("output_dtype", int(scale.kind)))
	if to == 0 {
		to = scale.kind
	}
	return c.result(t.Cast(s.DType()).Mul(s), to)
}

// blocks brings a scale or zero point into a shape that broadcasts: one for all, one for each place of an
// axis, or one for each block of block_size places.
func (c *call) blocks(t tensor.Tensor, shape []int) tensor.Tensor {
	if t.Size() == 1 {
		return t.Reshape()
	}
	a := axis(c.integer("axis", 1), len(shape))
	if size := c.integer("block_size", 0); size > 0 {
		apart := slices.Insert(t.Shape(), a+1, 1)
		repeated := slices.Clone(apart)
		repeated[a+1] = size
		joined := t.Shape()
		joined[a] *= size
		return t.Reshape(apart...).Expand(repeated...).Reshape(joined...).Slice(a, 0, shape[a])
	}
	wide := slices.Repeat([]int{1}, len(shape))
	wide[a] = t.Size()
	return t.Reshape(wide...)
}

// dynamicQuantize finds the scale that maps the range of x, with 0 in it, to uint8.
func dynamicQuantize(c *call) []value {
	x := c.real(c.x(0))
	low, high := x.Min().Minimum(0), x.Max().Maximum(0)
	scale := tensor.Where(high.Eq(low), 1.0/255, high.Sub(low).Div(255))
	zero := low.Neg().Div(scale).Clip(0, 255).Round()
	y := x.Div(scale).Round().Add(zero)
	return []value{c.saturate(y, kUint8), c.fit(scale, kFloat), c.saturate(zero, kUint8)}
}

// bitCast reads the bytes of the elements as another type of the same width.
func bitCast(c *call) []value {
	x, to := c.x(0), kind(c.integer("to", 0))
	if x.kind == kBool && to == kUint8 || x.kind == kUint8 && to == kBool {
		return []value{c.fit(x.Tensor, to)} // 0 and 1 have the same value in every type
	}
	bits, _, integer := x.kind.integer()
	if wanted, _, too := to.integer(); integer && too && bits == wanted {
		return []value{c.fit(x.Tensor, to)} // in its carrier
	}
	_, wide := c.carrier(x.kind)
	dt, wider := c.carrier(to)
	if wide || wider {
		refuse("got a conversion of the bits of %v to %v, want dtypes that the device has", x.kind, to)
	}
	return []value{{x.Bitcast(dt), to}}
}
