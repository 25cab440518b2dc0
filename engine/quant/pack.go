package quant

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

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
	return PackRows(in, out, c, Rows{Bytes: c.Group, Groups: func(list []byte, o, first, groups int, to, scales, extras Lane) {
		for i := range groups {
			codes := list[:min(c.Group, in-(first+i)*c.Group)]
			scale, extra := group(o, first+i, codes)
			scales.PutFloat(i, scale)
			if extras != nil {
				extras.PutFloat(i, extra)
			}
			for j := len(codes); j < len(list); j++ {
				list[j] = 1 << (c.Bits - 1)
			}
			to.From(i*c.Group, c.Bits).lay(c.Bits, list)
		}
	}})
}

// A Lane is where the codes of an output lie: the four bytes that it has of each line; or its scales in f32,
// zero points or minimums.
type Lane []byte

// Line is how many bytes all outputs of a block have of a line.
const Line = 4 * lanes

// Put4 writes 8 codes of 4 bits from code 8·i on: the bytes of a word, the first in the lowest bits.
func (l Lane) Put4(i int, codes uint64) {
	binary.LittleEndian.PutUint32(l[Line*i:], uint32(codes|codes>>28))
}

// Put8 writes 8 codes of 8 bits, as Put4 does those of 4.
func (l Lane) Put8(i int, codes uint64) {
	binary.LittleEndian.PutUint32(l[2*Line*i:], uint32(codes))
	binary.LittleEndian.PutUint32(l[2*Line*i+Line:], uint32(codes>>32))
}

// PutFloat writes scale, zero point or minimum i.
func (l Lane) PutFloat(i int, v float32) {
	binary.LittleEndian.PutUint32(l[Line*i:], math.Float32bits(v))
}

// Float reads what PutFloat writes.
func (l Lane) Float(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(l[Line*i:]))
}

// From is where a code of that many bits lies, the first of a line, and those that follow.
func (l Lane) From(code, bits int) Lane { return l[code*(bits*lanes/8):] }

// Code reads a code of that many bits.
func (l Lane) Code(i, bits int) byte {
	if bits == 8 {
		return l[i>>2*Line+i&3]
	}
	return l[i>>3*Line+i&3] >> (i & 4) & 15
}

// lay writes codes, a byte each.
func (l Lane) lay(bits int, codes []byte) {
	for i := 0; i < len(codes); i += 8 {
		if x := binary.LittleEndian.Uint64(codes[i:]); bits == 4 {
			l.Put4(i/8, x)
		} else {
			l.Put8(i/8, x)
		}
	}
}

// unit is how many inputs of an output are decoded at once, at most.
const unit = 256

// Rows are codes as something else stores them, each output's in a row of as many bytes.
type Rows struct {
	Bytes int
	Read  func(output int, to []byte) error // reads the rows of outputs from one on, as many as to holds; may be nil

	// Groups decodes groups of an output, from its first on: their codes, and the scale, zero point or
	// minimum of each; extras is nil where the scheme has none. Of rows of a multiple of 256 inputs these are
	// always the groups of 256 inputs, of others at most so many.
	Groups func(row []byte, output, first, groups int, codes, scales, extras Lane)
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
		w, err = e.weight(func(shape []int) (tensor.Tensor, error) {
			return access.Filled(dtype.U8, shape, func(at int, to []byte) error { return e.pack(at, to, rows) })
		})
	})
	if err = cmp.Or(failed, err); err != nil {
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
	each, read := unit/e.Group, -1
	for n := at / size; len(to) > 0; {
		output, first := n/e.groups*lanes, n%e.groups
		if output != read && rows.Read != nil {
			if err := rows.Read(output, buffer[:min(lanes, e.out-output)*rows.Bytes]); err != nil {
				return err
			}
			read = output
		}
		groups := min(each-first%each, e.groups-first, len(to)/size)
		for lane := range lanes {
			codes, at := Lane(to[4*lane:groups*size]), n*lanes+lane
			if output+lane >= e.out {
				codes.lay(e.Bits, bytes.Repeat([]byte{1 << (e.Bits - 1)}, groups*e.Group))
				for g := range groups {
					e.store(at+g*lanes, 0, 0)
				}
				continue
			}
			var extras Lane
			if e.extra != nil {
				extras = e.extra[4*at:]
			}
			rows.Groups(buffer[lane*rows.Bytes:][:rows.Bytes], output+lane, first, groups, codes, e.scales[4*at:], extras)
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
			from := Lane(codes[first*w.Group*w.Bits/8+4*lane:])
			for i := range list {
				list[i] = from.Code(i, w.Bits)
			}
			group(output, g, list[:min(w.Group, w.In-g*w.Group)], scales[first+lane], extra[first+lane])
		}
	}
}
