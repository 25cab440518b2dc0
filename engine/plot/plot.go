// Package plot draws numbers: one model, [Plot], and its drawings, braille text for terminals ([Plot.Text]),
// and one figure as SVG and as PNG ([Plot.SVG], [Plot.PNG], [Plot.Save]).
//
//	plot.Line(loss).Named("train").And(plot.Line(eval).Named("eval")).Log("y")
//
// [Line], [Scatter], [Hist], [Bars], [Box], [Heat], [Image] and [Of] make a Plot of a tensor, or of a slice
// of numbers, and [Grid] one of several. Its methods change it and return it. A cell that ends in a Plot
// shows it.
//
// A Plot has data and its description. All drawings choose their ticks from the same axes (scale.go). The
// layout in pixels (figure.go) draws with a pen, of which there are two kinds, so SVG and PNG cannot differ.
// Reading order: plot.go, make.go, mark.go, box.go, grid.go, look.go, scale.go; text.go, heat.go; pen.go,
// figure.go, trace.go, legend.go, heatfigure.go, image.go, then svg.go and raster.go; colour.go.
package plot

import "math"

// A Kind is a way to draw the points of the series.
type Kind int

const (
	KindLines  Kind = iota // points joined in their order
	KindPoints             // a scatter plot
	KindBars               // columns from zero up to each point, as wide as the distance of the points: a histogram
	KindBox                // the groups of numbers of [Box]
	KindHeat               // Cells as a picture; the series are not looked at
	KindImage              // the pictures of [Image]; neither the series nor the cells are looked at
	KindGrid               // the plots of [Grid]; nothing else is looked at
)

// A Series is a list of points. X may be nil: 0, 1, 2, …. Points that are not finite are left out and
// interrupt a line.
type Series struct {
	Name string
	X, Y []float64
	// Marks says that the points are not joined, in a plot of lines, and that the name stands beside the last
	// of them.
	Marks bool
	Bars  bool // the points are columns, in a plot of lines
	mark

	bar float64 // the width of a histogram's only bar; 0: the distance of points
}

// A Plot is data to draw, with its title and axes.
type Plot struct {
	Title, XLabel, YLabel string
	Kind                  Kind
	Series                []Series
	LogX, LogY            bool        // logarithmic axes; points that are not positive are left out
	Cells                 [][]float64 // of a heat map: rows, the first one on top
	Height                int         // of the text drawing in lines, with axes; 0 chooses a height for the width

	look look
	live *live // of a plot of [Live]
	tile *tile // of KindImage

	parts   []*Plot // of KindGrid
	columns int
	twin    *Plot    // whose axis is at the right
	names   []string // of the places 0, 1, 2, … of the x axis
}

// New makes a plot of the lines (xs[i], ys[i]). Names and xs may be shorter than ys.
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

// An axes is the axes of a plot: y[1] is at the right, and is y[0] where no series belongs to it.
type axes struct {
	x axis
	y [2]axis
}

// of is the axis of a series.
func (a *axes) of(s *Series) axis {
	if s.right {
		return a.y[1]
	}
	return a.y[0]
}

// bounds are the smallest and largest coordinates that can be drawn; ok is false if nothing can.
func (p *Plot) bounds() (a axes, ok bool) {
	none := axis{low: math.Inf(1), high: math.Inf(-1)}
	a = axes{none, [2]axis{none, none}}
	a.x.log, a.y[0].log = p.LogX, p.LogY
	limits := [2]limits{p.look.y}
	if p.twin != nil {
		a.y[1].log, limits[1] = p.twin.LogY, p.twin.look.y
	}
	var drawn [2]bool
	for k := range p.Series {
		s := &p.Series[k]
		half, side := s.barWidth(p)/2, 0
		if s.right {
			side = 1
		}
		for i := range s.len() {
			if !p.drawable(s, s.x(i), s.Y[i]) || !p.look.x.contain(s.x(i)) {
				continue
			}
			a.x.include(s.x(i) - half)
			a.x.include(s.x(i) + half)
			a.y[side].include(s.Y[i])
			if s.low != nil && finite(s.low[i]) && finite(s.high[i]) {
				a.y[side].include(s.low[i])
				a.y[side].include(s.high[i])
			}
			drawn[side] = true
		}
		if p.isBars(s) && drawn[side] && !a.y[side].log {
			a.y[side].include(0)
		}
	}
	if p.Kind == KindBox && drawn[0] {
		a.x.include(-0.5)
		a.x.include(float64(len(p.Series)) - 0.5)
	}
	if a.x.names = p.names; p.Kind == KindBox && p.named() {
		for _, s := range p.Series {
			a.x.names = append(a.x.names, s.Name)
		}
	}
	for side := range a.y {
		if !drawn[side] && drawn[1-side] {
			a.y[side] = a.y[1-side]
			limits[side] = limits[1-side]
		}
	}
	a.x.widen()
	p.look.x.apply(&a.x)
	for side := range a.y {
		a.y[side].widen()
		limits[side].apply(&a.y[side])
	}
	return a, drawn[0] || drawn[1]
}

func (p *Plot) drawable(s *Series, x, y float64) bool {
	logY := p.LogY
	if s.right {
		logY = p.twin.LogY
	}
	return finite(x) && finite(y) && (!p.LogX || x > 0) && (!logY || y > 0)
}

// barWidth is the distance of the points of a series of bars, 0 for others.
func (s *Series) barWidth(p *Plot) float64 {
	switch {
	case !p.isBars(s):
		return 0
	case s.bar > 0:
		return s.bar
	case s.len() < 2:
		return 1
	}
	return math.Abs(s.x(1) - s.x(0))
}

// barSpan is the part of the x axis that a bar of the k-th series covers: at one place, the bars of several
// series stand side by side, with a gap before the next place.
func (p *Plot) barSpan(k int, x float64) (from, to float64) {
	width, n, before := p.Series[k].barWidth(p), 0.0, 0.0
	for i := range p.Series {
		if p.isBars(&p.Series[i]) {
			n++
			if i < k {
				before++
			}
		}
	}
	if n > 1 || p.names != nil {
		width *= 0.8
	}
	from = x - width/2 + width*before/n
	return from, from + width/n
}

// last gives the last point that can be drawn: where a line's name is written.
func (p *Plot) last(s *Series) (x, y float64, ok bool) {
	for i := s.len() - 1; i >= 0; i-- {
		if p.drawable(s, s.x(i), s.Y[i]) {
			return s.x(i), s.Y[i], true
		}
	}
	return 0, 0, false
}
