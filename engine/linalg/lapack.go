package linalg

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

// A routine computes something of one matrix, as a host.Routine does.
type routine func(t threads, in, out [][]float64) error

func (f routine) on(most int, in, out [][]float64) error { return f(threads(most), in, out) }

var implementation gonum.Implementation

// luOf factorises [m n]: places of the rows, L below the diagonal and U [m n], and the sign of the
// permutation.
func luOf(m, n int) routine {
	return func(t threads, in, out [][]float64) error {
		a, lda := padded(m, n, in[0])
		pivots := make([]int, min(m, n))
		t.getrf(m, n, a, lda, pivots)
		rows, sign := make([]float64, m), 1.
		for i := range rows {
			rows[i] = float64(i)
		}
		for i, p := range pivots {
			if rows[i], rows[p] = rows[p], rows[i]; i != p {
				sign = -sign
			}
		}
		if out[0] != nil {
			copy(out[0], rows)
		}
		if both := out[1]; both != nil {
			for i := range m {
				copy(both[i*n:(i+1)*n], a[i*lda:])
			}
		}
		if out[2] != nil {
			out[2][0] = sign
		}
		return nil
	}
}

// getrf is LAPACK's dgetrf2: the columns are halved, so that most work is products.
func (t threads) getrf(m, n int, a []float64, lda int, pivots []int) {
	const columns = 8
	k := min(m, n)
	if k <= columns {
		getf2(m, n, a, lda, pivots)
		return
	}
	h := k / 2
	t.getrf(m, h, a, lda, pivots[:h])
	interchange(pivots[:h], 0, n-h, a[h:], lda)
	t.trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, h, n-h, a, lda, a[h:], lda)
	t.gemm(false, false, m-h, n-h, h, a[h*lda:], lda, a[h:], lda, -1, a[h*lda+h:], lda)
	t.getrf(m-h, n-h, a[h*lda+h:], lda, pivots[h:])
	interchange(pivots[h:], h, h, a, lda)
	for i := h; i < k; i++ {
		pivots[i] += h
	}
}

// interchange swaps row from+i of a with row from+pivots[i], over n columns.
func interchange(pivots []int, from, n int, a []float64, lda int) {
	for i, p := range pivots {
		if i != p {
			swap(a[(from+i)*lda:][:n], a[(from+p)*lda:])
		}
	}
}

// getf2 is LAPACK's, with one pass over the rows for each column, which finds the next pivot, too.
func getf2(m, n int, a []float64, lda int, pivots []int) {
	next := 0
	for i := range m {
		if math.Abs(a[i*lda]) > math.Abs(a[next*lda]) {
			next = i
		}
	}
	for j := range pivots {
		p := next
		if pivots[j] = p; p != j {
			swap(a[j*lda:][:n], a[p*lda:])
		}
		top := a[j*lda+j : j*lda+n]
		largest := -1.
		next = j + 1
		for i := j + 1; i < m; i++ {
			row := a[i*lda+j:][:len(top)]
			if top[0] != 0 {
				f := row[0] / top[0]
				row[0] = f
				for c := 1; c < len(top); c++ {
					row[c] -= f * top[c]
				}
			}
			if len(row) > 1 && math.Abs(row[1]) > largest {
				largest, next = math.Abs(row[1]), i
			}
		}
	}
}

// trianglesOf solves op(a)·x = b for a triangular a [n n] and b [n cols].
func trianglesOf(n, cols int, o Triangle) routine {
	ul, trans, diag := blas.Lower, blas.NoTrans, blas.NonUnit
	if o.Upper {
		ul = blas.Upper
	}
	if o.Transposed {
		trans = blas.Trans
	}
	if o.Unit {
		diag = blas.Unit
	}
	return func(t threads, in, out [][]float64) error {
		for i := range n {
			if !o.Unit && in[0][i*n+i] == 0 {
				return singular(i + 1)
			}
		}
		copy(out[0], in[1])
		t.trsm(blas.Left, ul, trans, diag, n, cols, in[0], n, out[0], cols)
		return nil
	}
}

// choleskyOf factorises the lower triangle of a matrix [n n].
func choleskyOf(n int) routine {
	return func(t threads, in, out [][]float64) error {
		l := out[0]
		for i := range n {
			copy(l[i*n:][:i+1], in[0][i*n:])
		}
		if minor := t.potrf(n, l, n); minor > 0 {
			return indefinite(minor)
		}
		for i := range n {
			clear(l[i*n+i+1 : (i+1)*n])
		}
		return nil
	}
}

