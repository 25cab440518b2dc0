package linalg

import "math"

// reflections are the product I − V·T·Vᵀ of k Householder reflections of m elements (Schreiber and Van Loan
// 1989).
type reflections struct {
	threads
	m, k int
	v    []float64 // [m k], ones on the diagonal, zeros above it
	t    []float64 // [k k], upper triangular
}

// together makes reflections of vectors that stand below the diagonal of a [m k].
func (t threads) together(m, k int, a []float64, lda int, tau []float64) reflections {
	r := reflections{t, m, k, make([]float64, m*k), make([]float64, k*k)}
	for i := range m {
		copy(r.v[i*k:], a[i*lda:][:min(i, k)])
		if i < k {
			r.v[i*k+i] = 1
		}
	}
	g := make([]float64, k*k)
	t.gemm(true, false, k, k, m, r.v, k, r.v, k, 0, g, k)
	for j := range k {
		r.t[j*k+j] = tau[j]
		for i := range j {
			s := 0.
			for l := i; l < j; l++ {
				s += r.t[i*k+l] * g[l*k+j]
			}
			r.t[i*k+j] = -tau[j] * s
		}
	}
	return r
}

// left multiplies c [m n] from the left, by the transposed product if it is said.
func (r reflections) left(transposed bool, n int, c []float64, ldc int) {
	both, done := room(2 * r.k * n)
	defer done()
	w, x := both[:r.k*n], both[r.k*n:]
	r.gemm(true, false, r.k, n, r.m, r.v, r.k, c, ldc, 0, w, n)
	r.gemm(transposed, false, r.k, n, r.k, r.t, r.k, w, n, 0, x, n)
	r.gemm(false, false, r.m, n, r.k, r.v, r.k, x, n, -1, c, ldc)
}

// right multiplies c [n m] from the right by the transposed product.
func (r reflections) right(n int, c []float64, ldc int) {
	both, done := room(2 * r.k * n)
	defer done()
	w, x := both[:n*r.k], both[n*r.k:]
	r.gemm(false, false, n, r.k, r.m, c, ldc, r.v, r.k, 0, w, r.k)
	r.gemm(false, true, n, r.k, r.k, w, r.k, r.t, r.k, 0, x, r.k)
	r.gemm(false, true, n, r.m, r.k, x, r.k, r.v, r.k, -1, c, ldc)
}

const together = 64 // reflections

// backwards calls apply for the reflections of k vectors below the diagonal of a [m k], the last ones first,
// with the row at which they begin.
func (t threads) backwards(m, k int, a []float64, lda int, tau []float64, apply func(r reflections, from int)) {
	for from := (k - 1) / together * together; from >= 0 && k > 0; from -= together {
		apply(t.together(m-from, min(together, k-from), a[from*lda+from:], lda, tau[from:]), from)
	}
}

// geqrf is LAPACK's, by halves down to some columns.
func (t threads) geqrf(m, n int, a []float64, lda int, tau []float64) {
	const columns = 8
	k := min(m, n)
	if k <= columns {
		geqr2(m, n, a, lda, tau)
		return
	}
	h := min(together, k/2)
	t.geqrf(m, h, a, lda, tau)
	t.together(m, h, a, lda, tau).left(true, n-h, a[h:], lda)
	t.geqrf(m-h, n-h, a[h*lda+h:], lda, tau[h:])
}

// geqr2 is LAPACK's, with loops along rows.
func geqr2(m, n int, a []float64, lda int, tau []float64) {
	sums := make([]float64, n)
	for j := range min(m, n) {
		alpha, norm := a[j*lda+j], plain.Dnrm2(m-j-1, a[min(j+1, m-1)*lda+j:], lda)
		if tau[j] = 0; norm == 0 {
			continue
		}
		beta := -math.Copysign(math.Hypot(alpha, norm), alpha)
		tau[j] = (beta - alpha) / beta
		scale := 1 / (alpha - beta)
		rest := sums[:n-j-1]
		copy(rest, a[j*lda+j+1:])
		for i := j + 1; i < m; i++ {
			row := a[i*lda+j : i*lda+n]
			row[0] *= scale
			v := row[0]
			for x, y := range row[1:] {
				rest[x] += v * y
			}
		}
		a[j*lda+j] = beta
		for x, s := range rest {
			rest[x] = tau[j] * s
			a[j*lda+j+1+x] -= rest[x]
		}
		for i := j + 1; i < m; i++ {
			row := a[i*lda+j : i*lda+n]
			v := row[0]
			row = row[1:][:len(rest)]
			for x, s := range rest {
				row[x] -= v * s
			}
		}
	}
}
