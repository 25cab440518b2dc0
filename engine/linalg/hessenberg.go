package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// eigenvalues writes those of a [n n], which it changes, to re and im: LAPACK's dgeev without vectors. Its
// multishift QR iteration has few shifts in gonum, whatever n, and products of a few columns, so this is
// another.
func (t threads) eigenvalues(n int, a []float64, lda int, re, im []float64) error {
	lo, hi := implementation.Dgebal(lapack.PermuteScale, n, a, lda, make([]float64, n))
	for i := range n {
		if i < lo || i > hi {
			re[i] = a[i*lda+i]
		}
	}
	h := hessenberg{t, hi - lo + 1, a[lo*lda+lo:], lda, re[lo : hi+1], im[lo : hi+1]}
	h.reduce()
	return h.iterate()
}

// A hessenberg is a matrix [n n] with nothing below the diagonal that is beside the main one, or is to be.
type hessenberg struct {
	threads
	n      int
	a      []float64
	ld     int
	re, im []float64
}

func (h *hessenberg) at(i, j int) *float64 { return &h.a[i*h.ld+j] }

// reduce is LAPACK's dgehrd, without the reflections.
func (h *hessenberg) reduce() {
	const nb = 32
	n, a, ld := h.n, h.a, h.ld
	tau, y, tri := make([]float64, n), make([]float64, n*nb), make([]float64, nb*nb)
	i := 0
	for ; n-i > 4*nb; i += nb {
		implementation.Dlahr2(n, i+1, nb, a[i:], ld, tau[i:], tri, nb, y, nb)
		last := h.at(i+nb, i+nb-1)
		one := *last
		*last = 1
		h.gemm(false, true, n, n-i-nb, nb, y, nb, a[(i+nb)*ld+i:], ld, -1, a[i+nb:], ld)
		*last = one
		plain.Dtrmm(blas.Right, blas.Lower, blas.Trans, blas.Unit, i+1, nb-1, 1, a[(i+1)*ld+i:], ld, y, nb)
		for r := range i + 1 {
			for j, x := range y[r*nb:][:nb-1] {
				a[r*ld+i+1+j] -= x
			}
		}
		h.together(n-i-1, nb, a[(i+1)*ld+i:], ld, tau[i:]).left(true, n-i-nb, a[(i+1)*ld+i+nb:], ld)
	}
	implementation.Dgehd2(n, i, n-1, a, ld, tau[:max(0, n-1)], make([]float64, n))
	for r := 2; r < n; r++ {
		clear(a[r*ld:][:r-1])
	}
}

const smallEigen = 75 // rows of a block whose eigenvalues are found without more ado

// iterate finds the eigenvalues from the last rows up (Braman, Byers and Mathias 2002; LAPACK's dlaqr0):
// those that a window at the end shows, and when too few do, it chases the others as shifts through the
// block.
func (h *hessenberg) iterate() error {
	shifts := 32
	if h.n < 400 {
		shifts = 16
	}
	window := 3 * shifts / 2
	work := make([]float64, 4*window*window+8*h.n)
	v, square, wide := make([]float64, window*window), make([]float64, window*h.n), make([]float64, window*h.n)
	stalled := 0
	for bottom := h.n - 1; bottom >= 0; {
		top := bottom
		for top > 0 && *h.at(top, top-1) != 0 {
			top--
		}
		if bottom-top < smallEigen {
			if implementation.Dlahqr(false, false, h.n, top, bottom, h.a, h.ld, h.re[:bottom+1], h.im[:bottom+1], 0, h.n-1, nil, h.n) != 0 {
				return errUnconverged
			}
			bottom = top - 1
			continue
		}
		found, gone := implementation.Dlaqr23(false, false, h.n, top, bottom, window, h.a, h.ld, 0, h.n-1, nil, h.n,
			h.re[:bottom+1], h.im[:bottom+1], v, window, h.n, square, h.n, h.n, wide, window, work, len(work), 1)
		if bottom -= gone; gone*100 > window*14 {
			stalled = 0
			continue
		}
		if stalled++; gone > 0 {
			stalled = 0
		}
		if stalled > 60 {
			return errUnconverged
		}
		if bottom-top < smallEigen {
			continue
		}
		re, im := h.shifts(bottom, min(found, bottom-top), shifts, stalled)
		h.chase(top, bottom, re, im)
		h.split(top, bottom)
	}
	return nil
}

