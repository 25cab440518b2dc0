package optim

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// blockLength is how many numbers share a scale, as in bitsandbytes.
const blockLength = 256

// A dynamic map writes numbers from −1 to 1 (signed) or from 0 to 1 in 8 bits (Dettmers 2015). A decade below
// 1 has as many steps as two decades below have together, and more: 2ᵉ evenly spaced ones, e = 0 … 6 for a
// sign and 1 … 7 without, which go down to 10⁻⁷. The code is the number's rank among all 256 of the map, as
// in bitsandbytes.
//
// Codes are computed, not looked up, so that they are elementwise work, which joins the work around it.
type dynamicMap struct{ signed bool }

// least is the number e of the smallest decade, that from 10⁻⁷ to 10⁻⁶.
func (d dynamicMap) least() float64 {
	if d.signed {
		return 0
	}
	return 1
}

// zero is the code of 0, and that of 1 is highest above it.
func (d dynamicMap) zero() (zero, highest float64) {
	if d.signed {
		return 127, 128
	}
	return 0, 255
}

// power is base^x, and logarithm its opposite, of the functions that every backend has for whole vectors.
func power(base float64, x tensor.Tensor) tensor.Tensor { return x.Mul(math.Log(base)).Exp() }

func logarithm(base float64, x tensor.Tensor) tensor.Tensor { return x.Log().Mul(1 / math.Log(base)) }

// withSign is size, negative where of is.
func withSign(size, of tensor.Tensor) tensor.Tensor { return tensor.Where(of.Lt(0), size.Neg(), size) }

// decode returns the numbers of codes, in f32.
func (d dynamicMap) decode(codes tensor.Tensor) tensor.Tensor {
	zero, highest := d.zero()
	k := codes.Cast(dtype.F32).Sub(zero)
	rank := k.Abs() // from 1 on
	t := rank.Add(d.least()).Maximum(1)
	e := logarithm(2, t.Add(0.5)).Floor()
	steps := power(2, e)
	size := t.Sub(steps).Add(0.5).Div(steps).Mul(0.9).Add(0.1).Mul(power(10, e.Sub(6+d.least())))
	size = tensor.Where(rank.Eq(0), 0, tensor.Where(rank.Eq(highest), 1, size))
	if !d.signed {
		return size
	}
	return withSign(size, k)
}

// encode returns the codes, u8, of the numbers of the map that are nearest to x.
func (d dynamicMap) encode(x tensor.Tensor) tensor.Tensor {
	zero, highest := d.zero()
	least := d.least()
	a := x.Abs()
	e := logarithm(10, a.Maximum(1e-9)).Floor().Add(7 + least).Maximum(least).Minimum(6 + least)
	y, share := a.Mul(power(10, e.Sub(6+least).Neg())), power(2, e.Neg()) // from 0.1 to 1; 1/steps
	// The middle between the last step of the decade below and the first of this one is the border.
	down := tensor.Where(y.Lt(share.Mul(0.18).Add(0.1)), e.Sub(least).Minimum(1), 0)
	y, share = y.Mul(down.Mul(9).Add(1)), share.Mul(down.Add(1))
	steps := share.Recip()
	step := y.Sub(0.1).Mul(1 / 0.9).Mul(steps).Floor().Maximum(0).Minimum(steps.Sub(1))
	rank := steps.Add(step).Sub(least)
	first := 1e-6 * (0.1 + 0.45/math.Exp2(least))
	last := 1 - 0.45/math.Exp2(6+least)
	rank = tensor.Where(a.Lt(first/2), 0, rank)
	if d.signed { // 1 has a code, −1 has none
		rank = withSign(tensor.Where(x.Gt((1+last)/2), highest, rank), x)
	} else {
		rank = tensor.Where(a.Gt((1+last)/2), highest, rank)
	}
	return rank.Add(zero + 0.5).Floor().Cast(dtype.U8) // half a step more, because powers are rounded
}

// An eight is a list of numbers in 8 bits.
type eight struct {
	codes  tensor.Tensor // u8 [blocks 256]
	scales tensor.Tensor // f32 [blocks 1], the largest of each block
}

// newEight makes n numbers that are 0, on the device of t.
func newEight(m dynamicMap, n int, like tensor.Tensor) eight {
	blocks := (n + blockLength - 1) / blockLength
	zero, _ := m.zero()
	return eight{
		tensor.Full(zero, blocks, blockLength).Cast(dtype.U8).To(like.Device()).Eval(),
		tensor.Zeros(blocks, 1).To(like.Device()).Eval(),
	}
}

func (e eight) numbers(m dynamicMap) tensor.Tensor { return m.decode(e.codes).Mul(e.scales) }

// packed returns x [blocks 256] in 8 bits.
func packed(m dynamicMap, x tensor.Tensor) eight {
	scales := x.Abs().Max(1).Unsqueeze(1)
	return eight{m.encode(x.Div(scales.Maximum(1e-37))), scales}
}

// blocked returns x as rows of a block each, the last one filled up with 0; unblocked is the opposite.
func blocked(x tensor.Tensor) tensor.Tensor {
	n := x.Size()
	x = x.Reshape(n)
	if rest := n % blockLength; rest != 0 {
		x = x.Pad(0, 0, blockLength-rest, 0)
	}
	return x.Reshape(-1, blockLength)
}

func unblocked(x tensor.Tensor, shape []int) tensor.Tensor {
	n := 1
	for _, length := range shape {
		n *= length
	}
	return x.Reshape(x.Size()).Slice(0, 0, n).Reshape(shape...)
}
