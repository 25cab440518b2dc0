package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
)

// shades are the five levels of a heat map in text.
var shades = []string{" ", "░", "▒", "▓", "█"}

// drawHeat draws cells as shades, two columns for each so that it looks square; a matrix that is too large is
// averaged over blocks.
func (p *Plot) drawHeat(width int, paint func(int, string) string) string {
	low, high, ok := p.heatBounds()
	if !ok {
		return strings.TrimSpace(p.Title + " (no finite cells to draw)")
	}
	_, columns := p.cellCount()
	block := max(1, (columns+(width-4)/2-1)/((width-4)/2))
	note := ""
	if block > 1 {
		note = fmt.Sprintf("(mean of %d×%d)", block, block)
	}
	lines := p.heading(note)
	wide := (columns + block - 1) / block
	lines = append(lines, paint(-1, "┌"+strings.Repeat("──", wide)+"┐"))
	for r := 0; r < len(p.Cells); r += block {
		var b strings.Builder
		for c := 0; c < columns; c += block {
			text := "··"
			if m, ok := blockMean(p.Cells, r, c, block); ok { // the ends of the range are levels of their own
				level := min(max(int(math.Round((m-low)/(high-low)*float64(len(shades)-1))), 0), len(shades)-1)
				text = strings.Repeat(shades[level], 2)
			}
			b.WriteString(text)
		}
		lines = append(lines, paint(-1, "│")+paint(0, b.String())+paint(-1, "│"))
	}
	lines = append(lines, paint(-1, "└"+strings.Repeat("──", wide)+"┘"))
	step := (high - low) / 4
	scale := make([]string, len(shades))
	for i, s := range shades {
		scale[i] = s + s + " " + label(low+float64(i)*step, step/10)
	}
	return strings.Join(append(lines, " "+strings.Join(scale, "  ")), "\n")
}

// heading is the line above a drawing in text: title, label and a note; none if there is none of them.
func (p *Plot) heading(note string) []string {
	if title := strings.TrimSpace(strings.TrimSpace(p.Title+" "+p.YLabel) + " " + note); title != "" {
		return []string{" " + title}
	}
	return nil
}

// heatBounds are the numbers of the first and the last colour; ok is false if no cell is finite. The middle
// of "diverging" is 0.
func (p *Plot) heatBounds() (low, high float64, ok bool) {
	a := axis{low: math.Inf(1), high: math.Inf(-1)}
	for _, row := range p.Cells {
		for _, v := range row {
			if finite(v) {
				a.include(v)
				ok = true
			}
		}
	}
	a.widen()
	p.look.y.apply(&a)
	return a.low, a.high, ok
}

// palette is the colours of the cells, and the numbers of the first and the last of them.
func (p *Plot) palette() (colours ramp, low, high float64, ok bool) {
	low, high, ok = p.heatBounds()
	name := p.look.ramp
	if name == "" && low < 0 && high > 0 {
		name = "diverging"
	} else if name == "" {
		name = "viridis"
	}
	if name == "diverging" && !p.look.y.set {
		high = math.Max(high, -low)
		low = -high
	}
	return ramps[name], low, high, ok
}

// pixels are the cells as pixels, of the mean of block×block cells each. Cells without a number are
// transparent.
func (p *Plot) pixels(colours ramp, low, high float64, block int) *image.NRGBA {
	rows, columns := p.cellCount()
	steps := make([]color.NRGBA, 256)
	for i := range steps {
		steps[i] = colours(float64(i) / 255)
	}
	dst := image.NewNRGBA(image.Rect(0, 0, (columns+block-1)/block, (rows+block-1)/block))
	for y := range dst.Rect.Dy() {
		for x := range dst.Rect.Dx() {
			if m, ok := blockMean(p.Cells, y*block, x*block, block); ok {
				at := math.Min(math.Max((m-low)/(high-low), 0), 1)
				dst.SetNRGBA(x, y, steps[int(math.Round(255*at))])
			}
		}
	}
	return dst
}

func (p *Plot) cellCount() (rows, columns int) {
	for _, row := range p.Cells {
		columns = max(columns, len(row))
	}
	return len(p.Cells), columns
}

// blockMean averages the finite cells of a block; ok is false if it has none.
func blockMean(cells [][]float64, row, column, block int) (mean float64, ok bool) {
	n := 0
	for r := row; r < min(row+block, len(cells)); r++ {
		for c := column; c < min(column+block, len(cells[r])); c++ {
			if finite(cells[r][c]) {
				mean += cells[r][c]
				n++
			}
		}
	}
	return mean / float64(max(n, 1)), n > 0
}
