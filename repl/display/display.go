// Package display turns values into something a person can look at.
//
// Everything that mcs shows is a [Value]: it can be written as text for a terminal of a given width. It
// may offer more renderings by more methods ([HTMLer], [SVGer], [Markdowner]). The package prints nothing: a
// front end (the terminal, a script, a Jupyter kernel, a page) chooses the rendering that it
// can use.
//
// The interfaces use only built-in types, so the engine's types (tensors, training curves, kernel tables)
// can offer renderings without importing this package.
package display

import (
	"image"
	"image/color"
)

// A Value can be shown as text. Width is the number of columns; 0 means that it is unknown, and the value
// then uses 80. The text has no trailing newline and no terminal escapes.
type Value interface {
	Text(width int) string
}

// An HTMLer can be shown as an HTML fragment. The fragment is safe to insert: the value has escaped its
// contents.
type HTMLer interface {
	HTML() string
}

// An SVGer can be shown as a whole SVG document.
type SVGer interface {
	SVG() string
}

// A Markdowner can be shown as Markdown. Text that is not the value's own words is escaped.
type Markdowner interface {
	Markdown() string
}

// A OneLiner writes itself in one line inside of a struct, slice or map: a tensor of few elements.
type OneLiner interface {
	OneLine() string
}

// A Briefer describes itself in one line, without computing anything. So a model looks inside of a struct.
type Briefer interface {
	Brief() string
}

// A Styler can mark spans of its text with a Style, for a front end that has colours. Without the marks,
// StyledText equals Text.
type Styler interface {
	StyledText(width int, style Style) string
}

// A Drawer is a Styler that does not know this package: paint gets a span of text, and whether it belongs to
// series 0, 1, …, is background (-1) or a title (-2).
type Drawer interface {
	Value
	Draw(width int, paint func(what int, text string) string) string
}

// A Preloader is a value with cells that the person may want to run, as %load returns. An Editable is one
// with a text to be changed, as %edit returns, and a Compound is a value of several.
type (
	Preloader interface{ Preload() []string }
	Editable  interface{ Edit() string }
	Compound  interface{ Values() []Value }
)

// A Painter can be drawn in pixels, for a front end that shows pictures.
type Painter interface {
	Drawer
	// Render draws so many pixels, scale of them for a unit of which text is 12 high, on a "light" or "dark"
	// ground. Proportion is the best width divided by the height.
	Render(width, height int, scale float64, ground string) *image.NRGBA
	Proportion() float64
	// Blocks draws with two pixels in each character, which half makes; ok is false if this shows less than
	// the text.
	Blocks(width int, half func(upper, lower color.NRGBA) string, paint func(what int, text string) string) (text string, ok bool)
}

// A Drawable is shown as its drawing.
type Drawable interface {
	Drawing() any
}

// Style paints a span of text in a role. The nil Style paints nothing.
type Style func(role Role, text string) string

// A Role is the meaning of a span of text, for which a theme chooses a colour.
type Role int

const (
	Plain    Role = iota
	Dim           // secondary facts: units, elisions
	Strong        // the figure that the reader came for
	Good          // better than the value it is compared with
	Bad           // worse than the value it is compared with, errors
	Heading       // names of columns
	Name          // names of variables, kernels, files
	Code          // Go source: a front end that can colours its tokens
	Emphasis      // stressed words of prose
	Link          // words of prose that lead somewhere
	Series1       // the lines of a plot
	Series2
	Series3
	Series4
)

// Paint applies s to text. The nil Style leaves text unchanged.
func (s Style) Paint(role Role, text string) string {
	if s == nil {
		return text
	}
	return s(role, text)
}

// series are the roles of a [Drawer]'s series.
var series = []Role{Series1, Series2, Series3, Series4}

// Spans paints what a [Drawer] draws.
func (s Style) Spans(what int, text string) string {
	switch what {
	case -2:
		return s.Paint(Strong, text)
	case -1:
		return s.Paint(Dim, text)
	}
	return s.Paint(series[what%len(series)], text)
}

// Text is a Value that is just a string.
type Text string

// Text returns the string.
func (t Text) Text(int) string { return string(t) }

// Noted returns v with a note behind it, or v itself if the note is empty.
func Noted(v Value, note string) Value {
	if note == "" {
		return v
	}
	return noted{v, note}
}

type noted struct {
	Value
	note string
}

func (n noted) Text(width int) string { return n.StyledText(width, nil) }

func (n noted) StyledText(width int, style Style) string {
	return Styled(n.Value, width, style) + " " + style.Paint(Dim, n.note)
}
