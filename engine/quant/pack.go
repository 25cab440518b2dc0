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
	return PackRows(in, out, c, Rows{Groups: func(_ []byte, o, first int, codes []byte, scales, extras []float32) {
		size := c.withDefaults().Group
		for i := 0; i*size < len(codes); i++ {
			scales[i], extras[i] = group(o, first+i, codes[i*size:min((i+1)*size, len(codes))])
		}
	}})
}

// unit is how many inputs of an output are decoded at once.
const unit = 256

// Rows are codes as something else stores them, each output's in a row of as many bytes.
type Rows struct {
	Bytes int
	Read  func(output int, to []byte) error // reads the rows of outputs from one on, as many as to holds

	// Groups decodes the codes of an output from its input Group·first on, which is a multiple of 256: 256
	// of them, or those that are left; and the scale, zero point or minimum of each group.
	Groups func(row []byte, output, first int, codes []byte, scales, extras []float32)
}

// PackRows is [Pack] of rows that goroutines read themselves, some outputs at a time, so that codes cross
// memory once.
func PackRows(in, out int, c Config, rows Rows) (*Weight, error) {
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
		w.Codes, err = access.Filled(dtype.U8, codes, func(at int, to []byte) error { return e.pack(at, to, rows) })
		e.finish(w)
	})
	if err = cmp.Or(failed, err); err != nil {
		if w != nil {
			w.Codes.Free()
		}
		return nil, err
	}
	return w, nil
}

// pack writes the bytes of the codes from a place on, which are those of whole groups of all lanes.
func (e *encoder) pack(at int, to []byte, rows Rows) error {
	size := lanes * e.Group * e.Bits / 8
	kept, _ := e.buffers.Get().(*[]byte)
	if kept == nil {
		b := make([]byte, lanes*rows.Bytes)
		kept = &b
	}
	defer e.buffers.Put(kept)
	buffer := *kept
	var tile [lanes][unit]byte
	var scales, extras [unit / 16]float32
	each, read := unit/e.Group, -1
	for n := at / size; len(to) > 0; {
		output, g := n/e.groups*lanes, n%e.groups
		if output != read && rows.Bytes > 0 {
			if err := rows.Read(output, buffer[:min(lanes, e.out-output)*rows.Bytes]); err != nil {
				return err
			}
			read = output
		}
		first := g / each * each
		inputs, groups := min(unit, e.in-first*e.Group), min(first+each, e.groups, g+len(to)/size)-g
		for lane := range lanes {
			filled := 0
			if output+lane < e.out {
				rows.Groups(buffer[lane*rows.Bytes:][:rows.Bytes], output+lane, first, tile[lane][:inputs], scales[:], extras[:])
				filled = inputs
			} else {
				clear(scales[:])
				clear(extras[:])
			}
			for i := filled; i < unit; i++ {
				tile[lane][i] = 1 << (e.Bits - 1)
			}
			e.store(n*lanes+lane, scales[g-first:][:groups], extras[g-first:][:groups])
		}
		for i := range groups {
			e.lay(to[i*size:][:size], &tile, (g-first+i)*e.Group)
		}
		n, to = n+groups, to[groups*size:]
	}
	return nil
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
