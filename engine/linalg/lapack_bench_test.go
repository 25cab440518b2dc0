package linalg

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// BenchmarkRoutines times what is computed for one matrix.
func BenchmarkRoutines(b *testing.B) {
	const n = 1024
	r := rand.New(rand.NewPCG(1, 2))
	a, h := make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	t := threads(runtime.GOMAXPROCS(0))
	t.gemm(false, true, n, n, n, a, n, a, n, 0, h, n)
	scale(1./n, h)
	for i := range n {
		h[i*n+i]++
	}
	matrix := func() []float64 { return make([]float64, n*n) }
	for _, c := range []struct {
		name string
		run  routine
		in   []float64
		out  [][]float64
	}{
		{"lu", luOf(n, n), a, [][]float64{make([]float64, n), matrix(), make([]float64, 1)}},
		{"cholesky", choleskyOf(n), h, [][]float64{matrix()}},
		{"triangular", trianglesOf(n, n, Triangle{}), h, [][]float64{matrix()}},
		{"qr", qrOf(n, n, n), a, [][]float64{matrix(), matrix()}},
		{"svd", svdOf(n, n, false), a, [][]float64{matrix(), make([]float64, n), matrix()}},
		{"svdvals", svdOf(n, n, false), a, [][]float64{nil, make([]float64, n), nil}},
		{"eigh", eighOf(n), h, [][]float64{make([]float64, n), matrix()}},
		{"eigvalsh", eighOf(n), h, [][]float64{make([]float64, n), nil}},
		{"eigvals", eigOf(n), a, [][]float64{make([]float64, n), make([]float64, n)}},
	} {
		in := [][]float64{c.in}
		if c.name == "triangular" {
			in = append(in, a)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, o := range c.out {
					clear(o)
				}
				if err := c.run(t, in, c.out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
