package coded

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// The tensors of all experts of gpt-oss stand under the names that their numbers would have.
const mxBlocks, mxScales = "_blocks", "_scales"

// mxfp4 has blocks U8 [experts out in/32 16], with two numbers of e2m1 in a byte, the first in the lower
// half, and scales U8 [experts out in/32], exponents of 2 with the bias 127, which bf16 holds.
func mxfp4(m *matrix) layout {
	const block = 32
	shape := m.shape(mxBlocks, 4, "U8")
	m.want(mxBlocks, []string{"U8"}, shape[0], shape[1], shape[2], block/2)
	out, in := shape[0]*shape[1], shape[2]*block
	l := layout{out: out, in: in, experts: shape[0], straight: true, group: block, config: quant.Config{Scheme: quant.Table, Table: "e2m1", Scale: dtype.BF16}}
	l.codes = part{name: mxBlocks, bits: 4, follow: true, at: func(o, i int) int { return (o*in + i) * 4 }}
	l.scale = part{name: mxScales, types: []string{"U8"}, shape: shape[:3], at: func(o, i int) int { return (o*in + i) / block }}
	l.scale.numbers = func() []float32 {
		scales := m.bytes(mxScales)
		list := make([]float32, len(scales))
		for i, s := range scales {
			if s == 255 {
				m.fail("tensor %q: got the scale NaN at %d, want numbers", m.path+mxScales, i)
			}
			list[i] = float32(math.Ldexp(1, int(s)-127))
		}
		return list
	}
	return l
}
