package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

type bounded struct {
	id    ID
	f     func(float64) float64
	ulp   float64
	floor float64
}

// exact has the elementwise functions of one float32, computed in float64, and the largest error that the
// vector functions may make, in units in the last place. Below floor the unit is that of floor.
var exact = []bounded{
	{Neg, func(x float64) float64 { return -x }, 0, 0},
	{Abs, math.Abs, 0, 0},
	{Sign, func(x float64) float64 { return float64(sign(float32(x))) }, 0, 0},
	{Floor, math.Floor, 0, 0},
	{Ceil, math.Ceil, 0, 0},
	{Round, math.RoundToEven, 0, 0},
	{Sqrt, math.Sqrt, 0.5, 0},
	{Recip, func(x float64) float64 { return 1 / x }, 0.5, 0},
	{Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5, 0},
	{Exp, math.Exp, 1.5, 0},
	{Expm1, math.Expm1, 2, 0},
	{Log, math.Log, 1.5, 0},
	{Log1p, math.Log1p, 2, 0},
	{Sin, math.Sin, 2, 0},
	{Cos, math.Cos, 2, 0},
	{Tanh, math.Tanh, 3, 0},
	{Erf, math.Erf, 2, 0},
	{Sigmoid, sigmoid, 3, 0},
	{Silu, func(x float64) float64 { return x * sigmoid(x) }, 3.5, 0x1p-119},
	{Gelu, gelu, 7, 0x1p-118},
	{GeluTanh, func(x float64) float64 { return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)) }, 20, 0x1p-12},
}

// sweep returns every 4093rd float32 of both signs, and the special values.
func sweep() []float32 {
	var xs []float32
	for b := uint32(0); b < 0x7f800000; b += 4093 {
		xs = append(xs, math.Float32frombits(b), -math.Float32frombits(b))
	}
	for i := range 100_000 { // where the functions curve
		xs = append(xs, float32(i-50_000)/4000)
	}
	inf := float32(math.Inf(1))
	return append(xs, 0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), 1, -1, 88.722839, 88.72284, -103.97, 0x1p-149)
}

func TestFunctionsAgainstMath(t *testing.T) {
	for id := range Add { // those before it have one operand
		if !slices.ContainsFunc(exact, func(c bounded) bool { return c.id == id }) {
			t.Errorf("%v has no line in exact", id)
		}
	}
	eachSet(t, func(t *testing.T) {
		xs := sweep()
		got := make([]float32, len(xs))
		for _, c := range exact {
			t.Run(c.id.String(), func(t *testing.T) {
				const run = 50 // short, so that one huge element sends few others to the portable sine
				for i := 0; i < len(xs); i += run {
					n := min(run, len(xs)-i)
					best[c.id](unsafe.Pointer(&got[i]), unsafe.Pointer(&xs[i]), nil, nil, n)
				}
				worst, at := 0.0, float32(0)
				for i, x := range xs {
					want := c.f(float64(x))
					if e := ulps(got[i], want, c.floor); e > worst || e != e {
						worst, at = e, x
						if e != e || math.IsInf(e, 0) {
							t.Fatalf("%v(%g) = %g, want %g", c.id, x, got[i], want)
						}
					}
				}
				t.Logf("largest error %.3f ulp at %g", worst, at)
				if worst > c.ulp {
					t.Errorf("%v(%g) = %g: error %.3f ulp, want at most %g", c.id, at, portableOf(c.id, at), worst, c.ulp)
				}
			})
		}
	})
}

func portableOf(id ID, x float32) (y float32) {
	portable[id](unsafe.Pointer(&y), unsafe.Pointer(&x), nil, nil, 1)
	return y
}

