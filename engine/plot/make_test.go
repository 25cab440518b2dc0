package plot_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What can be plotted: tensors of any type, slices and arrays of any type of numbers, slices of slices.
func TestData(t *testing.T) {
	type volts float32
	for _, c := range []struct {
		name string
		got  *plot.Plot
		want *plot.Plot
	}{
		{"a slice", plot.Line([]float64{1, 2}), &plot.Plot{Series: []plot.Series{{Y: []float64{1, 2}}}}},
		{"an array of a named type", plot.Line([2]volts{1, 2}), &plot.Plot{Series: []plot.Series{{Y: []float64{1, 2}}}}},
		{"any", plot.Line([]any{1, 2.5, uint8(3)}), &plot.Plot{Series: []plot.Series{{Y: []float64{1, 2.5, 3}}}}},
		{"a tensor", plot.Line(tensor.From([]int{1, 2})), &plot.Plot{Series: []plot.Series{{Y: []float64{1, 2}}}}},
		{"columns", plot.Line(tensor.From([]float64{1, 10, 2, 20}, 2, 2)).Named("a", "b"),
			&plot.Plot{Series: []plot.Series{{Name: "a", Y: []float64{1, 2}}, {Name: "b", Y: []float64{10, 20}}}}},
		{"points", plot.Scatter([]int{3, 4}, []int{1, 2}), &plot.Plot{Kind: plot.KindPoints, Series: []plot.Series{{X: []float64{3, 4}, Y: []float64{1, 2}}}}},
		{"bars", plot.Bars([]int{1, 2}).Over([]int{5, 6}), &plot.Plot{Kind: plot.KindBars, Series: []plot.Series{{X: []float64{5, 6}, Y: []float64{1, 2}}}}},
		{"a histogram", plot.Hist(tensor.From([]float64{0, 1, 2, math.Inf(1)}, 2, 2), 2),
			&plot.Plot{YLabel: "count", Kind: plot.KindBars, Series: []plot.Series{{X: []float64{0.5, 1.5}, Y: []float64{1, 2}}}}},
		{"cells", plot.Heat([][]float32{{1, 2}, {3, 4}}), &plot.Plot{Kind: plot.KindHeat, Cells: [][]float64{{1, 2}, {3, 4}}}},
		{"a vector's own", tensor.From([]float64{1, 2}).Plot(), &plot.Plot{Series: []plot.Series{{Y: []float64{1, 2}}}}},
		{"a matrix's own", tensor.From([]float64{1, 2}, 1, 2).Plot(), &plot.Plot{Kind: plot.KindHeat, Cells: [][]float64{{1, 2}}}},
		{"points of columns", plot.Scatter(tensor.From([][]int{{3}, {4}}), tensor.From([][]int{{1}, {2}})), &plot.Plot{Kind: plot.KindPoints, Series: []plot.Series{{X: []float64{3, 4}, Y: []float64{1, 2}}}}},
		{"a line and points", plot.Line([]int{1}).And(plot.Scatter([]int{3}, []int{2})),
			&plot.Plot{Series: []plot.Series{{Y: []float64{1}}, {X: []float64{3}, Y: []float64{2}, Marks: true}}}},
		{"points and a line", plot.Scatter([]int{3}, []int{2}).And(plot.Line([]int{1})),
			&plot.Plot{Series: []plot.Series{{X: []float64{3}, Y: []float64{2}, Marks: true}, {Y: []float64{1}}}}},
		{"text and axes", plot.Line([]int{1}).Titled("run").Labels("step", "loss").Log("x").Log("y"),
			&plot.Plot{Title: "run", XLabel: "step", YLabel: "loss", LogX: true, LogY: true, Series: []plot.Series{{Y: []float64{1}}}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, c.got, c.want)
		}
	}
}

