package tile

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// An input whose neighbours along the inner dimension lie far apart, while those along the next dimension lie
// side by side, is read column by column: a cache line holds elements of many rows and one of each. So such
// an input is read a block of rows at a time, transposed into the state's own memory, and the next rows find
// theirs there. That helps only if rows of a block are evaluated one after the other, tile under tile:
// [Program.BlockWidth] tells callers.

// BlockRows is how many rows are transposed together: a cache line of float32.
const BlockRows = 16

// minTransposed is the shortest run that is worth a block.
const minTransposed = 8

// held names a block that was transposed: elements [first, first+n) of rows from row on. An n of 0 is none.
type held struct {
	row, first, n int
}

// transposed says whether w is read in blocks.
func (w walk) transposed() bool {
	k := len(w.dims)
	return k >= 2 && w.dims[k-2].stride == 1 && w.dims[k-1].stride > 1 && w.dims[k-2].size > 1 && w.dims[k-1].size > 1
}

// transposeBlock reserves a block for a transposed input.
func (c *compiler) transposeBlock(w walk, size int) int {
	if !w.transposed() {
		return -1
	}
	c.prog.tiled = true
	return c.fixed(BlockRows * Len * size)
}

// BlockWidth returns the length of rows of the iteration space that should be evaluated in blocks of
// [BlockRows], tile under tile, or 0 if the order does not matter.
func (p *Program) BlockWidth() int {
	for i := range p.inputs {
		if in := &p.inputs[i]; in.block >= 0 {
			return in.walk.dims[len(in.walk.dims)-1].size
		}
	}
	return 0
}

// fromBlock returns elements start to start+n of transposed input i, which all lie in one row. s.coord holds
// the place of start, whose offset is given.
func (s *State) fromBlock(i, offset, n int) unsafe.Pointer {
	in := &s.prog.inputs[i]
	dims := in.walk.dims
	k := len(dims) - 2
	row, first := s.coord[k], s.coord[k+1]
	within := row % BlockRows
	block := unsafe.Add(s.regs, in.block)
	// The offset of the block's first element names the block, outer dimensions included.
	want := held{offset - within, first, n}
	if have := s.have[i]; have != want {
		rows := min(BlockRows, dims[k].size-(row-within))
		transpose(block, unsafe.Add(s.in[i], want.row*int(in.size)), dims[k+1].stride, rows, n, in.size)
		s.have[i] = want
	}
	return unsafe.Add(block, uintptr(within*Len)*in.size)
}

// transpose writes n elements of each of rows rows, Len apart; in src a row's elements lie stride apart and
// those of the rows side by side.
func transpose(d, src unsafe.Pointer, stride, rows, n int, size uintptr) {
	switch size {
	case 1:
		transposeElements[uint8](d, src, stride, rows, n)
	case 2:
		transposeElements[uint16](d, src, stride, rows, n)
	case 4:
		done := 0
		if rows == BlockRows && micro.HasTranspose8() {
			for ; done+8 <= n; done += 8 {
				micro.Transpose8(unsafe.Add(d, 4*done), 4*Len, unsafe.Add(src, 4*done*stride), 4*stride, BlockRows/8)
			}
		}
		if done < n {
			transposeElements[uint32](unsafe.Add(d, 4*done), unsafe.Add(src, 4*done*stride), stride, rows, n-done)
		}
	case 8:
		transposeElements[uint64](d, src, stride, rows, n)
	}
}

func transposeElements[T uint8 | uint16 | uint32 | uint64](d, src unsafe.Pointer, stride, rows, n int) {
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
