package vec

import (
	"math"
	"math/bits"
	"unsafe"
)

// Functions of a run of n float32 elements. They add up in float32, with many partial sums, so callers pass
// at most a few thousand elements and add up the results in float64.
//
// Pointers are to float32; d may be the same memory as an operand.
var (
	Sum        = sumGo
	SumSquares = sumSquaresGo
	Dot        = dotGo
	// MaxOf and MinOf return NaN if an element is NaN, and ∓Inf for n = 0.
	MaxOf = maxOfGo
	MinOf = minOfGo
	// MaxOfNumbers is MaxOf without the elements that are NaN.
	MaxOfNumbers = maxOfNumbersGo
	// SumSquaresAbout returns Σ (x−mean)².
	SumSquaresAbout = sumSquaresAboutGo
	// ExpSubSum sets d = exp(x−m) and returns Σ d. x−m is at most 89. Here and below, the exponential of a
	// difference may be 0 where it is below the smallest normal number.
	ExpSubSum = expSubSumGo
	// SumExpSub returns Σ exp(x−m). x−m is at most 89.
	SumExpSub = sumExpSubGo
	// StreamTo sets d = x by stores that bypass the caches; d and x do not overlap. Such stores do not read
	// the lines that they overwrite, and leave the content of the caches alone. Another thread sees the
	// stores after the next atomic write of this one.
	StreamTo = streamToGo
	// AddScaled adds s·x to d.
	AddScaled = addScaledGo
	// Exchange puts the smaller of two numbers into a and the larger one into b.
	Exchange = exchangeGo
	// RankTo sets d = y^(y>>31&mask)^after with y = x^before, of signed integers. It returns 0 if x, as
	// numbers, has no NaN and no −0.
	RankTo = rankToGo
	// NormGradParams adds dy·(x−mean)·r to dw and dy to db. ScaleGradParam adds dy·x·r to dw.
	NormGradParams = normGradParamsGo
	ScaleGradParam = scaleGradParamGo
	// NormGradSums returns Σ g, Σ g·c and Σ c² with g = dy·w and c = x−mean. ScaleGradSums returns Σ dy·w·x
	// and Σ x².
	NormGradSums  = normGradSumsGo
	ScaleGradSums = scaleGradSumsGo
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
	AdamWTo = adamWToGo
)

// Functions that finish a row. Each has a second form, named Past, which stores to d as StreamTo does, past
// the caches; its d is a multiple of 64.
var (
	// ScaleTo sets d = s·x; SubTo sets d = x−s.
	ScaleTo, ScalePast = scaleToGo, scaleToGo
	SubTo, SubPast     = subToGo, subToGo
	// NormTo sets d = (x−mean)·r·w + b. ScaleMulTo sets d = x·r·w.
	NormTo, NormPast         = normToGo, normToGo
	ScaleMulTo, ScaleMulPast = scaleMulToGo, scaleMulToGo
	// SoftmaxGradTo sets d = y·(dy−dot). LogSoftmaxGradTo sets d = dy − exp(y)·sum.
	SoftmaxGradTo, SoftmaxGradPast       = softmaxGradToGo, softmaxGradToGo
	LogSoftmaxGradTo, LogSoftmaxGradPast = logSoftmaxGradToGo, logSoftmaxGradToGo
	// NormGradTo sets d = r·(dy·w − c1 − x̂·c2) with x̂ = (x−mean)·r.
	NormGradTo, NormGradPast = normGradToGo, normGradToGo
	// ScaleGradTo sets d = r·dy·w − c2·x.
	ScaleGradTo, ScaleGradPast = scaleGradToGo, scaleGradToGo
	// CrossEntropyGradTo sets d = s·(exp(x−lse) − smooth). x−lse is at most 89.
	CrossEntropyGradTo, CrossEntropyGradPast = crossEntropyGradToGo, crossEntropyGradToGo
)

// floats returns n float32 at p as a slice.
func floats(p unsafe.Pointer, n int) []float32 { return slice[float32](p, n) }

func sumGo(x unsafe.Pointer, n int) float32 {
	var s float64
	for _, v := range floats(x, n) {
		s += float64(v)
	}
	return float32(s)
}

func sumSquaresGo(x unsafe.Pointer, n int) float32 { return dotGo(x, x, n) }

func sumSquaresAboutGo(x unsafe.Pointer, mean float32, n int) float32 {
	var s float64
	for _, v := range floats(x, n) {
		d := float64(v - mean)
		s += d * d
	}
	return float32(s)
}

func dotGo(x, y unsafe.Pointer, n int) float32 {
	var s float64
	b := floats(y, n)
	for i, v := range floats(x, n) {
		s += float64(v) * float64(b[i])
	}
	return float32(s)
}

func maxOfGo(x unsafe.Pointer, n int) float32 {
	m := float32(math.Inf(-1))
	for _, v := range floats(x, n) {
		m = max(m, v)
	}
	return m
}

