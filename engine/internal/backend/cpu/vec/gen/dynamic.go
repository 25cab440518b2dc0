package main

import "math"

// Numbers of dynamic maps (ir.DynamicMap) in 8 bits. A map of kind sign has decades of 1 … 64 steps below 1,
// the other one of 2 … 128. Which decade a number lies in is found by comparisons with the borders between
// them; how many steps it has is a power of two, of which only the exponent is moved.

// least is the exponent of the number of steps of the smallest decade.
func least(sign bool) int {
	if sign {
		return 0
	}
	return 1
}

// dynamicKernels are the functions of vec's dynamic.go.
func dynamicKernels() []build {
	return []build{
		{name: "decodeSigned", make: func(k *kernel) { decode(k, true) }},
		{name: "decodeSquares", make: func(k *kernel) { decode(k, false) }},
		{name: "encodeSigned", make: func(k *kernel) { encode(k, true) }},
		{name: "encodeRoots", make: func(k *kernel) { encode(k, false) }},
	}
}

func decode(k *kernel, sign bool) {
	d := k.pointer("d", f32)
	code, scale := k.toFloat(k.load(k.pointer("codes", u8))), k.scalar("scale")
	highest := 255.0
	if sign {
		code, highest = k.sub(code, k.c(127)), 128
	}
	rank := k.abs(code)
	at := k.add(rank, k.c(float64(least(sign))))
	steps := k.and(at, k.bits(0xff800000))
	share := k.subInt(k.bits(0x7f000000), steps) // 1/steps
	size := k.fma(k.mul(k.add(k.sub(at, steps), k.c(0.5)), share), k.c(0.9), k.c(0.1))
	unit := k.c(1)
	for e := 6 + least(sign); e > least(sign); e-- {
		unit = k.where(k.compare(lt, at, k.c(math.Exp2(float64(e)))), k.c(math.Pow10(e-7-least(sign))), unit)
	}
	size = k.mul(size, unit)
	size = k.where(k.compare(lt, rank, k.c(0.5)), k.c(0), size)
	size = k.where(k.compare(gt, rank, k.c(highest-0.5)), k.c(1), size)
	if sign {
		k.store(d, k.mul(k.or(size, k.signOf(code)), scale))
		return
	}
	size = k.mul(size, scale)
	k.store(d, k.mul(size, size))
}

func encode(k *kernel, sign bool) {
	d := k.pointer("d", u8)
	x, inverse := k.in("x"), k.scalar("inverse")
	if !sign {
		x = k.sqrt(x)
	}
	x = k.mul(x, inverse)
	a := k.abs(x)
	l := least(sign)
	steps, tens := k.c(math.Exp2(float64(6+l))), k.c(1/0.9)
	for e := 6 + l; e > l; e-- { // the middle between the last step of the decade below and the first of this one
		below := k.compare(lt, a, k.c((0.1+0.18/math.Exp2(float64(e)))*math.Pow10(e-6-l)))
		steps = k.where(below, k.c(math.Exp2(float64(e-1))), steps)
		tens = k.where(below, k.c(math.Pow10(7+l-e)/0.9), tens)
	}
	// A number 10⁻ⁿ·u is step (u − 0.1)/0.9·steps of its decade. Up to the border it is nearest to the last
	// one.
	rank := k.min(k.mul(k.fma(a, tens, k.c(8./9)), steps), k.fma(steps, k.c(2), k.c(-1)))
	if sign {
		rank = k.round(rank, down)
	} else {
		rank = k.sub(rank, k.c(1)) // which is truncated below
	}
	first := 1e-6 * (0.1 + 0.45/math.Exp2(float64(l)))
	rank = k.where(k.compare(lt, a, k.c(first/2)), k.c(0), rank)
	last := k.c(1 - 0.225/math.Exp2(float64(6+l))) // the middle between the last step and 1, which has no sign
	if sign {
		rank = k.where(k.compare(lt, x, last), k.or(rank, k.signOf(x)), k.c(128))
		k.store(d, k.truncate(k.add(rank, k.c(127))))
		return
	}
	k.store(d, k.truncate(k.where(k.compare(lt, a, last), rank, k.c(255))))
}
