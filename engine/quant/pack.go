package quant

import (
	"cmp"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Pack makes a Weight [in out] of codes that something else has quantised, number for number. The function
// fills in the codes of a group of c.Group inputs of an output, and returns their scale; a code stands for
// scale·(code − zero), where zero is 128 in 8 bits and 8 in 4. All goroutines of Pack call it. Inputs are
// whole groups, the scheme is Symmetric and the scales are f32; another Config is an error.
func Pack(in, out int, c Config, group func(output, group int, codes []byte) (scale float32)) (*Weight, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Scheme != Symmetric || c.Scale != dtype.F32 || in < 1 || out < 1 || in%c.Group != 0 {
		return nil, fmt.Errorf("quant: got codes [%d %d] of %v, want whole groups, symmetric, scales f32", in, out, c)
	}
	w := &Weight{Config: c, Quantised: tensor.Quantised{In: in, Out: out, Bits: c.Bits, Group: c.Group}}
	codes, scales := w.Shapes()
	e := &encoder{Config: c, in: in, out: out, groups: in / c.Group, scales: make([]byte, 4*scales[0]*scales[1]*scales[2])}
	var err error
	failed := tensor.Try(func() {
		w.Codes, err = access.Filled(dtype.U8, codes, func(at int, to []byte) error { e.pack(at, to, group); return nil })
		w.Scales = tensor.FromBytes(dtype.F32, e.scales, scales...)
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return w, nil
}

// pack writes the bytes of the codes from a place on, which are those of whole groups of all lanes.
func (e *encoder) pack(at int, to []byte, group func(output, group int, codes []byte) float32) {
	size := lanes * e.Group * e.Bits / 8
	var codes [128]byte
	for n := at / size; len(to) > 0; n, to = n+1, to[size:] {
		for lane := range lanes {
			scale := float32(0)
			if output := n/e.groups*lanes + lane; output < e.out {
				scale = group(output, n%e.groups, codes[:e.Group])
			} else {
				for i := range codes {
					codes[i] = 1 << (e.Bits - 1)
				}
			}
			e.store(n*lanes+lane, scale)
			e.lay(to[:size], lane, codes[:e.Group])
		}
	}
}

// Unpack is the inverse of [Pack]: it gives the codes and the scale of each group, output by output.
func (w *Weight) Unpack(group func(output, group int, codes []byte, scale float32)) {
	codes, scales := w.Codes.Bytes(), w.Scales.Cast(dtype.F32).Floats()
	groups := (w.In + w.Group - 1) / w.Group
	list := make([]byte, w.Group)
	for output := range w.Out {
		block, lane := output/lanes, output%lanes
		for g := range groups {
			first := (block*groups + g) * lanes
			from := codes[first*w.Group*w.Bits/8:]
			for i := range list {
				if w.Bits == 8 {
					list[i] = from[i>>2<<6+lane<<2+i&3]
				} else {
					list[i] = from[i>>3<<6+lane<<2+i&3] >> (i & 4) & 15
				}
			}
			group(output, g, list, scales[first+lane])
		}
	}
}
