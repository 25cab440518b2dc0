package plot

import (
	"fmt"
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
	columns := 0
	for _, row := range p.Cells {
		columns = max(columns, len(row))
	}
	block := max(1, (columns+(width-4)/2-1)/((width-4)/2))
	var lines []string
	title := strings.TrimSpace(p.Title + " " + p.YLabel)
	if block > 1 {
		title = strings.TrimSpace(fmt.Sprintf("%s (mean of %d×%d)", title, block, block))
	}
	if title != "" {
		lines = append(lines, " "+title)
	}
	wide := (columns + block - 1) / block
	lines = append(lines, paint(-1, "┌"+strings.Repeat("──", wide)+"┐"))
	for r := 0; r < len(p.Cells); r += block {
		var b strings.Builder
		for c := 0; c < columns; c += block {
			level := 0
			if m, ok := blockMean(p.Cells, r, c, block); ok {
				level = shade(m, low, high)
				b.WriteString(strings.Repeat(shades[level], 2))
			} else {
				b.WriteString("··")
			}
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

// shade is v's level: the ends of the range are levels of their own.
func shade(v, low, high float64) int {
	return min(max(int(math.Round((v-low)/(high-low)*float64(len(shades)-1))), 0), len(shades)-1)
}

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
	return a.low, a.high, ok
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
