package plot

import (
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Grid puts plots, also pictures, beside each other in so many columns, row by row. It is a Plot itself, with
// a title and a size. Fewer than one column or plot, and a Grid in a Grid, panic with an [*Error].
func Grid(columns int, plots ...*Plot) *Plot {
	if columns < 1 || len(plots) == 0 {
		fail("Grid", "got %d columns and %d plots, want at least one of both", columns, len(plots))
	}
	for _, q := range plots {
		if q.Kind == KindGrid {
			fail("Grid", "got a grid in a grid, want plots")
		}
	}
	return &Plot{Kind: KindGrid, columns: min(columns, len(plots)), parts: plots}
}

// rows is how many rows a grid has.
func (p *Plot) rows() int { return (len(p.parts) + p.columns - 1) / p.columns }

// size is the size of the plot's pictures in units. Those of a grid have room for each of its plots; a grid
// of pictures alone is smaller.
func (p *Plot) size() (width, height float64) {
	if p.look.width > 0 {
		return float64(p.look.width), float64(p.look.height)
	}
	if p.Kind != KindGrid {
		return 640, 360
	}
	each, share := 320.0, 0.7
	if !slices.ContainsFunc(p.parts, func(q *Plot) bool { return q.Kind != KindImage }) {
		each, share = 160, 1.1
	}
	width = math.Min(math.Max(640, each*float64(p.columns)), 1600)
	return width, float64(p.titleHeight()) + share*width/float64(p.columns)*float64(p.rows())
}

// titleHeight is the room of a grid's title.
func (p *Plot) titleHeight() int {
	if p.Title == "" {
		return 0
	}
	return int(rowHeight) + 4
}

// grid draws the plots of a grid.
func (f *figure) grid() {
	top := float64(f.titleHeight())
	w, h := f.width/float64(f.columns), (f.height-top)/float64(f.rows())
	for i, q := range f.parts {
		q.figure(&moved{f.pen, float64(i%f.columns) * w, top + float64(i/f.columns)*h}, w, h)
	}
}

// A moved pen draws somewhere else.
type moved struct {
	pen
	dx, dy float64
}

func (m *moved) at(p point) point { return point{p.x + m.dx, p.y + m.dy} }
func (m *moved) all(list []point) []point {
	out := make([]point, len(list))
	for i, p := range list {
		out[i] = m.at(p)
	}
	return out
}
func (m *moved) box(b box) box { return box{b.x0 + m.dx, b.y0 + m.dy, b.x1 + m.dx, b.y1 + m.dy} }

func (m *moved) line(points []point, colour ink, width float64, dash []float64) {
	m.pen.line(m.all(points), colour, width, dash)
}
func (m *moved) rect(r box, colour ink) { m.pen.rect(m.box(r), colour) }
func (m *moved) disc(at point, radius float64, colour ink, opacity float64) {
	m.pen.disc(m.at(at), radius, colour, opacity)
}
func (m *moved) fill(outline []point, colour ink, opacity float64) {
	m.pen.fill(m.all(outline), colour, opacity)
}
func (m *moved) text(at point, text string, anchor float64, colour ink, upwards bool) {
	m.pen.text(m.at(at), text, anchor, colour, upwards)
}
func (m *moved) picture(r box, pixels *image.NRGBA) { m.pen.picture(m.box(r), pixels) }
func (m *moved) cloud(area box, colour ink, mask *image.Alpha) {
	m.pen.cloud(m.box(area), colour, mask)
}
func (m *moved) clip(r box) { m.pen.clip(m.box(r)) }

// minColumns is the narrowest text of a plot in a grid; a narrower screen has fewer columns of plots.
const minColumns = 24

// drawGrid puts the texts of plots beside each other. Of a plot, draw makes the text, and bare the same with
// nothing that has no width on a screen.
func (p *Plot) drawGrid(width int, draw, bare func(q *Plot, width int) string) string {
	columns := max(1, min(p.columns, width/minColumns))
	each := (width - 2*(columns-1)) / columns
	var out []string
	if p.Title != "" {
		out = append(out, " "+p.Title)
	}
	for from := 0; from < len(p.parts); from += columns {
		var rows []string
		widths := make([]int, 0, 24)
		for i, q := range p.parts[from:min(from+columns, len(p.parts))] {
			short := *q
			short.Title = runewidth.Truncate(q.Title, each-8, "…") // it stands behind the labels of the y axis
			texts, plain := strings.Split(draw(&short, each), "\n"), strings.Split(bare(&short, each), "\n")
			for len(rows) < len(texts) {
				rows, widths = append(rows, ""), append(widths, 0)
			}
			for r, text := range texts {
				rows[r] += strings.Repeat(" ", max(min(i, 1), i*(each+2)-widths[r])) + text
				widths[r] = max(i*(each+2), widths[r]+min(i, 1)) + runewidth.StringWidth(plain[r])
			}
		}
		if len(out) > 0 {
			out = append(out, "")
		}
		for _, row := range rows {
			out = append(out, strings.TrimRight(row, " "))
		}
	}
	return strings.Join(out, "\n")
}

// gridBlocks is [Plot.Blocks] of a grid, some of whose plots are colours.
func (p *Plot) gridBlocks(width int, half func(upper, lower color.NRGBA) string, paint func(series int, text string) string) (string, bool) {
	any := false
	with := func(half func(upper, lower color.NRGBA) string, paint func(series int, text string) string) func(*Plot, int) string {
		return func(q *Plot, width int) string {
			if text, ok := q.Blocks(width, half, paint); ok {
				any = true
				return text
			}
			return q.Draw(width, paint)
		}
	}
	text := p.drawGrid(width, with(half, paint), with(
		func(_, _ color.NRGBA) string { return "▀" }, func(_ int, text string) string { return text }))
	return text, any
}
