package plot

//go:generate go test -run ^TestWidthsAreCurrent$ -write .

import (
	"image"
	"math"
	"sort"
)

// A pen draws shapes. The layout (figure.go) calls it in units, with y downwards; SVG text (svg.go) and
// pixels (raster.go) come out of the same calls.
type pen interface {
	// line joins points, with round ends and joints; two equal points make a dot. dash may be nil.
	line(points []point, colour ink, width float64, dash []float64)
	rect(r box, colour ink)
	disc(at point, radius float64, colour ink, opacity float64)
	// fill fills what an outline of at least three points surrounds.
	fill(outline []point, colour ink, opacity float64)
	// text writes at a baseline; anchor 0 starts there, 0.5 centres and 1 ends. upwards turns it by 90°.
	text(at point, text string, anchor float64, colour ink, upwards bool)
	// picture fills r with the pixels, without smoothing where they are enlarged.
	picture(r box, pixels *image.NRGBA)
	// cloud fills area where the mask covers it; the mask has a pixel for each unit, from the area's first
	// one.
	cloud(area box, colour ink, mask *image.Alpha)
	// clip limits what is drawn until unclip to r.
	clip(r box)
	unclip()
}

type point struct{ x, y float64 }

// A box is a rectangle by its left upper and right lower corner.
type box struct{ x0, y0, x1, y1 float64 }

func (b box) width() float64  { return b.x1 - b.x0 }
func (b box) height() float64 { return b.y1 - b.y0 }

func (b box) overlaps(c box) bool { return b.x0 < c.x1 && c.x0 < b.x1 && b.y0 < c.y1 && c.y0 < b.y1 }

// fontSize is the height of text in units.
const fontSize = 12

// wider is how much wider the fonts of other systems may be: an SVG has the same layout as a PNG, and its
// reader may have another font.
const wider = 1.12

// textWidth is the width of a text in units.
func textWidth(text string) float64 {
	total := 0
	for _, r := range text {
		i := sort.Search(len(letterWidths), func(i int) bool { return letterWidths[i].first > r }) - 1
		if i >= 0 && int(r-letterWidths[i].first) < len(letterWidths[i].widths) {
			total += int(letterWidths[i].widths[r-letterWidths[i].first])
		} else {
			total += missingLetter
		}
	}
	return wider * fontSize * float64(total) / unitsPerSize
}

// cutText shortens text to a width, with an ellipsis at its end.
func cutText(text string, width float64) string {
	return shorten(text, width, func(runes []rune, n int) string { return string(runes[:n]) + "…" })
}

// cutMiddle shortens a name to a width, and keeps its end: names of many series differ there.
func cutMiddle(text string, width float64) string {
	return shorten(text, width, func(runes []rune, n int) string {
		return string(runes[:(n+1)/2]) + "…" + string(runes[len(runes)-n/2:])
	})
}

// shorten is text, or the longest that keep makes of n of its characters and that fits a width.
func shorten(text string, width float64, keep func(runes []rune, n int) string) string {
	runes := []rune(text)
	for n := len(runes) - 1; textWidth(text) > width; n-- {
		if n <= 0 {
			return ""
		}
		text = keep(runes, n)
	}
	return text
}

// dashed cuts a line into its dashes.
func dashed(points []point, dash []float64) (parts [][]point) {
	part, k, rest := []point{points[0]}, 0, dash[0]
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		for at := 0.0; at < length; {
			step := math.Min(rest, length-at)
			at += step
			rest -= step
			p := point{from.x + (to.x-from.x)*at/length, from.y + (to.y-from.y)*at/length}
			if k%2 == 0 {
				part = append(part, p)
			}
			if rest > 1e-9 {
				continue
			}
			if k%2 == 0 {
				parts = append(parts, part)
			}
			k = (k + 1) % len(dash)
			rest, part = dash[k], []point{p}
		}
	}
	if k%2 == 0 && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}
