package plot

import (
	"math"
	"slices"
	"strings"
)

// A legend is the names of the series with their colours.
type legend struct {
	rows    []legendRow
	perRow  int // of the rows that stand below each other; more columns follow to the right
	column  float64
	box     box
	outside bool
}

type legendRow struct {
	name   string
	line   bool
	colour ink
	dash   []float64
}

// sample is the width of a line's sample.
const sample = 22.0

// legend finds a place: the one that was asked for, else the first that hides no data, else outside.
func (f *figure) legend(ways []trace) legend {
	var l legend
	if len(f.Series) < 2 || f.Kind == KindBox || !f.named() || f.look.legend == "none" {
		return l
	}
	widest := 0.0
	for k, s := range f.Series {
		if s.Marks && f.Kind == KindLines || s.Name == "" {
			continue // the name stands beside the mark
		}
		r := legendRow{cutMiddle(strings.TrimSpace(s.Name), f.width/5), f.isLine(&f.Series[k]), f.ink(k), f.dashes(k)}
		l.rows, widest = append(l.rows, r), math.Max(widest, textWidth(r.name))
	}
	if len(l.rows) == 0 {
		return l
	}
	l.column = sample + 6 + widest + gap
	l.perRow = min(len(l.rows), max(1, int((f.area.height()-gap)/rowHeight)))
	columns := (len(l.rows) + l.perRow - 1) / l.perRow
	width, height := l.column*float64(columns), rowHeight*float64(l.perRow)+4
	taken := f.taken(ways)
	for _, place := range places {
		b := f.corner(place, width, height)
		if f.look.legend == place || f.look.legend == "" && columns == 1 && !taken(box{b.x0 - 4, b.y0 - 4, b.x1 + 4, b.y1 + 4}) {
			l.box = b
			return l
		}
	}
	l.outside, l.box = true, box{0, 0, width, height}
	return l
}

// corner is where a box of this size stands at a place of [Plot.Legend].
func (f *figure) corner(place string, width, height float64) box {
	x, y := (f.area.x0+f.area.x1-width)/2, (f.area.y0+f.area.y1-height)/2
	if strings.Contains(place, "left") {
		x = f.area.x0 + gap
	}
	if strings.Contains(place, "right") {
		x = f.area.x1 - width - 2
	}
	if strings.Contains(place, "top") {
		y = f.area.y0 + 4
	}
	if strings.Contains(place, "bottom") {
		y = f.area.y1 - height - 6
	}
	return box{x, y, x + width, y + height}
}

// taken returns a function that says whether a box lies on data, or on the name of a mark.
func (f *figure) taken(ways []trace) func(box) bool {
	var marks []box
	for k := range f.Series {
		if s := &f.Series[k]; s.Marks && f.Kind == KindLines {
			for i := range s.len() {
				if p, ok := f.visible(s, i); ok {
					w := textWidth(s.Name)
					marks = append(marks, box{p.x - 8, p.y - 10, p.x + 8 + w, p.y + 10})
				}
			}
		}
	}
	return func(b box) bool {
		return slices.ContainsFunc(marks, b.overlaps) || slices.ContainsFunc(ways, func(t trace) bool { return t.touches(b) })
	}
}

// touches says whether the trace draws within a box.
func (t *trace) touches(b box) bool {
	within := func(p point) bool { return b.overlaps(box{p.x - 1, p.y - 1, p.x + 1, p.y + 1}) }
	for _, line := range slices.Concat(t.lines, t.errors) {
		for i := range line {
			if _, _, ok := b.cut(line[max(i-1, 0)], line[i]); ok {
				return true
			}
		}
	}
	return t.cloud != nil && t.cloud.within(b) || slices.ContainsFunc(t.rects, b.overlaps) || slices.ContainsFunc(t.discs, within)
}

func (l *legend) draw(to pen) {
	for i, r := range l.rows {
		x := l.box.x0 + float64(i/l.perRow)*l.column
		y := l.box.y0 + float64(i%l.perRow)*rowHeight + rowHeight - 3
		if r.line {
			to.line([]point{{x, y - 4}, {x + sample, y - 4}}, r.colour, 2.5, r.dash)
		} else {
			to.rect(box{x + sample - 11, y - 9, x + sample - 1, y + 1}, r.colour)
		}
		to.text(point{x + sample + 6, y}, r.name, 0, inkText, false)
	}
}
