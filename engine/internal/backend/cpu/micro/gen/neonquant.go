package main

import "fmt"

// emitQuantNEON is emitQuant for arm64; micro.QuantInput describes the layout of the digits.
func emitQuantNEON(f *file) {
	digitsNEON(f)
	for _, bits := range []int{8, 4} {
		for _, t := range packTypes[:2] {
			for _, rows := range []int{1, 2} {
				quantDotNEON(f, bits, t.name, t.size, rows, true)
				f.enter("quantDots[1][%d][%s][%d][1] = quantDot%dx%d%sNEON", bits/8, t.name, rows, bits, rows, t.name)
			}
			quantDotNEON(f, bits, t.name, t.size, 1, false)
			quantFloatNEON(f, bits, t.name, t.size)
			dequantizeNEON(f, bits, t.name, t.size)
			f.enter("quantDots[0][%d][%s][1][1] = quantMull%d%sNEON", bits/8, t.name, bits, t.name)
			f.enter("quantFloats[isa.NEON][%d][%s][0] = quantFloat%d%sNEON", bits/8, t.name, bits, t.name)
			f.enter("dequantizes[isa.NEON][%d][%s][0] = dequantize%d%sNEON", bits/8, t.name, bits, t.name)
		}
	}
}

// digitsNEON is digits for arm64.
func digitsNEON(f *file) {
	fn := f.neon("makes fixed-point numbers of a group; see gen/neonquant.go.", "digits", "to *byte, x *float32, n int, ok *int")
	fn.params("to", "x", "n", "ok")
	fn.zero(0, 1)
	fn.constant(0x7fffffff, 1)
	fn.op("MOVD", "R1", "R4")
	fn.op("MOVD", "R2", "R5")
	for range fn.loop(fn.label("largest"), "R5", 4) {
		fn.word("ldr q2, [x4], #16")
		fn.word("and v2.16b, v2.16b, v1.16b")
		fn.word("umax v0.4s, v0.4s, v2.4s")
	}
	fn.word("umaxv s0, v0.4s")
	fn.op("FMOVS", "F0", "R5")
	none, scaled := fn.label("none"), fn.label("scaled")
	fn.zero(16, 2) // 1/unit and unit, both 0 for a group of zeros
	fn.op("CBZW", "R5", scaled)
	for _, limit := range []struct {
		bits   uint32
		branch string
	}{{0x7f800000, "BHS"}, {0x0d800000, "BLO"}} { // infinity, 2⁻¹⁰⁰
		fn.op("MOVD", fmt.Sprintf("$0x%08x", limit.bits), "R6")
		fn.op("CMPW", "R6", "R5")
		fn.op(limit.branch, none)
	}
	fn.constant(digitRange, 18)
	fn.op("FDIVS", "F0", "F18", "F16")
	fn.op("FDIVS", "F18", "F0", "F17")
	fn.at(scaled)
	fn.word("str s17, [x0, #0]")
	fn.word("dup v16.4s, v16.s[0]")
	fn.zero(20, 4) // sums of the highest, middle and lowest digits, and zeros
	fn.op("ADD", imm(16), "R0", "R4")
	for range fn.loop(fn.label("loop"), "R2", 16) {
		for i := range 4 { // numbers in 0 to 3, middle digits in 4 to 7, lowest ones in 24 to 27
			fn.word("ldr q%d, [x1], #16", i)
			fn.word("fmul v%d.4s, v%d.4s, v16.4s", i, i)
			fn.word("fcvtns v%d.4s, v%d.4s", i, i)
			for part, d := range []int{24 + i, 4 + i} {
				fn.word("shl v%d.4s, v%d.4s, #24", d, i)
				fn.word("sshr v%d.4s, v%d.4s, #24", d, d)
				fn.word("sub v%d.4s, v%d.4s, v%d.4s", i, i, d)
				fn.word("sshr v%d.4s, v%d.4s, #8", i, i)
				fn.word("add v%d.4s, v%d.4s, v%d.4s", 22-part, 22-part, d)
			}
			fn.word("add v20.4s, v20.4s, v%d.4s", i)
		}
		for _, d := range []int{0, 4, 24} { // the lowest bytes, side by side
			fn.word("uzp1 v%d.8h, v%d.8h, v%d.8h", d, d, d+1)
			fn.word("uzp1 v%d.8h, v%d.8h, v%d.8h", d+2, d+2, d+3)
			fn.word("uzp1 v%d.16b, v%d.16b, v%d.16b", d, d, d+2)
		}
		fn.word("zip1 v1.4s, v0.4s, v24.4s")
		fn.word("zip2 v2.4s, v0.4s, v24.4s")
		fn.word("zip1 v5.4s, v4.4s, v23.4s")
		fn.word("zip2 v6.4s, v4.4s, v23.4s")
		for i := range 2 {
			for part := 1; part <= 2; part++ {
				fn.word("zip%d v3.4s, v%d.4s, v%d.4s", part, 1+i, 5+i)
				fn.word("str q3, [x4], #16")
			}
		}
	}
	for i := range 3 {
		fn.word("addv s%d, v%d.4s", 20+i, 20+i)
		fn.word("sub v%d.4s, v23.4s, v%d.4s", 20+i, 20+i)
		fn.word("str s%d, [x0, #%d]", 20+i, 4+4*i)
	}
	fn.op("MOVD", imm(1), "R5")
	fn.op("MOVD", "R5", "(R3)")
	fn.ret()
	fn.at(none)
	fn.op("MOVD", "ZR", "(R3)")
	fn.ret()
}

