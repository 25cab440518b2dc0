package linalg

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Symmetric tridiagonal and bidiagonal matrices are divided into halves whose values and vectors are found
// first (Cuppen 1981; Gu and Eisenstat 1995; LAPACK's dstedc and dbdsdc). Vectors are rows, which lie
// together in memory.

// A merge brings the values and the vectors of two halves together. Value j has row j of each matrix of
// vectors.
type merge struct {
	threads
	d, z  []float64
	parts []half // of each value: of which half its vectors are
	x     []vectors
	keep  []int // values that change, in rising order
	stay  []int // those that do not
}

type half int8

const (
	first half = iota
	both
	second
)

// vectors are rows in memory; those of the first half are 0 from column split on, those of the second before
// it.
type vectors struct {
	a         []float64
	ld, n     int
	split     int
	described []float64 // [k k]: the new rows of the old ones that change
}

func (v vectors) row(i int) []float64 { return v.a[i*v.ld:][:v.n] }

// turn rotates rows i and j: c·i + s·j and c·j − s·i.
func turn(c, s float64, x, y []float64) {
	y = y[:len(x)]
	for k, v := range x {
		w := y[k]
		x[k], y[k] = c*v+s*w, c*w-s*v
	}
}

// deflate finds what stays as it is: values whose z is small, and of two that are close one, when their
// vectors are rotated so that its z is 0. close says whether two are, given the rotation.
func (m *merge) deflate(small func(j int) bool, close func(i, j int, c, s float64) bool) {
	order := ir.Indices(len(m.d))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(m.d[i], m.d[j]) })
	before := -1
	for _, j := range order {
		if small(j) {
			m.stay = append(m.stay, j)
			continue
		}
		if before >= 0 {
			size := math.Hypot(m.z[j], m.z[before])
			if c, s := m.z[j]/size, -m.z[before]/size; close(before, j, c, s) {
				m.z[j], m.z[before] = size, 0
				if m.parts[j] != m.parts[before] {
					m.parts[j] = both
				}
				for _, v := range m.x {
					turn(c, s, v.row(before), v.row(j))
				}
				m.stay = append(m.stay, before)
			} else {
				m.keep = append(m.keep, before)
			}
		}
		before = j
	}
	if before >= 0 {
		m.keep = append(m.keep, before)
	}
}

// solve finds the new values and rows, described by describe, which is given the poles less a root, z, and
// the place of each pole in a row of described.
func (m *merge) solve(rho float64, squared bool, describe func(root int, d, far, z []float64, to []int)) error {
	k := len(m.keep)
	s := secular{make([]float64, k), make([]float64, k), rho, squared}
	for i, j := range m.keep {
		s.d[i], s.z[i] = m.d[j], m.z[j]
	}
	roots, far, err := s.solveAll(m.threads)
	if err != nil {
		return err
	}
	sorted := ir.Indices(k) // by halves
	slices.SortStableFunc(sorted, func(i, j int) int { return cmp.Compare(m.parts[m.keep[i]], m.parts[m.keep[j]]) })
	to := make([]int, k)
	rows := make([]int, k)
	count := [3]int{}
	for place, i := range sorted {
		to[i], rows[place] = place, m.keep[i]
		count[m.parts[m.keep[i]]]++
	}
	for i := range m.x {
		m.x[i].described = make([]float64, k*k)
	}
	m.apart(k, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			describe(i, s.d, far[i*k:(i+1)*k], s.z, to)
		}
	})
	m.arrange(roots, rows, count)
	return nil
}

