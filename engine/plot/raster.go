package plot

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	coverage "golang.org/x/image/vector"

	"github.com/mcs-notebook/mcs/engine/plot/internal/letters"
)

// PNG draws the plot as a PNG file of [Plot.Size] times [Plot.Scale] pixels, light without a [Plot.Theme].
func (p *Plot) PNG() []byte {
	width, height := p.size()
	scale := cmp.Or(p.look.scale, 1)
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	_ = enc.Encode(&b, p.Render(int(math.Round(width*scale)), int(math.Round(height*scale)), scale, "light")) // a buffer has no errors
	return b.Bytes()
}

// Proportion is the width of the plot's pictures divided by their height.
func (p *Plot) Proportion() float64 {
	width, height := p.size()
	return width / height
}

// noTypeface is said where pixels are wanted of a program without letters.
const noTypeface = `got no typeface, want import _ "github.com/mcs-notebook/mcs/engine/plot/typeface"`

// Render draws the plot in width×height pixels, of which a unit has scale: text is 12 units high. ground is
// "light" or "dark", and a [Plot.Theme] goes before it. A size below 1×1 panics with an [*Error].
func (p *Plot) Render(width, height int, scale float64, ground string) *image.NRGBA {
	if width < 1 || height < 1 || width > 1<<15 || height > 1<<15 || !(scale > 0) {
		fail("Render", "got %d×%d pixels at scale %v, want 1×1 to 32768×32768 and a positive scale", width, height, scale)
	}
	if letters.Face == nil {
		fail("Render", "%s", noTypeface)
	}
	colours := themes[choice("Render", ground, slices.Sorted(maps.Keys(themes)))]
	if p.look.theme != "" {
		colours = themes[p.look.theme]
	}
	dst := image.NewRGBA(image.Rect(0, 0, width, height)) // which package draw is fast with
	draw.Draw(dst, dst.Bounds(), image.NewUniform(colours.ground), image.Point{}, draw.Src)
	r := &raster{whole: dst, dst: dst, scale: scale, colours: colours, face: letters.Face(fontSize * scale)}
	p.figure(r, float64(width)/scale, float64(height)/scale)
	return &image.NRGBA{Pix: dst.Pix, Stride: dst.Stride, Rect: dst.Rect} // the same bytes, as the ground is opaque
}

// A raster is the pen that draws pixels.
type raster struct {
	whole, dst *image.RGBA // dst is the part that is drawn in
	scale      float64     // pixels of a unit
	colours    *theme
	face       font.Face
	shape      coverage.Rasterizer
}

func (r *raster) clip(b box) {
	at := func(v float64) int { return int(math.Round(v * r.scale)) }
	r.dst = r.whole.SubImage(image.Rect(at(b.x0), at(b.y0), at(b.x1), at(b.y1))).(*image.RGBA)
}

func (r *raster) unclip() { r.dst = r.whole }

func (r *raster) ink(i ink, opacity float64) *image.Uniform {
	c := r.colours.colour(i)
	c.A = uint8(math.Round(255 * opacity))
	return image.NewUniform(c)
}

// cover fills what the outlines cover. All of them have the same direction, so overlaps count once. bounds
// holds them, in pixels.
func (r *raster) cover(bounds box, colour image.Image, outlines func(shape *coverage.Rasterizer, x0, y0 float32)) {
	area := image.Rect(int(math.Floor(bounds.x0)), int(math.Floor(bounds.y0)), int(math.Ceil(bounds.x1))+1, int(math.Ceil(bounds.y1))+1)
	if area = area.Intersect(r.dst.Bounds()); area.Empty() {
		return
	}
	r.shape.Reset(area.Dx(), area.Dy())
	outlines(&r.shape, float32(area.Min.X), float32(area.Min.Y))
	r.shape.Draw(r.dst, area, colour, image.Point{})
}

// polygon adds an outline.
func polygon(shape *coverage.Rasterizer, x0, y0 float32, corners ...point) {
	for i, c := range corners {
		x, y := float32(c.x)-x0, float32(c.y)-y0
		if i == 0 {
			shape.MoveTo(x, y)
		} else {
			shape.LineTo(x, y)
		}
	}
	shape.ClosePath()
}

