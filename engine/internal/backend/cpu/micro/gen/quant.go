package main

import "fmt"

// emitQuant writes the kernels of quantised weights. "digits" makes fixed-point numbers of f32. "quantDot"
// multiplies them by codes with integer dot products (AVX-512 VNNI). "quantFloat" multiplies f32 by codes
// that it converts, or, as "quantTable", looks up. "dequantize" and "dequantizeTable" write the weight, to
// which "addMinimums" adds; "quantSums" multiplies by minimums. ir.Quant and micro.QuantInput describe the
// layout of the operands.
func emitQuant(f *file) {
	digits(f)
	for _, bits := range []int{8, 4} {
		for _, t := range packTypes[:2] {
			for _, shape := range [][2]int{{1, 1}, {1, 4}, {2, 1}, {2, 2}, {4, 1}} {
				quantDot(f, bits, t.name, t.size, shape[0], shape[1])
				f.enter("quantDots[1][%d][%s][%d][%d] = quantDot%dx%dx%d%s", bits/8, t.name, shape[0], shape[1], bits, shape[0], shape[1], t.name)
			}
			for _, s := range []set{avx2, avx512} {
				for i, table := range []bool{false, true} {
					quantFloat(f, s, bits, t.name, t.size, table)
					dequantize(f, s, bits, t.name, t.size, table)
					name := []string{"Float", "Table"}[i]
					f.enter("quantFloats[isa.%s][%d][%s][%d] = quant%s%d%s%s", s.name, bits/8, t.name, i, name, bits, t.name, s.name)
					f.enter("dequantizes[isa.%s][%d][%s][%d] = dequantize%s%d%s%s", s.name, bits/8, t.name, i, []string{"", name}[i], bits, t.name, s.name)
				}
			}
		}
	}
	for _, t := range packTypes[:2] {
		for _, s := range []set{avx2, avx512} {
			quantSums(f, s, t.name, t.size)
			addMinimums(f, s, t.name, t.size)
			f.enter("quantSums[isa.%s][%s] = quantSums%s%s", s.name, t.name, t.name, s.name)
			f.enter("addMinimums[isa.%s][%s] = addMinimums%s%s", s.name, t.name, t.name, s.name)
		}
	}
}

// The parameters of the kernels, of every set.
const (
	quantDotParams = "groups int, lines int, codes *byte, block int, x *byte, row int, scales unsafe.Pointer, scaleBlock int, " +
		"zeros *byte, zeroStep int, zeroBlock int, c *float32, ldc int"
	quantFloatParams = "groups int, lines int, codes *byte, x *float32, scales unsafe.Pointer, zeros *byte, zeroStep int, c *float32"
	dequantizeParams = "groups int, lines int, codes *byte, scales unsafe.Pointer, zeros *byte, zeroStep int, dst *float32, ldd int"
)

// digitRange is the largest number of three balanced digits of 8 bits: 127·2¹⁶, so that rounding stays in
// range.
const digitRange = 0x4afe0000 // 8323072 as f32

