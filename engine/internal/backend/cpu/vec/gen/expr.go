package main

import (
	"math"
	"slices"
)

// A set is an instruction set: what vectors are called, how many there are, how many 32-bit lanes they have.
type set struct {
	name   string // as it appears in function names
	prefix string // of vector registers
	lanes  int
	regs   int
}

var (
	avx2   = set{"AVX2", "Y", 8, 16}
	avx512 = set{"AVX512", "Z", 16, 32}
	neon   = set{"NEON", "V", 4, 32}
)

// sets are those that functions are generated for, by processor.
var sets = map[string][]set{"amd64": {avx512, avx2}, "arm64": {neon}}

// A mem is the type of elements in memory. In registers they are 32-bit lanes.
type mem uint8

const (
	f32 mem = iota
	i32
	u8   // zero-extended
	u16  // zero-extended
	half // IEEE 754 binary16, converted to f32
)

func (m mem) size() int {
	switch m {
	case u8:
		return 1
	case u16, half:
		return 2
	}
	return 4
}

// A kernel is a loop over elements whose body is an expression.
type kernel struct {
	set
	name    string
	id      string // of the Func that it is, or empty
	params  []param
	nodes   []node
	stores  []store
	reduces []reduce
	streams bool // stores go past the caches: d is a multiple of 64
	turns   int  // vectors in a turn of the main loop; 0 leaves that to the length of the body
	columns bool // it goes down columns: see columns.go
}

// A param is a pointer to elements of a type, or a float32 or uint32.
type param struct {
	name   string
	scalar bool
	word   bool // the scalar is a uint32
	mem    mem
	ahead  int // how many bytes ahead of its loads memory is asked for

	perColumn bool // in a kernel of columns: one element a column
}

// A value names a node of the expression.
type value int

// A node applies an instruction to earlier nodes.
type node struct {
	op   op
	args []value
	imm  int    // rounding mode, shift count, predicate, parameter
	bits uint32 // of a constant
}

type op uint8

const (
	opConst op = iota
	opScalar
	opLoad
	opAdd
	opSub
	opMul
	opDiv
	opMin // a < b ? a : b, so b where one is NaN
	opMax
	opFMA  // a·b + c
	opFNMA // c − a·b
	opSqrt
	opRound
	opAnd
	opOr
	opXor
	opAddInt
	opSubInt
	opShiftLeft
	opShiftRight
	opShiftRightSigned
	opToFloat
	opToInt // rounds to nearest
	opTruncate
	opScale      // a·2ᵇ with b integral; AVX-512 only
	opScaleWhere // the same where the mask is, and else 0: mask, a, b
	opHalf       // through binary16 and back
	opColumn     // of a parameter with one element a column
	opPowers     // 2^(i/16) in lane i; AVX-512 only, as the next two
	opLookup     // b's lane whose number is in the lower 4 bits of a
	opNearRecip  // 1/a with a relative error below 2⁻¹⁴
	opCompare
	opEqualInt
	opBlend // mask, then, else
	opOnes  // mask to 0 or 1

	// On 64-bit lanes.
	opMulWords // the product of the lower words, 64 bits
	opWordUp   // shifts by 32 bits
	opWordDown
	opUnpackLow // a's and b's even lanes, side by side
	opUnpackHigh
)

// mask says whether a node's value is a mask.
func (o op) mask() bool {
	return o == opCompare || o == opEqualInt
}

// Predicates of comparisons.
const (
	eq    = 0
	lt    = 1
	le    = 2
	unord = 3
	ne    = 4
	ge    = 13
	gt    = 14
)

type store struct {
	param int
	mem   mem
	value value
}

type reduce struct {
	kind  op // opAdd, opMax, opMin, or opFMA for the sum of value·times
	value value
	times value
	loose bool // a maximum of the numbers among the values
	into  int  // parameter that a kernel of columns joins its sums to
}

// used calls f for each value that a reduction reads.
func (r *reduce) used(f func(v value)) {
	f(r.value)
	if r.kind == opFMA {
		f(r.times)
	}
}

func (k *kernel) node(n node) value {
	for i, m := range k.nodes { // an expression has tens of nodes: a search is enough to share equal ones
		if m.op == n.op && m.imm == n.imm && m.bits == n.bits && slices.Equal(m.args, n.args) {
			return value(i)
		}
	}
	k.nodes = append(k.nodes, n)
	return value(len(k.nodes) - 1)
}

func (k *kernel) apply(o op, args ...value) value { return k.node(node{op: o, args: args}) }
func (k *kernel) with(o op, imm int, args ...value) value {
	return k.node(node{op: o, args: args, imm: imm})
}

// Parameters, in the order of the signature.

func (k *kernel) pointer(name string, m mem) int {
	k.params = append(k.params, param{name: name, mem: m})
	return len(k.params) - 1
}

