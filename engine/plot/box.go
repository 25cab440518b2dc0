package plot

import (
	"math"
	"slices"
)

// Box draws how each of some groups of numbers is spread: a box from the first to the third quartile with a
// line at the median, whiskers to the last numbers within 1.5 times the box's height of it, and the others as
// points (Tukey). A group is a tensor of one axis or a slice, or of two axes for a group in each column;
// [Plot.Named] names them. Numbers that are not finite are not counted. Anything else panics with an
// [*Error].
func Box(groups ...any) *Plot {
	if len(groups) == 0 {
		fail("Box", "got no groups")
	}
	p := &Plot{Kind: KindBox}
	for _, g := range groups {
		p.Series = append(p.Series, columns("Box", g).Series...)
	}
	for i := range p.Series {
		s := &p.Series[i]
		s.Y = slices.DeleteFunc(slices.Clone(s.Y), func(v float64) bool { return !finite(v) })
		s.X = slices.Repeat([]float64{float64(i)}, len(s.Y))
	}
	return p
}

// A spread is a group of numbers as a box.
type spread struct {
	low, first, median, third, high float64 // ends of the whiskers, and quartiles
	out                             []float64
}

// boxOf is the box of some numbers, of which there is at least one. Quartiles are interpolated, as NumPy's
// are.
func boxOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	at := func(q float64) float64 {
		x := q * float64(len(sorted)-1)
		i := int(x)
		return sorted[i] + (x-float64(i))*(sorted[min(i+1, len(sorted)-1)]-sorted[i])
	}
	s := spread{first: at(0.25), median: at(0.5), third: at(0.75)}
	s.low, s.high = s.first, s.third
	reach := 1.5 * (s.third - s.first)
	for _, v := range sorted {
		if v < s.first-reach || v > s.third+reach {
			s.out = append(s.out, v)
			continue
		}
		s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
	}
	return s
}

// positive are the numbers that the axis of the boxes can have.
func (p *Plot) positive(values []float64) []float64 {
	if !p.LogY {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return v <= 0 })
}

// box makes the shapes of a group.
func (f *figure) box(t *trace, s *Series) {
	values := f.positive(s.Y)
	if len(values) == 0 {
		return
	}
	b, x := boxOf(values), s.X[0]
	half := math.Min(24, 0.3*f.data().width()/math.Max(1, f.x.high-f.x.low))
	at := func(dx, y float64) point {
		q := f.place(x, y)
		return point{q.x + dx*half, q.y}
	}
	t.lines = append(t.lines,
		[]point{at(-1, b.first), at(1, b.first), at(1, b.third), at(-1, b.third), at(-1, b.first)}, []point{at(-1, b.median), at(1, b.median)},
		[]point{at(0, b.first), at(0, b.low)}, []point{at(0, b.third), at(0, b.high)},
		[]point{at(-0.5, b.low), at(0.5, b.low)}, []point{at(-0.5, b.high), at(0.5, b.high)})
	t.fills = append(t.fills, t.lines[0][:4])
	for _, v := range b.out {
		t.discs = append(t.discs, at(0, v))
	}
}

// box draws a group in dots.
func (c *canvas) box(series int, x, half float64, y axis, b spread) {
	line := func(x0, y0, x1, y1 float64) {
		ax, ay := c.place(clamped(x0), clamped(y.at(y0)))
		bx, by := c.place(clamped(x1), clamped(y.at(y1)))
		c.segment(series, ax, ay, bx, by)
	}
	for _, v := range []float64{b.first, b.median, b.third} {
		line(x-half, v, x+half, v)
	}
	line(x-half, b.first, x-half, b.third)
	line(x+half, b.first, x+half, b.third)
	line(x, b.low, x, b.first)
	line(x, b.third, x, b.high)
	line(x-half/2, b.low, x+half/2, b.low)
	line(x-half/2, b.high, x+half/2, b.high)
	for _, v := range b.out {
		dx, dy := c.place(x, clamped(y.at(v)))
		c.dot(series, dx, dy)
	}
}