// A neonDot multiplies m rows of digits by a block of codes, 16 outputs in four vectors. Registers: groups,
// lines, codes, x, row, scales, zeros, zeroStep, c, ldc in R0 to R9; the rows of x in R3 and R19; the start
// of the group in these rows in R20 and R21. Vectors: integer sums from 0 on, four for each row and digit;
// codes in 24 and 25; digits of the rows in 26 and 27, for the higher halves of bytes in 29 and 30; in 28 a
// constant for the conversion of bytes to numbers.
//
// Codes of 8 bits have 128 subtracted, as have their zero points, to fit the signed bytes of the products.
// Without dot products of bytes four instructions do the work of one. They leave the sums of two products
// in a lane, so a sum takes two vectors, which are joined at the end of a group.
type neonDot struct {
	neonFunction
	bits, m int
	typ     string
	size    int
	dot     bool
}

// quantDotNEON writes c[i][o] += Σ x[i]·w[o] for m rows and a block. Strides are in bytes.
func quantDotNEON(f *file, bits int, typ string, size, m int, dot bool) {
	name := fmt.Sprintf("quantDot%dx%d%sNEON", bits, m, typ)
	if !dot {
		name = fmt.Sprintf("quantMull%d%sNEON", bits, typ)
	}
	fn := f.neon("multiplies digits by codes; see gen/neonquant.go.", name,
		quantDotParams)
	k := &neonDot{fn, bits, m, typ, size, dot}
	k.params("groups", "lines", "codes", "x", "row", "scales", "zeros", "zeroStep", "c", "ldc")
	k.op("ADD", "R3", "R4", "R19")
	fn.word("movi v28.16b, #%d", map[int]int{8: 128, 4: 15}[bits])
	for range fn.loop(fn.label("group"), "R0", 1) {
		for i, r := range k.rows() {
			k.op("MOVD", x(r), x(20+i))
			k.op("ADD", imm(16), x(r))
		}
		k.zero(0, k.sums())
		fn.op("MOVD", "R1", "R10")
		line := fn.label("line")
		fn.at(line)
		k.line()
		fn.op("SUBS", imm(1), "R10")
		fn.op("BNE", line)
		k.finish()
	}
	fn.ret()
}

func (k *neonDot) rows() []int { return []int{3, 19}[:k.m] }

func (k *neonDot) sums() int {
	if k.dot {
		return 12 * k.m
	}
	return 24
}

// sum returns the vector for row i, digit d and outputs 4q to 4q+3, or for the first half of these.
func (k *neonDot) sum(i, d, q int) int {
	if k.dot {
		return (3*i+d)*4 + q
	}
	return 2 * (4*d + q)
}

