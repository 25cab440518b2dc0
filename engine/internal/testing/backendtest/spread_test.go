package backendtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A small element is held to a few units in its last place, unless cancellation made it small. The test takes
// elements of random graphs that are far below the largest one of their result, and changes them by 1/1000:
// nearly all of these errors are found.
func TestSpreadSeesSmallNumbers(t *testing.T) {
	s := &suite{exact: newReference(t)}
	seen, all := 0, 0
	for seed := range 40 {
		c, name := RandomGraph(20, 8), fmt.Sprintf("graph %d", seed)
		want, err := unfused(func() ([]Values, error) { return Evaluate(s.exact, name, dtype.F32, c) })
		if err != nil {
			t.Fatal(err)
		}
		spreads, err := s.spreads(name, dtype.F32, c, want)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want {
			if err := spreads[i].allows(&want[i]); err != nil {
				t.Errorf("%s: result %d is not what it is: %v", name, i, err)
			}
			for j, x := range v.F {
				if x == 0 || x-x != 0 || math.Abs(x) > 1e-2*v.scale() {
					continue
				}
				wrong := v
				wrong.F = slices.Clone(v.F)
				wrong.F[j] *= 1.001
				all++
				if spreads[i].allows(&wrong) != nil {
					seen++
				}
			}
		}
	}
	if all < 100 || seen < all*9/10 {
		t.Errorf("%d of %d small numbers that are wrong by 1/1000 were seen, want 9 of 10", seen, all)
	}
	t.Logf("%d of %d small numbers that are wrong by 1/1000 were seen", seen, all)
}
