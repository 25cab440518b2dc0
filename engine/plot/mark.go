package plot

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// A mark is what a series has besides its points. Its zero value follows from the kind of the plot and the
// place of the series in it.
type mark struct {
	colour       int // of the theme, from 1; 0: that of the place
	styled       bool
	dash         []float64 // of a styled line
	line, points bool      // of a styled series: its points are joined, and are discs

	low, high []float64 // ends of the error bar or of the band at each point
	band      bool

	colours, sizes []float64 // of each point of a scatter plot
	right          bool      // it belongs to the axis at the right
}

// styleColours are the letters of [Plot.Style] and the colours of a theme that they mean.
var styleColours = map[byte]int{'b': 1, 'r': 2, 'g': 3, 'm': 4, 'y': 5, 'c': 6, 'k': 8}

// styleLines are the lines of [Plot.Style], the longer texts first.
var styleLines = []struct {
	text string
	dash []float64
}{{"--", []float64{6, 3}}, {"-.", []float64{9, 3, 2, 3}}, {"-", nil}, {":", []float64{2, 3}}}

// Style sets how the series look, in matplotlib's letters: a colour of the theme, b (blue), r (red), g
// (green), m (magenta), y (yellow), c (cyan) or k (the strongest); a line, "-", "--", ":" or "-."; and "o"
// for its points. "r--" is a red dashed line, "o-" a line with its points, "go" green points. Another text
// panics with an [*Error].
func (p *Plot) Style(text string) *Plot {
	m := mark{styled: true}
	for rest := text; rest != ""; {
		n := 1
		switch c := styleColours[rest[0]]; {
		case c > 0:
			m.colour = c
		case rest[0] == 'o':
			m.points = true
		default:
			n = 0
			for _, l := range styleLines {
				if strings.HasPrefix(rest, l.text) {
					m.line, m.dash, n = true, l.dash, len(l.text)
					break
				}
			}
			if n == 0 {
				fail("Style", `got %q, want a colour of "brgmyck", "-", "--", ":" or "-.", and "o"`, text)
			}
		}
		rest = rest[n:]
	}
	m.line = m.line || !m.points
	for i := range p.Series {
		s := &p.Series[i].mark
		s.colour, s.styled, s.dash, s.line, s.points = m.colour, true, m.dash, m.line, m.points
	}
	return p
}

// Errors draws error bars: from y-e to y+e at each point, or from y-below to y+above. Each is a number, or a
// tensor of one axis or a slice with a number for each point of the series. Anything else panics with an
// [*Error].
func (p *Plot) Errors(e ...any) *Plot {
	if len(e) != 1 && len(e) != 2 {
		fail("Errors", "got %d values, want one, or those below and above", len(e))
	}
	return p.spread("Errors", false, func(s *Series) (low, high []float64) {
		below, above := s.values("Errors", e[0]), s.values("Errors", e[len(e)-1])
		low, high = make([]float64, len(s.Y)), make([]float64, len(s.Y))
		for i, y := range s.Y {
			low[i], high[i] = y-below[i], y+above[i]
		}
		return low, high
	})
}

// Band fills the room between low and high around each series, such as a mean and its deviation. Each is a
// number, or a tensor of one axis or a slice with a number for each point. Anything else panics with an
// [*Error].
func (p *Plot) Band(low, high any) *Plot {
	return p.spread("Band", true, func(s *Series) (_, _ []float64) { return s.values("Band", low), s.values("Band", high) })
}

func (p *Plot) spread(op string, band bool, of func(s *Series) (low, high []float64)) *Plot {
	if p.Kind >= KindBox {
		fail(op, "got %v, want lines, points or bars", p.Kind)
	}
	for i := range p.Series {
		s := &p.Series[i]
		s.low, s.high = of(s)
		s.band = band
	}
	return p
}