func (k *kernel) load(p int) value { return k.with(opLoad, p) }

func (k *kernel) in(name string) value { return k.load(k.pointer(name, f32)) }

// inAhead is in for what may lie beyond the first-level cache: it is asked for so many bytes ahead.
func (k *kernel) inAhead(name string, bytes int) value {
	p := k.pointer(name, f32)
	k.params[p].ahead = bytes
	return k.load(p)
}

func (k *kernel) scalar(name string) value {
	k.params = append(k.params, param{name: name, scalar: true})
	return k.with(opScalar, len(k.params)-1)
}

func (k *kernel) store(p int, v value) { k.stores = append(k.stores, store{p, k.params[p].mem, v}) }

func (k *kernel) sum(v value)   { k.reduces = append(k.reduces, reduce{kind: opAdd, value: v}) }
func (k *kernel) maxOf(v value) { k.reduces = append(k.reduces, reduce{kind: opMax, value: v}) }
func (k *kernel) minOf(v value) { k.reduces = append(k.reduces, reduce{kind: opMin, value: v}) }

func (k *kernel) sumOfProducts(v, times value) {
	k.reduces = append(k.reduces, reduce{kind: opFMA, value: v, times: times})
}

// maxOfNumbers passes over values that are NaN.
func (k *kernel) maxOfNumbers(v value) {
	k.reduces = append(k.reduces, reduce{kind: opMax, value: v, loose: true})
}

func (k *kernel) word(name string) value {
	v := k.scalar(name)
	k.params[len(k.params)-1].word = true
	return v
}

// Constants and arithmetic.

func (k *kernel) bits(b uint32) value { return k.node(node{op: opConst, bits: b}) }
func (k *kernel) c(x float64) value   { return k.bits(math.Float32bits(float32(x))) }

func (k *kernel) add(a, b value) value     { return k.apply(opAdd, a, b) }
func (k *kernel) sub(a, b value) value     { return k.apply(opSub, a, b) }
func (k *kernel) mul(a, b value) value     { return k.apply(opMul, a, b) }
func (k *kernel) div(a, b value) value     { return k.apply(opDiv, a, b) }
func (k *kernel) min(a, b value) value     { return k.apply(opMin, a, b) }
func (k *kernel) max(a, b value) value     { return k.apply(opMax, a, b) }
func (k *kernel) fma(a, b, c value) value  { return k.apply(opFMA, a, b, c) }
func (k *kernel) fnma(a, b, c value) value { return k.apply(opFNMA, a, b, c) }
func (k *kernel) sqrt(a value) value       { return k.apply(opSqrt, a) }
func (k *kernel) round(a value, mode int) value {
	return k.with(opRound, mode, a)
}
func (k *kernel) and(a, b value) value { return k.apply(opAnd, a, b) }
func (k *kernel) or(a, b value) value  { return k.apply(opOr, a, b) }
func (k *kernel) xor(a, b value) value { return k.apply(opXor, a, b) }

func (k *kernel) addInt(a, b value) value            { return k.apply(opAddInt, a, b) }
func (k *kernel) subInt(a, b value) value            { return k.apply(opSubInt, a, b) }
func (k *kernel) shiftLeft(a value, n int) value     { return k.with(opShiftLeft, n, a) }
func (k *kernel) shiftRight(a value, n int) value    { return k.with(opShiftRight, n, a) }
func (k *kernel) shiftSigned(a value, n int) value   { return k.with(opShiftRightSigned, n, a) }
func (k *kernel) toFloat(a value) value              { return k.apply(opToFloat, a) }
func (k *kernel) toInt(a value) value                { return k.apply(opToInt, a) }
func (k *kernel) truncate(a value) value             { return k.apply(opTruncate, a) }
func (k *kernel) compare(pred int, a, b value) value { return k.with(opCompare, pred, a, b) }
func (k *kernel) equalInt(a, b value) value          { return k.apply(opEqualInt, a, b) }
func (k *kernel) where(mask, then, els value) value  { return k.apply(opBlend, mask, then, els) }
func (k *kernel) ones(mask value) value              { return k.apply(opOnes, mask) }
func (k *kernel) isNaN(a value) value                { return k.compare(unord, a, a) }
func (k *kernel) abs(a value) value                  { return k.and(a, k.bits(0x7fffffff)) }
func (k *kernel) signOf(a value) value               { return k.and(a, k.bits(0x80000000)) }
func (k *kernel) neg(a value) value                  { return k.xor(a, k.bits(0x80000000)) }

// poly is Horner's scheme: coefficients from the constant term up.
func (k *kernel) poly(x value, coefficients ...float64) value {
	n := len(coefficients) - 1
	p := k.c(coefficients[n])
	for i := n - 1; i >= 0; i-- {
		p = k.fma(p, x, k.c(coefficients[i]))
	}
	return p
}
