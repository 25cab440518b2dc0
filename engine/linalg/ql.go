package linalg

import (
	"cmp"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A rotation turns two rows of a matrix, i and the one after it.
type rotation struct {
	i    int
	c, s float64
}

// ql makes the eigenvalues of a tridiagonal matrix of its diagonal d, in rising order, and turns the
// rows of vt [n n] into their vectors: EISPACK's tql2, with vectors as rows, which lie together in memory. e
// [n] is the diagonal beside, and is lost. It says whether it converged.
func ql(n int, d, e, vt []float64) bool {
	const eps, most = 0x1p-52, 60 // sweeps for one eigenvalue
	shift, largest := 0., 0.
	var turns []rotation
	e[n-1] = 0
	for l := range n {
		largest = max(largest, math.Abs(d[l])+math.Abs(e[l]))
		m := l
		for m < n-1 && math.Abs(e[m]) > eps*largest {
			m++
		}
		for sweep := 0; m > l; sweep++ {
			if sweep == most {
				return false
			}
			shift += ahead(d, e, l)
			turns = sweepUp(d, e, l, m, turns[:0])
			for _, r := range turns {
				turn(r.c, -r.s, vt[r.i*n:][:n], vt[(r.i+1)*n:][:n])
			}
			if math.Abs(e[l]) <= eps*largest {
				break
			}
		}
		d[l] += shift
		e[l] = 0
	}
	sortRows(n, d, vt)
	return true
}

// ahead takes the implicit shift of eigenvalue l from those that follow, and returns it.
func ahead(d, e []float64, l int) float64 {
	g := d[l]
	p := (d[l+1] - g) / (2 * e[l])
	r := math.Copysign(math.Hypot(p, 1), p)
	d[l], d[l+1] = e[l]/(p+r), e[l]*(p+r)
	h := g - d[l]
	for i := l + 2; i < len(d); i++ {
		d[i] -= h
	}
	return h
}

// sweepUp is one step of the QL algorithm on rows l … m, and appends its rotations.
func sweepUp(d, e []float64, l, m int, turns []rotation) []rotation {
	next, beside := d[l+1], e[l+1]
	p, c, c2, c3, s, s2 := d[m], 1., 1., 1., 0., 0.
	for i := m - 1; i >= l; i-- {
		c3, c2, s2 = c2, c, s
		g, h := c*e[i], c*p
		r := math.Hypot(p, e[i])
		e[i+1] = s * r
		s, c = e[i]/r, p/r
		p = c*d[i] - s*g
		d[i+1] = h + s*(c*g+s*d[i])
		turns = append(turns, rotation{i, c, s})
	}
	p = -s * s2 * c3 * beside * e[l] / next
	e[l], d[l] = s*p, c*p
	return turns
}

// sortRows puts values in rising order, and the rows of vt with them.
func sortRows(n int, d, vt []float64) {
	order := ir.Indices(n)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d[i], d[j]) })
	values, rows := slices.Clone(d), slices.Clone(vt)
	for to, from := range order {
		d[to] = values[from]
		copy(vt[to*n:(to+1)*n], rows[from*n:])
	}
}
