package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A recorder is a pen that keeps what it is told.
type recorder struct {
	lines    [][]point
	rects    []box
	discs    []point
	texts    []string
	pictures []box
	masks    []*image.Alpha
	fills    [][]point
}

func (r *recorder) line(points []point, colour ink, _ float64, _ []float64) {
	if colour >= 0 {
		r.lines = append(r.lines, slices.Clone(points))
	}
}
func (r *recorder) rect(b box, _ ink)                          { r.rects = append(r.rects, b) }
func (r *recorder) disc(at point, _ float64, _ ink, _ float64) { r.discs = append(r.discs, at) }
func (r *recorder) fill(outline []point, _ ink, _ float64)     { r.fills = append(r.fills, outline) }
func (r *recorder) text(_ point, text string, _ float64, _ ink, _ bool) {
	r.texts = append(r.texts, text)
}
func (r *recorder) picture(b box, _ *image.NRGBA)         { r.pictures = append(r.pictures, b) }
func (r *recorder) cloud(_ box, _ ink, mask *image.Alpha) { r.masks = append(r.masks, mask) }
func (r *recorder) clip(box)                              {}
func (r *recorder) unclip()                               {}

func record(p *Plot) *recorder {
	r := new(recorder)
	width, height := p.size()
	p.figure(r, width, height)
	return r
}

// The texts, bars and lines that the SVG has are where the pixels have ink.
func TestSameLayout(t *testing.T) {
	text := regexp.MustCompile(`<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)"[^>]*>([^<]+)<`)
	line := regexp.MustCompile(`<polyline points="([^"]+)" fill="none" class="mcs-s-\d`)
	rect := regexp.MustCompile(`<rect x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)" class="mcs-f-\d`)
	number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
	for name, p := range gallery() {
		svg := p.Theme("light").SVG()
		width, height := p.size()
		pixels, ground := p.Render(int(2*width), int(2*height), 2, "light"), color.NRGBA{255, 255, 255, 255}
		inked := func(b box) bool {
			for y := int(2 * b.y0); y < int(2*b.y1); y++ {
				for x := int(2 * b.x0); x < int(2*b.x1); x++ {
					if pixels.NRGBAAt(x, y) != ground {
						return true
					}
				}
			}
			return false
		}
		shapes := 0
		for _, m := range text.FindAllStringSubmatch(svg, -1) {
			x, y, anchor := number(m[1]), number(m[2]), map[string]float64{"start": 0, "middle": 0.5, "end": 1}[m[3]]
			width := textWidth(m[4])
			if x -= anchor * width; !inked(box{x, y - 9, x + width, y}) {
				t.Errorf("%s: no text %q at %.1f, %.1f", name, m[4], x, y)
			}
			if w, h := p.size(); x < 0 || y > h || x+width > w+2 {
				t.Errorf("%s: the text %q is cut off", name, m[4])
			}
			shapes++
		}
		for _, m := range line.FindAllStringSubmatch(svg, -1) {
			for _, xy := range strings.Fields(m[1]) {
				x, y, _ := strings.Cut(xy, ",")
				at := point{number(x), number(y)}
				if at.x < 50 || at.x > 600 || at.y < 30 || at.y > 300 {
					continue // beyond the limits of the axes
				}
				if !inked(box{at.x - 1, at.y - 1, at.x + 1, at.y + 1}) {
					t.Errorf("%s: no line at %v", name, at)
					break
				}
			}
			shapes++
		}
		for _, m := range rect.FindAllStringSubmatch(svg, -1) {
			x, y, w, h := number(m[1]), number(m[2]), number(m[3]), number(m[4])
			if h >= 1 && !inked(box{x, y, x + w, y + h}) {
				t.Errorf("%s: no bar at %.1f, %.1f", name, x, y)
			}
			shapes++
		}
		if shapes == 0 && name != "image" {
			t.Errorf("%s: the SVG has no shapes that the test knows", name)
		}
	}
}

// An SVG is short, and changes only when the layout does.
func TestSVGText(t *testing.T) {
	got := Line([]int{1, 2}).Size(80, 60).Theme("dark").SVG()
	want := `<svg xmlns="http://www.w3.org/2000/svg" width="80" height="60" viewBox="0 0 80 60" font-family="Go, system-ui, sans-serif" font-size="12">
<rect x="0.0" y="0.0" width="80.0" height="60.0" class="mcs-f-ground" fill="#181818"/>
`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, `<polyline points="33.5,24.0 62.0,18.0" fill="none" class="mcs-s-0" stroke="#56b4e9"`) || strings.Contains(got, "<style>") {
		t.Errorf("got\n%s\nwant\n%s…", got, want)
	}
	if follows := Line([]int{1, 2}).SVG(); !strings.Contains(follows, "prefers-color-scheme: dark) { .mcs-f-ground{fill:#181818}") {
		t.Errorf("without a theme it follows the reader's: %.300s", follows)
	}
}

