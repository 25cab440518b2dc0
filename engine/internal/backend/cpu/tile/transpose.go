package tile

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// Some inputs are nearly transposed: neighbours along the inner dimension are far apart in memory, and
// neighbours along the next dimension are side by side. A row of such an input touches a cache line for
// each element. So a block of rows is read at once and transposed into memory of the state, where the next
// rows find their elements. This helps only if the rows of a block are evaluated one after the other, tile
// by tile: [Program.BlockWidth] tells callers.

// BlockRows is the number of rows that are transposed together: the float32 in a cache line.
const BlockRows = 16

// minTransposed is the shortest run for which a block is transposed.
const minTransposed = 8

// A held is the transposed block of an input: n elements of its rows, from element first and row row on;
// none if n is 0.
type held struct {
	row, first, n int
}

// transposed reports whether w is read in blocks.
func (w walk) transposed() bool {
	k := len(w.dims)
	return k >= 2 && w.dims[k-2].stride == 1 && w.dims[k-1].stride > 1 && w.dims[k-2].size > 1 && w.dims[k-1].size > 1
}

// transposeBlock reserves memory for a block of a transposed input.
func (c *compiler) transposeBlock(w walk, size int) int {
	if !w.transposed() {
		return -1
	}
	c.prog.tiled = true
	return c.fixed(BlockRows * Len * size)
}

// BlockWidth returns the length of the rows that should be evaluated in blocks of [BlockRows], tile by
// tile; 0 if the order does not matter.
func (p *Program) BlockWidth() int {
	for i := range p.inputs {
		if in := &p.inputs[i]; in.block >= 0 {
			return in.walk.dims[len(in.walk.dims)-1].size
		}
	}
	return 0
}

// fromBlock returns n elements of transposed input i from linear index start on; they are in one row.
// s.coord holds the coordinates of start, offset its offset in memory.
func (s *State) fromBlock(i, offset, n int) unsafe.Pointer {
	in := &s.prog.inputs[i]
	dims := in.walk.dims
	k := len(dims) - 2
	row, first := s.coord[k], s.coord[k+1]
	within := row % BlockRows
	block := unsafe.Add(s.regs, in.block)
	// The offset of its first element identifies a block, outer dimensions included.
	want := held{offset - within, first, n}
	if have := s.have[i]; have != want {
		rows := min(BlockRows, dims[k].size-(row-within))
		transpose(block, unsafe.Add(s.in[i], want.row*int(in.size)), dims[k+1].stride, rows, n, in.size)
		s.have[i] = want
	}
	return unsafe.Add(block, uintptr(within*Len)*in.size)
}

// transpose writes n elements of each row to dst, the rows Len elements apart. In src the elements of a row
// are stride apart, and rows are side by side.
func transpose(d, src unsafe.Pointer, stride, rows, n int, size uintptr) {
	switch size {
	case 1:
		transposeElements[uint8](d, src, stride, rows, n)
	case 2:
		transposeElements[uint16](d, src, stride, rows, n)
	case 4:
		micro.Transpose((*float32)(d), Len, (*float32)(src), stride, n, rows)
	case 8:
		transposeElements[uint64](d, src, stride, rows, n)
	}
}

func transposeElements[T uint8 | uint16 | uint64](d, src unsafe.Pointer, stride, rows, n int) {
	out := unsafe.Slice((*T)(d), (rows-1)*Len+n)
	step := stride * int(unsafe.Sizeof(out[0]))
	if rows == BlockRows {
		for i := range n {
			x := (*[BlockRows]T)(unsafe.Add(src, i*step))
			o := out[i : i+(BlockRows-1)*Len+1]
			for r, v := range x {
				o[r*Len] = v
			}
		}
		return
	}
	for i := range n {
		for r, v := range unsafe.Slice((*T)(unsafe.Add(src, i*step)), rows) {
			out[r*Len+i] = v
		}
	}
}
