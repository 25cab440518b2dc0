package plot

import (
	"cmp"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/internal/lines"
)

// Text draws the plot with braille dots in a width of so many columns (0: 80), without colours.
func (p *Plot) Text(width int) string { return p.Draw(width, nil) }

// String is Text in 80 columns: what a program prints.
func (p *Plot) String() string { return p.Text(80) }

// Draw is Text with each series painted: paint gets the number of the series, from 0, and a piece of its line
// or its name. Axes and labels are series -1. A nil paint paints nothing.
func (p *Plot) Draw(width int, paint func(series int, text string) string) string {
	width = lines.Columns(width)
	if paint == nil {
		paint = func(_ int, text string) string { return text }
	}
	switch p.Kind {
	case KindGrid:
		bare := func(q *Plot, width int) string { return q.Text(width) }
		return p.drawGrid(width, func(q *Plot, width int) string { return q.Draw(width, paint) }, bare)
	case KindHeat:
		return p.drawHeat(width, paint)
	case KindImage:
		text := p.grey().drawHeat(width, paint)
		if end := strings.LastIndexByte(text, '\n'); end >= 0 {
			text = text[:end] // the scale: everybody knows what brightness is
		}
		return text
	}
	a, ok := p.bounds()
	if !ok {
		return strings.TrimSpace(p.Title + " (no finite points to draw)")
	}
	f := p.frame(width, &a, paint)
	c := &canvas{columns: f.columns, rows: f.rows, dots: make([]uint8, f.columns*f.rows), series: make([]int, f.columns*f.rows)}
	for k := range p.Series {
		p.trace(c, k, &a)
	}
	return f.assemble(p, c, a.x, paint)
}

// A frame is the text around the canvas.
type frame struct {
	columns, rows int
	labels        []string // of the rows, all of the same width
	right         []string // of the axis at the right
	names         []named  // of the rows: which series ends there
	title         string
}

type named struct {
	series int
	text   string
}

// frame divides the width between the labels of the y axis, the canvas and the names of the series.
func (p *Plot) frame(width int, a *axes, paint func(int, string) string) *frame {
	height := p.Height
	if height <= 0 {
		height = min(max(width/5, 8), 16)
	}
	f := &frame{rows: max(height-3, 2)}
	labels, labelWidth := f.rowLabels(a.y[0])
	for _, l := range labels {
		f.labels = append(f.labels, strings.Repeat(" ", labelWidth-len(l))+l)
	}
	f.names = make([]named, f.rows)
	nameWidth := 0
	if p.twin != nil {
		f.right, nameWidth = f.rowLabels(a.y[1])
		nameWidth += 2
	} else if p.Kind == KindLines && len(p.Series) > 1 {
		nameWidth = f.placeNames(p, a.y[0], width/4)
	}
	f.columns = max(width-labelWidth-3-nameWidth, 8)
	f.title = p.Title
	if f.title == "" {
		f.title = p.YLabel
	} else if p.YLabel != "" && p.YLabel != p.Title {
		f.title = p.YLabel + ": " + p.Title
	}
	if p.Kind == KindBox {
		return f
	}
	if p.twin != nil && p.twin.YLabel != "" {
		f.title = strings.TrimSpace(f.title + " │ " + p.twin.YLabel)
	}
	if len(p.Series) > 1 && (p.Kind != KindLines || p.twin != nil) || p.Title == "" && len(p.Series) == 1 {
		f.title = strings.TrimSpace(f.title + " " + p.seriesNames(paint))
	}
	return f
}

// seriesNames lists the names; where there are several, each is painted as its series.
func (p *Plot) seriesNames(paint func(int, string) string) string {
	var list []string
	for k, s := range p.Series {
		switch {
		case s.Name == "" || s.Name == p.YLabel:
		case len(p.Series) > 1:
			list = append(list, paint(int(p.ink(k)), s.Name))
		default:
			list = append(list, s.Name)
		}
	}
	return strings.Join(list, ", ")
}

// rowLabels are the labels of an axis by row, and their width.
func (f *frame) rowLabels(y axis) (labels []string, width int) {
	labels = make([]string, f.rows)
	for _, t := range y.ticks(max(2, f.rows/3)) {
		labels[f.row(y.at(t.value))] = t.label
		width = max(width, len(t.label))
	}
	return labels, width
}

// row is the canvas row (0 on top) of a place 0…1 on the y axis.
func (f *frame) row(at float64) int {
	dots := float64(4*f.rows - 1)
	return (int(dots) - int(math.Round(at*dots))) / 4
}

