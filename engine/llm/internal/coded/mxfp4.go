package coded

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The codes of all experts of gpt-oss: blocks U8 [experts out in/32 16], with two numbers of e2m1 in a byte,
// the first in the lower half, and scales U8 [experts out in/32], exponents of 2 with the bias 127. Layers of
// experts have no codes here, so they become numbers, which bf16 holds without rounding.
const (
	mxBlocks, mxScales = "_blocks", "_scales"
	mxBlock            = 32 // numbers with one scale
)

// An expanded is a source of one tensor [experts in out] in bf16.
type expanded struct {
	m                *matrix
	experts, out, in int
}

// mxfp4 is the tensor of a path, which has the name of the path.
func mxfp4(m *matrix) pretrained.Source {
	shape := m.shape(mxBlocks, 4, "U8")
	m.want(mxBlocks, []string{"U8"}, shape[0], shape[1], shape[2], mxBlock/2)
	m.want(mxScales, []string{"U8"}, shape[:3]...)
	return expanded{m, shape[0], shape[1], shape[2] * mxBlock}
}

// Close does nothing: the files are the folder's.
func (e expanded) Close() error { return nil }

// Describe returns the shape.
func (e expanded) Describe(string) (string, []int, error) {
	return "MXFP4", []int{e.experts, e.in, e.out}, nil
}

// Tensor returns what the codes stand for.
func (e expanded) Tensor(string) (tensor.Tensor, error) {
	m := e.m
	blocks, scales := m.bytes(mxBlocks), m.bytes(mxScales)
	if m.err != nil {
		return tensor.Tensor{}, m.w.Wrong(m.err)
	}
	if i := slices.Index(scales, 255); i >= 0 {
		return tensor.Tensor{}, m.w.Wrong(fmt.Errorf("tensor %q: got the scale NaN at %d, want numbers", m.path+mxScales, i))
	}
	numbers := make([]byte, 4*len(blocks)) // rows [in] of each output
	var tables [255]*[256]uint32           // by scale
	for i, scale := range scales {
		if tables[scale] == nil {
			tables[scale] = mxPairs(int(scale))
		}
		for at := i * mxBlock / 2; at < (i+1)*mxBlock/2; at++ {
			binary.LittleEndian.PutUint32(numbers[4*at:], tables[scale][blocks[at]])
		}
	}
	return tensor.FromBytes(dtype.BF16, numbers, e.experts, e.out, e.in).Transpose(), nil
}

// mxPairs are the two numbers in bf16 that each byte of codes stands for with a scale, the first in the lower
// half.
func mxPairs(scale int) *[256]uint32 {
	var pairs [256]uint32
	codes := quant.Codes("e2m1")
	bits := func(code int) uint32 {
		return math.Float32bits(float32(math.Ldexp(float64(codes[code]), scale-127))) >> 16
	}
	for b := range pairs {
		pairs[b] = bits(b&15) | bits(b>>4)<<16
	}
	return &pairs
}