// digits writes the record of a group of n numbers, a multiple of 16. ok becomes 1, or 0 if the group has
// no digits.
func digits(f *file) {
	fn := f.function("makes fixed-point numbers of a group; see gen/quant.go.", "digits", "to *byte, x *float32, n int, ok *int")
	fn.load("to", "DI", "x", "SI", "n", "CX", "ok", "DX")
	table := f.words("digitWords", 0x7fffffff, digitRange)
	z := avx512.v
	fn.op("VPXORD", z(0), z(0), z(0))
	fn.op("VPBROADCASTD", table+"+0(SB)", z(1))
	fn.op("MOVQ", "SI", "R8")
	fn.op("MOVQ", "CX", "R9")
	for range fn.loop(fn.label("largest"), "R9", 16) {
		fn.op("VPANDD", mem(0, "R8"), z(1), z(2))
		fn.op("VPMAXUD", z(2), z(0), z(0))
		fn.op("ADDQ", imm(64), "R8")
	}
	reduce(fn, "VPMAXUD", 0, 2)
	fn.op("VMOVD", "X0", "AX")
	none, scaled := fn.label("none"), fn.label("scaled")
	fn.op("VPXORD", z(1), z(1), z(1)) // 1/unit and unit, both 0 for a group of zeros
	fn.op("VPXORD", z(2), z(2), z(2))
	fn.op("TESTL", "AX", "AX")
	fn.op("JZ", scaled)
	fn.op("CMPL", "AX", "$0x7f800000")
	fn.op("JAE", none)
	fn.op("CMPL", "AX", "$0x0d800000") // 2⁻¹⁰⁰
	fn.op("JB", none)
	fn.op("VMOVSS", table+"+4(SB)", "X3")
	fn.op("VDIVSS", "X0", "X3", "X1")
	fn.op("VDIVSS", "X3", "X0", "X2")
	fn.at(scaled)
	fn.op("VMOVSS", "X2", mem(0, "DI"))
	fn.op("VBROADCASTSS", "X1", z(1))
	for i := 10; i < 13; i++ {
		fn.op("VPXORD", z(i), z(i), z(i))
	}
	fn.op("VPXORD", z(9), z(9), z(9))
	fn.op("LEAQ", mem(16, "DI"), "R8")
	for range fn.loop(fn.label("loop"), "CX", 16) {
		fn.op("VMULPS", mem(0, "SI"), z(1), z(3))
		fn.op("VCVTPS2DQ", z(3), z(3))
		for i := range 2 { // first the lowest digit, then the middle one; the rest is the highest
			d := z(4 + i)
			fn.op("VPSLLD", imm(24), z(3), d)
			fn.op("VPSRAD", imm(24), d, d)
			fn.op("VPSUBD", d, z(3), z(3))
			fn.op("VPSRAD", imm(8), z(3), z(3))
		}
		for i, d := range []int{3, 5, 4} {
			fn.op("VPADDD", z(d), z(10+i), z(10+i))
			fn.op("VPMOVDB", z(d), avx512.x(d))
		}
		fn.op("VPUNPCKLDQ", "X5", "X3", "X6") // 3₀ 5₀ 3₁ 5₁
		fn.op("VPUNPCKLDQ", "X9", "X4", "X7") // 4₀ 0 4₁ 0
		fn.op("VPUNPCKHDQ", "X5", "X3", "X3")
		fn.op("VPUNPCKHDQ", "X9", "X4", "X4")
		for i, pair := range [][2]string{{"X7", "X6"}, {"X4", "X3"}} {
			fn.op("VPUNPCKLQDQ", pair[0], pair[1], "X8")
			fn.op("VMOVDQU", "X8", mem(32*i, "R8"))
			fn.op("VPUNPCKHQDQ", pair[0], pair[1], "X8")
			fn.op("VMOVDQU", "X8", mem(32*i+16, "R8"))
		}
		fn.op("ADDQ", imm(64), "SI")
		fn.op("ADDQ", imm(64), "R8")
	}
	for i := range 3 {
		reduce(fn, "VPADDD", 10+i, 3)
		fn.op("VPSUBD", avx512.x(10+i), "X9", "X3")
		fn.op("VMOVD", "X3", mem(4+4*i, "DI"))
	}
	fn.op("MOVQ", imm(1), "AX")
	fn.op("MOVQ", "AX", mem(0, "DX"))
	fn.end()
	fn.at(none)
	fn.op("MOVQ", imm(0), mem(0, "DX"))
	fn.end()
}

// reduce combines the 32-bit lanes of vector i into its lowest lane. It overwrites t.
func reduce(fn *function, op string, i, t int) {
	s := avx512
	fn.op("VEXTRACTI64X4", imm(1), s.v(i), s.y(t))
	fn.op(op, s.y(t), s.y(i), s.y(i))
	fn.op("VEXTRACTI128", imm(1), s.y(i), s.x(t))
	fn.op(op, s.x(t), s.x(i), s.x(i))
	fn.op("VPSHUFD", imm(0x4e), s.x(i), s.x(t))
	fn.op(op, s.x(t), s.x(i), s.x(i))
	fn.op("VPSHUFD", imm(0xb1), s.x(i), s.x(t))
	fn.op(op, s.x(t), s.x(i), s.x(i))
}

