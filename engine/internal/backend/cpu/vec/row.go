package vec

import (
	"math"
	"math/bits"
	"unsafe"
)

// Float are the types of elements that rows have.
type Float interface{ float32 | float64 }

// Functions of a run of n float32 elements. They add up in float32, with many partial sums, so callers pass
// at most a few thousand elements and add up the results in float64.
//
// Pointers are to float32; d may be the same memory as an operand.
var (
	Sum        = sumGo[float32]
	SumSquares = sumSquaresGo[float32]
	Dot        = dotGo[float32]
	// MaxOf and MinOf return NaN if an element is NaN, and ∓Inf for n = 0.
	MaxOf = maxOfGo[float32]
	MinOf = minOfGo
	// MaxOfNumbers is MaxOf without the elements that are NaN.
	MaxOfNumbers = maxOfNumbersGo[float32]
	// SumSquaresAbout returns Σ (x−mean)².
	SumSquaresAbout = sumSquaresAboutGo[float32]
	// ExpSubSum sets d = exp(x−m) and returns Σ d. x−m is at most 89. Here and below, the exponential of a
	// difference may be 0 where it is below the smallest normal number.
	ExpSubSum = expSubSumGo[float32]
	// SumExpSub returns Σ exp(x−m). x−m is at most 89.
	SumExpSub = sumExpSubGo[float32]
	// StreamTo sets d = x by stores that bypass the caches; d and x do not overlap. Such stores do not read
	// the lines that they overwrite, and leave the content of the caches alone. Another thread sees the
	// stores after the next atomic write of this one.
	StreamTo = streamToGo
	// AddScaled adds s·x to d.
	AddScaled = addScaledGo[float32]
	// Exchange puts the smaller of two numbers into a and the larger one into b.
	Exchange = exchangeGo
	// RankTo sets d = y^(y>>31&mask)^after with y = x^before, of signed integers. It returns 0 if x, as
	// numbers, has no NaN and no −0.
	RankTo = rankToGo
	// NormGradParams adds dy·(x−mean)·r to dw and dy to db. ScaleGradParam adds dy·x·r to dw.
	NormGradParams = normGradParamsGo[float32]
	ScaleGradParam = scaleGradParamGo[float32]
	// NormGradSums returns Σ g, Σ g·c and Σ c² with g = dy·w and c = x−mean. ScaleGradSums returns Σ dy·w·x
	// and Σ x².
	NormGradSums  = normGradSumsGo[float32]
	ScaleGradSums = scaleGradSumsGo[float32]
	// UniformTo fills d and e, n elements each, with numbers in [0, 1) from Philox4x32-10 (Salmon, Moraes,
	// Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011). A number is the upper 24 bits of a
	// word; a block has four words. b holds n/2 block numbers of 64 bits: d has the numbers of those with
	// even index, e of those with odd index. n is a multiple of 16.
	UniformTo = uniformToGo
	// BoxMullerTo turns uniform numbers into normal ones: d and e become √(−2·log(1−u)) times the cosine
	// and the sine of 2π·v.
	BoxMullerTo = boxMullerToGo
	// RopeTo sets d = x·cos − y·sin and e = x·sin + y·cos.
	RopeTo = ropeToGo
	// AdamWTo does one step of AdamW (Loshchilov and Hutter 2019) on n elements: see [AdamWStep].
	AdamWTo = adamWToGo[float32]
)

// Functions that finish a row. Each has a second form, named Past, which stores to d as StreamTo does, past
// the caches; its d is a multiple of 64.
var (
	// ScaleTo sets d = s·x; SubTo sets d = x−s.
	ScaleTo, ScalePast = scaleToGo[float32], scaleToGo[float32]
	SubTo, SubPast     = subToGo[float32], subToGo[float32]
	// NormTo sets d = (x−mean)·r·w + b. ScaleMulTo sets d = x·r·w.
	NormTo, NormPast         = normToGo[float32], normToGo[float32]
	ScaleMulTo, ScaleMulPast = scaleMulToGo[float32], scaleMulToGo[float32]
	// SoftmaxGradTo sets d = y·(dy−dot). LogSoftmaxGradTo sets d = dy − exp(y)·sum.
	SoftmaxGradTo, SoftmaxGradPast       = softmaxGradToGo[float32], softmaxGradToGo[float32]
	LogSoftmaxGradTo, LogSoftmaxGradPast = logSoftmaxGradToGo[float32], logSoftmaxGradToGo[float32]
	// NormGradTo sets d = r·(dy·w − c1 − x̂·c2) with x̂ = (x−mean)·r.
	NormGradTo, NormGradPast = normGradToGo[float32], normGradToGo[float32]
	// ScaleGradTo sets d = r·dy·w − c2·x.
	ScaleGradTo, ScaleGradPast = scaleGradToGo[float32], scaleGradToGo[float32]
	// CrossEntropyGradTo sets d = s·(exp(x−lse) − smooth). x−lse is at most 89.
	CrossEntropyGradTo, CrossEntropyGradPast = crossEntropyGradToGo[float32], crossEntropyGradToGo[float32]
)