// line multiplies a line of codes.
func (k *neonDot) line() {
	parts := 8 / k.bits
	for i, r := range k.rows() {
		for part := range parts {
			k.word("ldr q%d, [x%d, #%d]", 26+i+3*part, r, 16*part)
		}
		k.op("ADD", imm(16*parts), x(r))
	}
	for q := range 4 {
		k.word("ldr q24, [x2, #%d]", 16*q)
		if k.bits == 4 {
			k.word("ushr v25.16b, v24.16b, #4")
			k.word("and v24.16b, v24.16b, v28.16b")
		} else {
			k.word("eor v24.16b, v24.16b, v28.16b")
		}
		for part := range parts {
			for i := range k.m {
				for d := range 3 {
					k.multiply(k.sum(i, d, q), 24+part, 26+i+3*part, d)
				}
			}
		}
	}
	k.op("ADD", imm(64), "R2")
}

// multiply adds the products of codes and digits d.
func (k *neonDot) multiply(sum, codes, digits, d int) {
	if k.dot {
		k.word("sdot v%d.4s, v%d.16b, v%d.4b[%d]", sum, codes, digits, d)
		return
	}
	k.word("dup v27.4s, v%d.s[%d]", digits, d)
	k.word("smull v30.8h, v%d.8b, v27.8b", codes)
	k.word("smull2 v31.8h, v%d.16b, v27.16b", codes)
	k.word("sadalp v%d.4s, v30.8h", sum)
	k.word("sadalp v%d.4s, v31.8h", sum+1)
}

// finish adds the sums of the group, which are the digits of one number, times unit and scale.
func (k *neonDot) finish() {
	zero := []int{24, 25, 29, 30}
	k.word("ldr q31, [x6, #0]")
	k.op("ADD", "R7", "R6")
	if k.bits == 8 {
		k.word("eor v31.16b, v31.16b, v28.16b")
	}
	k.word("sxtl v29.8h, v31.8b")
	k.word("sxtl2 v31.8h, v31.16b")
	k.word("sxtl v24.4s, v29.4h")
	k.word("sxtl2 v25.4s, v29.8h")
	k.word("sxtl v29.4s, v31.4h")
	k.word("sxtl2 v30.4s, v31.8h")
	for i := range k.m { // the unit, and less the digits' sums
		k.word("ldr q%d, [x%d, #0]", 26+i, 20+i)
	}
	for i := range k.m {
		for q := range 4 {
			for d := range 3 {
				s := k.sum(i, d, q)
				if !k.dot {
					k.word("addp v%d.4s, v%d.4s, v%d.4s", s, s, s+1)
				}
				k.word("mla v%d.4s, v%d.4s, v%d.s[%d]", s, zero[q], 26+i, 1+d)
				k.word("scvtf v%d.4s, v%d.4s", s, s)
			}
		}
	}
	k.constant(0x43800000, 31) // 256
	k.op("MOVD", "R8", "R11")
	for i := range k.m {
		for q := range 4 {
			high, middle, low := k.sum(i, 0, q), k.sum(i, 1, q), k.sum(i, 2, q)
			k.word("fmla v%d.4s, v%d.4s, v31.4s", middle, high)
			k.word("fmla v%d.4s, v%d.4s, v31.4s", low, middle)
			k.widen(k.typ, 5, 4*k.size*q, 24)
			k.word("fmul v24.4s, v24.4s, v%d.s[0]", 26+i)
			k.word("ldr q25, [x11, #%d]", 16*q)
			k.word("fmla v25.4s, v%d.4s, v24.4s", low)
			k.word("str q25, [x11, #%d]", 16*q)
		}
		k.op("ADD", "R9", "R11")
	}
	k.op("ADD", imm(16*k.size), "R5")
}

// A neonCodes converts codes to f32. Registers: groups, lines, codes in R0 to R2; the caller chooses those
// of scales, zeros and zeroStep. Vectors: codes in 0 to 3, zero points in 4 to 7, scales in 8 to 11, a mask
// in 12, a result in 13.
type neonCodes struct {
	neonFunction
	bits                    int
	typ                     string
	size                    int
	scales, zeros, zeroStep int
}

