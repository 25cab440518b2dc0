package check

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// floats returns pairs of numbers: every kind, many that functions turn at, and random ones of all sizes.
func floats(n int) (x, y []float32) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 2, -2, 3, 1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 3.4028235e38, -3.4028235e38,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 88.72283, 88.72284, -87.4, -103.9, -104.1, math.Pi, math.Pi / 2, 1e6, -1e6, 1.0000001, 0.99999994, 16777217, 126.5, 0.70710677}
	for _, a := range special {
		for _, b := range special {
			x, y = append(x, a), append(y, b)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < n; i++ {
		switch i % 3 {
		case 0:
			x, y = append(x, math.Float32frombits(r.Uint32())), append(y, math.Float32frombits(r.Uint32()))
		case 1:
			x, y = append(x, float32(r.NormFloat64()*30)), append(y, float32(r.NormFloat64()*3))
		default:
			x, y = append(x, float32(r.Float64()*2-1)), append(y, float32(r.Float64()*2-1))
		}
	}
	return x, y
}

// TestFunctions holds the functions of the preludes against float64, in units in the last place of the
// result.
func TestFunctions(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/functions.metal", same))
	n := 6000
	if long.Tests() {
		n = 3_000_000
	}
	x, y := floats(n)
	px, py, pr := put(t, d, x), put(t, d, y), put(t, d, make([]float32, len(x)))
	one := func(f func(float64) float64) func(a, b float64) float64 {
		return func(a, _ float64) float64 { return f(a) }
	}
	for which, c := range []struct {
		name string
		ulps float64
		f    func(a, b float64) float64
	}{
		{"exp", 2, one(math.Exp)}, {"exp2", 1, one(math.Exp2)}, {"exp10", 1, one(func(a float64) float64 { return math.Pow(10, a) })},
		{"log", 2, one(math.Log)}, {"log2", 1, one(math.Log2)}, {"log10", 1, one(math.Log10)},
		{"sin", 1, one(math.Sin)}, {"cos", 1, one(math.Cos)}, {"tan", 2, one(math.Tan)},
		{"asin", 4, one(math.Asin)}, {"acos", 4, one(math.Acos)}, {"atan", 2, one(math.Atan)},
		{"sinh", 4, one(math.Sinh)}, {"cosh", 4, one(math.Cosh)}, {"tanh", 4, one(math.Tanh)},
		{"rsqrt", 1, one(func(a float64) float64 { return 1 / math.Sqrt(a) })},
		{"pow", 1, math.Pow}, {"atan2", 3, math.Atan2},
		{"ldexp", 0.5, func(a, b float64) float64 { return math.Ldexp(a, int(max(-300, min(300, b)))) }},
		{"ilogb", 0, one(func(a float64) float64 {
			if a == 0 || a != a {
				return -2147483648
			}
			return float64(math.Ilogb(a))
		})},
		{"round", 0, one(math.Round)}, {"copysign", 0, math.Copysign},
		{"max", 0, fmax}, {"min", 0, func(a, b float64) float64 { return -fmax(-a, -b) }},
	} {
		err := d.Run(context.Background(), Launch{Kernel: "functions", Groups: [3]int{4, 1, 1}, Threads: [3]int{32, 1, 1}, Buffers: map[int]Pointer{0: px, 1: py, 2: pr},
			Bytes: map[int][]byte{3: binary.LittleEndian.AppendUint32(nil, uint32(len(x))), 4: binary.LittleEndian.AppendUint32(nil, uint32(which))}})
		if err != nil {
			t.Fatal(c.name, err)
		}
		worst, at := 0.0, 0
		for i, got := range get(t, d, pr, len(x)) {
			want := c.f(float64(x[i]), float64(y[i]))
			if c.name == "ilogb" || c.name == "ldexp" {
				if y[i] != y[i] || math.IsInf(want, 0) && c.name == "ilogb" {
					continue
				}
			}
			if e := ulps(float64(got), want); e > worst {
				worst, at = e, i
			}
		}
		if worst > c.ulps+0.5 {
			t.Errorf("%s(%v, %v): got an error of %.3g units in the last place, want %g: want %v", c.name, x[at], y[at], worst, c.ulps, c.f(float64(x[at]), float64(y[at])))
		}
	}
}

// fmax is Metal's max: a number wins against NaN.
func fmax(a, b float64) float64 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// ulps is the distance of a float32 from the true value, in units in the last place of that.
func ulps(got, want float64) float64 {
	switch {
	case want != want:
		if got != got {
			return 0
		}
		return math.Inf(1)
	case math.Abs(want) > math.MaxFloat32*(1+1.0/(1<<25)):
		if math.IsInf(got, 0) && (got > 0) == (want > 0) {
			return 0
		}
		return math.Inf(1)
	}
	unit := math.Ldexp(1, max(-149, math.Ilogb(want)-23))
	if want == 0 {
		unit = math.Ldexp(1, -149)
	}
	return math.Abs(got-want) / unit
}
