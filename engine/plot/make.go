package plot

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
)

// An Error says that a function got something that it cannot draw. It is the value of a panic, as
// tensor.Error is for tensors.
type Error struct {
	Op  string // the function: "Line"
	Msg string // "got 3 axes, want 1 or 2"
}

func (e *Error) Error() string { return "plot." + e.Op + ": " + e.Msg }

// TensorOp names the function; a session uses it to find the call in the cell.
func (e *Error) TensorOp() string { return e.Op }

func fail(op, format string, args ...any) {
	panic(&Error{op, fmt.Sprintf(format, args...)})
}

// Line draws a line: Line(y) over 0, 1, 2, … or over the numbers of [Plot.Over], Line(x, y) over x. Each is a
// tensor or a slice of numbers, and is computed; of a y [n k], or a slice of slices, each of the k columns is
// a line. Anything else panics with an [*Error].
func Line(xy ...any) *Plot { return overX("Line", xy, func(y any) *Plot { return columns("Line", y) }) }

// overX makes a plot of y, or of x and y.
func overX(op string, xy []any, of func(y any) *Plot) *Plot {
	switch len(xy) {
	case 1:
		return of(xy[0])
	case 2:
		return of(xy[1]).over(op, xy[0])
	}
	fail(op, "got %d values, want y, or x and y", len(xy))
	return nil
}

// Scatter draws the points (x[i], y[i]). Each is a tensor of one axis or a slice of numbers, of the same
// length; otherwise Scatter panics with an [*Error].
func Scatter(x, y any) *Plot {
	p := &Plot{Kind: KindPoints, Series: []Series{{Y: vector("Scatter", "y", y)}}}
	return p.over("Scatter", x)
}

// Bars draws numbers as columns: Bars(heights) at 0, 1, 2, … or at the numbers of [Plot.Over], Bars(x,
// heights) at x, which may be a []string of names. Each is a tensor of one axis or a slice; anything else
// panics with an [*Error].
func Bars(xy ...any) *Plot {
	if len(xy) == 2 {
		if names, ok := xy[0].([]string); ok {
			p := Bars(xy[1])
			if n := len(p.Series[0].Y); n != len(names) {
				fail("Bars", "got %d names and %d heights, want as many of both", len(names), n)
			}
			p.names = names
			return p
		}
	}
	return overX("Bars", xy, func(heights any) *Plot {
		return &Plot{Kind: KindBars, Series: []Series{{Y: vector("Bars", "heights", heights)}}}
	})
}

// Hist counts values, of a tensor of any shape or a slice of numbers, in so many bins of equal width; without
// the number, or with 0, Freedman and Diaconis' rule chooses it. Values that are not finite are not counted.
// Anything else, and a number of bins below 0, panics with an [*Error].
func Hist(values any, count ...int) *Plot {
	if len(count) > 1 {
		fail("Hist", "got %d numbers of bins, want one", len(count))
	}
	bins := 0
	if len(count) == 1 {
		bins = count[0]
	}
	if bins < 0 {
		fail("Hist", "got %d bins, want at least 1, or 0 to choose", bins)
	}
	all, _ := numbers("Hist", "values", values)
	p := &Plot{YLabel: "count", Kind: KindBars}
	sorted := slices.DeleteFunc(slices.Clone(all), func(v float64) bool { return !finite(v) })
	if len(sorted) == 0 {
		return p
	}
	sort.Float64s(sorted)
	// In units of a power of two no span overflows, and none is too small to be divided.
	_, unit := math.Frexp(max(math.Abs(sorted[0]), math.Abs(sorted[len(sorted)-1])))
	for i, v := range sorted {
		sorted[i] = math.Ldexp(v, -unit)
	}
	low, high := sorted[0], sorted[len(sorted)-1]
	if low == high {
		half := max(math.Ldexp(0.5, -unit), 1./1024)
		low, high = low-half, high+half
	}
	if bins == 0 {
		bins = binCount(sorted, high-low)
	}
	width := (high - low) / float64(bins)
	s := Series{X: make([]float64, bins), Y: make([]float64, bins)}
	if bins == 1 {
		s.bar = min(math.Ldexp(width, unit), math.MaxFloat64)
	}
	for i := range s.X {
		center := math.Ldexp(low+(float64(i)+0.5)*width, unit)
		s.X[i] = min(max(center, -math.MaxFloat64), math.MaxFloat64)
	}
	for _, v := range sorted {
		s.Y[min(int((v-low)/width), bins-1)]++
	}
	p.Series = []Series{s}
	return p
}

// binCount is Freedman and Diaconis' 2·IQR/n^(1/3), limited to the bins that a screen can show.
func binCount(sorted []float64, span float64) int {
	n := len(sorted)
	iqr := sorted[n*3/4] - sorted[n/4]
	width := 2 * iqr / math.Cbrt(float64(n))
	if width <= 0 || span/width > 60 {
		return min(60, max(1, n))
	}
	return max(1, int(math.Ceil(span/width)))
}

// Heat draws a tensor [rows columns], or a slice of slices, as a picture in which a greater number has more
// colour; the first row is on top. Anything else panics with an [*Error].
func Heat(cells any) *Plot {
	values, shape := numbers("Heat", "cells", cells)
	if len(shape) != 2 {
		fail("Heat", "got shape %v, want 2 axes: rows and columns", shape)
	}
	p := &Plot{Kind: KindHeat, Cells: make([][]float64, shape[0])}
	for r := range p.Cells {
		p.Cells[r] = values[r*shape[1] : (r+1)*shape[1]]
	}
	return p
}

