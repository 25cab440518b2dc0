package linalg

import (
	"errors"
	"math"
)

var errUnconverged = errors.New("got a matrix for which the iteration does not converge")

const unit = 0x1p-53 // of rounding

// A secular equation is 1/rho + Σ z²/(pole − x) = 0, whose roots lie between the poles, one above the last:
// what is left of a symmetric matrix, or of a bidiagonal one, when the two halves of it are known.
type secular struct {
	d, z    []float64 // of the poles, in rising order; no z is 0, no two d are equal
	rho     float64
	squared bool // the poles are d², as those of a bidiagonal matrix, not d
}

// gap is pole j − pole i, which rounds once or twice.
func (s *secular) gap(j, i int) float64 {
	x := s.d[j] - s.d[i]
	if s.squared {
		x *= s.d[j] + s.d[i]
	}
	return x
}

// solve finds root i as the distance from the pole that is nearest to it, and all far[j] = pole j − root with
// a small relative error (Li 1993; LAPACK's dlaed4).
func (s *secular) solve(i int, far []float64) (origin int, x float64, err error) {
	k := len(s.d)
	from := func(o int) {
		origin = o
		for j := range far {
			far[j] = s.gap(j, o)
		}
	}
	from(i)
	lo, hi := 0., 0.
	if i < k-1 {
		hi = far[i+1]
	} else {
		for _, z := range s.z {
			hi += z * z
		}
		hi *= s.rho * (1 + 8*unit)
	}
	x = hi / 2
	if i < k-1 {
		if hi = x; s.sums(i, far, x).f < 0 {
			from(i + 1)
			lo, hi = far[i]/2, 0
			x = lo
		}
	}
	for range 400 {
		v := s.sums(i, far, x)
		if math.Abs(v.f) <= v.error {
			break
		}
		if v.f < 0 {
			lo = x
		} else {
			hi = x
		}
		next := x + s.step(i, far, x, v)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if next == x || next == lo || next == hi {
			break
		}
		x = next
	}
	if x-x != 0 {
		return 0, 0, errUnconverged
	}
	for j := range far {
		far[j] -= x
	}
	return origin, x, nil
}

// values are f at a point, the derivatives of its terms up to pole i and of those beyond, and what rounding
// can make of f.
type values struct{ f, below, above, error float64 }

func (s *secular) sums(i int, far []float64, x float64) (v values) {
	below, above, size := 0., 0., 0.
	for j, z := range s.z[:i+1] {
		q := z / (far[j] - x)
		below += z * q
		v.below += q * q
		size += math.Abs(below)
	}
	for j := len(s.z) - 1; j > i; j-- {
		q := s.z[j] / (far[j] - x)
		above += s.z[j] * q
		v.above += q * q
		size += math.Abs(above)
	}
	v.f = 1/s.rho + below + above
	v.error = unit * (2/s.rho + 8*(math.Abs(below)+math.Abs(above)) + size + math.Abs(x)*(v.below+v.above))
	return v
}

// step is the way to the root of an interpolation that has the poles beside it.
func (s *secular) step(i int, far []float64, x float64, v values) float64 {
	slope := v.below + v.above
	p, q := i, i+1
	if q == len(s.d) {
		if p, q = i-1, i; p < 0 {
			return -v.f / slope
		}
		last := s.z[q] / (far[q] - x)
		v.above = last * last
		v.below -= v.above
	}
	dp, dq := far[p]-x, far[q]-x
	a, b, c := (dp+dq)*v.f-dp*dq*slope, dp*dq*v.f, v.f-dp*v.below-dq*v.above
	root := math.Sqrt(math.Abs(a*a - 4*b*c))
	var eta float64
	if i == len(s.d)-1 {
		if c = math.Abs(c); a >= 0 {
			eta = (a + root) / (2 * c)
		} else {
			eta = 2 * b / (a - root)
		}
	} else if a <= 0 {
		eta = (a - root) / (2 * c)
	} else {
		eta = 2 * b / (a + root)
	}
	if !(v.f*eta < 0) {
		eta = -v.f / slope
	}
	return eta
}

// solveAll returns the roots as values of d, and far [k k]: the poles less each root. It changes z to that of
// which these are the exact roots, so vectors made of them are orthogonal (Gu and Eisenstat 1994).
func (s *secular) solveAll(t threads) (roots, far []float64, err error) {
	k := len(s.d)
	roots, far = make([]float64, k), make([]float64, k*k)
	failed := make([]error, k)
	t.apart(k, 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			origin, x, err := s.solve(i, far[i*k:(i+1)*k])
			o := s.d[origin]
			if sum := o + math.Sqrt(o*o+x); s.squared && sum > 0 {
				x /= sum
			}
			roots[i], failed[i] = o+x, err
		}
	})
	for _, err := range failed {
		if err != nil {
			return nil, nil, err
		}
	}
	t.apart(k, 64, func(lo, hi int) {
		square := make([]float64, k)
		for j := lo; j < hi; j++ {
			square[j] = -far[(k-1)*k+j] / s.rho
		}
		for i := range k - 1 {
			row := far[i*k:]
			for j := lo; j < hi; j++ {
				if j <= i {
					square[j] *= -row[j] / s.gap(i+1, j)
				} else {
					square[j] *= -row[j] / s.gap(i, j)
				}
			}
		}
		for j := lo; j < hi; j++ {
			s.z[j] = math.Copysign(math.Sqrt(math.Abs(square[j])), s.z[j])
		}
	})
	return roots, far, nil
}
