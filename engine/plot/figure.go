package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Distances of the layout, in units.
const (
	edge       = 12.0 // around everything
	gap        = 8.0  // between an axis and its labels
	rowHeight  = 16.0
	lineWidth  = 1.8
	markRadius = 4.0
)

// A figure is a drawing in progress: the place that the axes leave is decided once, for all pens.
type figure struct {
	*Plot
	pen           pen
	width, height float64
	area          box // between the axes
	axes
	inset box  // how far within the area the ends of the axes are, so that data do not touch its edges
	down  bool // y grows downwards, as rows do
}

// figure draws the plot in so many units.
func (p *Plot) figure(to pen, width, height float64) {
	drawn := *p // the layout may add a note to a label
	f := &figure{Plot: &drawn, pen: to, width: width, height: height}
	f.area = box{edge, edge, width - edge, height - edge}
	if p.Kind == KindGrid {
		f.grid()
	}
	if p.Title != "" {
		to.text(point{width / 2, edge + 9}, cutText(p.Title, width-2*edge), 0.5, inkText, false)
		f.area.y0 += rowHeight + 4
	}
	ok := false
	switch p.Kind {
	case KindGrid:
		ok = true
	case KindHeat:
		ok = f.heat()
	case KindImage:
		ok = f.image()
	default:
		if f.axes, ok = p.bounds(); ok {
			f.series()
		}
	}
	if !ok {
		what := cmp.Or(map[Kind]string{KindHeat: "cells", KindImage: "pixels"}[p.Kind], "points")
		to.text(point{width / 2, height / 2}, cutText("no finite "+what+" to draw", width-2*edge), 0.5, inkText, false)
	}
}

// room is the space between data and the ends of an axis whose limits nobody has chosen.
const room = 6.0

// series draws axes, data and legend.
func (f *figure) series() {
	whole := f.area
	if !f.look.x.set {
		f.inset.x0, f.inset.x1 = room, room
	}
	if !f.look.y.set {
		f.inset.y0, f.inset.y1 = room, room
	}
	for k := range f.Series {
		if f.Series[k].sizes != nil {
			f.inset = box{maxRadius, maxRadius, maxRadius, maxRadius}
		}
		if y := f.of(&f.Series[k]); f.isBars(&f.Series[k]) && (y.log || y.low >= 0) {
			f.inset.y1 = 0 // columns stand on the axis
		}
	}
	whole = f.scale(whole)
	f.reserve(whole)
	ways := make([]trace, len(f.Series))
	for k := range ways {
		ways[k] = f.trace(k)
	}
	l := f.legend(ways)
	if l.outside {
		whole.x1 -= l.box.width() + gap
		f.reserve(whole)
		l.box = box{whole.x1 + gap, f.area.y0, whole.x1 + gap + l.box.width(), f.area.y0 + l.box.height()}
		for k := range ways {
			ways[k] = f.trace(k)
		}
	}
	f.drawAxes()
	f.pen.clip(box{f.area.x0 - 1, f.area.y0 - 1, f.area.x1 + 1, f.area.y1 + 1})
	for k := range ways {
		ways[k].draw(f.pen)
	}
	f.pen.unclip()
	f.marks()
	l.draw(f.pen)
}

// scale draws the bar of the colours of points at the right of a box, if they have some, and returns the
// rest.
func (f *figure) scale(whole box) box {
	colours, a, ok := f.pointColours()
	if !ok {
		return whole
	}
	f.area = whole
	bar, values := f.barAt(a)
	bar.y1 = bar.y1 - rowHeight - 2
	if f.XLabel != "" {
		bar.y1 -= rowHeight + 2
	}
	f.colourBar(bar, colours, a, values)
	whole.x1 = bar.x0 - 2*gap
	return whole
}

// reserve makes room for the labels of the axes within a box.
func (f *figure) reserve(whole box) {
	f.area = whole
	f.area.y1 -= rowHeight + 2
	if f.XLabel != "" {
		f.area.y1 -= rowHeight + 2
	}
	f.area.x0 += widest(f.yTicks()) + gap
	if f.YLabel != "" {
		f.area.x0 += rowHeight + 2
	}
	if f.twin != nil {
		f.area.x1 -= f.rightWidth()
	}
	if ticks := f.xTicks(); len(ticks) > 0 { // the last label is centred, and may be at the end
		last := ticks[len(ticks)-1]
		f.area.x1 -= math.Max(0, f.place(last.value, f.y[0].low).x+textWidth(last.label)/2-whole.x1)
	}
}

// rowTicks is how many ticks an axis of the height of the figure has at most. A step is rounded up to a round
// one, so there may be half as many; below three they may stand closer.
func (f *figure) rowTicks(a axis) int {
	n := max(2, int(f.area.height()/34))
	for most := int(f.area.height() / 24); n < most && len(a.ticks(n)) < 3; {
		n++
	}
	return n
}

// yTicks are at a distance that is easily read; in a low figure, so many that their labels do not touch.
func (f *figure) yTicks() []tick { return f.ticksOf(f.y[0]) }

func (f *figure) ticksOf(a axis) []tick {
	return apart(a, f.rowTicks(a), func(t tick) (from, to float64) {
		at := f.placeOn(a, f.x.low, t.value).y
		return at - fontSize/2, at + fontSize/2
	})
}

// rightWidth is the room of the labels of the axis at the right.
func (f *figure) rightWidth() float64 {
	width := widest(f.ticksOf(f.y[1]))
	if f.twin.YLabel != "" {
		width += rowHeight + 2
	}
	return width + gap
}

// widest is the width of the widest label.
func widest(ticks []tick) (width float64) {
	for _, t := range ticks {
		width = math.Max(width, textWidth(t.label))
	}
	return width
}

