package plot

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// A look is how a plot is drawn in pixels; its zero value is the usual one.
type look struct {
	width, height int // in units; 0: 640×360
	scale         float64
	theme         string
	legend        string
	ramp          string
	x, y          limits
}

// limits are the ends of an axis that the person has chosen.
type limits struct {
	set       bool
	low, high float64
}

// Size sets the size of the pictures in units, which are pixels at scale 1; without it they have 640×360.
// Less than 80×60, or more than 10,000, panics with an [*Error].
func (p *Plot) Size(width, height int) *Plot {
	if width < 80 || height < 60 || width > 10000 || height > 10000 {
		fail("Size", "got %d×%d, want 80×60 to 10000×10000", width, height)
	}
	p.look.width, p.look.height = width, height
	return p
}

// Scale sets how many pixels of a PNG a unit has: 2 draws the same figure in twice as many pixels each way.
// A scale that is not in 0.25…8 panics with an [*Error].
func (p *Plot) Scale(pixels float64) *Plot {
	if !(pixels >= 0.25 && pixels <= 8) {
		fail("Scale", "got %v, want 0.25 to 8", pixels)
	}
	p.look.scale = pixels
	return p
}

// Theme chooses the ground: "light" or "dark". Without it a PNG is light, and an SVG follows the reader's
// preference. Another text panics with an [*Error].
func (p *Plot) Theme(name string) *Plot {
	p.look.theme = choice("Theme", name, slices.Sorted(maps.Keys(themes)))
	return p
}

// places are where the legend may stand, in the order in which they are tried.
var places = []string{"top right", "top left", "bottom right", "bottom left", "right", "left", "top", "bottom"}

// Legend places the legend: "top right", "top left", "bottom right", "bottom left", "right", "left", "top",
// "bottom", "outside" or "none". Without it the legend stands where it hides no data. Another text panics
// with an [*Error].
func (p *Plot) Legend(place string) *Plot {
	p.look.legend = choice("Legend", place, append(slices.Clone(places), "outside", "none"))
	return p
}

// Map chooses the colours of a heat map: "viridis" from dark to light, "grey", or "diverging", whose middle
// is
// 0. Without it numbers of both signs get "diverging" and others "viridis". Another text panics with an
// [*Error].
func (p *Plot) Map(name string) *Plot {
	p.look.ramp = choice("Map", name, slices.Sorted(maps.Keys(ramps)))
	return p
}

// XLim sets the ends of the x axis; what lies outside is cut off. Of a heat map it is not looked at. Ends
// that are not finite, or not in ascending order, panic with an [*Error].
func (p *Plot) XLim(low, high float64) *Plot {
	p.look.x = newLimits("XLim", low, high)
	return p
}

// YLim sets the ends of the y axis, as [Plot.XLim] does; of a heat map, the numbers of the first and the last
// colour.
func (p *Plot) YLim(low, high float64) *Plot {
	p.look.y = newLimits("YLim", low, high)
	return p
}

func newLimits(op string, low, high float64) limits {
	if !finite(low) || !finite(high) || low >= high {
		fail(op, "got %v to %v, want finite numbers in ascending order", low, high)
	}
	return limits{true, low, high}
}

func choice(op, got string, of []string) string {
	if !slices.Contains(of, got) {
		fail(op, "got %q, want %s", got, strings.Join(of, ", "))
	}
	return got
}

// apply puts limits in the place of an axis's ends. Ends that a logarithmic axis does not have are left.
func (l limits) apply(a *axis) {
	if !l.set || a.log && l.high <= 0 {
		return
	}
	if !a.log || l.low > 0 {
		a.low = l.low
	} else {
		a.low = math.Min(a.low, l.high/10)
	}
	a.high = l.high
}

func (l limits) contain(v float64) bool { return !l.set || v >= l.low && v <= l.high }