func maxOfNumbersGo(x unsafe.Pointer, n int) float32 {
	m := float32(math.Inf(-1))
	for _, v := range floats(x, n) {
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

func expSubSumGo(d, x unsafe.Pointer, m float32, n int) float32 {
	var s float64
	out := floats(d, n)
	for i, v := range floats(x, n) {
		e := math.Exp(float64(v - m))
		out[i] = float32(e)
		s += e
	}
	return float32(s)
}

func sumExpSubGo(x unsafe.Pointer, m float32, n int) float32 {
	var s float64
	for _, v := range floats(x, n) {
		s += math.Exp(float64(v - m))
	}
	return float32(s)
}

func scaleToGo(d, x unsafe.Pointer, s float32, n int) {
	out := floats(d, n)
	for i, v := range floats(x, n) {
		out[i] = v * s
	}
}

func streamToGo(d, x unsafe.Pointer, n int) { copy(floats(d, n), floats(x, n)) }

func subToGo(d, x unsafe.Pointer, s float32, n int) {
	out := floats(d, n)
	for i, v := range floats(x, n) {
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

func addScaledGo(d, x unsafe.Pointer, s float32, n int) {
	out := floats(d, n)
	for i, v := range floats(x, n) {
		out[i] += v * s
	}
}

func normToGo(d, x, w, b unsafe.Pointer, mean, r float32, n int) {
	out, ws, bs := floats(d, n), floats(w, n), floats(b, n)
	for i, v := range floats(x, n) {
		out[i] = (v-mean)*r*ws[i] + bs[i]
	}
}

func scaleMulToGo(d, x, w unsafe.Pointer, r float32, n int) {
	out, ws := floats(d, n), floats(w, n)
	for i, v := range floats(x, n) {
		out[i] = v * r * ws[i]
	}
}

func softmaxGradToGo(d, y, dy unsafe.Pointer, dot float32, n int) {
	out, g := floats(d, n), floats(dy, n)
	for i, v := range floats(y, n) {
		out[i] = v * (g[i] - dot)
	}
}

func logSoftmaxGradToGo(d, y, dy unsafe.Pointer, sum float32, n int) {
	out, g := floats(d, n), floats(dy, n)
	for i, v := range floats(y, n) {
		out[i] = g[i] - float32(math.Exp(float64(v)))*sum
	}
}

func normGradSumsGo(x, w, dy unsafe.Pointer, mean float32, n int) (g, gc, cc float32) {
	var s [3]float64
	ws, dys := floats(w, n), floats(dy, n)
	for i, v := range floats(x, n) {
		g, c := float64(dys[i])*float64(ws[i]), float64(v-mean)
		s[0] += g
		s[1] += g * c
		s[2] += c * c
	}
	return float32(s[0]), float32(s[1]), float32(s[2])
}

func scaleGradSumsGo(x, w, dy unsafe.Pointer, n int) (gx, xx float32) {
	var s, squares float64
	ws, dys := floats(w, n), floats(dy, n)
	for i, v := range floats(x, n) {
		s += float64(dys[i]) * float64(ws[i]) * float64(v)
		squares += float64(v) * float64(v)
	}
	return float32(s), float32(squares)
}

func normGradToGo(d, x, w, dy unsafe.Pointer, mean, r, c1, c2 float32, n int) {
	out, ws, dys := floats(d, n), floats(w, n), floats(dy, n)
	for i, v := range floats(x, n) {
		out[i] = r * (dys[i]*ws[i] - c1 - (v-mean)*r*c2)
	}
}

func scaleGradToGo(d, x, w, dy unsafe.Pointer, r, c2 float32, n int) {
	out, ws, dys := floats(d, n), floats(w, n), floats(dy, n)
	for i, v := range floats(x, n) {
		out[i] = dys[i]*r*ws[i] - c2*v
	}
}

func normGradParamsGo(dw, db, x, dy unsafe.Pointer, mean, r float32, n int) {
	dws, dbs, dys := floats(dw, n), floats(db, n), floats(dy, n)
	for i, v := range floats(x, n) {
		dws[i] += dys[i] * ((v - mean) * r)
		dbs[i] += dys[i]
	}
}

func scaleGradParamGo(dw, x, dy unsafe.Pointer, r float32, n int) {
	dws, dys := floats(dw, n), floats(dy, n)
	for i, v := range floats(x, n) {
		dws[i] += dys[i] * (v * r)
	}
}

func crossEntropyGradToGo(d, x unsafe.Pointer, lse, s, smooth float32, n int) {
	out := floats(d, n)
	for i, v := range floats(x, n) {
		out[i] = s * (float32(math.Exp(float64(v-lse))) - smooth)
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
type AdamWStep struct {
	Scale, OneMinusBeta1, OneMinusBeta2, Decay, Rate, Root, Eps float32
}

func adamWToGo(p2, m2, v2, p, g, m, v unsafe.Pointer, s *AdamWStep, n int) {
	p2s, m2s, v2s := floats(p2, n), floats(m2, n), floats(v2, n)
	ps, gs, ms, vs := floats(p, n), floats(g, n), floats(m, n), floats(v, n)
	for i := range n {
		grad := gs[i] * s.Scale
		mi := ms[i] + s.OneMinusBeta1*(grad-ms[i])
		vi := vs[i] + s.OneMinusBeta2*(grad*grad-vs[i])
		root := float32(math.Sqrt(float64(vi)))
		p2s[i] = ps[i] - (s.Decay*ps[i] + s.Rate*mi/(root*s.Root+s.Eps))
		m2s[i], v2s[i] = mi, vi
	}
}