// ulps returns the distance between got and want in units in the last place of want or, if want is smaller,
// of floor.
func ulps(got float32, want, floor float64) float64 {
	switch {
	case math.IsNaN(want):
		if got != got {
			return 0
		}
		return math.Inf(1)
	case want == 0:
		if float64(got) == 0 && (math.Signbit(float64(got)) == math.Signbit(want)) {
			return 0
		}
		if got != 0 && math.Abs(float64(got)) <= floor*0x1p-23 {
			return 0
		}
		return math.Inf(1)
	}
	rounded := float32(want)
	if math.IsInf(float64(rounded), 0) || math.IsInf(float64(got), 0) {
		if got == rounded {
			return 0
		}
		// The largest finite number and infinity are one step apart.
		if next := math.Nextafter32(got, rounded); next == rounded {
			return 1
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(max(math.Abs(want), floor))
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// Each Func agrees with the portable one for all lengths around that of a vector, writes nothing beyond n,
// and works in place.
func TestFuncsAgreeWithPortable(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for id := range NumIDs {
			rng := rand.New(rand.NewPCG(1, 2)) // its own, so that a new function does not give the others other numbers
			for n := range 70 {
				if err := agree(id, n, rng); err != nil {
					t.Errorf("%v: %v", id, err)
					break
				}
			}
		}
	})
}

func agree(id ID, n int, rng *rand.Rand) error {
	const room = 80
	var a, b, c, want, got [room * 4]byte
	fillOperand(&a, id, rng)
	fillOperand(&b, Add, rng)
	fillOperand(&c, Add, rng)
	if id == Pow && n%2 == 0 { // one small exponent
		for i := range room {
			*(*float32)(unsafe.Pointer(&b[4*i])) = float32(n/2%20 - 10)
		}
	}
	for i := range got {
		got[i], want[i] = 0xa5, 0xa5
	}
	p := func(x *[room * 4]byte) unsafe.Pointer { return unsafe.Pointer(x) }
	portable[id](p(&want), p(&a), p(&b), p(&c), n)
	best[id](p(&got), p(&a), p(&b), p(&c), n)
	size := 4
	switch id {
	case Eq, Ne, Lt, Le, Gt, Ge, IsNaN, ToBool:
		size = 1
	case ToF16, ToBF16:
		size = 2
	}
	for i := range n {
		if !close(id, got[i*size:][:size], want[i*size:][:size]) {
			return fmt.Errorf("element %d of %d: got % x, want % x", i, n, got[i*size:][:size], want[i*size:][:size])
		}
	}
	for i := n * size; i < len(got); i++ {
		if got[i] != 0xa5 {
			return fmt.Errorf("n = %d: wrote byte %d beyond the end", n, i)
		}
	}
	if size < 4 {
		return nil
	}
	for place := range 3 {
		if place == 0 && slices.Contains([]ID{Where, FromU8, FromF16, FromBF16}, id) {
			continue // elements have another size
		}
		for name, f := range map[string]Func{"portable": portable[id], "best": best[id]} {
			x := [3][room * 4]byte{a, b, c}
			f(p(&x[place]), p(&x[0]), p(&x[1]), p(&x[2]), n)
			for i := range n {
				if got := x[place][4*i : 4*i+4]; !close(id, got, want[4*i:4*i+4]) {
					return fmt.Errorf("%s in place of operand %d: element %d of %d: got % x, want % x", name, place, i, n, got, want[4*i:4*i+4])
				}
			}
		}
	}
	return nil
}

// close reports whether two elements are equal or, for float32, within 6 units in the last place, or as many
// as the function may be off. The exact bounds are tested above.
func close(id ID, got, want []byte) bool {
	if len(got) < 4 {
		return string(got) == string(want)
	}
	bound := 6.0
	for _, c := range exact {
		if c.id == id {
			bound = max(bound, c.ulp)
		}
	}
	x, y := *(*float32)(unsafe.Pointer(&got[0])), *(*float32)(unsafe.Pointer(&want[0]))
	return x == y || x != x && y != y || ulps(x, float64(y), 0x1p-8) <= bound || string(got) == string(want)
}

func fillOperand(p *[320]byte, id ID, rng *rand.Rand) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 65519, 65520, 1e-7, 3e38, 1e-40}
	switch id {
	case Where, FromU8:
		for i := range p {
			p[i] = byte(rng.IntN(2)) * byte(rng.IntN(256))
		}
	case FromF16, FromBF16, FromI32:
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
	default:
		x := (*[80]float32)(unsafe.Pointer(p))
		for i := range x {
			x[i] = float32(rng.NormFloat64() * 3)
			if rng.IntN(4) == 0 {
				x[i] = special[rng.IntN(len(special))]
			}
		}
	}
}

