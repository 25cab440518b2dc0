package quant

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// configs are all that there are.
func configs() []Config {
	var list []Config
	for _, bits := range []int{4, 8} {
		for _, group := range []int{16, 32, 64, 128} {
			for _, scheme := range []Scheme{Symmetric, Affine} {
				for _, scale := range []dtype.Type{dtype.F32, dtype.BF16} {
					list = append(list, Config{Bits: bits, Group: group, Scheme: scheme, Scale: scale})
				}
			}
		}
	}
	return list
}

// scaleOf is the scale of element [k n].
func scaleOf(w *Weight, scales []float32, k, n int) float64 {
	groups := (w.In + w.Group - 1) / w.Group
	return float64(scales[(n/16*groups+k/w.Group)*16+n%16])
}

// Every weight comes back within half a scale, 0 as 0, and what came back stays as it is when it is quantised
// again.
func TestErrorBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range configs() {
		t.Run(c.String(), func(t *testing.T) {
			for range 6 {
				in, out := 1+r.IntN(300), 1+r.IntN(40)
				data, spread := make([]float32, in*out), math.Pow(10, float64(r.IntN(40)-20))
				shift := r.NormFloat64()
				for i := range data {
					data[i] = float32(spread * (r.NormFloat64() + shift))
					if r.IntN(10) == 0 {
						data[i] = 0
					}
				}
				w, err := Quantize(tensor.From(data, in, out), c)
				if err != nil {
					t.Fatal(err)
				}
				scales, got := w.Scales.Cast(dtype.F32).Floats(), w.Dequantized().Floats()
				for i, v := range data {
					bound := scaleOf(w, scales, i/out, i%out) / 2 * (1 + 1e-5)
					if d := math.Abs(float64(got[i]) - float64(v)); !(d <= bound) || v == 0 && got[i] != 0 {
						t.Fatalf("element %d of [%d %d]: %g became %g, which is off by %g, want at most %g", i, in, out, v, got[i], d, bound)
					}
				}
				if c.Scale == dtype.F32 && c.Scheme == Symmetric {
					again, err := Quantize(w.Dequantized(), c)
					if err != nil {
						t.Fatal(err)
					}
					if d := tensor.MaxAbsDiff(again.Dequantized(), w.Dequantized()); d > 1e-6*spread*10 {
						t.Fatalf("quantising again moved weights by %g", d)
					}
				}
			}
		})
	}
}

func TestDegenerateGroups(t *testing.T) {
	for _, c := range configs() {
		for name, v := range map[string]float32{"zeros": 0, "subnormal": 1e-44, "tiny": 1e-37} {
			data := make([]float32, 32)
			for i := range data {
				data[i] = v
			}
			w, err := Quantize(tensor.From(data, 32, 1), c)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range w.Dequantized().Floats() {
				if d := math.Abs(float64(got - v)); !(d <= 0x1p-126*128) {
					t.Errorf("%v, %s: got %g, want %g", c, name, got, v)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	bad := func(v float64) tensor.Tensor {
		data := make([]float32, 6)
		data[4] = float32(v)
		return tensor.From(data, 3, 2).Named("layer.weight")
	}
	for _, tt := range []struct {
		w    tensor.Tensor
		c    Config
		want string
	}{
		{bad(math.NaN()), Config{}, "quant: layer.weight: element [2 0] is NaN, want a finite number"},
		{bad(math.Inf(-1)), Config{}, "quant: layer.weight: element [2 0] is -Inf, want a finite number"},
		{tensor.Zeros(3), Config{}, "quant: got f32[3], want a matrix of a floating-point dtype"},
		{tensor.Zeros(3, 2).Cast(dtype.I32), Config{}, "quant: got i32[3 2], want a matrix of a floating-point dtype"},
		{tensor.Zeros(3, 2), Config{Bits: 5}, "quant: got 5 bits, want 4 or 8"},
		{tensor.Zeros(3, 2), Config{Group: 48}, "quant: got groups of 48, want 16, 32, 64 or 128"},
		{tensor.Zeros(3, 2), Config{Scheme: 7}, "quant: got scheme(7), want one of [symmetric affine minimum table]"},
		{tensor.Zeros(3, 2), Config{Scale: dtype.F16}, "quant: got scales in f16, want f32 or bf16"},
	} {
		if _, err := Quantize(tt.w, tt.c); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// Codes, scales and zero points are those of an implementation in NumPy, bit for bit, and so is what they
// stand for.
func TestAgreesWithNumPy(t *testing.T) {
	text, err := os.ReadFile("testdata/numpy.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name                          string
		In, Out, Bits, Group          int
		Scheme, Scale                 string
		Weight, Scales, Dequantized   []float32
		Codes, Zeros                  []int
		X, Product, ProductOfGradient []float32
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			config := Config{Bits: c.Bits, Group: c.Group, Scheme: Scheme(strings.Index("sa", c.Scheme[:1])), Scale: dtype.F32}
			if c.Scale == "bf16" {
				config.Scale = dtype.BF16
			}
			w, err := Quantize(tensor.From(c.Weight, c.In, c.Out), config)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "codes", w.Codes.Ints(), c.Codes)
			equal(t, "scales", w.Scales.Cast(dtype.F32).Floats(), c.Scales)
			equal(t, "dequantised", w.Dequantized().Floats(), c.Dequantized)
			if config.Scheme == Affine {
				equal(t, "zero points", w.Extra.Ints(), c.Zeros)
			}
			x := tensor.From(c.X, len(c.X)/c.In, c.In).Param()
			y := w.MatMul(x)
			near(t, "product", y, tensor.From(c.Product, len(c.X)/c.In, c.Out))
			near(t, "gradient", tensor.Grad(y.Mul(y).Sum().Mul(0.5), x)[0], tensor.From(c.ProductOfGradient, len(c.X)/c.In, c.In))
		})
	}
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func near(t *testing.T, what string, got, want tensor.Tensor) {
	t.Helper()
	if d, scale := tensor.MaxAbsDiff(got, want), want.Abs().Max().Item(); !(d <= 1e-5*scale) {
		t.Errorf("%s: differs by %g of %g", what, d, scale)
	}
}

func TestString(t *testing.T) {
	w, err := Quantize(tensor.Zeros(128, 64), Config{Bits: 4, Scheme: Affine})
	if err != nil {
		t.Fatal(err)
	}
	const want = "[128 64] int4, groups of 64, affine, scales f32 · 4.6 KiB, 4.62 bits a weight (f32 32.0 KiB)"
	if got := fmt.Sprint(w); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The nearest number of a table is the one that a look at all finds, of two that are equally near the first.
func TestNearest(t *testing.T) {
	for name, table := range tables {
		near := newNearest(table)
		values := []float32{0, 1e4, -1e4}
		for _, a := range table {
			for _, b := range table {
				values = append(values, a, (a+b)/2, math.Nextafter32((a+b)/2, -1e9), math.Nextafter32((a+b)/2, 1e9))
			}
		}
		for _, v := range values {
			if v != v || v != 0 && math.Abs(float64(v)) < 1e-10 { // beside which a difference is rounded
				continue
			}
			want := 0
			for code, x := range table {
				if math.Abs(float64(x)-float64(v)) < math.Abs(float64(table[want])-float64(v)) {
					want = code
				}
			}
			if got := near.code(v); got != want {
				t.Errorf("%s: %g is nearest to code %d, %g; want %d, %g", name, v, got, table[got], want, table[want])
			}
		}
	}
}