// lines runs each for each line of each group, with its codes in vectors 0 to 3.
func (k *neonCodes) lines(begin, each, end func()) {
	mask := uint32(0xff)
	if k.bits == 4 {
		mask = 0x0f
	}
	k.constant(mask, 12)
	for range k.loop(k.label("group"), "R0", 1) {
		k.word("ldr q13, [x%d, #0]", k.zeros)
		k.op("ADD", x(k.zeroStep), x(k.zeros))
		k.word("uxtl v6.8h, v13.8b")
		k.word("uxtl2 v7.8h, v13.16b")
		k.word("uxtl v4.4s, v6.4h")
		k.word("uxtl2 v5.4s, v6.8h")
		k.word("uxtl v6.4s, v7.4h")
		k.word("uxtl2 v7.4s, v7.8h")
		for q := range 4 {
			k.widen(k.typ, k.scales, 4*k.size*q, 8+q)
		}
		k.op("ADD", imm(16*k.size), x(k.scales))
		begin()
		k.op("MOVD", "R1", "R10")
		for range k.loop(k.label("line"), "R10", 1) {
			for q := range 4 {
				k.word("ldr q%d, [x2], #16", q)
			}
			each()
		}
		end()
	}
}

// code puts code − zero of input i of the line and outputs 4q to 4q+3 into vector 13, as f32.
func (k *neonCodes) code(i, q int) {
	shift := 8 * (i % 4)
	if k.bits == 4 {
		shift += 4 * (i / 4)
	}
	from := q
	if shift > 0 {
		k.word("ushr v13.4s, v%d.4s, #%d", from, shift)
		from = 13
	}
	if shift+k.bits < 32 {
		k.word("and v13.16b, v%d.16b, v12.16b", from)
	}
	k.word("sub v13.4s, v13.4s, v%d.4s", 4+q)
	k.word("scvtf v13.4s, v13.4s")
}

// quantFloatNEON writes c[o] += Σ x·w[o] for one row of f32 and one block.
func quantFloatNEON(f *file, bits int, typ string, size int) {
	fn := f.neon("multiplies a row by a block of codes; see gen/neonquant.go.", fmt.Sprintf("quantFloat%d%sNEON", bits, typ),
		quantFloatParams)
	k := &neonCodes{fn, bits, typ, size, 4, 5, 6}
	fn.params("groups", "lines", "codes", "x", "scales", "zeros", "zeroStep", "c")
	// Sums of a group in 16 to 23, for even and odd inputs; of all groups in 24 to 27; x in 28.
	fn.zero(24, 4)
	k.lines(func() { fn.zero(16, 8) }, func() {
		for i := range 32 / bits {
			if i%4 == 0 {
				fn.word("ldr q28, [x3], #16")
			}
			for q := range 4 {
				k.code(i, q)
				fn.word("fmla v%d.4s, v13.4s, v28.s[%d]", 16+2*q+i%2, i%4)
			}
		}
	}, func() {
		for q := range 4 {
			fn.word("fadd v%d.4s, v%d.4s, v%d.4s", 16+2*q, 16+2*q, 17+2*q)
			fn.word("fmla v%d.4s, v%d.4s, v%d.4s", 24+q, 16+2*q, 8+q)
		}
	})
	for q := range 4 {
		fn.word("ldr q0, [x7, #%d]", 16*q)
		fn.word("fadd v0.4s, v0.4s, v%d.4s", 24+q)
		fn.word("str q0, [x7, #%d]", 16*q)
	}
	fn.ret()
}

// dequantizeNEON writes the weights of a block, 16 outputs for each input, ldd bytes apart.
func dequantizeNEON(f *file, bits int, typ string, size int) {
	fn := f.neon("writes the weights of a block; see gen/neonquant.go.", fmt.Sprintf("dequantize%d%sNEON", bits, typ),
		dequantizeParams)
	k := &neonCodes{fn, bits, typ, size, 3, 4, 5}
	fn.params("groups", "lines", "codes", "scales", "zeros", "zeroStep", "dst", "ldd")
	k.lines(func() {}, func() {
		for i := range 32 / bits {
			for q := range 4 {
				k.code(i, q)
				fn.word("fmul v13.4s, v13.4s, v%d.4s", 8+q)
				fn.word("str q13, [x6, #%d]", 16*q)
			}
			fn.op("ADD", "R7", "R6")
		}
	}, func() {})
	fn.ret()
}
