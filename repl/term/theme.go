package term

import (
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/term/paint"
)

// A colour is the parameters of an SGR escape sequence, or empty for the terminal's own. Only the 16 colours
// that a terminal's theme defines are used, and fixed ones for plots: they are readable on light and dark
// backgrounds alike.
type colour string

const (
	none       colour = ""
	bold       colour = "1"
	italic     colour = "3"
	underlined colour = "4"
	red        colour = "31"
	green      colour = "32"
	yellow     colour = "33"
	blue       colour = "34"
	magenta    colour = "35"
	cyan       colour = "36"
	grey       colour = "90"

	boldRed colour = "1;31"

	paired colour = "1;4" // brackets that belong together
	found  colour = "7"   // matches of a search
	chosen colour = "1;36"
)

// A theme colours text, or leaves it as it is.
type theme struct {
	enabled bool
	fixed   bool // the terminal has the 240 colours that are the same everywhere
}

func (t theme) paint(c colour, text string) string {
	if !t.enabled || c == none || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// look is the style in which the painter shows a colour.
func (t theme) look(c colour) paint.Style {
	if !t.enabled {
		return ""
	}
	return paint.Style(c)
}

func (t theme) span(text string, c colour) paint.Span {
	return paint.Span{Text: text, Style: t.look(c)}
}

// spans is text with escape sequences as the painter shows it.
func (t theme) spans(text string) []paint.Span {
	spans := paint.Styled(text)
	for i := range spans {
		spans[i].Style = t.look(colour(spans[i].Style))
	}
	return spans
}

var roleColours = map[display.Role]colour{
	display.Dim:      grey,
	display.Strong:   bold,
	display.Good:     green,
	display.Bad:      red,
	display.Heading:  grey,
	display.Name:     cyan,
	display.Emphasis: italic,
	display.Link:     underlined,
	display.Series1:  cyan,
	display.Series2:  yellow,
	display.Series3:  magenta,
	display.Series4:  green,
}

// seriesColours are fixed colours for the series of a plot: thin lines in a theme's yellow or cyan are hard
// to see on its light ground. These have a contrast of 3:1 on white and on black, and people who are
// colour-blind can tell them apart.
var seriesColours = map[display.Role]colour{
	display.Series1: "38;5;27",
	display.Series2: "38;5;202",
	display.Series3: "38;5;65",
	display.Series4: "38;5;163",
}

// style is the theme as displayed values want it; nil if there are no colours.
func (t theme) style() display.Style {
	if !t.enabled {
		return nil
	}
	return func(role display.Role, text string) string {
		if role == display.Code {
			return t.code(text)
		}
		if c, ok := seriesColours[role]; ok && t.fixed {
			return t.paint(c, text)
		}
		return t.paint(roleColours[role], text)
	}
}
