package main

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/a64"
)

// NEON has vectors of four lanes and no masks. The elements that are left after whole vectors are computed
// one by one, in lane 0; the other lanes are zero at first, and their results are neither stored nor summed
// up.

// Registers of pointer parameters are R0 and those that follow; R15 is how many elements are left.
const neonLeft = "R15"

// word emits an instruction that is written as package a64 does.
func (e *emitter) word(format string, args ...any) {
	fmt.Fprintf(e.text, "\t%s\n", a64.Word(fmt.Sprintf(format, args...)))
}

var neonPlain = map[op]string{
	opAdd: "fadd", opSub: "fsub", opMul: "fmul", opDiv: "fdiv", opMin: "fmin", opMax: "fmax", opSqrt: "fsqrt",
	opAddInt: "add", opSubInt: "sub", opToFloat: "scvtf", opToInt: "fcvtns", opEqualInt: "cmeq",
}

var (
	neonBitwise = map[op]string{opAnd: "and", opOr: "orr", opXor: "eor"}
	neonShifts  = map[op]string{opShiftLeft: "shl", opShiftRight: "ushr", opShiftRightSigned: "sshr"}
	neonRounds  = map[int]string{nearest: "frintn", down: "frintm", up: "frintp"}
)

// neonTemp says whether a node needs a register that is none of its operands'.
func neonTemp(o op) bool { return o == opTruncate || o == opMulWords }

// memoryNEON is the operand of the turn's elements.
func (b *body) memoryNEON(p int) string {
	return fmt.Sprintf("[x%d, #%d]", b.pointerIndex(p), b.offset*b.params[p].mem.size())
}

// loadNEON reads the turn's elements of a parameter.
func (b *body) loadNEON(p, d int) {
	m := b.params[p].mem
	if size, ahead := m.size(), b.params[p].ahead; ahead > 0 && !b.masked && b.offset*size%64 == 0 {
		b.word("prfm pldl1keep, [x%d, #%d]", b.pointerIndex(p), ahead+b.offset*size)
	}
	b.word("ldr %c%d, %s", b.wideNEON(m), d, b.memoryNEON(p))
	switch m {
	case u8:
		b.word("uxtl v%d.8h, v%d.8b", d, d)
		b.word("uxtl v%d.4s, v%d.4h", d, d)
	case u16:
		b.word("uxtl v%d.4s, v%d.4h", d, d)
	case half:
		b.word("fcvtl v%d.4s, v%d.4h", d, d)
	}
}

// wideNEON is the letter of the register that holds the turn's elements as they lie in memory.
func (b *body) wideNEON(m mem) byte {
	if b.masked {
		return map[int]byte{1: 'b', 2: 'h', 4: 's'}[m.size()]
	}
	return map[int]byte{1: 's', 2: 'd', 4: 'q'}[m.size()]
}

// storeNEON writes the turn's elements.
func (b *body) storeNEON(s store, r int) {
	t := b.take()
	from := t
	switch s.mem {
	case u8:
		b.word("xtn v%d.4h, v%d.4s", t, r)
		b.word("xtn v%d.8b, v%d.8h", t, t)
	case u16:
		b.word("xtn v%d.4h, v%d.4s", t, r)
	case half:
		b.word("fcvtn v%d.4h, v%d.4s", t, r)
	default:
		from = r
	}
	b.word("str %c%d, %s", b.wideNEON(s.mem), from, b.memoryNEON(s.param))
	b.give(t)
}

// instructionNEON emits a node's instruction: register d, which may be one of its operands', from those of
// its operands.
func (b *body) instructionNEON(n node, d int, r []int, temp int) {
	switch n.op {
	case opLoad:
		b.loadNEON(n.imm, d)
	case opColumn:
		b.moveColumn(n.imm, b.offset%columnsApart, d, false)
	case opRound:
		b.word("%s v%d.4s, v%d.4s", neonRounds[n.imm], d, r[0])
	case opAnd, opOr, opXor:
		b.word("%s v%d.16b, v%d.16b, v%d.16b", neonBitwise[n.op], d, r[0], r[1])
	case opShiftLeft, opShiftRight, opShiftRightSigned:
		b.word("%s v%d.4s, v%d.4s, #%d", neonShifts[n.op], d, r[0], n.imm)
	case opTruncate:
		b.truncateNEON(d, r[0], temp)
	case opHalf:
		b.word("fcvtn v%d.4h, v%d.4s", d, r[0])
		b.word("fcvtl v%d.4s, v%d.4h", d, d)
	case opCompare:
		b.compareNEON(n.imm, d, r)
	case opBlend:
		b.blendNEON(d, r[0], r[1], r[2])
	case opOnes:
		b.word("ushr v%d.4s, v%d.4s, #31", d, r[0])
	case opMulWords:
		b.word("uzp1 v%d.4s, v%d.4s, v%d.4s", temp, r[0], r[0])
		b.word("uzp1 v%d.4s, v%d.4s, v%d.4s", d, r[1], r[1])
		b.word("umull v%d.2d, v%d.2s, v%d.2s", d, temp, d)
	case opWordUp:
		b.word("shl v%d.2d, v%d.2d, #32", d, r[0])
	case opWordDown:
		b.word("ushr v%d.2d, v%d.2d, #32", d, r[0])
	case opUnpackLow:
		b.word("zip1 v%d.2d, v%d.2d, v%d.2d", d, r[0], r[1])
	case opUnpackHigh:
		b.word("zip2 v%d.2d, v%d.2d, v%d.2d", d, r[0], r[1])
	default:
		mnemonic, ok := neonPlain[n.op]
		if !ok {
			panic(fmt.Sprintf("gen: %s: no instruction for op %d", b.name, n.op))
		}
		if len(r) == 1 {
			b.word("%s v%d.4s, v%d.4s", mnemonic, d, r[0])
		} else {
			b.word("%s v%d.4s, v%d.4s, v%d.4s", mnemonic, d, r[0], r[1])
		}
	}
}

