package gguf

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/quant"
)

// The K types are blocks of 256 elements in groups of 16 or 32, each with a scale (and a minimum) of its own,
// a few bits that multiply those of the block.

// twos are 8 numbers of 2 bits from number i on: a byte has those of four runs of 32.
func twos(qs []byte, i int) uint64 { return eight(qs[i/128*32+i%32:]) >> (i % 128 / 32 * 2) & lowTwo }

// groupQ2K: 16 scales and minimums of 4 bits, 256 numbers of 2 bits, the block's two.
func groupQ2K(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for i := range 2 {
		codes.Put4(i, twos(b[16:80], 16*g+8*i))
	}
	return half(b[80:]) * float32(b[g]&15), -(half(b[82:]) * float32(b[g]>>4))
}

// groupQ3K: 256 third bits, 256 numbers of 2 bits, 16 scales of 6 bits, the block's scale.
func groupQ3K(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for i := range 2 { // less 4 without a third bit
		third := eight(b[g*16%32+8*i:]) >> (g / 2) & ones
		codes.Put4(i, twos(b[32:96], 16*g+8*i)+third<<2+4*ones)
	}
	packed := b[96:108]
	low := packed[g%8] >> (g / 8 * 4) & 15
	return half(b[108:]) * float32(int(low|packed[8+g%4]>>(g/4*2)&3<<4)-32), 0
}

// scalesK are those of Q4_K and Q5_K, and the minimums: the block's two times 8 of 6 bits each. The upper two
// of the last four lie over the first four.
func scalesK(b []byte, scales, minimums quant.Lane) {
	d, least := half(b), half(b[2:])
	x, y, last := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	const lowFour, upper = lowHalves & math.MaxUint32, 0x30 * (ones & math.MaxUint32)
	s := uint64(x&(lowFour|upper)) | uint64(last&lowFour|x>>2&upper)<<32
	m := uint64(y&(lowFour|upper)) | uint64(last>>4&lowFour|y>>2&upper)<<32
	for g := range 8 {
		scales.PutFloat(g, d*float32(byte(s)))
		minimums.PutFloat(g, -(least * float32(byte(m))))
		s, m = s>>8, m>>8
	}
}

// decodeQ4K: 256 numbers of 4 bits: 32 bytes have those of two groups.
func decodeQ4K(_ *kind, b []byte, _ int, codes, scales, minimums quant.Lane) {
	for i := range 4 {
		b, to := b[16+8*i:][:104], codes.From(8*i, 4)[:28*quant.Line+4]
		twoRuns(to, 0, 4, eight(b))
		twoRuns(to, 8, 12, eight(b[32:]))
		twoRuns(to, 16, 20, eight(b[64:]))
		twoRuns(to, 24, 28, eight(b[96:]))
	}
	scalesK(b, scales, minimums)
}

// decodeQ5K: what Q4_K has, with 256 fifth bits before the others.
func decodeQ5K(_ *kind, b []byte, _ int, codes, scales, minimums quant.Lane) {
	for i := range 4 {
		fifth, b, to := eight(b[16+8*i:]), b[48+8*i:][:104], codes.From(8*i, 8)[:57*quant.Line+4]
		for at := 0; at < 128; at += 32 {
			x := eight(b[at:])
			to.Put8(at/4, x&lowHalves|fifth&ones<<4)
			to.Put8(at/4+4, x>>4&lowHalves|fifth>>1&ones<<4)
			fifth >>= 2
		}
	}
	scalesK(b, scales, minimums)
}

// decodeQ6K: 256 numbers' lower 4 bits, their upper 2, 16 scales of 8 bits, the block's scale.
func decodeQ6K(_ *kind, b []byte, _ int, codes, scales, _ quant.Lane) {
	for at := 0; at < 256; at += 128 {
		for i := 0; i < 32; i += 8 { // from −32…31 to 96…159
			low, high, to := b[at/2+i:][:40], eight(b[128+at/4+i:]), codes.From(at+i, 8)[:25*quant.Line+4]
			x, y := eight(low), eight(low[32:])
			to.Put8(0, (high<<4&(3*0x10*ones)|x&lowHalves)+96*ones)
			to.Put8(4, (high<<2&(3*0x10*ones)|y&lowHalves)+96*ones)
			to.Put8(8, (high&(3*0x10*ones)|x>>4&lowHalves)+96*ones)
			to.Put8(12, (high>>2&(3*0x10*ones)|y>>4&lowHalves)+96*ones)
		}
	}
	d := half(b[208:])
	for g, s := range b[192:208] {
		scales.PutFloat(g, d*float32(int8(s)))
	}
}
