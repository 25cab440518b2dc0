package main

import "fmt"

var plain = map[op]string{
	opAdd: "VADDPS", opSub: "VSUBPS", opMul: "VMULPS", opDiv: "VDIVPS", opMin: "VMINPS", opMax: "VMAXPS",
	opSqrt: "VSQRTPS", opAddInt: "VPADDD", opSubInt: "VPSUBD", opToFloat: "VCVTDQ2PS", opToInt: "VCVTPS2DQ",
	opTruncate: "VCVTTPS2DQ", opScale: "VSCALEFPS", opMulWords: "VPMULUDQ", opUnpackLow: "VPUNPCKLQDQ", opUnpackHigh: "VPUNPCKHQDQ",
	opLookup: "VPERMPS", opNearRecip: "VRCP14PS",
}

var mnemonics = map[op]string{opFMA: "VFMADD", opFNMA: "VFNMADD"}

var bitwise = map[op]string{opAnd: "VPAND", opOr: "VPOR", opXor: "VPXOR"}

var shifts = map[op]string{opShiftLeft: "VPSLLD", opShiftRight: "VPSRLD", opShiftRightSigned: "VPSRAD"}

// instruction emits a node's instruction: register d from those of its operands.
func (b *body) instruction(n node, d int, r []int, temp int) {
	if b.set == neon {
		b.instructionNEON(n, d, r, temp)
		return
	}
	wide := b.set == avx512
	imm := fmt.Sprint("$", n.imm)
	switch n.op {
	case opLoad:
		b.loadFrom(n.imm, d)
	case opColumn:
		b.moveColumn(n.imm, b.offset%columnsApart, d, false)
	case opRound:
		if wide {
			b.op("VRNDSCALEPS", imm, b.v(r[0]), b.v(d))
		} else {
			b.op("VROUNDPS", imm, b.v(r[0]), b.v(d))
		}
	case opAnd, opOr, opXor:
		mnemonic := bitwise[n.op]
		if wide {
			mnemonic += "D"
		}
		b.op(mnemonic, b.v(r[1]), b.v(r[0]), b.v(d))
	case opShiftLeft, opShiftRight, opShiftRightSigned:
		b.op(shifts[n.op], imm, b.v(r[0]), b.v(d))
	case opWordUp:
		b.op("VPSLLQ", "$32", b.v(r[0]), b.v(d))
	case opWordDown:
		b.op("VPSRLQ", "$32", b.v(r[0]), b.v(d))
	case opHalf:
		if wide {
			b.op("VCVTPS2PH", "$0", b.v(r[0]), ymm(temp))
			b.op("VCVTPH2PS", ymm(temp), b.v(d))
		} else {
			b.op("VCVTPS2PH", "$0", b.v(r[0]), xmm(temp))
			b.op("VCVTPH2PS", xmm(temp), b.v(d))
		}
	case opCompare:
		if wide {
			b.op("VCMPPS", imm, b.v(r[1]), b.v(r[0]), kreg(d))
		} else {
			b.op("VCMPPS", imm, b.v(r[1]), b.v(r[0]), b.v(d))
		}
	case opEqualInt:
		if wide {
			b.op("VPCMPEQD", b.v(r[1]), b.v(r[0]), kreg(d))
		} else {
			b.op("VPCMPEQD", b.v(r[1]), b.v(r[0]), b.v(d))
		}
	case opBlend:
		if wide {
			b.op("VBLENDMPS", b.v(r[1]), b.v(r[2]), kreg(r[0]), b.v(d))
		} else {
			b.op("VBLENDVPS", b.v(r[0]), b.v(r[1]), b.v(r[2]), b.v(d))
		}
	case opScaleWhere:
		b.op("VSCALEFPS.Z", b.v(r[2]), b.v(r[1]), kreg(r[0]), b.v(d))
	case opOnes:
		if wide {
			b.op("VPTERNLOGD", "$0xff", b.v(d), b.v(d), b.v(d))
			b.op("VPSRLD", "$31", b.v(d), b.v(d))
			b.op("VMOVDQA32.Z", b.v(d), kreg(r[0]), b.v(d))
		} else {
			b.op("VPSRLD", "$31", b.v(r[0]), b.v(d))
		}
	default:
		switch mnemonic := plain[n.op]; len(r) {
		case 1:
			b.op(mnemonic, b.v(r[0]), b.v(d))
		default:
			b.op(mnemonic, b.v(r[1]), b.v(r[0]), b.v(d))
		}
	}
}

