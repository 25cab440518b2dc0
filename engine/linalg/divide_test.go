package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// diagonals are matrices of two diagonals with what makes halves hard to bring together: equal values,
// clusters, zeros, entries of all sizes.
var diagonals = []struct {
	name   string
	of     func(i int, r *rand.Rand) float64
	beside func(i int, r *rand.Rand) float64
}{
	{"random", func(_ int, r *rand.Rand) float64 { return r.NormFloat64() }, func(_ int, r *rand.Rand) float64 { return r.NormFloat64() }},
	{"equal", func(int, *rand.Rand) float64 { return 2 }, func(int, *rand.Rand) float64 { return -1 }},
	{"zero", func(int, *rand.Rand) float64 { return 0 }, func(int, *rand.Rand) float64 { return 0 }},
	{"zero diagonal", func(int, *rand.Rand) float64 { return 0 }, func(_ int, r *rand.Rand) float64 { return r.Float64() }},
	{"identity", func(int, *rand.Rand) float64 { return 1 }, func(int, *rand.Rand) float64 { return 0 }},
	{"near identity", func(int, *rand.Rand) float64 { return 1 }, func(_ int, r *rand.Rand) float64 { return 1e-15 * r.NormFloat64() }},
	{"Wilkinson", func(i int, _ *rand.Rand) float64 { return math.Abs(float64(i%41 - 20)) }, func(i int, _ *rand.Rand) float64 { return 1 }},
	{"glued", func(i int, _ *rand.Rand) float64 { return math.Abs(float64(i%21 - 10)) }, func(i int, _ *rand.Rand) float64 {
		if i%21 == 20 {
			return 1e-11
		}
		return 1
	}},
	{"graded", func(i int, _ *rand.Rand) float64 { return math.Pow(0.7, float64(i)) }, func(i int, _ *rand.Rand) float64 { return math.Pow(0.7, float64(i)) }},
	{"rising", func(i int, _ *rand.Rand) float64 { return math.Pow(1.3, float64(i)) }, func(i int, _ *rand.Rand) float64 { return math.Pow(1.2, float64(i)) }},
	{"zeros among", func(i int, r *rand.Rand) float64 { return float64(r.IntN(2)) }, func(i int, r *rand.Rand) float64 { return float64(r.IntN(2)) }},
	{"tiny", func(i int, r *rand.Rand) float64 { return 1e-8 * r.NormFloat64() }, func(i int, r *rand.Rand) float64 { return r.NormFloat64() * math.Pow(10, float64(-r.IntN(16))) }},
}

// TestHalves: vectors are orthonormal and give the matrix back, and values are those of the QL and QR
// iterations, which gonum's functions without vectors are.
func TestHalves(t *testing.T) {
	for _, c := range diagonals {
		for _, n := range []int{whole + 1, 67, 130, 259} {
			t.Run(fmt.Sprint(c.name, " ", n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 1))
				d, e := make([]float64, n), make([]float64, n)
				for i := range n {
					d[i], e[i] = c.of(i, r), c.beside(i, r)
				}
				e[n-1] = 0
				size := max(largest(d), largest(e))
				if size == 0 {
					size = 1
				}
				scale(1/size, d)
				scale(1/size, e)

				w, vt := slices.Clone(d), make([]float64, n*n)
				if err := threads(2).tridiagonal(w, e, vt, n); err != nil {
					t.Fatal(err)
				}
				orthonormal(t, n, vt)
				wv := make([]float64, n)
				for i, x := range w {
					for j, v := range vt[i*n : (i+1)*n] { // T·v − w·v
						wv[j] = d[j]*v - x*v
						if j > 0 {
							wv[j] += e[j-1] * vt[i*n+j-1]
						}
						if j < n-1 {
							wv[j] += e[j] * vt[i*n+j+1]
						}
					}
					within(t, "tridiagonal's residual", largest(wv), 0)
				}
				want, beside := slices.Clone(d), slices.Clone(e)
				if !implementation.Dsterf(n, want, beside[:n-1]) {
					t.Fatal("Dsterf did not converge")
				}
				for i := range want {
					within(t, "eigenvalue", w[i], want[i])
				}

				s, ut := slices.Clone(d), make([]float64, n*n)
				vt = make([]float64, n*n)
				if err := threads(2).bidiagonal(n, s, e, ut, n, vt, n); err != nil {
					t.Fatal(err)
				}
				orthonormal(t, n, ut)
				orthonormal(t, n, vt)
				for i, x := range s {
					for j, u := range ut[i*n : (i+1)*n] { // B·v − s·u
						wv[j] = d[j]*vt[i*n+j] - x*u
						if j < n-1 {
							wv[j] += e[j] * vt[i*n+j+1]
						}
					}
					within(t, "bidiagonal's residual", largest(wv), 0)
				}
				want, beside = slices.Clone(d), slices.Clone(e)
				if !implementation.Dbdsqr(blas.Upper, n, 0, 0, 0, want, beside[:n-1], nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
					t.Fatal("Dbdsqr did not converge")
				}
				slices.Reverse(want)
				for i := range want {
					within(t, "singular value", s[i], want[i])
				}
			})
		}
	}
}

func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 2e-14) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func orthonormal(t *testing.T, n int, x []float64) {
	t.Helper()
	g := make([]float64, n*n)
	threads(1).gemm(false, true, n, n, n, x, n, x, n, 0, g, n)
	for i := range n {
		g[i*n+i]--
	}
	within(t, "vectors' products", largest(g), 0)
}

// at is element i j of op(a).
func at(trans bool, a []float64, lda, i, j int) float64 {
	if trans {
		i, j = j, i
	}
	return a[i*lda+j]
}

