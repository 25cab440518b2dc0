package magics

import (
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/plot"
)

// The axis of a sweep's plot has the unit in which the longest time is a number that people read.
func TestSweepAxis(t *testing.T) {
	for _, c := range []struct {
		seconds []float64
		unit    string
		want    []float64
	}{
		{[]float64{2e-5, 8e-5}, "µs", []float64{20, 80}},
		{[]float64{5e-10, 9e-10}, "ns", []float64{0.5, 0.9}},
		{[]float64{1e-4, 0.25}, "ms", []float64{0.1, 250}},
		{[]float64{0.5, 3}, "s", []float64{0.5, 3}},
	} {
		sweep := &bench.Sweep{Parameter: "n"}
		for i, s := range c.seconds {
			sweep.Points = append(sweep.Points, bench.Point{Value: float64(i + 1), Comparison: &bench.Comparison{Lines: []bench.Line{{Name: "a", Result: &bench.Result{Median: s}}}}})
		}
		p := (&measurement{sweep: sweep}).plot().(*plot.Plot)
		near := func(a, b float64) bool { return a > b*(1-1e-9) && a < b*(1+1e-9) }
		if p.YLabel != c.unit || !slices.EqualFunc(p.Series[0].Y, c.want, near) {
			t.Errorf("%v s: got %v %s, want %v %s", c.seconds, p.Series[0].Y, p.YLabel, c.want, c.unit)
		}
	}
}