// circle adds a circle, as a polygon that differs from it by less than a tenth of a pixel.
func circle(shape *coverage.Rasterizer, x0, y0 float32, at point, radius float64) {
	n := max(8, int(4*math.Sqrt(radius))*2)
	corners := make([]point, n)
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		corners[i] = point{at.x + radius*cos, at.y + radius*sin}
	}
	polygon(shape, x0, y0, corners...)
}

func (r *raster) line(points []point, colour ink, width float64, dash []float64) {
	parts := [][]point{points}
	if dash != nil && len(points) > 1 {
		parts = dashed(points, dash)
	}
	half := width * r.scale / 2
	for _, part := range parts {
		for len(part) > 0 {
			// A stretch of a long line at a time keeps the area of each small.
			n := min(len(part), 256)
			r.stretch(part[:n], half, r.ink(colour, 1))
			if n == len(part) {
				break
			}
			part = part[n-1:]
		}
	}
}

func (r *raster) stretch(points []point, half float64, colour image.Image) {
	px, bounds := r.pixels(points, half)
	if crisp := len(px) == 2 && half < r.scale && (px[0].x == px[1].x) != (px[0].y == px[1].y); crisp {
		r.straight(px[0], px[1], half, colour)
		return
	}
	r.cover(bounds, colour, func(shape *coverage.Rasterizer, x0, y0 float32) {
		for i, p := range px {
			circle(shape, x0, y0, p, half)
			if i == 0 || p == px[i-1] {
				continue
			}
			q := px[i-1]
			d := math.Hypot(p.x-q.x, p.y-q.y)
			nx, ny := (p.y-q.y)/d*half, -(p.x-q.x)/d*half
			polygon(shape, x0, y0, point{q.x + nx, q.y + ny}, point{p.x + nx, p.y + ny}, point{p.x - nx, p.y - ny}, point{q.x - nx, q.y - ny})
		}
	})
}

// pixels are points in pixels, and the box that holds them with so much around each.
func (r *raster) pixels(points []point, around float64) (px []point, bounds box) {
	px, bounds = make([]point, len(points)), box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for i, p := range points {
		p = point{p.x * r.scale, p.y * r.scale}
		bounds.x0, bounds.x1 = math.Min(bounds.x0, p.x-around), math.Max(bounds.x1, p.x+around)
		bounds.y0, bounds.y1 = math.Min(bounds.y0, p.y-around), math.Max(bounds.y1, p.y+around)
		px[i] = p
	}
	return px, bounds
}

// straight draws a thin horizontal or vertical line on whole pixels, so that axes are sharp.
func (r *raster) straight(a, b point, half float64, colour image.Image) {
	thick := max(1, int(math.Round(2*half)))
	at := func(v float64) int { return int(math.Floor(v - float64(thick-1)/2)) }
	var area image.Rectangle
	if a.x == b.x {
		area = image.Rect(at(a.x), int(math.Round(a.y)), at(a.x)+thick, int(math.Round(b.y))).Canon()
	} else {
		area = image.Rect(int(math.Round(a.x)), at(a.y), int(math.Round(b.x)), at(a.y)+thick).Canon()
	}
	draw.Draw(r.dst, area.Intersect(r.dst.Bounds()), colour, image.Point{}, draw.Over)
}

func (r *raster) rect(b box, colour ink) {
	r.fill([]point{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}}, colour, 1)
}

func (r *raster) disc(at point, radius float64, colour ink, opacity float64) {
	at, radius = point{at.x * r.scale, at.y * r.scale}, radius*r.scale
	r.cover(box{at.x - radius, at.y - radius, at.x + radius, at.y + radius}, r.ink(colour, opacity), func(shape *coverage.Rasterizer, x0, y0 float32) {
		circle(shape, x0, y0, at, radius)
	})
}

func (r *raster) fill(outline []point, colour ink, opacity float64) {
	px, bounds := r.pixels(outline, 0)
	r.cover(bounds, r.ink(colour, opacity), func(shape *coverage.Rasterizer, x0, y0 float32) { polygon(shape, x0, y0, px...) })
}