// A dotKernel multiplies m rows of digits by n blocks of codes. Vectors: 3·m·n integer sums from 0 on, m·n
// sums from 12 on, digits in 16 to 18, codes in 20 to 27, unit·scale in 19 and 28 to 30, the mask of 4 bits
// in 31.
type dotKernel struct {
	*function
	bits, m, n int
	typ        string
	size       int
}

// quantDot writes c[i][o] += Σ x[i]·w[o] for m rows and n blocks. Strides are in bytes.
func quantDot(f *file, bits int, typ string, size, m, n int) {
	fn := f.function("multiplies digits by codes; see gen/quant.go.", fmt.Sprintf("quantDot%dx%dx%d%s", bits, m, n, typ),
		quantDotParams)
	k := &dotKernel{function: fn, bits: bits, m: m, n: n, typ: typ, size: size}
	fn.load("groups", "CX", "lines", "DX", "codes", "BX", "block", "R8", "x", "SI", "row", "R9", "scales", "R10", "zeros", "R11", "zeroStep", "R12", "c", "DI", "ldc", "R13")
	switch { // offsets of blocks 2 and 3, or rows 2 and 3, are relative to here
	case n == 4:
		fn.op("LEAQ", mem(0, "BX", "R8*2"), "R14")
	case m == 4:
		fn.op("LEAQ", mem(0, "SI", "R9*2"), "R14")
	}
	for i := range m * n {
		fn.op("VPXORD", k.v(12+i), k.v(12+i), k.v(12+i))
	}
	if bits == 4 {
		fn.op("VPBROADCASTD", f.words(fmt.Sprintf("lowHalf%dx%d%s", m, n, typ), 0x0f0f0f0f)+"+0(SB)", k.v(31))
	}
	for range fn.loop(fn.label("group"), "CX", 1) {
		k.begin()
		fn.op("MOVQ", "DX", "AX")
		line := fn.label("line")
		fn.at(line)
		k.line()
		fn.op("DECQ", "AX")
		fn.op("JNZ", line)
		k.finish()
	}
	for i := range m {
		for b := range n {
			fn.op("VADDPS", mem(64*b, "DI"), k.sum(i, b), k.sum(i, b))
			fn.op("VMOVUPS", k.sum(i, b), mem(64*b, "DI"))
		}
		fn.op("ADDQ", "R13", "DI")
	}
	fn.end()
}

func (k *dotKernel) v(i int) string             { return avx512.v(i) }
func (k *dotKernel) integer(i, b, d int) string { return k.v(3*(i*k.n+b) + d) }
func (k *dotKernel) sum(i, b int) string        { return k.v(12 + i*k.n + b) }
func (k *dotKernel) unit(i, b int) string       { return k.v([]int{19, 28, 29, 30}[i*k.n+b]) }

// input returns the address of row i of x, codes that of block b.
func (k *dotKernel) input(i, disp int) string {
	if i >= 2 {
		return mem(disp, "R14", [][]string{{}, {"R9*1"}}[i-2]...)
	}
	return mem(disp, "SI", [][]string{{}, {"R9*1"}}[i]...)
}

func (k *dotKernel) codes(b int) string {
	if b >= 2 {
		return mem(0, "R14", [][]string{{}, {"R8*1"}}[b-2]...)
	}
	return mem(0, "BX", [][]string{{}, {"R8*1"}}[b]...)
}

// advance moves on in x, and in the codes.
func (k *dotKernel) advance(input, codes int) {
	k.op("ADDQ", imm(input), "SI")
	if k.m == 4 {
		k.op("ADDQ", imm(input), "R14")
	}
	if codes > 0 {
		k.op("ADDQ", imm(codes), "BX")
		if k.n == 4 {
			k.op("ADDQ", imm(codes), "R14")
		}
	}
}

