package main

import (
	"math"
	"slices"
)

// A build describes a kernel to a generator that has chosen a set.
type build struct {
	name string // of the function
	id   string // of the Func it is, or empty
	make func(k *kernel)
}

var kernels = slices.Concat(unaryKernels(), binaryKernels(), conversions(), rowKernels(), dynamicKernels(), lastKernels(), columnKernels())

// elementwise is a Func: it has the parameters d, a, b, c whether it needs them or not.
func elementwise(id string, out mem, in []mem, f func(k *kernel, x []value) value) build {
	return build{lower(id), id, func(k *kernel) {
		d := k.pointer("d", out)
		var x []value
		for i, name := range []string{"a", "b", "c"} {
			m := f32
			if i < len(in) {
				m = in[i]
			}
			p := k.pointer(name, m)
			if i < len(in) {
				x = append(x, k.load(p))
			}
		}
		k.store(d, f(k, x))
	}}
}

func lower(id string) string {
	n := 0
	for n < len(id) && id[n] >= 'A' && id[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(id) {
		n--
	}
	b := []byte(id)
	for i := range n {
		b[i] += 'a' - 'A'
	}
	return string(b)
}

func unaryKernels() []build {
	one := func(id string, f func(k *kernel, x value) value) build {
		return elementwise(id, f32, []mem{f32}, func(k *kernel, x []value) value { return f(k, x[0]) })
	}
	return []build{
		one("Neg", (*kernel).neg),
		one("Abs", (*kernel).abs),
		one("Sign", (*kernel).sign),
		one("Floor", func(k *kernel, x value) value { return k.round(x, down) }),
		one("Ceil", func(k *kernel, x value) value { return k.round(x, up) }),
		one("Round", func(k *kernel, x value) value { return k.round(x, nearest) }),
		one("Exp", (*kernel).exp),
		one("Expm1", (*kernel).expm1),
		one("Log", func(k *kernel, x value) value { return k.log(x, nil) }),
		one("Log1p", (*kernel).log1p),
		one("Sqrt", (*kernel).sqrt),
		one("Rsqrt", func(k *kernel, x value) value { return k.div(k.c(1), k.sqrt(x)) }),
		one("Recip", func(k *kernel, x value) value { return k.div(k.c(1), x) }),
		one("Sin", (*kernel).sin),
		one("Cos", func(k *kernel, x value) value { return k.sinCos(x, 1) }),
		one("Tanh", (*kernel).tanh),
		one("Erf", (*kernel).erf),
		one("Sigmoid", (*kernel).sigmoid),
		one("Silu", func(k *kernel, x value) value { return k.mul(x, k.sigmoid(x)) }),
		one("Gelu", (*kernel).gelu),
		one("GeluTanh", (*kernel).geluTanh),
	}
}

func binaryKernels() []build {
	two := func(id string, f func(k *kernel, a, b value) value) build {
		return elementwise(id, f32, []mem{f32, f32}, func(k *kernel, x []value) value { return f(k, x[0], x[1]) })
	}
	compare := func(id string, predicate int) build {
		return elementwise(id, u8, []mem{f32, f32}, func(k *kernel, x []value) value {
			return k.ones(k.compare(predicate, x[0], x[1]))
		})
	}
	return []build{
		two("Add", (*kernel).add),
		two("Sub", (*kernel).sub),
		two("Mul", (*kernel).mul),
		two("Div", (*kernel).div),
		two("Max", (*kernel).maximum),
		two("Min", (*kernel).minimum),
		elementwise("FMA", f32, []mem{f32, f32, f32}, func(k *kernel, x []value) value { return k.fma(x[0], x[1], x[2]) }),
		compare("Eq", eq),
		compare("Ne", ne),
		compare("Lt", lt),
		compare("Le", le),
		compare("Gt", gt),
		compare("Ge", ge),
		elementwise("Where", f32, []mem{u8, f32, f32}, func(k *kernel, x []value) value {
			return k.where(k.equalInt(x[0], k.bits(0)), x[2], x[1])
		}),
	}
}

func conversions() []build {
	convert := func(id string, to, from mem, f func(k *kernel, x value) value) build {
		return elementwise(id, to, []mem{from}, func(k *kernel, x []value) value { return f(k, x[0]) })
	}
	same := func(_ *kernel, x value) value { return x }
	return []build{
		convert("IsNaN", u8, f32, func(k *kernel, x value) value { return k.ones(k.isNaN(x)) }),
		convert("ToBool", u8, f32, func(k *kernel, x value) value { return k.ones(k.compare(ne, x, k.c(0))) }),
		convert("FromF16", f32, half, same),
		convert("FromBF16", f32, u16, func(k *kernel, x value) value { return k.shiftLeft(x, 16) }),
		convert("FromI32", f32, i32, (*kernel).toFloat),
		convert("FromU8", f32, u8, (*kernel).toFloat),
		convert("ToF16", half, f32, same),
		convert("ToBF16", u16, f32, (*kernel).toBF16),
		convert("ToI32", i32, f32, (*kernel).truncate),
		convert("RoundF16", f32, f32, func(k *kernel, x value) value { return k.apply(opHalf, x) }),
		convert("RoundBF16", f32, f32, func(k *kernel, x value) value { return k.shiftLeft(k.toBF16(x), 16) }),
	}
}

// lastKernels are functions of row.go that compute what a row kernel stores. Each is there twice: as storeTo,
// and as storePast, which stores past the caches.
func lastKernels() []build {
	var list []build
	last := func(name string, f func(k *kernel)) {
		list = append(list,
			build{name: name + "To", make: f},
			build{name: name + "Past", make: func(k *kernel) { k.streams = true; f(k) }})
	}
	last("scale", func(k *kernel) {
		d, x, s := k.pointer("d", f32), k.in("x"), k.scalar("s")
		k.store(d, k.mul(x, s))
	})
	last("sub", func(k *kernel) {
		d, x, s := k.pointer("d", f32), k.in("x"), k.scalar("s")
		k.store(d, k.sub(x, s))
	})
	last("norm", func(k *kernel) {
		k.turns = 4
		d, x, w, b := k.pointer("d", f32), k.in("x"), k.in("w"), k.in("b")
		mean, r := k.scalar("mean"), k.scalar("r")
		k.store(d, k.fma(k.mul(k.sub(x, mean), r), w, b))
	})
	last("scaleMul", func(k *kernel) {
		k.turns = 4
		d, x, w, r := k.pointer("d", f32), k.in("x"), k.in("w"), k.scalar("r")
		k.store(d, k.mul(k.mul(x, r), w))
	})
	last("softmaxGrad", func(k *kernel) {
		k.turns = 4
		d, y, dy, dot := k.pointer("d", f32), k.in("y"), k.in("dy"), k.scalar("dot")
		k.store(d, k.mul(y, k.sub(dy, dot)))
	})
	last("logSoftmaxGrad", func(k *kernel) {
		d, y, dy, sum := k.pointer("d", f32), k.in("y"), k.in("dy"), k.scalar("sum")
		k.store(d, k.fnma(k.expAtMost89(y), sum, dy))
	})
	last("normGrad", func(k *kernel) {
		k.turns = 4
		d, x, w, dy := k.pointer("d", f32), k.in("x"), k.in("w"), k.in("dy")
		mean, r, c1, c2 := k.scalar("mean"), k.scalar("r"), k.scalar("c1"), k.scalar("c2")
		k.store(d, k.mul(r, k.fnma(k.mul(k.sub(x, mean), r), c2, k.sub(k.mul(dy, w), c1))))
	})
	last("scaleGrad", func(k *kernel) {
		k.turns = 4
		d, x, w, dy := k.pointer("d", f32), k.in("x"), k.in("w"), k.in("dy")
		r, c2 := k.scalar("r"), k.scalar("c2")
		k.store(d, k.fnma(x, c2, k.mul(k.mul(dy, r), w)))
	})
	last("crossEntropyGrad", func(k *kernel) {
		d, x := k.pointer("d", f32), k.inAhead("x", 4096)
		lse, s, smooth := k.scalar("lse"), k.scalar("s"), k.scalar("smooth")
		k.store(d, k.mul(s, k.sub(k.expOfDifference(k.sub(x, lse)), smooth)))
	})
	return list
}

// rowKernels are the functions of row.go, by the same names and parameters.
func rowKernels() []build {
	row := func(name string, f func(k *kernel)) build { return build{name: name, make: f} }
	return []build{
		row("sum", func(k *kernel) { k.sum(k.inAhead("x", 4096)) }),
		row("sumSquares", func(k *kernel) { x := k.inAhead("x", 4096); k.sumOfProducts(x, x) }),
		row("dot", func(k *kernel) {
			x, y := k.inAhead("x", 4096), k.inAhead("y", 4096)
			k.sumOfProducts(x, y)
		}),
		row("maxOf", func(k *kernel) { k.maxOf(k.inAhead("x", 4096)) }),
		row("minOf", func(k *kernel) { k.minOf(k.in("x")) }),
		row("maxOfNumbers", func(k *kernel) { k.maxOfNumbers(k.inAhead("x", 4096)) }),
		row("sumSquaresAbout", func(k *kernel) {
			x, mean := k.in("x"), k.scalar("mean")
			d := k.sub(x, mean)
			k.sumOfProducts(d, d)
		}),
		row("expSubSum", func(k *kernel) {
			d, x, m := k.pointer("d", f32), k.in("x"), k.scalar("m")
			e := k.expOfDifference(k.sub(x, m))
			k.store(d, e)
			k.sum(e)
		}),
		row("sumExpSub", func(k *kernel) {
			x, m := k.inAhead("x", 8192), k.scalar("m")
			k.sum(k.expOfDifference(k.sub(x, m)))
		}),
		row("stream", func(k *kernel) {
			k.streams = true
			d, x := k.pointer("d", f32), k.in("x")
			k.store(d, x)
		}),
		row("addScaled", func(k *kernel) {
			d, x, s := k.pointer("d", f32), k.in("x"), k.scalar("s")
			k.store(d, k.fma(x, s, k.load(d)))
		}),
		row("exchange", func(k *kernel) {
			a, b := k.pointer("a", f32), k.pointer("b", f32)
			x, y := k.load(a), k.load(b)
			k.store(a, k.min(x, y))
			k.store(b, k.max(x, y))
		}),
		row("rankTo", func(k *kernel) {
			d, x, mask, before, after := k.pointer("d", f32), k.in("x"), k.word("mask"), k.word("before"), k.word("after")
			y := k.xor(x, before)
			k.store(d, k.xor(k.xor(y, k.and(k.shiftSigned(y, 31), mask)), after))
			k.sum(k.where(k.isNaN(x), k.c(1), k.where(k.equalInt(x, k.bits(1<<31)), k.c(1), k.c(0))))
		}),
		row("normGradSums", func(k *kernel) {
			k.turns = 2
			x, w, dy, mean := k.in("x"), k.in("w"), k.inAhead("dy", 4096), k.scalar("mean")
			g, c := k.mul(dy, w), k.sub(x, mean)
			k.sum(g)
			k.sumOfProducts(g, c)
			k.sumOfProducts(c, c)
		}),
		row("normGradParams", func(k *kernel) {
			k.turns = 4
			dw, db, x, dy := k.pointer("dw", f32), k.pointer("db", f32), k.in("x"), k.in("dy")
			mean, r := k.scalar("mean"), k.scalar("r")
			k.store(dw, k.fma(dy, k.mul(k.sub(x, mean), r), k.load(dw)))
			k.store(db, k.add(k.load(db), dy))
		}),
		row("scaleGradParam", func(k *kernel) {
			k.turns = 4
			dw, x, dy, r := k.pointer("dw", f32), k.in("x"), k.in("dy"), k.scalar("r")
			k.store(dw, k.fma(dy, k.mul(x, r), k.load(dw)))
		}),
		row("scaleGradSums", func(k *kernel) {
			x, w, dy := k.inAhead("x", 4096), k.in("w"), k.inAhead("dy", 4096)
			k.sumOfProducts(k.mul(dy, w), x)
			k.sumOfProducts(x, x)
		}),
		row("adamW", adamW),
		row("boxMullerTo", boxMuller),
		row("uniformTo", uniform),
		row("ropeTo", func(k *kernel) {
			d, e := k.pointer("d", f32), k.pointer("e", f32)
			x, y, cos, sin := k.in("x"), k.in("y"), k.in("cos"), k.in("sin")
			k.store(d, k.fnma(y, sin, k.mul(x, cos)))
			k.store(e, k.fma(x, sin, k.mul(y, cos)))
		}),
	}
}

// adamW is one step of the optimizer; AdamWStep has the formula.
func adamW(k *kernel) {
	p2, m2, v2 := k.pointer("p2", f32), k.pointer("m2", f32), k.pointer("v2", f32)
	p, g, m, v := k.in("p"), k.in("grad"), k.in("m"), k.in("v")
	scale, b1, b2 := k.scalar("scale"), k.scalar("b1"), k.scalar("b2")
	decay, rate, root, eps := k.scalar("decay"), k.scalar("rate"), k.scalar("root"), k.scalar("eps")
	g = k.mul(g, scale)
	m = k.fma(b1, k.sub(g, m), m)
	v = k.fma(b2, k.sub(k.mul(g, g), v), v)
	step := k.div(k.mul(rate, m), k.fma(k.sqrt(v), root, eps))
	k.store(p2, k.sub(p, k.fma(decay, p, step)))
	k.store(m2, m)
	k.store(v2, v)
}

// boxMuller makes two independent normal numbers from u and v, uniform in [0, 1). The angle 2π·v is reduced
// before it is multiplied: v − n/4 is exact.
func boxMuller(k *kernel) {
	d, e := k.pointer("d", f32), k.pointer("e", f32)
	u, v := k.in("u"), k.in("v")
	r := k.sqrt(k.mul(k.c(-2), k.log(k.sub(k.c(1), u), nil)))
	n := k.round(k.mul(v, k.c(4)), nearest)
	angle := k.mul(k.fnma(n, k.c(0.25), v), k.c(2*math.Pi))
	quarter := k.toInt(n)
	k.store(d, k.mul(r, k.sinCosReduced(angle, k.addInt(quarter, k.bits(1)))))
	k.store(e, k.mul(r, k.sinCosReduced(angle, quarter)))
}

// uniform runs Philox4x32-10 in the lower words of 64-bit lanes. A product of lower words does not depend on
// the upper words, so these may hold anything. b holds block numbers: those in even lanes go to d, those in
// odd lanes to e.
func uniform(k *kernel) {
	d, e := k.pointer("d", f32), k.pointer("e", f32)
	b := k.in("b")
	k0, k1, c2, c3 := k.word("k0"), k.word("k1"), k.word("c2"), k.word("c3")
	c := [4]value{b, k.apply(opWordDown, b), c2, c3}
	for range 10 {
		p0, p1 := k.apply(opMulWords, c[0], k.bits(0xD2511F53)), k.apply(opMulWords, c[2], k.bits(0xCD9E8D57))
		c = [4]value{
			k.xor(k.xor(k.apply(opWordDown, p1), c[1]), k0), p1,
			k.xor(k.xor(k.apply(opWordDown, p0), c[3]), k1), p0,
		}
		k0, k1 = k.addInt(k0, k.bits(0x9E3779B9)), k.addInt(k1, k.bits(0xBB67AE85))
	}
	pair := func(low, high value) value {
		return k.or(k.apply(opWordDown, k.apply(opWordUp, low)), k.apply(opWordUp, high))
	}
	first, second := pair(c[0], c[1]), pair(c[2], c[3])
	number := func(w value) value { return k.mul(k.toFloat(k.shiftRight(w, 8)), k.c(0x1p-24)) }
	k.store(d, number(k.apply(opUnpackLow, first, second)))
	k.store(e, number(k.apply(opUnpackHigh, first, second)))
}
