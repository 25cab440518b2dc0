package diagram

import (
	"fmt"
	"html"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Measures of the drawing, in units of the document.
const (
	charWidth  = 6.6
	lineHeight = 15
	padding    = 10
	gapAcross  = 28
	gapDown    = 56
	marginAll  = 16
	lineGap    = 12 // between lines beside boxes
)

// fills and strokes are those of boxes by tone. Boxes have a light ground of their own and dark text; lines
// and their labels are of a grey that can be read on a dark ground and on a light one.
var (
	fills   = []string{"#e3f0fa", "#fdebdd", "#e2f4ec"}
	strokes = []string{"#0072b2", "#d55e00", "#009e73"}
)

const colourInk, colourLine = "#222222", "#808080"

// A spot is where a box is drawn.
type spot struct {
	x, y, w, h float64
	text       []string
}

// SVG draws the diagram: boxes in rows by the longest way to each, and lines between them.
func (d *Diagram) SVG() string {
	spots, width, height := d.layout()
	level := d.level()
	var b strings.Builder
	lines := 0 // that go past rows of boxes
	past := func(from, to int) (x float64) {
		for i, s := range spots {
			if level[from] < level[i] && level[i] < level[to] {
				x = max(x, s.x+s.w)
			}
		}
		if x > 0 {
			lines++
			x += lineGap * float64(lines)
			width = max(width, x+marginAll)
		}
		return x
	}
	var drawn strings.Builder
	for i, box := range d.Boxes {
		for k, in := range box.In {
			if in.Box >= 0 {
				d.line(&drawn, spots[in.Box], spots[i], k, len(box.In), past(in.Box, i), in.Label)
			}
		}
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">`+"\n",
		width, height, width, height)
	b.WriteString(drawn.String())
	for i, box := range d.Boxes {
		s := spots[i]
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6" fill="%s" stroke="%s"/>`+"\n", s.x, s.y, s.w, s.h, fills[box.Tone], strokes[box.Tone])
		for n, line := range s.text {
			weight := "normal"
			if n == 0 {
				weight = "bold"
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s" font-weight="%s" xml:space="preserve">%s</text>`+"\n",
				s.x+padding, s.y+padding+lineHeight*float64(n)+10, colourInk, weight, html.EscapeString(line))
		}
	}
	if d.Foot != "" {
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", marginAll, height-marginAll, colourLine, html.EscapeString(d.Foot))
	}
	return b.String() + "</svg>\n"
}

// HTML is the SVG, which needs no other file.
func (d *Diagram) HTML() string { return d.SVG() }

// layout places the boxes: a row for each level, its boxes side by side and in the middle.
func (d *Diagram) layout() (spots []spot, width, height float64) {
	spots = make([]spot, len(d.Boxes))
	var rows [][]int
	for i, level := range d.level() {
		for len(rows) <= level {
			rows = append(rows, nil)
		}
		rows[level] = append(rows[level], i)
		spots[i] = d.size(i)
	}
	wide := make([]float64, len(rows))
	for r, row := range rows {
		wide[r] = gapAcross * float64(len(row)-1)
		for _, i := range row {
			wide[r] += spots[i].w
		}
		width = max(width, wide[r])
	}
	width = max(width, charWidth*float64(runewidth.StringWidth(d.Foot)))
	y := float64(marginAll)
	for r, row := range rows {
		x, high := marginAll+(width-wide[r])/2, 0.0
		for _, i := range row {
			spots[i].x, spots[i].y = x, y
			x += spots[i].w + gapAcross
			high = max(high, spots[i].h)
		}
		y += high + gapDown
	}
	if len(rows) > 0 {
		y -= gapDown
	}
	if d.Foot != "" {
		y += 2 * lineHeight
	}
	return spots, width + 2*marginAll, y + marginAll
}

// size is how large a box is, and its text.
func (d *Diagram) size(i int) spot {
	box := &d.Boxes[i]
	text := []string{numbered(i, box.Title)}
	if box.Note != "" {
		text = append(text, box.Note)
	}
	for _, line := range box.Lines {
		text = append(text, wrapped(line, 60)...)
	}
	for _, in := range box.In {
		if in.Box < 0 {
			text = append(text, "reads "+in.Label)
		}
	}
	for _, out := range box.Out {
		if out.Kept {
			text = append(text, "result "+out.Label)
		}
	}
	widest := 0
	for _, line := range text {
		widest = max(widest, runewidth.StringWidth(line))
	}
	return spot{w: charWidth*float64(widest) + 2*padding, h: lineHeight*float64(len(text)) + 2*padding - 4, text: text}
}

// line draws value k of n that one box reads of another. If rows of boxes lie between them it goes past these
// at x.
func (d *Diagram) line(b *strings.Builder, from, to spot, k, n int, x float64, label string) {
	x0, y0 := from.x+from.w/2, from.y+from.h
	x1, y1 := to.x+to.w*float64(k+1)/float64(n+1), to.y
	bend := max((y1-y0)/2, gapDown/2)
	path := fmt.Sprintf("C%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0+bend, x1, y1-bend, x1, y1-6)
	if x > 0 {
		path = fmt.Sprintf("C%.1f %.1f %.1f %.1f %.1f %.1f V%.1f C%.1f %.1f %.1f %.1f %.1f %.1f", x0, y0+gapDown/2, x, y0+gapDown/4, x, y0+gapDown,
			y1-gapDown, x, y1-gapDown/4, x1, y1-gapDown/2, x1, y1-6)
	}
	fmt.Fprintf(b, `<path d="M%.1f %.1f %s" fill="none" stroke="%s" stroke-width="1.3"/>`+"\n", x0, y0, path, colourLine)
	fmt.Fprintf(b, `<path d="M%.1f %.1f l-4 -7 h8 z" fill="%s"/>`+"\n", x1, y1, colourLine)
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s" font-size="9">%s</text>`+"\n", x1+6, y1-12-11*float64(k%3), colourLine, html.EscapeString(label))
}
