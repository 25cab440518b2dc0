// Package plot draws numbers: one model, [Plot], and two drawings of it, braille text for terminals
// ([Plot.Text]) and SVG for other front ends ([Plot.SVG]).
//
// A Plot has data and its description, but no size in pixels. Both drawings choose their ticks from the
// same axes (scale.go), so they show the same figure. Reading order: plot.go, scale.go, text.go, svg.go.
package plot

import (
	"math"
	"sort"
)

// A Kind is a way to draw the points of the series.
type Kind int

const (
	Lines  Kind = iota // points joined in their order
	Points             // a scatter plot
	Bars               // columns from zero up to each point, as wide as the distance of the points: a histogram
	Heat               // Cells as a picture; the series are not looked at
)

// A Series is a list of points. X may be nil: 0, 1, 2, …. Points that are not finite are left out and
// interrupt a line.
type Series struct {
	Name string
	X, Y []float64
	// Marks says that the points are not joined, in a plot of lines, and that the name stands beside the last
	// of them.
	Marks bool
}

// A Plot is data to draw, with its title and axes.
type Plot struct {
	Title, XLabel, YLabel string
	Kind                  Kind
	Series                []Series
	LogX, LogY            bool        // logarithmic axes; points that are not positive are left out
	Cells                 [][]float64 // of a heat map: rows, the first one on top
	Height                int         // of the text drawing in lines, with axes; 0 chooses a height for the width
}

// New makes a line plot of the results of a PlotData method.
func New(title, xlabel, ylabel string, names []string, xs, ys [][]float64) *Plot {
	p := &Plot{Title: title, XLabel: xlabel, YLabel: ylabel}
	for i, y := range ys {
		s := Series{Y: y}
		if i < len(names) {
			s.Name = names[i]
		}
		if i < len(xs) {
			s.X = xs[i]
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// Histogram counts values in bins of equal width; bins = 0 chooses their number (Freedman and Diaconis'
// rule). Values that are not finite are not counted.
func Histogram(title string, values []float64, bins int) *Plot {
	p := &Plot{Title: title, YLabel: "count", Kind: Bars}
	sorted := make([]float64, 0, len(values))
	for _, v := range values {
		if finite(v) {
			sorted = append(sorted, v)
		}
	}
	if len(sorted) == 0 {
		return p
	}
	sort.Float64s(sorted)
	low, high := sorted[0], sorted[len(sorted)-1]
	if low == high {
		low, high = low-0.5, high+0.5
	}
	if bins <= 0 {
		bins = binCount(sorted, high-low)
	}
	width := (high - low) / float64(bins)
	s := Series{X: make([]float64, bins), Y: make([]float64, bins)}
	for i := range s.X {
		s.X[i] = low + (float64(i)+0.5)*width
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

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// x gives the i-th abscissa.
func (s *Series) x(i int) float64 {
	if s.X == nil {
		return float64(i)
	}
	return s.X[i]
}

// len is the number of points that have both coordinates.
func (s *Series) len() int {
	if s.X == nil {
		return len(s.Y)
	}
	return min(len(s.X), len(s.Y))
}

// bounds are the smallest and largest coordinates that can be drawn; ok is false if nothing can.
func (p *Plot) bounds() (x, y axis, ok bool) {
	x, y = axis{log: p.LogX, low: math.Inf(1), high: math.Inf(-1)}, axis{log: p.LogY, low: math.Inf(1), high: math.Inf(-1)}
	for k := range p.Series {
		s := &p.Series[k]
		half := s.barWidth(p.Kind) / 2
		for i := range s.len() {
			if p.drawable(s.x(i), s.Y[i]) {
				x.include(s.x(i) - half)
				x.include(s.x(i) + half)
				y.include(s.Y[i])
				ok = true
			}
		}
	}
	if p.Kind == Bars && ok && !p.LogY {
		y.include(0)
	}
	x.widen()
	y.widen()
	return x, y, ok
}

func (p *Plot) drawable(x, y float64) bool {
	return finite(x) && finite(y) && (!p.LogX || x > 0) && (!p.LogY || y > 0)
}

// barWidth is the distance of a bar plot's points, 0 for other kinds.
func (s *Series) barWidth(kind Kind) float64 {
	switch {
	case kind != Bars:
		return 0
	case s.len() < 2:
		return 1
	}
	return math.Abs(s.x(1) - s.x(0))
}

// last gives the last point that can be drawn: where a line's name is written.
func (p *Plot) last(s *Series) (x, y float64, ok bool) {
	for i := s.len() - 1; i >= 0; i-- {
		if p.drawable(s.x(i), s.Y[i]) {
			return s.x(i), s.Y[i], true
		}
	}
	return 0, 0, false
}