// truncateNEON gives math.MinInt32 for numbers outside of int32; the instruction alone would give the nearest
// that is.
func (b *body) truncateNEON(d, x, temp int) {
	b.loadConstant(0x4f000000, temp) // 2³¹
	b.word("facgt v%d.4s, v%d.4s, v%d.4s", temp, temp, x)
	b.word("fcvtzs v%d.4s, v%d.4s", d, x)
	b.word("and v%d.16b, v%d.16b, v%d.16b", d, d, temp)
	b.word("mvn v%d.16b, v%d.16b", temp, temp)
	b.word("shl v%d.4s, v%d.4s, #31", temp, temp)
	b.word("orr v%d.16b, v%d.16b, v%d.16b", d, d, temp)
}

// compareNEON has no "unordered" or "not", so it inverts.
func (b *body) compareNEON(predicate, d int, r []int) {
	const notGreaterOrEqual = 9
	x, y, mnemonic := r[0], r[1], "fcmeq"
	switch predicate {
	case lt:
		x, y, mnemonic = y, x, "fcmgt"
	case le:
		x, y, mnemonic = y, x, "fcmge"
	case gt:
		mnemonic = "fcmgt"
	case ge, notGreaterOrEqual:
		mnemonic = "fcmge"
	case unord:
		if x != y {
			panic("gen: " + b.name + ": only a value with itself is asked whether it is ordered")
		}
	}
	b.word("%s v%d.4s, v%d.4s, v%d.4s", mnemonic, d, x, y)
	if predicate == unord || predicate == ne || predicate == notGreaterOrEqual {
		b.word("mvn v%d.16b, v%d.16b", d, d)
	}
}

// blendNEON takes the instruction that overwrites what d holds.
func (b *body) blendNEON(d, mask, then, els int) {
	switch d {
	case then:
		b.word("bif v%d.16b, v%d.16b, v%d.16b", d, els, mask)
	case els:
		b.word("bit v%d.16b, v%d.16b, v%d.16b", d, then, mask)
	default:
		if d != mask {
			b.word("mov v%d.16b, v%d.16b", d, mask)
		}
		b.word("bsl v%d.16b, v%d.16b, v%d.16b", d, then, els)
	}
}

// accumulateProductNEON adds v·times to sum, only lane 0 in the turns of single elements.
func (e *emitter) accumulateProductNEON(v, times, sum, temp int, single bool) {
	if single {
		e.word("movi v%d.2d, #0", temp)
		e.word("mov v%d.s[0], v%d.s[0]", temp, v)
		v = temp
	}
	e.word("fmla v%d.4s, v%d.4s, v%d.4s", sum, v, times)
}

// accumulateNEON joins v to sum, only lane 0 in the turns of single elements. Maxima and minima with a NaN
// are NaN, loose ones are not.
func (e *emitter) accumulateNEON(r *reduce, v, sum, temp int, single bool) {
	mnemonic := neonPlain[r.kind]
	switch {
	case r.kind == opFMA:
		mnemonic = neonPlain[opAdd]
	case r.loose:
		mnemonic = "fmaxnm"
	}
	if single {
		if r.kind == opAdd {
			e.word("movi v%d.2d, #0", temp)
		} else {
			e.word("mov v%d.16b, v%d.16b", temp, sum)
		}
		e.word("mov v%d.s[0], v%d.s[0]", temp, v)
		v = temp
	}
	e.word("%s v%d.4s, v%d.4s, v%d.4s", mnemonic, sum, sum, v)
}

// acrossNEON joins the lanes of a sum.
func (e *emitter) acrossNEON(r *reduce, sum int) {
	switch r.kind {
	case opAdd, opFMA:
		e.word("faddp v%d.4s, v%d.4s, v%d.4s", sum, sum, sum)
		e.word("faddp s%d, v%d.2s", sum, sum)
	case opMax:
		mnemonic := "fmaxv"
		if r.loose {
			mnemonic = "fmaxnmv"
		}
		e.word("%s s%d, v%d.4s", mnemonic, sum, sum)
	case opMin:
		e.word("fminv s%d, v%d.4s", sum, sum)
	}
}
