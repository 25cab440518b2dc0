package quant

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	e := newEncoder(c, in, out)
	e.each(func(b, g int) {
		first := (b*e.groups + g) * lanes
		to := e.codes[first*e.Group*e.Bits/8:][:lanes*e.Group*e.Bits/8]
		var codes [128]byte
		for lane := range lanes {
			scale, zero := float32(0), byte(1)<<(e.Bits-1)
			for i := range codes {
				codes[i] = zero
			}
			if output := b*lanes + lane; output < out {
				scale = group(output, g, codes[:e.Group])
			}
			e.store(first+lane, scale)
			for i, code := range codes[:e.Group] {
				e.put(to, lane, i, code)
			}
		}
	})
	return e.weight(), nil
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