// A file has the size that was asked for, in pixels, and the ending of its name decides what it is.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	p := Line([]int{1, 2}).Size(200, 100).Scale(2)
	for _, c := range []struct{ name, want string }{{"a.png", "\x89PNG"}, {"a.PNG", "\x89PNG"}, {"a.svg", "<svg "}} {
		file := filepath.Join(dir, c.name)
		if err := p.Save(file); err != nil {
			t.Fatal(err)
		}
		if data, _ := os.ReadFile(file); !strings.HasPrefix(string(data), c.want) {
			t.Errorf("%s begins with %.8q", c.name, data)
		}
	}
	c, err := png.Decode(bytes.NewReader(p.PNG()))
	if err != nil {
		t.Fatal(err)
	}
	if size := c.Bounds().Size(); size.X != 400 || size.Y != 200 {
		t.Errorf("got %v, want 400×200", size)
	}
	if err := p.Save("a.jpg"); err == nil || err.Error() != "plot: save: a.jpg: want a name that ends in .svg or .png" {
		t.Errorf("a.jpg: %v", err)
	}
	if err := p.Save(filepath.Join(dir, "none", "a.png")); err == nil || !strings.HasPrefix(err.Error(), "plot: save: ") {
		t.Errorf("a folder that is missing: %v", err)
	}
}

// A million points have no more shapes than a figure can show, and the one point that differs is among them.
func TestManyPoints(t *testing.T) {
	y := make([]float64, 1_000_000)
	y[333_333] = 1
	r := record(Line(y))
	n, top := 0, math.Inf(1)
	for _, l := range r.lines {
		for _, p := range l {
			n, top = n+1, math.Min(top, p.y)
		}
	}
	if n > 6000 || top > edge+room+0.1 {
		t.Errorf("a line of %d points up to %.1f, want at most 6000 up to %.1f", n, top, edge+room)
	}
	r = record(Bars(y))
	if slices.MinFunc(r.rects, func(a, b box) int { return int(a.y0 - b.y0) }).y0 > 100 || len(r.rects) > 1000 {
		t.Errorf("%d bars, and none is high", len(r.rects))
	}
	r = record(Scatter(y, y))
	if len(r.masks) != 1 || len(r.discs) > 0 {
		t.Fatalf("a million points are %d clouds and %d discs", len(r.masks), len(r.discs))
	}
	if dots := len(r.masks[0].Pix) - bytes.Count(r.masks[0].Pix, []byte{0}); dots != 2 {
		t.Errorf("points at two places make %d dots", dots)
	}
}

func BenchmarkMillionPoints(b *testing.B) {
	y := make([]float64, 1_000_000)
	for i := range y {
		y[i] = math.Sin(float64(i) / 1000)
	}
	for _, c := range []struct {
		name string
		plot *Plot
	}{{"line", Line(y)}, {"scatter", Scatter(y, y)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.plot.PNG()
			}
		})
	}
}

// The legend stands where it hides nothing, wherever the data are; outside, if they are everywhere.
func TestLegendHidesNothing(t *testing.T) {
	full := make([]float64, 400)
	for i := range full {
		full[i] = float64(i % 2)
	}
	for _, c := range []struct {
		name string
		a, b *Plot
		want string
	}{
		{"falling", Line([]int{4, 1}), Line([]int{3, 0}), "top right"},
		{"rising", Line([]int{0, 3}), Line([]int{1, 4}), "top left"},
		{"high", Line([]int{4, 4, 4}), Line([]int{4, 0, 4}), "bottom right"},
		{"everywhere", Line(full), Line(full), "outside"},
		{"bars everywhere", Bars([]int{4, 4}), Bars([]int{4, 4}), "outside"},
	} {
		p := c.a.Named("first").And(c.b.Named("second"))
		f := &figure{Plot: p, pen: new(recorder), width: 640, height: 360, area: box{edge, edge, 640 - edge, 360 - edge}}
		f.axes, _ = p.bounds()
		f.reserve(f.area)
		var ways []trace
		for k := range p.Series {
			ways = append(ways, f.trace(k))
		}
		l := f.legend(ways)
		got := "outside"
		for _, place := range places {
			if !l.outside && f.corner(place, l.box.width(), l.box.height()) == l.box {
				got = place
			}
		}
		if got != c.want {
			t.Errorf("%s: the legend is %s, want %s", c.name, got, c.want)
		}
	}
}

