package tensor

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// TestWhole: without an axis a function goes along all elements, in C order.
func TestWhole(t *testing.T) {
	x := From([][]float32{{3, -1, 2}, {7, 0, -4}})
	for name, c := range map[string]struct {
		got  Tensor
		want any
	}{
		"sort": {x.Sort(), []float32{-4, -1, 0, 2, 3, 7}}, "cumsum": {x.CumSum(), []float32{3, 2, 4, 11, 11, 7}},
		"argmax": {x.ArgMax(), 3}, "argmin": {x.ArgMin(), 5}, "median": {x.Median(), 1.0}, "quantile": {x.Quantile(1), 7.0},
		"argsort": {x.ArgSort(), []int{5, 1, 4, 2, 0, 3}}, "cumprod": {x.CumProd(), []float32{3, -3, -6, -42, 0, 0}},
		"cummax": {x.CumMax(), []float32{3, 3, 3, 7, 7, 7}}, "cummin": {x.CumMin(), []float32{3, -1, -1, -1, -1, -4}},
		"argmax of a number": {Scalar(2).ArgMax(), 0},
	} {
		if want := From(c.want); !AllClose(c.got, want, 0, 0) {
			t.Errorf("%s: got %v, want %v", name, c.got, want)
		}
	}
	if err := Try(func() { x.Sort(0, 1) }); err == nil || err.Error() != "sort: got the axes [0 1], want one, or none for all elements" {
		t.Errorf("got %v for two axes", err)
	}
}

// TestRandIntWide: beyond 2²⁴ numbers all bits are drawn, within the range.
func TestRandIntWide(t *testing.T) {
	low, high := -1<<40, 1<<61
	x := NewRNG(3).RandInt(low, high, 4000)
	first, last, odd := x.Min().Int(), x.Max().Int(), x.Mod(2).Sum().Int()
	if mean := x.Cast(dtype.F64).Mean().Item() / float64(high); first < low || last >= high || math.Abs(mean-0.5) > 0.03 || odd < 1800 || odd > 2200 {
		t.Errorf("got numbers from %d to %d, %d of them odd, mean %v of the range", first, last, odd, mean)
	}
}
