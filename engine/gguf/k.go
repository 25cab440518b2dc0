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

// fours reads the 32 numbers of 4 bits of a group: a byte has those of two.
func fours(codes, qs []byte, g int) {
	qs, codes = qs[g/2*32:][:32], codes[:32]
	for i := 0; i <= 24; i += 8 {
		putEight(codes[i:], eight(qs[i:])>>(g%2*4)&lowHalves)
	}
}

func groupQ4K(b []byte, g int, codes []byte) (scale, minimum float32) {
	fours(codes, b[16:144], g)
	scale, least := sixes(b[4:16], g)
	return half(b) * scale, -(half(b[2:]) * least)
}

// groupQ5K is what Q4_K has, with 256 fifth bits before the others.
func groupQ5K(b []byte, g int, codes []byte) (scale, minimum float32) {
	fours(codes, b[48:176], g)
	for i := 0; i < 32; i += 8 {
		putEight(codes[i:], eight(codes[i:])|eight(b[16+i:])>>g&ones<<4)
	}
	scale, least := sixes(b[4:16], g)
	return half(b) * scale, -(half(b[2:]) * least)
}

// groupQ6K: 256 numbers' lower 4 bits, their upper 2, 16 scales of 8 bits, the block's scale.
func groupQ6K(b []byte, g int, codes []byte) (scale, minimum float32) {
	at := 16 * g
	low, high := b[at/128*64+at%64:][:16], b[128+at/128*32+at%32:][:16]
	for i := 0; i <= 8; i += 8 { // from −32…31 to 96…159
		putEight(codes[i:], (eight(high[i:])>>(at%128/32*2)&lowTwo<<4|eight(low[i:])>>(at%128/64*4)&lowHalves)+96*ones)
	}
	return half(b[208:]) * float32(int8(b[192+g])), 0
}