// TestProducts: products, triangles and reductions on several threads are those on one, and right.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		return x
	}
	for _, s := range [][3]int{{1, 1, 1}, {7, 5, 3}, {50, 130, 17}, {130, 50, 600}, {200, 190, 64}, {49, 33, 0}} {
		m, n, k := s[0], s[1], s[2]
		for way := range 12 {
			ta, tb, onto := way&1 > 0, way&2 > 0, way/4-1
			lda, ldb, ldc := k+3, n+2, n+1
			if ta {
				lda = m + 3
			}
			if tb {
				ldb = k + 2
			}
			a, b, c := random(lda*max(m, k)), random(ldb*max(n, k)), random(m*ldc)
			got := slices.Clone(c)
			threads(1+way%3).gemm(ta, tb, m, n, k, a, lda, b, ldb, onto, got, ldc)
			for i := range m {
				for j := range n {
					sum, size := 0., 1.
					for l := range k {
						x, y := at(ta, a, lda, i, l), at(tb, b, ldb, l, j)
						sum += x * y
						size += math.Abs(x * y)
					}
					want := sum
					if onto != 0 {
						want = c[i*ldc+j] + float64(onto)*sum
					}
					if !(math.Abs(got[i*ldc+j]-want) <= 1e-14*size) {
						t.Fatalf("%v, way %d: element %d %d: got %v, want %v", s, way, i, j, got[i*ldc+j], want)
					}
				}
			}
			if n < ldc && got[n] != c[n] {
				t.Fatalf("%v: wrote beyond a row", s)
			}
		}
	}
}

// TestSymmetric: a symmetric matrix times a vector is what its whole is, by the lower triangle, on any
// threads.
func TestSymmetric(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 3, 4, 9, 66, 300, 301} {
		ld := n + 5
		a, whole, x := make([]float64, n*ld), make([]float64, n*n), make([]float64, n)
		for i := range n {
			x[i] = r.NormFloat64()
			for j := range n {
				a[i*ld+j] = math.NaN() // above the diagonal
			}
			for j := range i + 1 {
				v := r.NormFloat64()
				a[i*ld+j], whole[i*n+j], whole[j*n+i] = v, v, v
			}
		}
		want, got := make([]float64, n), make([]float64, n)
		threads(1).gemm(false, false, n, 1, n, whole, n, x, 1, 0, want, 1)
		for workers := 1; workers <= 3; workers++ {
			threads(workers).symv(n, a, ld, x, got)
			for i := range got {
				if !(math.Abs(got[i]-want[i]) <= 1e-12) {
					t.Fatalf("%d rows on %d threads: element %d: got %v, want %v", n, workers, i, got[i], want[i])
				}
			}
		}
	}
}

// TestEigenvalues: blocks that bulges are chased through have the eigenvalues that gonum's dgeev finds.
func TestEigenvalues(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    func(i, j int, r *rand.Rand) float64
		limit float64
	}{
		{"random", func(_, _ int, r *rand.Rand) float64 { return r.NormFloat64() }, 1e-9},
		{"positive", func(_, _ int, r *rand.Rand) float64 { return r.Float64() }, 1e-9},
		{"skew", func(i, j int, _ *rand.Rand) float64 { return math.Sin(float64(i - j)) }, 1e-9},
		{"symmetric", func(i, j int, _ *rand.Rand) float64 { return math.Cos(float64(i * j)) }, 1e-10},
		{"triangular", func(i, j int, r *rand.Rand) float64 { return float64(max(0, j-i+1)) / float64(1+i+j) }, 1e-9},
		{"blocks", func(i, j int, r *rand.Rand) float64 {
			if i/100 != j/100 {
				return 0
			}
			return r.NormFloat64()
		}, 1e-9},
		{"graded", func(i, j int, r *rand.Rand) float64 { return r.NormFloat64() * math.Pow(0.9, float64(i+j)) }, 1e-11},
		{"zero", func(int, int, *rand.Rand) float64 { return 0 }, 0},
		{"cycle", func(i, j int, _ *rand.Rand) float64 { // a permutation: no shift of it is better than another
			if i == (j+1)%150 {
				return 1
			}
			return 0
		}, 1e-9},
	} {
		sizes := []int{smallEigen + 5, 150}
		if long.CI() {
			sizes = append(sizes, 260)
		}
		if long.Tests() {
			sizes = append(sizes, 430)
		}
		for _, n := range sizes {
			t.Run(fmt.Sprint(c.name, " ", n), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), 7))
				a := make([]float64, n*n)
				for i := range a {
					a[i] = c.of(i/n, i%n, r)
				}
				re, im := make([]float64, n), make([]float64, n)
				if err := eigOf(n)(2, [][]float64{a}, [][]float64{re, im}); err != nil {
					t.Fatal(err)
				}
				wr, wi := make([]float64, n), make([]float64, n)
				size := max(1, largest(a))
				worked(func(work []float64, l int) {
					implementation.Dgeev(lapack.LeftEVNone, lapack.RightEVNone, n, slices.Clone(a), n, wr, wi, nil, 1, nil, 1, work, l)
				})
				for i := range n {
					near, at := math.Inf(1), 0
					for j := range wr {
						if d := math.Hypot(re[i]-wr[j], im[i]-wi[j]); d < near {
							near, at = d, j
						}
					}
					if !(near <= c.limit*size*math.Sqrt(float64(n))) {
						t.Fatalf("got the eigenvalue %v %+vi, the nearest is off by %v", re[i], im[i], near)
					}
					wr[at] = math.Inf(1) // each is one
				}
			})
		}
	}
}

// worked calls a function of LAPACK twice: for the length of its work, and with it.
func worked(call func(work []float64, n int)) {
	var best [1]float64
	call(best[:], -1)
	n := max(1, int(best[0]))
	call(make([]float64, n), n)
}
