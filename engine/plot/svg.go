package plot

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/png"
	"math"
	"strings"
)

// SVG draws the plot as a whole SVG document of [Plot.Size]. Without a [Plot.Theme] its colours follow the
// reader's preference for a light or a dark ground.
func (p *Plot) SVG() string {
	width, height := p.size()
	s := &svg{colours: themes[p.look.theme]}
	follows := s.colours == nil
	if follows {
		s.colours = themes["light"]
	}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="Go, system-ui, sans-serif" font-size="%d">`+"\n",
		width, height, width, height, fontSize)
	if follows {
		s.b.WriteString(darkStyle())
	}
	s.rect(box{0, 0, width, height}, inkGround)
	p.figure(s, width, height)
	s.b.WriteString("</svg>\n")
	return s.b.String()
}

// HTML is the SVG, which a page can contain unchanged.
func (p *Plot) HTML() string { return p.SVG() }

// darkStyle gives each ink its dark colour where the reader prefers it. Attributes of the shapes have the
// light ones, so a program that knows no styles draws those.
func darkStyle() string {
	var b strings.Builder
	b.WriteString("<style>@media (prefers-color-scheme: dark) {")
	for i := inkGround; int(i) < len(themes["dark"].series); i++ {
		c := hexColour(themes["dark"].colour(i))
		fmt.Fprintf(&b, " .%s{fill:%s} .%s{stroke:%s}", inkClass("f", i), c, inkClass("s", i), c)
	}
	b.WriteString(" }</style>\n")
	return b.String()
}

// inkClass names the class of what is filled ("f") or stroked ("s") with an ink.
func inkClass(use string, i ink) string {
	switch i {
	case inkText:
		return "mcs-" + use + "-text"
	case inkGrid:
		return "mcs-" + use + "-grid"
	case inkGround:
		return "mcs-" + use + "-ground"
	}
	return fmt.Sprintf("mcs-%s-%d", use, int(i)%len(theme{}.series))
}

// svg is the pen that writes SVG.
type svg struct {
	b       strings.Builder
	colours *theme
}

func (s *svg) filled(i ink) string {
	if i >= inkFixed {
		return fmt.Sprintf(`fill="%s"`, hexColour(s.colours.colour(i)))
	}
	return fmt.Sprintf(`class="%s" fill="%s"`, inkClass("f", i), hexColour(s.colours.colour(i)))
}

func (s *svg) line(points []point, colour ink, width float64, dash []float64) {
	if len(points) == 1 {
		points = []point{points[0], points[0]} // a line without length: the round cap makes it a dot
	}
	pattern := ""
	if dash != nil {
		pattern = fmt.Sprintf(` stroke-dasharray="%s"`, strings.Trim(fmt.Sprint(dash), "[]"))
	}
	fmt.Fprintf(&s.b, `<polyline points="%s" fill="none" class="%s" stroke="%s" stroke-width="%g"%s stroke-linecap="round" stroke-linejoin="round"/>`+"\n",
		pointList(points), inkClass("s", colour), hexColour(s.colours.colour(colour)), width, pattern)
}

func pointList(points []point) string {
	list := make([]string, len(points))
	for i, p := range points {
		list[i] = fmt.Sprintf("%.1f,%.1f", p.x, p.y)
	}
	return strings.Join(list, " ")
}

func (s *svg) rect(r box, colour ink) {
	fmt.Fprintf(&s.b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" %s/>`+"\n", r.x0, r.y0, r.width(), r.height(), s.filled(colour))
}

func (s *svg) disc(at point, radius float64, colour ink, opacity float64) {
	fmt.Fprintf(&s.b, `<circle cx="%.1f" cy="%.1f" r="%g" %s fill-opacity="%g"/>`+"\n", at.x, at.y, radius, s.filled(colour), opacity)
}

func (s *svg) fill(outline []point, colour ink, opacity float64) {
	fmt.Fprintf(&s.b, `<polygon points="%s" %s fill-opacity="%g"/>`+"\n", pointList(outline), s.filled(colour), opacity)
}

func (s *svg) text(at point, text string, anchor float64, colour ink, upwards bool) {
	place := fmt.Sprintf(`x="%.1f" y="%.1f"`, at.x, at.y)
	if upwards {
		place = fmt.Sprintf(`transform="translate(%.1f %.1f) rotate(-90)"`, at.x, at.y)
	}
	name := map[float64]string{0: "start", 0.5: "middle", 1: "end"}[anchor]
	fmt.Fprintf(&s.b, `<text %s text-anchor="%s" %s>%s</text>`+"\n", place, name, s.filled(colour), html.EscapeString(printable(text)))
}

// printable leaves out characters that XML cannot have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// picture embeds the pixels. Small pictures are enlarged first, by a whole factor: programs that draw SVG do
// not agree on how to keep pixels sharp.
func (s *svg) picture(r box, pixels *image.NRGBA) {
	size := pixels.Bounds().Size()
	larger := func(units float64, n int) int { return n * max(1, int(2*units/float64(n))) }
	pixels = resized(pixels, larger(r.width(), size.X), larger(r.height(), size.Y))
	var b bytes.Buffer
	_ = png.Encode(&b, pixels) // a buffer has no errors
	fmt.Fprintf(&s.b, `<image x="%.1f" y="%.1f" width="%.1f" height="%.1f" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`+"\n",
		r.x0, r.y0, r.width(), r.height(), base64.StdEncoding.EncodeToString(b.Bytes()))
}

// clip opens an inner document, which needs no names that another plot on the page could have too.
func (s *svg) clip(r box) {
	fmt.Fprintf(&s.b, `<svg x="%.1f" y="%.1f" width="%.1f" height="%.1f" viewBox="%.1f %.1f %.1f %.1f">`+"\n",
		r.x0, r.y0, r.width(), r.height(), r.x0, r.y0, r.width(), r.height())
}

func (s *svg) unclip() { s.b.WriteString("</svg>\n") }

// cloud embeds the mask as a picture in the light or dark colour that the theme has; where the document
// follows the reader, the colour is one for both.
func (s *svg) cloud(area box, colour ink, mask *image.Alpha) {
	at := point{math.Floor(area.x0), math.Floor(area.y0)}
	size := mask.Bounds().Size()
	s.picture(box{at.x, at.y, at.x + float64(size.X), at.y + float64(size.Y)}, tinted(mask, s.colours.colour(colour)))
}
