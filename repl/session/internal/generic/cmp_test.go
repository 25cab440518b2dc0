package generic

import (
	"cmp"
	"math"
	"testing"

	ourcmp "github.com/mcs-notebook/mcs/repl/session/internal/generic/cmp"
)

func TestCmp(t *testing.T) {
	values := []float64{math.NaN(), math.Inf(-1), -1, 0, 1, math.Inf(1)}
	for _, x := range values {
		for _, y := range values {
			if ourcmp.Compare(x, y) != cmp.Compare(x, y) || ourcmp.Less(x, y) != cmp.Less(x, y) {
				t.Errorf("%v and %v: got %d, %v", x, y, ourcmp.Compare(x, y), ourcmp.Less(x, y))
			}
		}
	}
	if ourcmp.Or("", "a", "b") != "a" || ourcmp.Or(0, 0) != 0 {
		t.Error("Or")
	}
}
