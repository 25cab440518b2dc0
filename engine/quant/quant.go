// Package quant stores weights in 8 or 4 bits.
//
// A [Weight] is a matrix [in out] whose numbers are codes: unsigned integers of 8 or 4 bits. Codes of one
// output share a scale, and perhaps a zero point or a minimum, along a group of 16 to 128 consecutive inputs.
// A [Scheme] says what a code stands for: scale·(code − zero), scale·code + minimum, or scale·table[code], so
// the codes of most formats are a Weight as they are ([Pack]). A product with few rows takes the time of
// reading the weight, so a model in 4 bits answers up to seven times as fast as in f32, and its weights need
// a seventh of the memory. Nothing else changes: activations keep their dtype, gradients flow to the input as
// through any linear layer, and an adapter beside a quantised layer can be trained (QLoRA; Dettmers and
// others 2023).
//
// [Quantize] makes a Weight of a tensor, [Module] exchanges the layers of a model. A number differs from the
// one whose code it is by at most half a scale, and with Scheme Table by at most half the distance of two
// neighbours in the table, times the scale.
//
// # How a weight is quantised
//
// In each group of an output, with the scale s rounded to its own dtype, to bf16 upwards:
//
//	Symmetric  s = max|w|/(2^(bits−1)−1), zero = 2^(bits−1), code = round(w/s) + zero, within ±(2^(bits−1)−1) of zero
//	Affine     s = (max(w,0) − min(w,0))/(2^bits−1), zero = round(−min(w,0)/s), code = round(w/s) + zero, within 0…2^bits−1
//	Minimum    m = min(w,0), s as above, code = round((w − m)/s), within 0…2^bits−1
//	Table      s = max|w|/max|table|, code is that of the number nearest to w/s
//
// round goes to the nearest integer, ties to even. So 0 is exact but in Minimum. A group of zeros, or one
// whose scale would be less than the least normal f32, gets the scale 0 and becomes zeros. NaN and infinities
// are errors.
//
// # How it lies in memory
//
// Outputs stand in blocks of 16 and inputs in groups; the last ones are filled up with codes of zero. Codes
// are u8 [blocks lines 64]. A line holds 4 inputs in 8 bits, or 8 inputs in 4 bits, of the 16 outputs of a
// block: byte 4·o+i of line l is the code of output o, input 4·l+i; with 4 bits its lower half is input 8·l+i
// and its upper half input 8·l+4+i. Scales are f32 or bf16 [blocks groups 16], zero points u8 and minimums
// are of the same shape, minimums of the scales' dtype; a table is f32 [2^bits]. So a vector of 32-bit lanes
// holds 16 outputs, and all of a block is read in one go.
//
// Reading order: quant.go, tables.go, encode.go, pack.go, layer.go, module.go, file.go.
package quant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Scheme says what codes stand for.
type Scheme uint8

const (
	Symmetric Scheme = iota // scale·(code − 2^(bits−1))
	Affine                  // scale·(code − zero), with a zero point for each group
	Minimum                 // scale·code + minimum, with a minimum for each group; the product is rounded to f32
	Table                   // scale·table[code]
)

var schemes = [...]string{"symmetric", "affine", "minimum", "table"}

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
	Group  int // inputs that share a scale: 16, 32, 64 or 128; 0 means 64
	Scheme Scheme
	Scale  dtype.Type // of scales and minimums, F32 or BF16; Invalid means F32
	Table  string     // of Scheme Table: its name, one of [Tables]
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
	case !slices.Contains([]int{16, 32, 64, 128}, c.Group):
		return fmt.Errorf("quant: got groups of %d, want 16, 32, 64 or 128", c.Group)
	case int(c.Scheme) >= len(schemes):
		return fmt.Errorf("quant: got %v, want one of %v", c.Scheme, schemes)
	case (c.Scheme == Table) != (c.Table != "") || c.Scheme == Table && len(tables[c.Table]) != 1<<c.Bits:
		return fmt.Errorf("quant: got table %q with %v of %d bits, want one of %v of 2^bits numbers with table, or none", c.Table, c.Scheme, c.Bits, Tables())
	case c.Scale != dtype.F32 && c.Scale != dtype.BF16:
		return fmt.Errorf("quant: got scales in %v, want f32 or bf16", c.Scale)
	}
	return nil
}

// String says what the codes are: "int4, groups of 64, symmetric, scales f32", "nf4, groups of 64, scales
// f32".
func (c Config) String() string {
	c = c.withDefaults()
	if c.Scheme == Table {
		return fmt.Sprintf("%s, groups of %d, scales %v", c.Table, c.Group, c.Scale)
	}
	return fmt.Sprintf("int%d, groups of %d, %v, scales %v", c.Bits, c.Group, c.Scheme, c.Scale)
}

// A Weight is a quantised matrix [In Out], or a stack of them.
type Weight struct {
	Config Config
	tensor.Quantised
}

// Dequantized returns what the codes stand for, as f32 [In Out], or [Matrices In Out].
func (w *Weight) Dequantized() tensor.Tensor { return w.Dequantize(dtype.F32) }

// MatMul returns x·w for x [… In], in x's dtype. It reads the codes; see tensor.Quantised.
func (w *Weight) MatMul(x tensor.Tensor) tensor.Tensor { return x.MatMul(w.Dequantize(x.DType())) }

// Bytes is the size of all parts.
func (w *Weight) Bytes() int {
	n := 0
	for _, t := range w.tensors() {
		n += t.Size() * t.DType().Size()
	}
	return n
}

// tensors lists codes, scales and, if the scheme has one, the third part.
func (w *Weight) tensors() []tensor.Tensor {
	list := []tensor.Tensor{w.Codes, w.Scales}
	if w.Form != 0 {
		list = append(list, w.Extra)
	}
	return list
}

// newWeight returns a Weight [in out] without codes and scales. A table is there.
func newWeight(c Config, in, out int) *Weight {
	w := &Weight{Config: c, Quantised: tensor.Quantised{In: in, Out: out, Bits: c.Bits, Group: c.Group, Form: int(c.Scheme)}}
	if c.Scheme == Table {
		w.Extra = tensor.From(tables[c.Table], 1<<c.Bits)
	}
	return w
}

// String says what the weight is and how much smaller than in f32.
func (w *Weight) String() string {
	all := max(1, w.Matrices) * w.In * w.Out
	return fmt.Sprintf("%v %v · %s, %.3g bits a weight (f32 %s)", shape(w.Matrices, w.In, w.Out), w.Config, units.Bytes(int64(w.Bytes())),
		8*float64(w.Bytes())/float64(max(1, all)), units.Bytes(int64(4*all)))
}
