package gguf

import (
	"encoding/binary"
	"math"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// A decoder reads the groups of a block of 256, or of up to 8 blocks of 32: their codes, as the type's
// quant.Config says what they stand for, scales and minimums. ggml multiplies and adds in the same order, so
// weights are equal bit for bit. Products are converted to float32 before a sum, so that no processor fuses
// the two.
type decoder func(k *kind, src []byte, groups int, codes, scales, minimums quant.Lane)

// each is the decoder of a function that reads group g of a block.
func each(group func(block []byte, g int, codes quant.Lane) (scale, minimum float32)) decoder {
	return func(k *kind, src []byte, groups int, codes, scales, minimums quant.Lane) {
		for g := range groups {
			scale, minimum := group(src, g, codes.From(g*k.codes.Group, k.codes.Bits))
			scales.PutFloat(g, scale)
			if minimums != nil {
				minimums.PutFloat(g, minimum)
			}
		}
	}
}

// decodeAs decodes blocks into the bytes of f32, f16 or bf16.
func (k *kind) decodeAs(dt dtype.Type, dst, src []byte) {
	var values [128]float32
	codes, scales, minimums := make(quant.Lane, 64*quant.Line), make(quant.Lane, 16*quant.Line), make(quant.Lane, 16*quant.Line)
	table, size, middle := quant.Codes(k.codes.Table), k.codes.Group, 1<<(k.codes.Bits-1)
	list := values[:size]
	for ; len(src) > 0; src = src[k.bytes:] {
		k.decode(k, src, k.block/size, codes, scales, minimums)
		for g := range k.block / size {
			scale, minimum, codes := scales.Float(g), minimums.Float(g), codes.From(g*size, k.codes.Bits)
			for i := range list {
				switch code := codes.Code(i, k.codes.Bits); k.codes.Scheme {
				case quant.Table:
					list[i] = scale * table[code]
				case quant.Minimum:
					list[i] = float32(scale*float32(code)) + minimum
				default:
					list[i] = scale * float32(int(code)-middle)
				}
			}
			put(dt, dst, list)
			dst = dst[size*dt.Size():]
		}
	}
}

// put writes numbers as f32, f16 or bf16.
func put(dt dtype.Type, dst []byte, values []float32) {
	for i, v := range values {
		switch dt {
		case dtype.F16:
			binary.LittleEndian.PutUint16(dst[2*i:], dtype.Float32ToF16(v))
		case dtype.BF16:
			binary.LittleEndian.PutUint16(dst[2*i:], dtype.Float32ToBF16(v))
		default:
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
}

// half reads an f16.
func half(b []byte) float32 { return dtype.F16ToFloat32(binary.LittleEndian.Uint16(b)) }

// Eight codes at a time.
const (
	lowHalves = 0x0f0f0f0f0f0f0f0f
	lowTwo    = 0x0303030303030303
	ones      = 0x0101010101010101
	signs     = 0x8080808080808080
)

func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// spread makes bytes of 0 or 1 of 8 bits.
func spread(b byte) uint64 {
	return (uint64(b)*ones&0x8040201008040201 + 0x7f*ones) >> 7 & ones
}

// twoRuns writes 16 codes of 4 bits, the lower halves of bytes before the others.
func twoRuns(codes quant.Lane, lower, upper int, x uint64) {
	codes.Put4(lower, x&lowHalves)
	codes.Put4(upper, x>>4&lowHalves)
}

// thirtyTwo is the decoder of blocks of 32: an f16 that is their scale, another one if they have a minimum,
// and codes from a byte on.
func thirtyTwo(at int, read func(k *kind, src []byte, blocks int, codes quant.Lane)) decoder {
	return func(k *kind, src []byte, groups int, codes, scales, minimums quant.Lane) {
		read(k, src[at:], groups, codes)
		k.halves(scales, src, groups)
		if minimums != nil {
			k.halves(minimums, src[2:], groups)
		}
	}
}

// halves reads an f16 of each block.
func (k *kind) halves(to quant.Lane, src []byte, blocks int) {
	for i := range blocks {
		b := src[i*k.bytes:][:2]
		h := uint32(binary.LittleEndian.Uint16(b))
		v := math.Float32frombits(h&0x8000<<16 | h&0x7fff<<13 + (127-15)<<23)
		if exp := h >> 10 & 31; exp-1 >= 30 { // not normal
			v = half(b)
		}
		to.PutFloat(i, v)
	}
}

// nibbles reads 32 numbers of 4 bits: the first half of them are the lower halves of bytes.
func nibbles(k *kind, src []byte, blocks int, codes quant.Lane) {
	for i := range blocks {
		b, to := src[i*k.bytes:][:16], codes.From(32*i, 4)[:3*quant.Line+4]
		twoRuns(to, 0, 2, eight(b))
		twoRuns(to, 1, 3, eight(b[8:]))
	}
}

// fives reads 32 fifth bits, then the others like nibbles. Without a minimum −16…15 are 112…143.
func fives(k *kind, src []byte, blocks int, codes quant.Lane) {
	add := uint64((128 - 16) * ones)
	if k.codes.Scheme == quant.Minimum {
		add = 0
	}
	for i := range blocks {
		b, to := src[i*k.bytes:][:20], codes.From(32*i, 8)[:7*quant.Line+4]
		x, y := eight(b[4:]), eight(b[12:])
		to.Put8(0, (x&lowHalves|spread(b[0])<<4)+add)
		to.Put8(1, (y&lowHalves|spread(b[1])<<4)+add)
		to.Put8(2, (x>>4&lowHalves|spread(b[2])<<4)+add)
		to.Put8(3, (y>>4&lowHalves|spread(b[3])<<4)+add)
	}
}

// eights reads 32 numbers of 8 bits, from −128…127 to 0…255.
func eights(k *kind, src []byte, blocks int, codes quant.Lane) {
	for i := range blocks {
		b, to := src[i*k.bytes:][:32], codes.From(32*i, 8)[:7*quant.Line+4]
		to.Put8(0, eight(b)^signs)
		to.Put8(1, eight(b[8:])^signs)
		to.Put8(2, eight(b[16:])^signs)
		to.Put8(3, eight(b[24:])^signs)
	}
}

// decodeMXFP4: an exponent and 32 numbers of 4 bits.
func decodeMXFP4(k *kind, src []byte, groups int, codes, scales, _ quant.Lane) {
	nibbles(k, src[1:], groups, codes)
	for i := range groups {
		scales.PutFloat(i, float32(math.Ldexp(1, int(src[i*k.bytes])-127)))
	}
}

// groupTQ1 has five numbers of three values in a byte, and four in each of the last ones.
func groupTQ1(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	var list [8]byte
	for i := range 128 {
		at, power := g*128+i, 0
		var q byte
		switch {
		case at < 160:
			q, power = b[at%32], at/32
		case at < 240:
			q, power = b[32+at%160%16], at%160/16
		default:
			q, power = b[48+at%4], (at-240)/4
		}
		for range power {
			q *= 3
		}
		list[i%8] = byte(uint16(q)*3>>8) + 7
		if i%8 == 7 {
			codes.Put4(i/8, eight(list[:]))
		}
	}
	return half(b[52:]), 0
}

func groupTQ2(b []byte, g int, codes quant.Lane) (scale, minimum float32) {
	for i := range 16 {
		codes.Put4(i, twos(b, 128*g+8*i)+7*ones)
	}
	return half(b[64:]), 0
}