// All 65536 values of the 16-bit formats survive widening and narrowing.
func TestHalvesRoundTrip(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		in := make([]uint16, 1<<16)
		for i := range in {
			in[i] = uint16(i)
		}
		wide := make([]float32, len(in))
		back := make([]uint16, len(in))
		for _, c := range []struct {
			widen, narrow ID
			one           func(uint16) float32
			nan           func(uint16) bool
		}{
			{FromF16, ToF16, dtype.F16ToFloat32, func(h uint16) bool { return h&0x7fff > 0x7c00 }},
			{FromBF16, ToBF16, dtype.BF16ToFloat32, func(h uint16) bool { return h&0x7fff > 0x7f80 }},
		} {
			best[c.widen](unsafe.Pointer(&wide[0]), unsafe.Pointer(&in[0]), nil, nil, len(in))
			best[c.narrow](unsafe.Pointer(&back[0]), unsafe.Pointer(&wide[0]), nil, nil, len(in))
			for i, h := range in {
				if w := c.one(h); w != wide[i] && (w == w || wide[i] == wide[i]) {
					t.Fatalf("%v(%#04x) = %g, want %g", c.widen, h, wide[i], w)
				}
				if back[i] != h && !(c.nan(h) && c.nan(back[i])) {
					t.Fatalf("%v: %#04x came back as %#04x", c.narrow, h, back[i])
				}
			}
		}
	})
}

func TestRowFunctions(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 100, 1000, 4096} {
			t.Run(fmt.Sprint(n), func(t *testing.T) { checkRow(t, n, rng) })
		}
	})
}

// Philox gives the same bits everywhere: the known answers of Random123 for counters and keys of all zeros
// and all ones.
func TestUniform(t *testing.T) {
	eachSet(t, func(t *testing.T) {
		for _, c := range []struct {
			counter, key uint32
			words        [4]uint32
		}{
			{0, 0, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
			{0xffffffff, 0xffffffff, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		} {
			const n = 48
			block := uint64(c.counter)<<32 | uint64(c.counter)
			var blocks [n / 2]uint64
			for i := range blocks {
				blocks[i] = block - uint64(i)
			}
			var got [2][n]float32
			UniformTo(unsafe.Pointer(&got[0]), unsafe.Pointer(&got[1]), unsafe.Pointer(&blocks), c.key, c.key, c.counter, c.counter, n)
			for j, w := range c.words {
				if want := float32(w>>8) * 0x1p-24; got[0][j] != want {
					t.Errorf("key %#x: element %d: got %g, want %g", c.key, j, got[0][j], want)
				}
			}
			var want [2][n]float32
			uniformToGo(unsafe.Pointer(&want[0]), unsafe.Pointer(&want[1]), unsafe.Pointer(&blocks), c.key, c.key, c.counter, c.counter, n)
			if got != want {
				t.Errorf("key %#x: blocks differ from the portable function's", c.key)
			}
		}
	})
}

// The functions of columns change no row below row n and no column beside the 16.
func TestColumns(t *testing.T) {
	type ptr = unsafe.Pointer
	functions := []struct {
		name      string
		fast, exp func(a, b, x ptr, n int)
	}{
		{"max", func(a, _, x ptr, n int) { MaxColumns(a, x, n) }, func(a, _, x ptr, n int) { maxColumnsGo(a, x, n) }},
		{"exp", func(a, b, x ptr, n int) { ExpColumns(a, b, x, n) }, expColumnsGo},
		{"scale", func(_, b, x ptr, n int) { ScaleColumns(b, x, n) }, func(_, b, x ptr, n int) { scaleColumnsGo(b, x, n) }},
	}
	eachSet(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 100, 256} {
			for _, f := range functions {
				sides := [2][]float32{make([]float32, 16+16+(n+1)*ColumnsApart), nil}
				for i := range sides[0] {
					sides[0][i] = float32(rng.NormFloat64())
				}
				if n > 2 {
					sides[0][32+ColumnsApart+3] = float32(math.NaN())
				}
				sides[1] = slices.Clone(sides[0])
				for k, run := range []func(a, b, x ptr, n int){f.fast, f.exp} {
					m := sides[k]
					run(ptr(&m[0]), ptr(&m[16]), ptr(&m[32+16]), n) // the middle third
				}
				for i, want := range sides[1] {
					got := sides[0][i]
					if got != got && want != want {
						continue
					}
					if math.Abs(float64(got-want)) > 2e-6*(1+math.Abs(float64(want))) {
						t.Errorf("%s of %d rows: element %d: got %g, want %g", f.name, n, i, got, want)
						break
					}
				}
			}
		}
	})
}

