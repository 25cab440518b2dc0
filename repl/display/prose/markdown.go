package prose

import (
	"bytes"
	"html"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/repl/display"
)

// converter reads Markdown as everything of mcs does.
func converter() goldmark.Markdown { return goldmark.New(goldmark.WithExtensions(extension.GFM)) }

// Markdown is a value that is prose.
type Markdown string

// Text sets the prose with the marks of Markdown.
func (m Markdown) Text(width int) string { return Set(string(m), lines.Columns(width), nil) }

// StyledText sets the prose in colours.
func (m Markdown) StyledText(width int, style display.Style) string {
	return Set(string(m), lines.Columns(width), style)
}

// Markdown is the prose as it was written.
func (m Markdown) Markdown() string { return string(m) }

// HTML is the prose for pages. HTML in it is left out.
func (m Markdown) HTML() string {
	var b bytes.Buffer
	if err := converter().Convert([]byte(m), &b); err != nil {
		return "<pre>" + html.EscapeString(string(m)) + "</pre>\n"
	}
	return b.String()
}