// shifts are the best of the eigenvalues that a window has found above the bottom, or when that is of no use
// those of the last rows, in pairs that are real or conjugate.
func (h *hessenberg) shifts(bottom, found, most, stalled int) (re, im []float64) {
	if found < most/2 || stalled%6 == 5 {
		block := make([]float64, most*most)
		from := bottom - most + 1
		for i := range most {
			copy(block[i*most:][:most], h.a[(from+i)*h.ld+from:])
		}
		if stalled%6 == 5 { // exceptional ones, of another matrix nearby
			for i := 1; i < most; i++ {
				block[i*most+i] += 0.75 * math.Abs(block[i*most+i-1])
			}
		}
		re, im = make([]float64, most), make([]float64, most)
		bad := implementation.Dlahqr(false, false, most, 0, most-1, block, most, re, im, 0, most-1, nil, most)
		re, im = re[bad:], im[bad:]
	} else {
		re, im = append(re, h.re[bottom-found+1:bottom+1]...), append(im, h.im[bottom-found+1:bottom+1]...)
	}
	return paired(re, im, most)
}

// paired brings shifts into pairs, those of the least absolute value; of an odd number of real ones one is
// left out.
func paired(re, im []float64, most int) (x, y []float64) {
	alone := -1
	for i := 0; i < len(re); i++ {
		switch {
		case im[i] != 0 && i+1 < len(re) && im[i+1] == -im[i]:
			x, y = append(x, re[i], re[i+1]), append(y, im[i], im[i+1])
			i++
		case im[i] != 0: // its conjugate is beyond the window
		case alone < 0:
			alone = i
		default:
			x, y = append(x, re[alone], re[i]), append(y, 0, 0)
			alone = -1
		}
	}
	if alone >= 0 {
		x, y = append(x, re[alone], re[alone]), append(y, 0, 0)
	}
	if n := len(x); n > most { // the last ones are from further down
		x, y = x[n-most:], y[n-most:]
	}
	return x, y
}

// split makes zeros of what is negligible below the diagonal, by LAPACK's two criteria.
func (h *hessenberg) split(top, bottom int) {
	for i := top + 1; i <= bottom; i++ {
		low := h.at(i, i-1)
		above, here := *h.at(i-1, i-1), *h.at(i, i)
		size := math.Abs(above) + math.Abs(here)
		if size == 0 {
			if i-2 >= top {
				size += math.Abs(*h.at(i-1, i-2))
			}
			if i+1 <= bottom {
				size += math.Abs(*h.at(i+1, i))
			}
		}
		if math.Abs(*low) > 2*unit*size {
			continue
		}
		beside := *h.at(i-1, i)
		ab, ba := max(math.Abs(*low), math.Abs(beside)), min(math.Abs(*low), math.Abs(beside))
		aa, bb := max(math.Abs(here), math.Abs(above-here)), min(math.Abs(here), math.Abs(above-here))
		if s := aa + ab; s == 0 || ba*(ab/s) <= max(0x1p-1000, 2*unit*(bb*(aa/s))) {
			*low = 0
		}
	}
}