// potrf is LAPACK's dpotrf2 of a lower triangle; it may change what stands above the diagonal. It returns the
// order of the first leading minor that is not above 0, or 0.
func (t threads) potrf(n int, a []float64, lda int) int {
	if n > few {
		h := halfOf(n)
		if minor := t.potrf(h, a, lda); minor > 0 {
			return minor
		}
		below, last := a[h*lda:], a[h*lda+h:]
		t.trsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, n-h, h, a, lda, below, lda)
		t.lower(n-h, h, below, lda, below, lda, last, lda)
		if minor := t.potrf(n-h, last, lda); minor > 0 {
			return h + minor
		}
		return 0
	}
	for i := range n {
		row := a[i*lda:][:i+1]
		for j := range row {
			other, s := a[j*lda:][:j+1], row[j]
			for k := range j {
				s -= row[k] * other[k]
			}
			switch {
			case i > j:
				row[j] = s / other[j]
			case !(s > 0):
				return i + 1
			default:
				row[j] = math.Sqrt(s)
			}
		}
	}
	return 0
}

// qrOf factorises [m n]: Q [m cols] and R [cols n], where cols is min(m, n) or m.
func qrOf(m, n, cols int) routine {
	k := min(m, n)
	return func(t threads, in, out [][]float64) error {
		a, lda := padded(m, n, in[0])
		tau := make([]float64, k)
		t.geqrf(m, n, a, lda, tau)
		if r := out[1]; r != nil {
			for i := range k {
				copy(r[i*n+i:(i+1)*n], a[i*lda+i:])
			}
		}
		if q := out[0]; q != nil {
			for i := range cols {
				q[i*cols+i] = 1
			}
			t.backwards(m, k, a, lda, tau, func(r reflections, from int) { r.left(false, cols-from, q[from*cols+from:], cols) })
		}
		return nil
	}
}

var errEndless = errors.New("got NaN or an infinity, want finite elements")

// scaled is a copy of a matrix [m n] over a power of 2, its largest absolute value being 1 to 2, and that
// power. It refuses what an iteration would not end for.
func scaled(m, n int, a []float64) (x []float64, ld int, by float64, err error) {
	size := largest(a)
	if size-size != 0 {
		return nil, 0, 0, errEndless
	}
	_, exponent := math.Frexp(size)
	x, ld = padded(m, n, a)
	half := (1 - exponent) / 2 // the whole may be beyond a float
	f, g := math.Ldexp(1, half), math.Ldexp(1, 1-exponent-half)
	for i := range x {
		x[i] = x[i] * f * g
	}
	return x, ld, math.Ldexp(1, exponent-1), nil
}

// svdOf factorises [m n]: U [m p], the singular values [k] in falling order, and Vᵀ [q n], where p and q are
// k = min(m, n), or m and n if it is full.
func svdOf(m, n int, full bool) routine {
	p, q := min(m, n), min(m, n)
	if full {
		p, q = m, n
	}
	return func(t threads, in, out [][]float64) error {
		if m < n { // of the transposed matrix: the vectors change places
			s, vt, ut, err := t.tallSVD(n, m, q, transposed(m, n, in[0]), out[2] != nil || out[0] != nil)
			return spread(err, m, p, s, ut, vt, out)
		}
		s, ut, vt, err := t.tallSVD(m, n, p, in[0], out[0] != nil || out[2] != nil)
		return spread(err, m, p, s, ut, vt, out)
	}
}

// tallSVD factorises a [m n], m ≥ n: the singular values in falling order, Uᵀ [cols m] and Vᵀ [n n], if they
// are wanted.
func (t threads) tallSVD(m, n, cols int, a []float64, vectors bool) (s, ut, vt []float64, err error) {
	x, ld, by, err := scaled(m, n, a)
	if err != nil {
		return nil, nil, nil, err
	}
	s, e, tauQ, tauP := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	t.gebrd(m, n, x, ld, s, e, tauQ, tauP)
	if !vectors {
		if !implementation.Dbdsqr(blas.Upper, n, 0, 0, 0, s, e[:n-1], nil, 1, nil, 1, nil, 1, make([]float64, 4*n)) {
			return nil, nil, nil, errUnconverged
		}
		scale(by, s)
		return s, nil, nil, nil
	}
	ut, vt = make([]float64, cols*m), make([]float64, n*n)
	if err := t.bidiagonal(n, s, e, ut, m, vt, n); err != nil {
		return nil, nil, nil, err
	}
	slices.Reverse(s)
	for i := range n / 2 {
		swap(ut[i*m:][:n], ut[(n-1-i)*m:])
		swap(vt[i*n:][:n], vt[(n-1-i)*n:])
	}
	for i := n; i < cols; i++ {
		ut[i*m+i] = 1
	}
	t.backwards(m, n, x, ld, tauQ, func(r reflections, from int) { r.right(cols, ut[from:], m) })
	if n > 1 {
		right, ldr := transposed(n-1, ld, x), n-1 // the vectors of row i are right of its diagonal
		t.backwards(n-1, n-1, right[ldr:], ldr, tauP, func(r reflections, from int) { r.right(n, vt[1+from:], n) })
	}
	scale(by, s)
	return s, ut, vt, nil
}

func scale(by float64, x []float64) {
	for i := range x {
		x[i] *= by
	}
}

