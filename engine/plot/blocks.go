package plot

import (
	"image"
	"image/color"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
)

// maxBlocks is how many pixels high a drawing in half blocks is: two for each line of text.
const maxBlocks = 44

// Blocks draws a heat map or a picture in colours, two pixels in each character: half makes a character of an
// upper and a lower one, of which a transparent one has no colour. paint is that of [Plot.Draw]. ok is false
// for other plots, for one without a finite cell, and for a grid that has neither.
func (p *Plot) Blocks(width int, half func(upper, lower color.NRGBA) string, paint func(series int, text string) string) (text string, ok bool) {
	width = lines.Columns(width)
	var pixels *image.NRGBA
	var scale string // below
	switch {
	case p.Kind == KindGrid:
		return p.gridBlocks(width, half, paint)
	case p.Kind == KindImage && p.tile != nil:
		pixels, scale = p.tile.pixels, paint(-1, p.tile.note)
	case p.Kind == KindHeat:
		colours, low, high, finite := p.palette()
		if !finite {
			return "", false
		}
		rows, columns := p.cellCount()
		block := max((columns+width-3)/(width-2), (rows+maxBlocks-1)/maxBlocks, 1)
		pixels = p.pixels(colours, low, high, block)
		step := (high - low) / 100
		from, to, note := label(low, step), label(high, step), meanOf(block)
		scale = paint(-1, from+" ") + gradient(colours, half) + paint(-1, " "+to)
		if len(from)+len(to)+gradientWidth+len(note)+5 <= width && note != "" {
			scale += paint(-1, "  "+note)
		}
	default:
		return "", false
	}
	pixels = inBlocks(pixels, width-2)
	lines := p.heading("")
	size := pixels.Rect.Size()
	for y := 0; y < size.Y; y += 2 {
		var b strings.Builder
		for x := range size.X {
			lower := color.NRGBA{}
			if y+1 < size.Y {
				lower = pixels.NRGBAAt(x, y+1)
			}
			b.WriteString(half(pixels.NRGBAAt(x, y), lower))
		}
		lines = append(lines, " "+b.String())
	}
	if scale != "" {
		lines = append(lines, " "+scale)
	}
	return strings.Join(lines, "\n"), true
}

// gradientWidth is the number of characters of a gradient.
const gradientWidth = 16

// gradient shows the colours from the smallest to the greatest number.
func gradient(colours ramp, half func(upper, lower color.NRGBA) string) string {
	var b strings.Builder
	for i := range gradientWidth {
		c := colours(float64(i) / (gradientWidth - 1))
		b.WriteString(half(c, c))
	}
	return b.String()
}

// inBlocks gives pixels a size that fits a width and maxBlocks, by a whole factor if they become larger.
func inBlocks(pixels *image.NRGBA, width int) *image.NRGBA {
	size := pixels.Rect.Size()
	if size.X <= width && size.Y <= maxBlocks {
		n := max(min(width/size.X, maxBlocks/size.Y, 6), 1)
		return resized(pixels, n*size.X, n*size.Y)
	}
	shrink := max(float64(size.X)/float64(width), float64(size.Y)/maxBlocks)
	return resized(pixels, max(1, int(float64(size.X)/shrink)), max(1, int(float64(size.Y)/shrink)))
}

// grey is a picture as the cells of a heat map: how bright the pixels are, for a terminal without colours.
func (p *Plot) grey() *Plot {
	g := &Plot{Kind: KindHeat, Title: p.Title, YLabel: p.YLabel, look: look{y: limits{true, 0, 1}}}
	if p.tile == nil {
		return g
	}
	pixels := p.tile.pixels
	for y := range pixels.Rect.Dy() {
		row := make([]float64, pixels.Rect.Dx())
		for x := range row {
			c := pixels.NRGBAAt(x, y)
			row[x] = float64(c.A) / 255 * (0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B)) / 255
		}
		g.Cells = append(g.Cells, row)
	}
	return g
}