// arrange multiplies the described rows, and puts all values in rising order, with their rows.
func (m *merge) arrange(roots []float64, rows []int, count [3]int) {
	type value struct {
		v   float64
		row int // of those that stay; −1−i of root i
	}
	all := make([]value, 0, len(m.d))
	for i, r := range roots {
		all = append(all, value{r, -1 - i})
	}
	for _, j := range m.stay {
		all = append(all, value{m.d[j], j})
	}
	slices.SortStableFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	for i, v := range all {
		m.d[i] = v.v
	}
	k, ahead := len(roots), count[first]+count[both]
	for _, x := range m.x {
		copies, done := room((2*k + len(m.stay)) * x.n)
		old, made, stay := copies[:k*x.n], copies[k*x.n:2*k*x.n], copies[2*k*x.n:]
		clear(made)
		for i, row := range rows {
			copy(old[i*x.n:], x.row(row))
		}
		m.gemm(false, false, k, x.split, ahead, x.described, k, old, x.n, 0, made, x.n)
		if from := count[first]; from < k {
			m.gemm(false, false, k, x.n-x.split, k-from, x.described[from:], k, old[from*x.n+x.split:], x.n, 0, made[x.split:], x.n)
		}
		at := make(map[int]int, len(m.stay))
		for i, j := range m.stay {
			at[j] = i
			copy(stay[i*x.n:], x.row(j))
		}
		for i, v := range all {
			if v.row < 0 {
				copy(x.row(i), made[(-1-v.row)*x.n:])
			} else {
				copy(x.row(i), stay[at[v.row]*x.n:])
			}
		}
		done()
	}
}

// largest is the largest absolute value: NaN or an infinity if there is one, whose bits are above all others.
func largest(list []float64) float64 {
	var most uint64
	for _, x := range list {
		most = max(most, math.Float64bits(math.Abs(x)))
	}
	return math.Float64frombits(most)
}

const (
	whole          = 32     // rows of a matrix that is not divided
	nothingBeside1 = 1e-100 // the largest element of a matrix is about 1; the square of this is above 0
)

// tridiagonal makes eigenvalues of the diagonal d, in rising order, of a matrix whose diagonal beside is e,
// and their vectors in the rows of vt [n n], which begins as zeros.
func (t threads) tridiagonal(d, e, vt []float64, ld int) error {
	n := len(d)
	if n <= whole {
		v := make([]float64, n*n)
		if !implementation.Dsteqr(lapack.EVTridiag, n, d, slices.Clone(e[:n-1]), v, n, make([]float64, max(1, 2*n-2))) {
			return errUnconverged
		}
		v = transposed(n, n, v)
		for i := range n {
			copy(vt[i*ld:], v[i*n:(i+1)*n])
		}
		return nil
	}
	h := n / 2
	rho := math.Abs(e[h-1])
	sign := math.Copysign(1, e[h-1])
	d[h-1] -= rho
	d[h] -= rho
	if err := t.tridiagonal(d[:h], e[:h-1], vt, ld); err != nil {
		return err
	}
	if err := t.tridiagonal(d[h:], e[h:], vt[h*ld+h:], ld); err != nil {
		return err
	}
	m := &merge{threads: t, d: d, z: make([]float64, n), parts: make([]half, n), x: []vectors{{a: vt, ld: ld, n: n, split: h}}}
	for i := range n { // z has the norm 1
		if m.z[i] = vt[i*ld+h-1] * math.Sqrt2 / 2; i >= h {
			m.z[i], m.parts[i] = sign*vt[i*ld+h]*math.Sqrt2/2, second
		}
	}
	rho *= 2
	tol := 8 * unit * max(largest(d), largest(m.z))
	m.deflate(func(j int) bool { return rho*math.Abs(m.z[j]) <= tol }, func(i, j int, c, s float64) bool {
		if math.Abs((d[j]-d[i])*c*s) > tol {
			return false
		}
		d[i], d[j] = d[i]*c*c+d[j]*s*s, d[i]*s*s+d[j]*c*c
		return true
	})
	return m.solve(rho, false, func(root int, d, far, z []float64, to []int) {
		row, norm := m.x[0].described[root*len(d):][:len(d)], 0.
		for j, x := range far {
			v := z[j] / x
			row[to[j]] = v
			norm += v * v
		}
		norm = math.Sqrt(norm)
		for j := range row {
			row[j] /= norm
		}
	})
}

