package quant

import (
	"cmp"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Pack makes a Weight [in out] of codes that something else has quantised, number for number. The function
// fills in the codes of a group of c.Group inputs of an output, less in the last group where in is no
// multiple, and returns their scale, and their zero point or minimum if the scheme has those. All goroutines
// of Pack call it.
func Pack(in, out int, c Config, group func(output, group int, codes []byte) (scale, extra float32)) (*Weight, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if in < 1 || out < 1 {
		return nil, fmt.Errorf("quant: got codes [%d %d], want a matrix with elements", in, out)
	}
	e := newEncoder(c, in, out)
	var w *Weight
	var err error
	failed := tensor.Try(func() {
		w = newWeight(c, in, out)
		codes, _ := w.Shapes()
		w.Codes, err = access.Filled(dtype.U8, codes, func(at int, to []byte) error { e.pack(at, to, group); return nil })
		e.finish(w)
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	return w, nil
}

// pack writes the bytes of the codes from a place on, which are those of whole groups of all lanes.
func (e *encoder) pack(at int, to []byte, group func(output, group int, codes []byte) (scale, extra float32)) {
	size := lanes * e.Group * e.Bits / 8
	var codes [128]byte
	for n := at / size; len(to) > 0; n, to = n+1, to[size:] {
		first, g := n/e.groups*lanes, n%e.groups
		inputs := min(e.Group, e.in-g*e.Group)
		for lane := range lanes {
			scale, extra, filled := float32(0), float32(0), 0
			if first+lane < e.out {
				scale, extra = group(first+lane, g, codes[:inputs])
				filled = inputs
			}
			for i := filled; i < e.Group; i++ {
				codes[i] = 1 << (e.Bits - 1)
			}
			e.store(n*lanes+lane, scale, extra)
			e.lay(to[:size], lane, codes[:e.Group])
		}
	}
}

// Unpack is the inverse of [Pack]: it gives the codes of each group, its scale, and its zero point or
// minimum, output by output.
func (w *Weight) Unpack(group func(output, group int, codes []byte, scale, extra float32)) {
	codes, scales := w.Codes.Bytes(), w.Scales.Cast(dtype.F32).Floats()
	extra := make([]float32, len(scales))
	if w.Config.Scheme == Affine || w.Config.Scheme == Minimum {
		extra = w.Extra.Cast(dtype.F32).Floats()
	}
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
			group(output, g, list[:min(w.Group, w.In-g*w.Group)], scales[first+lane], extra[first+lane])
		}
	}
}
