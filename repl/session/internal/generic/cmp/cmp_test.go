package cmp

import (
	"cmp"
	"math"
	"testing"
)

func TestCmp(t *testing.T) {
	values := []float64{math.NaN(), math.Inf(-1), -1, 0, 1, math.Inf(1)}
	for _, x := range values {
		for _, y := range values {
			if Compare(x, y) != cmp.Compare(x, y) || Less(x, y) != cmp.Less(x, y) {
				t.Errorf("%v and %v: got %d, %v", x, y, Compare(x, y), Less(x, y))
			}
		}
	}
	if Or("", "a", "b") != "a" || Or(0, 0) != 0 {
		t.Error("Or")
	}
}
