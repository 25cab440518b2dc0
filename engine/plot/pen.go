package plot

import (
	"image"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// A pen draws shapes. The layout (figure.go) calls it in units, with y downwards; SVG text (svg.go) and
// pixels (raster.go) come out of the same calls.
type pen interface {
	// line joins points, with round ends and joints; two equal points make a dot. dash may be nil.
	line(points []point, colour ink, width float64, dash []float64)
	rect(r box, colour ink)
	disc(at point, radius float64, colour ink, opacity float64)
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

// typeface is the font of pictures, which is read when the first of them is drawn.
var typeface = sync.OnceValue(func() *sfnt.Font {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic("plot: the built-in font: " + err.Error())
	}
	return f
})

// newFace is the font in a size for one goroutine: faces keep buffers.
func newFace(pixels float64) font.Face {
	face, err := opentype.NewFace(typeface(), &opentype.FaceOptions{Size: pixels, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic("plot: the built-in font: " + err.Error())
	}
	return face
}

// A ruler measures text. SVG has the same layout, and its reader may have another font.
type ruler struct {
	buf sfnt.Buffer
}

// wider is how much wider the fonts of other systems may be.
const wider = 1.12

func (r *ruler) width(text string) float64 {
	total := fixed.Int26_6(0)
	for _, c := range text {
		i, err := typeface().GlyphIndex(&r.buf, c)
		if err != nil {
			continue
		}
		advance, err := typeface().GlyphAdvance(&r.buf, i, fixed.I(64*fontSize), font.HintingNone)
		if err == nil {
			total += advance
		}
	}
	return wider * float64(total) / 64 / 64
}

// cut shortens text to a width, with an ellipsis.
func (r *ruler) cut(text string, width float64) string {
	if r.width(text) <= width {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if short := string(runes[:n]) + "…"; r.width(short) <= width {
			return short
		}
	}
	return ""
}

// cutMiddle shortens a name to a width, and keeps its end: names of many series differ there.
func (r *ruler) cutMiddle(text string, width float64) string {
	if r.width(text) <= width {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 1; n-- {
		if short := string(runes[:(n+1)/2]) + "…" + string(runes[len(runes)-n/2:]); r.width(short) <= width {
			return short
		}
	}
	return ""
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