// What cannot be drawn is said, with the shape or the type that was given.
func TestWrongData(t *testing.T) {
	line := plot.Line([]int{1, 2})
	for _, c := range []struct {
		do   func() *plot.Plot
		want string
	}{
		{func() *plot.Plot { return plot.Line(3) }, "plot.Line: got y of type int, want a tensor or a slice of numbers"},
		{func() *plot.Plot { return plot.Line(nil) }, "plot.Line: got y of type <nil>, want a tensor or a slice of numbers"},
		{func() *plot.Plot { return plot.Line([]string{"a"}) }, "plot.Line: got y of type []string, want a tensor or a slice of numbers"},
		{func() *plot.Plot { return plot.Line(tensor.Ones(1, 2, 3)) }, "plot.Line: got shape [1 2 3], want 1 axis, or 2 for a line of each column"},
		{func() *plot.Plot { return plot.Scatter([]int{1}, []int{1, 2}) }, "plot.Scatter: got 1 x and 2 y, want as many of both"},
		{func() *plot.Plot { return plot.Line() }, "plot.Line: got 0 values, want y, or x and y"},
		{func() *plot.Plot { return plot.Line([]int{1}, []int{1, 2}) }, "plot.Line: got 1 x and 2 y, want as many of both"},
		{func() *plot.Plot { return plot.Bars([]int{1}, []int{1}, []int{2}) }, "plot.Bars: got 3 values, want y, or x and y"},
		{func() *plot.Plot { return plot.Hist([]int{1}, 2, 3) }, "plot.Hist: got 2 numbers of bins, want one"},
		{func() *plot.Plot { return line.Over([]int{1}) }, "plot.Over: got 1 x and 2 y, want as many of both"},
		{func() *plot.Plot { return plot.Bars(tensor.Ones(2, 2)) }, "plot.Bars: got heights of shape [2 2], want 1 axis"},
		{func() *plot.Plot { return plot.Hist([]int{1}, -1) }, "plot.Hist: got -1 bins, want at least 1, or 0 to choose"},
		{func() *plot.Plot { return plot.Heat([]int{1}) }, "plot.Heat: got shape [1], want 2 axes: rows and columns"},
		{func() *plot.Plot { return plot.Heat([][]int{{1, 2}, {3}}) }, "plot.Heat: got rows of [2] and [1] numbers, want as many in each"},
		{func() *plot.Plot { return plot.Heat([]any{[]int{1}, 2}) }, "plot.Heat: got cells of numbers and slices, want one of them"},
		{func() *plot.Plot { return line.Named("a", "b") }, "plot.Named: got 2 names for 1 series"},
		{func() *plot.Plot { return line.Log("z") }, `plot.Log: got "z", want "x", "y" or "xy"`},
		{func() *plot.Plot { return line.And(plot.Box([]int{1})) }, "plot.And: cannot draw lines and boxes on the same axes"},
		{func() *plot.Plot { return line.Twin(plot.Heat([][]int{{1}})) }, "plot.Twin: cannot draw lines and a heat map on the same axes"},
		{func() *plot.Plot { return plot.Line([]int{1}).Twin(line).Twin(line) }, "plot.Twin: got a third axis, want one at each side"},
		{func() *plot.Plot { return plot.Box() }, "plot.Box: got no groups"},
		{func() *plot.Plot { return plot.Box("a") }, "plot.Box: got y of type string, want a tensor or a slice of numbers"},
		{func() *plot.Plot { return plot.Bars([]string{"a"}, []int{1, 2}) }, "plot.Bars: got 1 names and 2 heights, want as many of both"},
		{func() *plot.Plot { return plot.Line([]int{1, 2}).Errors([]int{1}) }, "plot.Errors: got 1 values for 2 points, want as many"},
		{func() *plot.Plot { return plot.Line([]int{1}).Errors() }, "plot.Errors: got 0 values, want one, or those below and above"},
		{func() *plot.Plot { return plot.Heat([][]int{{1}}).Band(0, 1) }, "plot.Band: got a heat map, want lines, points or bars"},
		{func() *plot.Plot { return plot.Line([]int{1}).Colours([]int{1}) }, "plot.Colours: got lines, want points"},
		{func() *plot.Plot { return plot.Scatter([]int{1}, []int{1}).Sizes([]int{1, 2}) }, "plot.Sizes: got 2 values for 1 points, want as many"},
		{func() *plot.Plot { return plot.Line([]int{1}).Style("r=") }, `plot.Style: got "r=", want a colour of "brgmyck", "-", "--", ":" or "-.", and "o"`},
		{func() *plot.Plot { return plot.Grid(0, line) }, "plot.Grid: got 0 columns and 1 plots, want at least one of both"},
		{func() *plot.Plot { return plot.Grid(1, plot.Grid(1, plot.Line([]int{1}))) }, "plot.Grid: got a grid in a grid, want plots"},
		{func() *plot.Plot { return line.And(plot.Heat([][]int{{1}})) }, "plot.And: cannot draw lines and a heat map on the same axes"},
		{func() *plot.Plot { return tensor.Ones(2, 2, 2).Plot() }, "plot: got f32[2 2 2], want 1 axis (a line) or 2 (a heat map); plot.Hist takes any shape"},
	} {
		got := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			return c.do().Text(0)
		}()
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// One bin goes from the least value to the greatest, as several do together.
func TestHistOneBin(t *testing.T) {
	for _, values := range [][]float64{{0, 10, 20}, {1, 2, 3}, {-4e9, 8e9}, {1e-6, 3e-6}} {
		axis := func(bins int) []string {
			lines := strings.Split(strings.TrimRight(plot.Hist(values, bins).Text(80), "\n"), "\n")
			return strings.Fields(lines[len(lines)-1])
		}
		if one, two := axis(1), axis(2); !slices.Equal(one, two) {
			t.Errorf("%g: got the ticks %q with one bin and %q with two", values, one, two)
		}
	}
}

// Values of any size fall into bins: a span may overflow, or be too small to be divided.
func TestHistOfExtremes(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	for _, values := range [][]float64{{1e17, 1e17}, {-1e308, 1e308}, {0, tiny}, {-tiny, tiny}, {math.MaxFloat64, math.MaxFloat64}, {1, math.Nextafter(1, 2)}, {0, 0}, {-1e17, -1e17, -1e17}} {
		for _, bins := range []int{0, 1, 7, 60} {
			s := plot.Hist(values, bins).Series[0]
			counted := 0.
			for i, n := range s.Y {
				if counted += n; math.IsNaN(s.X[i]) || math.IsInf(s.X[i], 0) || i > 0 && s.X[i] < s.X[i-1] {
					t.Errorf("%g in %d bins: got the places %g", values, bins, s.X)
				}
			}
			if int(counted) != len(values) || bins > 0 && len(s.Y) != bins {
				t.Errorf("%g in %d bins: got counts %g", values, bins, s.Y)
			}
			plot.Hist(values, bins).Text(80)
			plot.Hist(values, bins).SVG()
		}
	}
	if got := plot.Hist([]float64{1e17, 1e17, 1e17 + 16}, 2).Series[0].Y; got[0] != 2 || got[1] != 1 {
		t.Errorf("got counts %g, want 2 and 1", got)
	}
}
