// Package quant stores weights in 8 or 4 bits.
//
// A [Weight] is a matrix [in out] whose numbers are codes: unsigned integers of 8 or 4 bits. Codes of one
// output share a scale, and perhaps a zero point, along a group of 32, 64 or 128 consecutive inputs; a weight
// is scale·(code − zero). A product with few rows takes the time of reading the weight, so a model in 4 bits
// answers up to seven times as fast as in f32, and its weights need a seventh of the memory. Nothing else
// changes: activations keep their dtype, gradients flow to the input as through any linear layer, and an
// adapter beside a quantised layer can be trained (QLoRA; Dettmers and others 2023).
//
// [Quantize] makes a Weight of a tensor, [Module] exchanges the layers of a model. A quantised number differs
// from the one that it stands for by at most half a scale.
//
// # How a weight is quantised
//
// In each group of an output, with the scale s rounded to its own dtype, to bf16 upwards:
//
//	Symmetric  s = max|w|/(2^(bits−1)−1), zero = 2^(bits−1), code = round(w/s) + zero, within ±(2^(bits−1)−1) of zero
//	Affine     s = (max(w,0) − min(w,0))/(2^bits−1), zero = round(−min(w,0)/s), code = round(w/s) + zero, within 0…2^bits−1
//
// round goes to the nearest integer, ties to even. So 0 is always exact. A group of zeros, or one whose scale
// would be less than the least normal f32, gets the scale 0 and becomes zeros. NaN and infinities are errors.
//
// # How it lies in memory
//
// Outputs stand in blocks of 16 and inputs in groups; the last ones are filled up with codes of zero. Codes
// are u8 [blocks lines 64]. A line holds 4 inputs in 8 bits, or 8 inputs in 4 bits, of the 16 outputs of a
// block: byte 4·o+i of line l is the code of output o, input 4·l+i; with 4 bits its lower half is input 8·l+i
// and its upper half input 8·l+4+i. Scales are f32 or bf16 [blocks groups 16], zero points u8 of the same
// shape. So a vector of 32-bit lanes holds 16 outputs, and all of a block is read in one go.
//
// Reading order: quant.go, encode.go, layer.go, module.go, file.go.
package quant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Scheme says where the codes' zero is.
type Scheme uint8

const (
	Symmetric Scheme = iota // in the middle
	Affine                  // where each group needs it
)

var schemes = [...]string{"symmetric", "affine"}

// String returns the scheme in lower case.
func (s Scheme) String() string {
	if int(s) < len(schemes) {
		return schemes[s]
	}
	return fmt.Sprintf("scheme(%d)", uint8(s))
}

// A Config says how weights are quantised.
type Config struct {
	Bits   int // 4 or 8; 0 means 8
	Group  int // inputs that share a scale: 32, 64 or 128; 0 means 64
	Scheme Scheme
	Scale  dtype.Type // of the scales, F32 or BF16; Invalid means F32
}

func (c Config) withDefaults() Config {
	c.Bits = cmp.Or(c.Bits, 8)
	c.Group = cmp.Or(c.Group, 64)
	c.Scale = cmp.Or(c.Scale, dtype.F32)
	return c
}

// check returns an error for a configuration that this package does not have.
func (c Config) check() error {
	switch {
	case c.Bits != 4 && c.Bits != 8:
		return fmt.Errorf("quant: got %d bits, want 4 or 8", c.Bits)
	case !slices.Contains([]int{32, 64, 128}, c.Group):
		return fmt.Errorf("quant: got groups of %d, want 32, 64 or 128", c.Group)
	case c.Scheme != Symmetric && c.Scheme != Affine:
		return fmt.Errorf("quant: got %v, want symmetric or affine", c.Scheme)
	case c.Scale != dtype.F32 && c.Scale != dtype.BF16:
		return fmt.Errorf("quant: got scales in %v, want f32 or bf16", c.Scale)
	}
	return nil
}

// String says what the codes are: "int4, groups of 64, symmetric, scales f32".
func (c Config) String() string {
	c = c.withDefaults()
	return fmt.Sprintf("int%d, groups of %d, %v, scales %v", c.Bits, c.Group, c.Scheme, c.Scale)
}

// A Weight is a quantised matrix [In Out].
type Weight struct {
	Config Config
	tensor.Quantised
}

// Dequantized returns what the codes stand for, as f32 [In Out].
func (w *Weight) Dequantized() tensor.Tensor { return w.Dequantize(dtype.F32) }

// MatMul returns x·w for x [… In], in x's dtype. It reads the codes; see tensor.Quantised.
func (w *Weight) MatMul(x tensor.Tensor) tensor.Tensor { return x.MatMul(w.Dequantize(x.DType())) }

// Bytes is the size of codes, scales and zero points.
func (w *Weight) Bytes() int {
	n := 0
	for _, t := range w.tensors() {
		n += t.Size() * t.DType().Size()
	}
	return n
}

// tensors lists codes, scales and, if the scheme has them, zero points.
func (w *Weight) tensors() []tensor.Tensor {
	list := []tensor.Tensor{w.Codes, w.Scales}
	if !w.Zeros.IsNone() {
		list = append(list, w.Zeros)
	}
	return list
}

// String says what the weight is and how much smaller than in f32.
func (w *Weight) String() string {
	full := 4 * w.In * w.Out
	return fmt.Sprintf("[%d %d] %v · %s, %.3g bits a weight (f32 %s)", w.In, w.Out, w.Config, units.Bytes(int64(w.Bytes())),
		8*float64(w.Bytes())/float64(max(1, w.In*w.Out)), units.Bytes(int64(full)))
}
