package gguf

// The K types are blocks of 256 elements in groups of 16 or 32, each with a scale (and a minimum) of its own,
// a few bits that multiply those of the block.

// twoBits is number i of 2 bits: a byte has those of four runs of 32.
func twoBits(qs []byte, i int) byte { return qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3 }

// twos reads the n numbers of 2 bits from number i on, all of one run.
func twos(codes, qs []byte, i int) {
	qs, shift := qs[i/128*32+i%32:], i%128/32*2
	for j := 0; j < len(codes); j += 8 {
		putEight(codes[j:], eight(qs[j:])>>shift&lowTwo)
	}
}

// groupQ2K: 16 scales and minimums of 4 bits, 256 numbers of 2 bits, the block's two.
func groupQ2K(b []byte, g int, codes []byte) (scale, minimum float32) {
	twos(codes, b[16:80], 16*g)
	return half(b[80:]) * float32(b[g]&15), -(half(b[82:]) * float32(b[g]>>4))
}

// groupQ3K: 256 third bits, 256 numbers of 2 bits, 16 scales of 6 bits, the block's scale.
func groupQ3K(b []byte, g int, codes []byte) (scale, minimum float32) {
	packed := b[96:108]
	twos(codes, b[32:96], 16*g)
	for i := 0; i < 16; i += 8 { // less 4 without a third bit
		third := eight(b[g*16%32+i:]) >> (g / 2) & ones
		putEight(codes[i:], eight(codes[i:])+third<<2+4*ones)
	}
	low := packed[g%8] >> (g / 8 * 4) & 15
	return half(b[108:]) * float32(int(low|packed[8+g%4]>>(g/4*2)&3<<4)-32), 0
}

// sixes reads one of the 8 scales and of the 8 minimums of Q4_K and Q5_K, 6 bits each: the upper two of the
// last four lie over the first four.
func sixes(b []byte, g int) (scale, least float32) {
	if g < 4 {
		return float32(b[g] & 63), float32(b[g+4] & 63)
	}
	return float32(b[g+4]&15 | b[g-4]>>6<<4), float32(b[g+4]>>4 | b[g]>>6<<4)
}

// scalesK are those of Q4_K and Q5_K, and the minimums: the block's two times those of each group.
func scalesK(b []byte, scales, minimums []float32) {
	d, least := half(b), half(b[2:])
	scales, minimums = scales[:8], minimums[:8]
	for g := range scales {
		s, m := sixes(b[4:16], g)
		scales[g], minimums[g] = d*s, -(least * m)
	}
}

// fours reads 256 numbers of 4 bits: 32 bytes have those of two groups.
func fours(codes, qs []byte) {
	codes, qs = codes[:256], qs[:128]
	for i := 0; i <= 120; i += 8 {
		x := eight(qs[i:])
		at := i/32*64 + i%32
		putEight(codes[at:], x&lowHalves)
		putEight(codes[at+32:], x>>4&lowHalves)
	}
}

func decodeQ4K(b, codes []byte, scales, minimums []float32) {
	fours(codes, b[16:144])
	scalesK(b, scales, minimums)
}

// decodeQ5K: what Q4_K has, with 256 fifth bits before the others.
func decodeQ5K(b, codes []byte, scales, minimums []float32) {
	fours(codes, b[48:176])
	for i := 0; i < 32; i += 8 {
		fifth := eight(b[16+i:])
		for g := range 8 {
			at := codes[32*g+i:][:8]
			putEight(at, eight(at)|fifth>>g&ones<<4)
		}
	}
	scalesK(b, scales, minimums)
}

// decodeQ6K: 256 numbers' lower 4 bits, their upper 2, 16 scales of 8 bits, the block's scale.
func decodeQ6K(b, codes []byte, scales, _ []float32) {
	for at := 0; at < 128; at += 64 { // halves of the block
		low, codes := b[at:][:64], codes[2*at:][:128]
		for i := 0; i <= 24; i += 8 { // from −32…31 to 96…159
			high, x, y := eight(b[128+at/2+i:]), eight(low[i:]), eight(low[32+i:])
			putEight(codes[i:], (high&lowTwo<<4|x&lowHalves)+96*ones)
			putEight(codes[32+i:], (high>>2&lowTwo<<4|y&lowHalves)+96*ones)
			putEight(codes[64+i:], (high>>4&lowTwo<<4|x>>4&lowHalves)+96*ones)
			putEight(codes[96+i:], (high>>6&lowTwo<<4|y>>4&lowHalves)+96*ones)
		}
	}
	d := half(b[208:])
	for g := range scales {
		scales[g] = d * float32(int8(b[192+g]))
	}
}
