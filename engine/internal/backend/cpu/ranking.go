package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A ranking makes keys of elements: whole numbers of their size, in the order in which the elements are to
// stand. NaN has the greatest key of a rising order, and the zeros have the same one.
type ranking struct {
	size  int    // of an element
	sign  uint64 // its highest bit; 0 of a type without a sign
	inf   uint64 // infinity, beyond which are NaNs; 0 of integers
	float uint64 // all bits, of a float: its bits fall where the sign is set
	flip  uint64 // all bits, of a falling order
}

func rankingOf(t dtype.Type, falling bool) *ranking {
	r := &ranking{size: t.Size()}
	if t.Signed() {
		r.sign = 1 << (8*r.size - 1)
	}
	if t.Float() {
		r.float = ^uint64(0)
		r.inf = map[dtype.Type]uint64{dtype.F16: 0x7c00, dtype.BF16: 0x7f80, dtype.F32: 0x7f800000, dtype.F64: 0x7ff << 52}[t]
	}
	if falling {
		r.flip = ^uint64(0)
	}
	return r
}

type word interface {
	uint8 | uint16 | uint32 | uint64
}

// keys makes the keys of the elements of a row from place at on. It says whether one is −0 or NaN, so that
// elements of other bits may have its key.
func (r *ranking) keys(to []uint64, row unsafe.Pointer, at int) (shared bool) {
	row = unsafe.Add(row, at*r.size)
	switch r.size {
	case 1:
		return keysOf[uint8](r, to, row)
	case 2:
		return keysOf[uint16](r, to, row)
	case 4:
		return keysOf[uint32](r, to, row)
	}
	return keysOf[uint64](r, to, row)
}

func keysOf[U word](r *ranking, to []uint64, row unsafe.Pointer) (shared bool) {
	sign, inf, float, flip, top := U(r.sign), U(r.inf), U(r.float), U(r.flip), (8*r.size-1)&63
	for i, b := range unsafe.Slice((*U)(row), len(to)) {
		if size := b &^ sign & float; size > inf || b == sign && float != 0 {
			shared = true
			if b = 0; size > inf {
				b = sign - 1
			}
		}
		to[i] = uint64(b ^ (sign | -(b>>top)&float) ^ flip)
	}
	return shared
}

// elementsOfKeys writes the elements that keys were made of to a row, from place at on. Those with a key in
// common have the bits of one.
func elementsOfKeys[E sortKey](r *ranking, row unsafe.Pointer, at int, keys []E) {
	row = unsafe.Add(row, at*r.size)
	switch r.size {
	case 1:
		fromKeys[uint8](r, row, keys)
	case 2:
		fromKeys[uint16](r, row, keys)
	case 4:
		fromKeys[uint32](r, row, keys)
	default:
		fromKeys[uint64](r, row, keys)
	}
}

func fromKeys[U word, E sortKey](r *ranking, row unsafe.Pointer, keys []E) {
	sign, float, flip, top := U(r.sign), U(r.float), U(r.flip), (8*r.size-1)&63
	x := unsafe.Slice((*U)(row), len(keys))
	for i, key := range keys {
		k := U(key) ^ flip
		x[i] = k ^ (sign | (k>>top-1)&float)
	}
}