// loadConstant puts a constant in all lanes of a register.
func (e *emitter) loadConstant(bits uint32, r int) {
	if e.set == neon {
		twice := fmt.Sprintf("$0x%08x%08x", bits, bits)
		e.op("VMOVQ", twice, twice, e.v(r)) // from the function's pool of literals
	} else {
		e.op("VBROADCASTSS", e.constant(bits), e.v(r))
	}
}

// move copies a register.
func (e *emitter) move(from, to int) {
	if e.set == neon {
		e.word("mov v%d.16b, v%d.16b", to, from)
	} else {
		e.op("VMOVAPS", e.v(from), e.v(to))
	}
}

// multiplyInto adds x·y to d, or subtracts it.
func (e *emitter) multiplyInto(o op, x, y, d int) {
	if e.set == neon {
		e.word("%s v%d.4s, v%d.4s, v%d.4s", map[op]string{opFMA: "fmla", opFNMA: "fmls"}[o], d, x, y)
	} else {
		e.op(mnemonics[o]+"231PS", e.v(y), e.v(x), e.v(d))
	}
}

// loadFrom reads the turn's elements of a parameter; in the last turn, lanes that do not exist become 0.
func (b *body) loadFrom(p, d int) {
	mnemonic := map[mem]string{f32: "VMOVUPS", i32: "VMOVUPS", u8: "VPMOVZXBD", u16: "VPMOVZXWD", half: "VCVTPH2PS"}[b.params[p].mem]
	switch {
	case !b.masked:
		if size, ahead := b.params[p].mem.size(), b.params[p].ahead; ahead > 0 && b.offset*size%64 == 0 {
			b.op("PREFETCHT0", fmt.Sprintf("%d(%s)(AX*%d)", ahead+b.offset*size, b.pointerOf(p), size))
		}
		b.op(mnemonic, b.address(p), b.v(d))
	case b.set == avx512:
		b.op(mnemonic+".Z", b.address(p), "K1", b.v(d))
	default:
		b.op("VMASKMOVPS", b.address(p), b.v(b.mask), b.v(d))
	}
}

// store writes the turn's elements.
func (b *body) store(s store) {
	r := b.register(s.value)
	switch b.set {
	case neon:
		b.storeNEON(s, r)
	case avx512:
		b.storeWide(s.mem, r, b.address(s.param))
	default:
		b.storeNarrow(s.mem, r, b.address(s.param))
	}
	b.done(s.value)
}

// storing is the instruction that stores 32-bit lanes.
func (b *body) storing() string {
	if b.streams && !b.masked {
		return "VMOVNTPS"
	}
	return "VMOVUPS"
}

func (b *body) storeWide(m mem, r int, to string) {
	operands := []string{b.v(r), "K1", to}
	if !b.masked {
		operands = []string{b.v(r), to}
	}
	switch m {
	case u8:
		b.op("VPMOVDB", operands...)
	case u16:
		b.op("VPMOVDW", operands...)
	case half:
		b.op("VCVTPS2PH", append([]string{"$0"}, operands...)...)
	default:
		b.op(b.storing(), operands...)
	}
}

func (b *body) storeNarrow(m mem, r int, to string) {
	switch m {
	case f32, i32:
		if b.masked {
			b.op("VMASKMOVPS", b.v(r), b.v(b.mask), to)
		} else {
			b.op(b.storing(), b.v(r), to)
		}
		return
	case half:
		b.op("VCVTPS2PH", "$0", b.v(r), to)
		return
	}
	t := b.take()
	b.op("VEXTRACTI128", "$1", b.v(r), xmm(t))
	b.op("VPACKUSDW", xmm(t), xmm(r), xmm(t))
	if m == u8 {
		b.op("VPACKUSWB", xmm(t), xmm(t), xmm(t))
		b.op("VMOVQ", xmm(t), to)
	} else {
		b.op("VMOVDQU", xmm(t), to)
	}
	b.give(t)
}