// Runs are functions of runs of one type of elements, as the variables above describe them.
type Runs[T Float] struct {
	Sum, SumSquares, MaxOf, MaxOfNumbers func(x unsafe.Pointer, n int) T

	Dot                        func(x, y unsafe.Pointer, n int) T
	SumSquaresAbout, SumExpSub func(x unsafe.Pointer, m T, n int) T
	ExpSubSum                  func(d, x unsafe.Pointer, m T, n int) T
	AddScaled                  func(d, x unsafe.Pointer, s T, n int)
	NormGradParams             func(dw, db, x, dy unsafe.Pointer, mean, r T, n int)
	ScaleGradParam             func(dw, x, dy unsafe.Pointer, r T, n int)
	NormGradSums               func(x, w, dy unsafe.Pointer, mean T, n int) (g, gc, cc T)
	ScaleGradSums              func(x, w, dy unsafe.Pointer, n int) (gx, xx T)
	AdamWTo                    func(p2, m2, v2, p, g, m, v unsafe.Pointer, s *AdamWStep[T], n int)
	Add                        Func
	To, Past                   Lasts[T]
}

// Lasts are functions that finish a row.
type Lasts[T Float] struct {
	Scale, Sub                  func(d, x unsafe.Pointer, s T, n int)
	Norm                        func(d, x, w, b unsafe.Pointer, mean, r T, n int)
	ScaleMul                    func(d, x, w unsafe.Pointer, r T, n int)
	SoftmaxGrad, LogSoftmaxGrad func(d, y, dy unsafe.Pointer, s T, n int)
	NormGrad                    func(d, x, w, dy unsafe.Pointer, mean, r, c1, c2 T, n int)
	ScaleGrad                   func(d, x, w, dy unsafe.Pointer, r, c2 T, n int)
	CrossEntropyGrad            func(d, x unsafe.Pointer, lse, s, smooth T, n int)
}

// Floats returns the functions of float32 for this machine.
func Floats() *Runs[float32] {
	return &Runs[float32]{Sum, SumSquares, MaxOf, MaxOfNumbers, Dot, SumSquaresAbout, SumExpSub, ExpSubSum, AddScaled,
		NormGradParams, ScaleGradParam, NormGradSums, ScaleGradSums, AdamWTo, Of(Add),
		Lasts[float32]{ScaleTo, SubTo, NormTo, ScaleMulTo, SoftmaxGradTo, LogSoftmaxGradTo, NormGradTo, ScaleGradTo, CrossEntropyGradTo},
		Lasts[float32]{ScalePast, SubPast, NormPast, ScaleMulPast, SoftmaxGradPast, LogSoftmaxGradPast, NormGradPast, ScaleGradPast,
			CrossEntropyGradPast}}
}

// Doubles returns those of float64, in plain Go.
func Doubles() *Runs[float64] { return plain[float64]() }

func plain[T Float]() *Runs[T] {
	last := Lasts[T]{scaleToGo[T], subToGo[T], normToGo[T], scaleMulToGo[T], softmaxGradToGo[T], logSoftmaxGradToGo[T], normGradToGo[T],
		scaleGradToGo[T], crossEntropyGradToGo[T]}
	return &Runs[T]{sumGo[T], sumSquaresGo[T], maxOfGo[T], maxOfNumbersGo[T], dotGo[T], sumSquaresAboutGo[T], sumExpSubGo[T],
		expSubSumGo[T], addScaledGo[T], normGradParamsGo[T], scaleGradParamGo[T], normGradSumsGo[T], scaleGradSumsGo[T], adamWToGo[T],
		addGo[T], last, last}
}

// floats returns n float32 at p as a slice.
func floats(p unsafe.Pointer, n int) []float32 { return slice[float32](p, n) }

func sumGo[T Float](x unsafe.Pointer, n int) T {
	var s [4]float64 // so that an addition need not wait for the one before
	for i, v := range slice[T](x, n) {
		s[i%4] += float64(v)
	}
	return T(s[0] + s[1] + (s[2] + s[3]))
}

