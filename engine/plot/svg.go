package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The SVG's size and margins in its own units.
const (
	svgWidth, svgHeight                = 640, 360
	marginLeft, marginRight            = 64, 16
	marginTop, marginBottom            = 32, 48
	svgFont                            = "font-family=\"system-ui, sans-serif\" font-size=\"12\""
	colourText, colourGrid, colourBack = "#444", "#e4e4e4", "#fff"
)

// palette is Okabe and Ito's: people who are colour-blind can tell its colours apart.
var palette = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// SVG draws the plot as a whole SVG document of 640×360.
func (p *Plot) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" %s fill="%s">`+"\n",
		svgWidth, svgHeight, svgWidth, svgHeight, svgFont, colourText)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="%s"/>`+"\n", colourBack)
	if p.Title != "" {
		svgText(&b, svgWidth/2, 20, "middle", p.Title)
	}
	if p.Kind == KindHeat {
		p.svgHeat(&b)
	} else if x, y, ok := p.bounds(); ok {
		p.svgAxes(&b, x, y)
		for k := range p.Series {
			p.svgSeries(&b, k, x, y)
		}
		p.svgLegend(&b)
	} else {
		svgText(&b, svgWidth/2, svgHeight/2, "middle", "no finite points to draw")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func svgText(b *strings.Builder, x, y float64, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

// svgX and svgY turn places 0…1 of an axis into coordinates of the document.
func svgX(at float64) float64 { return marginLeft + at*(svgWidth-marginLeft-marginRight) }
func svgY(at float64) float64 {
	return svgHeight - marginBottom - at*(svgHeight-marginTop-marginBottom)
}

func (p *Plot) svgAxes(b *strings.Builder, x, y axis) {
	line := `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>` + "\n"
	for _, t := range y.ticks(5) {
		at := svgY(y.at(t.value))
		fmt.Fprintf(b, line, svgX(0), at, svgX(1), at, colourGrid)
		svgText(b, svgX(0)-8, at+4, "end", t.label)
	}
	for _, t := range x.ticks(7) {
		at := svgX(x.at(t.value))
		fmt.Fprintf(b, line, at, svgY(0), at, svgY(1), colourGrid)
		svgText(b, at, svgY(0)+18, "middle", t.label)
	}
	fmt.Fprintf(b, line, svgX(0), svgY(0), svgX(1), svgY(0), colourText)
	fmt.Fprintf(b, line, svgX(0), svgY(0), svgX(0), svgY(1), colourText)
	if p.XLabel != "" {
		svgText(b, svgX(0.5), svgHeight-10, "middle", p.XLabel)
	}
	if p.YLabel != "" {
		fmt.Fprintf(b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
			svgY(0.5), html.EscapeString(p.YLabel))
	}
}

func (p *Plot) svgSeries(b *strings.Builder, k int, x, y axis) {
	s, colour := &p.Series[k], palette[k%len(palette)]
	var run []string
	flush := func() {
		if len(run) == 1 {
			run = append(run, run[0]) // a single point is a line without length; the round cap makes it a dot
		}
		if len(run) > 0 {
			fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/>`+"\n",
				strings.Join(run, " "), colour)
		}
		run = nil
	}
	for i := range s.len() {
		vx, vy := s.x(i), s.Y[i]
		if !p.drawable(vx, vy) {
			flush()
			continue
		}
		px, py := svgX(x.at(vx)), svgY(y.at(vy))
		switch {
		case s.Marks && p.Kind == KindLines:
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", px, py, colour)
			if i == s.len()-1 {
				svgText(b, px+7, py+4, "start", s.Name)
			}
		case p.Kind == KindPoints:
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s" fill-opacity="0.7"/>`+"\n", px, py, colour)
		case p.Kind == KindBars:
			foot := svgY(0)
			if !y.log {
				foot = svgY(math.Min(math.Max(y.at(0), 0), 1))
			}
			from, to := p.barSpan(k, vx)
			left, right := svgX(x.at(from)), svgX(x.at(to))
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="%s" stroke-width="0.5"/>`+"\n",
				left, math.Min(py, foot), right-left, math.Abs(foot-py), colour, colourBack)
		default:
			run = append(run, fmt.Sprintf("%.1f,%.1f", px, py))
		}
	}
	flush()
}

// svgLegend names the series when there is more than one.
func (p *Plot) svgLegend(b *strings.Builder) {
	if len(p.Series) < 2 {
		return
	}
	row, marks := 0, slices.ContainsFunc(p.Series, func(s Series) bool { return s.Marks })
	for k, s := range p.Series {
		if s.Marks && p.Kind == KindLines {
			continue
		}
		y := float64(marginTop + 14 + 16*row)
		if marks {
			y = svgHeight - marginBottom - 10 - float64(16*row) // where a roof leaves room
		}
		row++
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-width="3"/>`+"\n",
			svgWidth-marginRight-24, y-4, svgWidth-marginRight-6, y-4, palette[k%len(palette)])
		svgText(b, svgWidth-marginRight-30, y, "end", s.Name)
	}
}

// svgHeat draws the cells from white to the palette's blue.
func (p *Plot) svgHeat(b *strings.Builder) {
	low, high, ok := p.heatBounds()
	if !ok {
		svgText(b, svgWidth/2, svgHeight/2, "middle", "no finite cells to draw")
		return
	}
	columns := 0
	for _, row := range p.Cells {
		columns = max(columns, len(row))
	}
	size := math.Min(float64(svgWidth-marginLeft-marginRight)/float64(columns), float64(svgHeight-marginTop-marginBottom)/float64(len(p.Cells)))
	for r, row := range p.Cells {
		for c, v := range row {
			if !finite(v) {
				continue
			}
			t := (v - low) / (high - low)
			fmt.Fprintf(b, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="#%02x%02x%02x"/>`+"\n",
				marginLeft+float64(c)*size, marginTop+float64(r)*size, size, size,
				int(255-t*255), int(255-t*(255-0x72)), int(255-t*(255-0xb2)))
		}
	}
	svgText(b, svgWidth/2, svgHeight-14, "middle", fmt.Sprintf("white %s … blue %s", label(low, (high-low)/100), label(high, (high-low)/100)))
}

// HTML is the SVG, which a page can contain unchanged.
func (p *Plot) HTML() string { return p.SVG() }
