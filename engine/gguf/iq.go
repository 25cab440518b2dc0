package gguf

import (
	_ "embed"
	"encoding/binary"
	"math/bits"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// The IQ types of fewer than 4 bits name runs of 4 or 8 numbers by their places in grids, and have the signs
// apart. All numbers of a grid are codes of a table of package quant: places of the magnitude, 8 more for a
// number below 0.

// gridBytes are the grids of ggml, as tests/peers/gguf_files.py packs them: 8 magnitudes of 2 bits or 4 of 3
// bits in two bytes, the first in the lowest bits.
//
//go:embed grids.bin
var gridBytes []byte

// A grid begins at a place in gridBytes.
type grid int

const (
	gridIQ2XXS grid = 0
	gridIQ2XS       = gridIQ2XXS + 2*256
	gridIQ2S        = gridIQ2XS + 2*512
	gridIQ3XXS      = gridIQ2S + 2*1024
	gridIQ3S        = gridIQ3XXS + 2*256
	gridIQ1S        = gridIQ3S + 2*512
)

// eight are the 8 numbers of a place in the grid, with a sign each.
func (g grid) eight(place int, signs byte) uint64 {
	x := uint64(binary.LittleEndian.Uint16(gridBytes[int(g)+2*place:]))
	x = (x | x<<24) & 0x000000ff000000ff
	x = (x | x<<12) & 0x000f000f000f000f
	return (x|x<<6)&lowTwo | spread(signs)<<3
}

// fours are the 4 numbers of each of two places, with a sign each.
func (g grid) fours(place, next int, signs byte) uint64 {
	four := func(place int) uint64 {
		x := uint64(binary.LittleEndian.Uint16(gridBytes[int(g)+2*place:]))
		x = (x | x<<10) & 0x003f003f
		return (x | x<<5) & 0x07070707
	}
	return four(place) | four(next)<<32 | spread(signs)<<3
}

// sevenSigns are 8 signs of which an even number is set.
func sevenSigns(x uint32) byte {
	x &= 127
	return byte(x | uint32(bits.OnesCount32(x)&1)<<7)
}

// groupIQ4XS: the block's scale, the upper 2 and lower 4 bits of 8 others, 256 places in a table.
func groupIQ4XS(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for i := range 2 {
		twoRuns(codes, i, 2+i, eight(b[8+16*g+8*i:]))
	}
	s := b[4+g/2]>>(g%2*4)&15 | byte(binary.LittleEndian.Uint16(b[2:])>>(2*g)&3<<4)
	return half(b) * float32(int(s)-32), 0
}

// groupIQ2XXS: the block's scale; for each group 4 places of 8 bits, 4 times 7 signs, a scale of 4 bits.
func groupIQ2XXS(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	places, signs := b[2+8*g:], binary.LittleEndian.Uint32(b[6+8*g:])
	for l := range 4 {
		codes.Put4(l, gridIQ2XXS.eight(int(places[l]), sevenSigns(signs>>(7*l))))
	}
	return half(b) * (0.5 + float32(signs>>28)) * 0.25, 0
}

// groupIQ2XS: the block's scale, places of 9 bits with 7 signs, 16 scales of 4 bits.
func groupIQ2XS(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for l := range 2 {
		x := binary.LittleEndian.Uint16(b[2+4*g+2*l:])
		codes.Put4(l, gridIQ2XS.eight(int(x&511), sevenSigns(uint32(x>>9))))
	}
	return half(b) * (0.5 + float32(b[66+g/2]>>(g%2*4)&15)) * 0.25, 0
}

// groupIQ2S: the block's scale, the lower 8 bits of places, 8 signs of each, 2 upper bits, 16 scales of 4
// bits.
func groupIQ2S(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for l := range 2 {
		at := 2*g + l
		high := int(b[66+g/2]) >> (at % 4 * 2) & 3
		codes.Put4(l, gridIQ2S.eight(int(b[2+at])|high<<8, b[34+at]))
	}
	return half(b) * (0.5 + float32(b[74+g/2]>>(g%2*4)&15)) * 0.25, 0
}

// groupIQ3XXS: the block's scale, 64 places of 8 bits; for each group 4 times 7 signs, a scale of 4 bits.
func groupIQ3XXS(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	signs := binary.LittleEndian.Uint32(b[66+4*g:])
	for l := range 4 {
		codes.Put4(l, gridIQ3XXS.fours(int(b[2+8*g+2*l]), int(b[3+8*g+2*l]), sevenSigns(signs>>(7*l))))
	}
	return half(b) * (0.5 + float32(signs>>28)) * 0.5, 0
}

// groupIQ3S: the block's scale, the lower 8 bits of 64 places, their upper bits, 256 signs, 8 scales of 4
// bits.
func groupIQ3S(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	place := func(l int) int { return int(b[2+8*g+l]) | int(b[66+g])>>l&1<<8 }
	for l := range 4 {
		codes.Put4(l, gridIQ3S.fours(place(2*l), place(2*l+1), b[74+4*g+l]))
	}
	return half(b) * float32(1+2*(b[106+g/2]>>(g%2*4)&15)), 0
}

// ternary are those of a place in the grid of three values, each an eighth more or less. The codes are those
// of magnitudes 1/8, 7/8 and 9/8.
func ternary(place int, less bool) (codes uint64) {
	x := gridIQ1S.eight(place, 0)
	list := [3]byte{1 | 8, 0, 2} // −7/8, 1/8, 9/8
	if less {
		list = [3]byte{2 | 8, 0 | 8, 1} // −9/8, −1/8, 7/8
	}
	for i := range 8 {
		codes |= uint64(list[byte(x>>(8*i))%3]) << (8 * i)
	}
	return codes
}

// groupIQ1S: the block's scale, the lower 8 bits of 32 places; for each group 4 times 3 upper bits, a scale
// of 3 bits, and whether it is an eighth less.
func groupIQ1S(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	h := binary.LittleEndian.Uint16(b[34+2*g:])
	for l := range 4 {
		codes.Put4(l, ternary(int(b[2+4*g+l])|int(h>>(3*l)&7)<<8, h>>15 == 1))
	}
	return half(b) * float32(2*(h>>12&7)+1), 0
}

// groupIQ1M: the lower 8 bits of 32 places, 3 upper bits of each and whether it is an eighth less, 16 scales
// of 3 bits in four words, whose upper 4 bits are the block's scale.
func groupIQ1M(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	var block uint16
	for i := range 4 {
		block |= binary.LittleEndian.Uint16(b[48+2*i:]) >> 12 << (4 * i)
	}
	for l := range 2 {
		h := b[32+g] >> (4 * l)
		codes.Put4(l, ternary(int(b[2*g+l])|int(h&7)<<8, h>>3&1 == 1))
	}
	s := binary.LittleEndian.Uint16(b[48+g/4*2:]) >> (g % 4 * 3) & 7
	return dtype.F16ToFloat32(block) * float32(2*s+1), 0
}