// chase moves bulges, one for each pair of shifts, from the top of a block to its bottom, through windows in
// which their reflections are collected. The rest of the block is multiplied by those.
func (h *hessenberg) chase(top, bottom int, re, im []float64) {
	const apart = 3 // rows between bulges
	count := len(re) / 2
	at := make([]int, count) // the row above each bulge
	for i := range at {
		at[i] = top - 1
	}
	size := 2*apart*count + 4
	u := make([]float64, size*size)
	for first := 0; first < count; {
		from := max(top, at[count-1])
		if at[count-1] < top {
			from = top
		}
		to := min(from+size, bottom+1) // of the window
		n := to - from
		clear(u)
		for i := range n {
			u[i*size+i] = 1
		}
		for b := first; b < count; b++ {
			limit := to - 4 - apart*(b-first) // bulges end beside each other
			if to == bottom+1 {
				limit = bottom - 2
			}
			for ; at[b] <= limit && at[b] <= bottom-2; at[b]++ {
				h.step(at[b], top, bottom, from, to, re[2*b:2*b+2], im[2*b:2*b+2], u, size)
			}
			if at[b] > bottom-2 {
				first = b + 1
			}
		}
		if right := bottom + 1 - to; right > 0 {
			h.multiply(true, n, right, u, size, h.a[from*h.ld+to:])
		}
		if above := from - top; above > 0 {
			h.multiply(false, above, n, u, size, h.a[top*h.ld+from:])
		}
	}
}

// multiply makes c [m n] of it u·c, or c·uᵀ.
func (h *hessenberg) multiply(left bool, m, n int, u []float64, ldu int, c []float64) {
	old := make([]float64, m*n)
	for i := range m {
		copy(old[i*n:(i+1)*n], c[i*h.ld:])
	}
	if left {
		h.gemm(false, false, m, n, m, u, ldu, old, n, 0, c, h.ld)
	} else {
		h.gemm(false, true, m, n, n, old, n, u, ldu, 0, c, h.ld)
	}
}

// step moves a bulge from below row k of a block to below the next row, within rows and columns from … to,
// and turns the rows of u.
func (h *hessenberg) step(k, top, bottom, from, to int, re, im, u []float64, ldu int) {
	rows := min(3, bottom-k)
	var v [3]float64
	if k < top {
		implementation.Dlaqr1(rows, h.a[top*h.ld+top:], h.ld, re[0], im[0], re[1], im[1], v[:rows])
	} else {
		for i := range rows {
			v[i] = *h.at(k+1+i, k)
		}
	}
	beta, tau := implementation.Dlarfg(rows, v[0], v[1:rows], 1)
	if k >= top {
		*h.at(k+1, k) = beta
		for i := 1; i < rows; i++ {
			*h.at(k+1+i, k) = 0
		}
	}
	if tau == 0 {
		return
	}
	v[0] = 1
	reflectRows(tau, v[:rows], h.a[(k+1)*h.ld+k+1:], h.ld, to-k-1)
	reflectRows(tau, v[:rows], u[(k+1-from)*ldu:], ldu, to-from)
	t1, t2, t3 := tau, tau*v[1], tau*v[2]
	for r := from; r <= min(k+4, bottom); r++ {
		row := h.a[r*h.ld+k+1:][:rows]
		if rows == 2 {
			s := row[0] + v[1]*row[1]
			row[0] -= s * t1
			row[1] -= s * t2
			continue
		}
		s := row[0] + v[1]*row[1] + v[2]*row[2]
		row[0] -= s * t1
		row[1] -= s * t2
		row[2] -= s * t3
	}
}

// reflectRows reflects two or three rows of n columns.
func reflectRows(tau float64, v, a []float64, lda, n int) {
	x, y := a[:n], a[lda:][:n]
	if len(v) == 2 {
		for j, p := range x {
			s := tau * (p + v[1]*y[j])
			x[j] -= s
			y[j] -= s * v[1]
		}
		return
	}
	z := a[2*lda:][:n]
	v1, v2 := v[1], v[2]
	y = y[:len(x)]
	z = z[:len(x)]
	for j, p := range x {
		s := tau * (p + v1*y[j] + v2*z[j])
		x[j] = p - s
		y[j] -= s * v1
		z[j] -= s * v2
	}
}
