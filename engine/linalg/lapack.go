package linalg

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/host"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"
)

// What is computed for one matrix, by gonum's LAPACK. A routine says nothing of a batch: see package host.

var implementation gonum.Implementation

// worked calls a function of LAPACK twice: for the length of its work, and with it.
func worked(call func(work []float64, n int)) {
	var best [1]float64
	call(best[:], -1)
	n := max(1, int(best[0]))
	call(make([]float64, n), n)
}

// luOf factorises [m n]: places of the rows, L [m k], U [k n], and the sign of the permutation.
func luOf(m, n int) host.Routine {
	k := min(m, n)
	return func(in, out [][]float64) error {
		a, pivots := slices.Clone(in[0]), make([]int, k)
		eliminate(m, n, a, n, pivots)
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
		if l := out[1]; l != nil {
			for i := range m {
				copy(l[i*k:][:min(i, k)], a[i*n:])
				if i < k {
					l[i*k+i] = 1
				}
			}
		}
		if u := out[2]; u != nil {
			for i := range k {
				copy(u[i*n+i:(i+1)*n], a[i*n+i:])
			}
		}
		if out[3] != nil {
			out[3][0] = sign
		}
		return nil
	}
}

// eliminate is LAPACK's dgetrf2: the columns are halved, so that most work is products also within what
// Dgetrf would do column by column.
func eliminate(m, n int, a []float64, lda int, pivots []int) {
	const columns = 16
	k := min(m, n)
	if k <= columns {
		implementation.Dgetf2(m, n, a, lda, pivots)
		return
	}
	h := k / 2
	b := blas64.Implementation()
	eliminate(m, h, a, lda, pivots[:h])
	implementation.Dlaswp(n-h, a[h:], lda, 0, h-1, pivots[:h], 1)
	b.Dtrsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, h, n-h, 1, a, lda, a[h:], lda)
	b.Dgemm(blas.NoTrans, blas.NoTrans, m-h, n-h, h, -1, a[h*lda:], lda, a[h:], lda, 1, a[h*lda+h:], lda)
	eliminate(m-h, n-h, a[h*lda+h:], lda, pivots[h:])
	for i := h; i < k; i++ {
		pivots[i] += h
	}
	implementation.Dlaswp(h, a, lda, h, k-1, pivots, 1)
}

// trianglesOf solves op(a)·x = b for a triangular a [n n] and b [n cols].
func trianglesOf(n, cols int, o Triangle) host.Routine {
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
	return func(in, out [][]float64) error {
		for i := range n {
			if !o.Unit && in[0][i*n+i] == 0 {
				return fmt.Errorf("got a singular matrix: pivot %d is 0", i+1)
			}
		}
		copy(out[0], in[1])
		blas64.Implementation().Dtrsm(blas.Left, ul, trans, diag, n, cols, 1, in[0], n, out[0], cols)
		return nil
	}
}

// choleskyOf factorises the lower triangle of a matrix [n n].
func choleskyOf(n int) host.Routine {
	return func(in, out [][]float64) error {
		l := out[0]
		for i := range n {
			copy(l[i*n:][:i+1], in[0][i*n:])
		}
		if !implementation.Dpotrf(blas.Lower, n, l, n) {
			return fmt.Errorf("got a matrix that is not positive definite: its leading minor of order %d is not above 0", minor(n, in[0]))
		}
		return nil
	}
}

// minor is the order of the first leading minor that is not above 0, found as the textbook has it.
func minor(n int, a []float64) int {
	l := slices.Clone(a)
	for i := range n {
		for j := range i + 1 {
			s := l[i*n+j]
			for k := range j {
				s -= l[i*n+k] * l[j*n+k]
			}
			switch {
			case i > j:
				l[i*n+j] = s / l[j*n+j]
			case !(s > 0):
				return i + 1
			default:
				l[i*n+i] = math.Sqrt(s)
			}
		}
	}
	return n
}

// qrOf factorises [m n]: Q [m cols] and R [cols n], where cols is min(m, n) or m.
func qrOf(m, n, cols int) host.Routine {
	k := min(m, n)
	return func(in, out [][]float64) error {
		a, tau := slices.Clone(in[0]), make([]float64, k)
		worked(func(work []float64, l int) { implementation.Dgeqrf(m, n, a, n, tau, work, l) })
		if r := out[1]; r != nil {
			for i := range k {
				copy(r[i*n+i:(i+1)*n], a[i*n+i:])
			}
		}
		if q := out[0]; q != nil {
			for i := range m {
				copy(q[i*cols:][:k], a[i*n:])
			}
			worked(func(work []float64, l int) { implementation.Dorgqr(m, cols, k, q, cols, tau, work, l) })
		}
		return nil
	}
}

