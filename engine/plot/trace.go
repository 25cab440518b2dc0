package plot

import (
	"image"
	"math"
	"slices"
)

// maxDiscs is how many points of a series are drawn one by one; more are drawn as their density.
const maxDiscs = 5000

// A trace is a series as shapes. A series of a million points has no more shapes than the figure can show:
// nothing that would be seen is left out.
type trace struct {
	colour ink
	dash   []float64
	lines  [][]point
	errors [][]point // bars of errors
	rects  []box
	fills  [][]point // pale areas
	discs  []point
	radii  []float64 // of the discs; nil: all are discRadius
	inks   []ink     // likewise; nil: all have the series' colour
	cloud  *cloud    // where there are too many points to draw each
	area   box
}

func (f *figure) trace(k int) trace {
	t := trace{colour: f.ink(k), dash: f.dashes(k), area: f.area}
	s := &f.Series[k]
	if f.Kind == KindBox {
		f.box(&t, s)
	}
	if f.isBars(s) {
		f.bars(&t, k)
	}
	if f.isLine(s) {
		f.lines(&t, s)
	}
	if f.isPoints(s) {
		f.points(&t, s)
	}
	if s.low != nil && s.band {
		f.band(&t, s)
	} else if s.low != nil {
		f.errorBars(&t, k)
	}
	return t
}

// band makes the area between the ends of a series; it is interrupted where the line is.
func (f *figure) band(t *trace, s *Series) {
	var upper, lower []point
	flush := func() {
		if len(upper) > 1 {
			slices.Reverse(lower)
			t.fills = append(t.fills, append(upper, lower...))
		}
		upper, lower = nil, nil
	}
	for i := range s.len() {
		if x := s.x(i); !f.drawable(s, x, s.low[i]) || !f.drawable(s, x, s.high[i]) {
			flush()
			continue
		}
		upper = append(upper, f.placeOn(f.of(s), s.x(i), s.high[i]))
		lower = append(lower, f.placeOn(f.of(s), s.x(i), s.low[i]))
	}
	flush()
}

// errorBars makes a bar with caps for each point. On a logarithmic axis one that ends at 0 or below goes to
// the foot.
func (f *figure) errorBars(t *trace, k int) {
	const cap = 3.0
	s := &f.Series[k]
	for i := range s.len() {
		if !f.drawable(s, s.x(i), s.Y[i]) || !finite(s.low[i]) || !finite(s.high[i]) {
			continue
		}
		a, x := f.of(s), s.x(i)
		if f.isBars(s) {
			from, to := f.barSpan(k, x)
			x = (from + to) / 2
		}
		foot := s.low[i]
		if a.log && foot <= 0 {
			foot = a.low
		}
		low, high := f.placeOn(a, x, foot), f.placeOn(a, x, s.high[i])
		t.errors = append(t.errors, []point{low, high}, []point{{low.x - cap, low.y}, {low.x + cap, low.y}}, []point{{high.x - cap, high.y}, {high.x + cap, high.y}})
	}
}

// lines joins points. Those that follow each other within half a unit of x become four: the first, the
// lowest, the highest and the last, which look the same.
func (f *figure) lines(t *trace, s *Series) {
	var run, near []point
	low, high := 0, 0
	bin := math.Inf(1)
	settle := func() {
		if len(near) == 0 {
			return
		}
		last := len(near) - 1
		kept := -1
		for _, i := range []int{0, min(low, high), max(low, high), last} {
			if i > kept {
				run, kept = append(run, near[i]), i
			}
		}
		near, low, high = near[:0], 0, 0
	}
	flush := func() {
		settle()
		if len(run) == 1 { // a point with no neighbours
			t.discs = append(t.discs, run[0])
		} else {
			t.lines = append(t.lines, f.within(run)...)
		}
		run = nil
	}
	for i := range s.len() {
		if !f.drawable(s, s.x(i), s.Y[i]) {
			flush()
			continue
		}
		p := f.placeOn(f.of(s), s.x(i), s.Y[i])
		if b := math.Floor(2 * p.x); b != bin {
			settle()
			bin = b
		}
		if near = append(near, p); p.y < near[high].y {
			high = len(near) - 1
		}
		if p.y > near[low].y {
			low = len(near) - 1
		}
	}
	flush()
}