// xTicks are so many that their labels do not touch.
func (f *figure) xTicks() []tick {
	return apart(f.x, max(4, int(f.area.width()/80)), func(t tick) (from, to float64) {
		at, half := f.place(t.value, f.y[0].low).x, textWidth(t.label)/2
		return at - half - gap/2, at + half + gap/2
	})
}

// apart are at most about n ticks whose labels, which extend as span says, do not touch.
func apart(a axis, n int, span func(tick) (from, to float64)) []tick {
	for ; ; n-- {
		ticks := a.ticks(n)
		fits := true
		for i := 1; i < len(ticks); i++ {
			from, to := span(ticks[i-1])
			next, end := span(ticks[i])
			fits = fits && (to <= next || end <= from)
		}
		switch {
		case fits:
			return ticks
		case n <= 1:
			return ticks[:1]
		}
	}
}

// place is where a point of the data is drawn, by the axis at the left.
func (f *figure) place(x, y float64) point { return f.placeOn(f.y[0], x, y) }

func (f *figure) placeOn(a axis, x, y float64) point {
	b := f.data()
	if f.down {
		return point{b.x0 + f.x.at(x)*b.width(), b.y0 + a.at(y)*b.height()}
	}
	return point{b.x0 + f.x.at(x)*b.width(), b.y1 - a.at(y)*b.height()}
}

// data is the box between the ends of the axes.
func (f *figure) data() box {
	return box{f.area.x0 + f.inset.x0, f.area.y0 + f.inset.y0, f.area.x1 - f.inset.x1, f.area.y1 - f.inset.y1}
}

// drawAxes draws ticks and axes, and writes their names at the edges.
func (f *figure) drawAxes() {
	for _, t := range f.yTicks() {
		at := f.place(f.x.low, t.value).y
		f.pen.line([]point{{f.area.x0, at}, {f.area.x1, at}}, inkGrid, 1, nil)
		f.pen.text(point{f.area.x0 - gap, at + 4}, t.label, 1, inkText, false)
	}
	for _, t := range f.xTicks() {
		at := f.place(t.value, f.y[0].low).x
		if f.x.names == nil {
			f.pen.line([]point{{at, f.area.y0}, {at, f.area.y1}}, inkGrid, 1, nil)
		}
		f.pen.text(point{at, f.area.y1 + rowHeight + 2}, t.label, 0.5, inkText, false)
	}
	f.pen.line([]point{{f.area.x0, f.area.y1}, {f.area.x1, f.area.y1}}, inkText, 1, nil)
	f.pen.line([]point{{f.area.x0, f.area.y0}, {f.area.x0, f.area.y1}}, inkText, 1, nil)
	if f.twin != nil {
		for _, t := range f.ticksOf(f.y[1]) {
			at := f.placeOn(f.y[1], f.x.low, t.value).y
			f.pen.line([]point{{f.area.x1, at}, {f.area.x1 + 3, at}}, inkText, 1, nil)
			f.pen.text(point{f.area.x1 + gap, at + 4}, t.label, 0, inkText, false)
		}
		f.pen.line([]point{{f.area.x1, f.area.y0}, {f.area.x1, f.area.y1}}, inkText, 1, nil)
		if f.twin.YLabel != "" {
			f.pen.text(point{f.area.x1 + f.rightWidth(), (f.area.y0 + f.area.y1) / 2}, cutText(f.twin.YLabel, f.area.height()), 0.5, inkText, true)
		}
	}
	if f.XLabel != "" {
		f.pen.text(point{(f.area.x0 + f.area.x1) / 2, f.height - edge}, cutText(f.XLabel, f.area.width()), 0.5, inkText, false)
	}
	if f.YLabel != "" {
		f.pen.text(point{edge + 8, (f.area.y0 + f.area.y1) / 2}, cutText(f.YLabel, f.area.height()), 0.5, inkText, true)
	}
}

// marks draws points with their names, above lines.
func (f *figure) marks() {
	if f.Kind != KindLines {
		return
	}
	for k := range f.Series {
		s := &f.Series[k]
		if !s.Marks {
			continue
		}
		for i := range s.len() {
			if at, ok := f.visible(s, i); ok {
				f.pen.disc(at, markRadius, f.ink(k), 1)
			}
		}
		if i := s.len() - 1; i >= 0 && s.Name != "" {
			if at, ok := f.visible(s, i); ok {
				f.nameMark(at, s.Name)
			}
		}
	}
}

// nameMark writes a name to the right of a mark, or to its left if there is no room.
func (f *figure) nameMark(at point, name string) {
	if at.x+7+textWidth(name) <= f.width-4 || at.x < f.width/2 {
		f.pen.text(point{at.x + 7, at.y + 4}, cutText(name, f.width-4-at.x-7), 0, inkText, false)
	} else {
		f.pen.text(point{at.x - 7, at.y + 4}, cutText(name, at.x-7-4), 1, inkText, false)
	}
}

// visible is the place of the i-th point, if it can be drawn within the axes.
func (f *figure) visible(s *Series, i int) (point, bool) {
	x, y := s.x(i), s.Y[i]
	if !f.drawable(s, x, y) {
		return point{}, false
	}
	at := f.placeOn(f.of(s), x, y)
	const slack = 1e-6
	return at, at.x >= f.area.x0-slack && at.x <= f.area.x1+slack && at.y >= f.area.y0-slack && at.y <= f.area.y1+slack
}

// named says whether any series has a name to explain.
func (p *Plot) named() bool {
	return slices.ContainsFunc(p.Series, func(s Series) bool { return strings.TrimSpace(s.Name) != "" })
}