// placeNames writes the name of each series beside its end, or on the nearest free row, and returns the width
// they need.
func (f *frame) placeNames(p *Plot, y axis, limit int) int {
	widest := 0
	for k := range p.Series {
		s := &p.Series[k]
		_, v, ok := p.last(s)
		if !ok || s.Name == "" {
			continue
		}
		want := f.row(clamped(y.at(v)))
		for d := range f.rows {
			row := -1
			for _, r := range []int{want + d, want - d} {
				if r >= 0 && r < f.rows && f.names[r].text == "" {
					row = r
					break
				}
			}
			if row >= 0 {
				name := runewidth.Truncate(s.Name, limit, "…")
				f.names[row] = named{int(p.ink(k)), name}
				widest = max(widest, runewidth.StringWidth(name)+1)
				break
			}
		}
	}
	return widest
}

// assemble joins labels, canvas and names into lines.
func (f *frame) assemble(p *Plot, c *canvas, x axis, paint func(int, string) string) string {
	margin := strings.Repeat(" ", len(f.labels[0])+1)
	var lines []string
	if f.title != "" {
		lines = append(lines, margin+" "+f.title)
	}
	for r := range f.rows {
		edge := " │"
		if strings.TrimSpace(f.labels[r]) != "" {
			edge = " ┤"
		}
		line := paint(-1, f.labels[r]+edge)
		body := c.line(r, false, paint)
		if n := f.names[r]; n.text != "" {
			body = c.line(r, true, paint) + " " + paint(n.series, n.text)
		}
		if f.right != nil {
			edge := "│ "
			if f.right[r] != "" {
				edge = "├ "
			}
			body = c.line(r, true, paint) + paint(-1, strings.TrimRight(edge+f.right[r], " "))
		}
		lines = append(lines, line+body)
	}
	rule, labels := xRule(x, f.columns, p.XLabel)
	lines = append(lines, paint(-1, margin+"└"+rule), paint(-1, margin+" "+labels))
	return strings.Join(lines, "\n")
}

// shortestName is how many columns a name keeps: where names have less room some are left out.
const shortestName = 6

// xRule draws the x axis with its ticks, and the labels below; the axis's name stands at its right end.
func xRule(x axis, columns int, name string) (rule, labels string) {
	line, text, last := []rune(strings.Repeat("─", columns)), []rune(strings.Repeat(" ", columns)), byColumns(name)
	nameAt := columns - len(last)
	free, room := 0, columns
	if x.names != nil { // a name has the room up to its neighbours
		room = max(int((x.at(1)-x.at(0))*float64(columns-1))-1, shortestName)
	}
	for _, t := range x.ticks(max(2, columns/14)) {
		at := int(math.Round(x.at(t.value) * float64(columns-1)))
		label := byColumns(runewidth.Truncate(t.label, min(room, columns), "…"))
		from := min(max(at-len(label)/2, 0), columns-len(label))
		end := from + len(label)
		if from < free || from < 0 {
			continue
		}
		if name != "" && end+1 > nameAt {
			break
		}
		line[at] = '┬'
		copy(text[from:], label)
		free = end + 1
	}
	if nameAt >= free {
		copy(text[nameAt:], last)
	}
	return string(line), strings.TrimRight(strings.ReplaceAll(string(text), "\x00", ""), " ")
}

// byColumns has as many runes as a text has columns: 0 stands behind one that takes two.
func byColumns(s string) (list []rune) {
	for _, r := range s {
		if list = append(list, r); runewidth.RuneWidth(r) == 2 {
			list = append(list, 0)
		}
	}
	return list
}

// trace draws the k-th series.
func (p *Plot) trace(c *canvas, k int, a *axes) {
	s, x, ink := &p.Series[k], a.x, int(p.ink(k))
	y, joined := a.of(s), false
	if p.Kind == KindBox {
		if values := p.positive(s.Y); len(values) > 0 {
			c.box(ink, x.at(s.X[0]), 0.3/max(1, x.high-x.low), y, boxOf(values))
		}
		return
	}
	var before point
	for i := range s.len() {
		vx, vy := s.x(i), s.Y[i]
		if !p.drawable(s, vx, vy) {
			joined = false
			continue
		}
		at := point{x.at(vx), y.at(vy)}
		if s.low != nil {
			p.dotted(c, s, i, ink, x, y)
		}
		switch inside := unit.has(at); {
		case p.isBars(s):
			from, to := p.barSpan(k, vx)
			c.bar(ink, clamped(x.at(from)), clamped(x.at(to)), y, vy)
		case p.isLine(s) && joined:
			if a, b, ok := unit.cut(before, at); ok {
				x0, y0 := c.place(a.x, a.y)
				x1, y1 := c.place(b.x, b.y)
				c.segment(ink, x0, y0, x1, y1)
			}
		case inside:
			dx, dy := c.place(at.x, at.y)
			c.dot(ink, dx, dy)
			if (p.isPoints(s) || s.Marks) && s.len() < 200 { // a few single dots are easily overlooked
				c.dot(ink, dx^1, dy)
				c.dot(ink, dx, dy^1)
				c.dot(ink, dx^1, dy^1)
			}
		}
		before, joined = at, true
	}
}