// begin starts a group. The integer sums begin with −zero·Σ digits; unit·scale is kept for the end of the
// group.
func (k *dotKernel) begin() {
	k.load("zeroBlock", "R15")
	k.op("MOVQ", "R11", "AX")
	for b := range k.n {
		k.op("VPMOVZXBD", mem(0, "AX"), k.v(20+b))
		k.op("ADDQ", "R15", "AX")
	}
	for i := range k.m {
		for d := range 3 {
			k.op("VPBROADCASTD", k.input(i, 4+4*d), k.v(16))
			for b := range k.n {
				k.op("VPMULLD", k.v(16), k.v(20+b), k.integer(i, b, d))
			}
		}
	}
	k.load("scaleBlock", "R15")
	k.op("MOVQ", "R10", "AX")
	for b := range k.n {
		widen(k.function, k.typ, mem(0, "AX"), k.v(20+b))
		k.op("ADDQ", "R15", "AX")
	}
	for i := range k.m {
		k.op("VBROADCASTSS", k.input(i, 0), k.v(16))
		for b := range k.n {
			k.op("VMULPS", k.v(16), k.v(20+b), k.unit(i, b))
		}
	}
	k.op("ADDQ", imm(16*k.size), "R10")
	k.op("ADDQ", "R12", "R11")
	k.advance(16, 0)
}

// line multiplies one line of codes of each block.
func (k *dotKernel) line() {
	parts := 8 / k.bits
	for b := range k.n {
		low := k.v(20 + parts*b)
		k.op("VMOVDQU32", k.codes(b), low)
		if parts == 2 {
			high := k.v(21 + 2*b)
			k.op("VPSRLD", imm(4), low, high)
			k.op("VPANDD", k.v(31), low, low)
			k.op("VPANDD", k.v(31), high, high)
		}
	}
	for part := range parts {
		for i := range k.m {
			for d := range 3 {
				at := k.input(i, 16*part+4*d)
				if k.n == 1 {
					k.op("VPDPBUSD.BCST", at, k.v(20+part), k.integer(i, 0, d))
					continue
				}
				k.op("VPBROADCASTD", at, k.v(16+d))
				for b := range k.n {
					k.op("VPDPBUSD", k.v(16+d), k.v(20+parts*b+part), k.integer(i, b, d))
				}
			}
		}
	}
	k.advance(16*parts, 64)
}

// finish adds the sums of the group, which are the digits of one number, times unit and scale.
func (k *dotKernel) finish() {
	k.op("VBROADCASTSS", k.f.words(k.name+"Radix", 0x43800000)+"+0(SB)", k.v(16)) // 256
	for i := range k.m {
		for b := range k.n {
			high := k.integer(i, b, 0)
			for d := range 3 {
				k.op("VCVTDQ2PS", k.integer(i, b, d), k.integer(i, b, d))
			}
			for d := 1; d < 3; d++ {
				k.op("VFMADD213PS", k.integer(i, b, d), k.v(16), high)
			}
			k.op("VFMADD231PS", k.unit(i, b), high, k.sum(i, b))
		}
	}
}

// A codeReader converts codes to f32 with any set: 16 outputs are one vector or two. Vectors: codes from 0
// on, zero points or a table of 16 from 2 on, scales from 4 on, a result from 6 on, the mask in the last.
type codeReader struct {
	*function
	s     set
	bits  int
	typ   string
	size  int
	table bool
}

func (k *codeReader) halves() int { return 16 / k.s.lanes }

func (k *codeReader) mask() string { return k.s.v(k.s.regs - 1) }

func (k *codeReader) and() string {
	if k.s == avx512 {
		return "VPANDD"
	}
	return "VPAND"
}

// start loads the mask.
func (k *codeReader) start() {
	word := uint32(0xff)
	if k.bits == 4 {
		word = 0x0f
	}
	k.op("VPBROADCASTD", k.f.words(k.name+"Mask", word)+"+0(SB)", k.mask())
	if k.table && k.bits == 4 {
		for h := range k.halves() {
			k.op("VMOVUPS", mem(32*h, "R11"), k.s.v(2+h))
		}
	}
}

// group loads zero points and scales and moves on.
func (k *codeReader) group() {
	for h := range k.halves() {
		if !k.table {
			k.op("VPMOVZXBD", mem(8*h, "R11"), k.s.v(2+h))
		}
		widen(k.function, k.typ, mem(k.s.lanes*k.size*h, "R10"), k.s.v(4+h))
	}
	k.op("ADDQ", imm(16*k.size), "R10")
	if !k.table {
		k.op("ADDQ", "R12", "R11")
	}
}