// values are the numbers for each point, of a number, a tensor or a slice.
func (s *Series) values(op string, v any) []float64 {
	if x, ok := number(reflect.ValueOf(v)); ok {
		return slices.Repeat([]float64{x}, len(s.Y))
	}
	list := vector(op, "values", v)
	if len(list) != len(s.Y) {
		fail(op, "got %d values for %d points, want as many", len(list), len(s.Y))
	}
	return list
}

// Colours gives each point of a scatter plot the colour of a number, as cells of a heat map have
// ([Plot.Map]), with a bar of the colours beside it. values is a tensor of one axis or a slice, with a number
// for each point; anything else panics with an [*Error]. Text has no such colours.
func (p *Plot) Colours(values any) *Plot {
	return p.eachPoint("Colours", func(s *Series) { s.colours = s.values("Colours", values) })
}

// Sizes gives the points of a scatter plot areas in proportion to values: a tensor of one axis or a slice,
// with a number for each point, of which negative ones and those that are not finite have no size. Anything
// else panics with an [*Error]. Text has no such sizes.
func (p *Plot) Sizes(values any) *Plot {
	return p.eachPoint("Sizes", func(s *Series) { s.sizes = s.values("Sizes", values) })
}

func (p *Plot) eachPoint(op string, set func(s *Series)) *Plot {
	if p.Kind != KindPoints {
		fail(op, "got %v, want points", p.Kind)
	}
	for i := range p.Series {
		set(&p.Series[i])
	}
	return p
}

// Twin draws the series of q against an axis of their own at the right, which has q's name, limits and
// logarithm. Plots without axes, and a second Twin, panic with an [*Error].
func (p *Plot) Twin(q *Plot) *Plot {
	if p.twin != nil || q.twin != nil {
		fail("Twin", "got a third axis, want one at each side")
	}
	at := len(p.Series)
	p.add("Twin", q)
	for i := range p.Series[at:] {
		p.Series[at+i].right = true
	}
	p.twin = q
	return p
}

// The radius of discs, in units: of those without a size, and of the largest with one.
const (
	discRadius = 2.5
	maxRadius  = 14
)

// pointColours are the colours of points and the axis of their numbers; ok is false if no series has some.
func (p *Plot) pointColours() (colours ramp, a axis, ok bool) {
	heat := &Plot{look: look{ramp: p.look.ramp}}
	for _, s := range p.Series {
		if s.colours != nil {
			heat.Cells = append(heat.Cells, s.colours)
		}
	}
	colours, a.low, a.high, ok = heat.palette()
	return colours, a, ok
}

// radii are the sizes as radii; nil if there are none.
func (s *Series) radii() []float64 {
	top := 0.0
	for _, v := range s.sizes {
		if finite(v) {
			top = math.Max(top, v)
		}
	}
	if top == 0 {
		return nil
	}
	list := make([]float64, len(s.sizes))
	for i, v := range s.sizes {
		if v > 0 && finite(v) {
			list[i] = maxRadius * math.Sqrt(v/top)
		}
	}
	return list
}

// ink is the colour of the k-th series.
func (p *Plot) ink(k int) ink {
	if c := p.Series[k].colour; c > 0 {
		return ink(c - 1)
	}
	return ink(k)
}

// dashes is the pattern of the line of the k-th series, in units: series of the same colour differ in it.
func (p *Plot) dashes(k int) []float64 {
	if s := &p.Series[k]; s.styled {
		return s.dash
	}
	return [][]float64{nil, {6, 3}, {2, 3}, {9, 3, 2, 3}}[k/len(theme{}.series)%4]
}

// isBars, isPoints and isLine say how the k-th series is drawn.
func (p *Plot) isBars(s *Series) bool { return p.Kind == KindBars || s.Bars }

func (p *Plot) isPoints(s *Series) bool {
	return !p.isBars(s) && (p.Kind == KindPoints && !s.styled || s.styled && s.points)
}

func (p *Plot) isLine(s *Series) bool {
	return !p.isBars(s) && !s.Marks && (p.Kind == KindLines && !s.styled || s.styled && s.line)
}