func sumSquaresGo[T Float](x unsafe.Pointer, n int) T { return dotGo[T](x, x, n) }

func sumSquaresAboutGo[T Float](x unsafe.Pointer, mean T, n int) T {
	var s float64
	for _, v := range slice[T](x, n) {
		d := float64(v - mean)
		s += d * d
	}
	return T(s)
}

func dotGo[T Float](x, y unsafe.Pointer, n int) T {
	var s float64
	b := slice[T](y, n)
	for i, v := range slice[T](x, n) {
		s += float64(v) * float64(b[i])
	}
	return T(s)
}

func maxOfGo[T Float](x unsafe.Pointer, n int) T {
	m := T(math.Inf(-1))
	for _, v := range slice[T](x, n) {
		m = max(m, v)
	}
	return m
}

func maxOfNumbersGo[T Float](x unsafe.Pointer, n int) T {
	m := T(math.Inf(-1))
	for _, v := range slice[T](x, n) {
		if v > m {
			m = v
		}
	}
	return m
}

func minOfGo(x unsafe.Pointer, n int) float32 {
	m := float32(math.Inf(1))
	for _, v := range floats(x, n) {
		m = min(m, v)
	}
	return m
}

func expSubSumGo[T Float](d, x unsafe.Pointer, m T, n int) T {
	var s float64
	out := slice[T](d, n)
	for i, v := range slice[T](x, n) {
		e := math.Exp(float64(v - m))
		out[i] = T(e)
		s += e
	}
	return T(s)
}

func sumExpSubGo[T Float](x unsafe.Pointer, m T, n int) T {
	var s float64
	for _, v := range slice[T](x, n) {
		s += math.Exp(float64(v - m))
	}
	return T(s)
}

func scaleToGo[T Float](d, x unsafe.Pointer, s T, n int) {
	out := slice[T](d, n)
	for i, v := range slice[T](x, n) {
		out[i] = v * s
	}
}

func streamToGo(d, x unsafe.Pointer, n int) { copy(floats(d, n), floats(x, n)) }

func subToGo[T Float](d, x unsafe.Pointer, s T, n int) {
	out := slice[T](d, n)
	for i, v := range slice[T](x, n) {
		out[i] = v - s
	}
}

func rankToGo(d, x unsafe.Pointer, mask, before, after uint32, n int) (special float32) {
	to := slice[uint32](d, n)
	for i, b := range slice[uint32](x, n) {
		if b == 1<<31 || b&math.MaxInt32 > 0x7f800000 {
			special = 1
		}
		y := b ^ before
		to[i] = y ^ uint32(int32(y)>>31)&mask ^ after
	}
	return special
}

func exchangeGo(a, b unsafe.Pointer, n int) {
	x, y := floats(a, n), floats(b, n)
	for i, v := range x {
		x[i], y[i] = min(v, y[i]), max(v, y[i])
	}
}

func addScaledGo[T Float](d, x unsafe.Pointer, s T, n int) {
	out := slice[T](d, n)
	for i, v := range slice[T](x, n) {
		out[i] += v * s
	}
}

func normToGo[T Float](d, x, w, b unsafe.Pointer, mean, r T, n int) {
	out, ws, bs := slice[T](d, n), slice[T](w, n), slice[T](b, n)
	for i, v := range slice[T](x, n) {
		out[i] = (v-mean)*r*ws[i] + bs[i]
	}
}

func scaleMulToGo[T Float](d, x, w unsafe.Pointer, r T, n int) {
	out, ws := slice[T](d, n), slice[T](w, n)
	for i, v := range slice[T](x, n) {
		out[i] = v * r * ws[i]
	}
}

func softmaxGradToGo[T Float](d, y, dy unsafe.Pointer, dot T, n int) {
	out, g := slice[T](d, n), slice[T](dy, n)
	for i, v := range slice[T](y, n) {
		out[i] = v * (g[i] - dot)
	}
}

func logSoftmaxGradToGo[T Float](d, y, dy unsafe.Pointer, sum T, n int) {
	out, g := slice[T](d, n), slice[T](dy, n)
	for i, v := range slice[T](y, n) {
		out[i] = g[i] - T(math.Exp(float64(v)))*sum
	}
}

func normGradSumsGo[T Float](x, w, dy unsafe.Pointer, mean T, n int) (g, gc, cc T) {
	var s [3]float64
	ws, dys := slice[T](w, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		g, c := float64(dys[i])*float64(ws[i]), float64(v-mean)
		s[0] += g
		s[1] += g * c
		s[2] += c * c
	}
	return T(s[0]), T(s[1]), T(s[2])
}