func (r *raster) text(at point, text string, anchor float64, colour ink, upwards bool) {
	fix := func(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(64 * v)) }
	width := float64(font.MeasureString(r.face, text)) / 64
	d := font.Drawer{Dst: r.dst, Src: r.ink(colour, 1), Face: r.face}
	if !upwards {
		d.Dot = fixed.Point26_6{X: fix(at.x*r.scale - anchor*width), Y: fix(math.Round(at.y * r.scale))}
		d.DrawString(text)
		return
	}
	m := r.face.Metrics()
	ascent, tall := m.Ascent.Ceil(), m.Ascent.Ceil()+m.Descent.Ceil()
	mask := image.NewAlpha(image.Rect(0, 0, int(math.Ceil(width))+1, tall))
	d.Dst, d.Src, d.Dot = mask, image.Opaque, fixed.P(0, ascent)
	d.DrawString(text)
	turned := image.NewAlpha(image.Rect(0, 0, tall, mask.Rect.Dx()))
	for y := range tall {
		for x := range mask.Rect.Dx() {
			turned.SetAlpha(y, mask.Rect.Dx()-1-x, mask.AlphaAt(x, y))
		}
	}
	corner := image.Pt(int(math.Round(at.x*r.scale))-ascent, int(math.Round(at.y*r.scale+anchor*width))-mask.Rect.Dx())
	draw.DrawMask(r.dst, turned.Rect.Add(corner), r.ink(colour, 1), image.Point{}, turned, image.Point{}, draw.Over)
}

func (r *raster) picture(b box, pixels *image.NRGBA) {
	at := func(v float64) int { return int(math.Round(v * r.scale)) }
	area := image.Rect(at(b.x0), at(b.y0), at(b.x1), at(b.y1))
	draw.Draw(r.dst, area.Intersect(r.dst.Bounds()), resized(pixels, area.Dx(), area.Dy()), r.dst.Bounds().Intersect(area).Min.Sub(area.Min), draw.Over)
}

// resized gives a picture another size: pixels that are enlarged stay sharp, others are averaged.
func resized(src *image.NRGBA, width, height int) *image.NRGBA {
	from := src.Bounds()
	if from.Dx() == width && from.Dy() == height || from.Empty() {
		return src
	}
	dst := image.NewNRGBA(image.Rect(0, 0, max(width, 1), max(height, 1)))
	for y := range dst.Rect.Dy() {
		y0, y1 := share(y, dst.Rect.Dy(), from.Dy())
		for x := range dst.Rect.Dx() {
			x0, x1 := share(x, dst.Rect.Dx(), from.Dx())
			dst.SetNRGBA(x, y, mean(src, image.Rect(x0, y0, x1, y1).Add(from.Min)))
		}
	}
	return dst
}

// share is the part of n pixels, at least one, that the i-th of parts stands for.
func share(i, parts, n int) (from, to int) {
	from = i * n / parts
	return from, max((i+1)*n/parts, from+1)
}

// mean averages the pixels of an area, by their opacity.
func mean(src *image.NRGBA, area image.Rectangle) color.NRGBA {
	if area.Dx() == 1 && area.Dy() == 1 {
		return src.NRGBAAt(area.Min.X, area.Min.Y)
	}
	var r, g, b, a int
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := src.NRGBAAt(x, y)
			r, g, b, a = r+int(c.R)*int(c.A), g+int(c.G)*int(c.A), b+int(c.B)*int(c.A), a+int(c.A)
		}
	}
	if a == 0 {
		return color.NRGBA{}
	}
	return color.NRGBA{uint8(r / a), uint8(g / a), uint8(b / a), uint8(a / (area.Dx() * area.Dy()))}
}

func (r *raster) cloud(area box, colour ink, mask *image.Alpha) {
	at := point{math.Floor(area.x0), math.Floor(area.y0)}
	size := mask.Bounds().Size()
	r.picture(box{at.x, at.y, at.x + float64(size.X), at.y + float64(size.Y)}, tinted(mask, r.colours.colour(colour)))
}

// tinted is a mask in a colour.
func tinted(mask *image.Alpha, c color.NRGBA) *image.NRGBA {
	pixels := image.NewNRGBA(mask.Rect)
	for i, a := range mask.Pix {
		pixels.Pix[4*i], pixels.Pix[4*i+1], pixels.Pix[4*i+2], pixels.Pix[4*i+3] = c.R, c.G, c.B, a
	}
	return pixels
}