// start gives a sum its first value.
func (e *emitter) start(kind op, r int) {
	switch kind {
	case opAdd, opFMA:
		switch e.set {
		case neon:
			e.word("movi v%d.2d, #0", r)
		case avx512:
			e.op("VPXORD", e.v(r), e.v(r), e.v(r))
		default:
			e.op("VXORPS", e.v(r), e.v(r), e.v(r))
		}
	case opMax:
		e.loadConstant(0xff800000, r)
	case opMin:
		e.loadConstant(0x7f800000, r)
	}
}

// accumulateProduct adds v·times to sum.
func (e *emitter) accumulateProduct(v, times, sum, temp int, masked bool) {
	switch {
	case e.set == neon:
		e.accumulateProductNEON(v, times, sum, temp, masked)
		return
	case masked && e.set == avx512:
		e.op("VFMADD231PS", e.v(times), e.v(v), "K1", e.v(sum))
		return
	case masked:
		e.op("VANDPS", e.v(v), e.v(e.mask), e.v(temp))
		v = temp
	}
	e.op("VFMADD231PS", e.v(times), e.v(v), e.v(sum))
}

// accumulate joins v to sum. A maximum or minimum that is NaN stays so, and a loose one that is a number.
func (e *emitter) accumulate(r *reduce, v, sum, temp int, masked bool) {
	if e.set == neon {
		e.accumulateNEON(r, v, sum, temp, masked)
		return
	}
	wide := e.set == avx512
	adds := r.kind == opAdd || r.kind == opFMA
	if masked && !wide {
		if adds {
			e.op("VANDPS", e.v(v), e.v(e.mask), e.v(temp))
		} else {
			e.op("VBLENDVPS", e.v(e.mask), e.v(v), e.v(sum), e.v(temp))
		}
		v = temp
	}
	switch {
	case adds && masked && wide:
		e.op("VADDPS", e.v(v), e.v(sum), "K1", e.v(sum))
	case adds:
		e.op("VADDPS", e.v(v), e.v(sum), e.v(sum))
	case r.loose && masked && wide:
		e.op(plain[r.kind], e.v(sum), e.v(v), "K1", e.v(sum))
	case r.loose: // the second operand, Go's first, is the result where one is NaN
		e.op(plain[r.kind], e.v(sum), e.v(v), e.v(sum))
	case wide:
		if masked {
			e.op("VCMPPS", "$7", e.v(sum), e.v(sum), "K1", "K7")
		} else {
			e.op("VCMPPS", "$7", e.v(sum), e.v(sum), "K7")
		}
		e.op(plain[r.kind], e.v(v), e.v(sum), "K7", e.v(sum))
	default:
		e.op(plain[r.kind], e.v(v), e.v(sum), e.v(temp))
		e.op("VCMPPS", "$3", e.v(sum), e.v(sum), e.v(e.nan))
		e.op("VBLENDVPS", e.v(e.nan), e.v(sum), e.v(temp), e.v(sum))
	}
}

// finish joins the sums of the unrolled turns, then the lanes, and stores the results.
func (e *emitter) finish(sums [][]int) {
	_, results := e.layout()
	temp, other := e.spare[len(e.spare)-1], e.spare[len(e.spare)-2]
	for i := range e.reduces {
		r := &e.reduces[i]
		for u := 1; u < len(sums); u++ {
			e.accumulate(r, sums[u][i], sums[0][i], temp, false)
		}
		sum, to := sums[0][i], fmt.Sprintf("r%d+%d(FP)", i, results+4*i)
		if e.set == neon {
			e.acrossNEON(r, sum)
			e.op("FMOVS", fmt.Sprint("F", sum), to)
			continue
		}
		if e.set == avx512 {
			e.op("VSHUFF64X2", "$0x4e", e.v(sum), e.v(sum), e.v(other))
			e.accumulate(r, other, sum, temp, false)
			e.op("VSHUFF64X2", "$0xb1", e.v(sum), e.v(sum), e.v(other))
			e.accumulate(r, other, sum, temp, false)
		} else {
			e.op("VPERM2F128", "$1", e.v(sum), e.v(sum), e.v(other))
			e.accumulate(r, other, sum, temp, false)
		}
		for _, shuffle := range []string{"$0x4e", "$0xb1"} {
			e.op("VPERMILPS", shuffle, e.v(sum), e.v(other))
			e.accumulate(r, other, sum, temp, false)
		}
		e.op("VMOVSS", xmm(sum), to)
	}
}
