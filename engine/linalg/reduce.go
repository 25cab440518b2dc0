package linalg

import (
	"gonum.org/v1/gonum/blas"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Half of the work of a reduction to tridiagonal or bidiagonal form is products of the whole rest of the
// matrix with a vector: it takes as long as reading that from memory. These are LAPACK's dlatrd and dlabrd,
// for lower triangles and m ≥ n, with those products divided among threads.

// symv computes y = a·x of a symmetric matrix by its lower triangle, which it reads once, four rows at a
// time.
func (t threads) symv(n int, a []float64, lda int, x, y []float64) {
	if n < 256 {
		t = 1
	}
	sums := make([][]float64, t)
	pool.Apart(int(t), func(worker int) {
		y := make([]float64, n)
		sums[worker] = y
		for i := 4 * worker; i < n; i += 4 * int(t) {
			if i+4 <= n {
				s := micro.Symmetric(i, a[i*lda:], lda, (*[4]float64)(x[i:]), x, y)
				b, c, d := a[(i+1)*lda+i:][:2], a[(i+2)*lda+i:][:3], a[(i+3)*lda+i:][:4]
				x, y := (*[4]float64)(x[i:]), (*[4]float64)(y[i:])
				y[0] += s[0] + a[i*lda+i]*x[0] + b[0]*x[1] + c[0]*x[2] + d[0]*x[3]
				y[1] += s[1] + b[0]*x[0] + b[1]*x[1] + c[1]*x[2] + d[1]*x[3]
				y[2] += s[2] + c[0]*x[0] + c[1]*x[1] + c[2]*x[2] + d[2]*x[3]
				y[3] += s[3] + d[0]*x[0] + d[1]*x[1] + d[2]*x[2] + d[3]*x[3]
				continue
			}
			for r := i; r < n; r++ {
				for c, v := range a[r*lda:][:r] {
					y[r] += v * x[c]
					y[c] += v * x[r]
				}
				y[r] += a[r*lda+r] * x[r]
			}
		}
	})
	clear(y[:n])
	for _, s := range sums {
		plain.Daxpy(n, 1, s, 1, y, 1)
	}
}

// gemv computes y [m] = a·x, or y [n] = aᵀ·x, of a [m n].
func (t threads) gemv(trans bool, m, n int, a []float64, lda int, x, y []float64) {
	if m*n < 1<<15 {
		t = 1
	}
	if !trans {
		t.apart(m, 8, func(lo, hi int) {
			plain.Dgemv(blas.NoTrans, hi-lo, n, 1, a[lo*lda:], lda, x, 1, 0, y[lo:], 1)
		})
		return
	}
	t.apart(n, 64, func(lo, hi int) {
		plain.Dgemv(blas.Trans, m, hi-lo, 1, a[lo:], lda, x, 1, 0, y[lo:], 1)
	})
}

// latrd reduces the first nb columns of a [n n], and makes w [n nb], such that a − V·Wᵀ − W·Vᵀ is the rest.
func (t threads) latrd(n, nb int, a []float64, lda int, e, tau, w []float64, ldw int) {
	v, y, s := make([]float64, n), make([]float64, n), make([]float64, nb)
	for i := range nb {
		plain.Dgemv(blas.NoTrans, n-i, i, -1, a[i*lda:], lda, w[i*ldw:], 1, 1, a[i*lda+i:], lda)
		plain.Dgemv(blas.NoTrans, n-i, i, -1, w[i*ldw:], ldw, a[i*lda:], 1, 1, a[i*lda+i:], lda)
		below, rest := a[(i+1)*lda:], n-i-1
		e[i], tau[i] = implementation.Dlarfg(rest, below[i], a[min(i+2, n-1)*lda+i:], lda)
		below[i] = 1
		v, y := v[:rest], y[:rest]
		for r := range v {
			v[r] = below[r*lda+i]
		}
		t.symv(rest, below[i+1:], lda, v, y)
		if i > 0 {
			plain.Dgemv(blas.Trans, rest, i, 1, w[(i+1)*ldw:], ldw, v, 1, 0, s, 1)
			plain.Dgemv(blas.NoTrans, rest, i, -1, below, lda, s, 1, 1, y, 1)
			plain.Dgemv(blas.Trans, rest, i, 1, below, lda, v, 1, 0, s, 1)
			plain.Dgemv(blas.NoTrans, rest, i, -1, w[(i+1)*ldw:], ldw, s, 1, 1, y, 1)
		}
		plain.Dscal(rest, tau[i], y, 1)
		plain.Daxpy(rest, -tau[i]/2*plain.Ddot(rest, y, 1, v, 1), v, 1, y, 1)
		for r, x := range y {
			w[(i+1+r)*ldw+i] = x
		}
	}
}

// labrd reduces the first nb rows and columns of a [m n], and makes x [m nb] and y [n nb], such that a − V·Yᵀ
// − X·Uᵀ is the rest.
func (t threads) labrd(m, n, nb int, a []float64, lda int, d, e, tauQ, tauP, x []float64, ldx int, y []float64, ldy int) {
	v, to, s := make([]float64, m), make([]float64, m), make([]float64, nb+1)
	for i := range nb {
		plain.Dgemv(blas.NoTrans, m-i, i, -1, a[i*lda:], lda, y[i*ldy:], 1, 1, a[i*lda+i:], lda)
		plain.Dgemv(blas.NoTrans, m-i, i, -1, x[i*ldx:], ldx, a[i:], lda, 1, a[i*lda+i:], lda)
		d[i], tauQ[i] = implementation.Dlarfg(m-i, a[i*lda+i], a[min(i+1, m-1)*lda+i:], lda)
		a[i*lda+i] = 1
		rest := n - i - 1
		v, z := v[:m-i], to[:rest]
		for r := range v {
			v[r] = a[(i+r)*lda+i]
		}
		t.gemv(true, m-i, rest, a[i*lda+i+1:], lda, v, z)
		if i > 0 {
			plain.Dgemv(blas.Trans, m-i, i, 1, a[i*lda:], lda, v, 1, 0, s, 1)
			plain.Dgemv(blas.NoTrans, rest, i, -1, y[(i+1)*ldy:], ldy, s, 1, 1, z, 1)
			plain.Dgemv(blas.Trans, m-i, i, 1, x[i*ldx:], ldx, v, 1, 0, s, 1)
			plain.Dgemv(blas.Trans, i, rest, -1, a[i+1:], lda, s, 1, 1, z, 1)
		}
		for r, q := range z {
			y[(i+1+r)*ldy+i] = tauQ[i] * q
		}

		row := a[i*lda+i+1:][:rest]
		plain.Dgemv(blas.NoTrans, rest, i+1, -1, y[(i+1)*ldy:], ldy, a[i*lda:], 1, 1, row, 1)
		if i > 0 {
			plain.Dgemv(blas.Trans, i, rest, -1, a[i+1:], lda, x[i*ldx:], 1, 1, row, 1)
		}
		e[i], tauP[i] = implementation.Dlarfg(rest, row[0], row[min(1, rest-1):], 1)
		row[0] = 1
		z = to[:m-i-1]
		t.gemv(false, m-i-1, rest, a[(i+1)*lda+i+1:], lda, row, z)
		plain.Dgemv(blas.Trans, rest, i+1, 1, y[(i+1)*ldy:], ldy, row, 1, 0, s, 1)
		plain.Dgemv(blas.NoTrans, m-i-1, i+1, -1, a[(i+1)*lda:], lda, s, 1, 1, z, 1)
		if i > 0 {
			plain.Dgemv(blas.NoTrans, i, rest, 1, a[i+1:], lda, row, 1, 0, s, 1)
			plain.Dgemv(blas.NoTrans, m-i-1, i, -1, x[(i+1)*ldx:], ldx, s, 1, 1, z, 1)
		}
		for r, q := range z {
			x[(i+1+r)*ldx+i] = tauP[i] * q
		}
	}
}