func scaleGradSumsGo[T Float](x, w, dy unsafe.Pointer, n int) (gx, xx T) {
	var s, squares float64
	ws, dys := slice[T](w, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		s += float64(dys[i]) * float64(ws[i]) * float64(v)
		squares += float64(v) * float64(v)
	}
	return T(s), T(squares)
}

func normGradToGo[T Float](d, x, w, dy unsafe.Pointer, mean, r, c1, c2 T, n int) {
	out, ws, dys := slice[T](d, n), slice[T](w, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		out[i] = r * (dys[i]*ws[i] - c1 - (v-mean)*r*c2)
	}
}

func scaleGradToGo[T Float](d, x, w, dy unsafe.Pointer, r, c2 T, n int) {
	out, ws, dys := slice[T](d, n), slice[T](w, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		out[i] = dys[i]*r*ws[i] - c2*v
	}
}

func normGradParamsGo[T Float](dw, db, x, dy unsafe.Pointer, mean, r T, n int) {
	dws, dbs, dys := slice[T](dw, n), slice[T](db, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		dws[i] += dys[i] * ((v - mean) * r)
		dbs[i] += dys[i]
	}
}

func scaleGradParamGo[T Float](dw, x, dy unsafe.Pointer, r T, n int) {
	dws, dys := slice[T](dw, n), slice[T](dy, n)
	for i, v := range slice[T](x, n) {
		dws[i] += dys[i] * (v * r)
	}
}

func crossEntropyGradToGo[T Float](d, x unsafe.Pointer, lse, s, smooth T, n int) {
	out := slice[T](d, n)
	for i, v := range slice[T](x, n) {
		out[i] = s * (T(math.Exp(float64(v-lse))) - smooth)
	}
}

func uniformToGo(d, e, b unsafe.Pointer, k0, k1, c2, c3 uint32, n int) {
	out := [2][]float32{floats(d, n), floats(e, n)}
	for i, block := range slice[uint64](b, n/2) {
		w := philox([4]uint32{uint32(block), uint32(block >> 32), c2, c3}, k0, k1)
		for j := range w {
			out[i%2][i/2*4+j] = float32(w[j]>>8) * 0x1p-24
		}
	}
}

func philox(c [4]uint32, k0, k1 uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

func boxMullerToGo(d, e, u, v unsafe.Pointer, n int) {
	ds, es, vs := floats(d, n), floats(e, n), floats(v, n)
	for i, x := range floats(u, n) {
		r := math.Sqrt(-2 * math.Log(1-float64(x)))
		sin, cos := math.Sincos(2 * math.Pi * float64(vs[i]))
		ds[i], es[i] = float32(r*cos), float32(r*sin)
	}
}

func ropeToGo(d, e, x, y, cos, sin unsafe.Pointer, n int) {
	ds, es, ys, cs, ss := floats(d, n), floats(e, n), floats(y, n), floats(cos, n), floats(sin, n)
	for i, a := range floats(x, n) {
		ds[i], es[i] = a*cs[i]-ys[i]*ss[i], a*ss[i]+ys[i]*cs[i]
	}
}

// An AdamWStep holds the numbers of one step:
//
//	m' = m + (1−β₁)·(scale·g − m)
//	v' = v + (1−β₂)·((scale·g)² − v)
//	p' = p − (decay·p + rate·m' / (√v'·root + eps))
//
// with decay = lr·weight decay, rate = lr/(1−β₁ᵗ) and root = 1/√(1−β₂ᵗ).
type AdamWStep[T Float] struct {
	Scale, OneMinusBeta1, OneMinusBeta2, Decay, Rate, Root, Eps T
}

func adamWToGo[T Float](p2, m2, v2, p, g, m, v unsafe.Pointer, s *AdamWStep[T], n int) {
	p2s, m2s, v2s := slice[T](p2, n), slice[T](m2, n), slice[T](v2, n)
	ps, gs, ms, vs := slice[T](p, n), slice[T](g, n), slice[T](m, n), slice[T](v, n)
	for i := range n {
		grad := gs[i] * s.Scale
		mi := ms[i] + s.OneMinusBeta1*(grad-ms[i])
		vi := vs[i] + s.OneMinusBeta2*(grad*grad-vs[i])
		root := T(math.Sqrt(float64(vi)))
		p2s[i] = ps[i] - (s.Decay*ps[i] + s.Rate*mi/(root*s.Root+s.Eps))
		m2s[i], v2s[i] = mi, vi
	}
}