var errEndless = errors.New("got NaN or an infinity, want finite elements")
var errUnconverged = errors.New("got a matrix for which the iteration does not converge")

// finite refuses what an iteration would not end for.
func finite(x []float64) error {
	for _, v := range x {
		if v-v != 0 {
			return errEndless
		}
	}
	return nil
}

// svdOf factorises [m n]: U [m p], the singular values [k] in falling order, and Vᵀ [q n], where p and q are
// k = min(m, n), or m and n if it is full.
func svdOf(m, n int, full bool) host.Routine {
	p, q := min(m, n), min(m, n)
	if full {
		p, q = m, n
	}
	return func(in, out [][]float64) error {
		if err := finite(in[0]); err != nil {
			return err
		}
		x := slices.Clone(in[0])
		if m < n { // of the transposed matrix: the vectors change places
			x = transposed(m, n, in[0])
			s, vt, ut, err := tallSVD(n, m, q, x, out[2] != nil, out[0] != nil)
			return spread(err, m, p, s, ut, vt, out)
		}
		s, ut, v, err := tallSVD(m, n, p, x, out[0] != nil, out[2] != nil)
		return spread(err, m, p, s, ut, v, out)
	}
}

// tallSVD factorises a [m n], m ≥ n, and changes it: the singular values, Uᵀ [cols m] and Vᵀ [n n], if they
// are wanted. It is LAPACK's dgesvd, but for rotations that change rows of Uᵀ: columns of U lie far apart.
func tallSVD(m, n, cols int, a []float64, wantU, wantV bool) (s, ut, vt []float64, err error) {
	s, e, tauQ, tauP := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	worked(func(work []float64, l int) { implementation.Dgebrd(m, n, a, n, s, e[:n-1], tauQ, tauP, work, l) })
	rowsU, colsV := 0, 0
	if wantV {
		vt, colsV = make([]float64, n*n), n
		implementation.Dlacpy(blas.Upper, n, n, a, n, vt, n)
		worked(func(work []float64, l int) { implementation.Dorgbr(lapack.GeneratePT, n, n, n, vt, n, tauP, work, l) })
	}
	if wantU {
		u := make([]float64, m*cols)
		implementation.Dlacpy(blas.Lower, m, n, a, n, u, cols)
		worked(func(work []float64, l int) {
			implementation.Dorgbr(lapack.GenerateQ, m, cols, n, u, cols, tauQ, work, l)
		})
		ut, rowsU = transposed(m, cols, u), m
	}
	if !implementation.Dbdsqr(blas.Upper, n, colsV, 0, rowsU, s, e[:n-1], vt, max(1, colsV), nil, 1, ut, max(1, rowsU), make([]float64, 4*n)) {
		err = errUnconverged
	}
	return s, ut, vt, err
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
func eighOf(n int) host.Routine {
	return func(in, out [][]float64) error {
		if err := finite(in[0]); err != nil {
			return err
		}
		a, w, e, tau := slices.Clone(in[0]), make([]float64, n), make([]float64, n), make([]float64, n)
		worked(func(work []float64, l int) {
			implementation.Dsytrd(blas.Lower, n, a, n, w, e[:n-1], tau[:n-1], work, l)
		})
		var ok bool
		if out[1] == nil {
			ok = implementation.Dsterf(n, w, e[:n-1])
		} else {
			worked(func(work []float64, l int) { implementation.Dorgtr(blas.Lower, n, a, n, tau[:n-1], work, l) })
			vt := transposed(n, n, a)
			ok = tridiagonal(n, w, e, vt)
			copy(out[1], transposed(n, n, vt))
		}
		if !ok {
			return errUnconverged
		}
		if out[0] != nil {
			copy(out[0], w)
		}
		return nil
	}
}

// eigOf computes the eigenvalues of a matrix [n n]: their real and imaginary parts.
func eigOf(n int) host.Routine {
	return func(in, out [][]float64) error {
		if err := finite(in[0]); err != nil {
			return err
		}
		a, re, im := slices.Clone(in[0]), make([]float64, n), make([]float64, n)
		first := 0
		worked(func(work []float64, l int) {
			first = implementation.Dgeev(lapack.LeftEVNone, lapack.RightEVNone, n, a, n, re, im, nil, 1, nil, 1, work, l)
		})
		if first != 0 {
			return errUnconverged
		}
		for i, part := range [][]float64{re, im} {
			if out[i] != nil {
				copy(out[i], part)
			}
		}
		return nil
	}
}