// gebrd is LAPACK's for m ≥ n, with the products of a block by gemm.
func (t threads) gebrd(m, n int, a []float64, lda int, d, e, tauQ, tauP []float64) {
	const nb = 32
	x, y := make([]float64, m*nb), make([]float64, n*nb)
	i := 0
	for ; n-i > 2*nb; i += nb {
		t.labrd(m-i, n-i, nb, a[i*lda+i:], lda, d[i:], e[i:], tauQ[i:], tauP[i:], x, nb, y, nb)
		rest := a[(i+nb)*lda+i+nb:]
		t.gemm(false, true, m-i-nb, n-i-nb, nb, a[(i+nb)*lda+i:], lda, y[nb*nb:], nb, -1, rest, lda)
		t.gemm(false, false, m-i-nb, n-i-nb, nb, x[nb*nb:], nb, a[i*lda+i+nb:], lda, -1, rest, lda)
		for j := i; j < i+nb; j++ {
			a[j*lda+j], a[j*lda+j+1] = d[j], e[j]
		}
	}
	implementation.Dgebd2(m-i, n-i, a[i*lda+i:], lda, d[i:], e[i:], tauQ[i:], tauP[i:], make([]float64, m))
}

// spread hands out the parts of an SVD with Uᵀ [p m] in the place of U.
func spread(err error, m, p int, s, ut, vt []float64, out [][]float64) error {
	if err != nil {
		return err
	}
	if out[0] != nil {
		copy(out[0], transposed(p, m, ut))
	}
	if out[1] != nil {
		copy(out[1], s)
	}
	if out[2] != nil {
		copy(out[2], vt)
	}
	return nil
}

// transposed is a [m n] as [n m], in blocks that fit into a cache.
func transposed(m, n int, a []float64) []float64 {
	const block = 16
	t := make([]float64, len(a))
	for i0 := 0; i0 < m; i0 += block {
		for j0 := 0; j0 < n; j0 += block {
			for i := i0; i < min(m, i0+block); i++ {
				for j := j0; j < min(n, j0+block); j++ {
					t[j*m+i] = a[i*n+j]
				}
			}
		}
	}
	return t
}

// eighOf factorises a symmetric matrix [n n] by its lower triangle: the eigenvalues [n] in rising order, and
// their vectors as columns.
func eighOf(n int) routine {
	return func(t threads, in, out [][]float64) error {
		a, ld, by, err := scaled(n, n, in[0])
		if err != nil {
			return err
		}
		w, e, tau := make([]float64, n), make([]float64, n), make([]float64, n)
		t.sytrd(n, a, ld, w, e, tau)
		if out[1] == nil {
			if !implementation.Dsterf(n, w, e[:n-1]) {
				return errUnconverged
			}
		} else {
			vt := make([]float64, n*n)
			if err := t.tridiagonal(w, e, vt, n); err != nil {
				return err
			}
			if n > 1 {
				t.backwards(n-1, n-1, a[ld:], ld, tau, func(r reflections, from int) { r.right(n, vt[1+from:], n) })
			}
			copy(out[1], transposed(n, n, vt))
		}
		if out[0] != nil {
			scale(by, w)
			copy(out[0], w)
		}
		return nil
	}
}

// sytrd is LAPACK's for a lower triangle, with the products of a block by gemm.
func (t threads) sytrd(n int, a []float64, lda int, d, e, tau []float64) {
	const nb = 32
	w, vw, wv := make([]float64, n*nb), make([]float64, n*2*nb), make([]float64, n*2*nb)
	i := 0
	for ; n-i > 2*nb; i += nb {
		t.latrd(n-i, nb, a[i*lda+i:], lda, e[i:], tau[i:], w, nb)
		for j := nb; j < n-i; j++ { // V·Wᵀ + W·Vᵀ are one product
			x, y := vw[j*2*nb:][:2*nb], wv[j*2*nb:]
			copy(x, a[(i+j)*lda+i:][:nb])
			copy(x[nb:], w[j*nb:][:nb])
			copy(y, x[nb:])
			copy(y[nb:], x[:nb])
		}
		t.lower(n-i-nb, 2*nb, vw[nb*2*nb:], 2*nb, wv[nb*2*nb:], 2*nb, a[(i+nb)*lda+i+nb:], lda)
		for j := i; j < i+nb; j++ {
			a[(j+1)*lda+j], d[j] = e[j], a[j*lda+j]
		}
	}
	if rest := n - i; rest > 0 {
		implementation.Dsytd2(blas.Lower, rest, a[i*lda+i:], lda, d[i:], e[i:][:max(0, rest-1)], tau[i:][:max(0, rest-1)])
	}
}

// eigOf computes the eigenvalues of a matrix [n n]: their real and imaginary parts.
func eigOf(n int) routine {
	return func(t threads, in, out [][]float64) error {
		a, ld, by, err := scaled(n, n, in[0])
		if err != nil {
			return err
		}
		re, im := make([]float64, n), make([]float64, n)
		if err := t.eigenvalues(n, a, ld, re, im); err != nil {
			return err
		}
		for i, part := range [][]float64{re, im} {
			if out[i] != nil {
				scale(by, part)
				copy(out[i], part)
			}
		}
		return nil
	}
}
