package svd

import (
	"fmt"
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// product is U·diag(S)·V.
func (f Factors) product(m, n int) tensor.Tensor {
	u, v := tensor.From(f.U, m, f.K), tensor.From(f.V, f.K, n)
	return u.Mul(tensor.From(f.S, 1, f.K)).MatMul(v)
}

// All factors of a matrix give the matrix, and the vectors are orthogonal.
func TestWhole(t *testing.T) {
	for _, c := range []struct{ m, n int }{{1, 1}, {5, 3}, {3, 5}, {40, 17}, {17, 40}, {30, 30}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			w := tensor.NewRNG(3).Randn(c.m, c.n)
			f := Top(w, 99)
			if f.K != min(c.m, c.n) {
				t.Fatalf("got %d values", f.K)
			}
			if d := tensor.MaxAbsDiff(f.product(c.m, c.n), w); d > 1e-6 {
				t.Errorf("the product differs by %g", d)
			}
			u, v := tensor.From(f.U, c.m, f.K), tensor.From(f.V, f.K, c.n)
			for _, square := range []tensor.Tensor{u.Transpose().MatMul(u), v.MatMul(v.Transpose())} {
				if d := tensor.MaxAbsDiff(square, tensor.Eye(f.K)); d > 1e-6 {
					t.Errorf("the vectors are not orthogonal: %g", d)
				}
			}
		})
	}
}

// A matrix of low rank, with zeros for the other values.
func TestOfLowRank(t *testing.T) {
	rng := tensor.NewRNG(4)
	w := rng.Randn(20, 3).MatMul(rng.Randn(3, 12))
	f := Top(w, 12)
	if d := tensor.MaxAbsDiff(f.product(20, 12), w); d > 1e-5 || f.S[3] > 1e-5*f.S[0] {
		t.Errorf("differs by %g, values %v", d, f.S)
	}
	if f := Top(tensor.Zeros(4, 3), 2); f.S[0] != 0 || math.IsNaN(f.U[0]) {
		t.Errorf("of zeros: %+v", f)
	}
}

// Of a large matrix the largest values are those that all of its values begin with.
func TestIteratesToTheTop(t *testing.T) {
	const m, n, k = 264, 258, 4
	rng := tensor.NewRNG(5)
	w := rng.Randn(m, n)
	want := whole(w.Float64s(), m, n).top(k, m, n)
	for name, f := range map[string]Factors{"until still": Top(w, k), "50 times": Iterate(w, k, 50)} {
		for i := range k {
			if math.Abs(f.S[i]-want.S[i]) > 1e-3*want.S[0] {
				t.Errorf("%s: got values %v, want %v", name, f.S, want.S)
				break
			}
		}
	}
	decaying := w.Mul(tensor.Arange(0, n, 1).Mul(-0.05).Exp())
	want = whole(decaying.Float64s(), m, n).top(k, m, n)
	if d := tensor.MaxAbsDiff(Top(decaying, k).product(m, n), want.product(m, n)); d > 1e-4 {
		t.Errorf("the top of a matrix with falling values differs by %g", d)
	}
}

func TestQR(t *testing.T) {
	for _, c := range []struct{ m, n int }{{5, 3}, {3, 5}, {8, 8}} {
		w := tensor.NewRNG(6).Randn(c.m, c.n)
		q, r := QR(w.Float64s(), c.m, c.n)
		k := min(c.m, c.n)
		if d := tensor.MaxAbsDiff(tensor.From(q, c.m, k).MatMul(tensor.From(r, k, c.n)), w); d > 1e-6 {
			t.Errorf("%v: the product differs by %g", c, d)
		}
	}
}
