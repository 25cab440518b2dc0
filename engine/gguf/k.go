package gguf

// The K types are blocks of 256 elements in parts of 16 or 32, each with a scale (and a least value) of its
// own, a few bits that multiply those of the block.

// decodeQ2K decodes 16 scales and least values of 4 bits, 256 numbers of 2 bits, the block's two.
func decodeQ2K(dst []float32, src []byte) {
	scales, qs, d, m := src[:16], src[16:80], half(src[80:]), half(src[82:])
	for i := range dst {
		part, q := scales[i/16], twoBits(qs, i)
		dst[i] = float32(float32(d*float32(part&15))*float32(q)) - float32(m*float32(part>>4))
	}
}

// decodeQ3K decodes 256 third bits, 256 numbers of 2 bits, 16 scales of 6 bits, the block's scale.
func decodeQ3K(dst []float32, src []byte) {
	high, qs, packed, d := src[:32], src[32:96], src[96:108], half(src[108:])
	var scales [16]float32
	for i := range scales {
		low := packed[i%8] >> (i / 8 * 4) & 15
		scales[i] = d * float32(int(low|packed[8+i%4]>>(i/4*2)&3<<4)-32)
	}
	for i := range dst {
		q := int(twoBits(qs, i))
		if high[i%32]>>(i/32)&1 == 0 {
			q -= 4
		}
		dst[i] = scales[i/16] * float32(q)
	}
}

// twoBits is number i of 2 bits: a byte has those of four runs of 32.
func twoBits(qs []byte, i int) byte { return qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3 }

// sixes reads the 8 scales and the 8 least values of Q4_K and Q5_K, 6 bits each: the upper two of the last
// four lie over the first four.
func sixes(b []byte) (scales, least [8]float32) {
	for i := range 4 {
		scales[i], least[i] = float32(b[i]&63), float32(b[i+4]&63)
		scales[i+4] = float32(b[i+8]&15 | b[i]>>6<<4)
		least[i+4] = float32(b[i+8]>>4 | b[i+4]>>6<<4)
	}
	return scales, least
}

// fours is number i of 4 bits: a byte has those of two runs of 32.
func fours(qs []byte, i int) byte { return qs[i/64*32+i%32] >> (i % 64 / 32 * 4) & 15 }

func decodeQ4K(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	scales, least := sixes(src[4:16])
	for i := range dst {
		dst[i] = float32(float32(d*scales[i/32])*float32(fours(src[16:], i))) - float32(m*least[i/32])
	}
}

// decodeQ5K decodes what Q4_K has, with 256 fifth bits before the others.
func decodeQ5K(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	scales, least := sixes(src[4:16])
	for i := range dst {
		q := fours(src[48:], i) | src[16+i%32]>>(i/32)&1<<4
		dst[i] = float32(float32(d*scales[i/32])*float32(q)) - float32(m*least[i/32])
	}
}

// decodeQ6K decodes 256 numbers' lower 4 bits, their upper 2, 16 scales of 8 bits, the block's scale.
func decodeQ6K(dst []float32, src []byte) {
	low, high, scales, d := src[:128], src[128:192], src[192:208], half(src[208:])
	for i := range dst {
		q := low[i/128*64+i%64] >> (i % 128 / 64 * 4) & 15
		q |= twoBits(high, i) << 4
		dst[i] = float32(d*float32(int8(scales[i/16]))) * float32(int(q)-32)
	}
}