// bidiagonal makes singular values, in rising order, of the diagonal d of an upper bidiagonal matrix [n w]
// whose diagonal above is e, and their vectors in the rows of ut [n n] and vt [w w], which begin as zeros; w
// is n or n+1, when the last row of vt is what the matrix maps to 0.
func (t threads) bidiagonal(w int, d, e, ut []float64, ldu int, vt []float64, ldv int) error {
	n := len(d)
	if n <= whole {
		return smallBidiagonal(w, d, e, ut, ldu, vt, ldv)
	}
	h := n / 2
	alpha, beta := d[h], e[h]
	if err := t.bidiagonal(h+1, d[:h], e[:h], ut, ldu, vt, ldv); err != nil {
		return err
	}
	at := h + 1
	if err := t.bidiagonal(w-at, d[at:], e[at:], ut[at*ldu+at:], ldu, vt[at*ldv+at:], ldv); err != nil {
		return err
	}
	ut[h*ldu+h] = 1
	m := &merge{threads: t, d: d, z: make([]float64, n), parts: make([]half, n), x: []vectors{{a: ut, ld: ldu, n: n, split: at}, {a: vt, ld: ldv, n: w, split: at}}}
	for i := range n {
		if m.z[i] = alpha * vt[i*ldv+h]; i > h {
			m.z[i], m.parts[i] = beta*vt[i*ldv+at], second
		}
	}
	d[h] = 0
	tol := max(nothingBeside1, 8*unit*max(largest(d), math.Abs(alpha), math.Abs(beta)))
	if w > n { // the halves' vectors for 0 become one that the middle row sees, and one that it does not
		m.parts[h] = both
		other := beta * vt[n*ldv+at]
		if size := math.Hypot(m.z[h], other); size > 0 {
			turn(m.z[h]/size, other/size, vt[h*ldv:][:w], vt[n*ldv:][:w])
			m.z[h] = size
		}
	}
	if math.Abs(m.z[h]) <= tol {
		m.z[h] = math.Copysign(tol, m.z[h])
	}
	z0 := m.z[h]
	// The pole 0 is the first, and no other becomes one with it.
	for i := range d {
		if i != h && math.Abs(m.z[i]) > tol && d[i] <= tol/2 {
			d[i] = tol / 2
		}
	}
	m.z[h] = 0
	d[h] = -1
	m.deflate(func(j int) bool { return j != h && math.Abs(m.z[j]) <= tol }, func(i, j int, c, s float64) bool { return i != h && d[j]-d[i] <= tol })
	m.z[h], d[h] = z0, 0
	return m.solve(1, true, func(root int, d, far, z []float64, to []int) {
		k := len(d)
		u, v := m.x[0].described[root*k:][:k], m.x[1].described[root*k:][:k]
		norms, left := 0., 1.
		for j, x := range far {
			q := z[j] / x
			p := d[j] * q
			if j == 0 {
				p = -1
			} else {
				left += p * p
			}
			u[to[j]], v[to[j]] = p, q
			norms += q * q
		}
		left, norms = math.Sqrt(left), math.Sqrt(norms)
		for j := range u {
			u[j] /= left
			v[j] /= norms
		}
	})
}

// smallBidiagonal is bidiagonal by LAPACK's dbdsqr.
func smallBidiagonal(w int, d, e, ut []float64, ldu int, vt []float64, ldv int) error {
	n := len(d)
	for i := range n {
		ut[i*ldu+i] = 1
	}
	for i := range w {
		vt[i*ldv+i] = 1
	}
	beside := make([]float64, n)
	copy(beside, e[:w-1])
	if w > n { // the last column is turned into those before it, from below
		f := beside[n-1]
		for i := n - 1; i >= 0 && f != 0; i-- {
			c, s, r := implementation.Dlartg(d[i], f)
			if d[i] = r; i > 0 {
				f, beside[i-1] = -s*beside[i-1], c*beside[i-1]
			}
			turn(c, s, vt[i*ldv:][:w], vt[n*ldv:][:w])
		}
	}
	if !implementation.Dbdsqr(blas.Upper, n, w, 0, n, d, beside[:n-1], vt, ldv, nil, 1, ut, ldu, make([]float64, 4*n)) {
		return errUnconverged
	}
	slices.Reverse(d)
	for i := range n / 2 {
		j := n - 1 - i
		swap(ut[i*ldu:][:n], ut[j*ldu:])
		swap(vt[i*ldv:][:w], vt[j*ldv:])
	}
	return nil
}

func swap(x, y []float64) {
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}