// inputs is the number of inputs in a line.
func (k *codeReader) inputs() int { return 32 / k.bits }

// code puts code − zero of input i of the line, as f32, or its number in the table into vector 6 or 7.
func (k *codeReader) code(i, half int) string {
	r, other := k.s.v(6+half), k.s.v(7-half)
	shift := 8 * (i % 4)
	if k.bits == 4 {
		shift += 4 * (i / 4)
	}
	from := k.s.v(half)
	if shift > 0 {
		k.op("VPSRLD", imm(shift), from, r)
		from = r
	}
	switch {
	case k.table && k.bits == 4 && k.s == avx512: // permutations read the low bits of an index
		k.op("VPERMPS", k.s.v(2), from, r)
		return r
	case k.table && k.bits == 4: // of 8 numbers, so the fourth bit chooses between two
		k.op("VPERMPS", k.s.v(3), from, other)
		k.op("VPERMPS", k.s.v(2), from, r)
		if shift < 28 {
			k.op("VPSLLD", imm(28-shift), k.s.v(half), k.mask())
			k.op("VBLENDVPS", k.mask(), other, r, r)
		} else {
			k.op("VBLENDVPS", k.s.v(half), other, r, r)
		}
		return r
	}
	if shift+k.bits < 32 {
		k.op(k.and(), k.mask(), from, r)
	}
	if k.table {
		if k.s == avx512 {
			k.op("KXNORW", "K1", "K1", "K1")
			k.op("VGATHERDPS", fmt.Sprintf("(R11)(%s*4)", r), "K1", other)
		} else {
			k.op("VPCMPEQD", k.s.v(2), k.s.v(2), k.s.v(2))
			k.op("VGATHERDPS", k.s.v(2), fmt.Sprintf("(R11)(%s*4)", r), other)
		}
		return other
	}
	k.op("VPSUBD", k.s.v(2+half), r, r)
	k.op("VCVTDQ2PS", r, r)
	return r
}

// lines runs each for each line of each group, with its codes in vectors 0 and 1.
func (k *codeReader) lines(begin, each, end func()) {
	group, line := k.label("group"), k.label("line")
	k.at(group)
	k.group()
	begin()
	k.op("MOVQ", "DX", "AX")
	for range k.loop(line, "AX", 1) {
		for h := range k.halves() {
			k.op("VMOVUPS", mem(32*h, "BX"), k.s.v(h))
		}
		k.op("ADDQ", imm(64), "BX")
		each()
	}
	end()
	k.op("DECQ", "CX")
	k.op("JNZ", group)
}

// quantFloat writes c[o] += Σ x·w[o] for one row of f32 and one block.
func quantFloat(f *file, s set, bits int, typ string, size int, table bool) {
	name := "quantFloat"
	if table {
		name = "quantTable"
	}
	fn := f.function("multiplies a row by a block of codes; see gen/quant.go.", fmt.Sprintf("%s%d%s%s", name, bits, typ, s.name),
		quantFloatParams)
	k := &codeReader{function: fn, s: s, bits: bits, typ: typ, size: size, table: table}
	fn.load("groups", "CX", "lines", "DX", "codes", "BX", "x", "SI", "scales", "R10", "zeros", "R11", "zeroStep", "R12", "c", "DI")
	// Sums of a group in 8 to 11, for even and odd inputs; of all groups in 12 and 13; x in 14.
	group := func(h, i int) string { return s.v(8 + 2*h + i%2) }
	total := func(h int) string { return s.v(12 + h) }
	zero := func(v string) { fn.op("VXORPS", v, v, v) }
	k.start()
	for h := range k.halves() {
		zero(total(h))
	}
	k.lines(func() {
		for h := range k.halves() {
			zero(group(h, 0))
			zero(group(h, 1))
		}
	}, func() {
		for i := range k.inputs() {
			fn.op("VBROADCASTSS", mem(4*i, "SI"), s.v(14))
			for h := range k.halves() {
				fn.op("VFMADD231PS", k.code(i, h), s.v(14), group(h, i))
			}
		}
		fn.op("ADDQ", imm(4*k.inputs()), "SI")
	}, func() {
		for h := range k.halves() {
			fn.op("VADDPS", group(h, 1), group(h, 0), group(h, 0))
			fn.op("VFMADD231PS", s.v(4+h), group(h, 0), total(h))
		}
	})
	for h := range k.halves() {
		fn.op("VADDPS", mem(32*h, "DI"), total(h), total(h))
		fn.op("VMOVUPS", total(h), mem(32*h, "DI"))
	}
	fn.end()
}