// aligned copies x to a multiple of 64 bytes.
func aligned(x []float32) []float32 {
	c := make([]float32, len(x)+15)
	skip := int(-uintptr(unsafe.Pointer(&c[0]))&63) / 4
	return append(c[skip:skip], x...)
}

// checkRow compares the row functions with the portable ones for one length.
func checkRow(t *testing.T, n int, rng *rand.Rand) {
	random := func(scale float64) []float32 {
		x := make([]float32, n+1)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * scale)
		}
		return x
	}
	x, y, w, b := random(2), random(1), random(1), random(1)
	p := func(x []float32) unsafe.Pointer { return unsafe.Pointer(&x[0]) }
	number := func(name string, got, want float32, size float64) {
		t.Helper()
		if math.Abs(float64(got)-float64(want)) > 1e-6*size+1e-30 {
			t.Errorf("%s: got %g, want %g", name, got, want)
		}
	}
	size := float64(n) * 10
	number("sum", Sum(p(x), n), sumGo[float32](p(x), n), size)
	number("sum of squares", SumSquares(p(x), n), sumSquaresGo[float32](p(x), n), size)
	number("dot", Dot(p(x), p(y), n), dotGo[float32](p(x), p(y), n), size)
	number("sum of squares about 0.5", SumSquaresAbout(p(x), 0.5, n), sumSquaresAboutGo[float32](p(x), 0.5, n), size)
	number("sum of exp", SumExpSub(p(x), 3, n), sumExpSubGo[float32](p(x), 3, n), size)
	if got, want := MaxOf(p(x), n), maxOfGo[float32](p(x), n); got != want {
		t.Errorf("max: got %g, want %g", got, want)
	}
	if got, want := MinOf(p(x), n), minOfGo(p(x), n); got != want {
		t.Errorf("min: got %g, want %g", got, want)
	}
	for i := 0; i < n; i += 1 + n/9 {
		z := append([]float32(nil), x...)
		z[i] = float32(math.NaN())
		if got := MaxOf(p(z), n); got == got {
			t.Errorf("max with NaN at %d of %d: got %g", i, n, got)
		}
		if got, want := MaxOfNumbers(p(z), n), maxOfNumbersGo[float32](p(z), n); got != want {
			t.Errorf("max of numbers with NaN at %d of %d: got %g, want %g", i, n, got, want)
		}
		if got := MinOf(p(z), n); got == got {
			t.Errorf("min with NaN at %d of %d: got %g", i, n, got)
		}
	}
	g0, g1, g2 := NormGradSums(p(x), p(w), p(y), 0.1, n)
	h0, h1, h2 := normGradSumsGo[float32](p(x), p(w), p(y), 0.1, n)
	number("norm gradient's sum", g0, h0, size)
	number("norm gradient's product", g1, h1, size)
	number("norm gradient's square", g2, h2, size)
	g0, g1 = ScaleGradSums(p(x), p(w), p(y), n)
	h0, h1 = scaleGradSumsGo[float32](p(x), p(w), p(y), n)
	number("scale gradient's product", g0, h0, size)
	number("scale gradient's square", g1, h1, size)

	run := func(name string, f, g func(d, d2, d3 unsafe.Pointer)) {
		t.Helper()
		got := [][]float32{aligned(b), aligned(w), aligned(y)}
		want := [][]float32{append([]float32(nil), b...), append([]float32(nil), w...), append([]float32(nil), y...)}
		f(p(got[0]), p(got[1]), p(got[2]))
		g(p(want[0]), p(want[1]), p(want[2]))
		for k := range got {
			for i := range got[k] {
				if math.Abs(float64(got[k][i])-float64(want[k][i])) > 2e-6*(1+math.Abs(float64(want[k][i]))) {
					t.Errorf("%s: element %d of %d: got %g, want %g", name, i, n, got[k][i], want[k][i])
					return
				}
			}
		}
	}
	type ptr = unsafe.Pointer
	run("exp", func(d, _, _ ptr) { ExpSubSum(d, p(x), 3, n) }, func(d, _, _ ptr) { expSubSumGo[float32](d, p(x), 3, n) })
	run("stream", func(d, _, _ ptr) { StreamTo(d, p(x), n) }, func(d, _, _ ptr) { streamToGo(d, p(x), n) })
	run("exchange", func(d, e, _ ptr) { Exchange(d, e, n) }, func(d, e, _ ptr) { exchangeGo(d, e, n) })
	run("rank", func(d, _, _ ptr) { RankTo(d, p(x), 5, 3, 9, n) }, func(d, _, _ ptr) { rankToGo(d, p(x), 5, 3, 9, n) })
	run("add scaled", func(d, _, _ ptr) { AddScaled(d, p(x), 3, n) }, func(d, _, _ ptr) { addScaledGo[float32](d, p(x), 3, n) })
	twice := func(name string, to, past, want func(d, d2, d3 ptr)) {
		t.Helper()
		run(name, to, want)
		run(name+" past the caches", past, want)
	}
	twice("scale", func(d, _, _ ptr) { ScaleTo(d, p(x), 3, n) }, func(d, _, _ ptr) { ScalePast(d, p(x), 3, n) },
		func(d, _, _ ptr) { scaleToGo[float32](d, p(x), 3, n) })
	twice("sub", func(d, _, _ ptr) { SubTo(d, p(x), 3, n) }, func(d, _, _ ptr) { SubPast(d, p(x), 3, n) },
		func(d, _, _ ptr) { subToGo[float32](d, p(x), 3, n) })
	twice("norm", func(d, _, _ ptr) { NormTo(d, p(x), p(w), p(b), 0.1, 0.7, n) },
		func(d, _, _ ptr) { NormPast(d, p(x), p(w), p(b), 0.1, 0.7, n) },
		func(d, _, _ ptr) { normToGo[float32](d, p(x), p(w), p(b), 0.1, 0.7, n) })
	twice("scale mul", func(d, _, _ ptr) { ScaleMulTo(d, p(x), p(w), 0.7, n) },
		func(d, _, _ ptr) { ScaleMulPast(d, p(x), p(w), 0.7, n) },
		func(d, _, _ ptr) { scaleMulToGo[float32](d, p(x), p(w), 0.7, n) })
	twice("softmax gradient", func(d, _, _ ptr) { SoftmaxGradTo(d, p(x), p(y), 0.7, n) },
		func(d, _, _ ptr) { SoftmaxGradPast(d, p(x), p(y), 0.7, n) },
		func(d, _, _ ptr) { softmaxGradToGo[float32](d, p(x), p(y), 0.7, n) })
	twice("log softmax gradient", func(d, _, _ ptr) { LogSoftmaxGradTo(d, p(w), p(y), 0.7, n) },
		func(d, _, _ ptr) { LogSoftmaxGradPast(d, p(w), p(y), 0.7, n) },
		func(d, _, _ ptr) { logSoftmaxGradToGo[float32](d, p(w), p(y), 0.7, n) })
	twice("norm gradient", func(d, _, _ ptr) { NormGradTo(d, p(x), p(w), p(y), 0.1, 0.7, 0.2, 0.3, n) },
		func(d, _, _ ptr) { NormGradPast(d, p(x), p(w), p(y), 0.1, 0.7, 0.2, 0.3, n) },
		func(d, _, _ ptr) { normGradToGo[float32](d, p(x), p(w), p(y), 0.1, 0.7, 0.2, 0.3, n) })
	twice("scale gradient", func(d, _, _ ptr) { ScaleGradTo(d, p(x), p(w), p(y), 0.7, 0.3, n) },
		func(d, _, _ ptr) { ScaleGradPast(d, p(x), p(w), p(y), 0.7, 0.3, n) },
		func(d, _, _ ptr) { scaleGradToGo[float32](d, p(x), p(w), p(y), 0.7, 0.3, n) })
	run("norm parameters' gradient", func(d, e, _ ptr) { NormGradParams(d, e, p(x), p(y), 0.1, 0.7, n) },
		func(d, e, _ ptr) { normGradParamsGo[float32](d, e, p(x), p(y), 0.1, 0.7, n) })
	run("scale's gradient", func(d, _, _ ptr) { ScaleGradParam(d, p(x), p(y), 0.7, n) }, func(d, _, _ ptr) { scaleGradParamGo[float32](d, p(x), p(y), 0.7, n) })
	twice("cross entropy gradient", func(d, _, _ ptr) { CrossEntropyGradTo(d, p(y), 2, 0.5, 0.01, n) },
		func(d, _, _ ptr) { CrossEntropyGradPast(d, p(y), 2, 0.5, 0.01, n) },
		func(d, _, _ ptr) { crossEntropyGradToGo[float32](d, p(y), 2, 0.5, 0.01, n) })
	v := make([]float32, n+1)
	for i := range v {
		v[i] = min(x[i]*x[i], 0.999)
	}
	u := make([]float32, n+1)
	for i := range u {
		u[i] = float32(rng.Uint32()>>8) / (1 << 24)
	}
	run("box muller", func(d, e, _ ptr) { BoxMullerTo(d, e, p(u), p(v), n) }, func(d, e, _ ptr) { boxMullerToGo(d, e, p(u), p(v), n) })
	run("rope", func(d, e, _ ptr) { RopeTo(d, e, p(x), p(y), p(w), p(b), n) }, func(d, e, _ ptr) { ropeToGo(d, e, p(x), p(y), p(w), p(b), n) })
	step := &AdamWStep[float32]{Scale: 0.5, OneMinusBeta1: 0.1, OneMinusBeta2: 0.01, Decay: 0.001, Rate: 1e-3, Root: 1.1, Eps: 1e-8}
	run("adamw", func(d, e, f ptr) { AdamWTo(d, e, f, p(x), p(y), p(w), p(v), step, n) },
		func(d, e, f ptr) { adamWToGo[float32](d, e, f, p(x), p(y), p(w), p(v), step, n) })
}

