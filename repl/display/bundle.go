package display

import (
	"bytes"
	"encoding/base64"
	"html"
	"image/png"
	"strings"
)

// The media types of a [Bundle].
const (
	PlainText = "text/plain"
	HTMLText  = "text/html"
	Markdown  = "text/markdown"
	SVGImage  = "image/svg+xml"
	PNGImage  = "image/png" // in base64
)

// A Bundle is a value that was finished in all renderings that a page can use, by their media types. It
// always has plain text.
type Bundle map[string]string

// Text returns the plain text.
func (b Bundle) Text(int) string { return b[PlainText] }

// BundleOf returns a value that is a bundle, or else its text as one, with lines of at most width columns.
func BundleOf(v Value, width int) Bundle {
	if b, ok := v.(Bundle); ok {
		return b
	}
	return Bundle{PlainText: v.Text(width)}
}

// Fenced is a block of code in Markdown, between more quotes than it has itself.
func Fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// maxRendering is how many bytes one rendering of a bundle may have: what a browser shows without a pause.
const maxRendering = 4 << 20

// Bundled renders v for a page, with lines of at most width columns in its text. A rendering that is too
// large is left out, and the middle of such a text.
func Bundled(v Value, width int) Bundle {
	b := Bundle{}
	if d, ok := v.(Painter); ok {
		b[PNGImage] = pngOf(d)
	}
	if m, ok := v.(Markdowner); ok {
		b[Markdown] = m.Markdown()
	}
	if fragment, ok := HTML(v); ok && strings.HasPrefix(fragment, "<svg") {
		b[SVGImage] = fragment
	} else if ok {
		b[HTMLText] = fragment
	}
	for kind, data := range b {
		if len(data) > maxRendering || data == "" {
			delete(b, kind)
		}
	}
	head, left, tail := middle(strings.TrimRight(Styled(v, width, nil), "\n"), maxRendering)
	b[PlainText] = head + left + tail
	return b
}

// Drawn renders a drawing that will be drawn again soon: without the pixels, which take longest.
func Drawn(v Value, width int) Bundle {
	b := Bundle{PlainText: Styled(v, width, nil)}
	if s, ok := v.(SVGer); ok {
		b[SVGImage] = s.SVG()
	}
	return b
}

// pngOf is a picture of a plot as wide as a page's text, for screens with two dots in the place of one.
func pngOf(v Painter) string {
	const width, scale = 1280, 2
	var b bytes.Buffer
	if err := png.Encode(&b, v.Render(width, int(width/v.Proportion()), scale, "light")); err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// HTML returns a value as a fragment of HTML where that shows more than its text. The fragment of a drawing
// is its SVG.
func HTML(v Value) (fragment string, ok bool) {
	switch v := v.(type) {
	case noted:
		fragment, ok = HTML(v.Value)
		return fragment + "<p>" + html.EscapeString(v.note) + "</p>", ok
	case tuple:
		for _, each := range v {
			part, more := HTML(each)
			if !more {
				part = "<pre>" + html.EscapeString(each.Text(0)) + "</pre>"
			}
			fragment, ok = fragment+part, ok || more
		}
		return "<div>" + fragment + "</div>", ok
	case *formatted:
		defer func() {
			if recover() != nil {
				fragment, ok = "", false // its text says why
			}
		}()
		if t := v.f.writer().table(v.v, v.t, 200); t != nil {
			return t.HTML(), true
		}
		return "", false
	case HTMLer:
		return v.HTML(), true
	}
	return "", false
}
