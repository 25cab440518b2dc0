package backendtest

import (
	"fmt"
	"math"
	"slices"
)

// A result may be off by a multiple of the largest error that the disturbed reference made. The multiple is
// large because, by chance, the reference may make a small error or none at an element in all of its runs.
const (
	disturbances = 4
	beyond       = 24
)

// A spread is a result of the reference, with the largest error that the disturbed reference made at each
// element. So each element has its own limit, whatever the size of the others: one of about 1e-9 may be
// off by about 1e-15, unless cancellation made it small.
type spread struct {
	want Values
	off  []float64
}

// add takes the result of one more disturbed run.
func (s *spread) add(v *Values) {
	if s.off == nil {
		s.off = make([]float64, len(s.want.F))
	}
	for i, x := range v.F {
		if d := math.Abs(x - s.want.F[i]); d > s.off[i] || d != d {
			s.off[i] = d
		}
	}
}

// allows holds a result against the reference's. Integers must be equal, and NaN and infinities where they
// should be.
func (s *spread) allows(got *Values) error {
	want := &s.want
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.I, want.I) {
		return got.compare(want, 0, false)
	}
	for i, x := range want.F {
		y := got.F[i]
		if y == x || y != y && x != x {
			continue
		}
		allowed := beyond*s.off[i] + 2*ulp(got.DType)*math.Abs(x) + least(got.DType)
		if !(math.Abs(y-x) <= allowed) || math.IsInf(x, 0) || math.IsInf(y, 0) {
			return fmt.Errorf("element %d of %v%v: got %g, want %g (±%.2g)", i, got.DType, got.Shape, y, x, allowed)
		}
	}
	return nil
}