// Numbers in 8 bits are those of their maps, and get the codes of a search, but for a number that lies in the
// middle between two.
func TestDynamicMaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 4096
	codes, x, size := make([]uint8, n), aligned(make([]float32, n)), aligned(make([]float32, n))
	for i := range codes {
		codes[i] = uint8(i)
		v := math.Pow(10, -9*rng.Float64())
		x[i], size[i] = float32(math.Copysign(v, rng.Float64()-0.5)), float32(v*v)
	}
	x[0], x[1], x[2], size[0], size[1] = 0, 1, -1, 0, 1
	p := func(s []float32) unsafe.Pointer { return unsafe.Pointer(&s[0]) }
	eachSet(t, func(t *testing.T) {
		for _, c := range []struct {
			name             string
			decode, decodeGo func(d, codes unsafe.Pointer, scale float32, n int)
			encode, encodeGo func(d, x unsafe.Pointer, inverse float32, n int)
			x                []float32
		}{
			{"signed", DecodeSigned, decodeSignedGo, EncodeSigned, encodeSignedGo, x},
			{"squares", DecodeSquares, decodeSquaresGo, EncodeRoots, encodeRootsGo, size},
		} {
			got, want := aligned(make([]float32, n)), make([]float32, n)
			c.decode(p(got), unsafe.Pointer(&codes[0]), 3, n)
			c.decodeGo(p(want), unsafe.Pointer(&codes[0]), 3, n)
			for i := range got {
				if math.Abs(float64(got[i]-want[i])) > 1e-6*math.Abs(float64(want[i])) {
					t.Errorf("%s: code %d is %g, want %g", c.name, codes[i], got[i], want[i])
				}
			}
			bytes, right, differ := make([]uint8, n), make([]uint8, n), 0
			c.encode(unsafe.Pointer(&bytes[0]), p(c.x), 1, n)
			c.encodeGo(unsafe.Pointer(&right[0]), p(c.x), 1, n)
			for i := range bytes {
				if bytes[i] != right[i] {
					differ++
				}
				if d := int(bytes[i]) - int(right[i]); d < -1 || d > 1 || differ > 3 {
					t.Fatalf("%s: %g gets the code %d, want %d; %d of the numbers so far are next to theirs", c.name, c.x[i], bytes[i], right[i], differ)
				}
			}
		}
	})
}

var names = [NumIDs]string{"neg", "abs", "sign", "floor", "ceil", "round", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt",
	"recip", "sin", "cos", "tanh", "erf", "sigmoid", "silu", "gelu", "gelu_tanh", "add", "sub", "mul", "div", "max", "min",
	"fma", "pow", "eq", "ne", "lt", "le", "gt", "ge", "is_nan", "where", "from_f16", "from_bf16", "from_i32", "from_u8",
	"to_f16", "to_bf16", "to_i32", "to_bool", "round_f16", "round_bf16"}

// String returns the name in lower case, "from_bf16".
func (id ID) String() string { return names[id] }
