package tensor

import (
	"math"
	"strings"
	"testing"
)

// The first block of Philox4x32-10 with key 0 and counter 0, from the known answers of Random123
// (kat_vectors).
func TestRandKnownAnswer(t *testing.T) {
	words := []uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}
	for _, dev := range []string{"ref", "cpu"} {
		use(t, dev)
		got := NewRNG(0).Rand(4).Floats()
		for i, w := range words {
			if want := float32(w>>8) / (1 << 24); got[i] != want {
				t.Errorf("%s: number %d is %v, want %v", dev, i, got[i], want)
			}
		}
	}
}

// A seed gives the same numbers on every device: the uniform ones bit for bit.
func TestRandEverywhere(t *testing.T) {
	draw := func(dev string) (u, z, i []float64) {
		use(t, dev)
		r := NewRNG(42)
		return r.Rand(7, 9).Float64s(), r.Randn(1001).Float64s(), r.RandInt(-5, 1000, 3, 333).Float64s()
	}
	u, z, i := draw("ref")
	v, y, j := draw("cpu")
	for k := range u {
		if u[k] != v[k] {
			t.Fatalf("uniform number %d: %v on ref, %v on cpu", k, u[k], v[k])
		}
	}
	for k := range z {
		if math.Abs(z[k]-y[k]) > 1e-5 {
			t.Fatalf("normal number %d: %v on ref, %v on cpu", k, z[k], y[k])
		}
	}
	for k := range i {
		if i[k] != j[k] {
			t.Fatalf("integer %d: %v on ref, %v on cpu", k, i[k], j[k])
		}
	}
}

// Restoring the state repeats what followed; a lazy tensor keeps the numbers it was made with.
func TestRNGState(t *testing.T) {
	r := NewRNG(7)
	r.Rand(3)
	state := r.State()
	first, second := r.Rand(3), r.Randn(2)
	r.SetState(state)
	if d := MaxAbsDiff(first, r.Rand(3)); d != 0 {
		t.Errorf("after SetState: uniform numbers differ by %v", d)
	}
	if d := MaxAbsDiff(second, r.Randn(2)); d != 0 {
		t.Errorf("after SetState: normal numbers differ by %v", d)
	}
	if d := MaxAbsDiff(first, r.Rand(3)); d == 0 {
		t.Error("two calls gave the same numbers")
	}
	r.SetState(state)
	x, y := r.Uint64(), r.Uint64()
	if r.SetState(state); x == y || x != r.Uint64() || r.State().Counter != state.Counter+1 {
		t.Errorf("Uint64 after SetState: got %d and %d, at %v", x, y, r.State())
	}
	Seed(3)
	a := Rand(5)
	Seed(3)
	if MaxAbsDiff(a, Rand(5)) != 0 {
		t.Error("Seed did not restart the numbers")
	}
}

// Moments and frequencies lie where they must, within five standard errors.
func TestDistributions(t *testing.T) {
	const n = 200_000
	r := NewRNG(1)
	near := func(what string, got, want, deviation float64) {
		t.Helper()
		if bound := 5 * deviation / math.Sqrt(n); math.Abs(got-want) > bound {
			t.Errorf("%s: got %v, want %v ± %v", what, got, want, bound)
		}
	}
	u, z := r.Rand(n), r.Randn(n)
	near("mean of uniform", u.Mean().Item(), 0.5, math.Sqrt(1./12))
	near("mean of normal", z.Mean().Item(), 0, 1)
	near("variance of normal", z.Var().Item(), 1, math.Sqrt2)
	near("fourth moment of normal", z.Square().Square().Mean().Item(), 3, math.Sqrt(96))
	if low, high := u.Min().Item(), u.Max().Item(); low < 0 || high >= 1 {
		t.Errorf("uniform numbers lie in [%v, %v]", low, high)
	}
	k := r.RandInt(-2, 3, n)
	if low, high := k.Min().Item(), k.Max().Item(); low != -2 || high != 2 {
		t.Errorf("integers lie in [%v, %v], want [-2, 2]", low, high)
	}
	p := []float64{0.5, 0.3, 0.2, 0}
	draws := r.Categorical(From(p).Log(), n)
	for i, want := range p {
		near("share of a category", draws.Eq(i).Cast(u.DType()).Mean().Item(), want, math.Sqrt(want*(1-want)))
	}
}

// A permutation has each number once, another order each time, and every number equally often in front.
func TestRandPerm(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		if got := RandPerm(n); MaxAbsDiff(got.Sort(0), Range(n)) != 0 {
			t.Errorf("%d: got %v, want each number once", n, got)
		}
	}
	rng, first := NewRNG(2), make([]int, 4)
	const draws = 2000
	for range draws {
		first[int(rng.Perm(4).At(0).Item())]++
	}
	for i, k := range first {
		if mean, off := draws/4., 5*math.Sqrt(draws*0.25*0.75); math.Abs(float64(k)-mean) > off {
			t.Errorf("%d was in front %d times of %d, want %.0f ± %.0f", i, k, draws, mean, off)
		}
	}
}

// Logits that give no distribution are refused where a draw is read, on every row of them.
func TestCategoricalRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		logits [][]float64
		want   string // of the error, or empty
	}{
		{[][]float64{{nan, 1}}, "draw 0 that have a NaN"},
		{[][]float64{{0, 1}, {1, nan}}, "draw 2 that have a NaN"},
		{[][]float64{{-inf, -inf}}, "draw 0 that have a NaN, or are all -Inf"},
		{[][]float64{{-inf, 1}, {inf, 1}}, ""},
	} {
		err := Try(func() { Categorical(From(c.logits), 2).Eval() })
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.logits, err, c.want)
		}
	}
}