// within cuts a line off where it leaves the area of the axes: with limits it could be of any length.
func (f *figure) within(line []point) (parts [][]point) {
	inside := box{f.area.x0 - 10, f.area.y0 - 10, f.area.x1 + 10, f.area.y1 + 10}
	var part []point
	for i := 1; i < len(line); i++ {
		a, b, ok := inside.cut(line[i-1], line[i])
		if !ok {
			continue
		}
		if len(part) == 0 || part[len(part)-1] != a {
			if len(part) > 1 {
				parts = append(parts, part)
			}
			part = []point{a}
		}
		part = append(part, b)
	}
	if len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// cut is the part of a segment within the box (Liang and Barsky's algorithm).
func (b box) cut(p, q point) (from, to point, ok bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := q.x-p.x, q.y-p.y
	for _, side := range [4][2]float64{{-dx, p.x - b.x0}, {dx, b.x1 - p.x}, {-dy, p.y - b.y0}, {dy, b.y1 - p.y}} {
		switch t := side[1] / side[0]; {
		case side[0] == 0 && side[1] < 0:
			return p, q, false
		case side[0] < 0:
			t0 = math.Max(t0, t)
		case side[0] > 0:
			t1 = math.Min(t1, t)
		}
	}
	if !(t0 <= t1) {
		return p, q, false
	}
	return b.nearest(point{p.x + t0*dx, p.y + t0*dy}), b.nearest(point{q.x - (1-t1)*dx, q.y - (1-t1)*dy}), true
}

// nearest is the point of the box that is nearest to p: numbers far outside are not exact.
func (b box) nearest(p point) point {
	return point{math.Min(math.Max(p.x, b.x0), b.x1), math.Min(math.Max(p.y, b.y0), b.y1)}
}

// bars makes columns. Those that are thinner than a unit become columns of a unit, from the lowest to the
// highest of them.
func (f *figure) bars(t *trace, k int) {
	b, s := f.data(), &f.Series[k]
	a, foot := f.of(s), b.y1
	if !a.log {
		foot = b.y1 - math.Min(math.Max(a.at(0), 0), 1)*b.height()
	}
	for i := range s.len() {
		x, y := s.x(i), s.Y[i]
		if !f.drawable(s, x, y) {
			continue
		}
		from, to := f.barSpan(k, x)
		r := box{b.x0 + f.x.at(from)*b.width(), foot, b.x0 + f.x.at(to)*b.width(), foot}
		r.x0, r.x1 = math.Max(r.x0, f.area.x0), math.Min(r.x1, f.area.x1)
		top := math.Min(math.Max(f.placeOn(a, x, y).y, f.area.y0), f.area.y1)
		r.y0, r.y1 = math.Min(top, foot), math.Max(top, foot)
		if r.x0 > r.x1 {
			continue
		}
		if r.width() < 1 {
			r.x0, r.x1 = math.Floor(r.x0), math.Floor(r.x0)+1
			if n := len(t.rects); n > 0 && t.rects[n-1].x0 == r.x0 {
				last := &t.rects[n-1]
				last.y0, last.y1 = math.Min(last.y0, r.y0), math.Max(last.y1, r.y1)
				continue
			}
		}
		if r.width() > 2 { // neighbours stay apart
			r.x0, r.x1 = r.x0+0.25, r.x1-0.25
		}
		t.rects = append(t.rects, r)
	}
}

// points makes discs, or the density of very many that look alike.
func (f *figure) points(t *trace, s *Series) {
	radii := s.radii()
	var colours ramp
	var scale axis
	if s.colours != nil {
		colours, scale, _ = f.pointColours()
	}
	for i := range s.len() {
		at, ok := f.visible(s, i)
		if !ok {
			continue
		}
		if radii != nil {
			t.radii = append(t.radii, radii[i])
		}
		if s.colours != nil {
			t.inks = append(t.inks, inkText)
			if v := s.colours[i]; finite(v) {
				t.inks[len(t.inks)-1] = inkOf(colours(clamped(scale.at(v))))
			}
		}
		if t.cloud == nil && len(t.discs) == maxDiscs && radii == nil && s.colours == nil {
			t.cloud = &cloud{x: int(math.Floor(f.area.x0)), y: int(math.Floor(f.area.y0)), width: int(f.area.width()) + 2, height: int(f.area.height()) + 2}
			t.cloud.counts = make([]int, t.cloud.width*t.cloud.height)
			for _, p := range t.discs {
				t.cloud.add(p)
			}
			t.discs = nil
		}
		if t.cloud != nil {
			t.cloud.add(at)
		} else {
			t.discs = append(t.discs, at)
		}
	}
}

func (t *trace) draw(to pen) {
	for _, outline := range t.fills {
		to.fill(outline, t.colour, 0.2)
	}
	for _, line := range t.lines {
		to.line(line, t.colour, lineWidth, t.dash)
	}
	for _, r := range t.rects {
		to.rect(r, t.colour)
	}
	for i, p := range t.discs {
		radius, colour := discRadius, t.colour
		if t.radii != nil {
			radius = t.radii[i]
		}
		if t.inks != nil {
			colour = t.inks[i]
		}
		to.disc(p, radius, colour, 0.7)
	}
	for _, line := range t.errors {
		colour := t.colour
		if t.rects != nil {
			colour = inkText
		}
		to.line(line, colour, 1.2, nil)
	}
	if t.cloud != nil {
		to.cloud(t.area, t.colour, t.cloud.mask())
	}
}

// A cloud counts points in squares of a unit.
type cloud struct {
	x, y          int // of the first square
	width, height int
	counts        []int
}

func (c *cloud) add(p point) {
	x, y := min(max(int(p.x)-c.x, 0), c.width-1), min(max(int(p.y)-c.y, 0), c.height-1)
	c.counts[y*c.width+x]++
}

// mask has a pixel for each square: the more points, the less transparent.
func (c *cloud) mask() *image.Alpha {
	most := max(1, slices.Max(c.counts))
	mask := image.NewAlpha(image.Rect(0, 0, c.width, c.height))
	for i, n := range c.counts {
		if n > 0 {
			mask.Pix[i] = uint8(90 + 165*math.Log(float64(n))/math.Max(math.Log(float64(most)), 1))
		}
	}
	return mask
}

// within says whether a box has points.
func (c *cloud) within(b box) bool {
	for y := max(int(b.y0)-c.y, 0); y < min(int(b.y1)-c.y+1, c.height); y++ {
		for x := max(int(b.x0)-c.x, 0); x < min(int(b.x1)-c.x+1, c.width); x++ {
			if c.counts[y*c.width+x] > 0 {
				return true
			}
		}
	}
	return false
}