// Limits cut off what lies outside, also of a line between two points that are both outside.
func TestLimits(t *testing.T) {
	p := Line([]float64{-1e300, 1e300, 5, math.NaN(), 0.5}).XLim(0, 4).YLim(0, 1)
	for _, l := range record(p).lines {
		for _, at := range l {
			if !(at.x > -20 && at.x < 660 && at.y > -20 && at.y < 380) {
				t.Errorf("a line goes to %v", at)
			}
		}
	}
	if n := len(record(Scatter([]int{1, 2, 3}, []int{1, 2, 3}).YLim(0, 2)).discs); n != 2 {
		t.Errorf("%d of 3 points are within the limits, want 2", n)
	}
	if text := p.Text(40); strings.Count(text, "\n") < 5 {
		t.Errorf("as text:\n%s", text)
	}
}

// Pictures are of any layout that tells its channels, and pixels are square.
func TestImage(t *testing.T) {
	shaped := func(shape ...int) []float64 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return make([]float64, n)
	}
	for _, c := range []struct {
		shape []int
		want  string // pictures, height × width, channels
	}{
		{[]int{4, 6}, "1 4×6 1"}, {[]int{4, 6, 3}, "1 4×6 3"}, {[]int{3, 4, 6}, "1 4×6 3"}, {[]int{1, 28, 28}, "1 28×28 1"}, {[]int{28, 28, 1}, "1 28×28 1"},
		{[]int{4, 5, 6}, "1 5×6 4"}, {[]int{7, 5, 6}, "7 5×6 1"}, {[]int{7, 3, 5, 6}, "7 5×6 3"}, {[]int{7, 5, 6, 4}, "7 5×6 4"}, {[]int{3, 8, 3}, "1 3×8 3"},
		{[]int{5}, ""}, {[]int{2, 2, 5, 6}, ""}, {[]int{0, 3}, ""}, {[]int{1, 1, 1, 1, 1}, ""},
	} {
		got := ""
		if b, ok := newBatch(shaped(c.shape...), c.shape); ok {
			got = fmt.Sprintf("%d %d×%d %d", b.n, b.height, b.width, b.channels)
		}
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.shape, got, c.want)
		}
	}
	p := Image([][][]uint8{{{255, 0, 0}, {0, 255, 0}}, {{0, 0, 255}, {255, 255, 255}}, {{0, 0, 0}, {9, 9, 9}}})
	for i, want := range []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}} {
		if got := p.tile.pixels.NRGBAAt(i%2, i/2); got != want {
			t.Errorf("pixel %d: got %v, want %v", i, got, want)
		}
	}
	if r := record(p).pictures[0]; math.Abs(r.width()/r.height()-2.0/3) > 1e-9 {
		t.Errorf("2×3 pixels are drawn as %.1f×%.1f", r.width(), r.height())
	}
	if texts := record(Image([][]float64{{-1, 2}})).texts; !slices.Contains(texts, "cut off: numbers from -1 to 2, shown 0 to 1") {
		t.Errorf("numbers outside of 0…1: the picture says %q", texts)
	}
}

// A heat map has a bar with numbers, ticks at cells, and 0 in the middle of two signs.
func TestHeatFigure(t *testing.T) {
	r := record(Heat([][]float64{{-1, 0, 4}}).Labels("token", "head"))
	for _, want := range []string{"0", "1", "2", "token", "head", "-4", "4"} {
		if !slices.Contains(r.texts, want) {
			t.Errorf("no text %q in %q", want, r.texts)
		}
	}
	cells := Heat([][]float64{{-1, 0, 4}})
	colours, low, high, _ := cells.palette()
	if c := cells.pixels(colours, low, high, 1).NRGBAAt(1, 0); low != -4 || high != 4 || int(c.R)-int(c.B) > 8 || int(c.B)-int(c.R) > 8 {
		t.Errorf("0 is %v of %v to %v, want a grey in the middle", c, low, high)
	}
}

// An axis of a picture as it is usually shown has three numbers at least, however the step is rounded.
func TestAxesHaveEnoughNumbers(t *testing.T) {
	for high := 1.0; high < 100; high *= 1.13 {
		for _, low := range []float64{0, -high / 3} {
			f := figure{Plot: Line([]float64{low, high}), axes: axes{x: axis{high: 1}, y: [2]axis{{low: low, high: high}}}, area: box{40, 20, 460, 230}}
			if got := f.yTicks(); len(got) < 3 {
				t.Errorf("from %.3g to %.3g: %d numbers, want at least 3", low, high, len(got))
			}
		}
	}
}