// Of draws what fits the shape: one axis as a [Line], two as [Heat]. Any other shape panics with an [*Error].
func Of(values any) *Plot {
	switch _, shape := numbers("Of", "values", values); len(shape) {
	case 1:
		return Line(values)
	case 2:
		return Heat(values)
	default:
		fail("Of", "got shape %v, want 1 axis (a line) or 2 (a heat map); plot.Hist takes any shape", shape)
		return nil
	}
}

// Over sets the x of every series: a tensor of one axis or a slice, with a number for each point. Another
// length panics with an [*Error].
func (p *Plot) Over(x any) *Plot { return p.over("Over", x) }

func (p *Plot) over(op string, x any) *Plot {
	xs := vector(op, "x", x)
	for i := range p.Series {
		if n := len(p.Series[i].Y); n != len(xs) {
			fail(op, "got %d x and %d y, want as many of both", len(xs), n)
		}
		p.Series[i].X = xs
	}
	return p
}

// Named sets the names of the series, in their order; they make the legend. More names than series panic with
// an [*Error].
func (p *Plot) Named(names ...string) *Plot {
	if len(names) > len(p.Series) {
		fail("Named", "got %d names for %d series", len(names), len(p.Series))
	}
	for i, name := range names {
		p.Series[i].Name = name
	}
	return p
}

// And adds the series of q. Points on lines stay points, and lines over points or bars stay lines. Boxes,
// heat maps, pictures and grids panic with an [*Error].
func (p *Plot) And(q *Plot) *Plot { return p.add("And", q) }

func (p *Plot) add(op string, q *Plot) *Plot {
	if p.Kind >= KindBox || q.Kind >= KindBox {
		fail(op, "cannot draw %v and %v on the same axes", p.Kind, q.Kind)
	}
	if q.twin != nil {
		if p.twin != nil {
			fail(op, "got a third axis, want one at each side")
		}
		p.twin = q.twin
	}
	added := slices.Clone(q.Series)
	if p.Kind != q.Kind {
		mixed(p.Series, p.Kind)
		mixed(added, q.Kind)
		p.Kind = KindLines
	}
	p.Series = append(p.Series, added...)
	if p.names == nil {
		p.names = q.names
	}
	return p
}

// mixed makes series of a kind stay so in a plot of lines.
func mixed(list []Series, kind Kind) {
	for i := range list {
		list[i].Marks = list[i].Marks || kind == KindPoints
		list[i].Bars = list[i].Bars || kind == KindBars
	}
}

// Titled sets the title.
func (p *Plot) Titled(title string) *Plot {
	p.Title = title
	return p
}

// Labels names the axes.
func (p *Plot) Labels(x, y string) *Plot {
	p.XLabel, p.YLabel = x, y
	return p
}

// Log makes axes logarithmic: "x", "y" or "xy". Points that are not positive are left out there. Another text
// panics with an [*Error].
func (p *Plot) Log(axes string) *Plot {
	switch axes {
	case "x", "y", "xy":
	default:
		fail("Log", "got %q, want \"x\", \"y\" or \"xy\"", axes)
	}
	p.LogX = p.LogX || axes != "y"
	p.LogY = p.LogY || axes != "x"
	return p
}

var kinds = [...]string{"lines", "points", "bars", "boxes", "a heat map", "a picture", "a grid"}

// String names the kind: "lines".
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kinds[k]
}

// columns makes a series of each column.
func columns(op string, y any) *Plot {
	values, shape := numbers(op, "y", y)
	switch len(shape) {
	case 1:
		return &Plot{Series: []Series{{Y: values}}}
	case 2:
	default:
		fail(op, "got shape %v, want 1 axis, or 2 for a line of each column", shape)
	}
	p := &Plot{Series: make([]Series, shape[1])}
	for i, v := range values {
		s := &p.Series[i%shape[1]]
		s.Y = append(s.Y, v)
	}
	return p
}

// vector returns the numbers of one axis; beside it there may be axes of one place, as a column of a table
// has.
func vector(op, name string, v any) []float64 {
	values, shape := numbers(op, name, v)
	long := slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	if len(shape) == 0 || len(long) > 1 {
		fail(op, "got %s of shape %v, want 1 axis", name, shape)
	}
	return values
}

// A Tensor is what package plot needs to know of tensors, which can be plotted and therefore import it.
type Tensor interface {
	Shape() []int
	Float64s() []float64 // in C order
}

// numbers reads a tensor, a slice of numbers, or a slice of such slices of the same length.
func numbers(op, name string, v any) (values []float64, shape []int) {
	if t, ok := v.(Tensor); ok {
		return t.Float64s(), t.Shape()
	}
	r := reflect.ValueOf(v)
	if k := r.Kind(); k != reflect.Slice && k != reflect.Array {
		fail(op, "got %s of type %T, want a tensor or a slice of numbers", name, v)
	}
	shape = []int{r.Len()}
	for i := range r.Len() {
		e := r.Index(i)
		for e.Kind() == reflect.Interface && !e.IsNil() {
			e = e.Elem()
		}
		x, ok := number(e)
		switch {
		case ok:
			values = append(values, x)
		case (e.Kind() == reflect.Slice || e.Kind() == reflect.Array) && (i == 0 || len(shape) > 1):
			row, inner := numbers(op, name, e.Interface())
			if i == 0 {
				shape = append(shape, inner...)
			} else if !slices.Equal(inner, shape[1:]) {
				fail(op, "got rows of %v and %v numbers, want as many in each", shape[1:], inner)
			}
			values = append(values, row...)
			continue
		default:
			fail(op, "got %s of type %T, want a tensor or a slice of numbers", name, v)
		}
		if len(shape) > 1 {
			fail(op, "got %s of numbers and slices, want one of them", name)
		}
	}
	return values, shape
}

// number is a number, of any type.
func number(r reflect.Value) (x float64, ok bool) {
	switch {
	case !r.IsValid():
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	}
	return 0, false
}
