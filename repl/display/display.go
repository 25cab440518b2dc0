// Package display turns values into something a person can look at.
//
// Whatever mcs shows is a [Value]: it can always be written as text for a terminal of a given width, and it
// may offer richer renderings by having more methods ([HTMLer], [SVGer], [JSONer]). Nothing in here prints: a
// front end (the terminal, a script, later a web page or a Jupyter kernel) picks the rendering it can use.
//
// The interfaces use only built-in types, so that the engine's types (tensors, training curves, kernel
// tables) can offer renderings without knowing this package.
package display

// A Value can be shown as text. Width is the number of columns there are; 0 means that it is unknown, and the
// value then uses 80. The text has no trailing newline and no terminal escapes.
type Value interface {
	Text(width int) string
}

// An HTMLer can be shown as an HTML fragment. It must be safe to insert: the value has escaped whatever it
// holds.
type HTMLer interface {
	HTML() string
}

// An SVGer can be shown as a whole SVG document.
type SVGer interface {
	SVG() string
}

// A JSONer has a machine-readable form.
type JSONer interface {
	JSON() ([]byte, error)
}

// A Briefer says in one line what it is, without computing anything: how a tensor looks inside of a struct.
type Briefer interface {
	Brief() string
}

// Styles mark up spans of text for a front end that has colours. A Value that wants colours in a terminal has
// a StyledText method beside Text; stripping the styles gives Text.
type Styler interface {
	StyledText(width int, style Style) string
}

// Style paints a span of text in a role. The nil Style paints nothing.
type Style func(role Role, text string) string

// A Role says what a span of text is, so that a theme can choose its colour.
type Role int

const (
	Plain   Role = iota
	Dim          // secondary facts: units, elisions
	Strong       // the figure that the reader came for
	Good         // better than what it is compared with
	Bad          // worse than what it is compared with, errors
	Heading      // names of columns
	Name         // names of variables, kernels, files
	Code         // Go source: a front end that can colours its tokens
	Series1      // the lines of a plot
	Series2
	Series3
	Series4
)

// Paint applies s to text, and is text itself for the nil Style.
func (s Style) Paint(role Role, text string) string {
	if s == nil {
		return text
	}
	return s(role, text)
}

// Text is a Value that is just a string.
type Text string

// Text returns the string.
func (t Text) Text(int) string { return string(t) }

// Noted is v with a note behind it; v itself for no note.
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