// dotted draws the error bar of a point, or the edges of its band up to the next one.
func (p *Plot) dotted(c *canvas, s *Series, i, ink int, x, y axis) {
	at := func(i int, v float64) (int, int) {
		if y.log && v <= 0 {
			v = y.low
		}
		return c.place(clamped(x.at(s.x(i))), clamped(y.at(v)))
	}
	if !finite(s.low[i]) || !finite(s.high[i]) || !unit.has(point{x.at(s.x(i)), 0}) {
		return
	}
	if !s.band {
		x0, y0 := at(i, s.low[i])
		x1, y1 := at(i, s.high[i])
		c.segment(ink, x0, y0, x1, y1)
		return
	}
	if i+1 == s.len() || !finite(s.low[i+1]) || !finite(s.high[i+1]) {
		return
	}
	for _, ends := range [][]float64{s.low, s.high} {
		x0, y0 := at(i, ends[i])
		x1, y1 := at(i+1, ends[i+1])
		for dx := x0; dx <= x1; dx++ {
			if dx%3 == 0 {
				c.dot(ink, dx, y0+(y1-y0)*(dx-x0)/max(x1-x0, 1))
			}
		}
	}
}

// unit is the room between the ends of both axes, with slack for rounding.
var unit = box{-1e-9, -1e-9, 1 + 1e-9, 1 + 1e-9}

func (b box) has(p point) bool { return p.x >= b.x0 && p.x <= b.x1 && p.y >= b.y0 && p.y <= b.y1 }

func clamped(at float64) float64 { return min(max(at, 0), 1) }

// A canvas is cells of 2×4 braille dots; (0, 0) is the dot in the lower left corner.
type canvas struct {
	columns, rows int
	dots          []uint8
	series        []int // which series drew in the cell last
}

// place turns coordinates 0…1 into dots.
func (c *canvas) place(x, y float64) (int, int) {
	return int(math.Round(x * float64(2*c.columns-1))), int(math.Round(y * float64(4*c.rows-1)))
}

// brailleBit is the bit of the dot in column x and row y (0 at the bottom) of a cell: Unicode numbers the
// upper six dots by columns and added the lowest two later.
var brailleBit = [2][4]uint8{{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}}

func (c *canvas) dot(series, x, y int) {
	if x < 0 || y < 0 || x >= 2*c.columns || y >= 4*c.rows {
		return
	}
	cell := (c.rows-1-y/4)*c.columns + x/2
	c.dots[cell] |= brailleBit[x%2][y%4]
	c.series[cell] = series
}

// segment joins two dots (Bresenham's algorithm).
func (c *canvas) segment(series, x0, y0, x1, y1 int) {
	dx, dy := max(x1-x0, x0-x1), min(y1-y0, y0-y1)
	sx, sy := cmp.Compare(x1, x0), cmp.Compare(y1, y0)
	for e := dx + dy; ; {
		c.dot(series, x0, y0)
		if x0 == x1 && y0 == y1 {
			return
		}
		twice := 2 * e
		if twice >= dy {
			e += dy
			x0 += sx
		}
		if twice <= dx {
			e += dx
			y0 += sy
		}
	}
}

// bar fills the dots between two places of the x axis, from zero (the foot of a logarithmic axis) to v.
func (c *canvas) bar(series int, from, to float64, y axis, v float64) {
	foot := 0.0
	if !y.log {
		foot = min(max(y.at(0), 0), 1)
	} else if v == y.low {
		foot = y.at(v)
	}
	x0, y0 := c.place(from, foot)
	x1, y1 := c.place(to, clamped(y.at(v)))
	if y0 == y1 && v == 0 {
		return
	}
	for x := x0; x < max(x1, x0+1); x++ {
		c.segment(series, x, y0, x, y1)
	}
}

// line is a row, runs of cells of the same series painted together; with all of its columns, or without
// blanks at its end.
func (c *canvas) line(row int, padded bool, paint func(int, string) string) string {
	end := c.columns
	for end > 0 && !padded && c.dots[row*c.columns+end-1] == 0 {
		end--
	}
	var b strings.Builder
	for i := 0; i < end; {
		cell := row*c.columns + i
		var run strings.Builder
		j := i
		for ; j < end; j++ {
			next := row*c.columns + j
			if (c.dots[next] == 0) != (c.dots[cell] == 0) || c.dots[next] != 0 && c.series[next] != c.series[cell] {
				break
			}
			if c.dots[next] == 0 {
				run.WriteByte(' ')
			} else {
				run.WriteRune(rune(0x2800) + rune(c.dots[next]))
			}
		}
		if c.dots[cell] == 0 {
			b.WriteString(run.String())
		} else {
			b.WriteString(paint(c.series[cell], run.String()))
		}
		i = j
	}
	return b.String()
}