// dequantize writes the weights of a block, 16 outputs for each input, ldd bytes apart.
func dequantize(f *file, s set, bits int, typ string, size int, table bool) {
	name := "dequantize"
	if table {
		name = "dequantizeTable"
	}
	fn := f.function("writes the weights of a block; see gen/quant.go.", fmt.Sprintf("%s%d%s%s", name, bits, typ, s.name),
		dequantizeParams)
	k := &codeReader{function: fn, s: s, bits: bits, typ: typ, size: size, table: table}
	fn.load("groups", "CX", "lines", "DX", "codes", "BX", "scales", "R10", "zeros", "R11", "zeroStep", "R12", "dst", "DI", "ldd", "R13")
	k.start()
	k.lines(func() {}, func() {
		for i := range k.inputs() {
			for h := range k.halves() {
				r := k.code(i, h)
				fn.op("VMULPS", s.v(4+h), r, r)
				fn.op("VMOVUPS", r, mem(32*h, "DI"))
			}
			fn.op("ADDQ", "R13", "DI")
		}
	}, func() {})
	fn.end()
}

// quantSums writes c[o] += Σ sums[g]·minimum[g o] for a block.
func quantSums(f *file, s set, typ string, size int) {
	fn := f.function("multiplies sums of groups by the minimums of a block; see gen/quant.go.", "quantSums"+typ+s.name,
		"groups int, sums *float32, minimums unsafe.Pointer, c *float32")
	fn.load("groups", "CX", "sums", "SI", "minimums", "R10", "c", "DI")
	halves := 16 / s.lanes
	for h := range halves {
		fn.op("VMOVUPS", mem(32*h, "DI"), s.v(h))
	}
	for range fn.loop(fn.label("loop"), "CX", 1) {
		fn.op("VBROADCASTSS", mem(0, "SI"), s.v(4))
		for h := range halves {
			widen(fn, typ, mem(s.lanes*size*h, "R10"), s.v(2))
			fn.op("VFMADD231PS", s.v(2), s.v(4), s.v(h))
		}
		fn.op("ADDQ", imm(4), "SI")
		fn.op("ADDQ", imm(16*size), "R10")
	}
	for h := range halves {
		fn.op("VMOVUPS", s.v(h), mem(32*h, "DI"))
	}
	fn.end()
}

// addMinimums adds the minimums of each group to its inputs' 16 outputs, ldd bytes apart.
func addMinimums(f *file, s set, typ string, size int) {
	fn := f.function("adds the minimums of a block; see gen/quant.go.", "addMinimums"+typ+s.name,
		"groups int, inputs int, minimums unsafe.Pointer, dst *float32, ldd int")
	fn.load("groups", "CX", "inputs", "DX", "minimums", "R10", "dst", "DI", "ldd", "R13")
	halves := 16 / s.lanes
	for range fn.loop(fn.label("group"), "CX", 1) {
		for h := range halves {
			widen(fn, typ, mem(s.lanes*size*h, "R10"), s.v(h))
		}
		fn.op("ADDQ", imm(16*size), "R10")
		fn.op("MOVQ", "DX", "AX")
		for range fn.loop(fn.label("input"), "AX", 1) {
			for h := range halves {
				fn.op("VADDPS", mem(32*h, "DI"), s.v(h), s.v(2+h))
				fn.op("VMOVUPS", s.v(2+h), mem(32*h, "DI"))
			}
			fn.op("ADDQ", "R13", "DI")
		}
	}
	fn.end()
}
